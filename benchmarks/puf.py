"""eusilc13puf, method by method, beside chance and the survey's own sampling error.

The reference has no figures for this file. Ten seeds each; adults and children together, as the
missing values of children are part of the distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scenarios import SHARED
from synthpop import Categorical, Components, Continuous, Derive, Pipeline, Structure, Survey
from synthpop.assess import assess_fit

AGE = Derive("age_class", source="age", breaks=[-1, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70,
                                                75, 80, 100])  # fmt: skip
GIVEN = ["age_class", "rb090", "hsize"]
PARTS = ["py010g", "py021g", "py050g", "py080g", "py090g", "py100g", "py110g", "py120g", "py130g",
         "py140g"]  # fmt: skip
COLUMNS = {
    "status": ("tvd", "pl031", "", "all"),
    "status by age": ("tvd", "age_class", "pl031", "all"),
    "status by region": ("tvd", "pl031", "", "mean over db040"),
    "citizenship": ("tvd", "pb220a", "", "all"),
    "income, KS": ("ks", "total", "", "all"),
    "income, KS by status": ("ks", "total", "", "mean over pl031"),
}


def read_survey() -> Survey:
    """The file with numbers as numbers, and a total that is the sum of its parts."""
    frame = pd.read_parquet(SHARED / "data" / "eusilc13puf.parquet")
    for name in ("age", "hsize"):
        frame[name] = pd.to_numeric(frame[name].astype(str))
    some = frame[PARTS].notna().any(axis=1)
    frame[PARTS] = frame[PARTS].fillna(0.0).where(some)
    frame["total"] = frame[PARTS].sum(axis=1).where(some)
    keep = ["db030", "hsize", "db040", "rb050", "age", "rb090", "pl031", "pb220a", "total", *PARTS]
    return Survey(
        frame[keep], weight="rb050", household="db030", household_size="hsize", strata="db040"
    )


def jobs() -> Iterator[tuple[str, list[Any]]]:
    """What is varied, with the steps behind the structure."""
    given = [*GIVEN, "pl031", "pb220a"]
    plain = Continuous("total", predictors=given, tail="gpd")
    for model in ("multinomial", "empirical", "tree", "forest", "boosting"):
        yield (
            f"categories: {model}",
            [
                Categorical("pl031", predictors=GIVEN, model=model),
                Categorical("pb220a", predictors=[*GIVEN, "pl031"], model=model),
                plain,
            ],
        )
    for told, options in (
        ("binned, no tail", {}),
        ("regression of the log", {"method": "regression", "log": True}),
        ("predictive mean matching, log", {"method": "pmm", "log": True}),
        ("binned + regression", {"method": "binned+regression"}),
    ):
        yield (
            f"income: {told}",
            [
                Categorical("pl031", predictors=GIVEN),
                Categorical("pb220a", predictors=[*GIVEN, "pl031"]),
                Continuous("total", predictors=given, **options),
            ],
        )


def rows(seeds: int) -> Iterator[str]:
    """Rows of the page: ours, and below them the two yardsticks."""
    survey = read_survey()
    yardsticks = None
    scale = 0.02  # 167,000 persons
    for name, steps in jobs():
        recipe = [Structure(["age", "rb090"]), AGE, *steps]
        recipe.append(Components("total", parts=PARTS, by=["pl031", "total"]))
        fitted = Pipeline(recipe).fit(survey, seed=1)
        found, pmse = [], []
        for seed in range(1, seeds + 1):
            fit = assess_fit(survey, fitted.simulate(seed=seed, scale=scale))
            table = fit.distances.set_index(["measure", "variable", "crossed", "scope"])
            found.append([table.loc[key, ["value", "floor", "noise"]] for key in COLUMNS.values()])
            pmse.append(fit.standardised_pmse)
        values = np.array(found, dtype=float).mean(axis=0)
        cells = [f"{value:.2%}" for value in values[:, 0]]
        yardsticks = values[:, 1:]
        yield f"| {name} | " + " | ".join([*cells, f"{np.mean(pmse):.2f}"]) + " |"
    assert yardsticks is not None
    for k, name in enumerate(("chance (independent draws)", "sampling error of the survey")):
        yield f"| *{name}* | " + " | ".join(f"*{v:.2%}*" for v in yardsticks[:, k]) + " | *1* |"


def head() -> str:
    """Head of the table."""
    names = ["method", *COLUMNS, "standardised pMSE"]
    return "| " + " | ".join(names) + " |\n|" + " --- |" * len(names)
