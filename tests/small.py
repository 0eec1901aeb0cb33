"""A small household survey made in place, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Derive,
    Pipeline,
    Structure,
    Survey,
)

ROLES = {
    "weight": "w",
    "household": "hid",
    "household_size": "size",
    "strata": "region",
    "person": "pid",
}


def small_frame(n_households: int = 300, seed: int = 0) -> pd.DataFrame:
    """Persons in households of 1 to 4 in three regions; children have no status and no income."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_households)
    household = np.repeat(np.arange(n_households), sizes)
    n = len(household)
    position = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    age = np.where(position < 2, rng.integers(18, 90, n), rng.integers(0, 16, n))
    adult = age >= 16
    region = rng.choice(["north", "south", "west"], n_households, p=[0.5, 0.3, 0.2])[household]
    status = np.where(age >= 65, "retired", rng.choice(["works", "idle"], n, p=[0.8, 0.2]))
    wage = np.where(status == "works", rng.lognormal(10, 0.5, n), 0.0).round(2)
    other = np.where(status == "retired", rng.lognormal(9.5, 0.3, n), 0.0).round(2)
    loss = np.where((status == "works") & (rng.random(n) < 0.02), -2 * wage, 0.0)
    frame = pd.DataFrame(
        {
            "hid": household + 1000,
            "pid": position + 1,
            "size": sizes[household],
            "region": pd.Categorical(region, ["north", "south", "west"]),
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "status": pd.Series(status).where(adult),
            "income": np.where(adult, wage + other + loss, np.nan),
            "wage": np.where(adult, wage + loss, np.nan),
            "other": np.where(adult, other, np.nan),
            "w": rng.uniform(5, 15, n_households)[household],
        }
    )
    return frame


def small_survey(n_households: int = 300, seed: int = 0) -> Survey:
    """The frame with its roles."""
    return Survey(small_frame(n_households, seed), **ROLES)


def small_stages() -> list[object]:
    """One stage of each kind."""
    return [
        Structure(["age", "sex"]),
        Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120]),
        Categorical("status", predictors=["age_class", "sex", "size"]),
        Continuous(
            "income", method=Binned(tail="gpd", upper=300_000), predictors=["age_class", "status"]
        ),
        Components("income", parts=["wage", "other"], by=["status", "income"]),
    ]


def small_pipeline() -> Pipeline:
    """The stages as a recipe."""
    return Pipeline(small_stages())


def quickly_pooled(stages: Sequence[Any]) -> list[Any]:
    """Give stages fixed amounts of pooling instead of a choice by cross-validation."""

    def quick(stage: Any) -> Any:
        number = 300 if stage.label == "structure" else 30
        return replace(stage, pooling=number) if hasattr(stage, "pooling") else stage

    return [quick(stage) for stage in stages]
