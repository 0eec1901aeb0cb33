"""Time and memory of the main job on eusilcS, each run a whole process of its own.

    python -m benchmarks.bench_generation            # the table of benchmarks/RESULTS.md
    python -m benchmarks.bench_generation parts      # where the time of 8 million persons goes
    python -m benchmarks.bench_generation one SCALE WORKERS [FOLDER]
    python -m benchmarks.bench_generation totals SCALE [FOLDER]  # Anneal, Distribute
    python -m benchmarks.bench_generation elsewhere SCALE SIZE FOLDER  # regions take households
    python -m benchmarks.bench_generation region SCALE FOLDER REGION  # one region of the whole

Seconds are wall time of the process, imports and reading of the survey included, the median of
three runs with warm kernel caches; the peak is its resident memory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

RUNS = 3
JOBS = (
    ("in memory", 1, 1),
    ("in memory", 100, 1),
    ("in memory", 100, 2),
    ("to Parquet", 100, 1),
    ("to Parquet", 100, 2),
    ("to Parquet", 1, 2),
    ("to Parquet", 10, 2),
    ("to Parquet", 1000, 2),
)


def one(scale: float, workers: int, folder: str | None) -> None:
    """Run the job once in this process."""
    from benchmarks.eusilc import pipeline, read_survey

    started = time.perf_counter()
    fitted = pipeline().fit(read_survey(), seed=1)
    learned = time.perf_counter()
    n_persons = fitted.simulate(scale=scale, workers=workers, out=folder).n_persons
    simulated = time.perf_counter()
    seconds = f"read and fit {learned - started:.2f} s, simulate {simulated - learned:.2f} s"
    print(f"{n_persons} persons: {seconds}")


def region(scale: float, folder: str, name: str) -> None:
    """Run one region as a part of a population of that scale."""
    import resource

    from benchmarks.eusilc import pipeline, read_survey

    started = time.process_time()
    fitted = pipeline().fit(read_survey(), seed=1)
    part = fitted.simulate(scale=scale, strata=[name], out=folder)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = sum(block.bytes for block in part.manifest.blocks) / 1e6
    row = f"| {name} | {part.n_persons:,} | {len(part.manifest.blocks)} | {seconds:.1f} |"
    print(f"{row} {peak:,.0f} | {size:,.0f} |", flush=True)


def totals(scale: float, folder: str | None) -> None:
    """Run a recipe that meets totals of each region and allots households to four areas of it."""
    import resource

    import pandas as pd

    from benchmarks.eusilc import pipeline, read_survey
    from synthpop import Anneal, Distribute, Margin, Pipeline

    survey = read_survey()
    frame, weight = survey.frame, survey.frame["rb050"] * scale
    table = weight.groupby([frame["db040"], frame["rb090"]], observed=True).sum()
    table = (table * ([1.01, 0.99] * (len(table) // 2))).rename("total").reset_index()
    heads = survey.household_order[survey.household_offsets[:-1]]
    households = weight.iloc[heads].groupby(frame["db040"].iloc[heads], observed=True).sum()
    areas = pd.DataFrame(
        [(r, f"{r} {k}", n / 4) for r, n in households.items() for k in range(4)],
        columns=["db040", "area", "total"],
    )
    steps = [
        Anneal(Margin(table), split="db040", tolerance=0.001),
        Distribute("area", within="db040", margins=Margin(areas, level="household")),
    ]
    started = time.process_time()
    fitted = Pipeline([*pipeline().stages, *steps]).fit(survey, seed=1)
    n_persons = fitted.simulate(scale=scale, out=folder).n_persons
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {n_persons:,} | {time.process_time() - started:.1f} | {peak:,.0f} |", flush=True)


def elsewhere(scale: float, size: int, folder: str, copies: int = 8) -> None:
    """Run a recipe with known totals for eight copies of the country of that scale: 72 regions.

    One region of each copy has no household of that size or more, and takes some from elsewhere.
    """
    import resource

    import pandas as pd

    from benchmarks.eusilc import pipeline, read_survey
    from synthpop import Pipeline, Survey
    from synthpop.calibration.margins import Margin

    survey = read_survey()
    frame = survey.frame.assign(db040=survey.frame["db040"].astype(str))
    frame = frame[(frame["db040"] != "Burgenland") | (frame["hsize"] < size)]
    step = int(frame["db030"].max()) + 1
    country = pd.concat(
        [
            frame.assign(db040=frame["db040"] + f" {k:02d}", db030=frame["db030"] + k * step)
            for k in range(copies)
        ],
        ignore_index=True,
    )
    heads = country.drop_duplicates("db030")
    sexes = country.groupby(["db040", "rb090"], observed=True)["rb050"].sum() * scale
    sizes = heads.groupby(["db040", "hsize"])["db090"].sum() * scale
    sizes = sizes.rename("total").reset_index()
    burgenland = [f"Burgenland {k:02d}" for k in range(copies)]
    large = pd.DataFrame({"db040": burgenland, "hsize": size, "total": 40.0 * scale})
    sizes = pd.concat([sizes[sizes["hsize"] == size], large], ignore_index=True)
    margins = [Margin(sexes.rename("total").reset_index()), Margin(sizes, level="household")]
    started = time.process_time()
    roles = survey.roles.named()
    fitted = Pipeline(pipeline().stages, known_totals=margins).fit(Survey(country, **roles), seed=1)
    population = fitted.simulate(out=folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    regions = pd.DataFrame(population.manifest.finished.steps[0].details["regions"])
    row = f"| {population.n_persons:,} | {len(regions)} | {regions['from_other_regions'].sum():,} |"
    print(f"{row} {time.process_time() - started:.1f} | {peak:,.0f} |", flush=True)


def process(scale: float, workers: int, folder: str | None) -> tuple[float, float, int]:
    """Wall seconds, peak MB and persons of a fresh process."""
    command = [sys.executable, "-m", "benchmarks.bench_generation", "one", str(scale), str(workers)]
    started = time.perf_counter()
    child = subprocess.Popen(command + ([folder] if folder else []), stdout=subprocess.PIPE)
    assert child.stdout is not None
    persons = int(child.stdout.read().split()[0])
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit("the job failed")
    return time.perf_counter() - started, usage.ru_maxrss / 1024, persons


def table() -> None:
    """Print one row per job."""
    process(1, 1, None)  # warms the caches
    print("| job | persons | workers | seconds | peak MB | on disk MB |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name, scale, workers in JOBS:
        rows, size = [], 0.0
        for _ in range(RUNS if scale <= 100 else 1):
            root = Path(tempfile.mkdtemp())
            folder = str(root / "p") if "Parquet" in name else None
            rows.append(process(scale, workers, folder))
            size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) / 1e6
            shutil.rmtree(root)
        seconds, peak = median(r[0] for r in rows), max(r[1] for r in rows)
        disk = f"{size:,.0f}" if size else ""
        print(
            f"| {name} | {rows[0][2]:,} | {workers} | {seconds:.2f} | {peak:,.0f} | {disk} |",
            flush=True,
        )


def parts() -> None:
    """Print where the time goes at 8.18 million persons, one worker, in memory."""
    started = time.perf_counter()
    from benchmarks.eusilc import pipeline, read_survey

    spent: dict[str, float] = {"import": time.perf_counter() - started}
    started = time.perf_counter()
    survey = read_survey()
    spent["read the survey"] = time.perf_counter() - started
    started = time.perf_counter()
    fitted = pipeline().fit(survey, seed=1)
    spent["fit"] = time.perf_counter() - started
    stages: dict[str, float] = defaultdict(float)
    for cls in {type(stage) for stage in fitted.stages}:
        cls.simulate = timed(cls.simulate, stages)
    started = time.perf_counter()
    population = fitted.simulate(scale=100)
    spent["simulate"] = time.perf_counter() - started
    for name, seconds in {**spent, **{f"  {k}": v for k, v in stages.items()}}.items():
        print(f"| {name} | {seconds:.2f} |")
    rest = spent["simulate"] - sum(stages.values())
    print(f"|   ids, and placing the blocks in the population | {rest:.2f} |")
    n_bytes = sum(values.nbytes for values in population._columns.values())
    print(f"| bytes of the population | {n_bytes / 1e6:,.0f} MB |")
    copy_bandwidth(n_bytes)


def timed(function, spent):
    """Add up the time of a method by the label of its stage."""

    def wrapper(self, *arguments):
        started = time.perf_counter()
        result = function(self, *arguments)
        spent[self.label] += time.perf_counter() - started
        return result

    return wrapper


def copy_bandwidth(n_bytes: int) -> None:
    """Time to fill as many bytes once: fresh pages, and pages that are there."""
    import numpy as np

    started = time.perf_counter()
    values = np.empty(n_bytes // 8)
    values[:] = 1.0
    fresh = time.perf_counter() - started
    started = time.perf_counter()
    values[:] = 2.0
    again = time.perf_counter() - started
    print(f"| filling as many bytes in fresh memory | {fresh:.2f} |")
    print(f"| filling them again | {again:.2f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one(float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
    elif sys.argv[1:2] == ["totals"]:
        totals(float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
    elif sys.argv[1:2] == ["elsewhere"]:
        elsewhere(float(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1:2] == ["region"]:
        region(float(sys.argv[2]), sys.argv[3], sys.argv[4])
    elif sys.argv[1:2] == ["parts"]:
        parts()
    else:
        table()
