"""Intervals of the risk in the population beside the truth: how often they contain it.

Run ``python -m benchmarks.population_risk [--samples 2] [--store]``. Populations are files that are
known whole: the embedded demo population, and those of ``../shared/data`` where they are there.
Keys are drawn anew for every sample (3 to 7 of the columns), samples are of 0.5 to 20 %: persons,
households, or the same number of households in every region, with their weights.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.results import store_if_asked
from benchmarks.truth_of_risk import equal_by_region, households, persons
from riskeval.measures.individual import individual_risk
from riskeval.measures.population_risk import population_risk
from riskeval.measures.uniqueness import population_uniqueness
from synthpop import load_demo_population
from tests.reference_data import SHARED

KEYS = {
    "demo": "db040 hsize age5 age rb090 pl030 pb220a relation pe040",
    "eusilcP": "region hsize age5 age gender ecoStat citizenship",
    "eusilc13puf": "db040 hsize age5 age rb090 pl031 pb220a pb190 pe040",
    "ghanaS": "region hsize age5 age sex relate religion ethnic occupation highest_degree",
    "ses": "location NACE1 size sex age education occupation lengthService contract fullPart",
    "free1": "SEX AGE age5 MARSTAT KINDPERS ETNI EDUC1 POSLABM",
}
HOUSEHOLD = {"demo": "db030", "eusilcP": "hid", "eusilc13puf": "db030", "ghanaS": "hhid"}
REGION = {"ses": "NACE1", "free1": "MARSTAT"}
DESIGNS = {"persons": persons, "households": households, "regions": equal_by_region}
FRACTIONS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
LEAST, MOST = 400, 12_000
"""Records of a sample."""


def populations() -> Iterator[tuple[str, pd.DataFrame, list[str]]]:
    """Populations with ``household``, ``region`` and keys, all of them categories."""
    for name, columns in KEYS.items():
        raw = load_demo_population() if name == "demo" else None
        path = SHARED / "data" / f"{name}.parquet"
        if raw is None and not path.exists():
            continue
        raw = pd.read_parquet(path) if raw is None else raw
        age = next((one for one in ("age", "AGE") if one in raw), None)
        if age and "age5" in columns:
            raw = raw.assign(age5=pd.to_numeric(raw[age].astype(str)) // 5)
        keys = columns.split()
        data = raw[keys].astype(object).fillna("none").astype(str).astype("category")
        homes = raw[HOUSEHOLD[name]] if name in HOUSEHOLD else pd.Series(range(len(raw)))
        region = REGION.get(name, keys[0])
        yield name, data.assign(household=pd.factorize(homes)[0], region=data[region]), keys


def drawn_keys(keys: list[str], rng: np.random.Generator) -> list[str]:
    """Three to seven keys, of age one kind."""
    ages = [key for key in keys if key in ("age", "age5", "AGE")]
    left = [key for key in keys if key not in ages or key == rng.choice(ages)]
    n = min(int(rng.integers(3, 8)), len(left))
    return list(rng.permutation(left)[:n])


def rows(samples: int) -> Iterator[dict[str, object]]:
    """One row a sample, with truths, estimates and whether intervals contain the truth."""
    for place, (name, people, columns) in enumerate(populations()):
        for d, (design, draw) in enumerate(DESIGNS.items()):
            for fraction in FRACTIONS:
                if not LEAST <= fraction * len(people) <= MOST:
                    continue
                for i in range(samples):
                    rng = np.random.default_rng([2026, place, d, round(1000 * fraction), i])
                    keys = drawn_keys(columns, rng)
                    taken, weights = draw(fraction)(people, rng)
                    cells = people.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
                    big_f = np.bincount(cells)[cells][taken]
                    f = np.bincount(cells[taken], minlength=cells.max() + 1)[cells[taken]]
                    sample = people.iloc[taken].assign(w=weights)
                    started = time.process_time()
                    risk = population_risk(sample, keys, weights="w", seed=1)
                    seconds = time.process_time() - started
                    truths = float((big_f == 1).sum()), float((1 / big_f).sum())
                    yield {
                        "population": name, "design": design, "fraction": fraction,
                        "keys": len(keys), "names": " ".join(keys), "n": len(sample),
                        "uniques": int((f == 1).sum()), "tau1": truths[0], "links": truths[1],
                        "est1": risk.unique[0], "est2": risk.links[0],
                        "in1": risk.unique[1] <= truths[0] <= risk.unique[2],
                        "in2": risk.links[1] <= truths[1] <= risk.links[2],
                        "below1": truths[0] <= risk.unique[2], "below2": truths[1] <= risk.links[2],
                        "width": risk.links[2] / max(risk.links[1], 1e-9),
                        "pitman": population_uniqueness(sample, keys, weights="w").tau1,
                        "weights": individual_risk(sample, keys, weights="w")
                        .expected_reidentifications, "seconds": seconds,
                    }  # fmt: skip


def shares(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Coverage by a column, and for all."""
    groups = [(str(key), part) for key, part in table.groupby(by, sort=False)] + [("all", table)]
    error = {
        name: np.abs(np.log(table[column].clip(lower=0.5) / table[truth].clip(lower=0.5)))
        for name, column, truth in (
            ("unique, this model", "est1", "tau1"), ("unique, Pitman", "pitman", "tau1"),
            ("links, this model", "est2", "links"), ("links, by weights", "weights", "links"),
        )
    }  # fmt: skip
    return pd.DataFrame(
        [
            {
                by: name, "samples": str(len(part)), "unique in interval": f"{part.in1.mean():.1%}",
                "links in interval": f"{part.in2.mean():.1%}",
                "unique at most the upper end": f"{part.below1.mean():.1%}",
                "links at most the upper end": f"{part.below2.mean():.1%}",
                "upper / lower end of links, median": f"{part.width.median():.2f}",
            }
            | {f"{key}: median factor off": f"{np.exp(gap[part.index].median()):.2f}"
               for key, gap in error.items()}
            | {"processor s": f"{part.seconds.mean():.2f}"}
            for name, part in groups
        ]
    )  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--store", action="store_true", help="keep the tables for the pages")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = pd.DataFrame(list(rows(options.samples)))
    missed = table[~(table.in1 & table.in2)]
    print(missed.drop(columns=["in1", "in2"]).to_string(index=False))
    for by in ("population", "design", "fraction", "keys"):
        store_if_asked("population-risk", by, shares(table, by))


if __name__ == "__main__":
    main()
