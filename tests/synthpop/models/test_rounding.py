"""Controlled rounding of tables of expected counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synthpop.models.rounding import controlled_rounding

TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 7), st.integers(1, 6)),
    elements=st.one_of(st.floats(0, 30), st.integers(0, 3).map(float), st.just(0.2)),
)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(0, 1000))
def test_cells_and_all_totals_stay_within_one(table: np.ndarray, seed: int) -> None:
    counts = controlled_rounding(table, np.random.default_rng(seed))
    for axis in (None, 0, 1, ()):
        expected, made = np.sum(table, axis=axis), np.sum(counts, axis=axis)
        assert (made >= np.floor(expected - 1e-6)).all()
        assert (made <= np.ceil(expected + 1e-6)).all()


def test_every_cell_has_its_expectation() -> None:
    rng = np.random.default_rng(5)
    table = rng.gamma(0.5, 0.7, (6, 5))
    n = 4000
    mean = sum(controlled_rounding(table, rng) for _ in range(n)) / n
    fraction = table - np.floor(table)
    error = np.sqrt(fraction * (1 - fraction) / n)
    assert (np.abs(mean - table) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("shape", [(300, 1), (1, 12), (1500, 9)])
def test_many_small_cells_lose_nothing(shape: tuple[int, int]) -> None:
    table = np.full(shape, 0.3)
    counts = controlled_rounding(table, np.random.default_rng(1))
    assert abs(counts.sum() - table.sum()) < 1
    assert counts.max() == 1


def test_whole_numbers_stay_and_nothing_is_drawn_for_them() -> None:
    table = np.array([[3.0, 0.0], [300 * 1.4 - 400, 7.0]])  # 20 but for rounding errors
    for seed in range(5):
        got = controlled_rounding(table, np.random.default_rng(seed))
        assert got.tolist() == [[3, 0], [20, 7]]
