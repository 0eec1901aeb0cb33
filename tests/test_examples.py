"""Every script of the examples runs, in a folder of its own (``-m pages``)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.results import NUMBER, stored
from synthpop import open_population
from synthpop.population.verify import verify
from tests.console import call_script

pytestmark = pytest.mark.pages
FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))
SHOWN = {
    "protect_a_file.py": ("protect_a_file", "incomes"),
    "protect_earnings.py": ("earnings risk", "earnings methods", "earnings estimates"),
}
"""Stored tables of `docs/methods/protection-session.md` with the numbers that a script prints."""


def call(script: str, cwd: Path) -> str:
    result = call_script(FOLDER / script, cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("script", [name for name in SCRIPTS if name != "known_totals.py"])
def test_an_example_runs_and_writes_where_it_is_called(script: str, tmp_path: Path) -> None:
    output = call(script, tmp_path)
    assert output.strip()
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    for name in SHOWN.get(script, ()):
        for row in stored("protection", name).table.itertuples(index=False):
            assert printed(list(row[1:]), output), f"{name}: {row}"


def printed(cells: list[str], output: str) -> bool:
    """Whether one line has the numbers of all cells, rounded as they are."""
    wanted = [cell.removesuffix(" %").replace(",", "") for cell in cells]
    for line in output.splitlines():
        numbers = [float(text.replace(",", "")) for text in NUMBER.findall(line)]
        if all(any(abs(x - float(w)) <= 0.51 * unit(w) for x in numbers) for w in wanted):
            return True
    return False


def unit(number: str) -> float:
    """Size of the last digit of a number that is written out."""
    return float(10.0 ** -len(number.partition(".")[2]))


def test_known_totals_are_met(tmp_path: Path) -> None:
    output = call("known_totals.py", tmp_path)
    sentence = re.search(r"absolute differences of ([\d,]+) in ([\d,]+) persons", output)
    assert sentence is not None, output
    gap, n = (int(text.replace(",", "")) for text in sentence.groups())
    population = open_population(tmp_path / "known-totals" / "population")
    assert n == population.n_persons > 40_000
    assert gap <= 0.002 * n + 27 * 2  # what whole numbers cannot reach: half a person a cell
    assert verify(tmp_path / "known-totals" / "population") == []
    steps = population.manifest.steps
    assert [step.converged for step in steps] == [True, True]
    page = (tmp_path / "known-totals" / "report.html").read_text(encoding="utf-8")
    assert "Households exchanged (annealing)" in page
