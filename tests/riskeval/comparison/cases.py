"""A small original and releases of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from riskeval import protect

SAMPLE_SIZES: dict[str, Any] = {
    "model": "tree",
    "linkage": 200,
    "outliers": 200,
    "prediction": 150,
    "screen": 150,
    "propensity": 1_000,
}
ROLES: dict[str, Any] = {
    "keys": ["region", "age", "sex"],
    "numeric": ["pay", "rent"],
    "sensitive": ["ill"],
    "weights": "w",
    "sample_sizes": SAMPLE_SIZES,
    "seed": 1,
}


def people(n: int = 400, seed: int = 1) -> pd.DataFrame:
    """Persons with keys, two correlated numbers, a sensitive variable, households and weights."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 70, n)
    sex = rng.choice(["female", "male"], n)
    pay = np.exp(rng.normal(2.5 + 0.01 * (age - 40) + 0.2 * (sex == "male"), 0.3, n)).round(2)
    household = np.arange(n) // 2
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "hid": household,
            "region": region[household],
            "age": age,
            "sex": sex,
            "ill": np.where(rng.random(n) < age / 150, "yes", "no"),
            "pay": pay,
            "rent": (pay * rng.uniform(0.2, 0.5, n)).round(2),
            "w": rng.uniform(5, 15, n).round(2),
        }
    )


def grouped(frame: pd.DataFrame) -> pd.DataFrame:
    """The file with ages in classes."""
    return protect.global_recode(frame, "age", breaks=[0, 30, 45, 60, 100]).data


def suppressed(frame: pd.DataFrame) -> pd.DataFrame:
    """The file with ages in classes and 3-anonymity by suppression."""
    return protect.local_suppression(grouped(frame), ["region", "age", "sex"], k=3).data
