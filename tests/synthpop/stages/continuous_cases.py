"""A survey with incomes and counts, and one variable simulated from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from synthpop import Categorical, Derive, Pipeline, Structure, Survey
from tests.continuous import continuous
from tests.small import ROLES, small_frame

AGE_CLASS = Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120])
AROUND = ["regression", "binned+regression", "forest", DecisionTreeRegressor(min_samples_leaf=5)]
COUNTS = ["poisson", "negative-binomial"]
VALUES = [*AROUND, "pmm"]
EVERY = ["binned", *VALUES, *COUNTS]
QUICK = [method for method in EVERY if method != "forest"]


def simulate(*stages, survey: Survey, seed: int = 1, scale: float = 2.0, sizes: int = 10**6):
    fitted = Pipeline([Structure(["age", "sex"], pooling=300), *stages]).fit(survey, seed=1)
    return fitted.simulate(scale=scale, seed=seed, rows_per_block=sizes)


def frame_with_income(n: int = 500) -> pd.DataFrame:
    """Income of adults: idle have none, some losses, the rest depends on status and sex."""
    frame = small_frame(n)
    rng = np.random.default_rng(5)
    factor = np.where(frame["sex"] == "f", 0.7, 1.0)
    frame["income"] = (frame["income"] * factor).round(2)
    frame["children"] = rng.poisson(np.where(frame["status"] == "works", 2.0, 0.5))
    return frame


def income(frame: pd.DataFrame | None = None, name: str = "income", seed: int = 1, **options):
    """Simulate one variable given status and sex."""
    frame = frame_with_income() if frame is None else frame
    stage = continuous(name, **{"predictors": ["status", "sex"], **options})
    status = Categorical("status", predictors=["age_class", "sex"], pooling=30)
    return simulate(AGE_CLASS, status, stage, survey=Survey(frame, **ROLES), seed=seed)


def variable_of(method) -> str:
    return "children" if method in COUNTS else "income"
