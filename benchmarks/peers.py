"""The corpus of deceptions and clean releases, judged here and by other packages.

Run ``python -m benchmarks.peers --python PEERS/bin/python [--clean 60] [--store]``, where the other
environment has anonymeter, SDMetrics and SynthEval; they are no dependencies, and one that is
absent is named. Every measure of a package is taken as a score. Each is compared at the same
rate of false alarms: its threshold is the score that at most 5 % of the clean releases exceed. The
rule of this project has no threshold to set: it alarms where its verdict is "do not publish" or
"exceeds your limits". Prints the share of deceptions that exceed it, and processor seconds a file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.results import store_if_asked
from benchmarks.verdicts import world
from riskeval import assess_synthetic
from riskeval.verdict.verdict import EXCEEDED, STOP
from tests.riskeval.verdict.corpus import AMOUNTS, KEYS, SENSITIVE, original, strangers
from tests.riskeval.verdict.deceptions import SYNTHETIC

FALSE_ALARMS = 0.05
FIRST_CLEAN = 2_000
TARGETS = [*SENSITIVE, *AMOUNTS]
SCORES = Path(__file__).with_name("peer_scores.py")
OWN = "riskeval"


def cases(n_clean: int) -> Iterator[tuple[str, bool, list[pd.DataFrame]]]:
    """Name, whether it is deceptive, and original, release and hold-out."""
    for name, (make, _) in SYNTHETIC.items():
        yield name, True, [original(), make(), strangers()]
    for number in range(FIRST_CLEAN, FIRST_CLEAN + n_clean):
        kind, _, files = world(number)
        yield f"clean {number} {kind}", False, files


def own_score(files: list[pd.DataFrame]) -> float:
    """1 where the verdict objects, else 0."""
    verdict = assess_synthetic(
        files[0], files[1], KEYS, TARGETS, holdout=files[2], seed=1, categorical=["educ"]
    ).verdict
    return float(verdict.level in (STOP, EXCEEDED))


def measured(python: str, n_clean: int) -> pd.DataFrame:
    """One row a score: package, measure, release, deceptive, score, seconds, fault."""
    rows, known = [], {}
    with tempfile.TemporaryDirectory() as parent:
        for i, (name, deceptive, files) in enumerate(cases(n_clean)):
            folder = Path(parent) / f"{i:04d}"
            folder.mkdir()
            known[folder.name] = {"release": name, "deceptive": deceptive}
            for role, frame in zip(("original", "release", "holdout"), files, strict=True):
                frame.to_csv(folder / f"{role}.csv", index=False)
            roles = json.dumps({"keys": KEYS, "targets": TARGETS})
            (folder / "roles.json").write_text(roles, encoding="utf-8")
            started = time.process_time()
            score = own_score(files)
            seconds = time.process_time() - started
            rows.append({"package": OWN, "measure": "verdict", "folder": folder.name,
                         "score": score, "seconds": seconds})  # fmt: skip
        done = subprocess.run([python, str(SCORES), parent], capture_output=True, text=True)
    rows += [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        print(done.stderr[-2000:])
    table = pd.DataFrame(rows).join(pd.DataFrame.from_dict(known, orient="index"), on="folder")
    return table.reindex(columns=[*table.columns, *({"missing", "fault"} - {*table.columns})])


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Detection at an equal rate of false alarms: each measure, and the packages as a whole.

    A package as a whole alarms where one of its measures does, each at its part of the 5 %.
    """
    rows = []
    for package, scores in table.dropna(subset="measure").groupby("package", sort=False):
        wide = scores.pivot_table(index="folder", columns="measure", values="score", sort=False)
        deceptive = scores.groupby("folder")["deceptive"].first().reindex(wide.index)
        seconds = scores.groupby("measure", sort=False)["seconds"].mean()
        for measure in wide:
            scores_of = wide[[measure]]
            alarms = _alarms(scores_of, deceptive) if package != OWN else wide[measure] > 0
            rows.append(_row(package, str(measure), alarms, deceptive, seconds[measure]))
        if len(wide.columns) > 1:
            alarms = _alarms(wide, deceptive)
            rows.append(_row(package, "all of these", alarms, deceptive, seconds.sum()))
    return pd.DataFrame(rows)


def _alarms(wide: pd.DataFrame, deceptive: pd.Series) -> pd.Series:
    """Whether a score exceeds what its part of the clean releases may."""
    clean = wide[~deceptive]
    share = FALSE_ALARMS / len(wide.columns)
    cuts = {name: np.quantile(clean[name].dropna(), 1 - share, method="higher")
            if clean[name].notna().any() else np.inf for name in wide}  # fmt: skip
    return (wide > pd.Series(cuts)).any(axis=1)


def _row(
    package: str, measure: str, alarms: pd.Series, deceptive: pd.Series, seconds: float
) -> dict[str, str]:
    found, false = alarms[deceptive], alarms[~deceptive]
    return {
        "package": package, "measure": measure,
        "deceptions named": f"{int(found.sum())} of {len(found)}",
        "clean objected to": f"{int(false.sum())} of {len(false)}",
        "processor s each": f"{seconds:.2f}",
    }  # fmt: skip


def main() -> None:
    """Print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="interpreter that has the packages")
    parser.add_argument("--clean", type=int, default=60)
    parser.add_argument("--store", action="store_true", help="keep the table for the page")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = measured(options.python, options.clean)
    for row in table.dropna(subset="missing").itertuples():
        print(f"{row.package} was left out: {row.missing}")
    faults = table.dropna(subset="fault")
    for (package, fault), rows in faults.groupby(["package", "fault"]):
        print(f"{package}: {len(rows)} scores ended in {fault}")
    own = table[(table["package"] == OWN) & ~table["deceptive"] & (table["score"] > 0)]
    for name in own["release"]:
        print(f"{OWN} objects to {name}")
    store_if_asked("peers", "detection", summary(table))


if __name__ == "__main__":
    main()
