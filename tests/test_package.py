"""Public names, layers, import cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import riskeval
import synthpop


@pytest.mark.parametrize("package", [synthpop, riskeval], ids=["synthpop", "riskeval"])
def test_every_public_name_is_there_and_documented(package) -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    for name in package.__all__:
        thing = getattr(package, name)
        assert name.startswith("__") or thing.__doc__, name
    assert set(dir(package)) == set(package.__all__)


@pytest.mark.parametrize("package", [synthpop, riskeval], ids=["synthpop", "riskeval"])
def test_an_unknown_name_is_an_attribute_error(package) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_importing_costs_neither_numba_nor_pandas() -> None:
    code = (
        "import sys, synthpop, riskeval;"
        "print([m for m in ('numba', 'numpy', 'pandas', 'scipy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_kernels_run_as_plain_python() -> None:
    code = (
        "import numpy as np; from synthpop.kernels.draws import draw_classes;"
        "out = np.empty(2, dtype=np.int8);"
        "draw_classes(np.zeros(2, int), np.zeros(1, int), np.array([[.5, 1.]]),"
        " np.array([.4, .6]), 0, out); print(out.tolist(), draw_classes.py_func is draw_classes)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"NUMBA_DISABLE_JIT": "1", "PATH": ""},
    )
    assert out.stdout.strip() == "[0, 1] True"


def test_another_distribution_of_the_same_name_is_told(tmp_path) -> None:
    from synthpop.microdata.messages.errors import MicrodataWarning
    from synthpop.microdata.runs.installed import others_beside, warn_of_others

    (tmp_path / "synthpop").mkdir()
    file = str(tmp_path / "synthpop" / "__init__.py")
    (tmp_path / "synthpop_riskeval-0.1.0.dist-info").mkdir()
    warn_of_others(file)  # ours alone: no warning, which would be an error here
    (tmp_path / "synthpop-0.1.1.dist-info").mkdir()
    assert others_beside(file) == ["synthpop 0.1.1"]
    with pytest.warns(MicrodataWarning, match="pip uninstall synthpop, then pip install"):
        warn_of_others(file)


def test_the_command_tells_of_a_package_that_was_overwritten(monkeypatch) -> None:
    import synthpop
    from synthpop import cli

    found: list[str] = []
    monkeypatch.setattr(cli, "warn_of_others", found.append)
    monkeypatch.setattr(cli, "guarded", lambda *arguments: None)
    cli.main()
    assert found == []
    monkeypatch.delattr(synthpop, "warn_of_others")  # as the __init__ of the other one
    cli.main()
    assert found == [str(Path(cli.__file__).parent)]
