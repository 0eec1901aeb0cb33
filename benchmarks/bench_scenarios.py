"""Five intruder scenarios on populations of 10^5 to 10^7 persons x 6 keys, 3 accuracies; linkage.

Run ``PYTHONPATH=. python benchmarks/bench_scenarios.py``, with the name of a part (scenarios,
intruders, models, numbers) for that part alone; rows are job, size, seconds and peak memory of the
process (the population itself included).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from riskeval import replicated_uniques, tcap
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.scenario import Scenario
from riskeval.measures.interval_disclosure import interval_disclosure
from riskeval.measures.linkage.linkage import record_linkage
from riskeval.measures.mahalanobis_disclosure import mahalanobis_disclosure

LEVELS = {"region": 9, "size": 9, "age": 8, "sex": 2, "status": 8, "citizen": 4}
KEYS = list(LEVELS)


def persons(n: int, rng: np.random.Generator) -> pd.DataFrame:
    columns: dict[str, object] = {}
    for name, n_levels in LEVELS.items():
        shares = 1 / np.arange(1, n_levels + 1)
        codes = np.searchsorted(np.cumsum(shares / shares.sum()), rng.random(n)).astype(np.int8)
        labels = [f"{name} {level}" for level in range(n_levels)]
        columns[name] = pd.Categorical.from_codes(np.minimum(codes, n_levels - 1), labels)
    income = np.where(rng.random(n) < 0.2, 0.0, rng.lognormal(9.8, 0.7, n))
    width = np.where(income == 0, 0, 2000.0)
    columns |= {"income": income, "low": income - width, "high": income + width}
    return pd.DataFrame(columns)


class Blocks:
    """A population that makes its blocks when they are read, as one on disk does."""

    def __init__(self, n: int, rows: int) -> None:
        self.n, self.rows = n, rows

    def iter_blocks(self) -> Iterator[pd.DataFrame]:
        """Yield frames of `rows` persons."""
        for number in range(self.n // self.rows):
            yield persons(self.rows, np.random.default_rng(number))


def in_households(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add the number of the household, members one after the other, and a category."""
    n = len(frame)
    sizes = rng.choice([1, 2, 3, 4, 5], n, p=[0.36, 0.3, 0.15, 0.13, 0.06])
    frame["household"] = np.repeat(np.arange(n), sizes)[:n]
    health = np.minimum(rng.integers(0, 5, n), frame["age"].cat.codes)
    frame["health"] = pd.Categorical.from_codes(
        health, ["very good", "good", "fair", "bad", "none"]
    )
    return frame


def intruders(sample: pd.DataFrame, rng: np.random.Generator) -> None:
    """What scenarios add: several targets, categories, everyone, households, wrong keys."""
    sample = in_households(sample, rng).assign(weight=rng.uniform(300, 900, len(sample)))
    population = in_households(persons(10_000_000, rng), rng)
    bounds = {"income": ("low", "high")}
    jobs = {
        "one target of numbers": Scenario(KEYS, "income"),
        "two targets": Scenario(KEYS, ["income", "health"]),
        "two targets, everyone of the sample": Scenario(KEYS, ["income", "health"], who="everyone"),
        "two targets, wrong keys, a register of 60%": Scenario(
            KEYS, ["income", "health"], key_errors={"age": 0.1}, coverage=0.6
        ),
        "two targets, households": Scenario(
            ["age", "sex"], ["income", "health"], unit="household", household="household"
        ),
    }
    for name, scenario in jobs.items():
        measure(
            f"five scenarios, {name}",
            f"{len(population):,} x {len(scenario.keys)}",
            lambda s=scenario: intruder_scenarios(
                sample, population, s, intervals=bounds, weights="weight", seed=1
            ),
        )


def models(sample: pd.DataFrame, rng: np.random.Generator) -> None:
    """Scenario 5 with every model, of numbers and of categories."""
    sample = in_households(sample, rng)
    for n in (1_000_000, 10_000_000):
        population = in_households(persons(n, rng), rng)
        for target in ("income", "health"):
            for model in ("linear", "stepwise", "forest", "boosting"):
                measure(
                    f"scenario 5, {model}, {target}",
                    f"{n:,} x {len(KEYS)}",
                    lambda m=model, t=target, p=population: intruder_scenarios(
                        sample, p, KEYS, t, scenarios=(5,), model=m, seed=1
                    ),
                )


def main() -> None:
    """Run the parts that are named, or all."""
    parts = {"scenarios": scenarios, "intruders": intruders, "models": models}
    asked = sys.argv[1:] or [*parts, "numbers"]
    rng = np.random.default_rng(1)
    for name, part in parts.items():
        if name in asked:
            part(persons(14_883, rng), rng)
    if "numbers" in asked:
        continuous(rng)


def scenarios(sample: pd.DataFrame, rng: np.random.Generator) -> None:
    """The five scenarios of the book and attacks by counting keys."""
    intervals = ("low", "high")
    # once, so that the compiled loops are in the cache and in this process
    intruder_scenarios(sample, sample, KEYS, "income", intervals=intervals)
    replicated_uniques(sample, sample, KEYS)
    for method in ("gower", "probabilistic"):
        record_linkage(sample.head(9), sample.head(9), ["income", "low"], method=method)
    for n in (81_838, 818_221, 8_182_010):
        population = persons(n, rng)
        size = f"{n:,} x {len(KEYS)}"
        measure(
            "making the population only (peak)", size, lambda population=population: len(population)
        )
        measure(
            "five scenarios, frame",
            size,
            lambda population=population: intruder_scenarios(
                sample, population, KEYS, "income", intervals=intervals
            ),
        )
        if n > 8_000_000:
            measure(
                "replicated uniques",
                size,
                lambda population=population: replicated_uniques(sample, population, KEYS),
            )
            measure(
                "attribution probabilities",
                size,
                lambda population=population: tcap(sample, population, KEYS[:-1], KEYS[-1]),
            )
        del population
    texts = persons(818_221, rng).astype(dict.fromkeys(KEYS, str))
    measure(
        "five scenarios, keys as text",
        f"{len(texts):,} x {len(KEYS)}",
        lambda: intruder_scenarios(sample, texts, KEYS, "income", intervals=intervals),
    )
    measure(
        "making blocks only",
        "8,200,000 x 6",
        lambda: [None for _ in Blocks(8_200_000, 100_000).iter_blocks()],
    )
    measure(
        "five scenarios, streamed blocks made on the way",
        "8,200,000 x 6",
        lambda: intruder_scenarios(
            sample, Blocks(8_200_000, 100_000), KEYS, "income", intervals=intervals
        ),
    )


def continuous(rng: np.random.Generator) -> None:
    names = ["a", "b", "c"]
    for n in (100_000, 1_000_000):
        original = pd.DataFrame(rng.lognormal(0, 1, (n, 3)), columns=names)
        released = original * rng.normal(1, 0.05, (n, 3))
        original["block"] = released["block"] = rng.integers(0, 20, n)
        block = ["block"] if n > 100_000 else []
        size = f"{n:,} x 3" + (", 20 blocks" if block else "")
        pair = (original, released, names)
        measure("interval disclosure", f"{n:,} x 3", lambda p=pair: interval_disclosure(*p))
        measure(
            "robust Mahalanobis disclosure",
            f"{n:,} x 3",
            lambda p=pair: mahalanobis_disclosure(*p),
        )
        for method in ("distance", "mahalanobis"):
            measure(
                f"record linkage, {method}",
                size,
                lambda p=pair, m=method, b=block: record_linkage(*p, method=m, block=b),
            )
    few = (original.head(10_000), released.head(10_000), names)
    for method in ("gower", "probabilistic"):
        measure(
            f"record linkage, {method}, all pairs",
            "10,000 x 3",
            lambda m=method: record_linkage(*few, method=m),
        )


if __name__ == "__main__":
    main()
