"""A nation in small zones: households by `populate_zones`, at a share of its size.

    python -m benchmarks.nation 0.01             # 3 million persons, 2,400 zones of 500 households
    python -m benchmarks.nation 0.1 processes:2  # two workers
    nice python -m benchmarks.nation 1 processes:2 /data/nation  # all; goes on if stopped
    python -m benchmarks.nation same 0.01  # the same bytes whatever computes them, and after a kill

Zones lie in counties and states. Each zone has 32 totals of households and persons, each
county five and each state four more. The truth is invented: zones differ in size, age and income;
the survey is one household in fifty of each region of a hundred zones, which keeps its households.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop import Margin, Population, Survey, populate_zones, zone_controls
from synthpop.calibration.zones import measures_of_fit

ZONES, HOUSEHOLDS = 240_000, 500
REGIONS = 48  # of a state
SMALL_STATE, KILLED_AFTER, KEY = 4, 6, bytes(range(16))
AT_A_TIME = 1_200  # zones whose truth is in memory
AGES = [0, 5, 15, 25, 35, 45, 55, 65, 120]


def truth(zones: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Persons of some zones with what is controlled."""
    n = len(zones) * HOUSEHOLDS
    zone = np.repeat(np.arange(len(zones)), HOUSEHOLDS)
    rich, young = rng.normal(0, 0.6, len(zones))[zone], rng.normal(0, 0.5, len(zones))[zone]
    size = 1 + rng.binomial(4, np.clip(0.381 + 0.1 * young, 0.05, 0.9))
    wealth = np.clip(np.round(2.5 + rich + rng.normal(0, 1.2, n)), 0, 5).astype(np.int8)
    dwelling = np.clip(np.round(1 + 0.4 * rich + rng.normal(0, 0.7, n)), 0, 2).astype(np.int8)
    persons = np.repeat(np.arange(n), size)
    age = np.clip(rng.gamma(2.2, 17, len(persons)) - 4 * young[persons], 0, 99)
    return pd.DataFrame(
        {"household": int(zones[0]) * HOUSEHOLDS + persons, "zone": zones[zone[persons]],
         "size": size[persons].astype(np.int8), "wealth": wealth[persons],
         "dwelling": dwelling[persons],
         "age": pd.cut(age, AGES, right=False, labels=False).astype(np.int8),
         "sex": rng.integers(0, 2, len(age), dtype=np.int8),
         "works": (age > 17) & (age < 66) & (rng.random(len(age)) < 0.7),
         "race": rng.choice(5, n, p=[0.6, 0.15, 0.13, 0.07, 0.05])[persons].astype(np.int8),
         "occupation": rng.integers(0, 4, len(age), dtype=np.int8)}
    )  # fmt: skip


TABLES = {
    "homes": ("household", ["zone"]),
    "sizes": ("household", ["zone", "size"]),
    "wealth": ("household", ["zone", "wealth"]),
    "dwellings": ("household", ["zone", "dwelling"]),
    "ages": ("person", ["zone", "age", "sex"]),
    "workers": ("person", ["zone", "works"]),
    "races": ("household", ["county", "race"]),
    "occupations": ("person", ["state", "occupation"]),
}


def invented(zones: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, dict[str, pd.DataFrame]]]:
    """Yield sample and tables of the truth, some zones at a time."""
    rng = np.random.default_rng(1)
    for first in range(0, len(zones), AT_A_TIME):
        some = zones.iloc[first : first + AT_A_TIME]
        people = truth(some["zone"].to_numpy(), rng).merge(some, on="zone")
        homes = people.drop_duplicates("household")
        tables = {}
        for name, (level, by) in TABLES.items():
            rows = homes if level == "household" else people
            rows = rows[rows["works"]] if name == "workers" else rows
            sizes = rows.groupby(by).size()
            if len(by) > 1:  # nobody of a category in a zone is a total too
                sizes = sizes.unstack(by[1:], fill_value=0).stack(by[1:], future_stack=True)
            tables[name] = sizes.rename("total").reset_index()
        drawn = homes["household"].sample(frac=0.02, random_state=1)
        sample = people[people["household"].isin(drawn)]
        yield sample.drop(columns=["zone", "county", "state"]), tables


def nation(share: float, regions: int) -> tuple[Survey, pd.DataFrame, list[Margin]]:
    """Invent the survey, the zones and their totals; regions: of a state."""
    zones = pd.DataFrame({"zone": np.arange(round(ZONES * share))})
    zones["region"] = zones["zone"] // 100
    zones["county"] = zones["region"] * 10 + zones["zone"] % 100 // 50
    zones["state"] = zones["region"] // regions
    samples, tables = zip(*invented(zones), strict=True)
    margins = [
        Margin(pd.concat([part[name] for part in tables]).groupby(by, as_index=False).sum(),
               level=level, importance=None if name == "homes" else 1000.0, name=name)
        for name, (level, by) in TABLES.items()
    ]  # fmt: skip
    frame = pd.concat(samples, ignore_index=True).assign(w=50.0)
    survey = Survey(frame, weight="w", household="household")
    return survey, zones[["state", "region", "county", "zone"]], margins


def populated(
    given: tuple[Survey, pd.DataFrame, list[Margin]], out: Path, workers: str, key: bytes | None
) -> Population:
    """Populate the zones; one key gives one population."""
    number = workers if ":" in workers else int(workers)
    return populate_zones(*given, out, within="region", seed=1, workers=number, key=key)


def main(share: float, workers: str, folder: str | None) -> None:
    """Invent, populate, and print a row."""
    given = nation(share, REGIONS)
    survey, zones, margins = given
    n_totals = sum(len(item.frame) for item in margins)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(folder or f"{scratch}/nation")
        clock, before = time.perf_counter(), processor_seconds()
        made = populated(given, out, workers, None)
        seconds, clock = processor_seconds() - before, time.perf_counter() - clock
        own, largest = (
            resource.getrusage(who).ru_maxrss / 1024
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        size = sum(block.bytes for block in made.manifest.blocks) / 2**20
        print(f"{made.n_persons:,} persons, {len(zones):,} zones, {n_totals:,} totals, "
              f"{survey.n_households:,} households surveyed, workers {workers}: {clock:.0f} s, "
              f"{seconds:.0f} processor s, peak {own:,.0f} MB, of a worker {largest:,.0f} MB, "
              f"{size:,.0f} MB written")  # fmt: skip
        gaps = zone_controls(made)
        print(measures_of_fit(gaps).round(5).to_string(index=False))
        table = gaps.groupby(["level", gaps["gap"].abs().clip(upper=4)], observed=True).size()
        print(table.unstack(fill_value=0).to_string())


def same(share: float) -> None:
    """Populate with several workers and after a kill; print whether all bytes are the same."""
    from dask.distributed import LocalCluster

    given = nation(share, SMALL_STATE)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        one = populated(given, home / "one", "1", KEY)
        print(
            f"{one.n_persons:,} persons in {len(one.manifest.blocks)} files, 1 worker", flush=True
        )
        populated(given, home / "two", "processes:2", KEY)
        tell(home, "two", "2 processes")
        child = get_context("fork").Process(
            target=populated, args=(given, home / "killed", "1", KEY)
        )
        child.start()
        while child.is_alive() and len(list((home / "killed").rglob("*.parquet"))) < KILLED_AFTER:
            time.sleep(0.05)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        left = len(list((home / "killed").rglob("*.parquet")))
        populated(given, home / "killed", "1", KEY)
        tell(home, "killed", f"killed when {left} files were there, then resumed")
        for number in (2, 4):
            with LocalCluster(
                n_workers=number, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as c:
                populated(
                    given, home / f"dask{number}", c.scheduler_address.replace("tcp", "dask"), KEY
                )
            tell(home, f"dask{number}", f"Dask, {number} workers")


def tell(home: Path, folder: str, what: str) -> None:
    """Print whether a folder has the bytes of the first."""
    one, other = (
        {str(file.relative_to(home / name)): blake2b(file.read_bytes()).hexdigest()
         for file in (home / name).rglob("*") if file.is_file() and file.name != ".lock"}
        for name in ("one", folder)
    )  # fmt: skip
    print(
        f"{what}: {'the same' if one == other else 'OTHER'} bytes in {len(one)} files", flush=True
    )


def processor_seconds() -> float:
    """Processor seconds of this process and of workers that have ended."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(item.ru_utime + item.ru_stime for item in times)


if __name__ == "__main__":
    arguments = [*sys.argv[1:], *["0.01", "1"][len(sys.argv) - 1 :]]
    if arguments[0] == "same":
        same(float(arguments[1]))
    else:
        main(float(arguments[0]), arguments[1], arguments[2] if len(arguments) > 2 else None)
