"""One covariance for measures, protection and utility: robust, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.microdata.statistics import robust as module
from synthpop.microdata.statistics.robust import (
    Scatter,
    classical,
    correlations,
    robust,
    root,
    scatter,
    squared_distances,
    whitened,
)


def test_far_cluster_is_ignored_and_the_size_is_right() -> None:
    rng = np.random.default_rng(3)
    mixing = np.array([[2.0, 0.0], [1.0, 1.0]])
    good = rng.normal(size=(2000, 2)) @ mixing
    bad = rng.normal(40, 1, size=(750, 2))
    estimates = robust(np.vstack([good, bad]))
    np.testing.assert_allclose(estimates.center, 0, atol=0.15)
    ratio = estimates.covariance / (mixing.T @ mixing)  # the shape is kept, the size is wider
    assert np.abs(ratio / ratio[0, 0] - 1).max() < 0.08
    assert 1 < ratio[0, 0] < 2.1
    clean = robust(good)
    assert clean.fallback == ""
    assert np.abs(clean.covariance / (mixing.T @ mixing) - 1).max() < 0.1


@pytest.mark.parametrize("n", [60, 600])
def test_neither_order_nor_unit_matters(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.lognormal(0, 1, (n, 2)) @ np.array([[1.0, 0.4], [0.0, 1.0]])
    first = robust(values)
    order = rng.permutation(n)
    again = robust(values[order])
    np.testing.assert_allclose(again.covariance, first.covariance, rtol=1e-12)
    scale = np.array([1000.0, 0.001])
    scaled = robust(values * scale)
    np.testing.assert_allclose(scaled.covariance, first.covariance * np.outer(scale, scale), 1e-6)


def test_small_files_find_the_smallest_of_many_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    values = np.vstack([rng.normal(m, 0.5, (40, 2)) for m in (0, 3, 6, 9)])
    few = robust(values)
    monkeypatch.setattr(module, "SEARCHES", 20)
    assert np.linalg.det(robust(values).covariance) == pytest.approx(
        np.linalg.det(few.covariance), rel=1e-9
    )


def test_large_files_are_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_POINTS", 700)
    values = np.random.default_rng(2).normal(size=(5000, 3))
    estimates = robust(values)
    np.testing.assert_allclose(estimates.covariance, np.eye(3), atol=0.1)
    np.testing.assert_array_equal(robust(values[::-1]).covariance, estimates.covariance)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.c_[np.arange(4.0), np.arange(4.0) ** 2], "4 complete records are too few"),
        (np.c_[np.zeros(50), np.arange(50.0)], "plane"),
        (np.c_[np.r_[np.zeros(30), np.arange(20.0)], np.arange(50.0)], "plane"),
        (np.c_[np.arange(50.0), 2 * np.arange(50.0)], "plane"),
        (np.empty((0, 2)), "too few"),
    ],
)
def test_classical_estimates_stand_in_and_say_so(values: np.ndarray, word: str) -> None:
    estimates = robust(values)
    assert word in estimates.fallback
    np.testing.assert_allclose(estimates.covariance, classical(values).covariance)


def test_one_classical_covariance_has_the_divisor_n_minus_one() -> None:
    values = np.random.default_rng(1).normal(size=(5, 2))
    plain = scatter(values, "classical")
    np.testing.assert_allclose(plain.covariance, np.cov(values.T))
    weighted = classical(values, np.full(5, 7.0))
    np.testing.assert_allclose(weighted.covariance, plain.covariance)
    assert classical(values[:1]).covariance.tolist() == [[0, 0], [0, 0]]


def test_distances_of_a_singular_cloud_use_its_plane() -> None:
    x = np.c_[np.arange(10.0), 2 * np.arange(10.0), np.ones(10)]
    cloud = classical(x)
    assert whitened(x, cloud).shape == (10, 1)
    one = classical(x[:, :1])
    np.testing.assert_allclose(squared_distances(x, cloud), squared_distances(x[:, :1], one))


def test_example_of_classical() -> None:
    assert classical(np.array([[0.0], [2.0]])).covariance.tolist() == [[2.0]]
    assert classical(np.array([[0.0], [3.0]]), np.array([2.0, 1.0])).center.tolist() == [1.0]


def test_example_of_robust() -> None:
    rng = np.random.default_rng(1)
    values = np.r_[rng.normal(size=(900, 2)), rng.normal(50, 1, size=(100, 2))]
    estimates = robust(values)
    assert (
        bool(np.abs(estimates.center).max() < 0.1),
        bool(np.trace(estimates.covariance) < 4),
    ) == (True, True)


def test_example_of_whitened() -> None:
    cloud = Scatter(np.zeros(2), np.diag([4.0, 1.0]))
    assert np.abs(whitened(np.array([[2.0, 0.0]]), cloud)).sum().item() == 1.0


def test_example_of_squared_distances() -> None:
    cloud = Scatter(np.zeros(2), np.diag([4.0, 1.0]))
    assert squared_distances(np.array([[2.0, 0.0], [0.0, 2.0]]), cloud).tolist() == [1.0, 4.0]


def test_example_of_root() -> None:
    R = root(np.array([[4.0, 2.0], [2.0, 1.0]]))
    assert np.round(R.T @ R, 9).tolist() == [[4.0, 2.0], [2.0, 1.0]]


def test_example_of_correlations() -> None:
    assert (
        repr(correlations(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])).tolist())
        == "[[1.0, nan], [nan, nan]]"
    )
