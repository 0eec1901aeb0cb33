"""A mock file has the columns of a survey and nothing of its respondents."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthpop import (
    Dictionary,
    InputError,
    Variable,
    dictionary_of,
    mock,
    read_table,
    with_dictionary,
)
from synthpop.cli import app
from tests.reference_data import SHARED
from tests.small import small_frame

ZOO = SHARED / "zoo"


def frame() -> pd.DataFrame:
    people = small_frame()
    people["secret"] = [f"name {k}" for k in range(len(people))]
    people["code"] = np.where(people["sex"] == "f", 1, 2)
    people["rare"] = people["income"].round(-1) + 3
    labels = Dictionary(
        [
            Variable("code", "Sex", values=((1, "female"), (2, "male"), (3, "other"))),
            Variable("income", missing=((999999, "refused"),)),
        ]
    )
    return with_dictionary(people, labels)


def test_columns_types_labels_and_households_are_those_of_the_file() -> None:
    people = frame()
    made = mock(people, household="hid", seed=1)
    assert made.data.columns.tolist() == people.columns.tolist()
    assert dictionary_of(made.data) == dictionary_of(people)
    assert set(made.data["code"]) == {1, 2, 3}  # of the dictionary, not of the data
    assert (made.data["income"] == 999999).mean() == pytest.approx(0.05, abs=0.03)
    sizes = made.data.groupby("hid").size()
    assert set(sizes) == {1, 2, 3, 4}
    assert (made.data["size"] == made.data["hid"].map(sizes)).all()
    assert made.data.groupby("hid")["region"].nunique().max() == 1
    assert made.checks["passed"].all()
    assert "NOT REAL DATA" in made.summary()
    assert set(made.checks["check"]) == {"labelling", "disclosure", "structure", "documentation"}


def test_nothing_of_a_respondent_is_in_it() -> None:
    people = frame()
    made = mock(people, household="hid", seed=2).data
    assert not set(made["secret"]) & set(people["secret"])
    assert set(made["region"].dropna()) == {"level 1", "level 2", "level 3"}
    for name in ("income", "rare", "wage", "age"):
        known = made[name].replace(999999, np.nan).dropna()
        assert known.min() >= (-(10**5) if name != "age" else 0)
        assert np.log10(known.max()) <= np.ceil(np.log10(people[name].max()))
        assert known.max() != people[name].max()
    other = people.assign(income=people["income"] * 1.001)
    again = mock(other, household="hid", seed=2).data
    assert again["income"].equals(made["income"])  # what persons earn changes nothing


def test_arguments_are_honoured() -> None:
    people = frame()
    made = mock(
        people, rows=300, household="hid", seed=3, levels="common",
        ranges={"age": (18, 20)}, shares={"status": {"works": 3, "idle": 1}},
    )  # fmt: skip
    assert 300 <= len(made.data) <= 304
    assert set(made.data["age"]) == {18, 19, 20}
    assert set(made.data["region"]) == {"north", "south", "west"}
    assert made.data["status"].value_counts(normalize=True)["works"] == pytest.approx(
        0.75, abs=0.08
    )
    assert "20 records have" in " ".join(made.table["used"].map(str))
    assert mock(people, seed=4).data.equals(mock(people, seed=4).data)
    assert not mock(people, seed=4).data.equals(mock(people, seed=5).data)
    alone = mock(people.drop(columns="hid"), seed=1).data
    assert alone["size"].nunique() > 1
    with pytest.raises(InputError) as problem:
        mock(people, rows=0, household="x", ranges={"age": (3, 1)}, shares={"sex": {"f": -1}},
             levels="all")  # fmt: skip
    assert len(problem.value.faults) == 5


def test_the_checks_fail_where_they_should() -> None:
    """Attack the checks: hand out the data themselves, and a wrong type."""
    from synthpop.profile import mock as room

    people = frame().drop(columns="secret")
    maker = room._Maker(people, dictionary_of(people), {"household": "hid"}, {}, {}, "dictionary")
    made = mock(people, household="hid", seed=1)
    copied = room._checks(people, people.head(200), made.table, maker)
    assert copied["passed"].tolist() == [True, False, True, True]
    unlike = room._checks(people, made.data.assign(age="x"), made.table, maker)
    assert unlike["passed"].tolist() == [True, True, False, True]
    shown = made.data.assign(income=made.data["income"].clip(upper=people["income"].max()))
    assert not room._checks(people, shown, made.table, maker)["passed"].iloc[1]
    assert not room._checks(people, made.data, made.table.head(2), maker)["passed"].iloc[-1]


@pytest.mark.parametrize("name", ["enquete.sav", "erhebung.csv", "acs_pums.parquet"])
def test_files_of_strangers(name: str, tmp_path: Path) -> None:
    if not (ZOO / name).exists():
        pytest.skip("../shared/zoo is absent")
    shutil.copy(ZOO / name, tmp_path / name)
    done = CliRunner().invoke(app, ["mock", str(tmp_path / name), "--seed", "1"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / f"mock-{name}").with_suffix(".html").read_text(encoding="utf-8")
    assert "NOT REAL DATA" in page
    real, made = read_table(tmp_path / name), read_table(tmp_path / f"mock-{name}")
    assert made.columns.tolist() == real.columns.tolist()
    assert dictionary_of(made) == dictionary_of(real)
    if name == "enquete.sav":
        assert made.dtypes.astype(str).tolist() == real.dtypes.astype(str).tolist()
        assert not set(made["NOM_COMMUNE"]) & set(real["NOM_COMMUNE"])
        assert made["AGE"].between(0, 100).all()
    again = CliRunner().invoke(app, ["mock", str(tmp_path / name)])
    assert again.exit_code != 0


def test_the_command_refuses_a_name_without_mock_and_a_faulty_range(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "a.csv", index=False)
    file, out = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    for options in (["--out", out], ["--range", "age=x"]):
        assert CliRunner().invoke(app, ["mock", file, *options]).exit_code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]
    done = CliRunner().invoke(
        app, ["mock", file, "--range", "age=18:20", "--rows", "50",
              "--levels", "common", "--household", "hid"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert set(pd.read_csv(tmp_path / "mock-a.csv")["age"]) == {18, 19, 20}
