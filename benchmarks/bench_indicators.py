"""Weighted statistics, tails, indicators: `python -m benchmarks.bench_indicators`."""

from __future__ import annotations

import numpy as np

from benchmarks._measure import measure
from synthpop import indicators, weighted
from synthpop.microdata.statistics.tails import fit_gpd
from synthpop.models.breaks import breaks, classify


def incomes(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-normal incomes, weights and regions."""
    rng = np.random.default_rng(1)
    return rng.lognormal(9.8, 0.6, n), rng.random(n) * 10 + 1, rng.integers(0, 9, n)


def main() -> None:
    print("| job | size | seconds | peak MB |\n| --- | --- | --- | --- |")
    for n in (100_000, 10_000_000):
        x, w, by = incomes(n)
        limits = breaks(x, w, equidist=False)
        jobs = {
            "weighted mean": lambda x=x, w=w: weighted.mean(x, w),
            "weighted variance": lambda x=x, w=w: weighted.variance(x, w),
            "weighted quantiles": lambda x=x, w=w: weighted.quantile(x, w),
            "breaks": lambda x=x, w=w: breaks(x, w, equidist=False),
            "classify": lambda x=x, limits=limits: classify(x, limits),
            "gini": lambda x=x, w=w: indicators.gini(x, w),
            "gini by nine regions": lambda x=x, w=w, by=by: indicators.gini(x, w, by=by),
            "poverty rate": lambda x=x, w=w: indicators.at_risk_of_poverty(x, w),
            "gini, linearised variance": lambda x=x, w=w: indicators.gini(x, w).with_variance(),
            "generalised Pareto tail, top 5 %": lambda x=x, w=w: fit_gpd(
                x, float(np.quantile(x, 0.95)), weights=w
            ),
        }
        for name, job in jobs.items():
            measure(name, f"{n:,}", job)
    x, w, by = incomes(14_827)
    for name, indicator in (
        ("gini", indicators.gini),
        ("poverty rate", indicators.at_risk_of_poverty),
    ):
        measure(
            f"bootstrap of {name}, 200 replicates in nine strata",
            "14,827",
            lambda indicator=indicator: indicators.bootstrap(
                indicator, x, weights=w, strata=by, seed=1
            ),
        )


if __name__ == "__main__":
    main()
