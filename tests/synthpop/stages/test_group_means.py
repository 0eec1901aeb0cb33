"""Means by the levels of a category are those of the survey."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop import Binned, Categorical, Continuous, InputError, Pipeline, Structure, Survey
from synthpop.stages.continuous.means import LARGEST_FACTOR, tilt_to_mean


def survey_of_statuses() -> Survey:
    """Homemakers have little, all of it low in its classes; a status of few persons has most."""
    rng = np.random.default_rng(3)
    n = 3_000
    status = rng.choice(["home", "work", "owner"], n, p=[0.3, 0.6, 0.1])
    chance, place = rng.random(n), rng.random(n)
    income = np.select(
        [status == "home", status == "work"],
        [np.where(chance < 0.6, 0, 400 + 300 * place**3), 900 + 600 * place],
        np.exp(rng.normal(7.5, 1.2, n)),
    )
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(n // 2), 2),
            "sex": rng.choice(["f", "m"], n),
            "status": status,
            "income": income.round(),
            "w": rng.uniform(5, 15, n // 2).repeat(2),
        }
    )
    frame.loc[rng.random(n) < 0.05, "income"] = np.nan
    return Survey(frame, weight="w", household="hid")


def errors(survey: Survey, stage: Continuous) -> pd.Series:
    """Relative error of the mean of each status."""
    recipe = Pipeline([Structure(["sex"]), Categorical("status", predictors=["sex"]), stage])
    made = recipe.fit(survey, seed=1).simulate(scale=5).frame()
    frame = survey.frame.dropna(subset="income")
    weighted = (frame.w * frame.income).groupby(frame.status).sum()
    wanted = weighted / frame.w.groupby(frame.status).sum()
    means = made.groupby(made.status.astype(str)).income.mean()
    missing = made.groupby(made.status.astype(str)).income.apply(lambda x: x.isna().mean())
    assert missing.between(0.02, 0.08).all()
    return means / wanted - 1


@pytest.mark.parametrize("form", [None, "sequential"])
def test_means_by_status_are_held(form):
    survey = survey_of_statuses()
    stage = Continuous(
        "income",
        predictors=["sex", "status"],
        method=Binned(breaks=[0, 500, 1_000, 1_500, 100_000]),
        pooling="none",
        by_household=form,
    )
    plain = errors(survey, stage)
    assert plain.abs().max() > 0.08
    assert errors(survey, replace(stage, means_by="status")).abs().max() < 0.02


def test_no_probability_changes_by_more_than_a_factor_of_three():
    shares = np.array([[0.98, 0.02]])
    factors = tilt_to_mean(np.array([1]), shares, np.array([0.0, 10.0]), 9.0)
    np.testing.assert_allclose(factors, [1.0, LARGEST_FACTOR], rtol=1e-6)
    np.testing.assert_allclose(tilt_to_mean(np.array([1]), shares, np.zeros(2), 9.0), 1.0)


def test_what_cannot_be_held_is_refused():
    survey = survey_of_statuses()
    steps = [Structure(["sex"]), Categorical("status", predictors=["sex"])]
    given = {"predictors": ["sex"], "pooling": "none"}
    for stage, what in (
        (Continuous("income", means_by="status", **given), "no predictor by its levels"),
        (Continuous("income", means_by="sex", by_household="mean", **given), "means_by"),
        (Continuous("income", means_by="sex", method="regression", **given), "means_by"),
        (Continuous("income", means_by=["sex"], **given), "means_by"),
    ):
        with pytest.raises(InputError, match=what):
            Pipeline([*steps, stage]).fit(survey, seed=1)


def test_a_single_large_value_stays_in_its_group():
    """The largest value is one of work; homemakers must not draw values near it."""
    rng = np.random.default_rng(5)
    n = 3_000
    status = np.repeat(["home", "work", "owner"], n // 3)
    income = rng.lognormal(7, 1, n).round(2)
    income[:1_000] = np.minimum(income[:1_000], 6_000)
    income[1_500] = 500_000
    frame = pd.DataFrame({"status": status, "sex": rng.choice(["f", "m"], n), "income": income})
    survey = Survey(frame, weight=None)
    stage = Continuous(
        "income", Binned(tail="gpd", upper=6e5), predictors=["status"], means_by="status"
    )
    fitted = Pipeline([Structure(["sex", "status"]), stage]).fit(survey, seed=1)
    made = fitted.simulate(scale=5, seed=1).frame()
    groups = made.groupby("status", observed=True).income
    assert groups.max()["home"] < 60_000 < groups.max()["work"]
    wanted = frame.groupby("status").income.mean()
    assert (groups.mean()[["home", "owner"]] / wanted - 1).abs().max() < 0.02
