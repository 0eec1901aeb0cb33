"""eusilc13puf, method by method, beside chance and the survey's own sampling error.

The reference has no figures for this file. Ten seeds each; adults and children together, as the
missing values of children are part of the distribution.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scenarios import SHARED
from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Derive,
    Matched,
    Pipeline,
    Regressed,
    Structure,
    Survey,
)
from synthpop.evaluation.assess_fit import assess_fit

AGE = Derive("age_class", source="age", breaks=[-1, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70,
                                                75, 80, 100])  # fmt: skip
GIVEN = ["age_class", "rb090", "hsize"]
PARTS = ["py010g", "py021g", "py050g", "py080g", "py090g", "py100g", "py110g", "py120g", "py130g",
         "py140g"]  # fmt: skip
SCALE = 0.02  # 167,000 persons
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
    plain = Continuous("total", method=Binned(tail="gpd"), predictors=given)
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
        ("regression of the log", {"method": Regressed(log=True)}),
        ("predictive mean matching, log", {"method": Matched(log=True)}),
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


def measure(file: Path, seeds: int) -> None:
    """Measure every job that the file does not hold."""
    survey = read_survey()
    for name, steps in jobs():
        found, key = json.loads(file.read_text(encoding="utf-8")), f"{seeds} puf {name}"
        if key not in found:
            found[key] = of_job(survey, steps, seeds)
            file.write_text(json.dumps(found), encoding="utf-8")
            print(key, flush=True)


def of_job(survey: Survey, steps: list[Any], seeds: int) -> dict[str, Any]:
    """Mean distances, floors and sampling errors over the seeds, and the pMSE ratio."""
    recipe = [Structure(["age", "rb090"]), AGE, *steps]
    recipe.append(Components("total", parts=PARTS, by=["pl031", "total"]))
    fitted = Pipeline(recipe).fit(survey, seed=1)
    names = ["age_class", "rb090", "pl031", "pb220a", "total"]
    found, pmse = [], []
    for seed in range(1, seeds + 1):
        population = fitted.simulate(seed=seed, scale=SCALE)
        fit = assess_fit(survey, population, variables=names, by=["db040", "pl031"])
        table = fit.distances.set_index(["measure", "variable", "crossed", "scope"])
        found.append(
            [
                table.loc[key, ["value", "expected_simulation_error", "expected_sampling_error"]]
                for key in COLUMNS.values()
            ]
        )
        pmse.append(fit.pmse_ratio)
    values = np.array(found, dtype=float).mean(axis=0)
    return {"values": values.tolist(), "pmse": float(np.mean(pmse))}


def held_rows(file: Path, seeds: int) -> list[str]:
    """Rows of the page from what is held, and below them the two yardsticks."""
    found = json.loads(file.read_text(encoding="utf-8"))
    rows, values = [], np.empty((0, 3))
    for name, _ in jobs():
        if f"{seeds} puf {name}" in found:
            job = found[f"{seeds} puf {name}"]
            values = np.array(job["values"])
            cells = [f"{value:.2%}" for value in values[:, 0]]
            rows.append(f"| {name} | " + " | ".join([*cells, f"{job['pmse']:.2f}"]) + " |")
    for k, name in enumerate(("chance (independent draws)", "sampling error of the survey"), 1):
        if len(values):
            cells = [f"*{value:.2%}*" for value in values[:, k]]
            rows.append(f"| *{name}* | " + " | ".join([*cells, "*1*"]) + " |")
    return rows


def head() -> str:
    """Head of the table."""
    names = ["method", *COLUMNS, "pMSE ratio"]
    return "| " + " | ".join(names) + " |\n|" + " --- |" * len(names)
