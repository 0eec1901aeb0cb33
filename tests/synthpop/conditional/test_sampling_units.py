"""Persons of one primary sampling unit stay together in the folds of every cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, cross_validate
from synthpop.evaluation.holdout import assign_households
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey as SurveyClass
from synthpop.microdata.roles.survey import unit_of_households

ROLES = {"weight": "w", "household": "hid", "strata": "region"}


def clustered(n_units: int = 30, households: int = 12) -> pd.DataFrame:
    """Households of two; religion is that of the village for nearly all of its households."""
    rng = np.random.default_rng(1)
    village = np.repeat(np.arange(n_units), households)
    main = rng.integers(0, 3, n_units)
    religion = np.where(rng.random(len(village)) < 0.9, main[village], rng.integers(0, 3))
    frame = pd.DataFrame(
        {
            "hid": np.arange(len(village)),
            "village": village,
            "region": np.where(village % 3 == 0, "a", np.where(village % 3 == 1, "b", "c")),
            "religion": np.array(["x", "y", "z"])[religion],
            "w": 5.0,
        }
    )
    both = pd.concat([frame.assign(sex="f"), frame.assign(sex="m")]).sort_values("hid")
    return both.reset_index(drop=True)


def test_pooling_is_chosen_from_other_units() -> None:
    frame = clustered()
    stages = [Structure(["sex"]), Categorical("religion", ["sex"])]
    amounts = {}
    for name, roles in (("households", {}), ("villages", {"psu": "village"})):
        fitted = Pipeline(stages).fit(Survey(frame, **ROLES, **roles), seed=1)
        amounts[name] = fitted.pooling["categorical religion"].scores
    assert amounts["households"] != amounts["villages"]
    # a village left out is harder to predict than a household whose neighbours are learned from
    best = {name: max(score for _, score in scores) for name, scores in amounts.items()}
    assert best["villages"] < best["households"]


def test_folds_hold_whole_units() -> None:
    survey = Survey(clustered(), **ROLES, psu="village")
    units = unit_of_households(survey)
    sample = Pipeline([Structure(["sex"])]).fit(survey, seed=1).sample
    assert sample.units is not None
    np.testing.assert_array_equal(sample.units, units)
    fold = assign_households(sample, 5, np.random.default_rng(1))
    table = pd.crosstab(sample.units, fold)
    assert (table > 0).sum(axis=1).eq(1).all()
    assert (table.sum() > 0).all()


def test_cross_validation_scores_what_other_villages_say() -> None:
    frame = clustered()
    scores = {}
    for name, roles in (("households", {}), ("villages", {"psu": "village"})):
        candidates = {"by village": Categorical("religion", ["sex"], by="village")}
        survey = Survey(frame.assign(village=frame["village"].astype(str)), **ROLES, **roles)
        before = [Structure(["sex", "village"])]
        result = cross_validate(survey, "religion", candidates, before=before, seed=1)
        scores[name] = result.table["log_score"].iloc[0]
    assert scores["villages"] > 1.5 * scores["households"]


def test_more_folds_than_units() -> None:
    survey = Survey(clustered(n_units=4), **ROLES, psu="village")
    with pytest.raises(InputError, match="at most one fold a primary sampling unit"):
        cross_validate(survey, "religion", [Categorical("religion", ["sex"])], folds=5, seed=1)


def test_units_belong_to_the_fingerprint() -> None:
    frame = clustered()
    stages = Pipeline([Structure(["sex"])])

    def survey_hash(survey: SurveyClass) -> str:
        return stages.fit(survey, seed=1).simulate(seed=1).manifest.identity.survey

    plain = Survey(frame, **ROLES)
    assert survey_hash(plain) != survey_hash(Survey(frame, **ROLES, psu="village"))
