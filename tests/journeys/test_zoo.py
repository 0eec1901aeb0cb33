"""Files that nobody prepared: `init` alone tells the roles, and its file runs to the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import riskeval.cli
import synthpop.cli
from benchmarks.any_file import FILES, SHARED, File, copy, lacking, plausibility, roles_wrong
from synthpop import open_population, read_table
from tests import console

QUICK = ("zoo/erhebung.csv", "zoo/sandag_persons.parquet", "data/Tarragona.parquet")
QUICK_RUNS = ("data/casc1.parquet",)
HOUSEHOLDS = 400
# per 10,000 persons, or years: what the population may have more than the survey
TOLERANCE = {
    "without an adult": 25.0,
    "years between two adults": 2.0,
    "child too old": 25.0,
    "spouse under 15": 10.0,
}


def every(quick: tuple[str, ...]) -> pytest.MarkDecorator:
    """Run a test on every file, slow but for some."""
    slow = [() if file.path in quick else pytest.mark.slow for file in FILES]
    pairs = zip(FILES, slow, strict=True)
    cases = [pytest.param(file, marks=mark, id=file.path) for file, mark in pairs]
    return pytest.mark.parametrize("file", cases)


@pytest.fixture(name="path")
def _path(file: File, tmp_path: Path) -> Path:
    """Return the first households as a stranger has them."""
    if not (SHARED / file.path).exists():
        pytest.skip(f"{file.path} is not beside the repository")
    return copy(file, tmp_path, HOUSEHOLDS)


def call(main: Callable[[], object], *arguments: object, folder: Path) -> None:
    done = console.call(main, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr


@every(QUICK)
def test_both_packages_tell_the_roles(file: File, path: Path) -> None:
    call(synthpop.cli.main, "init", path.name, "--out", "made.toml", folder=path.parent)
    call(riskeval.cli.main, "init", path.name, folder=path.parent)
    assert roles_wrong(file, path.parent, path.stem) == []


@every(QUICK_RUNS)
def test_what_init_writes_runs(file: File, path: Path) -> None:
    folder, survey = path.parent, read_table(path)
    call(synthpop.cli.main, "init", path.name, "--out", "made.toml", folder=folder)
    call(synthpop.cli.main, "run", "made.toml", "--seed", 1, "--out", "people", folder=folder)
    call(riskeval.cli.main, "init", path.name, folder=folder)
    for verb in ("assess", "protect"):
        call(riskeval.cli.main, verb, f"{path.stem}-{verb}.toml", folder=folder)
    assert lacking(file, [*map(str, survey.columns)], folder)[1] == []  # columns without a line
    wanted = plausibility(file, survey)
    found = plausibility(file, open_population(folder / "people").frame())
    assert all(found[name] <= wanted[name] + TOLERANCE[name] for name in wanted), (wanted, found)
