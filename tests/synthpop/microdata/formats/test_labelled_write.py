"""Small calls of `labelled_write` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.formats.labelled_write import coded_column
from synthpop.microdata.frame.dictionary import Variable


def test_example_of_coded_column() -> None:
    income = Variable("x", missing=((-9, "no answer"),), missing_code=-9)
    assert coded_column(pd.Series([1.5, None], name="x"), income, ".sav").values.tolist() == [
        1.5,
        -9.0,
    ]
    assert coded_column(pd.Series([1.5, None], name="x"), income, ".dta").values.tolist() == [
        1.5,
        "a",
    ]
    assert (
        repr(coded_column(pd.Series([1.5, None], name="x"), income, ".xpt").values.tolist())
        == "[1.5, nan]"
    )
