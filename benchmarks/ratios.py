"""Our processor seconds beside those of the reference packages, in one run on the same file.

    python -m benchmarks.ratios [RECORDS]

The file is made up: six keys, three numbers, weights. Where R or a package is not installed, the
table says so and shows our seconds alone. A ratio is the reference's seconds over ours.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.bench_suppression import KEYS, survey
from riskeval.measures.frequencies import frequency_counts
from riskeval.measures.individual import individual_risk
from riskeval.measures.suda import suda
from riskeval.protection.microaggregate import microaggregate
from riskeval.protection.suppression.suppress import local_suppression
from synthpop.indicators import gini

RECORDS = 14_827
NUMBERS = ["x0", "x1", "x2"]
COUNTS = "sdcMicro::freqCalc(data, keyVars = keys, w = 'weight')"
SUPPRESSION = (
    "sdcMicro::kAnon(sdcMicro::createSdcObj(data, keyVars = keys, weightVar = 'weight'), k = 3)"
)
SCRIPT = """
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1], stringsAsFactors = TRUE, na.strings = "")
keys <- strsplit(arguments[2], ",")[[1]]
numbers <- strsplit(arguments[3], ",")[[1]]
seconds <- function(package, job) {
  if (!requireNamespace(package, quietly = TRUE)) return(NA)
  tryCatch(sum(system.time(job())[c("user.self", "sys.self")]), error = function(e) NaN)
}
"""


@dataclass(frozen=True)
class Job:
    """A job in both languages; `ours` takes the file, `theirs` is an R expression of `data`."""

    name: str
    package: str
    theirs: str
    ours: Callable[[pd.DataFrame], object]


JOBS = (
    Job("frequency counts", "sdcMicro", COUNTS,
        lambda d: frequency_counts(d, KEYS, weights="weight")),
    Job("individual risk", "sdcMicro", f"sdcMicro::indivRisk({COUNTS})",
        lambda d: individual_risk(d, KEYS, weights="weight")),
    Job("special uniques", "sdcMicro", "sdcMicro::suda2(data, variables = keys)",
        lambda d: suda(d, KEYS)),
    Job("local suppression, k = 3", "sdcMicro", SUPPRESSION,
        lambda d: local_suppression(d, KEYS, k=3)),
    Job("MDAV, three numbers", "sdcMicro",
        "sdcMicro::microaggregation(data, variables = numbers, method = 'mdav', aggr = 3)",
        lambda d: microaggregate(d, NUMBERS, k=3)),
    Job("Gini", "laeken", "laeken::gini('x0', weights = 'weight', data = data)",
        lambda d: gini(d["x0"], d["weight"])),
)  # fmt: skip


def file_of(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    numbers = {name: rng.lognormal(9, 0.8, n).round(2) for name in NUMBERS}
    return survey(n).assign(**numbers, weight=rng.uniform(1, 100, n).round(2))


def our_seconds(data: pd.DataFrame) -> dict[str, float]:
    """Processor seconds with compiled kernels: a small file goes first."""
    seconds, small = {}, file_of(300)
    for job in JOBS:
        job.ours(small)
        start = time.process_time()
        job.ours(data)
        seconds[job.name] = time.process_time() - start
    return seconds


def reference_seconds(data: pd.DataFrame) -> dict[str, str]:
    """Processor seconds in R, as it prints them; empty where it is not installed."""
    if shutil.which("Rscript") is None:
        return {}
    lines = [
        f'cat("{job.name}", seconds("{job.package}", function() {job.theirs}), sep = "\\t")\n'
        'cat("\\n")'
        for job in JOBS
    ]
    with tempfile.TemporaryDirectory() as folder:
        table, script = Path(folder, "data.csv"), Path(folder, "jobs.R")
        data.to_csv(table, index=False)
        script.write_text(SCRIPT + "\n".join(lines), encoding="utf-8")
        printed = subprocess.run(
            ["Rscript", str(script), str(table), ",".join(KEYS), ",".join(NUMBERS)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    rows = (line.split("\t") for line in printed.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2}


def main(n: int = RECORDS) -> None:
    data = file_of(n)
    ours, theirs = our_seconds(data), reference_seconds(data)
    if not theirs:
        print("R is not installed (no Rscript on the path): our seconds alone.\n")
    print(f"| job, {n:,} records | ours | reference | ratio |\n| --- | --: | --: | --: |")
    for job in JOBS:
        seconds = theirs.get(job.name, "NA")
        if seconds in ("NA", "NaN"):
            said = f"{job.package} is not installed" if seconds == "NA" else "failed"
            said = said if theirs else "–"
            print(f"| {job.name} | {ours[job.name]:.3f} | {said} | – |")
            continue
        ratio = float(seconds) / max(ours[job.name], 1e-3)
        print(f"| {job.name} | {ours[job.name]:.3f} | {float(seconds):.3f} | {ratio:.1f} |")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
