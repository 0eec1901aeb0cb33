"""Cells that 3-anonymity costs, with and without an eye on the other members of a household.

    python -m benchmarks.suppression_in_households [--store]

Six keys, k = 3, ages in five classes, households and their members in random order as a release has
them (`riskeval.protect.release_file`). The files are those of ../shared/data.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.eusilc import DATA
from benchmarks.results import store_if_asked
from riskeval import protect, recover

AGES = [-1, 15, 29, 44, 64, 120]
EUSILC = ["db040", "hsize", "age", "rb090", "pl030", "pb220a"]
TESTDATA = ["urbrur", "roof", "walls", "water", "relat", "sex"]
GHANA = ["region", "hsize", "age", "sex", "relate", "nation"]
FILES = {
    "EU-SILC of laeken": ("eusilc", EUSILC, "db030", "rb050"),
    "EU-SILC of simPop": ("eusilcS", EUSILC, "db030", "rb050"),
    "household survey of sdcMicro": ("testdata", TESTDATA, "ori_hid", None),
    "GLSS of Ghana": ("ghanaS", GHANA, "hhid", "weight"),
}


def row(title: str, name: str, keys: list[str], household: str, weights: str | None) -> list[str]:
    """Cells and rare records of one file."""
    original = pd.read_parquet(DATA.with_name(f"{name}.parquet"))
    file = protect.release_file(original, household=household, seed=1)
    file = pd.DataFrame(file)
    if "age" in keys:
        file = protect.global_recode(file, "age", breaks=AGES).data
    cells = [f"{title}, {len(file):,} persons"]
    for roles in ({}, {"household": household, "weights": weights}):
        result = protect.local_suppression(file, keys, k=3, **roles)
        attack = recover(
            result.data, household=household, weights=weights, original=file, keys=keys
        )
        cells += [f"{result.cells_suppressed:,}", f"{attack.below[1]:,}"]
    return cells


def main() -> None:
    """Print one row per file."""
    columns = [
        "six keys, k = 3",
        "cells without households",
        "records below 3 after the attack",
        "cells with households and weights",
        "below 3 after the attack",
    ]
    rows = [row(title, *file) for title, file in FILES.items()]
    store_if_asked("suppression", "households", pd.DataFrame(rows, columns=columns))


if __name__ == "__main__":
    main()
