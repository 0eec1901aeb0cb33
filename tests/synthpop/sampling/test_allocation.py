from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop.microdata.messages.errors import InputError
from synthpop.sampling.allocation import Fixed, Neyman, Power, Proportional, allocate


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 60)), min_size=1, max_size=8),
    st.integers(0, 3),
    st.floats(0, 1),
)
def test_allocation_obeys_its_limits(
    strata: list[tuple[int, int]], minimum: int, place: float
) -> None:
    shares, sizes = (np.array(column) for column in zip(*strata, strict=True))
    least, most = np.minimum(minimum, sizes).sum(), sizes.sum()
    n = int(least + round(place * (most - least)))
    got = allocate(shares, sizes, n, minimum=minimum)
    assert got.sum() == n
    assert (got <= sizes).all()
    assert (got >= np.minimum(minimum, sizes)).all()


def test_largest_remainder() -> None:
    assert allocate([3.3, 3.3, 3.4], [99, 99, 99], 10).tolist() == [3, 3, 4]
    assert allocate([1, 1, 8], [99, 99, 2], 10, minimum=0).tolist() == [4, 4, 2]
    assert allocate([0, 0], [5, 5], 4).tolist() == [2, 2]


def test_neyman_has_the_smallest_variance() -> None:
    units, sd = np.array([100, 60, 40]), np.array([1.0, 4.0, 9.0])

    def variance(n: np.ndarray) -> float:
        return float((units**2 * sd**2 * (1 / n - 1 / units)).sum())

    best = Neyman(30, "x").sizes(units, {"sd": sd, "total": units * 1.0})
    for i in range(3):
        for j in range(3):
            moved = best + np.eye(3, dtype=int)[i] - np.eye(3, dtype=int)[j]
            if i != j and (moved > 0).all() and (moved <= units).all():
                assert variance(best) <= variance(moved) + 1e-9


def test_power_lies_between() -> None:
    units = np.array([1000, 100])
    moments = {"sd": np.array([2.0, 2.0]), "total": np.array([2000.0, 200.0])}
    neyman = Neyman(110, "x").sizes(units, moments)
    same = Power(110, "x", exponent=1.0).sizes(units, moments)
    assert same.tolist() == neyman.tolist() == [100, 10]
    half = Power(110, "x").sizes(units, moments)
    assert neyman[1] < half[1] < Power(110, "x", exponent=0.0).sizes(units, moments)[1]
    assert Power(110).sizes(units, {}).tolist() == Power(110, "x").sizes(units, moments).tolist()
    assert Power(110, minimum=50).sizes(units, {}).tolist() == [60, 50]
    none = {"sd": np.zeros(2), "total": np.zeros(2)}
    assert Power(10, "x").sizes(units, none).sum() == 10


def test_minimum_and_fixed() -> None:
    units = np.array([1000, 10, 2])
    assert Proportional(50, minimum=5).sizes(units, {}).tolist() == [43, 5, 2]
    assert Neyman(50, "x", minimum=5).sizes(units, {"sd": np.ones(3)}).tolist() == [43, 5, 2]
    assert Fixed(5).sizes(units, {}).tolist() == [5, 5, 2]


def test_faults() -> None:
    with pytest.raises(InputError, match="cannot be spread"):
        allocate([1, 1], [3, 3], 7)
    with pytest.raises(InputError, match="cannot be spread"):
        allocate([1, 1], [30, 30], 7, minimum=5)
    with pytest.raises(InputError, match="negative"):
        allocate([-1, 1], [3, 3], 2)
