"""Time and memory of SUDA: `python -m benchmarks.bench_suda`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from riskeval.measures.suda import suda

LEVELS = (2, 2, 3, 4, 5, 6, 8, 9, 30, 100)


def people(n: int, levels: tuple[int, ...] = LEVELS) -> pd.DataFrame:
    """Keys that depend on one another through twenty hidden classes; nearly every row distinct."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 20, n)
    columns = {}
    for j, size in enumerate(levels):
        cumulated = rng.dirichlet(np.full(size, 0.6), 20).cumsum(axis=1)
        drawn = (rng.random(n)[:, None] > cumulated[hidden]).sum(axis=1)
        columns[f"k{j}"] = drawn.clip(max=size - 1)
    return pd.DataFrame(columns)


def main() -> None:
    suda(pd.DataFrame({"a": [1, 2]}), ["a"])  # compile
    print("| job | size | seconds | peak MB |\n| --- | --- | --- | --- |")
    small = people(14_827, (2, 3, 7, 9, 9, 80))
    measure("suda, six keys", "14,827 x 6", lambda: suda(small, list(small.columns)))
    large = small.sample(100_000, replace=True, random_state=1)
    measure("suda, six keys, resampled", "100,000 x 6", lambda: suda(large, list(small.columns)))
    for n in (100_000, 1_000_000):
        data = people(n)
        keys = list(data.columns)
        for most in (3, 4, 10):
            measure(
                f"suda, MSUs up to {most}",
                f"{n:,} x 10",
                lambda data=data, keys=keys, most=most: suda(data, keys, max_size=most),
            )


if __name__ == "__main__":
    main()
