"""Nearest records by groups are those of all pairs, whatever is missing, infinite or equal."""

from __future__ import annotations

import numpy as np
import pytest

from riskeval.attacks.neighbours import Neighbours

WEIGHTS = np.array([1.0, 0.5]), np.array([1.0, 2.0, 1.0])


def drawn(n: int, seed: int, holes: float) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers, one of which is often equal, and three codes."""
    rng = np.random.default_rng(seed)
    numbers = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n)])
    codes = rng.integers(0, [2, 5, 9], (n, 3)).astype(np.int32)
    numbers[rng.random((n, 2)) < holes] = np.nan
    numbers[rng.random((n, 2)) < holes / 4] = np.inf
    codes[rng.random((n, 3)) < holes] = -1
    return numbers, codes


def all_pairs(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], ranges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each record of the other file to each of the one, and what was compared."""
    with np.errstate(invalid="ignore"):
        gaps = np.abs(one[0][None] - other[0][:, None])
    parts = np.where(np.isinf(gaps), 1.0, gaps / ranges)
    differ = np.where(
        (one[1][None] < 0) | (other[1][:, None] < 0), np.nan, one[1][None] != other[1][:, None]
    )
    values = np.concatenate([differ, parts], axis=2)
    weights = np.concatenate([WEIGHTS[1], WEIGHTS[0]])
    compared = (weights * ~np.isnan(values)).sum(axis=2)
    total = np.nansum(weights * values, axis=2)
    return np.where(compared > 0, total / np.maximum(compared, 1e-9), 1.0), compared


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("copies", [1, 3])
def test_nearest_and_ties_are_those_of_all_pairs(holes: float, copies: int) -> None:
    one, other = drawn(150, 1, holes), drawn(40, 2, holes)
    one = np.tile(one[0], (copies, 1)), np.tile(one[1], (copies, 1))
    ranges = np.array([6.0, 3.0])
    neighbours = Neighbours(*one, ranges, WEIGHTS)
    distances, compared = all_pairs(one, other, ranges)
    found = neighbours.nearest(*other, 4)
    np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :4])
    skip = distances.argmin(axis=1)
    left = neighbours.nearest(*other, 1, skip)
    np.put_along_axis(distances, skip[:, None], np.inf, axis=1)
    np.testing.assert_allclose(left[:, 0], distances.min(axis=1))
    distances, compared = all_pairs(one, other, ranges)
    for hole in (0.0, 1e-6):
        with_holes = distances + hole * (5.5 - compared)
        if hole:
            with_holes[2 * compared < 5.5] = np.inf
        least = with_holes.min(axis=1, keepdims=True)
        expected = np.nonzero((with_holes <= least + 1e-9) & np.isfinite(least))
        asked, near = neighbours.ties(*other, 1e-9, hole)
        np.testing.assert_array_equal(asked, expected[0])
        np.testing.assert_array_equal(near, expected[1])


def test_equal_records_are_one_group() -> None:
    numbers, codes = np.zeros((30, 1)), np.zeros((30, 1), dtype=np.int32)
    neighbours = Neighbours(numbers, codes, np.zeros(1), (np.ones(1), np.ones(1)))
    assert len(neighbours.ties(numbers[:1], codes[:1], 0.0)[1]) == 30
    assert neighbours.nearest(numbers[:1], codes[:1] + 1, 31)[0].tolist() == [0.5] * 30 + [np.inf]
