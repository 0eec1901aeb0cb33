"""The job of the speed and quality figures: eusilcS with the variables of the reference run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Derive,
    Pipeline,
    Structure,
    Survey,
)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "eusilcS.parquet"
AGE_BREAKS = [-1, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 96]
PARTS = [f"py{number}n" for number in ("010", "050", "090", "100", "110", "120", "130", "140")]


def read_survey() -> Survey:
    """The survey with its roles."""
    return Survey(
        pd.read_parquet(DATA),
        weight="rb050",
        household="db030",
        household_weight="db090",
        household_size="hsize",
        strata="db040",
    )


def pipeline(by: tuple[str, ...] = ("pl030", "age_class")) -> Pipeline:
    """Structure, two categorical variables, income with zeros and tail, eight components."""
    basic = ["age_class", "rb090", "hsize"]
    return Pipeline(
        [
            Structure(["age", "rb090"]),
            Derive("age_class", source="age", breaks=AGE_BREAKS),
            Categorical("pl030", predictors=basic),
            Categorical("pb220a", predictors=[*basic, "pl030"]),
            Continuous(
                "netIncome",
                method=Binned(tail="gpd", upper=200_000),
                predictors=[*basic, "pl030", "pb220a"],
            ),
            Components("netIncome", parts=PARTS, by=list(by)),
        ]
    )
