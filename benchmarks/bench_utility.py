"""Utility of a release of many records: ``python -m benchmarks.bench_utility [n]``."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from riskeval import utility


def files(n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A survey of n persons and a perturbed release of it."""
    rng = np.random.default_rng(1)
    income = rng.lognormal(10, 0.6, n)
    x = pd.DataFrame(
        {
            "income": income,
            "costs": income * rng.uniform(0.2, 0.9, n),
            "age": rng.integers(16, 90, n).astype(float),
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, n), ["female", "male"]),
            "region": pd.Categorical.from_codes(rng.integers(0, 9, n), list("abcdefghi")),
            "status": pd.Categorical.from_codes(rng.integers(0, 7, n), list("1234567")),
            "w": rng.uniform(1, 10, n),
        }
    )
    y = x.assign(
        income=income * rng.normal(1, 0.1, n),
        region=x["region"].where(rng.random(n) > 0.1, "a"),
    )
    return x, y


def main(n: int) -> None:
    """Print one row per measure."""
    x, y = files(n)
    size = f"{n:,}"
    numbers = ["income", "costs", "age"]
    everything = [*numbers, "sex", "region", "status"]
    both = {"weights": "w", "released_weights": "w"}
    measure("information loss", size, lambda: utility.information_loss(x, y, numbers))
    cells = ["sex", "region", "status"]
    measure("table distance", size, lambda: utility.table_distance(x, y, cells, **both))
    measure("propensity, logistic", size, lambda: utility.propensity(x, y, everything, seed=1))
    measure(
        "propensity, tree, 20 permutations of 50,000",
        size,
        lambda: utility.propensity(
            x, y, everything, model="tree", permutations=20, max_rows=50_000, seed=1
        ),
    )
    measure(
        "Gini, poverty rate, pay gap by region",
        size,
        lambda: utility.indicator_comparison(
            x,
            y,
            "income",
            indicators=["gini", "at_risk_of_poverty", "gender_pay_gap"],
            gender="sex",
            by="region",
            **both,
        ),
    )
    formula = "income ~ sex + region + status + age"
    measure("regression", size, lambda: utility.regression_comparison(x, y, formula, **both))
    measure("Gower distance", size, lambda: utility.gower(x, y, everything))
    measure("Hellinger distance", size, lambda: utility.hellinger(x, y, everything))
    measure("Kolmogorov-Smirnov", size, lambda: utility.kolmogorov_smirnov(x, y, numbers))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
