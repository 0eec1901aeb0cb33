"""Small calls of `show` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.messages.show import cell_text, html_table


def test_example_of_html_table() -> None:
    assert "1,235" in html_table(pd.DataFrame({"a": [1234.6, None]}))


def test_example_of_cell_text() -> None:
    assert [cell_text(x) for x in (12345, 0.12345, None, True, "a")] == [
        "12,345",
        "0.123",
        "–",
        "yes",
        "a",
    ]
