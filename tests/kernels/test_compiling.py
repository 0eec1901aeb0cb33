"""Compiling is said once, runs without garbage collection, and steps run from Python."""

import gc
import importlib

import numpy as np
import pytest

import riskeval
import synthpop
from synthpop.microdata.runs import compiling, kernel, output


@pytest.mark.skipif(kernel.numba is None, reason="numba is not installed")
def test_compiling_is_said_once_and_garbage_lies_meanwhile(monkeypatch, capsys):
    monkeypatch.setattr(output.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(output.OUTPUT, "quiet", False)
    listener = kernel.CompileListener()
    watchers = output.COMPILE_WATCHERS[:]
    with output.progress():
        for _ in range(2):
            listener.on_start(None)
            assert not gc.isenabled()
            listener.on_end(None)
            assert gc.isenabled()
    assert capsys.readouterr().out.count("The first run on this machine compiles") == 1
    assert watchers == output.COMPILE_WATCHERS


@pytest.mark.skipif(kernel.numba is None, reason="numba is not installed")
@pytest.mark.parametrize(("patience", "times"), [(0.0, 1), (60.0, 0)])
def test_who_waits_for_compiling_is_told_once(monkeypatch, caplog, patience, times):
    monkeypatch.setattr(compiling, "PATIENCE", patience)
    caplog.set_level("WARNING", logger="synthpop.compile")  # a page shows how to silence it
    listener, notice = kernel.CompileListener(), compiling.CompileNotice()
    notice.watch()
    for _ in range(2):
        listener.on_start(None)
        notice.timer.join(timeout=5 if patience == 0 else 0.01)
        listener.on_end(None)
    notice.stop()
    assert [(one.name, one.getMessage()) for one in caplog.records] == [
        ("synthpop.compile", compiling.TEXT)
    ] * times


def test_both_packages_watch_and_a_command_does_not(monkeypatch):
    monkeypatch.setattr(compiling.COMPILE_NOTICE, "patience", 60.0)
    for package in (synthpop, riskeval):
        compiling.COMPILE_NOTICE.stop()
        importlib.reload(package)
        assert compiling.COMPILE_NOTICE in output.COMPILE_WATCHERS
    output.Output().begin("demo", quiet=True, verbose=False, as_json=False)
    assert compiling.COMPILE_NOTICE not in output.COMPILE_WATCHERS


def test_a_step_called_from_python_runs_its_plain_form():
    from riskeval.kernels.microaggregation import nearest_bound

    low, high = np.array([[1.0, 0.0]]), np.array([[2.0, 1.0]])
    assert nearest_bound(np.array([0.0, 3.0]), low, high, 0) == 5.0
