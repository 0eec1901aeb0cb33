"""What is drawn around fitted values."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop import weighted
from synthpop.kernels.residuals import draw_from_table
from synthpop.models.residuals import log_constant, median_and_mad, residual_table, trimmed


def test_trimming_uses_both_shares_and_the_weights() -> None:
    y = np.arange(1.0, 101.0)
    one = np.ones(100)
    assert y[trimmed(y, one, (0.0, 0.0))].tolist() == y.tolist()
    assert y[trimmed(y, one, (0.1, 0.0))].min() == 11
    assert y[trimmed(y, one, (0.0, 0.1))].max() == 89
    assert y[trimmed(y, one, (0.3, 0.4))].tolist() == list(range(31, 60))
    heavy = np.where(y == 1, 50.0, 1.0)
    assert y[trimmed(y, heavy, (0.1, 0.0))].min() == 2


def test_trimming_never_leaves_nothing() -> None:
    assert trimmed(np.full(5, 3.0), np.ones(5), (0.01, 0.01)).all()
    y = np.array([1.0, 2, 2, 2, 2, 3])
    assert trimmed(y, np.ones(6), (0.3, 0.3)).tolist() == [False, True, True, True, True, False]


def test_table_of_residuals() -> None:
    table, cumulative = residual_table(np.array([3.0, -1.0, 0.5]), np.array([1.0, 2.0, 1.0]))
    assert table.tolist() == [-1.0, 0.5, 3.0]
    assert cumulative.tolist() == [0.5, 0.75, 1.0]


def test_median_and_mad_are_weighted() -> None:
    x = np.random.default_rng(0).normal(3, 2, 20_000)
    middle, spread = median_and_mad(x, np.ones(len(x)))
    assert abs(middle - 3) < 0.1
    assert abs(spread - 2) < 0.1
    heavy, _ = median_and_mad(x, np.where(x > 3, 9.0, 1.0))
    assert heavy > 3.5
    assert np.isclose(heavy, weighted.quantile(x, np.where(x > 3, 9.0, 1.0), [0.5])[0])


def test_constant_of_the_logarithm() -> None:
    w = np.ones(4)
    assert log_constant(np.array([1.0, 2, 3, 4]), w) == 0.0
    y = np.array([-10.0, 0, 30, 50])
    assert (y + log_constant(y, w)).min() > 0
    assert log_constant(y, w) != log_constant(y, np.array([1.0, 1, 9, 9]))
    assert (np.full(3, -2.0) + log_constant(np.full(3, -2.0), np.ones(3))).min() > 0
    ties = np.array([-1.0, -1, -1, -1, 4])
    assert (ties + log_constant(ties, np.ones(5))).min() > 0


@pytest.mark.parametrize("draw", [draw_from_table, draw_from_table.py_func])
def test_kernel_draws_from_its_stretch(draw) -> None:
    table = np.array([-1.0, 0.0, 5.0, 100.0, 200.0])
    cumulative = np.array([0.2, 0.5, 1.0, 0.5, 1.0])
    rows = np.repeat(np.arange(3), 1000)
    u = np.tile((np.arange(1000) + 0.5) / 1000, 3)
    out = np.empty(3000)
    start, stop = np.array([0, 0, 3]), np.array([3, 3, 5])
    low, high = np.array([0.0, 0.2, 0.0]), np.array([1.0, 1.0, 1.0])
    draw(rows, np.array([0.0, 10.0, 0.0]), start, stop, low, high, table, cumulative, u, out)
    first, second, third = out[:1000], out[1000:2000], out[2000:]
    assert [int((first == x).sum()) for x in (-1, 0, 5)] == [200, 300, 500]
    assert [int((second == x).sum()) for x in (9, 10, 15)] == [0, 375, 625]
    assert [int((third == x).sum()) for x in (100, 200)] == [500, 500]
