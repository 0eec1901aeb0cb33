"""Every public name has an example that runs: in its docstring, or in examples.txt."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "examples.txt"
CONF = FILE.parents[1] / "conf.py"
EXAMPLES = dict(
    re.findall(r"^\[([\w.]+)\]\n(.*?)(?=^\[[\w.]+\]$|\Z)", FILE.read_text(), re.M | re.S)
)


def public_names() -> dict[str, object]:
    """The names of the reference, each under the first module that has it."""
    modules = re.findall(r'^    "\w+": \("([\w.]+)", ', CONF.read_text(encoding="utf-8"), re.M)
    names: dict[int, tuple[str, object]] = {}
    for module in modules:
        content = importlib.import_module(module)
        for name in content.__all__:
            value = getattr(content, name)
            if callable(value):
                names.setdefault(id(value), (f"{module}.{name}", value))
    return dict(names.values())


def test_every_public_name_has_an_example() -> None:
    names = public_names()
    assert len(names) > 250
    without = {name for name, value in names.items() if ">>>" not in (inspect.getdoc(value) or "")}
    assert without - set(EXAMPLES) == set()
    assert set(EXAMPLES) - without == set(), "these have an example of their own by now"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, str(FILE), 0)
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.failed == 0
    assert result.attempted > 0
