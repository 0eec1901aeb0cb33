"""Time of a handful of jobs in two trees, in turn: `python -m benchmarks.before_after OTHER_TREE`.

Each job runs in processes of its own, first in the other tree, then in this one, and so on, so that
what else the machine does falls on both alike. The figure is the smallest processor time of all
runs of the job in a tree, compiled code apart (each process runs a job once before it counts). A
job that one of the trees cannot do has no figure there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
KEYS = ["db040", "hsize", "age", "rb090", "pl030"]


def recipe() -> Any:
    from synthpop import Categorical, Continuous, Pipeline, Structure, load_demo_survey

    stages = [
        Structure(["age", "rb090"]),
        Categorical("pl030", predictors=["age", "rb090", "hsize"]),
        Continuous("netIncome", predictors=["age", "rb090", "pl030"]),
    ]
    return Pipeline(stages), load_demo_survey()


def persons(n: int) -> Any:
    from synthpop import load_demo_population

    return load_demo_population().iloc[:n].reset_index(drop=True)


def fit() -> Callable[[], Any]:
    pipeline, survey = recipe()
    return lambda: pipeline.fit(survey, seed=1)


def simulate() -> Callable[[], Any]:
    pipeline, survey = recipe()
    fitted = pipeline.fit(survey, seed=1)
    return lambda: fitted.simulate(seed=2)


def assess_fit() -> Callable[[], Any]:
    from synthpop import assess_fit

    pipeline, survey = recipe()
    population = pipeline.fit(survey, seed=1).simulate(seed=2)
    return lambda: assess_fit(survey, population)


def assess() -> Callable[[], Any]:
    from riskeval import assess

    data = persons(200_000)
    return lambda: assess(data, keys=KEYS, sensitive=["pb220a"])


def suda() -> Callable[[], Any]:
    from riskeval import suda

    data = persons(200_000)
    return lambda: suda(data, KEYS)


def suppression() -> Callable[[], Any]:
    from riskeval.protect import local_suppression

    data = persons(100_000)
    return lambda: local_suppression(data, KEYS, k=3)


def mdav() -> Callable[[], Any]:
    from riskeval.protect import microaggregate

    data = persons(60_000).assign(noise=np.random.default_rng(1).normal(size=60_000))
    return lambda: microaggregate(data, ["age", "noise"], k=3, method="mdav")


def scenarios() -> Callable[[], Any]:
    from riskeval import intruder_scenarios

    sample, population = persons(20_000), persons(400_000)
    keys = ["db040", "hsize", "age", "rb090"]
    return lambda: intruder_scenarios(sample, population, keys, "pl030", seed=1)


def gini() -> Callable[[], Any]:
    from synthpop import indicators

    rng = np.random.default_rng(1)
    x, w, by = rng.lognormal(9.8, 0.6, 1_000_000), rng.random(1_000_000), rng.integers(0, 9, 10**6)
    return lambda: indicators.gini(x, w, by=by).with_variance()


def calibrate() -> Callable[[], Any]:
    from synthpop import Margin, calibrate, load_demo_survey

    survey = load_demo_survey()
    margins = [
        Margin(survey.frame.groupby(names, observed=True)["rb050"].sum() * 1.01)
        for names in (["db040", "rb090"], ["age"])
    ]
    return lambda: calibrate(survey, margins)


JOBS = {
    job.__name__: job
    for job in (
        fit, simulate, assess_fit, assess, suda, suppression, mdav, scenarios, gini, calibrate,
    )
}  # fmt: skip


def run(name: str, repetitions: int) -> None:
    """Print the smallest processor time of a job, after a run that compiles."""
    job = JOBS[name]()
    job()
    seconds = []
    for _ in range(repetitions):
        started = time.process_time()
        job()
        seconds.append(time.process_time() - started)
    print(min(seconds))


def seconds_in(tree: Path, name: str, repetitions: int) -> float:
    """Run a job in a tree; NaN where it cannot do it."""
    command = [
        sys.executable,
        "-P",
        str(Path(__file__).resolve()),
        name,
        "--repetitions",
        f"{repetitions}",
    ]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        print(f"{name} in {tree}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return float("nan")
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", help="another checkout, or the name of one job to run here")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--jobs", nargs="*", default=list(JOBS))
    given = parser.parse_args()
    if given.tree in JOBS:
        run(given.tree, given.repetitions)
        return
    print("| job | before, s | after, s | after / before |\n| --- | --: | --: | --: |")
    for name in given.jobs:
        best = [float("nan")] * 2
        for _ in range(given.rounds):
            for i, tree in enumerate((Path(given.tree).resolve(), HERE)):
                best[i] = np.fmin(best[i], seconds_in(tree, name, given.repetitions))
        print(f"| {name} | {best[0]:.3f} | {best[1]:.3f} | {best[1] / best[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
