"""Small calls of `files` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.formats.files import with_whole_numbers, without_formulas
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary


def test_example_of_with_whole_numbers() -> None:
    years = Dictionary([Variable("years", kind="integer")])
    frame = with_dictionary(pd.DataFrame({"years": [3.0, None]}), years)
    assert repr(with_whole_numbers(frame)["years"].dtype) == "Int64Dtype()"


def test_example_of_without_formulas() -> None:
    assert without_formulas(pd.DataFrame({"=a": ["=1+1", "b"]}))["'=a"].tolist() == ["'=1+1", "b"]
