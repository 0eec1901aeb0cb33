"""Chapters 3 to 5 and section 8.7 of Templ (2017): printed numbers, ours, tables of the pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay import book, section87

from synthpop import load_demo_survey
from tests.reference_data import SHARED

PAGES = Path(__file__).parents[3] / "docs" / "replays"
FILES = SHARED / "data"


def check(name: str, rows: list[book.Row]) -> None:
    """Rows without a reason agree, rows with one do not, and a page has the table as it is."""
    for one in rows:
        assert one.agrees == (one.reason == ""), one
    pages = [page.read_text(encoding="utf-8") for page in book.pages(PAGES)]
    table = f"<!-- {name} -->\n{book.markdown(rows)}\n<!-- end -->"
    assert sum(table in page for page in pages) == 1, f"write the pages anew: {name} has changed"


@pytest.mark.parametrize("name", book.TABLES)
def test_small_examples(name: str) -> None:
    check(name, book.TABLES[name]())


LONG = ("random-protection", "population", "microaggregation")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.pages if name in LONG else [])
        for name in book.FILE_TABLES
    ],
)
def test_examples_on_files(name: str) -> None:
    if not (FILES / "eusilc.parquet").exists():
        pytest.skip("the survey files are not beside the repository")
    check(name, book.FILE_TABLES[name](FILES))


def test_a_number_that_moved_does_not_agree() -> None:
    assert book.row("", "24.78", 24.784).agrees
    assert not book.row("", "24.78", 24.786).agrees
    assert not book.row("", "1.663894e-03", 1.6638946e-3).agrees


def test_a_table_takes_the_place_of_the_old_one() -> None:
    page = "a\n<!-- t -->\nold\n<!-- end -->\nb"
    assert book.filled(page, {"t": "new"}) == page.replace("old", "new")


def test_the_four_files_of_the_demo_give_the_demo_back() -> None:
    people = load_demo_survey().frame.rename(columns={"pl030": "pl031"}).assign(pe040="3")
    files = section87.raw_files(people.assign(pl111="a"))
    households, adults = people["db030"].nunique(), people["age"] > 15
    sizes = [households, households, len(people), adults.sum()]
    assert [len(table) for table in files.values()] == sizes
    joined = section87.joined(people)
    assert joined["age"].tolist() == people["age"].tolist()
    assert joined["db030"].tolist() == people["db030"].tolist()
    assert joined["pl031"][adults].tolist() == people["pl031"][adults].astype(str).tolist()
    assert joined["income"][adults].sum() == pytest.approx(people["netIncome"][adults].sum())
