"""Distances between sample and synthetic income, method by method, beside the reference's bar.

    python -m benchmarks.quality_methods [SEEDS]

eusilcS; the structure copies age, sex, household size, economic status and citizenship; then net
income is simulated given the last four. Persons of 16 years and older. The bar is the reference's
mean + 2 sd over its seeds, in its run on the filled survey (children have income 0 there; here they
have none), or on the survey as it is where there is no other.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.eusilc import read_survey
from benchmarks.quality import GOLDEN, continuous, prepare
from synthpop import Continuous, Pipeline, Structure, Survey

GIVEN = ["rb090", "hsize", "pl030", "pb220a"]
SHOWN = (
    "ks",
    "ks_by_region_mean",
    "ks_by_pl030_mean",
    "ks_by_agec_mean",
    "rel_err_quantiles_mean_abs",
    "rel_err_mean",
    "diff_zero_share",
    "diff_gini",
)
# job -> options, scenario of the reference or "", how income is changed first
Job = tuple[dict[str, Any], str, str]
JOBS: dict[str, Job] = {
    "binned, gpd": ({"tail": "gpd", "upper": 200_000}, "multinom_gpd", ""),
    "binned, pareto": ({"tail": "pareto", "upper": 200_000}, "", ""),
    "binned": ({}, "multinom_nogpd", ""),
    "regression, log": ({"method": "regression", "log": True}, "lm", ""),
    "regression, log, normal": (
        {"method": "regression", "log": True, "residuals": "normal"}, "lm_normal", ""),
    "regression": ({"method": "regression"}, "lm_nolog", ""),
    "regression, log, x >= 0": ({"method": "regression", "log": True}, "lm_nonneg", "x >= 0"),
    "binned+regression": ({"method": "binned+regression"}, "lm", ""),
    "poisson": ({"method": "poisson", "zeros": True}, "poisson", "thousands"),
    "poisson, no zeros": ({"method": "poisson"}, "poisson_nozeros", "thousands"),
    "negative-binomial": (
        {"method": "negative-binomial", "zeros": True}, "", "thousands"),
    "pmm": ({"method": "pmm"}, "", ""),
    "pmm, log": ({"method": "pmm", "log": True}, "", ""),
    "forest, log": ({"method": "forest", "log": True}, "", ""),
    "by household: sum": ({"tail": "gpd", "by_household": "sum"}, "", "sum"),
    "by household: mean": ({"tail": "gpd", "by_household": "mean"}, "", "mean"),
    "by household: shared": ({"tail": "gpd", "by_household": "shared"}, "", "first"),
}  # fmt: skip


def changed(survey: Survey, how: str) -> tuple[Survey, pd.Series]:
    """Return the survey that is learned from and the values that the population should have."""
    frame, x = survey.frame, survey.frame["netIncome"]
    if how == "x >= 0":
        x = x.clip(lower=0)
    elif how == "thousands":
        x = (x.clip(lower=0) / 1000).round()
    truth = x
    groups = x.groupby(frame["db030"])
    if how in ("sum", "mean"):
        truth = groups.transform("sum", min_count=1) if how == "sum" else groups.transform("mean")
    elif how == "first":
        head = frame.groupby("db030")["netIncome"].transform(lambda values: values.iloc[0])
        x = truth = head
    return survey.with_column("netIncome", x), truth


def distances(survey: Survey, options: dict[str, Any], how: str, seeds: int) -> pd.Series:
    """Return mean absolute distances over seeds, and seconds of fit and simulation."""
    ready, truth = changed(survey, how)
    recipe = [
        Structure(["age", "rb090", "pl030", "pb220a"]),
        Continuous("netIncome", predictors=GIVEN, **options),
    ]
    start = time.perf_counter()
    fitted = Pipeline(recipe).fit(ready, seed=1)
    fit = time.perf_counter() - start
    s = prepare(ready.frame.assign(netIncome=truth), "rb050")
    s = s[s["age"] >= 16]
    s["netIncome"] = s["netIncome"].fillna(0.0)
    rows, start = [], time.perf_counter()
    populations = [fitted.simulate(seed=seed) for seed in range(1, seeds + 1)]
    simulate = (time.perf_counter() - start) / seeds
    for population in populations:
        p = prepare(population.frame(), None)
        p = p[p["age"] >= 16]
        p["netIncome"] = p["netIncome"].fillna(0.0)
        rows.append(continuous(s, p, "netIncome"))
    found = pd.DataFrame(rows).mean().abs().rename(lambda name: name.removeprefix("continuous."))
    return pd.concat([found, pd.Series({"fit_s": fit, "simulate_s": simulate})])


def bar_of(scenario: str) -> pd.Series:
    """Return the reference's mean + 2 sd."""
    bar = pd.read_csv(GOLDEN / "g_bar.csv")
    runs = [f"conf_{scenario}", f"con_{scenario}"]
    used = next(name for name in runs if (bar["scenario"] == name).any())
    bar = bar[bar["scenario"] == used].set_index("metric")
    limit = bar["mean"].abs() + 2 * bar["sd"]
    return limit.rename(lambda name: str(name).removeprefix("continuous."))


def main() -> None:
    """Print the table: ours, and in brackets the bar."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    wanted = sys.argv[2:] or list(JOBS)
    survey = read_survey()
    print("| method | " + " | ".join(SHOWN) + " | fit s | simulate s |")
    print("| --- |" + " --: |" * (len(SHOWN) + 2))
    for job in wanted:
        options, scenario, how = JOBS[job]
        ours = distances(survey, options, how, seeds)
        bar = bar_of(scenario) if scenario else pd.Series(dtype=float)
        cells = []
        for name in SHOWN:
            limit = bar.get(name, np.nan)
            mark = "" if np.isnan(limit) else f" ({limit:.2g})"
            worse = bool(ours[name] > limit + 1e-12)
            cells.append(f"{ours[name]:.2g}{mark}{' NO' if worse else ''}")
        seconds = f"{ours['fit_s']:.2f} | {ours['simulate_s']:.2f}"
        print(f"| {job} | " + " | ".join(cells) + f" | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
