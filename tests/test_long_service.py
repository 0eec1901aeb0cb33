"""Many runs in one process: memory, threads and open files stay as they are."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import riskeval
from synthpop import assess_fit, open_population
from synthpop.population.verify import verify
from synthpop.report.write import write_report
from tests.small import small_pipeline, small_survey

ROOT = Path(__file__).parents[1]
FILES = Path("/proc/self/fd")
KEYS = ["age", "sex", "status"]

pytestmark = [
    pytest.mark.skipif(not FILES.exists(), reason="counts open files by /proc"),
    pytest.mark.usefixtures("few_trees"),
]


def one_run(folder: Path, number: int, *, page: bool = False) -> None:
    """Fit, write, resume, read, judge and protect: what a service does for one request."""
    survey = small_survey(60, seed=number % 3)
    fitted = small_pipeline().fit(survey, seed=number)
    out = folder / f"{number}"
    for workers in (1, 2):
        fitted.simulate(out=out, workers=workers)
    population = open_population(out)
    assert verify(out) == []
    fit = assess_fit(survey, population)
    risk = riskeval.intruder_scenarios(survey.frame, population, KEYS, "income")
    riskeval.k_anonymity(survey.frame, KEYS)
    riskeval.protect.local_suppression(survey.frame, KEYS, k=2)
    if page:
        write_report(out / "report.html", survey, population, fit=fit, risk=risk)


def state() -> dict[str, float]:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        "threads": threading.active_count(),
        "files": len(list(FILES.iterdir())),
    }


@pytest.mark.slow  # four whole runs, each with its pages
def test_threads_and_open_files_stay_as_they_are(tmp_path) -> None:
    for number in range(2):
        one_run(tmp_path, number)
    before = state()
    for number in range(2, 4):
        one_run(tmp_path, number)
    after = state()
    assert after["threads"] <= before["threads"]
    assert after["files"] <= before["files"]


@pytest.mark.slow
def test_two_hundred_runs(tmp_path) -> None:
    """The first 50 runs fill caches; from then on a run may add 40 KiB."""
    code = "import sys; from tests.test_long_service import service; service(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    states = [json.loads(line) for line in done.stdout.splitlines()]
    first, last = states[0], states[-1]
    assert last["threads"] <= first["threads"], states
    assert last["files"] <= first["files"], states
    assert last["memory"] - first["memory"] < 6, states


def service(folder: str) -> None:
    """Print the state after 50, 100, 150 and 200 runs."""
    for number in range(200):
        one_run(Path(folder), number, page=number % 10 == 0)
        if number % 50 == 49:
            print(json.dumps(state()), flush=True)
