"""Chapters 3 to 5 of Templ (2017): printed numbers, ours, and the tables of the pages."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay import book

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


TEN_SEEDS = ("random-protection",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.pages if name in TEN_SEEDS else [])
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
