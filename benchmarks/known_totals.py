"""How much nearer to the truth a population comes with known totals: two-way tables of the demo.

Usage: python benchmarks/known_totals.py [households] [samples]
"""

from __future__ import annotations

import sys
import time
import warnings
from itertools import combinations

import numpy as np
import pandas as pd

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    Margin,
    Pipeline,
    Structure,
    Survey,
    load_demo_population,
)

REGION, SEX, HOUSEHOLD, SIZE = "db040", "rb090", "db030", "hsize"
BREAKS = [0, 15, 29, 44, 64, 120]
VARIABLES = [REGION, SEX, SIZE, "age_class", "pl030", "pb220a"]


def main(n: int = 1500, samples: int = 3) -> None:
    truth = load_demo_population()
    truth[SIZE] = truth.groupby(HOUSEHOLD)[HOUSEHOLD].transform("size")
    rng = np.random.default_rng(1)
    ids = truth[HOUSEHOLD].unique()
    income = next(c for c in ("netIncome", "income") if c in truth)
    rows = []
    for number in range(samples):
        chosen = rng.choice(ids, n, replace=False)
        frame = truth[truth[HOUSEHOLD].isin(chosen)].assign(weight=len(ids) / n)
        survey = Survey(
            frame.reset_index(drop=True), weight="weight", household=HOUSEHOLD, strata=REGION,
            household_size=SIZE,
        )  # fmt: skip
        stages = [
            Structure(["age", SEX]),
            Derive("age_class", source="age", breaks=BREAKS),
            Categorical("pl030", predictors=["age_class", SEX, SIZE]),
            Categorical("pb220a", predictors=["age_class", SEX, SIZE, "pl030"]),
            Continuous(income, predictors=["age_class", SEX, "pl030", "pb220a"]),
        ]
        classes = Pipeline(stages[:2]).fit(survey, seed=1).simulate().frame(["age", "age_class"])
        label = classes.drop_duplicates("age").set_index("age")["age_class"].astype(str)
        known = truth.assign(age_class=truth["age"].map(label))
        heads = known.drop_duplicates(HOUSEHOLD)
        margins = [
            Margin(count(known, REGION, "age_class", SEX)),
            Margin(count(heads, REGION, SIZE), level="household"),
        ]
        for name, totals in (("without", []), ("known totals", margins)):
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = Pipeline(stages, known_totals=totals).fit(survey, seed=number)
                population = fitted.simulate()
            seconds = time.process_time() - began
            people = population.frame()
            people["age_class"] = people["age"].map(label)
            two = np.mean([distance(known, people, pair) for pair in combinations(VARIABLES, 2)])
            three = np.mean([distance(known, people, t) for t in combinations(VARIABLES, 3)])
            gap = sum(step.gap for step in population.manifest.steps)
            rows.append((name, two, three, gap, seconds))
    table = pd.DataFrame(rows, columns=["recipe", "two-way", "three-way", "gap", "seconds"])
    print(table.groupby("recipe").mean().round(4).to_string())


def count(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame.groupby(list(columns), observed=True).size().rename("total").reset_index()


def distance(truth: pd.DataFrame, people: pd.DataFrame, columns: tuple[str, ...]) -> float:
    tables = [f[list(columns)].astype(str).value_counts(normalize=True) for f in (truth, people)]
    return float(tables[0].sub(tables[1], fill_value=0).abs().sum() / 2)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
