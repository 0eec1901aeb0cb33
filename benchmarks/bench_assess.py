"""Time `assess_fit` and `write_report`: job, size, seconds, processor seconds, peak MB.

python -m benchmarks.bench_assess [SCALE]  # the demo population, made first
python -m benchmarks.bench_assess FOLDER WORKERS  # of `benchmarks.bench_generation one`
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from synthpop import Pipeline, Population, Survey, open_population
from synthpop.datasets import load_demo_survey
from synthpop.evaluation.assess_fit import assess_fit
from synthpop.report.write import write_report
from synthpop.runfiles.demo import demo_runfile


def row(job: str, size: int, seconds: float, processor: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{job:28s} {size:>12,} {seconds:8.2f} s {processor:8.2f} s {peak:8.0f} MB")


def page(survey: Survey, population: Population, file: Path) -> None:
    """Compare a population with its survey and write the page, a row each."""
    n = population.n_persons
    start, used = time.perf_counter(), time.process_time()
    fit = assess_fit(survey, population)
    row("assess_fit, from disk", n, time.perf_counter() - start, time.process_time() - used)
    start, used = time.perf_counter(), time.process_time()
    write_report(file, survey, population, fit=fit)
    row("write_report", n, time.perf_counter() - start, time.process_time() - used)
    print(f"report: {file.stat().st_size / 1e6:.2f} MB")


def of_folder(folder: str, workers: int) -> None:
    """The page of a population of eusilcS that stands in a folder."""
    from benchmarks.eusilc import read_survey

    with tempfile.TemporaryDirectory() as pages:
        population = open_population(folder, workers=workers)
        page(read_survey(), population, Path(pages) / "report.html")


def main(scale: float) -> None:
    survey = load_demo_survey()
    fitted = Pipeline(demo_runfile().stages).fit(survey, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        population = fitted.simulate(scale=scale, out=Path(folder) / "out", workers=2)
        page(survey, population, Path(folder) / "report.html")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        of_folder(sys.argv[1], int(sys.argv[2]))
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
