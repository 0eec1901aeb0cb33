"""Ages of copied households are drawn again within what survey and rules allow."""

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Continuous, InputError, Pipeline, Structure, Survey
from tests.small import ROLES, small_frame


def survey_of_families() -> Survey:
    rng = np.random.default_rng(6)
    n = 150
    head = rng.integers(30, 60, n)
    child = head - rng.integers(16, 30, n)
    partner, sibling = head + rng.integers(-6, 7, n), child - rng.integers(1, 6, n)
    age = np.column_stack([head, partner, child, np.maximum(sibling, 0)])
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(n), 4),
            "age": age.reshape(-1),
            "sex": np.tile(["m", "f", "f", "m"], n),
            "part": np.tile(["head", "partner", "child", "child"], n),
            "w": rng.uniform(5, 30, n).repeat(4),
        }
    )
    frame["job"] = np.where(frame.age >= 16, rng.choice(["yes", "no"], 4 * n), None)
    return Survey(frame, weight="w", household="hid")


STRUCTURE = Structure(["age", "sex", "part"], jitter={"age": 2})
RULES = ["child at least 16 years younger than head"]


def distinct(frame: pd.DataFrame) -> int:
    person = frame.age.astype(str) + frame.sex.astype(str)
    return person.groupby(frame.hid).agg("/".join).nunique()


def test_compositions_are_no_copies_and_distributions_stay():
    survey = survey_of_families()
    job = Categorical("job", predictors=["age", "sex"], pooling="none")
    copies = Pipeline([Structure(["age", "sex", "part"]), job]).fit(survey, seed=1)
    fitted = Pipeline([STRUCTURE, job]).fit(survey, seed=1)
    before, after = copies.simulate().frame(), fitted.simulate().frame()
    assert distinct(before) <= 150
    assert distinct(after) > 0.85 * after.hid.nunique()
    assert after.age.dtype == before.age.dtype
    moved = np.abs(after.age.to_numpy() - before.age.to_numpy())  # the donors are the same
    assert 0 < moved.mean() < 2.5
    assert moved.max() <= 4
    assert ((after.age < 16) == (before.age < 16)).all()  # nobody comes of age
    for part in ("head", "partner", "child"):
        one, two = (frame.age[frame.part == part] for frame in (before, after))
        grid = np.arange(90)
        gap = [(one <= x).mean() - (two <= x).mean() for x in grid]
        assert np.abs(gap).max() < 0.03
        assert set(two) <= set(survey.frame.age[survey.frame.part == part])


def gap_distances(one: pd.DataFrame, two: pd.DataFrame) -> np.ndarray:
    """KS distances of the gaps between neighbours by age, in households of four."""
    gaps = [
        -np.diff(-np.sort(-frame.age.to_numpy().reshape(-1, 4), axis=1), axis=1)
        for frame in (one, two)
    ]
    grid = np.arange(60)[:, None, None]
    return np.abs(np.diff([(gap <= grid).mean(axis=1) for gap in gaps], axis=0)).max(axis=(0, 1))


def test_couples_parents_and_siblings_stay_as_far_apart():
    survey = survey_of_families()
    before = Pipeline([Structure(["age", "sex", "part"])]).fit(survey, seed=1).simulate().frame()
    after = Pipeline([STRUCTURE]).fit(survey, seed=1).simulate().frame()
    assert np.abs(gap_distances(before, after)).max() < 0.02  # 0.08, 0.02 and 0.10 without gaps
    assert distinct(after) > 0.85 * after.hid.nunique()


def test_the_gaps_of_an_ever_equal_distance_stay():
    survey = survey_of_families()
    twins = np.arange(len(survey.frame)) % 4 == 3
    frame = survey.frame.copy()
    frame.loc[twins, "age"] = frame.age.shift(1)[twins].astype(frame.age.dtype)
    made = Pipeline([STRUCTURE]).fit(Survey(frame, weight="w", household="hid"), seed=1)
    age = made.simulate().frame().age.to_numpy().reshape(-1, 4)
    assert (age[:, 2] == age[:, 3]).all()


def test_numbers_that_are_not_whole_are_refused():
    survey = survey_of_families()
    frame = survey.frame.assign(age=survey.frame.age + 0.5)
    with pytest.raises(InputError, match="whole numbers"):
        Pipeline([STRUCTURE]).fit(Survey(frame, weight="w", household="hid"))


def test_rules_are_kept():
    survey = survey_of_families()
    free = Pipeline([STRUCTURE]).fit(survey, seed=1).simulate()
    frame = free.frame()
    head = frame.groupby("hid").age.transform("first")
    assert ((head - frame.age < 16) & (frame.part == "child")).any()
    made = Pipeline([STRUCTURE], rules=RULES).fit(survey, seed=1).simulate()
    frame = made.frame()
    head = frame.groupby("hid").age.transform("first")
    assert not ((head - frame.age < 16) & (frame.part == "child")).any()
    assert any("would break a rule" in note.what for note in made.fallbacks)


def test_a_missing_number_stays_missing():
    survey = survey_of_families()
    frame = survey.frame.assign(age=survey.frame.age.astype(float))
    frame.loc[::7, "age"] = np.nan
    gaps = Survey(frame, weight="w", household="hid")
    made = Pipeline([STRUCTURE]).fit(gaps, seed=1).simulate().frame()
    copied = Pipeline([Structure(["age", "sex", "part"])]).fit(gaps, seed=1).simulate().frame()
    assert (made.age.isna() == copied.age.isna()).all()


@pytest.mark.parametrize("jitter", [{"sex": 1}, {"age": 0}, {"age": 1.5}, {"job": 2}, ["age"]])
def test_what_cannot_work_is_refused(jitter):
    recipe = Pipeline([Structure(["age", "sex"], jitter=jitter)])
    with pytest.raises(InputError, match="jitter"):
        recipe.fit(survey_of_families())


def test_numbers_stay_on_their_side_of_limits_of_other_variables():
    """Jobs from 16 to 64, wages below 30: nobody beyond has one."""
    rng = np.random.default_rng(3)
    frame = small_frame(600)
    frame["age"] = rng.integers(0, 90, len(frame))
    frame["job"] = np.where(frame["age"].between(16, 64), rng.choice(["a", "b"], len(frame)), None)
    frame["wage"] = np.where(frame["age"] < 30, 5.0, np.nan)
    structure = Structure(["age", "sex"], jitter={"age": 2})
    steps = [structure, Categorical("job", ["sex"]), Continuous("wage", predictors=["sex"])]
    fitted = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1)
    (law,) = fitted.models[0].jitter
    assert law.limits.tolist() == [15.5, 29.5, 64.5]
