"""Verdicts on clean and on deceptive releases: how often each is objected to, and at what cost.

Run ``python -m benchmarks.verdicts [--clean 400] [--first 0] [--workers 1] [--store]``. Every
deception is shown to every front that takes it. Clean are other samples
of households of one population, and files that tell of nobody: a third of the worlds names the
household, a third leaves the members in their order without saying so, a third shuffles them. The
seeds are no others' than this study's. Prints the share of each that is objected to, by attacks at
a nominal 5 % in all, and the processor seconds of a verdict.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import joblib
import pandas as pd

from benchmarks.results import store_if_asked
from riskeval import assess_synthetic
from riskeval.verdict.verdict import EXCEEDED, STOP
from tests.riskeval.verdict.corpus import AMOUNTS, KEYS, SENSITIVE, persons
from tests.riskeval.verdict.deceptions import SYNTHETIC
from tests.riskeval.verdict.fronts import ACCEPT, Said, wanted
from tests.riskeval.verdict.test_deceptions import attacked
from tests.riskeval.verdict.test_false_alarms import CLEAN, without_ids

FIRST_SEED = 300_000
HOW = ("declared by name", "in the order of households", "shuffled")
ALL_ATTACKS = "assess_synthetic, all attacks"
FRONTS = {**ACCEPT, ALL_ATTACKS: (SYNTHETIC, lambda name, folder: Said.of(attacked(name)))}
"""Beside the fronts of the tests, which make the attacks that name deceptions."""


def world(number: int) -> tuple[str, str, list[pd.DataFrame]]:
    """Kind of release, what is known of households, and original, release and strangers."""
    kinds = list(CLEAN)
    kind, how = kinds[number % len(kinds)], HOW[number % len(HOW)]
    seeds = [FIRST_SEED + 3 * number + i for i in range(3)]
    files = [persons(seeds[0]), CLEAN[kind](seeds[1]), persons(seeds[2])]
    if kind == "rounded amounts":
        files = [
            file.assign(**{n: (file[n] / 100).round() * 100 for n in AMOUNTS}) for file in files
        ]
    return kind, how, [without_ids(file, seeds[0], how) for file in files]


def clean(number: int) -> dict[str, object]:
    """Judge a clean release."""
    warnings.simplefilter("ignore")
    kind, how, (original, release, strangers) = world(number)
    started = time.process_time()
    risk = assess_synthetic(
        original, release, KEYS, [*SENSITIVE, *AMOUNTS], holdout=strangers, seed=number,
        categorical=["educ"],
    )  # fmt: skip
    verdict = risk.verdict
    return {
        "number": number, "release": kind, "households": how,
        "alarm": verdict.level in (STOP, EXCEEDED), "why": verdict.summary(),
        "weak": "; ".join(risk.above), "seconds": time.process_time() - started,
    }  # fmt: skip


def deceived(front: str, name: str) -> dict[str, object]:
    """Show a deception to a front: is it named, or nothing praised where it cannot be seen."""
    warnings.simplefilter("ignore")
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        try:
            said = FRONTS[front][1](name, Path(folder))
        except AssertionError as problem:  # of a page or an exit status
            said = Said(f"fault: {problem}", ())
    asked = wanted("assess_synthetic" if front == ALL_ATTACKS else front, name)
    return {
        "front": front, "release": name, "named": said.is_named(asked),
        "found": "; ".join([said.level, *said.names[:3]]),
        "seconds": time.process_time() - started,
    }  # fmt: skip


def _share(table: pd.DataFrame, by: str, alarm: str) -> pd.DataFrame:
    groups = table.groupby(by, sort=False)
    shown = groups.agg(n=(alarm, "size"), hits=(alarm, "sum"), seconds=("seconds", "mean"))
    whole = [len(table), table[alarm].sum(), table["seconds"].mean()]
    shown.loc["all"] = whole
    return pd.DataFrame(
        {
            by: shown.index, "releases": shown["n"].astype(int).astype(str),
            alarm: [f"{int(h)} ({h / n:.1%})" for h, n in zip(shown["hits"], shown["n"],
                                                             strict=True)],
            "processor s each": shown["seconds"].map("{:.1f}".format),
        }
    ).reset_index(drop=True)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clean", type=int, default=400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--no-deceptions", action="store_true")
    parser.add_argument("--store", action="store_true", help="keep the tables for the pages")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    options = parser.parse_args()
    pool = joblib.Parallel(options.workers, return_as="generator")
    if not options.no_deceptions:
        shown = [(front, name) for front, (files, _) in FRONTS.items() for name in files]
        table = pd.DataFrame(pool(joblib.delayed(deceived)(*one) for one in shown))
        store_if_asked("verdicts", "deceptions", _share(table, "front", "named"))
        for row in table[~table["named"]].itertuples():
            print("not named:", row.front, row.release, row.found)
    rows = []
    numbers = range(options.first, options.first + options.clean)
    for row in pool(joblib.delayed(clean)(number) for number in numbers):
        rows.append(row)
        if row["alarm"]:
            print(row["number"], row["release"], row["households"], row["why"], flush=True)
        elif row["weak"]:
            print(row["number"], row["households"], "weak sign:", row["weak"], flush=True)
    if rows:
        table = pd.DataFrame(rows)
        for by in ("households", "release"):
            store_if_asked("verdicts", f"clean by {by}", _share(table, by, "alarm"))


if __name__ == "__main__":
    main()
