"""Households of synthetic populations held against those of the true demo population.

    python -m benchmarks.households [SAMPLES] [HOUSEHOLDS]
    python -m benchmarks.households paired [SAMPLES] [HOUSEHOLDS]

From the demo population stratified samples of households are drawn (1,500 each by default). Ways:

* replication: every sampled household as often as its weight says;
* init: the run file that `synthpop init` writes, unedited;
* demo, one by one / first / sequential: the recipe of `synthpop demo`, all its variables drawn by
  person, given the first member, and given all members before.

Printed are the mean absolute distance from the truth of: the correlation of couples' incomes (of
all, and of those below the 99 % quantile), of two other adults of a household, Gini and poverty
rate of equivalised income, the poverty rate by household size; the AUC of boosted trees that tell
persons or households from those of the truth; and, as they are, distinct compositions (age, sex,
relation) per 1,000 households of four and the largest error of mean income by status.

"paired" draws more samples, leaves out what is slow (AUC, other ways), and prints for the demo
recipe with members in turn: its own mean error (with its sign), that of replication, and the mean
of the differences of the absolute errors in the same sample, each with its standard error.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.truth import People, coded, gini, household_distances, poverty
from synthpop import Categorical, Continuous, Pipeline, Survey, load_demo_population, weighted
from synthpop.runfiles.demo import demo_runfile
from synthpop.runfiles.runfile import load_runfile
from synthpop.runfiles.template import starter_runfile
from synthpop.sampling import Cluster, Proportional, SimpleRandom, Stratified, draw_sample

ROLES = {"household": "db030", "household_size": "hsize", "strata": "db040"}
LEAST_IN_GROUP = 100


def correlation(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Weighted correlation."""
    x, y = x - np.average(x, weights=w), y - np.average(y, weights=w)
    return float((w * x * y).sum() / np.sqrt((w * x * x).sum() * (w * y * y).sum()))


def pairs(frame: pd.DataFrame, one: pd.Series, other: pd.Series) -> pd.DataFrame:
    """Incomes of two members of each household."""
    names = ["db030", "netIncome", "w"]
    left, right = (frame.loc[side, names].dropna() for side in (one, other))
    return left.merge(right[names[:2]], on="db030")


def figures(frame: pd.DataFrame, weight: str | None) -> dict[str, float]:
    """Figures of households of a population or weighted sample."""
    frame = frame.assign(w=frame[weight] if weight else 1.0)
    relation, adult = frame["relation"].astype(str), frame["netIncome"].notna()
    couples = pairs(frame, relation == "head", relation == "partner")
    limit = weighted.quantile(frame["netIncome"][adult], frame["w"][adult], [0.99])[0]
    usual = couples[(couples[["netIncome_x", "netIncome_y"]] < limit).all(axis=1)]
    others = adult & (relation != "head")
    place = others.groupby(frame["db030"]).cumsum()
    later = pairs(frame, others & (place == 1), others & (place == 2))
    later = later[(later[["netIncome_x", "netIncome_y"]] < limit).all(axis=1)]
    columns = ["netIncome_x", "netIncome_y", "w"]
    out = {
        name: correlation(*table[columns].to_numpy().T)
        for name, table in (
            ("couples, correlation of incomes", couples),
            ("couples below the 99 % quantile", usual),
            ("second and third adult", later),
        )
    }  # fmt: skip
    return out | incomes(frame)


def incomes(frame: pd.DataFrame) -> dict[str, float]:
    """Gini and poverty rate of equivalised income."""
    household = pd.factorize(frame["db030"])[0]
    w, age = frame["w"].to_numpy(), frame["age"].to_numpy(dtype=float)
    income = np.nan_to_num(frame["netIncome"].to_numpy(dtype=float))
    size = np.bincount(household)
    adults = np.bincount(household, weights=age >= 14)
    scale = 1 + 0.5 * np.maximum(adults - 1, 0) + 0.3 * (size - np.maximum(adults, 1))
    each = (np.bincount(household, weights=income) / np.maximum(scale, 1))[household]
    poor = each < 0.6 * weighted.quantile(each, w, [0.5])[0]
    people = People(np.zeros((0, 6)), w, income, age, household, np.zeros(0))
    out = {"Gini of equivalised income": gini(each, w), "poverty rate": poverty(people)}
    for number, label in ((1, "1"), (2, "2"), (3, "3"), (4, "4 and more")):
        here = np.minimum(size, 4)[household] == number
        out[f"poverty rate, size {label}"] = float(np.average(poor[here], weights=w[here]))
    return out


def distinct(frame: pd.DataFrame, size: int = 4) -> float:
    """Distinct compositions of age, sex and relation per 1,000 households of a size.

    Of 1,000 households, evenly spaced, where there are more.
    """
    part = frame[frame["hsize"].astype(int) == size]
    ids = part["db030"].drop_duplicates().to_numpy()
    some = ids[np.linspace(0, len(ids) - 1, min(len(ids), 1_000)).astype(int)]
    part = part[part["db030"].isin(some)].sort_values(["db030", "relation", "age", "rb090"])
    person = part["age"].astype(str) + part["rb090"].astype(str) + part["relation"].astype(str)
    return float(person.groupby(part["db030"]).agg("/".join).nunique() / len(some) * 1_000)


def means_of_status(sample: pd.DataFrame, made: pd.DataFrame) -> float:
    """Largest error of mean income by status (100 and more) against the sample, percent."""
    weights = sample["design_weight"].where(sample["netIncome"].notna())
    groups = sample["pl030"].astype(str)
    wanted = (weights * sample["netIncome"]).groupby(groups).sum() / weights.groupby(groups).sum()
    wanted = wanted[weights.groupby(groups).count() >= LEAST_IN_GROUP]
    means = made["netIncome"].groupby(made["pl030"].astype(str)).mean()
    return float(100 * (means.reindex(wanted.index) / wanted - 1).abs().max())


def init_recipe(frame: pd.DataFrame) -> tuple[Survey, Pipeline]:
    """The survey and the recipe that `synthpop init` makes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        frame.to_parquet(path / "survey.parquet")
        text = starter_runfile(path / "survey.parquet", path)
        (path / "survey.toml").write_text(text, encoding="utf-8")
        plan = load_runfile(path / "survey.toml")
        return plan.read_survey(), Pipeline(plan.stages)


def demo_recipe(by_household: str | None) -> Pipeline:
    """The recipe of the demo with its members drawn in one way."""
    recipe = demo_runfile()
    stages = [
        replace(stage, by_household=by_household)
        if isinstance(stage, (Categorical, Continuous))
        else stage
        for stage in recipe.stages
    ]
    return Pipeline(stages, rules=recipe.rules)


def draw(truth: pd.DataFrame, households: int, seed: int) -> pd.DataFrame:
    """Return a stratified sample of households."""
    within = Cluster("db030", SimpleRandom(1))
    design = Stratified(Proportional(households), by="db040", within=within)
    return draw_sample(truth, design, seed=seed).frame.reset_index(drop=True)


def paired(samples: int, households: int) -> pd.DataFrame:
    """Return errors of the recipe and of replication, and what the recipe's are smaller by."""
    truth = load_demo_population()
    real = pd.Series(figures(truth, None))
    errors: dict[str, list[pd.Series]] = {"recipe": [], "replication": []}
    for seed in range(1, samples + 1):
        sample = draw(truth, households, seed)
        survey = Survey(sample, weight="design_weight", **ROLES)
        made = demo_recipe("sequential").fit(survey, seed=seed).simulate().frame()
        errors["recipe"].append(pd.Series(figures(made, None)) - real)
        errors["replication"].append(pd.Series(figures(sample, "design_weight")) - real)
    tables = {way: pd.DataFrame(rows) for way, rows in errors.items()}
    gain = tables["replication"].abs() - tables["recipe"].abs()
    shown = tables | {f"{way}, absolute": table.abs() for way, table in tables.items()}
    return pd.DataFrame(
        {
            way: [
                f"{mean:.5f} ({error:.5f})" for mean, error in zip(t.mean(), t.sem(), strict=True)
            ]
            for way, t in (shown | {"nearer by": gain}).items()
        },
        index=real.index,
    )


def run(samples: int, households: int) -> pd.DataFrame:
    """Return one row per sample and way."""
    truth = load_demo_population()
    real, people = figures(truth, None), coded(truth, truth, None)
    rows = [{"sample": 0, "way": "truth (values)", **real, "distinct of 1,000": distinct(truth)}]
    for seed in range(1, samples + 1):
        sample = draw(truth, households, seed)
        survey = Survey(sample, weight="design_weight", **ROLES)
        ways = {"replication": None, "init": init_recipe(sample)} | {
            f"demo, {form or 'one by one'}": (survey, demo_recipe(form))
            for form in (None, "first", "sequential")
        }  # fmt: skip
        for way, recipe in ways.items():
            if recipe is None:
                made, weight = sample, "design_weight"
            else:
                made, weight = recipe[1].fit(recipe[0], seed=seed).simulate().frame(), None
            gaps = {k: abs(x - real[k]) for k, x in figures(made, weight).items()}
            gaps |= household_distances(people, coded(made, truth, weight))
            gaps["distinct of 1,000"] = distinct(made)
            if recipe is not None:
                gaps["mean income by status, largest error, %"] = means_of_status(sample, made)
            rows.append({"sample": seed, "way": way, **gaps})
            print(seed, way, flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Print the means over samples, one column per way."""
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    samples, households = (*numbers, *(3, 1_500)[len(numbers) :])
    if "paired" in sys.argv:
        print(paired(samples, households).to_string())
        return
    table = run(samples, households).drop(columns="sample")
    means, errors = (getattr(table.groupby("way", sort=False), name)() for name in ("mean", "sem"))
    print("| figure | " + " | ".join(means.index) + " |")
    print("| --- |" + " --: |" * len(means))
    for name in means:
        cells = [f"{means[name][way]:.4g} ({errors[name][way]:.2g})" for way in means.index]
        print(f"| {name} | " + " | ".join(cells).replace(" (nan)", "") + " |")


if __name__ == "__main__":
    main()
