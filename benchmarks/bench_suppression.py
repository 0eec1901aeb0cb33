"""Local suppression: seconds and peak memory by size.

    python benchmarks/bench_suppression.py

The file is made up: six keys of a household survey with the rare combinations that real ones have,
and missing values in two keys for children. `hard` has eight keys of ten even categories, so that
nearly every record is alone. Kernels are compiled before the clock starts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._measure import measure
from riskeval.protection.suppression.suppress import local_suppression

KEYS = ["region", "size", "sex", "age", "citizenship", "activity"]


def survey(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.gamma(3.2, 12.5, n).astype(int).clip(0, 97)
    child = age < 16
    frame = pd.DataFrame(
        {
            "region": rng.choice(9, n, p=np.arange(9, 0, -1) / 45),
            "size": rng.geometric(0.35, n).clip(1, 9),
            "sex": rng.choice(["male", "female"], n),
            "age": age,
            "citizenship": pd.Series(rng.choice(["AT", "EU", "other"], n, p=[0.9, 0.04, 0.06])),
            "activity": pd.Series(rng.choice([*"abcdefg"], n, p=np.arange(7, 0, -1) / 28)),
        }
    )
    frame.loc[child, ["citizenship", "activity"]] = None
    return frame


def even(n: int, m: int, levels: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(rng.integers(0, levels, (n, m)), columns=[f"key{j}" for j in range(m)])


def main() -> None:
    warm = survey(500)
    for missing in ("wildcard", "conservative", "category-size"):
        local_suppression(warm, KEYS, k=3, missing=missing)
    print("| job | size | seconds | peak MB |\n| --- | --- | --- | --- |")
    for n in (14_827, 100_000, 1_000_000):
        data = survey(n)
        for k in (3, 5):
            measure(
                f"local_suppression k={k}", f"{n:,} x 6", lambda d=data, k=k: _run(d, KEYS, k=k)
            )
    data = survey(14_827)
    for missing in ("conservative", "category-size", "conservative-2", "own-category"):
        measure(
            f"local_suppression k=3, {missing}",
            "14,827 x 6",
            lambda m=missing: _run(data, KEYS, k=3, missing=m),
        )
    measure(
        "local_suppression k=3, importance",
        "14,827 x 6",
        lambda: _run(data, KEYS, k=3, importance=[1, 4, 2, 6, 3, 5]),
    )
    measure(
        "local_suppression all pairs 20, triples 10",
        "14,827 x 6",
        lambda: _run(data, KEYS, subsets={2: 20, 3: 10}),
    )
    hard = even(20_000, 8, 10)
    measure("local_suppression k=3, hard", "20,000 x 8", lambda: _run(hard, list(hard), k=3))


def _run(data: pd.DataFrame, keys: list[str], **options: object) -> None:
    result = local_suppression(data, keys, **options)  # type: ignore[arg-type]
    print(f"{result.cells_suppressed:,} cells | ", end="", flush=True)


if __name__ == "__main__":
    main()
