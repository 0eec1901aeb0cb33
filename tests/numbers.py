"""Facts of one population and one risk file: they change only when a release says so.

    python -m tests.numbers      # writes tests/numbers.json and prints its fingerprint

The changelog of a version names the fingerprint, and why the facts changed.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from riskeval import assess, protect
from synthpop import FittedPipeline, Population
from synthpop.microdata.roles.demo_survey import load_demo_survey
from synthpop.runfiles.demo import demo_runfile

FILE = Path(__file__).with_name("numbers.json")
KEYS = ["db040", "hsize", "rb090", "pl030", "pb220a"]


@cache
def fitted_demo() -> FittedPipeline:
    """Return the recipe of the demo, fitted."""
    return demo_runfile(seed=1, scale=0.1).pipeline().fit(load_demo_survey(), seed=1)


@cache
def demo_population() -> Population:
    """Return a tenth of the demo population."""
    return fitted_demo().simulate(seed=1, scale=0.1)


def facts() -> dict[str, Any]:
    """Return the facts of this version."""
    return {"population": _population(), "risk": _risk()}


def fingerprint() -> str:
    """Return the first 12 digits of the hash of the stored facts."""
    return hashlib.sha256(FILE.read_bytes()).hexdigest()[:12]


def stored() -> dict[str, Any]:
    """Return the facts as they were when they were last written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def _population() -> dict[str, Any]:
    """Counts of each category and sums of each number of the demo population, a tenth of it."""
    people = demo_population().frame()
    numbers: dict[str, Any] = {"persons": len(people)}
    for name in people:
        values = people[name]
        if values.dtype == "category":
            counts = values.value_counts(sort=False, dropna=False)
            numbers[str(name)] = {str(level): int(n) for level, n in counts.items()}
        elif name == "age" or values.dtype == "float64":
            numbers[str(name)] = float(f"{values.sum():.6g}")
    return numbers


def _risk() -> dict[str, Any]:
    """Measures of some records of the embedded survey, and what local suppression does."""
    survey = load_demo_survey().frame.head(3000)
    assessed = assess(survey, keys=KEYS, weights="rb050", household="db030", sensitive=["pe040"])
    table = assessed.to_frame()
    names = table["name"].where(table["target"] == "", table["name"] + ": " + table["target"])
    protected = protect.local_suppression(survey, KEYS, k=3)
    return {
        "measures": {
            name: float(f"{value:.9g}")
            for name, value in zip(names, table["value"], strict=True)
            if value == value
        },
        "suppressed": {name: int(n) for name, n in protected.data[KEYS].isna().sum().items()},
    }


def main() -> None:
    """Write the facts of this version."""
    FILE.write_text(json.dumps(facts(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{FILE.name}: fingerprint {fingerprint()}")


if __name__ == "__main__":
    main()
