"""Codes with many levels: the group from the predictors, the code within it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, profile_survey
from synthpop.models.nested import NestedLevels, groups_of_levels


@pytest.mark.parametrize(
    ("levels", "groups"),
    [
        ([10.0, 120.0, 1350.0, 2410.0, 9920.0], [0, 0, 1, 2, 3]),
        (["A01", "A02", "B01"], [0, 1, 2]),
        (["Linz", "Wien"], [0, 0]),
    ],
)
def test_groups_are_first_digits(levels, groups) -> None:
    assert groups_of_levels(levels).tolist() == groups


def test_shares_of_groups_and_codes_are_those_of_the_sample() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (2_000, 1))
    group = np.where(rng.random(2_000) < 0.8, x[:, 0], 1 - x[:, 0])
    y = 1 + 5 * group + rng.integers(0, 5, 2_000)
    model = NestedLevels(np.r_[-1, np.repeat([0, 1], 5)]).fit(x, y, np.ones(2_000))
    shares = model.predict_proba(np.array([[0], [1]]))
    for row in (0, 1):
        rows = y[x[:, 0] == row]
        seen = np.bincount(rows, minlength=11)[1:] / len(rows)
        np.testing.assert_allclose(shares[row], seen, atol=0.03)
        assert shares[row].sum() == pytest.approx(1)


def jobs(n: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    code = 10 * rng.choice(np.arange(100, 900), 120, replace=False)
    age = rng.integers(0, 90, n)
    shares = rng.gamma(0.5, size=120)
    job = rng.choice(np.sort(code), n, p=shares / shares.sum())
    return pd.DataFrame({"weight": 10.0, "sex": rng.choice(["f", "m"], n), "age": age,
                         "occ": np.where(age >= 16, job, np.nan)})  # fmt: skip


def test_codes_are_no_amounts_and_no_new_code_is_made() -> None:
    frame = jobs()
    item = profile_survey(frame).column("occ")
    assert (item.use, item.nested) == ("categorical", True)
    stages = [Structure(["age", "sex"]), Categorical("occ", ["age", "sex"], model="nested")]
    survey = Survey(frame, weight="weight")
    people = Pipeline(stages).fit(survey, seed=1).simulate(scale=1, seed=1).frame()
    made = people["occ"].astype(float)
    assert set(made.dropna()) <= set(frame["occ"].dropna())
    assert made[people["age"] < 16].isna().all()
    kept = frame["occ"].value_counts(normalize=True)
    drawn = made.value_counts(normalize=True).reindex(kept.index, fill_value=0)
    assert np.abs(kept - drawn).sum() / 2 < 0.06
