"""What is drawn around fitted values."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop import weighted
from synthpop.kernels.residuals import bound_stretches, draw_from_table
from synthpop.models.residuals import (
    around,
    log_constant,
    median_and_mad,
    residual_table,
    sorted_stretches,
    trimmed,
)


def test_trimming_uses_both_shares_and_the_weights() -> None:
    y = np.arange(1.0, 101.0)
    one = np.ones(100)
    assert y[trimmed(y, one, (0.0, 0.0))].tolist() == y.tolist()
    assert y[trimmed(y, one, (0.1, 0.0))].min() == 11
    assert y[trimmed(y, one, (0.0, 0.1))].max() == 89
    assert y[trimmed(y, one, (0.3, 0.4))].tolist() == list(range(31, 60))
    heavy = np.where(y == 1, 50.0, 1.0)
    assert y[trimmed(y, heavy, (0.1, 0.0))].min() == 2


@pytest.mark.parametrize(("n_between", "n_left"), [(30, 100), (38, 100), (40, 40), (42, 42)])
def test_ends_that_many_share_count_as_inside(n_between: int, n_left: int) -> None:
    """A tenth is cut at both ends; below 40 of 100 the rest would be less than half of 80."""
    n_end = (100 - n_between) // 2
    y = np.repeat([0.0, *range(1, n_between + 1), 99.0], [n_end, *[1] * n_between, n_end])
    assert trimmed(y, np.ones(100), (0.1, 0.1)).sum() == n_left


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
    centre, width = np.array([0.0, 10.0, 0.0]), np.zeros(3)
    bounds = np.full(3, -np.inf), np.full(3, np.inf)
    draw(rows, centre, start, stop, low, high, *bounds, width, table, cumulative, u, out)
    first, second, third = out[:1000], out[1000:2000], out[2000:]
    assert [int((first == x).sum()) for x in (-1, 0, 5)] == [200, 300, 500]
    assert [int((second == x).sum()) for x in (9, 10, 15)] == [0, 375, 625]
    assert [int((third == x).sum()) for x in (100, 200)] == [500, 500]


@pytest.mark.parametrize("draw", [draw_from_table, draw_from_table.py_func])
def test_kernel_spreads_entries_half_way_to_their_neighbours(draw) -> None:
    table, cumulative = np.array([0.0, 1.0, 4.0]), np.array([0.25, 0.5, 1.0])
    n = 4000
    u = (np.arange(n) + 0.5) / n
    out = np.empty(n)
    one, nothing = np.ones(1), np.zeros(1, np.int64)
    bounds = np.array([-0.4]), np.array([np.inf])
    draw(
        np.zeros(n, np.int64), 10 * one, nothing, nothing + 3, 0 * one, one, *bounds, one,
        table, cumulative, u, out,
    )  # fmt: skip
    first, second, third = out[:1000] - 10, out[1000:2000] - 10, out[2000:] - 10
    assert (np.diff(out) > 0).all()
    for drawn, low, middle, high in (
        (first, -0.4, 0.0, 0.5),  # the bound, half-way
        (second, 0.5, 1.0, 2.0),  # half-way, the width
        (third, 3.0, 4.0, 5.0),  # the width on both sides
    ):
        assert drawn[[0, -1]] == pytest.approx([low, high], abs=0.01)
        assert (drawn < middle).mean() == 0.5


@pytest.mark.parametrize("bound", [bound_stretches, bound_stretches.py_func])
def test_kernel_narrows_stretches(bound) -> None:
    table = np.array([-1.0, 0, 0, 5, 100, 200])
    start, stop = np.array([0, 0, 4, 1]), np.array([4, 4, 6, 3])
    first, last = np.empty(4, np.int64), np.empty(4, np.int64)
    least, most = np.array([-np.inf, 0.0, 150, 1]), np.array([0.0, np.inf, 200, 9])
    bound(table, start, stop, least, most, first, last)
    assert first.tolist() == [0, 1, 5, 3]
    assert last.tolist() == [3, 4, 6, 3]  # none is left of the last


def test_neighbours_against_the_naive_way() -> None:
    rng, reach = np.random.default_rng(0), 50
    fitted = np.sort(rng.integers(0, 400, 600).astype(float))
    for centre in rng.uniform(-10, 410, 50):
        a, b = (int(x[0]) for x in around(fitted, np.array([centre]), reach))
        assert b - a >= reach
        inside, outside = fitted[a:b], np.delete(fitted, np.arange(a, b))
        assert not np.isin(outside, inside).any()  # all that tie
        middle = int((fitted < centre).sum() + (fitted <= centre).sum())
        first = min(max((middle - reach) // 2, 0), len(fitted) - reach)
        assert set(fitted[first : first + reach]) == set(inside)
    alike = np.repeat([1.0, 2.0, 3.0], [40, 60, 40])
    a, b = around(alike, np.array([1.0, 2.0, 3.0]), reach)
    assert (a.tolist(), b.tolist()) == ([0, 40, 40], [100, 100, 140])
    a, b = around(np.array([1.0, 2.0]), np.array([5.0]), reach)
    assert (a[0], b[0]) == (0, 2)


def test_stretches_against_the_naive_way() -> None:
    rng = np.random.default_rng(1)
    residuals, weights = rng.gamma(1, 3, 90).round(1), rng.uniform(1, 5, 90)
    start = rng.integers(0, 60, 12)
    start[3], stop = start[8], start + rng.integers(1, 30, 12)
    stop[3] = stop[8]
    found = sorted_stretches(start, stop, residuals, weights)
    for c in range(12):
        r, w = residuals[start[c] : stop[c]], weights[start[c] : stop[c]]
        order = np.argsort(r, kind="stable")
        here = slice(found.start[c], found.stop[c])
        assert found.table[here].tolist() == r[order].tolist()
        assert np.allclose(found.cumulative[here], np.cumsum(w[order]) / w.sum())
        assert found.cumulative[here][-1] == 1.0
        sd = np.sqrt(np.average((r - np.average(r, weights=w)) ** 2, weights=w))
        low, high = weighted.quantile(r, w, [0.25, 0.75])
        spread = min(sd, (high - low) / 1.349) if high > low else sd
        assert found.width[c] == pytest.approx(0.225 * spread * len(r) ** -0.2, abs=1e-9)
    assert found.start[3] == found.start[8]  # a stretch is held once


@pytest.mark.parametrize(
    ("values", "constant"),
    [([0.0, 1, 2, 3], 2.0), ([0.0, 0.25, 0.5, 0.75], 0.5), ([1e-9, 1, 2, 3], 0.0),
     ([-1.0, 1, 1, 1, 1], 3.0), ([-2.0, -2, -2], 3.0), ([-3.0, 0, 4, 9], 10.0)],
)  # fmt: skip
def test_the_constant_of_the_logarithm(values: list[float], constant: float) -> None:
    """The quartiles 0 and 2; a gap of 2 to the next value; one without another; -3 and 4."""
    assert log_constant(np.array(values), np.ones(len(values))) == constant
