"""Synthetic populations held against the true population, not against the sample.

    python -m benchmarks.truth [SAMPLES] [demo|eusilcP] [--members] [--store]

From a fully known population, stratified household samples are drawn; each sample is
made a population again in several ways, and each of these is compared with the truth:

* replication: every sampled household as often as its weight says (no rounding, no draw);
* simPop's way: an emulation of the published procedure with our code: donors and models of the
  own stratum, independent draws, basic variables without household size, status and citizenship
  one by one, income in classes;
* ours without pooling; ours with the defaults (households of other strata among the donors, models
  shrunk towards the pooled ones, both by cross-validation), members drawn one by one;
  and ours with members drawn given all before them (so is ours without pooling).

With ``--members`` the ways are replication, members drawn one by one, and members drawn given the
first (`docs/methods/members-of-a-household.md`); ``--store`` keeps the table for the pages.

Beside the tables of persons: two members of a household crossed, and the AUC of boosted trees that
tell persons, or households, from those of the truth (8,000 households of each side).

The demo population has 435,024 persons (5,000 households are drawn); eusilcP, where
../shared/data has it, 58,654 persons (1,250 households).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.eusilc import AGE_BREAKS, DATA, PARTS
from benchmarks.results import store_if_asked
from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Derive,
    Pipeline,
    Structure,
    Survey,
    load_demo_population,
    weighted,
)
from synthpop.conditional.draw import systematic_uniforms
from synthpop.evaluation.classifier import auc_of_groups, household_features
from synthpop.evaluation.factors import Factor
from synthpop.evaluation.household_rows import HouseholdRows
from synthpop.evaluation.households import member_pairs
from synthpop.sampling import Cluster, Proportional, SimpleRandom, Stratified, draw_sample

KEYS = ["db040", "hsize", "agec", "rb090", "pl030", "pb220a"]
PROBS = np.array([0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99])
USED = ["db030", "hsize", "db040", "age", "rb090", "pl030", "pb220a", "netIncome", *PARTS]
WITHOUT: dict[str, Any] = {"pooling": "none"}
CLASSIFIED = 8_000
HOUSEHOLDS = {"demo": 5_000, "eusilcP": 1_250}


def read_truth(name: str) -> pd.DataFrame:
    """The true population, in the columns of the demo survey."""
    if name == "demo":
        return load_demo_population()[USED]
    frame = pd.read_parquet(DATA.with_name("eusilcP.parquet"))
    names = {"hid": "db030", "region": "db040", "gender": "rb090", "ecoStat": "pl030"}
    frame = frame.rename(columns={**names, "citizenship": "pb220a"})
    frame["hsize"] = frame["hsize"].astype(int)
    frame["netIncome"] = frame[PARTS].sum(axis=1, min_count=1)
    return frame[USED].reset_index(drop=True)


def draw(truth: pd.DataFrame, households: int, seed: int) -> Survey:
    """A stratified sample of whole households, proportional to the strata."""
    within = Cluster("db030", SimpleRandom(1))
    design = Stratified(Proportional(households), by="db040", within=within)
    frame = draw_sample(truth, design, seed=seed).frame
    return Survey(
        frame[[*USED, "design_weight"]],
        weight="design_weight",
        household="db030",
        household_size="hsize",
        strata="db040",
    )


def ours(donors: str | float = "cross-validated", **options: Any) -> Pipeline:
    """Structure, status, citizenship, income and its parts; `options` of every model.

    Members of a household are drawn given all before them, where `options` do not say otherwise.
    """
    options = {"by_household": "sequential", **options}
    basic = ["age_class", "rb090", "hsize"]
    given = [*basic, "pl030", "pb220a"]
    return Pipeline(
        [
            Structure(["age", "rb090"], pooling=donors),
            Derive("age_class", source="age", breaks=[*AGE_BREAKS[:-1], 130]),
            Categorical("pl030", predictors=basic, **options),
            Categorical("pb220a", predictors=[*basic, "pl030"], **options),
            Continuous(
                "netIncome", method=Binned(tail="gpd", upper=1e7), predictors=given, **options
            ),
            Components("netIncome", parts=PARTS, by=["pl030", "netIncome"]),
        ]
    )


def like_simpop() -> Pipeline:
    """The published procedure with its default predictors, without pooling."""
    basic = ["age_class", "rb090"]
    alone = WITHOUT
    return Pipeline(
        [
            Structure(["age", "rb090"], **alone),
            Derive("age_class", source="age", breaks=[*AGE_BREAKS[:-1], 130]),
            Categorical("pl030", predictors=basic, **alone),
            Categorical("pb220a", predictors=basic, **alone),
            Continuous(
                "netIncome",
                method=Binned(tail="gpd", upper=1e7),
                predictors=[*basic, "pl030", "pb220a"],
                **alone,
            ),
            Components("netIncome", parts=PARTS, by=["pl030", "netIncome"]),
        ]
    )


@contextmanager
def independent_draws() -> Iterator[None]:
    """Let all stages draw independently, not spread evenly within cells."""

    def independent(groups: np.ndarray, n_groups: int, rng: np.random.Generator) -> np.ndarray:
        return rng.random(len(groups))

    names = (
        "conditional.distribution",
        "stages.components",
        "stages.continuous.distributions",
        "stages.continuous.model",
        "stages.gibbs",
        "stages.structure",
    )
    modules = [import_module(f"synthpop.{name}") for name in names]
    try:
        for module in modules:
            module.systematic_uniforms = independent  # type: ignore[attr-defined]
        yield
    finally:
        for module in modules:
            module.systematic_uniforms = systematic_uniforms  # type: ignore[attr-defined]


@dataclass(frozen=True)
class People:
    """A population or weighted sample in codes.

    Attributes
    ----------
    codes : int array, shape (n, 6)
    weights, income : float arrays, shape (n,)
    household : int array, shape (n,)
    """

    codes: np.ndarray
    weights: np.ndarray
    income: np.ndarray
    age: np.ndarray
    household: np.ndarray
    parts: np.ndarray


def coded(frame: pd.DataFrame, truth: pd.DataFrame, weight: str | None) -> People:
    """Return the groups of the tables; 0 is a missing level."""
    age = frame["age"].to_numpy(dtype=float)
    columns = {
        "hsize": np.minimum(frame["hsize"].astype(int).to_numpy(), 6),
        "agec": np.digitize(age, [15.5, 30.5, 45.5, 60.5, 75.5]),
    }
    for name in ("db040", "rb090", "pl030", "pb220a"):
        levels = truth[name].cat.categories
        columns[name] = pd.Categorical(frame[name], categories=levels).codes + 1
    return People(
        np.column_stack([columns[name] for name in KEYS]).astype(np.int64),
        frame[weight].to_numpy() if weight else np.ones(len(frame)),
        frame["netIncome"].to_numpy(dtype=float),
        age,
        pd.factorize(frame["db030"])[0],
        frame[PARTS].fillna(0.0).to_numpy(),
    )


def table(people: People, columns: tuple[int, ...]) -> np.ndarray:
    """Shares of the cells of some variables."""
    sizes = (12, 7, 6, 3, 10, 5)
    cell = np.ravel_multi_index(
        tuple(people.codes[:, j] for j in columns), tuple(sizes[j] for j in columns)
    )
    total = int(np.prod([sizes[j] for j in columns]))
    counts = np.bincount(cell, weights=people.weights, minlength=total)
    return counts / counts.sum()


def gini(x: np.ndarray, w: np.ndarray) -> float:
    """Gini coefficient of positive incomes."""
    x, w = x[x > 0], w[x > 0]
    order = np.argsort(x)
    x, w = x[order], w[order]
    above = 2 * np.sum(w * x * np.cumsum(w)) - np.sum(w**2 * x)
    return float(above / (w.sum() * np.sum(w * x)) - 1)


def poverty(people: People) -> float:
    """Share of persons whose equivalised household income is below 60 % of the median."""
    h, n = people.household, people.household.max() + 1
    income = np.bincount(h, weights=np.nan_to_num(people.income), minlength=n)
    adults = np.bincount(h, weights=people.age >= 14, minlength=n)
    size = np.bincount(h, minlength=n)
    scale = 1 + 0.5 * np.maximum(adults - 1, 0) + 0.3 * (size - np.maximum(adults, 1))
    each = (income / np.maximum(scale, 1))[h]
    line = 0.6 * weighted.quantile(each, people.weights, [0.5])[0]
    return float(np.average(each < line, weights=people.weights))


def group_means(people: People) -> tuple[np.ndarray, np.ndarray]:
    """Mean income and weight by region and status, shape (120,); NaN in empty groups."""
    there = ~np.isnan(people.income)
    cell = people.codes[there, 0] * 10 + people.codes[there, 4]
    w = np.bincount(cell, weights=people.weights[there], minlength=120)
    x = np.bincount(cell, weights=(people.weights * people.income)[there], minlength=120)
    return np.divide(x, w, out=np.full(120, np.nan), where=w > 0), w


def ks(a: People, b: People) -> float:
    """Largest difference of the distribution functions of income."""
    both = []
    for people in (a, b):
        there = ~np.isnan(people.income)
        order = np.argsort(people.income[there])
        x, w = people.income[there][order], people.weights[there][order]
        both.append((x, np.concatenate([[0.0], np.cumsum(w) / w.sum()])))
    grid = np.concatenate([both[0][0], both[1][0]])
    first, second = (share[np.searchsorted(x, grid, side="right")] for x, share in both)
    return float(np.abs(first - second).max())


def parts_by_status(people: People) -> np.ndarray:
    """Components as shares of all income, by status, shape (10, 8)."""
    out = np.column_stack(
        [
            np.bincount(people.codes[:, 4], weights=people.weights * part, minlength=10)
            for part in people.parts.T
        ]
    )
    return out / np.nansum(people.weights * np.abs(people.income))


def distances(truth: People, people: People) -> dict[str, float]:
    """Return how far a population is from the truth."""
    out: dict[str, float] = {}
    for ways in (2, 3, 6):
        found = {}
        for columns in combinations(range(6), ways):
            gap = 0.5 * np.abs(table(truth, columns) - table(people, columns)).sum()
            found["x".join(KEYS[j] for j in columns)] = float(gap)
        if ways < 6:
            out |= found
            out[f"all {ways}-way tables"] = float(np.mean(list(found.values())))
        else:
            out["six-way cells"] = next(iter(found.values()))
    here, there = ~np.isnan(people.income), ~np.isnan(truth.income)
    mine = weighted.quantile(people.income[here], people.weights[here], PROBS)
    real = weighted.quantile(truth.income[there], truth.weights[there], PROBS)
    usable = real != 0
    out["income quantiles"] = float(np.abs(mine[usable] / real[usable] - 1).mean())
    out["income ks"] = ks(truth, people)
    means, w = group_means(truth)
    found_means, _ = group_means(people)
    known = w > 0
    overall = np.average(truth.income[there], weights=truth.weights[there])
    error = np.where(np.isnan(found_means), overall, found_means)[known] - means[known]
    out["mean income by region, status"] = float(np.sqrt(np.average(error**2, weights=w[known])))
    out["mean income by region, status, unweighted"] = float(np.abs(error).mean())
    out["gini"] = abs(
        gini(people.income[here], people.weights[here])
        - gini(truth.income[there], truth.weights[there])
    )
    out["poverty rate"] = abs(poverty(people) - poverty(truth))
    out["components by status"] = float(
        np.abs(parts_by_status(people) - parts_by_status(truth)).sum()
    )
    return out


def household_rows(people: People, most: int = CLASSIFIED) -> HouseholdRows:
    """Return evenly spaced households of a population or sample, members together."""
    order = np.argsort(people.household, kind="stable")
    sizes = np.bincount(people.household)
    starts = np.cumsum(sizes) - sizes
    frame = pd.DataFrame(people.codes[order], columns=KEYS)
    frame["age"], frame["income"] = people.age[order], people.income[order]
    for k, name in enumerate(PARTS):
        frame[name] = people.parts[order, k]
    weights = people.weights[order]
    rows = HouseholdRows(frame, starts, sizes, weights[starts], weights)
    if len(sizes) <= most:
        return rows
    return rows.take(np.linspace(0, len(sizes) - 1, most).astype(np.int64))


def household_distances(truth: People, people: People) -> dict[str, float]:
    """Return distances of members, and the AUC of boosted trees for persons and households.

    The tables of two members cross their status and citizenship; every household counts once.
    """
    sides = [household_rows(side) for side in (truth, people)]
    out: dict[str, float] = {}
    for name in ("pl030", "pb220a"):
        shares = []
        for side in sides:
            first, second, household = member_pairs(side.sizes, side.starts)
            codes = side.frame[name].to_numpy()
            a, b = np.minimum(codes[first], codes[second]), np.maximum(codes[first], codes[second])
            sizes = side.sizes[household]
            w = side.weights[household] / (sizes * (sizes - 1) / 2)
            counts = np.bincount(a * 10 + b, w, minlength=100)
            shares.append(counts / counts.sum())
        out[f"members' {name}"] = float(0.5 * np.abs(shares[0] - shares[1]).sum())
    first, second = sides
    columns = [*KEYS, "age", "income", *PARTS]
    out["AUC persons"] = auc_of_groups(
        second.frame[columns], first.frame[columns], second.person_weights, second.index,
        first.index, iterations=100,
    )  # fmt: skip
    factors = {
        name: Factor(name, tuple(range(n)), tuple(map(str, range(n))))
        for name, n in (("pl030", 10), ("pb220a", 5), ("rb090", 3))
    }
    features = [household_features(side, factors, ["age", "income"]) for side in (second, first)]
    out["AUC households"] = auc_of_groups(
        features[0], features[1], second.weights, np.arange(len(second.sizes)),
        np.arange(len(first.sizes)), iterations=100,
    )  # fmt: skip
    return out


def like_the_first(people: People) -> dict[str, float]:
    """Adults beside the first: the share with its citizenship, the correlation with its income."""
    rows = pd.DataFrame(
        {
            "household": people.household,
            "citizenship": people.codes[:, KEYS.index("pb220a")],
            "income": people.income,
            "weight": people.weights,
        }
    )[people.age >= 18]
    first = rows.groupby("household")[["citizenship", "income"]].transform("first")
    other = rows["household"].duplicated()
    pairs = rows[other].assign(first=first["income"]).dropna(subset=["first", "income"])
    same = (rows["citizenship"] == first["citizenship"])[other]
    covariance = np.cov(pairs["income"], pairs["first"], aweights=pairs["weight"])
    return {
        "alike": float(np.average(same, weights=rows["weight"][other])),
        "correlation": float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])),
    }


def ways(members: bool = False) -> dict[str, Pipeline | None]:
    """Name -> recipe; None is replication."""
    if members:
        one_by_one, first = ours(by_household=None), ours(by_household="first")
        return {"replication": None, "one by one": one_by_one, "given the first": first}
    return {
        "replication": None,
        "simPop's way": like_simpop(),
        "ours, no pooling": ours("none", **WITHOUT),
        "ours, members one by one": ours(by_household=None),
        "ours": ours(),
    }


def run(name: str, samples: int, members: bool = False) -> dict[str, pd.DataFrame]:
    """Return way -> distances, one row per sample."""
    frame = read_truth(name)
    truth = coded(frame, frame, None)
    rows: dict[str, list[dict[str, float]]] = {way: [] for way in ways(members)}
    spent = dict.fromkeys(rows, 0.0)
    for seed in range(1, samples + 1):
        survey = draw(frame, HOUSEHOLDS[name], seed)
        for way, recipe in ways(members).items():
            started = time.perf_counter()
            if recipe is None:
                people = coded(survey.frame, frame, "design_weight")
            else:
                draws = independent_draws() if way == "simPop's way" else nullcontext()
                with draws:
                    made = recipe.fit(survey, seed=seed).simulate().frame()
                people = coded(made, frame, None)
            further = like_the_first(people) if members else household_distances(truth, people)
            rows[way].append(distances(truth, people) | further)
            spent[way] += time.perf_counter() - started
    print(f"\nseconds: { ({way: round(value, 1) for way, value in spent.items()}) }")
    return {way: pd.DataFrame(found) for way, found in rows.items()}


def show(study: str, name: str, found: dict[str, pd.DataFrame]) -> None:
    """Print the means of all distances with standard errors, one column per way."""
    metrics = list(next(iter(found.values())))
    columns = {
        way: [f"{x[metric].mean():.4g} ({x[metric].sem():.2g})" for metric in metrics]
        for way, x in found.items()
    }
    store_if_asked(study, name, pd.DataFrame({"distance from the truth": metrics, **columns}))


def show_nearer(name: str, found: dict[str, pd.DataFrame]) -> None:
    """Print in how many tables the last way is nearer to the truth than each of the others."""
    means = {way: values.mean() for way, values in found.items()}
    last = means.pop(list(means)[-1])
    tables = [metric for metric in last.index if metric.split("x")[0] in KEYS]
    nearer = [
        [way, str(int((last[tables] < other[tables] * (1 - 1e-9)).sum())), str(len(tables))]
        for way, other in means.items()
    ]
    columns = ["nearer than", "tables", "of"]
    store_if_asked("truth", f"{name}, tables", pd.DataFrame(nearer, columns=columns))


def main() -> None:
    """Print the tables of each population."""
    given = [text for text in sys.argv[1:] if not text.startswith("--")]
    samples = int(given[0]) if given else 20
    members = "--members" in sys.argv
    for name in given[1:] or ("demo", "eusilcP"):
        found = run(name, samples, members)
        show("members" if members else "truth", name, found)
        if not members:
            show_nearer(name, found)


if __name__ == "__main__":
    main()
