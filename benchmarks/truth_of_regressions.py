"""Regressions of income held against the true population: what residuals and pooling are good for.

    python -m benchmarks.truth_of_regressions [SAMPLES] [demo|eusilcP] [--store]
    python -m benchmarks.truth_of_regressions sample [SEEDS] [--store]

As `benchmarks.truth`, whose samples, structure and categories are used. The logarithm of income is
regressed on age class, sex, household size, status and citizenship; the ways differ in the
residuals that are drawn and in how far the regressions of regions are shrunk
towards each other. The last way cuts income into classes.

With ``sample`` populations of eusilcS are compared with that sample itself, beside simPop 2.1.4.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.eusilc import pipeline, read_survey
from benchmarks.results import store_if_asked
from benchmarks.truth import (
    HOUSEHOLDS,
    PARTS,
    PROBS,
    People,
    coded,
    draw,
    gini,
    group_means,
    ks,
    ours,
    read_truth,
    show,
)
from synthpop import Binned, Continuous, Matched, Pipeline, Regressed, assess_fit, weighted

REGION = 0
GIVEN = ["age_class", "rb090", "hsize", "pl030", "pb220a"]
LOG: dict[str, Any] = {"method": Regressed(log=True, upper=1e7)}
WAYS: dict[str, dict[str, Any]] = {
    "empirical, no pooling": {
        "method": Regressed(log=True, upper=1e7, residuals="empirical"),
        "pooling": "none",
    },
    "local, no pooling": {**LOG, "pooling": "none"},
    "local, cross-validated (default)": LOG,
    "local, one for all": {**LOG, "pooling": "complete"},
    "matched": {"method": Matched(log=True)},
    "classes": {"method": Binned(tail="gpd", upper=1e7)},
}


def recipe(**options: Any) -> Pipeline:
    """The recipe of `benchmarks.truth` up to income, which is simulated with `options`."""
    return Pipeline([*ours().stages[:-2], Continuous("netIncome", predictors=GIVEN, **options)])


def of_region(people: People, region: int) -> People:
    """The persons of one region."""
    rows = people.codes[:, REGION] == region
    return People(
        people.codes[rows], people.weights[rows], people.income[rows], people.age[rows],
        people.household[rows], people.parts[rows],
    )  # fmt: skip


def distances(truth: People, people: People) -> dict[str, float]:
    """How far the incomes of a population are from the true ones."""
    here, there = ~np.isnan(people.income), ~np.isnan(truth.income)
    mine = weighted.quantile(people.income[here], people.weights[here], PROBS)
    real = weighted.quantile(truth.income[there], truth.weights[there], PROBS)
    usable = real != 0
    (means, w), (found, _) = group_means(truth), group_means(people)
    overall = float(np.average(truth.income[there], weights=truth.weights[there]))
    known = w > 0
    error = (np.where(np.isnan(found), overall, found) - means)[known]
    regions = np.unique(truth.codes[:, REGION])
    apart = [ks(of_region(truth, int(r)), of_region(people, int(r))) for r in regions]
    mean = float(np.average(people.income[here], weights=people.weights[here]))
    inequality = gini(people.income[here], people.weights[here])
    return {
        "mean income by region, status": float(np.sqrt(np.average(error**2, weights=w[known]))),
        "mean income by region, status, unweighted": float(np.abs(error).mean()),
        "mean income": abs(mean - overall),
        "income ks": ks(truth, people),
        "income ks, mean of regions": float(np.mean(apart)),
        "income quantiles": float(np.abs(mine[usable] / real[usable] - 1).mean()),
        "gini": abs(inequality - gini(truth.income[there], truth.weights[there])),
    }


def run(name: str, samples: int) -> dict[str, pd.DataFrame]:
    """Return way -> distances, one row per sample."""
    frame = read_truth(name)
    truth = coded(frame, frame, None)
    rows: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for seed in range(1, samples + 1):
        survey = draw(frame, HOUSEHOLDS[name], seed)
        for way, options in WAYS.items():
            made = recipe(**options).fit(survey, seed=seed).simulate().frame()
            people = coded(made.assign(**dict.fromkeys(PARTS, 0.0)), frame, None)
            rows[way].append(distances(truth, people))
    return {way: pd.DataFrame(found) for way, found in rows.items()}


SIMPOP = {"KS": "0.042", "KS, mean of regions": "0.050", "quantiles, mean relative error": "0.032"}


def beside_the_sample(seeds: int) -> pd.DataFrame:
    """Distances of incomes from those of the sample, means over the seeds."""
    survey, columns = read_survey(), {"simPop": SIMPOP}
    for residuals, pooling in (
        ("empirical", "none"), ("normal", "none"), ("local", "none"), ("local", "cross-validated"),
    ):  # fmt: skip
        method = Regressed(log=True, residuals=residuals)
        income = Continuous("netIncome", predictors=GIVEN, method=method, pooling=pooling)
        fits = []
        for seed in range(1, seeds + 1):
            fitted = Pipeline([*pipeline().stages[:4], income]).fit(survey, seed=seed)
            fit = assess_fit(fitted.derived_survey(), fitted.simulate())
            ks = fit.distances.query("measure == 'ks' and variable == 'netIncome'")
            regions = ks.loc[ks["scope"] == "mean over db040", "value"].iloc[0]
            errors = fit.quantile_errors.loc["netIncome"].abs().mean()
            fits.append((fit.ks["netIncome"], regions, errors))
        cells = [f"{value:.3f}" for value in np.mean(fits, axis=0)]
        name = "default" if pooling != "none" else f"{residuals}, no pooling"
        columns[name] = dict(zip(SIMPOP, cells, strict=True))
    table = pd.DataFrame(columns).rename_axis("distance from the sample")
    return table.reset_index()


def main() -> None:
    """Print one table per population."""
    given = [text for text in sys.argv[1:] if text != "--store"]
    if given[:1] == ["sample"]:
        table = beside_the_sample(int(given[1]) if len(given) > 1 else 5)
        store_if_asked("regressions", "sample", table)
        return
    samples = int(given[0]) if given else 12
    for name in given[1:] or ("demo", "eusilcP"):
        show("regressions", name, run(name, samples))


if __name__ == "__main__":
    main()
