"""Distances between records on the variables that both have: worked numbers and limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import record_linkage
from riskeval.measures.linkage import distances
from riskeval.measures.linkage.distances import (
    Ranks,
    assign_one_to_one,
    column_spreads,
    partial_distances,
    patterns_of,
    rank_by_tree,
)
from synthpop.microdata.messages.errors import InputError

NAN = np.nan


def as_they_are(x: np.ndarray, y: np.ndarray, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x[:, shared], y[:, shared]


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 0.5, 1.0, 7.0, 1e200])
def test_spreads_are_standard_deviations_in_any_unit(unit: float) -> None:
    """Of 1 and 3 the root of 2; of one value, of equal ones and of zeros none."""
    values = np.array([[1, 2, NAN, 0], [3, 2, 5, 0], [NAN, 2, NAN, 0]]) * unit
    np.testing.assert_allclose(column_spreads(values), [np.sqrt(2) * unit, 1, 1, 1], rtol=1e-12)
    assert column_spreads(np.array([[np.inf], [1.0]])).tolist() == [1]
    assert column_spreads(np.empty((0, 2))).tolist() == [1, 1]


def test_rows_by_what_they_know() -> None:
    rows, patterns = patterns_of(np.array([[1.0, NAN], [NAN, NAN], [2.0, 3.0], [4.0, NAN]]))
    assert patterns.tolist() == [[False, False], [True, False], [True, True]]
    assert [(number, of_pattern.tolist()) for number, of_pattern in rows] == [
        (0, [1]), (1, [0, 3]), (2, [2]),
    ]  # fmt: skip


@pytest.mark.parametrize(("norm", "full", "half"), [(1, 7.0, 6.0), (2, 5.0, 3 * np.sqrt(2))])
def test_a_distance_on_one_of_two_variables_counts_for_both(
    norm: int, full: float, half: float
) -> None:
    """Gaps 3 and 4; where the second is missing, 3 twice, or times the root of two."""
    x = np.array([[0.0, 0.0], [0.0, NAN], [NAN, 1.0]])
    y = np.array([[3.0, 4.0], [3.0, 9.0], [3.0, NAN], [5.0, 5.0]])
    truth = np.array([0, 1, 2, -1])
    found = partial_distances(x, y, truth, norm, as_they_are)
    np.testing.assert_allclose(found, [full, half, NAN, NAN])


def test_ranks_of_four_records_on_a_line() -> None:
    """Originals at 0, 1, 1 and 5; the released ones belong to the first, second, last and none."""
    x, y = np.array([[0.0], [1.0], [1.0], [5.0]]), np.array([[0.4], [1.1], [2.0], [4.0]])
    ranks = rank_by_tree(x, y, np.array([0, 1, 3, -1]), 2, as_they_are)
    assert ranks.best.tolist() == [0, 1, 1, 3]
    np.testing.assert_allclose(ranks.score, [0.4, 0.1, 1.0, 1.0])
    np.testing.assert_allclose(ranks.own_score, [0.4, 0.1, 3.0, NAN])
    assert ranks.nearer[:2].tolist() == [0, 0]
    assert ranks.nearer[2] >= 2  # both at 1 are nearer than 5, and so is 0
    assert ranks.ties.tolist() == [1, 2, 1, 0]
    # as near on both sides: 0.5 lies between 0 and the two at 1
    middle = rank_by_tree(x, np.array([[0.5]]), np.array([0]), 2, as_they_are)
    assert (middle.nearer.tolist(), middle.ties.tolist()) == ([0], [3])


def test_the_smallest_sum_of_distances() -> None:
    """One by one both released records are nearest to 0; the pairs (0, -3) and (4, 1) are best."""
    x, y = np.array([[0.0], [4.0]]), np.array([[1.0], [-3.0]])
    ranks = assign_one_to_one(x, y, np.array([1, 0]), 1, as_they_are)
    assert ranks.best.tolist() == [1, 0]
    assert ranks.score.tolist() == ranks.own_score.tolist() == [3, 3]
    assert ranks.ties.tolist() == [1, 1]
    wrong = assign_one_to_one(x, y, np.array([0, -1]), 1, as_they_are)
    assert wrong.ties.tolist() == [0, 0]
    np.testing.assert_array_equal(wrong.own_score, [1, NAN])
    # who shares no variable with anybody is not linked
    lost = assign_one_to_one(x, np.array([[NAN], [4.0]]), np.array([0, 1]), 1, as_they_are)
    assert lost.best.tolist() == [-1, 1]


def test_ranks_of_blocks_are_put_together() -> None:
    ranks = Ranks.empty(3)
    block = Ranks(np.array([1, -1]), *(np.array([k, k + 1.0]) for k in (0.5, 2.5)),
                  np.array([0, 1]), np.array([1, 2]))  # fmt: skip
    ranks.put(np.array([2, 0]), np.array([7, 9]), block)
    assert ranks.best.tolist() == [-1, -1, 9]
    np.testing.assert_array_equal(ranks.score, [1.5, NAN, 0.5])
    np.testing.assert_array_equal(ranks.own_score, [3.5, NAN, 2.5])
    assert (ranks.nearer.tolist(), ranks.ties.tolist()) == ([1, 0, 0], [2, 0, 1])


def test_so_many_pairs_and_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, truth = np.array([[0.0], [4.0]]), np.arange(3.0)[:, None], np.array([0, 1, -1])
    monkeypatch.setattr(distances, "MOST_PAIRS", 6)
    assert assign_one_to_one(x, y, truth, 1, as_they_are).best.tolist()[0] == 0
    monkeypatch.setattr(distances, "MOST_PAIRS", 5)
    with pytest.raises(InputError, match="3 x 2 pairs are too many"):
        assign_one_to_one(x, y, truth, 1, as_they_are)
    holes = np.array([[1.0, NAN], [1.0, 2.0], [NAN, 2.0]])
    monkeypatch.setattr(distances, "MOST_PATTERNS", 9)
    rank_by_tree(holes, holes, truth, 2, as_they_are)
    monkeypatch.setattr(distances, "MOST_PATTERNS", 8)
    with pytest.raises(InputError, match="missing in 3 x 3 combinations"):
        rank_by_tree(holes, holes, truth, 2, as_they_are)


@pytest.mark.parametrize("method", ["distance", "mahalanobis"])
def test_originals_that_tie_for_the_second_place_share_the_second_guess(method: str) -> None:
    original = pd.DataFrame({"x": [0.0, 10.0, 10.0, 100.0]})
    released = pd.DataFrame({"x": [0.0, 1.0, 10.0, 100.0]})
    linkage = record_linkage(original, released, ["x"], method=method)
    # the second record: one original is nearer, two are as near as its own
    assert linkage.linked_second.tolist() == [False, True, False, False]
    assert linkage.expected_rate_two == (1 + 1 / 2 + 1 + 1) / 4


def expected_rate_two(original: np.ndarray, released: np.ndarray) -> float:
    """Chance that one of two guesses is right, ties broken at random, record by record."""
    chances = []
    for i, point in enumerate(released):
        shared = ~np.isnan(original) & ~np.isnan(point)
        scale = np.sqrt(
            original.shape[1] / np.where(shared.any(axis=1), shared.sum(axis=1), np.nan)
        )
        distances = scale * np.sqrt(np.nansum((original - point) ** 2, axis=1))
        nearer = int((distances < distances[i] - 1e-9).sum())
        ties = int((np.abs(distances - distances[i]) <= 1e-9).sum())
        if ties == 0 or nearer > 1:
            chances.append(0.0)
        else:
            chances.append(min((2 - nearer) / ties, 1.0))
    return float(np.mean(chances))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_two_guesses_among_points_of_a_grid(seed: int, holes: float) -> None:
    rng = np.random.default_rng(seed)
    original, released = (rng.integers(0, 3, (25, 2)).astype(float) for _ in range(2))
    for values in (original, released):
        values[rng.random(values.shape) < holes] = np.nan
    names = ["a", "b"]
    linkage = record_linkage(
        pd.DataFrame(original, columns=names), pd.DataFrame(released, columns=names), names,
        standardise="none",
    )  # fmt: skip
    assert linkage.expected_rate_two == pytest.approx(expected_rate_two(original, released))
