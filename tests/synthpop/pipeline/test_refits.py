"""A recipe that is learned again from other surveys."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd

from synthpop import Categorical, Components, Continuous, Derive, Pipeline, Structure, Survey
from tests.small import ROLES, small_frame


def fitted():
    recipe = Pipeline([
        Structure(["age", "sex"]),
        Derive("class", source="age", breaks=[0, 15, 39, 64, 120]),
        Categorical("status", predictors=["class", "sex"], pooling=1000.0),
        Continuous("income", predictors=["status"], pooling=1000.0),
        Components("income", parts=["wage", "other"], by=["status"]),
    ])  # fmt: skip
    return recipe.fit(Survey(small_frame(), **ROLES), seed=1)


def test_stages_say_what_they_make_of_the_survey_and_from_what() -> None:
    parts = {label: (own, context) for label, own, context in fitted().refits().parts}
    assert parts["structure"] == (("age", "sex"), ("region",))
    assert parts["categorical status"] == (("status",), ("age", "sex", "region"))
    assert parts["components income"] == (("wage", "other"), ("status", "income", "region"))


def test_a_changed_total_is_split_anew_here_and_in_another_process() -> None:
    refits = fitted().refits()
    frame = refits.survey.frame
    rows = np.append(
        np.flatnonzero(frame["wage"] > 0)[:5], np.flatnonzero(frame["income"] == 0)[:2]
    )
    income = frame["income"].copy()
    income.iloc[rows] = 12345.67
    survey = refits.survey.with_frame(frame.assign(income=income))
    release = refits.release(survey, 7, 1.0)
    adults = release.dropna(subset=["income"])
    assert np.allclose(adults["wage"] + adults["other"], adults["income"], atol=0.02)
    pd.testing.assert_frame_equal(release, pickle.loads(pickle.dumps(refits)).release(survey, 7, 1))
    assert len(refits.release(survey, 7, 0.5)) < 0.6 * len(release)
