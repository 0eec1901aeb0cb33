"""Processor seconds of ``riskeval judge`` as a user calls it, and of each attack.

Run ``python -m benchmarks.bench_judge [PERSONS]``: original, release and hold-out of so many
persons (10,000 when not given) with 12 columns, seven keys and four targets. The kernels are
compiled first.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from riskeval import assess_synthetic
from riskeval.attacks.registry import ATTACKS
from tests.riskeval.verdict.corpus import AMOUNTS, KEYS, SENSITIVE, persons

MORE_KEYS = ["hsize", "job", "nation"]
PLAN = """seed = 1
data = {{file = "original.csv"}}
synthetic = {{file = "release.csv"}}
holdout = {{file = "holdout.csv"}}
intruder = {{keys = {keys}, targets = {targets}}}
"""


def people(seed: int, n: int) -> pd.DataFrame:
    """Persons in households, with two more keys."""
    rng = np.random.default_rng(seed)
    file = persons(seed, n // 2)[:n]
    jobs, nations = [f"job {i}" for i in range(9)], ["a", "b", "c", "d", "e"]
    return file.assign(job=rng.choice(jobs, n), nation=rng.choice(nations, n))


def of_command(folder: Path, plan: Path) -> float:
    """Processor seconds of one call of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "riskeval", "judge", str(plan), "--out", str(folder / "a.csv")]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the seconds."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    files = {name: people(seed, n) for seed, name in enumerate(("original", "release", "holdout"))}
    keys, targets = [*KEYS, *MORE_KEYS], [*SENSITIVE, *AMOUNTS]
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        for name, frame in files.items():
            frame.to_csv(folder / f"{name}.csv", index=False)
        plan = folder / "judge.toml"
        plan.write_text(PLAN.format(keys=keys, targets=targets), encoding="utf-8")
        of_command(folder, plan)
        print(f"riskeval judge, {n:,} persons: {of_command(folder, plan):.1f}")
    one, other, strangers = files.values()
    for name, entry in ATTACKS.items():
        started = time.process_time()
        assess_synthetic(one, other, keys, targets, holdout=strangers, attacks=name, seed=1)
        print(f"{entry.title}: {time.process_time() - started:.1f}")


if __name__ == "__main__":
    main()
