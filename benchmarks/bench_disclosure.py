"""Disclosure of synthetic files: key counts on 10^7 persons, models and distances on 10^6.

Run ``PYTHONPATH=. python benchmarks/bench_disclosure.py [counts] [models] [distances] [linkage]``;
rows are job, size, seconds of processor (all threads) and by the clock, and peak memory of the
process (the files themselves included).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import measure as measure_row
from riskeval import disco, distance_screen, membership, replicated_uniques, tcap
from riskeval.attacks.prediction.rapid import rapid
from riskeval.measures.interval_disclosure import interval_disclosure
from riskeval.measures.linkage.linkage import record_linkage
from riskeval.measures.mahalanobis_disclosure import mahalanobis_disclosure

LEVELS = {"region": 9, "size": 9, "age": 98, "sex": 2, "status": 8, "citizen": 4}
KEYS = list(LEVELS)
FEW = ["region", "age", "sex"]
NUMBERS = ["a", "b", "c"]
PART = 1_000_000


def measure(job: str, size: str, function: Callable[[], object]) -> None:
    """Print one row, with seconds of processor too: the clock depends on what else runs."""

    def timed() -> None:
        started = time.process_time()
        function()
        print(f"{time.process_time() - started:.1f} s of processor, ", end="")

    measure_row(job, size, timed)


def persons(n: int, seed: int) -> pd.DataFrame:
    """Persons in households of 1 to 5, six keys, a category and an income that depend on them."""
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {}
    codes = {}
    for name, count in LEVELS.items():
        codes[name] = rng.integers(0, count, n).astype(np.int16)
        columns[name] = pd.Categorical.from_codes(
            codes[name], [f"{name} {i}" for i in range(count)]
        )
    columns["household"] = np.repeat(np.arange(n), rng.integers(1, 6, n))[:n] + seed * 100_000_000
    columns["ill"] = pd.Categorical.from_codes(
        (codes["age"] // 20 + rng.integers(0, 3, n)).astype(np.int8), [f"ill {i}" for i in range(8)]
    )
    columns["income"] = 100.0 * codes["age"] * rng.lognormal(0, 0.4, n) + 50 * codes["status"]
    return pd.DataFrame(columns)


class Parts:
    """A file of many persons in parts, as a population on disk is."""

    def __init__(self, n: int) -> None:
        self.parts = [persons(PART, seed) for seed in range(2, 2 + n // PART)]

    def iter_blocks(self) -> Iterator[pd.DataFrame]:
        """Yield the parts."""
        yield from self.parts


def counts() -> None:
    small, large = persons(100_000, 1), persons(PART, 1)
    ten: Any = Parts(10_000_000)
    for title, original in (("100,000", small), ("1,000,000", large)):
        size = f"{title} against 10,000,000"
        measure("files alone", size, lambda: None)
        measure("replicated uniques", size, lambda o=original: replicated_uniques(o, ten, KEYS))
        measure("DiSCO", size, lambda o=original: disco(o, ten, KEYS, "ill"))
        measure("attribution", size, lambda o=original: tcap(o, ten, KEYS, "ill"))
        measure(
            "replicated uniques of households",
            size,
            lambda o=original: replicated_uniques(o, ten, FEW, household="household"),
        )
        measure(
            "DiSCO of households",
            size,
            lambda o=original: disco(o, ten, FEW, "ill", household="household"),
        )


def models() -> None:
    original, synthetic = persons(PART, 1), persons(PART, 2)
    size = "1,000,000 against 1,000,000"
    for target in ("ill", "income"):
        measure(
            f"RAPID, forest, {target}",
            size,
            lambda t=target: rapid(original, synthetic, KEYS, t, model="forest", workers=2, seed=1),
        )


def distances() -> None:
    original, synthetic, holdout = (persons(PART, seed) for seed in (1, 2, 3))
    size = "1,000,000 against 1,000,000"
    columns = [*KEYS, "income"]
    for method in ("density", "nearest"):
        measure(
            f"membership, {method}",
            size,
            lambda m=method: membership(
                original, synthetic, columns, holdout=holdout, method=m, seed=1
            ),
        )
    measure("distance screen", size, lambda: distance_screen(original, synthetic, columns, seed=1))


def linkage() -> None:
    rng = np.random.default_rng(1)
    for n in (100_000, 1_000_000):
        original = pd.DataFrame(rng.lognormal(0, 1, (n, 3)), columns=NUMBERS)
        original["block"] = rng.integers(0, n // 1000, n)
        released = original.copy()
        released[NUMBERS] *= rng.normal(1, 0.05, (n, 3))
        size = f"{n:,} x 3"
        measure(
            "interval, sd", size, lambda o=original, r=released: interval_disclosure(o, r, NUMBERS)
        )
        measure(
            "interval, rank",
            size,
            lambda o=original, r=released: interval_disclosure(o, r, NUMBERS, by="rank"),
        )
        measure(
            "RMDID",
            size,
            lambda o=original, r=released: mahalanobis_disclosure(o, r, NUMBERS, k=0.5),
        )
        for method in ("distance", "mahalanobis"):
            measure(
                f"linkage, {method}",
                size,
                lambda o=original, r=released, m=method: record_linkage(o, r, NUMBERS, method=m),
            )
        for method in ("distance", "mahalanobis", "gower", "probabilistic"):
            measure(
                f"linkage in blocks of 1,000, {method}",
                size,
                lambda o=original, r=released, m=method: record_linkage(
                    o, r, NUMBERS, method=m, block=["block"]
                ),
            )
        measure(
            "linkage in blocks of 1,000, one to one",
            size,
            lambda o=original, r=released: record_linkage(
                o, r, NUMBERS, assign="one-to-one", block=["block"]
            ),
        )


def main() -> None:
    warm = persons(400, 1)
    disco(warm, warm, KEYS, "ill", household="household")
    parts = {"counts": counts, "models": models, "distances": distances, "linkage": linkage}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
