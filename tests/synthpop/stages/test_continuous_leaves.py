"""Numbers from the leaves of regression trees, and learners with residuals of their own fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from synthpop import Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.weighted import quantile
from synthpop.models.leaves import fit_leaves
from tests.reference_data import survey_data
from tests.synthpop.stages.continuous_cases import ROLES, frame_with_income, income

FOREST = RandomForestRegressor(10, min_samples_leaf=5, random_state=1)


def test_donors_are_persons_of_the_leaf_in_proportion_to_their_weights() -> None:
    leaf = np.array([[1, 4], [1, 3], [2, 4], [2, 3], [2, 4]])
    values, weights = np.arange(10.0, 15.0), np.array([1.0, 3, 2, 2, 4])
    leaves = fit_leaves(leaf, values, weights)
    u = (np.arange(8000) + 0.5) / 8000
    for tree, node in ((0, 1), (0, 2), (1, 3), (1, 4)):
        wanted = np.zeros((1, 2), dtype=np.int64)
        wanted[0] = leaf[leaf[:, tree] == node][0]
        start, stop = (end[0, tree] for end in leaves.stretches(wanted))
        drawn = leaves.draw(np.full(8000, start), np.full(8000, stop), u)
        here = leaf[:, tree] == node
        for value, weight in zip(values[here], weights[here], strict=True):
            assert (drawn == value).mean() == pytest.approx(weight / weights[here].sum(), abs=1e-3)
        assert set(drawn) == set(values[here])


@pytest.mark.parametrize("method", ["tree", FOREST, DecisionTreeRegressor(min_samples_leaf=5)])
def test_values_are_those_of_sample_persons_and_groups_keep_their_means(method) -> None:
    frame = frame_with_income(1500)
    people = income(frame, method=method).frame()
    present = frame["income"].dropna()
    assert np.isin(people["income"].dropna(), present).all()
    for status in ("works", "retired"):
        here, there = frame["status"] == status, people["status"] == status
        mean = np.average(frame.loc[here, "income"], weights=frame.loc[here, "w"])
        assert people.loc[there, "income"].mean() == pytest.approx(mean, rel=0.02)


def test_weights_decide_among_donors() -> None:
    frame = frame_with_income(600)
    frame["x"] = np.where(frame["hid"] % 2 == 0, 1.0, 2.0)
    frame["w"] = np.where(frame["hid"] % 2 == 0, 9.0, 1.0)
    drawn = income(frame, "x", method="tree", predictors=["sex"]).frame()["x"]
    assert (drawn == 1.0).mean() == pytest.approx(
        np.average(frame["x"] == 1, weights=frame["w"]), abs=0.01
    )


def test_upper_cuts_values_of_donors_and_leaves_need_trees() -> None:
    people = income(method="tree", upper=20_000.0).frame()
    assert people["income"].max() == 20_000.0
    with pytest.raises(InputError, match="the method is not a tree or forest"):
        income(method="regression", residuals="leaves")


@pytest.mark.parametrize(
    "method",
    [
        "tree",
        pytest.param(FOREST, marks=pytest.mark.slow),
        HistGradientBoostingRegressor(max_iter=20),
    ],
)
def test_learners_do_not_widen_the_upper_tail(method) -> None:
    data = survey_data("eusilcS")
    data["age_class"] = (data["age"] // 10).astype(int).astype(str)
    survey = Survey(data, weight="rb050", household="db030", household_size="hsize", strata="db040")
    steps = [
        Structure(["age", "rb090"]),
        Categorical("pl030"),
        Continuous("netIncome", method=method),
    ]
    people = Pipeline(steps).fit(survey, seed=1).simulate(scale=0.5).frame()
    there = data["netIncome"].notna()
    x, w = data.loc[there, "netIncome"], data.loc[there, "rb050"]
    for share in (0.5, 0.9, 0.99):
        wanted = quantile(x, w, share)
        assert people["netIncome"].dropna().quantile(share) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize(
    ("method", "model"), [("tree", "tree"), ("regression", "multinomial"), (FOREST, "multinomial")]
)
def test_trees_tell_what_kind_of_value_a_person_has_too(method, model: str) -> None:
    survey = Survey(frame_with_income(300), **ROLES)
    stage = Continuous("income", method=method, predictors=["sex"], pooling="none")
    fitted = Pipeline([Structure(["sex"]), stage]).fit(survey, seed=1)
    assert fitted.models[-1].sequence.model == model
