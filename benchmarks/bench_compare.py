"""Five releases of many records side by side: ``python -m benchmarks.bench_compare [n] [workers]``.

The releases are made first; only the comparison is measured.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pandas as pd

import riskeval
from benchmarks._measure import measure
from riskeval import Indicators, Release, protect

KEYS = ["region", "age", "sex", "status", "education"]
NUMBERS = ["income", "costs", "rent"]


def survey(n: int, seed: int) -> pd.DataFrame:
    """A file of n persons in households, with weights."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 95, n)
    status = rng.integers(0, 7, n)
    income = np.exp(rng.normal(9.5 + 0.004 * age + 0.1 * status, 0.6, n))
    household = np.sort(rng.integers(0, n // 2, n))
    region = rng.integers(0, 9, n // 2)[household]
    return pd.DataFrame(
        {
            "hid": household,
            "region": pd.Categorical.from_codes(region, list("abcdefghi")),
            "age": age,
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, n), ["female", "male"]),
            "status": pd.Categorical.from_codes(status, list("1234567")),
            "education": pd.Categorical.from_codes(rng.integers(0, 5, n), list("vwxyz")),
            "health": pd.Categorical.from_codes(rng.binomial(4, age / 130), list("12345")),
            "income": income.round(0),
            "costs": (income * rng.uniform(0.2, 0.9, n)).round(0),
            "rent": (income * rng.uniform(0.1, 0.4, n)).round(0),
            "w": rng.uniform(1, 10, n),
        }
    )


def releases(x: pd.DataFrame) -> dict[str, Any]:
    """Four ways to perturb the file, and a synthetic one."""
    breaks = [-1, 15, 30, 45, 60, 75, 120]
    coarse = protect.global_recode(x, "age", breaks=breaks).data
    kept = protect.local_suppression(coarse, KEYS, k=3).data
    moved = protect.pram(coarse, ["status", "education"], seed=1).data
    grouped = {"k": 3, "method": "individual", "seed": 1}
    return {
        "synthetic": Release(survey(len(x), 2), kind="synthetic"),
        "microaggregation": protect.microaggregate(kept, NUMBERS, **grouped),
        "noise": protect.add_noise(kept, NUMBERS, method="correlated", level=0.1, seed=1),
        "PRAM": protect.microaggregate(moved, NUMBERS, **grouped),
        "shuffling": protect.shuffle(kept, formula="income + costs + rent ~ sex", seed=1),
    }


def main(n: int, workers: int) -> None:
    """Print one row."""
    x = survey(n, 1)
    made = releases(x)

    def job() -> None:
        started = time.process_time()
        found = riskeval.compare(
            x,
            made,
            keys=KEYS,
            numeric=NUMBERS,
            sensitive=["health", "income"],
            weights="w",
            household="hid",
            strata="region",
            indicators=Indicators("income", ["mean", "gini", "at_risk_of_poverty"], by="region"),
            regressions=["income ~ sex + status + health"],
            workers=workers,
            seed=1,
        )
        seconds = time.process_time() - started
        print(f"{found.measures['value'].notna().sum()} numbers, {seconds:.0f} s of processor time",
              end=" | ")  # fmt: skip

    measure(f"five releases compared, {workers} threads", f"{n:,} x {x.shape[1]}", job)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 2,
    )
