"""Small calls of `files` and what they return."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from synthpop.microdata.formats.files import (
    read_table,
    with_whole_numbers,
    without_formulas,
    write_table,
)
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary


def test_example_of_with_whole_numbers() -> None:
    years = Dictionary([Variable("years", kind="integer")])
    frame = with_dictionary(pd.DataFrame({"years": [3.0, None]}), years)
    assert repr(with_whole_numbers(frame)["years"].dtype) == "Int64Dtype()"


def test_example_of_without_formulas() -> None:
    assert without_formulas(pd.DataFrame({"=a": ["=1+1", "b"]}))["'=a"].tolist() == ["'=1+1", "b"]


def test_a_file_of_text_only_is_read_as_delimited_text_would_be(tmp_path: Path) -> None:
    texts = pd.DataFrame(
        {"area": ["01-1", "02-1"] * 20, "income": [str(n) for n in range(39)] + ["N"]}
    )
    for name in ("survey.parquet", "survey.arrow", "survey.csv"):
        write_table(texts, tmp_path / name)
        frame = read_table(tmp_path / name)
        assert frame["income"].sum() == sum(range(39))
        assert frame["income"].isna().sum() == 1
        write_table(frame, tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_text().splitlines()[-1] == "02-1,N"
    typed = texts.assign(n=1)
    write_table(typed, tmp_path / "typed.parquet")
    assert read_table(tmp_path / "typed.parquet")["income"].iloc[-1] == "N"
