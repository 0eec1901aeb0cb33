"""Kinds of missing answers stay apart from a labelled file to a run file and back."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow.feather import write_feather

import riskeval.cli
import synthpop.cli
from riskeval.keys.suggest import suggest_roles
from synthpop.microdata.formats.files import read_table, read_with_kinds, write_table
from synthpop.microdata.formats.labelled import KIND, ONE_KIND
from synthpop.microdata.frame.dictionary import (
    Dictionary,
    Variable,
    dictionary_of,
    with_dictionary,
)
from tests import console
from tests.sas7bdat import Column, write_sas7bdat
from tests.small import small_frame

REFUSED, UNKNOWN, CHILD = 999_998, 999_999, -8
INCOME = Variable(
    "income", "Income", missing=((REFUSED, "refused"), (UNKNOWN, "not known")), kind="integer"
)
WORK = Variable(
    "work", "Work", ((1, "yes"), (2, "no")), missing=((CHILD, "child"), (-9, "refused")),
    kind="integer",
)  # fmt: skip


@pytest.fixture(name="survey")
def _survey(tmp_path: Path) -> Path:
    """Write a survey with two kinds of missing in a number and in a category."""
    frame = small_frame(150)[["hid", "w", "age", "sex"]]
    rng = np.random.default_rng(1)
    amounts = rng.integers(100, 9_000, len(frame))
    kinds = rng.choice([0, REFUSED, UNKNOWN], len(frame), p=[0.7, 0.2, 0.1])
    work = np.where(frame["age"] < 16, CHILD, rng.choice([1, 2, -9], len(frame), p=[0.6, 0.3, 0.1]))
    frame = frame.assign(income=np.where(kinds > 0, kinds, amounts), work=work)
    path = tmp_path / "survey.sav"
    write_table(with_dictionary(frame, Dictionary([INCOME, WORK])), path)
    return path


def codes(path: Path) -> pd.DataFrame:
    """Return the numbers of a file as SPSS and Stata hold them."""
    import pyreadstat

    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    return read(str(path), user_missing=True)[0]


def test_kinds_that_become_one_are_told(survey: Path) -> None:
    frame = read_table(survey)
    assert frame.attrs[ONE_KIND] == ["income", "work"]
    assert frame.attrs["reading"] == [
        "several kinds of missing answers as one in 'income' and 'work'"
    ]
    assert ONE_KIND not in read_table(survey, user_missing="level").attrs


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_codes_come_back(survey: Path, tmp_path: Path, suffix: str) -> None:
    frame, user_missing = read_with_kinds(survey)
    assert user_missing == "level"
    assert frame["income_missing"].value_counts().index.tolist() == ["refused", "not known"]
    assert frame["income"].isna().eq(frame["income_missing"].notna()).all()
    frame.loc[3, ["income", "income_missing", "work"]] = None  # suppressed
    back = tmp_path / f"back{suffix}"
    write_table(frame, back)
    assert f"income{KIND}" not in codes(back)
    again = read_table(back, user_missing="level")
    for name in ("income", "income_missing", "work"):
        assert again[name].isna().equals(frame[name].isna())
        assert again[name].dropna().tolist() == frame[name].dropna().tolist()
    if suffix == ".sav":
        before, after = codes(survey), codes(back)
        assert after.loc[3, ["income", "work"]].isna().all()
        others = before.index != 3
        assert (before == after)[others].all(axis=None)


def test_run_files_keep_them_and_the_population_has_them(survey: Path) -> None:
    folder = survey.parent
    for main, arguments in (
        (synthpop.cli.main, ("init", survey.name)),
        (synthpop.cli.main, ("run", "survey.toml", "--seed", 1, "--out", "people")),
        (synthpop.cli.main, ("export", "people", "people.sav")),
        (synthpop.cli.main, ("export", "people", "people.csv")),
        (riskeval.cli.main, ("init", survey.name)),
    ):
        done = console.call(main, *arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    for plan, table in (("survey", "survey"), ("survey-protect", "data")):
        text = (folder / f"{plan}.toml").read_text()
        assert tomllib.loads(text)[table]["user_missing"] == "level"
    people = codes(folder / "people.sav")
    assert "income_missing" not in pd.read_csv(folder / "people.csv")
    assert not people["income"].isna().any()
    assert people["income"].isin([REFUSED, UNKNOWN]).mean() == pytest.approx(0.3, abs=0.1)
    assert people.loc[people["work"] == CHILD, "age"].max() < 16
    assert ((people["work"] == CHILD) == (people["age"] < 16)).mean() > 0.995
    item = next(
        c for c in suggest_roles(read_with_kinds(survey)[0]).columns if c.name[-7:] == "missing"
    )
    assert (item.role, item.why) == ("none", "kinds of missing answers of income")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_texts_among_numbers_are_kinds_of_missing(tmp_path: Path, suffix: str) -> None:
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    cells: list[object] = [*range(100, 140), "refused", "not known", None, "refused"]
    file, back = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    frame = pd.DataFrame({"x": cells, "y": range(len(cells))})
    (frame.to_csv if suffix == ".csv" else frame.to_excel)(file, index=False)
    one = read_table(file)
    assert (one["x"].isna().sum(), one.attrs[ONE_KIND]) == (4, ["x"])
    assert one.attrs["reading"] == ["'not known' and 'refused' as missing in 'x'"]
    read, user_missing = read_with_kinds(file)
    assert [user_missing, *read] == ["level", "x", "x_missing", "y"]
    assert read["x_missing"].tolist()[-4:-2] == ["refused", "not known"]
    assert read["x_missing"].isna().tolist()[-2:] == [True, False]
    assert str(read["x"].dtype) == "Int64"
    write_table(read, back)
    if suffix == ".csv":  # a sheet gets both columns
        assert back.read_text() == file.read_text()
    assert read_table(back)["x"].astype("Int64").equals(one["x"])
    for labelled in (".sav", ".dta"):  # codes below all numbers, or letters, with labels
        write_table(read, tmp_path / f"c{labelled}")
        again = read_table(tmp_path / f"c{labelled}", user_missing="level")
        assert again["x_missing"].astype(object).equals(read["x_missing"].astype(object))
        assert again["x"].astype("Int64").equals(read["x"])


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_codes_of_a_dictionary_in_parquet_are_kinds_of_missing(
    survey: Path, tmp_path: Path, suffix: str
) -> None:
    kinds, file = Dictionary([INCOME, WORK]), tmp_path / f"raw{suffix}"
    if suffix == ".parquet":
        with_dictionary(codes(survey), kinds).to_parquet(file)
    else:
        write_feather(with_dictionary(pa.Table.from_pandas(codes(survey)), kinds), file)
    read, user_missing = read_with_kinds(file)
    spss = read_table(survey, user_missing="level")
    assert user_missing == "level"
    for name in ("income", "income_missing", "work"):
        assert read[name].astype(object).equals(spss[name].astype(object)), name
    again = tmp_path / f"again{suffix}"
    write_table(read, again)
    assert read_table(again)["income_missing"].equals(read["income_missing"])


def test_special_missing_values_of_sas_and_files_for_sas(tmp_path: Path) -> None:
    file = tmp_path / "s.sas7bdat"
    write_sas7bdat(file, [Column("hid", [1, 2, 3, 4]), Column("income", [812.5, "R", "D", None])])
    read, user_missing = read_with_kinds(file)
    assert (user_missing, *read) == ("level", "hid", "income", "income_missing")
    assert read["income_missing"].astype(object).fillna("").tolist() == ["", "R", "D", ""]
    assert read["income"].isna().tolist() == [False, True, True, True]
    assert dictionary_of(read)["income"].missing == (("D", ""), ("R", ""))
    write_table(read, tmp_path / "s.xpt")  # has no special values: the kinds stay a column
    assert read_table(tmp_path / "s.xpt")["income_missing"].tolist() == ["", "R", "D", ""]


def test_a_code_beside_system_missing_values_is_a_kind(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, -9.0, np.nan]})
    refused = Dictionary([Variable("x", missing=((-9, "refused"),))])
    write_table(with_dictionary(frame, refused), tmp_path / "a.sav")
    read, user_missing = read_with_kinds(tmp_path / "a.sav")
    assert user_missing == "level"
    assert read["x_missing"].astype(object).fillna("").tolist() == ["", "", "refused", ""]
    write_table(read, tmp_path / "b.sav")
    assert codes(tmp_path / "b.sav").equals(codes(tmp_path / "a.sav"))
