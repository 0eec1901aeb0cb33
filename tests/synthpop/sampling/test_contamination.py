from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.sampling import ContaminateAtRandom, ContaminateDependent, MissingItems, MissingUnits


@pytest.fixture
def survey() -> Survey:
    rng = np.random.default_rng(1)
    n = 6000
    frame = pd.DataFrame(
        {
            "hid": np.arange(n) // 3,
            "w": np.full(n, 10.0),
            "sex": np.array(["m", "f", None])[rng.choice(3, n, p=[0.45, 0.45, 0.1])],
            "region": np.array(["a", "b"])[np.arange(n) // 3000],
            "x": rng.lognormal(3, 1, n),
            "y": rng.integers(0, 5, n),
        }
    )
    return Survey(frame, weight="w", household="hid", strata="region")


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_unit_nonresponse(survey: Survey) -> None:
    before = survey.frame.copy()
    lost = MissingUnits(0.3).apply(survey, rng())
    assert lost.n_persons / survey.n_persons == pytest.approx(0.7, abs=0.02)
    assert lost.roles == survey.roles
    assert (lost.weights == 10).all()
    whole = MissingUnits(0.3, whole="hid").apply(survey, rng())
    assert (whole.household_sizes == 3).all()
    assert whole.n_households / survey.n_households == pytest.approx(0.7, abs=0.04)
    dependent = MissingUnits({"m": 0.5, "f": 0.0}, by="sex").apply(survey, rng())
    now, then = (one.frame["sex"].value_counts(dropna=False) for one in (dependent, survey))
    assert now["f"] == then["f"]
    assert now["m"] / then["m"] == pytest.approx(0.5, abs=0.05)
    assert dependent.frame["sex"].isna().sum() == survey.frame["sex"].isna().sum()
    pd.testing.assert_frame_equal(survey.frame, before)


def test_item_nonresponse(survey: Survey) -> None:
    before = survey.frame.copy()
    holes = MissingItems(["x", "y"], 0.2).apply(survey, rng()).frame
    assert holes["x"].isna().mean() == pytest.approx(0.2, abs=0.02)
    assert not (holes["x"].isna() == holes["y"].isna()).all()
    tied = MissingItems(["x", "y"], 0.2, together=True).apply(survey, rng()).frame
    assert (tied["x"].isna() == tied["y"].isna()).all()
    rates = {"a": 0.0, "b": 0.4}
    own = MissingItems("y", rates, by="region").apply(survey, rng()).frame
    assert own.loc[own["region"] == "a", "y"].notna().all()
    large = MissingItems("x", lambda frame: (frame["x"] > 50) * 0.9).apply(survey, rng()).frame
    assert large["x"].mean() < survey.frame["x"].mean()
    groups = MissingItems("x", 0.2, whole="hid").apply(survey, rng()).frame
    assert (groups["x"].isna().groupby(groups["hid"]).nunique() == 1).all()
    pd.testing.assert_frame_equal(survey.frame, before)


def test_contamination_at_random(survey: Survey) -> None:
    before = survey.frame.copy()
    dirty = ContaminateAtRandom("x", 0.05, mean=1e6, sd=10.0).apply(survey, rng()).frame
    hit = dirty["x"] > 9e5
    assert hit.mean() == pytest.approx(0.05, abs=0.01)
    assert dirty.loc[hit, "x"].std() == pytest.approx(10, rel=0.2)
    assert (dirty.loc[~hit, "x"] == before.loc[~hit, "x"]).all()
    shared = ContaminateAtRandom("x", 0.05, mean=1e6, whole="hid").apply(survey, rng()).frame
    hit = shared["x"] > 9e5
    assert (shared[hit].groupby("hid")["x"].nunique() == 1).all()
    assert (hit.groupby(shared["hid"]).nunique() == 1).all()
    own = ContaminateAtRandom(["x", "y"], 0.05, draw=lambda rng, n: rng.random(n) - 9.0)
    own_frame = own.apply(survey, rng()).frame
    assert ((own_frame["x"] < 0) == (own_frame["y"] < 0)).all()
    only = ContaminateAtRandom("x", {"a": 0.0, "b": 0.2}, mean=-5.0, sd=0.0, by="region")
    frame = only.apply(survey, rng()).frame
    assert set(frame.loc[frame["x"] == -5, "region"]) == {"b"}
    none = ContaminateAtRandom("x", 0.0, whole="hid").apply(survey, rng()).frame
    assert none["x"].equals(before["x"])
    pd.testing.assert_frame_equal(survey.frame, before)


def test_contamination_dependent(survey: Survey) -> None:
    before = survey.frame.copy()
    changed = ContaminateDependent("x", 0.1, factor=100.0, shift=1.0).apply(survey, rng()).frame
    hit = changed["x"] != before["x"]
    assert hit.mean() == pytest.approx(0.1, abs=0.02)
    np.testing.assert_allclose(changed.loc[hit, "x"], 100 * before.loc[hit, "x"] + 1)
    own = ContaminateDependent("x", 0.1, change=lambda values, rng: -values)
    assert (own.apply(survey, rng()).frame["x"].abs() == before["x"]).all()
    whole = ContaminateDependent("x", 0.1, factor=2.0, whole="hid").apply(survey, rng()).frame
    assert ((whole["x"] != before["x"]).groupby(before["hid"]).nunique() == 1).all()
    by = ContaminateDependent("x", {"a": 1.0, "b": 0.0}, factor=2.0, by="region")
    assert set(before.loc[by.apply(survey, rng()).frame["x"] != before["x"], "region"]) == {"a"}


def test_faults(survey: Survey) -> None:
    cases = [
        (MissingUnits(1.5), "between 0 and 1"),
        (MissingUnits(1.0), "nobody answered"),
        (MissingUnits({"m": 0.1}), "by: is not given"),
        (MissingUnits({"m": 0.1}, by="sex"), "'f' has none"),
        (MissingUnits({"m": 0.1}, by="gender"), "not in the data"),
        (MissingUnits(0.1, whole="hd"), "Did you mean 'hid'"),
        (MissingUnits(lambda frame: [0.1]), "numbers for 6,000 rows"),
        (MissingItems("z", 0.1), "not in the data"),
        (MissingItems("w", 0.1), "has a role"),
        (ContaminateDependent("w", 0.1), "has a role"),
    ]
    for disturbance, message in cases:
        with pytest.raises(InputError, match=message):
            disturbance.apply(survey, rng())
    with pytest.raises(InputError, match="sd"):
        ContaminateAtRandom("x", 0.1, sd=-1)
