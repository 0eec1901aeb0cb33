"""Known totals from end to end: calibrate, simulate, distribute over districts, anneal, report.

All data are invented: the register that the totals come from is the population that the embedded
demo survey was drawn from. Run it with ``python examples/known_totals.py [folder]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop import (
    Anneal,
    Categorical,
    Derive,
    Distribute,
    Margin,
    Pipeline,
    Structure,
    calibrate,
    load_demo_population,
    load_demo_survey,
    write_report,
)

REGION, SEX, HOUSEHOLD, SIZE = "db040", "rb090", "db030", "hsize"
SCALE = 0.1  # a tenth of the country: the totals for the population are scaled too


def read_register() -> pd.DataFrame:
    """Return the persons of the register, every household in one of three districts."""
    register = load_demo_population()
    number = np.minimum(register[HOUSEHOLD] % 6, 2) + 1  # shares of 1/6, 1/6 and 4/6
    return register.assign(district=register[REGION].astype(str) + " " + number.astype(str))


def totals(rows: pd.DataFrame, *columns: str, scale: float = 1.0) -> pd.DataFrame:
    """Count the rows of each cell."""
    counts = rows.groupby(list(columns), observed=True).size() * scale
    return counts.rename("total").reset_index()


def main(folder: Path) -> None:
    register = read_register()
    heads = register.drop_duplicates(HOUSEHOLD)

    # The weights of the survey meet totals of regions, over persons and over households.
    calibration = calibrate(
        load_demo_survey(),
        [
            Margin(totals(register, REGION, SEX)),
            Margin(totals(heads, REGION), level="household"),
        ],
        method="ipu",
        tolerance=1e-4,
    )
    print(calibration.summary())

    # Blocks first; then the finished population is allotted to districts and exchanged in them.
    districts = Distribute(
        "district",
        within=REGION,
        margins=Margin(totals(heads, REGION, "district", scale=SCALE), level="household"),
    )
    exchange = Anneal(
        [
            Margin(totals(register, "district", SEX, scale=SCALE)),
            Margin(totals(heads, "district", scale=SCALE), level="household"),
        ],
        split="district",
        tolerance=0.002,
    )
    recipe = Pipeline(
        [
            Structure(["age", SEX]),
            Derive("age_class", source="age", breaks=[0, 15, 29, 44, 64, 120]),
            Categorical("pl030", predictors=["age_class", SEX, SIZE]),
            districts,
            exchange,
        ]
    )
    fitted = recipe.fit(calibration.survey, seed=1)
    population = fitted.simulate(scale=SCALE, out=folder / "population")
    print(population.summary())

    # Count it afresh, without the help of the result.
    people = population.frame()
    known = totals(register, "district", SEX, scale=SCALE)
    counted = totals(people, "district", SEX)
    both = known.merge(counted, on=["district", SEX], suffixes=("_known", "_counted"))
    gap = (both["total_counted"] - both["total_known"]).abs().sum()
    print(f"District by sex: absolute differences of {gap:,.0f} in {len(people):,} persons.")
    report = write_report(
        folder / "report.html",
        fitted.derived_survey(),
        population,
        calibration=calibration,
        title="Known totals",
    )
    print(f"Report: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "known-totals"))
