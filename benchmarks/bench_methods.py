"""Seconds and peak memory of each method at 8.18 million persons, and of fits.

    python -m benchmarks.bench_methods             # every method, in memory, one worker
    python -m benchmarks.bench_methods fits        # fits to 12,000 persons and 20 variables
    python -m benchmarks.bench_methods SCALE NAME  # some methods at another size

The survey eusilcS, a hundredfold. Each row is a process of its own; the seconds are those of the
fit and of `simulate`; the structure alone is the first row. The peak holds the population.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from benchmarks.eusilc import PARTS, read_survey
from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Pipeline,
    Regressed,
    Relation,
    Structure,
    Survey,
)

COPIED = ["age", "rb090", "pl030", "pb220a", "netIncome", "first"]
GIVEN = ["age", "rb090", "hsize"]
NUMBERS: dict[str, dict[str, Any]] = {
    "binned, gpd": {"method": Binned(tail="gpd")},
    "regression, log": {"method": Regressed(log=True)},
    "binned+regression": {"method": "binned+regression"},
    "pmm": {"method": "pmm"},
    "forest, log": {"method": Regressed("forest", log=True)},
    "by household, sum": {"method": Binned(tail="gpd"), "by_household": "sum"},
}


def survey() -> Survey:
    """The survey with copies of its variables to simulate, and a first member."""
    found = read_survey()
    frame = found.frame
    first = ~frame["db030"].duplicated()
    found = found.with_column("first", np.where(first, "head", "other"))
    found = found.with_column("status", frame["pl030"]).with_column("income", frame["netIncome"])
    return found.with_column("count", (frame["netIncome"].clip(lower=0) / 1000).round())


def jobs() -> dict[str, list[Any]]:
    """Steps behind the structure, by name."""
    found: dict[str, list[Any]] = {"structure alone": []}
    for model in ("multinomial", "empirical", "tree", "forest", "boosting"):
        found[f"categorical: {model}"] = [Categorical("status", predictors=GIVEN, model=model)]
    found["categorical: multinomial, age by its value"] = [
        Categorical("status", predictors=GIVEN, numeric="values")
    ]
    found["relation"] = [
        Relation("status", relationship="first", head="head", predictors=["rb090", "hsize"])
    ]
    given = [*GIVEN, "pl030", "pb220a"]
    for name, options in NUMBERS.items():
        found[f"continuous: {name}"] = [Continuous("income", predictors=given, **options)]
    for method in ("poisson", "negative-binomial"):
        found[f"continuous: {method}"] = [Continuous("count", method=method, predictors=given)]
    found["components"] = [Components("netIncome", parts=PARTS, by=["pl030", "netIncome"])]
    return found


def simulate(steps: list[Any], scale: float) -> Callable[[], None]:
    """Fit, then simulate and print the seconds of both."""

    def job() -> None:
        started = time.perf_counter()
        fitted = Pipeline([Structure(COPIED), *steps]).fit(survey(), seed=1)
        fit = time.perf_counter() - started
        fitted.simulate(scale=0.1)  # compiles
        started = time.perf_counter()
        fitted.simulate(scale=scale)
        took = time.perf_counter() - started
        print(f"fit {fit:.1f} s, simulate {took:.1f} s | ", end="", flush=True)

    return job


def wide_survey(n: int = 12_000, variables: int = 20) -> Survey:
    """Persons with many categorical variables that hang together."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=n)
    columns = {
        f"v{k}": np.digitize(hidden + rng.normal(size=n), np.linspace(-1.5, 1.5, 2 + k % 6))
        for k in range(variables)
    }
    frame = pd.DataFrame(columns).astype(str).assign(w=rng.uniform(50, 150, n))
    return Survey(frame, weight="w")


def fit(model: str) -> Callable[[], None]:
    """Fit the last variable given all others."""

    def job() -> None:
        names = [f"v{k}" for k in range(19)]
        recipe = [Structure(names), Categorical("v19", predictors=names, model=model)]
        Pipeline(recipe).fit(wide_survey(), seed=1)

    return job


def main() -> None:
    """Print the rows."""
    print(f"| job | size | seconds | peak | ({os.cpu_count()} cores)")
    if sys.argv[1:] == ["fits"]:
        for model in ("multinomial", "tree", "forest", "boosting"):
            measure(f"fit, {model}", "12,000 x 20", fit(model))
        return
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    for name, steps in jobs().items():
        if not sys.argv[2:] or any(word in name for word in sys.argv[2:]):
            measure(name, f"{81_820 * scale:,.0f}", simulate(steps, scale))


if __name__ == "__main__":
    main()
