"""Categorical variables of the household: one value for all members."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey
from synthpop.microdata.messages.errors import InputError
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame


def with_tenure(n: int = 1200) -> pd.DataFrame:
    """Large households own their dwelling more often; some do not say."""
    frame = small_frame(n)
    rng = np.random.default_rng(7)
    per_household = frame.groupby("hid")["size"].first()
    owns = rng.random(len(per_household)) < per_household / 5
    tenure = pd.Series(np.where(owns, "owner", "tenant"), index=per_household.index)
    tenure[rng.random(len(tenure)) < 0.05] = None
    frame["tenure"] = frame["hid"].map(tenure)
    frame["tenure_number"] = frame["tenure"].map({"owner": 1, "tenant": 2})
    return frame


def population(*steps, frame: pd.DataFrame | None = None, **options):
    survey = Survey(with_tenure() if frame is None else frame, **ROLES)
    return Pipeline([Structure(["age", "sex"]), *steps]).fit(survey, seed=2).simulate(**options)


@pytest.mark.parametrize("name", ["tenure", "tenure_number"])
def test_members_share_a_value_drawn_by_household(name: str) -> None:
    people = population(Categorical(name, predictors=["size"], by_household="shared")).frame()
    assert (people.groupby("hid")[name].nunique(dropna=False) == 1).all()
    alone = population(Categorical(name, predictors=["size"])).frame()
    assert (alone.groupby("hid")[name].nunique(dropna=False) > 1).any()
    sample = with_tenure().drop_duplicates("hid")
    heads = people.drop_duplicates("hid")
    owner = "owner" if name == "tenure" else 1
    for size in (1, 4):
        here = sample[sample["size"] == size]
        expected = np.average(here[name] == owner, weights=here["w"])
        assert abs((heads.loc[heads["size"] == size, name] == owner).mean() - expected) < 0.05


def test_household_weights_count_and_the_first_member_predicts() -> None:
    frame = with_tenure()
    first = frame.drop_duplicates("hid").set_index("hid")["sex"]
    frame["tenure"] = np.where(frame["hid"].map(first) == "f", "owner", "tenant")
    people = population(
        Categorical("tenure", predictors=["sex"], by_household="shared"), frame=frame
    ).frame()
    heads = people.drop_duplicates("hid")
    assert ((heads["tenure"] == "owner") == (heads["sex"] == "f")).all()


def test_later_steps_see_the_shared_value_and_differences_are_recorded() -> None:
    frame = with_tenure()
    frame.loc[frame.index[frame["pid"] == 2], "tenure"] = "owner"
    frame["after"] = frame.groupby("hid")["tenure"].transform("first").fillna("none")
    made = population(
        Categorical("tenure", predictors=["size"], by_household="shared"),
        Categorical("after", predictors=["tenure"]),
        frame=frame,
    )
    assert any("the value of the first member is used" in note.what for note in made.fallbacks)
    people = made.frame()
    known = people["tenure"] == "tenant"
    assert (people.loc[known, "after"] == "tenant").all()


def test_rules_and_workers() -> None:
    rule = {"levels": ["tenant", None], "when": {"size": [4]}}
    step = Categorical("tenure", predictors=["sex"], impossible=[rule], by_household="shared")
    one = population(step, rows_per_block=700)
    people = one.frame()
    assert set(people.loc[people["size"] == 4, "tenure"]) == {"owner"}
    assert people.loc[people["size"] < 4, "tenure"].isna().any()
    two = population(step, rows_per_block=700, workers=2)
    assert_same_frame(people, two.frame())


def test_a_fault() -> None:
    with pytest.raises(InputError, match="by_household: 'sum' is not allowed"):
        population(Categorical("tenure", by_household="sum"))
