"""How often the fit report calls good what is good, and which spoiled populations it names.

    python -m benchmarks.detector [--trials 200] [--only fresh|product|spoiled] [--store]

Trials give a whole fit report, with the classifier, of 800 households of the demo country (with
1,500, as the spoiled populations have, 200 trials cost twice as much): of another sample, as large
or twice as large; and of what `synthpop init` makes of the survey, eight populations of each fit.
Spoiled populations are in `SPOILERS`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.results import store_if_asked
from synthpop import Survey, assess_fit
from synthpop.datasets import load_demo_population
from synthpop.evaluation.detector import detect, findings
from synthpop.evaluation.household_rows import HouseholdRows
from synthpop.evaluation.sentences import finding_sentence
from synthpop.evaluation.verdict import Verdict
from synthpop.runfiles.runfile import load_runfile

HOUSEHOLDS, COUNTRY = 1_500, 30_000
TRIAL, POPULATIONS = 800, 8  # households of a trial; populations of one fit
PARTS = [f"py{n:03}n" for n in (10, 50, 90, 100, 110, 120, 130, 140)]
INCOMES = ["netIncome", *PARTS]
Spoiler = Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]
SPOILERS: dict[str, tuple[Spoiler, tuple[str, ...]]] = {}


def country() -> pd.DataFrame:
    """Return the demo country: what a sample of it may be compared by."""
    frame = load_demo_population(COUNTRY)
    frame = frame.drop(columns=["pid", "eqIncome", "hincome"], errors="ignore")
    categories = frame.select_dtypes("category").columns
    return frame.astype(dict.fromkeys(categories, object)).astype({"age": "int64"})


def fresh(frame: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Return a simple random sample of households."""
    ids = np.random.default_rng(seed).choice(frame["db030"].unique(), n, replace=False)
    return frame[frame["db030"].isin(ids)].reset_index(drop=True)


def rows_of(frame: pd.DataFrame) -> HouseholdRows:
    """Return the households of a frame, each with weight one."""
    number = pd.factorize(frame["db030"])[0]
    order, sizes = np.argsort(number, kind="stable"), np.bincount(number)
    starts = np.cumsum(sizes) - sizes
    ones = np.ones(len(frame))
    return HouseholdRows(
        frame.iloc[order].reset_index(drop=True), starts, sizes, ones[: len(sizes)], ones
    )


def compared(survey: pd.DataFrame, population: pd.DataFrame) -> pd.DataFrame:
    """Return the findings of a population."""
    return findings(compared_all(survey, population))


def compared_all(survey: pd.DataFrame, population: pd.DataFrame) -> pd.DataFrame:
    """Return all comparisons with a population."""
    columns = [name for name in survey if name not in ("db030", "hsize")]
    return detect(
        rows_of(survey), rows_of(population), columns, age="age", relation="relation",
        strata="db040", totals={"netIncome": PARTS},
    )  # fmt: skip


def is_named(found: pd.DataFrame, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands in the first five findings."""
    first = found.head(5)[["kind", "variable", "given", "where"]].astype(str)
    text = " ".join(first.agg(" ".join, axis=1)) if len(first) else ""
    return any(word in text for word in words)


def spoiler(*words: str) -> Callable[[Spoiler], Spoiler]:
    """Register a spoiled population, with what must be named."""

    def registered(function: Spoiler) -> Spoiler:
        SPOILERS[function.__name__] = function, words
        return function

    return registered


def shuffled(
    frame: pd.DataFrame, columns: list[str], groups: list[pd.Index], rng: np.random.Generator
) -> pd.DataFrame:
    """Exchange values among the persons of each group."""
    for rows in groups:
        frame.loc[rows, columns] = frame.loc[rng.permutation(rows), columns].to_numpy()
    return frame


def some(frame: pd.DataFrame, rows: pd.Series, share: float, rng: np.random.Generator) -> pd.Series:
    """Return a random share of the rows that a condition marks."""
    return rows & (rng.random(len(frame)) < share)


@spoiler("netIncome", "py")
def incomes_shuffled_in_regions(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    groups = d[d["age"] >= 16].groupby("db040").groups
    return shuffled(d, INCOMES, list(groups.values()), r)


@spoiler("members", "relation", "age")
def partners_torn(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    columns = [name for name in d if name not in ("db030", "db040", "hsize")]
    d[columns] = d[columns].astype(object)
    return shuffled(d, columns, [d.index[d["relation"] == "partner"]], r).infer_objects()


@spoiler("db040")
def region_replaced(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    capital = dict(list(d[d["db040"] == "Capital"].groupby("db030")))
    n = d.loc[d["db040"] == "Uplands", "db030"].nunique()
    chosen = r.choice(list(capital), n)
    new = [capital[x].assign(db030=10**7 + k, db040="Uplands") for k, x in enumerate(chosen)]
    return pd.concat([d[d["db040"] != "Uplands"], *new], ignore_index=True)


@spoiler("age")
def ages_heaped(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    rows = some(d, d["age"] >= 20, 0.4, r)
    d.loc[rows, "age"] = (d.loc[rows, "age"] / 5).round().astype(int) * 5
    return d


@spoiler("netIncome", "age")
def children_with_incomes(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[some(d, d["age"] < 12, 0.03, r), "netIncome"] = 9000.0
    return d


@spoiler("netIncome")
def incomes_of_another_year(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d[INCOMES] *= 1.12
    return d


@spoiler("copies")
def households_duplicated(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    ids = d["db030"].unique()
    again = d[d["db030"].isin(r.choice(ids, len(ids) // 4, replace=False))]
    return pd.concat([d, again.assign(db030=again["db030"] + 10**7)], ignore_index=True)


@spoiler("rb090")
def sexes_swapped(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    rows = some(d, d["relation"] == "partner", 0.3, r)
    a, b = d["rb090"].unique()
    d.loc[rows, "rb090"] = d.loc[rows, "rb090"].map({a: b, b: a})
    return d


@spoiler("py050n", "netIncome")
def component_zeroed(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[d["py050n"].notna(), "py050n"] = 0.0
    return d


@spoiler("py110n", "netIncome")
def component_zeroed_with_its_total(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d["netIncome"] -= d["py110n"]
    d.loc[d["py110n"].notna(), "py110n"] = 0.0
    return d


@spoiler("netIncome")
def tail_trimmed(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    top = d["netIncome"].quantile(0.97)
    rows = d["netIncome"] > top
    d.loc[rows, INCOMES] = d.loc[rows, INCOMES].mul(top / d.loc[rows, "netIncome"], axis=0)
    return d


@spoiler("netIncome")
def tail_inflated(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[d["netIncome"] > d["netIncome"].quantile(0.97), INCOMES] *= 2
    return d


@spoiler("age", "pl030", "pb190", "members", "sizes")
def weights_shifted(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    oldest = d.groupby("db030")["age"].transform("max")
    chance = d["db030"].map(dict(zip(d["db030"].unique(), r.random(len(d)), strict=False)))
    return d[(oldest < 60) | (chance < 0.6)].reset_index(drop=True)


def independent(name: str) -> Spoiler:
    """Return a spoiler that draws a variable of adults without regard to the others."""
    return lambda d, r: shuffled(d, [name], [d.index[d["age"] >= 16]], r)


SPOILERS["education_independent"] = independent("pe040"), ("pe040",)
SPOILERS["marital_status_independent"] = independent("pb190"), ("pb190",)
SPOILERS["citizenship_independent"] = independent("pb220a"), ("pb220a",)


@spoiler("pl030")
def status_shuffled_in_cells(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    adults = d[d["age"] >= 16]
    groups = adults.groupby([adults["age"] // 10, "rb090"]).groups
    return shuffled(d, ["pl030"], list(groups.values()), r)


@spoiler("pb220a")
def level_lost(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    levels = d["pb220a"].value_counts().index
    d["pb220a"] = d["pb220a"].replace(levels[-1], levels[0])
    return d


@spoiler("pe040")
def more_missing(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[some(d, d["age"] >= 16, 0.08, r), "pe040"] = None
    return d


@spoiler("netIncome")
def incomes_rounded(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d["netIncome"] = (d["netIncome"] / 1000).round() * 1000
    return d


@spoiler("py010n", "netIncome")
def sums_broken(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[some(d, d["netIncome"] > 0, 0.02, r), "py010n"] += 100
    return d


@spoiler("sizes", "members")
def large_households_lost(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    return d[d.groupby("db030")["age"].transform("size") < 5].reset_index(drop=True)


@spoiler("age")
def adults_older(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[d["age"] >= 16, "age"] += 3
    return d


@spoiler("age")
def adults_made_children(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[some(d, d["age"].between(16, 24), 0.5, r), "age"] = 14
    return d


@spoiler("age", "relation")
def children_as_old_as_heads(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    rows = some(d, d["relation"] == "child", 0.04, r)
    d.loc[rows, "age"] = d.groupby("db030")["age"].transform("first")[rows] - 5
    return d


@spoiler("db040")
def regions_swapped(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d["db040"] = d["db040"].replace({"Capital": "Midvale", "Midvale": "Capital"})
    return d


@spoiler("db040")
def region_lost(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    return d[d["db040"] != "Lakeland"].reset_index(drop=True)


@spoiler("rb090", "netIncome", "py")
def pay_gap_lost(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    means = d[d["age"] >= 16].groupby("rb090")["netIncome"].mean()
    d.loc[d["rb090"] == means.idxmin(), INCOMES] *= means.max() / means.min()
    return d


@spoiler("pl030", "netIncome", "py")
def workers_without_pay(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[some(d, d["pl030"] == "full-time", 0.05, r), INCOMES] = 0.0
    return d


@spoiler("pb190")
def married_children(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    d.loc[some(d, d["age"].between(16, 17), 0.5, r), "pb190"] = "married"
    return d


@spoiler("relation", "sizes")
def partners_lost(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    return d[~some(d, d["relation"] == "partner", 0.25, r)].reset_index(drop=True)


@spoiler("netIncome", "py")
def noise_on_incomes(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    rows = d["netIncome"] > 0
    d.loc[rows, INCOMES] = d.loc[rows, INCOMES].mul(np.exp(r.normal(0, 0.5, rows.sum())), axis=0)
    return d


@spoiler("py100n", "netIncome")
def pensions_to_the_young(d: pd.DataFrame, r: np.random.Generator) -> pd.DataFrame:
    old = d.index[d["py100n"] > 0]
    young = d.index[d["age"].between(25, 45) & (d["py100n"] == 0)]
    n = int(len(old) * 0.05)
    a, b = r.choice(old, n, replace=False), r.choice(young, n, replace=False)
    first = d.loc[a, INCOMES].to_numpy().copy()
    d.loc[a, INCOMES] = d.loc[b, INCOMES].to_numpy()
    d.loc[b, INCOMES] = first
    return d


def spoiled(frame: pd.DataFrame, name: str, seed: int = 5) -> pd.DataFrame:
    """Return a spoiled copy of a population."""
    return SPOILERS[name][0](frame.copy(), np.random.default_rng(seed))


def survey_of(frame: pd.DataFrame) -> Survey:
    """Return a sample of households as a survey, each with the same weight."""
    return Survey(frame.assign(w=20.0), weight="w", household="db030", strata="db040")


def fresh_words(truth: pd.DataFrame, trials: int) -> Iterator[Verdict]:
    """Yield the verdicts on fresh samples of the country, as large as the survey or twice."""
    for trial in range(trials):
        pair = [fresh(truth, TRIAL * (1 + k * (trial % 2)), 2 * trial + k) for k in range(2)]
        yield assess_fit(survey_of(pair[0]), pair[1]).verdict()


def product_words(truth: pd.DataFrame, trials: int) -> Iterator[Verdict]:
    """Yield the verdicts on populations of unedited run files, several of each survey."""
    for first in range(0, trials, POPULATIONS):
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            fresh(truth, TRIAL, 5_000 + first).assign(w=20.0).to_parquet(folder / "survey.parquet")
            command = [sys.executable, "-m", "synthpop", "init", "survey.parquet"]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            plan = load_runfile(folder / "survey.toml")
            survey = plan.read_survey()
            fitted = plan.pipeline().fit(survey, seed=first)
            for seed in range(min(POPULATIONS, trials - first)):
                people = fitted.simulate(scale=0.1, seed=seed)
                yield assess_fit(survey, people).verdict()


def word_row(title: str, verdicts: Iterator[Verdict]) -> dict[str, str]:
    """Return how many verdicts are of each word, and what was found most often."""
    begin, count, found = time.process_time(), Counter[str](), Counter[str]()
    for verdict in verdicts:
        count[str(verdict.word)] += 1
        found.update(set(verdict.findings["kind"]))
        print(title, dict(count), dict(found), flush=True, file=sys.stderr)
    seconds = (time.process_time() - begin) / max(count.total(), 1)
    return {
        "populations": title, "trials": str(count.total()), "good": str(count["good"]),
        "usable with these limits": str(count["usable with these limits"]),
        "not usable": str(count["not usable"]),
        "found": ", ".join(f"{kind} {n}" for kind, n in found.most_common()) or "nothing",
        "processor seconds each": f"{seconds:.1f}",
    }  # fmt: skip


def spoiled_row(survey: pd.DataFrame, population: pd.DataFrame, name: str) -> dict[str, str]:
    """Return the word on a spoiled population, and the first of its lines that names the fault."""
    verdict = assess_fit(survey_of(survey), spoiled(population, name)).verdict()
    found = verdict.findings.head(5)
    lines = [k for k in range(len(found)) if is_named(found.iloc[[k]], SPOILERS[name][1])]
    line = str(lines[0] + 1) if lines else "missed"
    sentence = finding_sentence(found.iloc[lines[0]].to_dict()) if lines else ""
    title = name.replace("_", " ")
    return {"spoiled": title, "word": str(verdict.word), "line": line, "what it says": sentence}


def main() -> None:
    """Print how many trials are good, and which spoiled populations are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", choices=("fresh", "product", "spoiled"))
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args()
    truth = country()
    words = {
        "fresh": ("fresh samples", fresh_words),
        "product": ("unedited run files", product_words),
    }
    for key, (title, of_trials) in words.items():
        if options.only in (None, key):
            row = word_row(title, of_trials(truth, options.trials))
            store_if_asked("detector", key, pd.DataFrame([row]))
    if options.only in (None, "spoiled"):
        survey, population = fresh(truth, HOUSEHOLDS, 77), fresh(truth, 4 * HOUSEHOLDS, 78)
        rows = [spoiled_row(survey, population, name) for name in SPOILERS]
        store_if_asked("detector", "spoiled", pd.DataFrame(rows))


if __name__ == "__main__":
    main()
