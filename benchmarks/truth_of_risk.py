"""Risk estimates beside the truth: samples of a known population under several designs.

Run ``python -m benchmarks.truth_of_risk [POPULATION.parquet] [--design NAME] ... [--store]``.
Without a file the embedded demo population is used. Prints Markdown tables: for each quantity the
measures of the file by set of keys (relative bias and, in brackets, relative root mean squared
error), then how well the scores of single records find those that are really at risk.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from benchmarks.results import store_if_asked
from riskeval.measures.frequencies import frequency_counts
from riskeval.measures.individual import household_risks, individual_risk
from riskeval.measures.loglinear.model import loglinear_risk
from riskeval.measures.suda import suda
from riskeval.measures.uniqueness import population_uniqueness

ROLES = {
    "demo": {
        "household": "db030", "region": "db040", "size": "hsize", "age": "age", "sex": "rb090",
        "status": "pl030", "citizen": "pb220a",
    },
    "eusilcP": {
        "household": "hid", "region": "region", "size": "hsize", "age": "age", "sex": "gender",
        "status": "ecoStat", "citizen": "citizenship",
    },
}  # fmt: skip
KEYS = {
    "broad": ["region", "age5", "sex", "citizen"],
    "middle": ["region", "size", "age5", "sex", "status", "citizen"],
    "fine": ["region", "size", "age", "sex", "status", "citizen"],
}
NUMBERS = {"age", "age5", "size"}
NAMES = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "slide negative binomial"}
SAMPLES = {"broad": (12, 4), "middle": (8, 2), "fine": (8, 1)}
"""Samples of a design, and how many of them have the two-way model."""
LARGE = {"persons 10 %", "households 10 %", "regions equal 1 %"}
"""Designs that are left out with fine keys."""


def population_of(path: str | None) -> pd.DataFrame:
    """The population with plain columns; a missing status or citizenship is a category."""
    if path is None:
        from synthpop import load_demo_population

        raw, roles = load_demo_population(), ROLES["demo"]
    else:
        raw, roles = pd.read_parquet(path), ROLES["eusilcP"]
    data = pd.DataFrame({name: raw[column] for name, column in roles.items()})
    for name in ("region", "sex", "status", "citizen"):
        data[name] = data[name].astype(object).fillna("child").astype(str).astype("category")
    for name in ("size", "age"):
        data[name] = data[name].astype(str).astype(float).astype(int)
    data["age5"] = data["age"].clip(lower=0) // 5
    data["household"] = pd.factorize(data["household"])[0]
    return data


# --- designs: rows and weights ------------------------------------------------------------------


def persons(fraction: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def draw(people: pd.DataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        n = round(fraction * len(people))
        return np.sort(rng.permutation(len(people))[:n]), np.full(n, len(people) / n)

    return draw


def households(fraction: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def draw(people: pd.DataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        homes = int(people["household"].max()) + 1
        n = round(fraction * homes)
        chosen = np.zeros(homes, dtype=bool)
        chosen[rng.permutation(homes)[:n]] = True
        rows = np.flatnonzero(chosen[people["household"].to_numpy()])
        return rows, np.full(len(rows), homes / n)

    return draw


def equal_by_region(
    fraction: float,
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def draw(people: pd.DataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        region_of = people.groupby("household")["region"].first().cat.codes.to_numpy()
        each = round(fraction * len(region_of) / (region_of.max() + 1))
        weight = np.zeros(len(region_of))
        for region in range(region_of.max() + 1):
            homes = np.flatnonzero(region_of == region)
            taken = rng.permutation(homes)[:each]
            weight[taken] = len(homes) / len(taken)
        weights = weight[people["household"].to_numpy()]
        rows = np.flatnonzero(weights > 0)
        return rows, weights[rows]

    return draw


def calibrated(
    fraction: float,
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    def draw(people: pd.DataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rows, weights = equal_by_region(fraction)(people, rng)
        cells = [people["region"], people["sex"], people["age5"] // 3]
        group = pd.MultiIndex.from_arrays([pd.Series(c).to_numpy() for c in cells]).factorize()[0]
        total = np.bincount(group)
        have = np.bincount(group[rows], weights=weights, minlength=len(total))
        return rows, weights * (total / np.maximum(have, 1e-12))[group[rows]]

    return draw


DESIGNS = {
    "persons 1 %": persons(0.01),
    "persons 10 %": persons(0.10),
    "households 1 %": households(0.01),
    "households 10 %": households(0.10),
    "regions equal 1 %": equal_by_region(0.01),
    "regions equal 1 %, calibrated": calibrated(0.01),
}


# --- truth and estimates ------------------------------------------------------------------------


def formula(keys: list[str], power: int) -> str:
    terms = " + ".join(f"C({key})" if key in NUMBERS else key for key in keys)
    return f"~ ({terms})**{power}" if power > 1 else f"~ {terms}"


def measured(
    sample: pd.DataFrame, big_f: np.ndarray, keys: list[str], population: int, two_way: bool
) -> tuple[dict[tuple[str, str], float], dict[str, np.ndarray], np.ndarray]:
    """Estimates by (quantity, method), scores of the sample uniques, and their true 1/F."""
    f = frequency_counts(sample, keys).f
    alone = f == 1
    risk = individual_risk(sample, keys, weights="w", household="household")
    rough = individual_risk(sample, keys, weights="w", formula="approximation")
    homes = pd.factorize(sample["household"])[0]
    found = {
        ("tau1", "truth"): float((alone & (big_f == 1)).sum()),
        ("tau2", "truth"): float((1 / big_f[alone]).sum()),
        ("all records", "truth"): float((1 / big_f).sum()),
        ("persons in linked households", "truth"): float(household_risks(1 / big_f, homes).sum()),
        ("tau2", "individual risk"): float(risk.risk[alone].sum()),
        ("all records", "individual risk"): risk.expected_reidentifications,
        ("all records", "approximation"): rough.expected_reidentifications,
        ("persons in linked households", "individual risk"): float(
            risk.expected_household_reidentifications or 0.0
        ),
    }
    unique = population_uniqueness(sample, keys, population_size=population)
    for method in unique.table.index:
        found["tau1", NAMES.get(method, method)] = float(unique.table.loc[method, "sample_uniques"])
    found["tau1", "rule of Dankar"] = unique.tau1
    scores = {
        "individual risk": risk.risk[alone],
        "SUDA": suda(sample, keys, dis_fraction=len(sample) / population).score[alone],
    }
    main, two = "log-linear, main effects", "log-linear, two-way"
    models = [(main, 1, "poisson"), (f"{main}, pseudo-ml", 1, "pseudo-ml")]
    models += [(f"{main}, Clogg-Eliason", 1, "clogg-eliason")]
    if two_way:
        models += [(two, 2, "poisson")]
        models += [(f"{two}, pseudo-ml", 2, "pseudo-ml")] if np.ptp(sample["w"]) > 0 else []
    for name, power, method in models:
        fitted = loglinear_risk(
            sample, keys, weights="w", formula=formula(keys, power), method=method, fit="exact"
        )
        found["tau1", name] = fitted.tau1
        found["tau2", name] = fitted.tau2
        if method == "poisson":
            scores[name] = fitted.risk_match[alone]
    return found, scores, 1 / big_f[alone]


def area(score: np.ndarray, positive: np.ndarray) -> float:
    """Probability that a positive record has a higher score than another one."""
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return float("nan")
    return float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * m))


def correlation(score: np.ndarray, truth: np.ndarray) -> float:
    a, b = rankdata(score), rankdata(truth)
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else float("nan")


def run(
    people: pd.DataFrame, design: str, keys: list[str], replicates: int, two_way: int
) -> Iterator[tuple[dict, dict, np.ndarray]]:
    big_f = frequency_counts(people, keys).f
    for replicate in range(replicates):
        rng = np.random.default_rng([replicate, list(DESIGNS).index(design)])
        rows, weights = DESIGNS[design](people, rng)
        sample = people.iloc[rows].assign(w=weights).reset_index(drop=True)
        yield measured(sample, big_f[rows], keys, len(people), replicate < two_way)


def _cell(row: Any) -> str:
    if row.method == "truth":
        return f"{row.mean:.4g}" if row.mean < 1_000 else f"{row.mean:,.0f}"
    if row.truth < 1:
        return f"{row.mean:.2g}"
    return f"{100 * row.bias:+.0f} % ({100 * row.rmse:.0f} %)"


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """One row per set of keys and method, one column per design; `text` fills the cells."""
    rows = ["keys", "method"]
    wide = table.pivot_table(
        index=rows, columns="design", values="text", aggfunc="first", sort=False
    )
    return wide.fillna("").reset_index()


def _files(values: dict, truths: dict) -> Iterator[tuple]:
    """Rows of the quantities of the file: mean, relative bias and error, true mean."""
    for key, estimates in values.items():
        solved = np.isfinite(estimates)  # some models have no solution on some samples
        true = np.array(truths[key])
        if solved.any():
            error = (np.array(estimates) - true)[solved]
            level = max(true.mean(), 1e-12)
            bias, rmse = error.mean() / level, np.sqrt((error**2).mean()) / level
            yield (*key, np.nanmean(estimates), bias, rmse, true.mean())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("population", nargs="?")
    parser.add_argument("--design", action="append", choices=list(DESIGNS))
    parser.add_argument("--keys", action="append", choices=list(KEYS))
    parser.add_argument("--samples", type=int, help="of each design")
    parser.add_argument("--two-way", type=int, help="samples with the two-way model")
    parser.add_argument("--store", action="store_true", help="keep the tables for the pages")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = _options()
    warnings.simplefilter("ignore")
    people = population_of(options.population)
    files, records = [], []
    started = time.perf_counter()
    for key_set in options.keys or KEYS:
        samples, two_way = SAMPLES[key_set]
        samples = samples if options.samples is None else options.samples
        two_way = two_way if options.two_way is None else options.two_way
        left_out = LARGE if key_set == "fine" else set()
        for design in options.design or [name for name in DESIGNS if name not in left_out]:
            values: dict[tuple[str, str], list[float]] = defaultdict(list)
            truths: dict[tuple[str, str], list[float]] = defaultdict(list)
            finds: dict[str, list[tuple[float, float]]] = defaultdict(list)
            for estimates, scores, truth in run(people, design, KEYS[key_set], samples, two_way):
                for (quantity, method), value in estimates.items():
                    values[quantity, method].append(value)
                    truths[quantity, method].append(estimates[quantity, "truth"])
                for name, score in scores.items():
                    finds[name].append((correlation(score, truth), area(score, truth == 1)))
            files += [(key_set, design, *row) for row in _files(values, truths)]
            for name, pairs in finds.items():
                rank, above = np.nanmean(np.array(pairs), axis=0)
                records.append((key_set, design, name, rank, above))
    columns = ["keys", "design", "quantity", "method", "mean", "bias", "rmse", "truth"]
    table = pd.DataFrame(files, columns=columns)
    study = "risk" if options.population is None else "risk-second-population"
    for quantity, part in table.groupby("quantity", sort=False):
        print(f"\n{quantity}\n")
        shown = part.assign(text=[_cell(row) for row in part.itertuples()])
        store_if_asked(study, str(quantity), _wide(shown))
    scores_of = pd.DataFrame(records, columns=["keys", "design", "method", "rank", "area"])
    text = [f"{rank:.2f}, {area:.2f}" for rank, area in scores_of[["rank", "area"]].to_numpy()]
    text = [cell.replace("nan", "none") for cell in text]
    print("\nrank correlation with 1/F, area under the curve, of sample uniques\n")
    store_if_asked(study, "single records", _wide(scores_of.assign(text=text)))
    print(f"\n{len(people):,} persons, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
