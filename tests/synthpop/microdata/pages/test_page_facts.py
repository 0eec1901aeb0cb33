"""Small calls of `page_facts` and what they return."""

from __future__ import annotations

from synthpop.microdata.pages.page_facts import limit_mark, row_id


def test_example_of_row_id() -> None:
    assert (row_id("pl030"), row_id("a b")) == ("v-pl030", "v-a-b-1c7")


def test_example_of_limit_mark() -> None:
    assert (
        limit_mark(False)["text"],
        limit_mark(None)["text"],
        limit_mark(None, applies=False)["kind"],
    ) == ("exceeded", "–", "grey")
