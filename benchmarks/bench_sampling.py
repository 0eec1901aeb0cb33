"""Time and memory of samples and simulation studies: `python -m benchmarks.bench_sampling`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from synthpop.indicators import at_risk_of_poverty, gini
from synthpop.microdata.roles.survey import Survey
from synthpop.sampling import (
    Cluster,
    Proportional,
    SimpleRandom,
    Stratified,
    draw_balanced,
    draw_sample,
    draw_unequal,
    inclusion_probabilities,
    simulate_study,
)


def population(n_households: int) -> pd.DataFrame:
    """Households of one to five persons in nine regions, sorted by region."""
    rng = np.random.default_rng(1)
    sizes = rng.choice(np.arange(1, 6), n_households, p=[0.36, 0.29, 0.15, 0.13, 0.07])
    region = np.sort(rng.integers(0, 9, n_households)).astype(np.int8)
    codes = np.repeat(region, sizes)
    return pd.DataFrame(
        {
            "household": np.repeat(np.arange(n_households, dtype=np.int32), sizes),
            "region": pd.Categorical.from_codes(codes, list("abcdefghi")),
            "income": np.repeat(rng.lognormal(9.8, 0.5, n_households), sizes),
        }
    )


def estimate_gini(survey: Survey) -> object:
    return gini(survey.frame["income"], survey.weights)


def estimate_poverty(survey: Survey) -> object:
    return at_risk_of_poverty(survey.frame["income"], survey.weights)


DESIGN = Stratified(Proportional(6000), by="region", within=Cluster("household", SimpleRandom(1)))


def methods(size: np.ndarray, n: int, names: tuple[str, ...]) -> None:
    p = inclusion_probabilities(size, n)
    label = f"{n:,} of {len(size):,}"
    for name in names:
        measure(
            name, label, lambda name=name: draw_unequal(p, np.random.default_rng(1), method=name)
        )
    x = np.column_stack([p, np.random.default_rng(2).lognormal(0, 0.5, (len(p), 5))])
    measure("balanced, six variables", label, lambda: draw_balanced(p, x, np.random.default_rng(1)))


def main() -> None:
    rng = np.random.default_rng(1)
    warm = inclusion_probabilities(rng.random(50) + 0.5, 5)
    every = (
        "systematic", "random-systematic", "poisson", "pivotal", "tille", "sampford",
        "conditional-poisson",
    )  # fmt: skip
    for name in (*every, "brewer"):
        draw_unequal(warm, rng, method=name)
    draw_balanced(warm, warm, rng)
    print("| job | size | seconds | peak MB |\n| --- | --- | --- | --- |")
    methods(rng.lognormal(0, 1, 10_000), 1000, (*every, "brewer"))
    methods(rng.lognormal(0, 1, 1_000_000), 10_000, every)
    people = population(3_500_000)
    size = f"6,000 households of {len(people):,} persons"
    measure("one stratified household sample", size, lambda: draw_sample(people, DESIGN, seed=1))
    estimators = {"gini": estimate_gini, "poverty rate": estimate_poverty}
    for repetitions in (100, 1000):
        measure(
            f"study, {repetitions:,} repetitions, Gini and poverty rate, one worker",
            size,
            lambda repetitions=repetitions: simulate_study(
                people, DESIGN, estimators, repetitions=repetitions, seed=1
            ),
        )


if __name__ == "__main__":
    main()
