"""Microaggregation and the other methods for continuous variables, 10^5 to 10^6 records.

Run ``PYTHONPATH=. python benchmarks/bench_microaggregation.py``; rows are job, size, seconds and
peak memory of the process. Values are independent and normal, which is the hardest case. The
information loss of MDAV in boxes is printed beside that of exact MDAV.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from riskeval.protection.methods import MahalanobisGroups, MdavGroups
from riskeval.protection.microaggregate import microaggregate
from riskeval.protection.noise import add_noise
from riskeval.protection.rank_swap import rank_swap
from riskeval.protection.shuffle import shuffle
from riskeval.protection.top_coding import mv_top_code


def firms(n: int, p: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    return data.assign(group=rng.choice(list("abcdef"), n), other=rng.normal(size=n))


def loss_of(job: str, data: pd.DataFrame, names: list[str], **options: Any) -> None:
    def run() -> None:
        result = microaggregate(data, names, k=3, **options)
        print(f"loss {result.details['information_loss']:.4f} % | ", end="", flush=True)

    measure(job, f"{len(data):,} x {len(names)}", run)


def naive_mdav(x: np.ndarray, k: int) -> None:
    """The same groups by looking at all records left in every step, with NumPy."""
    left = np.arange(len(x))
    while len(left) >= 3 * k:
        place = int(np.argmax(np.square(x[left] - x[left].mean(axis=0)).sum(axis=1)))
        for turn in range(2):
            apart = np.square(x[left] - x[left[place]]).sum(axis=1)
            far = left[int(np.argmax(apart))]
            left = np.delete(left, np.argpartition(apart, k - 1)[:k])
            if turn == 0:
                place = int(np.searchsorted(left, far))


def main() -> None:
    warm = firms(200, 3)
    names = ["x0", "x1", "x2"]
    for method in ("mdav", "univariate-optimal", "gower", "mahalanobis", "cluster"):
        microaggregate(warm, names, method=method, seed=1)
    microaggregate(warm, names, method=MdavGroups(block=50))
    rank_swap(warm, names, seed=1)

    small = firms(20_000, 3)
    values = small[names].to_numpy()
    measure("MDAV, NumPy over all records left", "20,000 x 3", lambda: naive_mdav(values, 3))
    loss_of("MDAV, exact", small, names)
    middle = firms(100_000, 3)
    loss_of("MDAV, exact", middle, names)
    for block in (20_000, 5_000, 1_000):
        loss_of(f"MDAV, boxes of {block:,}", middle, names, method=MdavGroups(block))
    wide = firms(100_000, 10)
    ten = [f"x{j}" for j in range(10)]
    loss_of("MDAV, exact", wide, ten)
    loss_of("MDAV, boxes of 5,000", wide, ten, method=MdavGroups(5_000))
    large = firms(1_000_000, 3)
    for block in (20_000, 5_000):
        loss_of(f"MDAV, boxes of {block:,}", large, names, method=MdavGroups(block))
    for method in ("individual", "univariate-optimal", "pca", "robust-pca", "cluster"):
        loss_of(method, large, names, method=method, seed=1)
    loss_of("mahalanobis, boxes of 5,000", large, names, method=MahalanobisGroups(5_000), seed=1)
    loss_of("gower", small, [*names, "group"], method="gower", seed=1)

    others: dict[str, Callable[[], object]] = {
        f"noise, {method}": lambda method=method: add_noise(large, names, method=method, seed=1)
        for method in ("additive", "correlated", "correlated2", "restricted", "romm", "outlier")
    }
    others["rank swapping, 5 %"] = lambda: rank_swap(large, names, p=0.05, seed=1)
    others["shuffling by regression"] = lambda: shuffle(
        large, formula="x0 + x1 + x2 ~ group + other", seed=1
    )
    others["top coding by robust distances"] = lambda: mv_top_code(large, names)
    for job, run in others.items():
        measure(job, "1,000,000 x 3", run)


if __name__ == "__main__":
    main()
