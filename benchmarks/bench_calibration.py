"""Calibration of large surveys: rows `job, size, seconds, peak MB`.

OMP_NUM_THREADS=1 python -m benchmarks.bench_calibration [quick]
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from synthpop.calibration import Margin, calibrate, integerise
from synthpop.microdata.roles.survey import Survey


def make_survey(n_households: int, n_regions: int = 9, seed: int = 1) -> Survey:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 4, 5, 6], n_households, p=[0.35, 0.3, 0.15, 0.13, 0.05, 0.02])
    household = np.repeat(np.arange(n_households), sizes)
    n = len(household)
    frame = pd.DataFrame(
        {
            "hid": household,
            "region": pd.Categorical.from_codes(
                np.repeat(rng.integers(0, n_regions, n_households), sizes),
                [f"R{i:04d}" for i in range(n_regions)],
            ),
            "hsize": np.repeat(sizes, sizes),
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, n), ["f", "m"]),
            "age": pd.Categorical.from_codes(
                rng.integers(0, 15, n), [f"A{i:02d}" for i in range(15)]
            ),
            "status": pd.Categorical.from_codes(rng.integers(0, 7, n), list("abcdefg")),
            "w": np.repeat(rng.uniform(5, 15, n_households), sizes),
        }
    )
    return Survey(frame, weight="w", household="hid", strata="region")


def make_margins(survey: Survey, plan: list[tuple[str, list[str]]], seed: int = 2) -> list[Margin]:
    """Totals of a second sample like the first: weights disturbed by group."""
    rng = np.random.default_rng(seed)
    frame = survey.frame
    effects = 1 + 0.15 * np.sin(frame["age"].cat.codes.to_numpy()) + 0.1 * (frame["sex"] == "m")
    by_household = np.bincount(survey.household_index, effects) / survey.household_sizes
    by_household *= rng.uniform(0.8, 1.2, len(by_household))
    truth = frame.assign(total=survey.weights * by_household[survey.household_index])
    truth_households = truth.drop_duplicates("hid")
    return [
        Margin(
            (truth_households if level == "household" else truth)
            .groupby(columns, observed=True)["total"]
            .sum()
            .reset_index(),
            level=level,
        )
        for level, columns in plan
    ]


HUNDRED = [
    ("person", ["age", "sex"]),  # 30
    ("person", ["region"]),  # 9
    ("person", ["status"]),  # 7
    ("household", ["region", "hsize"]),  # 54
]
THOUSANDS = [
    ("person", ["region", "sex"]),
    ("person", ["age", "sex"]),
    ("person", ["status"]),
    ("household", ["region"]),
    ("household", ["hsize"]),
]


def main() -> None:
    quick = "quick" in sys.argv
    n = 100_000 if quick else 1_000_000
    small = make_survey(2000)
    for method in ("raking", "ipu", "linear", "logit"):  # compile
        calibrate(small, make_margins(small, HUNDRED), method=method, tolerance=1e-3)
    survey = make_survey(n)
    survey.household_index  # noqa: B018
    margins = make_margins(survey, HUNDRED)
    size = f"{n:,} households, {sum(len(m.frame) for m in margins)} controls"
    for method in ("raking", "exponential", "linear", "logit", "ipu"):
        measure(method, size, lambda method=method: show(calibrate(survey, margins, method=method)))
    measure(
        "raking, bounds (0.5, 2)",
        size,
        lambda: show(calibrate(survey, margins, bounds=(0.5, 2.0))),
    )
    many = make_survey(n // 4, n_regions=2000)
    several = make_margins(many, THOUSANDS)
    size = f"{n // 4:,} households, {sum(len(m.frame) for m in several):,} controls"
    for method in ("raking", "linear"):
        measure(method, size, lambda method=method: show(calibrate(many, several, method=method)))
    measure("integerise", f"{n:,} households, 100 controls", lambda: integerise(survey, margins))


def show(result: object) -> None:
    print(f"[{result.iterations} iterations, converged {result.converged}] ", end="")


if __name__ == "__main__":
    main()
