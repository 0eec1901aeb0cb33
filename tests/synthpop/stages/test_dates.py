"""Dates are simulated as days since 1970, through the age or from another date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import synthpop.cli
from synthpop import (
    Continuous,
    Pipeline,
    Structure,
    Survey,
    assess_fit,
    open_population,
    read_table,
    write_table,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.profile.profile import profile_survey
from tests import console
from tests.small import small_frame

YEAR = 365.2425
BIRTH = "interview - 365.2425 * age"


@pytest.fixture(scope="module", name="people")
def _people() -> pd.DataFrame:
    """Households with a day of the interview, births that agree with the ages, and a move."""
    frame = small_frame(300)[["hid", "w", "age", "sex"]]
    rng = np.random.default_rng(1)
    visit = pd.Series(rng.integers(0, 90, frame["hid"].nunique()), index=frame["hid"].unique())
    day = pd.Timestamp("2024-03-01") + pd.to_timedelta(frame["hid"].map(visit), "D")
    lived = np.floor(YEAR * (frame["age"] + rng.random(len(frame)) * 0.99))
    moved = day - pd.to_timedelta(rng.integers(0, 4000, len(frame)), "D")
    return frame.assign(
        interview=day, born=day - pd.to_timedelta(lived, "D"), moved=moved.where(frame["age"] > 17)
    )


def agree(frame: pd.DataFrame) -> float:
    """Return the share of persons whose birth and age agree."""
    lived = (frame["interview"] - frame["born"]).dt.days / YEAR
    return float(((lived >= frame["age"] - 0.01) & (lived <= frame["age"] + 1.01)).mean())


def fit_of(survey: Survey, population: Any) -> float:
    """Return how far the births are from those of the survey."""
    return float(assess_fit(survey, population, variables=["born"]).ks["born"])


def test_births_agree_with_ages_and_no_move_is_after_the_interview(people: pd.DataFrame) -> None:
    given = ["age", "sex"]
    pipeline = Pipeline([
        Structure(given), Continuous("interview", predictors=["sex"], by_household="shared"),
        Continuous("born", predictors=["sex"], offset=BIRTH),
        Continuous("moved", predictors=given, offset="interview"),
    ])  # fmt: skip
    survey = Survey(people, weight="w", household="hid")
    population = pipeline.fit(survey, seed=1).simulate(scale=0.2)
    frame = population.frame()
    assert agree(people) == agree(frame) == 1
    assert not (frame["moved"] > frame["interview"]).any()
    for name in ("interview", "born", "moved"):
        assert frame[name].dtype.kind == "M"
        assert (frame[name].dropna() == frame[name].dropna().dt.normalize()).all()
    low, high = people["interview"].min(), people["interview"].max()
    assert frame["interview"].between(low, high).all()
    shifted = frame.assign(born=frame["born"] + pd.Timedelta(4000, "D"))
    assert fit_of(survey, population) < 0.1 < fit_of(survey, shifted)


def test_the_same_recipe_without_offset_does_not(people: pd.DataFrame) -> None:
    stages = [Structure(["age"]), Continuous("interview"), Continuous("born", predictors=["age"])]
    fitted = Pipeline(stages).fit(Survey(people, weight="w", household="hid"), seed=1)
    assert agree(fitted.simulate(scale=0.2).frame()) < 0.9


def test_init_finds_what_dates_lie_near_and_files_keep_them(
    people: pd.DataFrame, tmp_path: Path
) -> None:
    assert profile_survey(people).offsets == {"born": BIRTH, "moved": "interview"}
    alone = profile_survey(people.drop(columns=["interview", "moved"]))
    assert alone.offsets == {"born": "-365.2425 * age"}
    write_table(people, tmp_path / "s.csv")
    assert read_table(tmp_path / "s.csv")["born"].tolist() == people["born"].tolist()
    for arguments in (
        ("init", "s.csv"),
        ("run", "s.toml", "--seed", 1, "--out", "people"),
        ("verify", "people"),
        ("export", "people", "people.sav"),
        ("export", "people", "people.csv"),
    ):
        done = console.call(synthpop.cli.main, *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert agree(open_population(tmp_path / "people").frame()) == 1
    for suffix in ("sav", "csv"):
        assert agree(read_table(tmp_path / f"people.{suffix}")) == 1


@pytest.mark.parametrize("unit", ["s", "us"])
def test_points_in_time_are_simulated_in_seconds(people: pd.DataFrame, unit: str) -> None:
    rng = np.random.default_rng(2)
    begun = people["interview"] + pd.to_timedelta(rng.integers(0, 86_400, len(people)), "s")
    frame = people[["age", "sex"]].assign(w=5.0, begun=begun.astype(f"datetime64[{unit}]"))
    fitted = Pipeline([Structure(["age"]), Continuous("begun")]).fit(Survey(frame, weight="w"))
    drawn = fitted.simulate().frame()["begun"]
    assert drawn.dtype.kind == "M"
    assert drawn.dt.second.nunique() > 30
    assert drawn.between(begun.min(), begun.max()).all()


@pytest.mark.parametrize(
    ("offset", "what"),
    [("nothing - age", "nothing"), ("sex", "is not numeric"), ("age +", "at its end")],
)
def test_a_wrong_offset_is_told(people: pd.DataFrame, offset: str, what: str) -> None:
    survey = Survey(people, weight="w", household="hid")
    with pytest.raises(InputError, match=what):
        Pipeline([Structure(["age", "sex"]), Continuous("born", offset=offset)]).fit(survey)
