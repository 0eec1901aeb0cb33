"""Frequency counts, risk and diversity on files of 10^5 to 10^7 persons with six keys.

Run ``PYTHONPATH=. python benchmarks/bench_categorical_risk.py [EUSILC.parquet]``; rows are job,
size, seconds and peak memory of the process (the file itself included). With the EU-SILC file of
14,827 persons also the jobs that are timed for the reference package.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from riskeval.measures.frequencies import frequency_counts
from riskeval.measures.individual import individual_risk
from riskeval.measures.k_anonymity import k_anonymity
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.risky_cells import risky_cells
from riskeval.measures.t_closeness import t_closeness
from riskeval.measures.uniqueness import population_uniqueness

LEVELS = {"region": 9, "size": 9, "age": 98, "sex": 2, "status": 8, "citizen": 4}
WIDE = {"region": 50, "size": 40, "age": 98, "sex": 20, "status": 80, "citizen": 30}
KEYS = list(LEVELS)


def persons(n: int, levels: dict[str, int], missing: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns: dict[str, object] = {}
    for name, count in levels.items():
        codes = rng.integers(0, count, n).astype(np.int16)
        codes[rng.random(n) < missing] = -1
        columns[name] = pd.Categorical.from_codes(codes, [f"{name} {i}" for i in range(count)])
    columns["w"] = rng.uniform(1, 100, n)
    columns["hh"] = np.arange(n) // 2
    columns["ill"] = rng.integers(0, 12, n).astype(np.int8)
    return pd.DataFrame(columns)


def survey_jobs(path: str) -> None:
    silc = pd.read_parquet(path)
    six = ["db040", "hsize", "rb090", "age", "pb220a", "pl030"]
    for size, data in (
        ("14,827 x 6", silc),
        ("100,000 x 6", silc.sample(100_000, replace=True, random_state=1)),
    ):
        measure(
            "frequency counts, missing keys",
            size,
            lambda data=data: frequency_counts(data, six, weights="rb050"),
        )
        measure(
            "individual and household risk, missing keys",
            size,
            lambda data=data: individual_risk(data, six, weights="rb050", household="db030"),
        )


def million_jobs() -> None:
    full, holes = persons(1_000_000, LEVELS), persons(1_000_000, LEVELS, 0.1)
    wide = persons(1_000_000, WIDE, 0.1)
    for job, function in {
        "frequency counts": lambda: frequency_counts(full, KEYS, weights="w"),
        "the same, 10 % missing": lambda: frequency_counts(holes, KEYS, weights="w"),
        "the same, almost all keys distinct": lambda: frequency_counts(wide, KEYS, weights="w"),
        "k-anonymity, 10 % missing": lambda: k_anonymity(holes, KEYS),
        "l-diversity": lambda: l_diversity(full, KEYS, "ill"),
        "l-diversity, 10 % missing": lambda: l_diversity(holes, KEYS, "ill"),
        "t-closeness": lambda: t_closeness(full, KEYS, "ill"),
        "risky cells, up to 3 keys": lambda: risky_cells(full, KEYS),
        "population uniqueness": lambda: population_uniqueness(full, KEYS, weights="w"),
    }.items():
        measure(job, "1,000,000 x 6", function)


def ten_million_jobs() -> None:
    ten = persons(10_000_000, LEVELS)
    for job, function in {
        "frequency counts": lambda: frequency_counts(ten, KEYS, weights="w"),
        "individual and household risk": lambda: individual_risk(
            ten, KEYS, weights="w", household="hh"
        ),
    }.items():
        measure(job, "10,000,000 x 6", function)


def main() -> None:
    warm = persons(500, WIDE, 0.1)
    individual_risk(warm, KEYS, weights="w", alpha=0.5)
    l_diversity(warm, KEYS, "ill")
    t_closeness(warm, KEYS, "ill")
    if len(sys.argv) > 1:
        survey_jobs(sys.argv[1])
    million_jobs()
    ten_million_jobs()


if __name__ == "__main__":
    main()
