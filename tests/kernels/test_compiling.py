"""Compiling is said once, runs without garbage collection, and steps run from Python."""

import gc

import numpy as np
import pytest

from synthpop.microdata import kernel, output


@pytest.mark.skipif(kernel.numba is None, reason="numba is not installed")
def test_compiling_is_said_once_and_garbage_lies_meanwhile(monkeypatch, capsys):
    monkeypatch.setattr(output.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(output.OUTPUT, "quiet", False)
    listener = kernel.CompileListener()
    with output.progress():
        for _ in range(2):
            listener.on_start(None)
            assert not gc.isenabled()
            listener.on_end(None)
            assert gc.isenabled()
    assert capsys.readouterr().out.count("The first run on this machine compiles") == 1
    assert not output.COMPILE_WATCHERS


@pytest.mark.skipif(kernel.numba is None, reason="numba is not installed")
@pytest.mark.parametrize(("patience", "times"), [(0.0, 1), (60.0, 0)])
def test_who_waits_for_compiling_is_told_once(monkeypatch, caplog, patience, times):
    monkeypatch.setattr(kernel, "PATIENCE", patience)
    monkeypatch.setattr(kernel.COMPILE_LOG, "disabled", False)
    listener = kernel.CompileListener()
    for _ in range(2):
        listener.on_start(None)
        listener.timer.join(timeout=0.2)
        listener.on_end(None)
    assert [one.name for one in caplog.records] == ["synthpop.compile"] * times
    assert all(one.getMessage() == kernel.COMPILE_TEXT for one in caplog.records)


def test_commands_say_themselves_that_they_compile(monkeypatch):
    monkeypatch.setattr(kernel.COMPILE_LOG, "disabled", False)
    output.Output().begin("demo", quiet=True, verbose=False, as_json=False)
    assert kernel.COMPILE_LOG.disabled


def test_a_step_called_from_python_runs_its_plain_form():
    from riskeval.kernels.microaggregation import nearest_bound

    low, high = np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]])
    assert nearest_bound(np.array([0.0, 3.0]), low, high, 0) == 5.0
