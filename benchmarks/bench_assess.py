"""Time `assess_fit` and `write_report` on the demo population: job, size, seconds, peak MB."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from synthpop import Pipeline
from synthpop.datasets import load_demo_survey
from synthpop.evaluation.assess_fit import assess_fit
from synthpop.report.write import write_report
from synthpop.runfiles.demo import demo_runfile


def row(job: str, size: int, seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{job:28s} {size:>12,} {seconds:8.2f} s {peak:8.0f} MB")


def main(scale: float) -> None:
    survey = load_demo_survey()
    fitted = Pipeline(demo_runfile().stages).fit(survey, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        population = fitted.simulate(scale=scale, out=Path(folder) / "out", workers=2)
        n = population.n_persons
        row("(population on disk)", n, 0.0)
        start = time.perf_counter()
        fit = assess_fit(survey, population)
        row("assess_fit, from disk", n, time.perf_counter() - start)
        start = time.perf_counter()
        file = write_report(Path(folder) / "report.html", survey, population, fit=fit)
        row("write_report", n, time.perf_counter() - start)
        print(f"report: {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
