"""The four files of EU-SILC: joined, mapped, and made a recipe."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import Pipeline
from synthpop.microdata.messages.errors import InputError
from synthpop.runfiles.eu_silc import read_eu_silc
from synthpop.runfiles.runfile import load_runfile
from synthpop.runfiles.template import starter_runfile
from tests.reference_data import survey_data
from tests.synthpop.profile.test_profile import households


def raw_files(frame: pd.DataFrame, folder: Path) -> list[Path]:
    """Write D, H, R and P of a survey in the columns of `frame`, persons in mixed order."""
    number = frame.groupby("db030").cumcount() + 1
    pid = frame["db030"] * 100 + number
    first = frame.drop_duplicates("db030")
    adult = frame["age"] >= 16
    parts = [name for name in frame.columns if name.startswith("py")]
    tables = {
        "D": first[["db030", "db040", "db090"]],
        "H": first[["db030"]].assign(hy040g=10.0, hy050g=5.0, hy140g=2.0).rename(
            columns={"db030": "hb030"}),
        "R": pd.DataFrame({"rb030": pid, "rx030": frame["db030"], "rx020": frame["age"],
                           "rb090": frame["rb090"], "rb050": frame["rb050"], "rb050_f": 1}),
        "P": frame[["pl030", "pb220a", *parts]].assign(pb030=pid)[adult],
    }  # fmt: skip
    paths = []
    for name, table in tables.items():
        table = table.sample(frac=1, random_state=1)
        table.columns = [column.upper() for column in table.columns]
        paths.append(folder / f"{name}.csv")
        table.to_csv(paths[-1], index=False)
    return paths


@pytest.fixture
def frame() -> pd.DataFrame:
    data = households(150)
    return pd.DataFrame(
        {
            "db030": data["hid"], "db040": data["region"], "db090": data["weight"],
            "rb050": data["weight"], "age": data["age"], "rb090": data["sex"],
            "pl030": data["job"], "pb220a": data["faith"], "py010g": data["wage"],
            "py050g": data["rest"], "py100g": data["pension"],
        }
    )  # fmt: skip


def test_persons_find_their_household_and_interview(frame: pd.DataFrame, tmp_path: Path) -> None:
    joined = read_eu_silc(raw_files(frame, tmp_path))
    assert len(joined) == len(frame)
    assert (joined.groupby("db030")["db030"].transform("size") == joined["hsize"]).all()
    by_person = joined.set_index("pid")
    number = frame.groupby("db030").cumcount() + 1
    expected = frame.set_index(frame["db030"] * 100 + number)
    adult = expected["age"] >= 16
    wage = by_person.loc[expected.index[adult], "py010g"]
    np.testing.assert_allclose(wage, expected.loc[adult, "py010g"])
    assert by_person.loc[expected.index[~adult], "py010g"].isna().all()
    parts = joined[["py010g", "py050g", "py100g"]].sum(axis=1, min_count=1)
    np.testing.assert_allclose(joined["income"], parts)
    assert set(joined["hgrossIncome"]) == {15.0}
    assert set(joined["hgrossminus"]) == {2.0}
    assert not any(name.endswith("_f") for name in joined.columns)


def test_the_recipe_of_the_joined_files_runs(frame: pd.DataFrame, tmp_path: Path) -> None:
    joined = read_eu_silc(raw_files(frame, tmp_path))
    joined.to_parquet(tmp_path / "eu-silc.parquet")
    path = tmp_path / "eu-silc.toml"
    path.write_text(starter_runfile(tmp_path / "eu-silc.parquet", tmp_path), encoding="utf-8")
    plan = load_runfile(path)
    assert (plan.survey.weight, plan.survey.household, plan.survey.strata) == (
        "rb050", "db030", "db040"
    )  # fmt: skip
    assert plan.survey.person == "pid"
    made = Pipeline(plan.stages).fit(plan.read_survey(), seed=1).simulate(scale=0.1).frame()
    parts = made[["py010g", "py050g", "py100g"]].sum(axis=1)
    assert np.allclose(parts, made["income"].fillna(0), atol=0.01)


def test_files_in_another_order_are_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    d, h, r, p = raw_files(frame, tmp_path)
    with pytest.raises(InputError, match="Give the files in the order D, H, R, P"):
        read_eu_silc([p, h, r, d])
    with pytest.raises(InputError, match="2 files are given"):
        read_eu_silc([d, h])


def test_a_person_without_a_household_is_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    paths = raw_files(frame, tmp_path)
    table = pd.read_csv(paths[0])
    table.iloc[1:].to_csv(paths[0], index=False)
    with pytest.raises(InputError, match="persons of households that D does not have"):
        read_eu_silc(paths)


def test_one_joined_file_is_enough() -> None:
    joined = read_eu_silc_of(survey_data("eusilcS"))
    assert {"db030", "db040", "hsize", "age", "rb090", "pl030", "pb220a", "income"} <= set(joined)
    np.testing.assert_allclose(
        joined["income"].fillna(0), survey_data("eusilcS")["netIncome"].fillna(0), atol=0.01
    )


def read_eu_silc_of(frame: pd.DataFrame) -> pd.DataFrame:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.parquet"
        frame.to_parquet(path)
        return read_eu_silc([path])


def test_init_joins_the_files_and_writes_both(frame: pd.DataFrame, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from synthpop.cli import app

    paths = [str(path) for path in raw_files(frame, tmp_path)]
    done = CliRunner().invoke(app, ["init", "--eu-silc", *paths])
    assert done.exit_code == 0
    assert "a part of income" in done.output
    assert load_runfile(tmp_path / "eu-silc.toml").survey.file == "eu-silc.parquet"
    again = CliRunner().invoke(app, ["init", "--eu-silc", *paths])
    assert again.exit_code == 1
    assert CliRunner().invoke(app, ["init", *paths]).exit_code == 1
