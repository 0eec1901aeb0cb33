"""Verdicts on clean and on deceptive releases: how often each is objected to, and at what cost.

Run ``python -m benchmarks.verdicts [--clean 400] [--first 0] [--store]``. Clean are other samples
of households of one population, and files that tell of nobody: a third of the worlds names the
household, a third leaves the members in their order without saying so, a third shuffles them. The
seeds are no others' than this study's. Prints the share of each that is objected to, by attacks at
a nominal 5 % in all, and the processor seconds of a verdict.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import pandas as pd

from benchmarks.results import store_if_asked
from riskeval import assess_synthetic
from riskeval.verdict.verdict import EXCEEDED, STOP, ReleaseVerdict
from tests.riskeval.verdict.corpus import AMOUNTS, KEYS, SENSITIVE, persons
from tests.riskeval.verdict.deceptions import FILES, RELEASES, SYNTHETIC
from tests.riskeval.verdict.test_deceptions import assessed, attacked, compared
from tests.riskeval.verdict.test_false_alarms import CLEAN, without_ids

FIRST_SEED = 300_000
HOW = ("declared by name", "in the order of households", "shuffled")
FRONTS: dict[str, tuple[dict, Callable[[str], ReleaseVerdict]]] = {
    "assess": (FILES, assessed),
    "assess_synthetic": (SYNTHETIC, attacked),
    "compare": (RELEASES, compared),
}


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


def clean(numbers: range) -> Iterator[dict[str, object]]:
    """One row a clean release."""
    for number in numbers:
        kind, how, (original, release, strangers) = world(number)
        started = time.process_time()
        risk = assess_synthetic(
            original, release, KEYS, [*SENSITIVE, *AMOUNTS], holdout=strangers, seed=number,
            categorical=["educ"],
        )  # fmt: skip
        verdict = risk.verdict
        yield {
            "number": number, "release": kind, "households": how,
            "alarm": verdict.level in (STOP, EXCEEDED), "why": verdict.summary(),
            "weak": "; ".join(risk.above), "seconds": time.process_time() - started,
        }  # fmt: skip


def deceptions() -> Iterator[dict[str, object]]:
    """One row a deception: whether it is objected to, and whether the finding is named."""
    for front, (files, judge) in FRONTS.items():
        for name, (_, finding) in files.items():
            started = time.process_time()
            verdict = judge(name)
            found = [one.name for one in verdict.evidence]
            yield {
                "front": front, "release": name, "named": not finding or finding in found,
                "objected": verdict.level in (STOP, EXCEEDED), "found": "; ".join(found[:3]),
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
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.no_deceptions:
        table = pd.DataFrame(list(deceptions()))
        store_if_asked("verdicts", "deceptions", _share(table, "front", "named"))
        for row in table[~table["named"]].itertuples():
            print("not named:", row.front, row.release, row.found)
    rows, reasons = [], Counter[str]()
    for row in clean(range(options.first, options.first + options.clean)):
        rows.append(row)
        if row["alarm"]:
            reasons[str(row["why"])] += 1
            print(row["number"], row["release"], row["households"], row["why"], flush=True)
        elif row["weak"]:
            print(row["number"], row["households"], "weak sign:", row["weak"], flush=True)
    if rows:
        table = pd.DataFrame(rows)
        for by in ("households", "release"):
            store_if_asked("verdicts", f"clean by {by}", _share(table, by, "alarm"))


if __name__ == "__main__":
    main()
