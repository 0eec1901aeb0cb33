"""Coverage of intervals from replicates: `python -m benchmarks.coverage --samples 300`.

Samples of a population that is known are drawn again and again; each is synthesised with
``replicates(refit="bootstrap")``, and the intervals of `estimate_over_replicates` are compared with
the truth. The truth is the population behind the demo survey (435,024 persons), or with ``--truth
eusilcP`` the population of that name (58,654 persons) beside the repository. The results go into
a CSV file, one row per sample and estimand, so that a stopped run goes on; ``--store`` keeps
the tables for the page about uncertainty.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.results import store_if_asked
from synthpop import (
    Categorical,
    Continuous,
    Derive,
    Pipeline,
    Structure,
    Survey,
    estimate_over_replicates,
    indicators,
    load_demo_population,
)
from synthpop.microdata.statistics.streams import Streams
from synthpop.sampling import Cluster, Proportional, SimpleRandom, Stratified
from synthpop.sampling.draw import Sampler, prepare

COLUMNS = ["db030", "db040", "hsize", "age", "rb090", "relation", "pl030", "netIncome"]
STATUS = ("full-time", "part-time", "unemployed", "retired", "education", "disabled", "domestic")
ECONOMIC_STATUS = {
    "1": "full-time", "2": "part-time", "3": "unemployed", "4": "education", "5": "retired",
    "6": "disabled", "7": "domestic",
}  # fmt: skip
EUSILC = Path(__file__).resolve().parents[2] / "shared" / "data" / "eusilcP.parquet"
TEN_YEARS = [0, 9, 15, 19, 24, 29, 39, 49, 59, 64, 74, 120]
FIVE_YEARS = [0, 9, 15, 19, 24, 29, 34, 39, 44, 49, 54, 59, 64, 69, 74, 120]
PARTS = [f"py{number}n" for number in ("010", "050", "090", "100", "110", "120", "130", "140")]


@dataclass(frozen=True)
class Truth:
    """A population, its largest and its smallest region, and the scale of its replicates."""

    people: pd.DataFrame
    largest: str
    smallest: str
    scale: float


def demo() -> Truth:
    """The population behind the demo survey."""
    return Truth(with_design(load_demo_population()[COLUMNS]), "Capital", "Westhaven", 0.1)


def eusilc() -> Truth:
    """The population eusilcP in the terms of the demo; income is the sum of its parts."""
    source = pd.read_parquet(EUSILC)
    people = pd.DataFrame(
        {
            "db030": source["hid"],
            "db040": source["region"],
            "hsize": source["hsize"].astype(str).astype(int),
            "age": source["age"],
            "rb090": source["gender"],
            "relation": np.where(source["main"], "main", "other"),
            "pl030": source["ecoStat"].cat.rename_categories(ECONOMIC_STATUS),
            "netIncome": source[PARTS].sum(axis=1, min_count=len(PARTS)),
        }
    )
    return Truth(with_design(people), "Vienna", "Burgenland", 0.5)


def with_design(people: pd.DataFrame) -> pd.DataFrame:
    """Add the number of households of the region, for the finite population correction."""
    households = people.groupby("db040", observed=True)["db030"].transform("nunique")
    return people.assign(households=households)


def recipe() -> Pipeline:
    """Age, sex and relation by households; status and income by regression and classes."""
    return Pipeline(
        [
            Structure(["age", "rb090", "relation"]),
            Derive("age_class", source="age", breaks=TEN_YEARS),
            Derive("age_five", source="age", breaks=FIVE_YEARS),
            Categorical("pl030", predictors=["age_class", "rb090", "hsize"]),
            Continuous("netIncome", predictors=["age_five", "rb090", "hsize", "pl030"]),
        ]
    )


def estimands(
    data: pd.DataFrame, weights: np.ndarray, largest: str, smallest: str
) -> dict[str, float]:
    """Thirty numbers of a population, or of a survey with weights."""
    w = np.asarray(weights, dtype=np.float64)
    age, size = data["age"].to_numpy(float), data["hsize"].to_numpy(float)
    large = (data["db040"] == largest).to_numpy(bool)
    small = (data["db040"] == smallest).to_numpy(bool)
    woman = (data["rb090"] == "female").to_numpy(bool)
    status = {level: (data["pl030"] == level).to_numpy(bool) for level in STATUS}
    income = data["netIncome"].to_numpy(float)
    adult = np.isfinite(income)
    x, v = income[adult], w[adult]
    positive = adult & (income > 0)
    result = {
        "persons": w.sum(),
        "mean age": np.average(age, weights=w),
        "share aged 65 and more": np.average(age >= 65, weights=w),
        "share under 16": np.average(age < 16, weights=w),
        "share of women": np.average(woman, weights=w),
        "share living alone": np.average(size == 1, weights=w),
        "share in households of 4+": np.average(size >= 4, weights=w),
        f"share in {largest}": np.average(large, weights=w),
    }
    for level in STATUS:
        result[f"share {level}"] = np.average(status[level][adult], weights=v)
    result |= {
        "mean income": np.average(x, weights=v),
        "median income": _quantile(x, v, 0.5),
        "25 % quantile": _quantile(x, v, 0.25),
        "90 % quantile": _quantile(x, v, 0.9),
        "share without income": np.average(x == 0, weights=v),
        "Gini of positive incomes": indicators.gini(income[positive], w[positive]).value,
        "share below 60 % of median": np.average(x < 0.6 * _quantile(x, v, 0.5), weights=v),
    }
    groups = {
        largest: large,
        smallest: small,
        "women": woman,
        "full-time": status["full-time"],
        "retired": status["retired"],
    }
    for name, rows in groups.items():
        part = adult & rows
        result[f"mean income, {name}"] = np.average(income[part], weights=w[part])
    part = adult & large
    result[f"share retired, {largest}"] = np.average(status["retired"][part], weights=w[part])
    slopes = _slopes(income, age, woman, w, status["full-time"])
    return result | {"slope on age, full-time": slopes[0], "slope on sex, full-time": slopes[1]}


def _quantile(x: np.ndarray, w: np.ndarray, p: float) -> float:
    order = np.argsort(x)
    total = np.cumsum(w[order])
    return float(x[order][np.searchsorted(total, p * total[-1], side="right")])


def _slopes(
    y: np.ndarray, age: np.ndarray, woman: np.ndarray, w: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    rows = rows & np.isfinite(y)
    z = np.column_stack([np.ones(rows.sum()), age[rows], woman[rows]])
    root = np.sqrt(w[rows])
    return np.linalg.lstsq(z * root[:, None], y[rows] * root, rcond=None)[0][1:]


def one_sample(truth: Truth, sampler: Sampler, number: int, n_replicates: int) -> pd.DataFrame:
    """Estimates and intervals of one sample."""
    frame = sampler.draw(Streams(number).at("coverage")).frame
    survey = Survey(
        frame, weight="design_weight", household="db030", strata="db040", fpc="households"
    )
    fitted = recipe().fit(survey, seed=number)

    def numbers(data: pd.DataFrame, weights: np.ndarray) -> dict[str, float]:
        return estimands(data, weights, truth.largest, truth.smallest)

    table = estimate_over_replicates(
        numbers,
        fitted.replicates(n_replicates, refit="bootstrap", scale=truth.scale),
        survey=survey,
        bootstrap_samples=2,
        seed=number,
    ).table
    one_fit = [
        numbers(p.frame(), np.full(p.n_persons, 1 / truth.scale))
        for p in fitted.replicates(3, scale=truth.scale)
    ]
    table["noise"] = pd.DataFrame(one_fit).std()
    table["direct"] = pd.Series(numbers(frame, survey.weights))
    return table.assign(sample=number).rename_axis("estimand").reset_index()


def summary(rows: pd.DataFrame, truth: dict[str, float]) -> pd.DataFrame:
    """Coverage, bias and ratio of standard errors of each estimand."""
    lines = {}
    for name, part in rows.groupby("estimand", sort=False):
        true, sd = truth[str(name)], part["estimate"].std()
        lines[name] = {
            "truth": true,
            "bias in standard errors": (part["estimate"].mean() - true) / sd,
            "coverage, %": 100 * ((part["lower"] <= true) & (true <= part["upper"])).mean(),
            "estimated / true standard error": part["standard_error"].mean() / sd,
            "spread of one fit / true": part["noise"].mean() / sd,
            "sd of direct estimates / of these": part["direct"].std() / sd,
        }
    return pd.DataFrame(lines).T


def draw(table: pd.DataFrame, n_samples: int, path: Path) -> None:
    """Coverage and ratio of standard errors of all estimands, with Monte Carlo errors."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 7.2), sharey=True)
    at = np.arange(len(table))[::-1]
    share = table["coverage, %"].to_numpy() / 100
    # with the error of the nominal value, so that 100 % has one too
    half = np.full(len(table), 196 * np.sqrt(0.95 * 0.05 / n_samples))
    ratio = table["estimated / true standard error"].to_numpy()
    panels[0].errorbar(100 * share, at, xerr=half, fmt="o", color="#0072B2", ms=4, lw=1)
    panels[0].axvline(95, color="#C0392B", lw=1.2)
    panels[0].set_xlabel("coverage of 95 % intervals, %")
    spread = 1.96 / np.sqrt(2 * (n_samples - 1)) * ratio
    panels[1].errorbar(ratio, at, xerr=spread, fmt="o", color="#0072B2", ms=4, lw=1)
    panels[1].plot(table["spread of one fit / true"], at, "x", color="#C0392B", ms=5)
    panels[1].axvline(1, color="#C0392B", lw=1.2)
    panels[1].set_xlabel("estimated over true standard error (x: from one fit)")
    panels[0].set_yticks(at, list(table.index), fontsize=8)
    for axes in panels:
        axes.grid(axis="y", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def value(name: str, number: float) -> str:
    """Return a number as its estimand is printed."""
    if name.startswith("share"):
        return f"{100 * number:.1f} %"
    fine = name in ("mean age", "slope on age, full-time") or name.startswith("Gini")
    return f"{number:,.2f}" if fine else f"{number:,.0f}"


def estimand_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the results of each estimand as text."""
    texts = {
        "estimand": list(table.index),
        "truth": [value(str(name), number) for name, number in table["truth"].items()],
        "coverage, %": table["coverage, %"].map("{:.1f}".format),
    }
    for name in ("estimated / true standard error", "spread of one fit / true"):
        texts[name] = table[name].map("{:.2f}".format)
    texts["bias in standard errors"] = table["bias in standard errors"].map("{:.2f}".format)
    return pd.DataFrame(texts).reset_index(drop=True)


def overview(table: pd.DataFrame, name: str, n_samples: int) -> pd.DataFrame:
    """Return what all estimands of a population come to, as text in one row."""
    coverage, ratio = table["coverage, %"], table["estimated / true standard error"]
    error = 100 * np.sqrt(0.95 * 0.05 / n_samples)
    ends = f"{coverage.mean():.1f} % ({coverage.min():.1f} to {coverage.max():.1f})"
    return pd.DataFrame(
        {
            "population": [name],
            "samples": [str(n_samples)],
            "Monte Carlo error of a coverage": [f"{error:.1f} points"],
            "estimands with 93 to 97 %": [f"{coverage.between(93, 97).sum()} of {len(table)}"],
            "below 90 %": [str((coverage < 90).sum())],
            "mean coverage (lowest to highest)": [ends],
            "estimated / true standard error (lowest to highest)": [
                f"{ratio.mean():.2f} ({ratio.min():.2f} to {ratio.max():.2f})"
            ],
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--truth", choices=["demo", "eusilcP"], default="demo")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--households", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("coverage.csv"))
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--store", action="store_true", help="keep the tables for the page")
    options = parser.parse_args()
    truth = {"demo": demo, "eusilcP": eusilc}[options.truth]()
    people = truth.people
    values = estimands(people, np.ones(len(people)), truth.largest, truth.smallest)
    households = Cluster("db030", SimpleRandom(1))
    design = Stratified(Proportional(options.households), by="db040", within=households)
    sampler = prepare(people, design)
    finished = set()
    if options.out.exists():
        finished = set(pd.read_csv(options.out)["sample"])
    for number in range(options.first, options.first + options.samples):
        if number not in finished:
            rows = one_sample(truth, sampler, number, options.replicates)
            rows.to_csv(options.out, mode="a", header=not options.out.exists(), index=False)
    rows = pd.read_csv(options.out)
    table, n_samples = summary(rows, values), rows["sample"].nunique()
    if options.figure is not None:
        draw(table, n_samples, options.figure)
    store_if_asked("coverage", options.truth, estimand_rows(table))
    everything = overview(table, options.truth, n_samples)
    store_if_asked("coverage", f"{options.truth}, all estimands", everything)


if __name__ == "__main__":
    main()
