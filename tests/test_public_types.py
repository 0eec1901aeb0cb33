"""Type checkers of users see every public name, and refuse what does not exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import riskeval
import synthpop
from riskeval import protect
from synthpop.microdata.messages import errors
from synthpop.microdata.messages.lazy import FACADES

PACKAGES = (
    "synthpop",
    "synthpop.calibration",
    "synthpop.heaping",
    "synthpop.indicators",
    "synthpop.sampling",
    "riskeval",
    "riskeval.protect",
    "riskeval.utility",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_imported_when_they_are_used(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) - {"__version__", "VERBS"} == set(FACADES[package]) != set()
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = module.no_such_name


def test_every_verb_is_public() -> None:
    assert set(protect.VERBS) <= set(protect.__all__)


def test_no_package_with_late_imports_is_forgotten() -> None:
    assert set(FACADES) >= set(PACKAGES)
    root = Path(synthpop.__file__).parents[1]
    late = [
        path
        for folder in ("synthpop", "riskeval")
        for path in (root / folder).rglob("*.py")
        if "= attach(" in path.read_text(encoding="utf-8") and path.name != "lazy.py"
    ]
    assert len(late) == len(PACKAGES)


@pytest.mark.parametrize("package", [synthpop, riskeval])
def test_exceptions_are_public(package: object) -> None:
    for name in vars(errors):
        thing = getattr(errors, name)
        if isinstance(thing, type) and issubclass(thing, (errors.MicrodataError, Warning)):
            assert getattr(package, name) is thing


@pytest.mark.slow
def test_users_scripts_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``mypy --strict`` knows every name, and refuses misspelt options and wrong types."""
    api = pytest.importorskip("mypy.api")
    names = {
        package: [name for name in importlib.import_module(package).__all__ if name[0] != "_"]
        for package in PACKAGES
    }
    shown = [f"import {package}" for package in PACKAGES]
    shown += ["session = riskeval.ProtectionSession(None, keys=['a'])"]
    shown += ["session.local_suppression(k=3), session.pram('a', seed=1)"]  # roles answer keys
    shown += [f"reveal_type({package}.{name})" for package in PACKAGES for name in names[package]]
    script = tmp_path / "script.py"
    wrong = [
        'synthpop.Continuous("income", methd="binned")',
        "synthpop.Pipelin",
        "riskeval.assess(42, kees=None)",
        "riskeval.utility.information_loss(1, 2, ['a'], seed=1)",
        "riskeval.protect.pramm",
        "session.local_suppression(kk=3)",
        "session.pramm()",
    ]
    script.write_text("\n".join([*shown, *wrong]), encoding="utf-8")
    monkeypatch.chdir(Path(synthpop.__file__).parents[1])
    options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports", "--config-file=",
               "--cache-dir=.mypy_cache/users"]  # fmt: skip
    text, _, _ = api.run([*options, str(script)])
    types = re.findall(r'Revealed type is "(.*)"', text)
    assert len(types) == sum(map(len, names.values()))
    assert [line for line in text.splitlines() if 'Revealed type is "Any"' in line] == []
    faults = [int(row) for row in re.findall(r"script\.py:(\d+): error", text)]
    assert sorted(set(faults)) == [len(shown) + 1 + i for i in range(len(wrong))], text
