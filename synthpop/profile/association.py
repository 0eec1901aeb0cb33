"""How much one column tells of another, and whether members of a household go together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from synthpop.microdata.statistics.distances import expected_total_variation

NUMBER_CLASSES = 10
MOST_CELLS = 2**36  # combinations of predictors; age, sex, size and members before come to them
MANY_CANDIDATES, ROWS_FIRST = 100, 2_000
NOISE_FACTOR = 3.0
LEAST_DISTANCE, NOISE_TIMES = 0.03, 1.25
LEAST_CORRELATION = 0.05
Z_LIMIT = 3.0


def classes_of_number(values: np.ndarray) -> np.ndarray:
    """Return codes of a number: zero, missing, and tenths of the other values."""
    codes = np.zeros(len(values), dtype=np.int64)
    is_amount = np.isfinite(values) & (values != 0)
    if is_amount.any():
        limits = np.unique(
            np.quantile(values[is_amount], np.linspace(0, 1, NUMBER_CLASSES + 1)[1:-1])
        )
        codes[is_amount] = 2 + np.searchsorted(limits, values[is_amount], side="right")
    codes[~np.isfinite(values)] = 1
    return np.unique(codes, return_inverse=True)[1]


def information(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float:
    """Mutual information of two coded columns in nats, less what chance gives on average.

    Examples
    --------
    >>> codes, w = np.arange(1000) % 2, np.ones(1000)
    >>> round(float(information(codes, codes, w)), 2), float(information(codes, codes // 2, w))
    (0.69, 0.0)
    """
    k, m = int(a.max()) + 1, int(b.max()) + 1
    joint = np.bincount(a * m + b, weights, minlength=k * m).reshape(k, m)
    p = joint / joint.sum()
    expected = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    occurs = p > 0
    entropy = float((p[occurs] * np.log(p[occurs] / expected[occurs])).sum())
    levels = ((p.sum(axis=1) > 0).sum() - 1) * ((p.sum(axis=0) > 0).sum() - 1)
    chance = levels * float(np.square(weights / weights.sum()).sum()) / 2
    return float(max(0.0, entropy - NOISE_FACTOR * chance))


def members_depend(
    codes: np.ndarray, cells: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], n_levels: int
) -> bool:
    """Whether levels of two members go together beyond what their cells of age and sex explain.

    The total variation distance of the crossed levels from those drawn by the shares of their cells
    must be 3 %, and a quarter more than chance lets expect. Levels may be alike or complementary.
    """
    first, second = pairs
    if not len(first):
        return False
    n_cells = int(cells.max()) + 1
    table = np.bincount(cells * n_levels + codes, minlength=n_cells * n_levels).astype(float)
    table = table.reshape(n_cells, n_levels)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    expected = shares[cells[first]].T @ shares[cells[second]]
    counts = np.bincount(codes[first] * n_levels + codes[second], minlength=n_levels**2)
    distance = float(np.abs(counts - expected.reshape(-1)).sum()) / (2 * len(first))
    chance = expected_total_variation(expected.reshape(-1) / len(first), float(len(first)))
    return distance > max(LEAST_DISTANCE, NOISE_TIMES * chance)


def members_correlate(
    values: np.ndarray, cells: np.ndarray, pairs: tuple[np.ndarray, np.ndarray]
) -> bool:
    """Whether a number of members is correlated beyond what their cells of age and sex explain."""
    finite = np.isfinite(values)
    if not finite.any():
        return False
    ranks = np.zeros(len(values))
    ranks[finite] = np.argsort(np.argsort(values[finite])) / max(int(finite.sum()) - 1, 1)
    n_cells = int(cells.max()) + 1
    numbers = np.bincount(cells[finite], minlength=n_cells)
    means = np.bincount(cells[finite], ranks[finite], minlength=n_cells) / np.maximum(numbers, 1)
    residuals = ranks - means[cells]
    first, second = pairs
    has_both = finite[first] & finite[second]
    a, b = residuals[first[has_both]], residuals[second[has_both]]
    if len(a) < 30 or not (a.std() > 0 and b.std() > 0):
        return False
    correlation = float(np.corrcoef(np.append(a, b), np.append(b, a))[0, 1])
    return correlation > max(LEAST_CORRELATION, Z_LIMIT / float(np.sqrt(len(a))))


def most_informative(
    target: np.ndarray, candidates: Sequence[tuple[str, np.ndarray]], weights: np.ndarray, most: int
) -> list[str]:
    """Return the candidates that tell most of the target, in their own order; none by chance.

    They are `most` at most, and have no more than `MOST_CELLS` combinations.
    """
    considered = candidates
    if len(candidates) > MANY_CANDIDATES:  # the likeliest of some rows are looked at in all
        some = slice(None, None, max(1, len(target) // ROWS_FIRST))
        first = {
            n: information(target[some], codes[some], weights[some]) for n, codes in candidates
        }
        likely = sorted(first, key=lambda name: -first[name])[: MANY_CANDIDATES // 2]
        considered = [(name, codes) for name, codes in candidates if name in likely]
    explained = {name: information(target, codes, weights) for name, codes in considered}
    ranked = sorted(
        (name for name in explained if explained[name] > 0), key=lambda name: -explained[name]
    )
    sizes = {name: int(codes.max()) + 1 for name, codes in candidates}
    names: set[str] = set()
    for name in ranked:
        if len(names) < most and prod(sizes[n] for n in (*names, name)) <= MOST_CELLS:
            names.add(name)
    return [name for name, _ in candidates if name in names]
