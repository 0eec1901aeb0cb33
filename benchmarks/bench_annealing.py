"""Recalibration of finished populations: rows `job, size, seconds, peak MB`.

NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python -m benchmarks.bench_annealing [quick]
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from synthpop.calibration import Margin
from synthpop.stages.annealing import anneal
from synthpop.stages.distribute import distribute

REGIONS = [f"R{i}" for i in range(9)]


def make_population(n_households: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 4, 5, 6], n_households, p=[0.35, 0.3, 0.15, 0.13, 0.05, 0.02])
    n = int(sizes.sum())
    region = np.sort(rng.integers(0, 9, n_households))
    return pd.DataFrame(
        {
            "hid": np.repeat(np.arange(n_households, dtype=np.int32), sizes),
            "hsize": np.repeat(sizes, sizes).astype(np.int8),
            "region": pd.Categorical.from_codes(np.repeat(region, sizes), REGIONS),
            "age": rng.integers(0, 95, n).astype(np.int8),
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, n), ["f", "m"]),
            "citizenship": pd.Categorical.from_codes(
                rng.choice(3, n, p=[0.9, 0.03, 0.07]), ["own", "near", "other"]
            ),
        }
    )


def make_margin(frame: pd.DataFrame, seed: int = 2) -> Margin:
    """Sex x citizenship by region, about 6 % of the persons misplaced."""
    rng = np.random.default_rng(seed)
    table = frame.groupby(["region", "sex", "citizenship"], observed=True).size()
    table = (table * rng.uniform(0.88, 1.12, len(table))).rename("total").reset_index()
    by_region = table.groupby("region", observed=True)["total"].transform("sum")
    persons = frame["region"].value_counts()
    table["total"] *= table["region"].map(persons).astype(float) / by_region
    return Margin(table.assign(total=table["total"].round()))


def main() -> None:
    small = make_population(3000)
    anneal(small, make_margin(small), household="hid", split="region", seed=1)
    options = {"within": "region", "household": "hid", "seed": 1}
    distribute(small, "area", margins=make_areas(small), **options)  # compile
    for n in (35_000,) if "quick" in sys.argv else (35_000, 3_600_000):
        frame = make_population(n)
        margin = make_margin(frame)
        for workers in (1, 2):
            measure(
                f"anneal, tolerance 0.001, workers {workers}",
                f"{len(frame):,} persons",
                lambda workers=workers, frame=frame, margin=margin: show(
                    anneal(
                        frame,
                        margin,
                        household="hid",
                        split="region",
                        tolerance=0.001,
                        seed=1,
                        workers=workers,
                    )
                ),
            )
        areas = make_areas(frame)
        measure(
            "distribute to 180 areas",
            f"{len(frame):,} persons",
            lambda frame=frame, areas=areas: distribute(
                frame, "area", within="region", margins=areas, household="hid", seed=1
            ),
        )


def make_areas(frame: pd.DataFrame, per_region: int = 20) -> list[Margin]:
    """Households and persons of small areas, as a random allotment gives them."""
    rng = np.random.default_rng(3)
    area = rng.integers(0, per_region, int(frame["hid"].max()) + 1)[frame["hid"]]
    other = frame.assign(area=area)
    keys = ["region", "area"]
    persons = other.groupby(keys, observed=True).size().rename("total").reset_index()
    first = other.drop_duplicates("hid")
    households = first.groupby(keys, observed=True).size().rename("total").reset_index()
    return [Margin(households, level="household"), Margin(persons)]


def show(result: object) -> None:
    gaps = result.regions[["gap_before", "gap_after"]].sum().tolist()
    print(f"[gap {gaps[0]:,.0f} -> {gaps[1]:,.0f}, converged {result.converged}] ", end="")


if __name__ == "__main__":
    main()
