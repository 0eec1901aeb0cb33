"""Processor time of a ledger of five releases: `python -m benchmarks.bench_ledger [records]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from riskeval import Ledger

KEYS = ["region", "age", "sex", "job"]
N_RELEASES = 5


def people(n: int) -> pd.DataFrame:
    """Persons with four keys, and amounts that tell most of them apart."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({
        "region": pd.Categorical(rng.integers(0, 50, n)), "age": rng.integers(0, 95, n) * 1.0,
        "sex": pd.Categorical(rng.choice(["f", "m"], n)),
        "job": pd.Categorical(rng.integers(0, 20, n)),
        "edu": rng.integers(1, 7, n), "income": rng.lognormal(10, 0.6, n).round(),
        "weight": rng.uniform(50, 150, n).round(2), "wealth": rng.lognormal(11, 1, n).round(-2),
    })  # fmt: skip


def release(frame: pd.DataFrame, number: int) -> pd.DataFrame:
    """Suppress cells (even numbers), cross classes (odd), add noise (3), change jobs (4)."""
    rng, n, file = np.random.default_rng(number), len(frame), frame.copy()
    for name in ("region", "age", "job") if number % 2 == 0 else ():
        file[name] = file[name].mask(rng.random(n) < 0.05)
    if number % 2:
        first = (frame["age"] + 5 * (number > 1)) // 10 * 10 - 5 * (number > 1)
        low, high = first.clip(lower=0), first + 9
        text = low.astype(int).astype(str) + "-" + high.astype(int).astype(str)
        file["age"] = text.astype("category")
    if number == 3:
        file["income"] = (file["income"] + rng.normal(0, 2000, n)).round()
    if number == 4:
        other = pd.Series(rng.integers(0, 20, n))
        file["job"] = file["job"].astype("Float64").mask(rng.random(n) < 0.1, other)
    return file.iloc[rng.permutation(n)].reset_index(drop=True)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    frame = people(n)
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"{folder}/ledger")
        for number in range(N_RELEASES - 1):
            ledger.add(release(frame, number), f"release {number}", keys=KEYS, sensitive=["edu"])
        new = release(frame, N_RELEASES - 1)
        ledger.check(new.head(1000), keys=KEYS)  # compile
        start = time.process_time()
        for file in Path(folder).rglob("*.parquet"):
            pd.read_parquet(file)
        reading, start = time.process_time() - start, time.process_time()
        check = ledger.check(new, keys=KEYS, sensitive=["edu"])
        print(f"{N_RELEASES} releases of {n:,} records: {time.process_time() - start:.1f} s, "
              f"of which reading {reading:.1f} s")  # fmt: skip
        print(check.summary())


if __name__ == "__main__":
    main()
