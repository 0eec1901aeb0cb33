"""Delimited text: what becomes a number, separators, encodings."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import read_survey
from synthpop.microdata.formats.delimited import read_delimited
from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.messages.errors import InputError


def read(folder: Path, text: str, encoding: str = "utf-8") -> pd.DataFrame:
    file = folder / "s.csv"
    file.write_bytes(text.encode(encoding))
    return read_table(file)


def column(folder: Path, *cells: str, separator: str = ";") -> pd.Series:
    lines = [f"x{separator}y", *(f"{cell}{separator}a" for cell in cells)]
    return read(folder, "\n".join(lines))["x"]


def test_ids_with_leading_zeros_stay_apart(tmp_path) -> None:
    (tmp_path / "s.csv").write_text("hid,w\n01,2\n1,3\n01,2\n")
    survey = read_survey(tmp_path / "s.csv", weight="w", household="hid")
    assert survey.n_households == 2
    assert survey.frame["hid"].tolist() == ["01", "1", "01"]


def test_words_are_no_missing_values(tmp_path) -> None:
    frame = read(tmp_path, "region,job\nNA,None\nAT,null\n,n/a\n")
    assert frame["region"].tolist()[:2] == ["NA", "AT"]
    assert frame["region"].isna().tolist() == [False, False, True]
    assert frame["job"].tolist() == ["None", "null", "n/a"]


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (("1", "2"), [1, 2]),
        (("-1", "+2", "0"), [-1, 2, 0]),
        (("1", "", "3"), [1.0, np.nan, 3.0]),
        (("1.5", "NA", "NaN"), [1.5, np.nan, np.nan]),
        ((" 1", "2 "), [1, 2]),
        (("1.10", "2.50"), [1.1, 2.5]),
        (("10.0", "10.25", "0"), [10.0, 10.25, 0.0]),
        (("1e-05", "1.5E+02", ".5", "-.5"), [1e-5, 150.0, 0.5, -0.5]),
        (("1,5", "2"), [1.5, 2.0]),
        (("-0,5", "1,25"), [-0.5, 1.25]),
        (("9007199254740993", "1"), [9007199254740993, 1]),
    ],
)
def test_numbers(tmp_path, cells: tuple[str, ...], kept: list[float]) -> None:
    values = column(tmp_path, *cells)
    assert pd.api.types.is_numeric_dtype(values.dtype)
    np.testing.assert_array_equal(values.to_numpy(), kept)


@pytest.mark.parametrize(
    "cells",
    [
        ("01", "1"),
        ("007", "12"),
        ("10.1", "10.10"),  # codes of a classification
        ("1e5", "100000"),
        ("12345678901234567890", "1"),
        ("9007199254740993", "", "1"),  # would be rounded beside a missing one
        ("1", "a"),
        ("True", "False"),
        ("1,2,3", "4"),
        ("inf", "1"),
        ("1e+999", "1"),
    ],
)
def test_text_that_would_lose_as_numbers(tmp_path, cells: tuple[str, ...]) -> None:
    values = column(tmp_path, *cells)
    assert values.fillna("").tolist() == list(cells)


def test_points_that_may_stand_between_thousands_stay_text(tmp_path) -> None:
    frame = read(tmp_path, "income;w;n\n1.234;1,5;3\n2.500;2,5;4\n")
    assert frame["income"].tolist() == ["1.234", "2.500"]
    assert frame["w"].tolist() == [1.5, 2.5]
    assert frame["n"].tolist() == [3, 4]


def test_an_empty_column_is_missing_throughout(tmp_path) -> None:
    assert read(tmp_path, "x,y\n,1\n,2\n")["x"].isna().all()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", "  "])
def test_separators(tmp_path, separator: str) -> None:
    text = f'"hid"{separator}"a name"{separator}w\n1{separator}"x, y; z"{separator}2.5\n'
    frame = read(tmp_path, text)
    assert frame.columns.tolist() == ["hid", "a name", "w"]
    assert frame.iloc[0].tolist() == [1, "x, y; z", 2.5]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_encodings(tmp_path, encoding: str) -> None:
    frame = read(tmp_path, "größe,land\n1,Österreich\n2,Kärnten\n", encoding)
    assert frame.columns.tolist() == ["größe", "land"]
    assert frame["land"].tolist() == ["Österreich", "Kärnten"]


def test_umlauts_far_behind_the_start(tmp_path) -> None:
    text = "x,y\n" + "1,abcdefgh\n" * 10_000 + "2,Wörgl\n"
    assert read(tmp_path, text, "latin-1")["y"].iloc[-1] == "Wörgl"


def test_rows_longer_than_the_header_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="more cells than the first line has names"):
        read(tmp_path, "hid w\n1 7 2.5\n2 7 2.5\n")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path, "")


def test_floats_come_back_to_the_last_digit(tmp_path) -> None:
    values = np.random.default_rng(1).random(1000) * 1e5
    write_table(pd.DataFrame({"x": values}), tmp_path / "x.csv")
    assert (read_table(tmp_path / "x.csv")["x"].to_numpy() == values).all()


def test_a_damaged_file_of_another_program_is_an_input_error(tmp_path) -> None:
    pytest.importorskip("pyreadstat")
    for suffix in (".sav", ".dta", ".sas7bdat"):
        (tmp_path / f"bad{suffix}").write_bytes(b"$FL2 nothing of the kind" * 20)
        with pytest.raises(InputError, match="cannot be read"):
            read_table(tmp_path / f"bad{suffix}")


def test_example_of_read_delimited() -> None:
    file = Path(tempfile.mkdtemp()) / "s.csv"
    file.write_text("id;region;w\n01;NA;1,5\n1;AT;2\n")
    frame = read_delimited(file)
    assert frame.to_dict("list") == {"id": ["01", "1"], "region": ["NA", "AT"], "w": [1.5, 2.0]}
    assert frame.attrs["reading"] == ["separator ';'", "decimal comma in 'w'"]
