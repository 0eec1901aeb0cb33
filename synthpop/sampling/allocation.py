"""Sizes of the sample in each stratum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.statistics.weighted import as_numbers

MOST_UNITS = 10**15
"""Units of a stratum that can be counted one by one."""


def allocate(
    shares: npt.ArrayLike, sizes: npt.ArrayLike, n: int, *, minimum: int = 1
) -> np.ndarray:
    """Split a sample over strata in proportion to shares, in whole numbers.

    Parameters
    ----------
    shares : array, shape (H,)
        Not negative.
    sizes : int array, shape (H,)
        Units in each stratum; no stratum gets more, the surplus goes to the others.
    n : int
    minimum : int
        Least number in a stratum (or all units of a smaller one).

    Returns
    -------
    int array, shape (H,)
        Sums to n; rounded by largest remainder.

    Raises
    ------
    InputError
        n cannot be reached between the minima and the sizes; negative shares.

    Examples
    --------
    >>> allocate([5, 3, 2], [1000, 1000, 10], 100).tolist()
    [56, 34, 10]
    """
    faults = Faults("allocation")
    share, room = as_numbers(faults, shares, "shares"), as_numbers(faults, sizes, "sizes")
    if not faults and not bool(np.all(np.isfinite(room) & (room >= 0))):
        faults.add("sizes", "are missing or negative", hint="Give the units of each stratum.")
    if not faults and len(share) != len(room):
        what = f"are {len(share)}, the sizes {len(room)}"
        faults.add("shares", what, hint="Give one share and one size a stratum.")
    if not faults and (room > MOST_UNITS).any():
        what = f"are above {count(MOST_UNITS)}"
        faults.add("sizes", what, hint="Give the units of each stratum.")
    faults.raise_if_any()
    limit = room.astype(np.int64)
    floor = np.minimum(minimum, limit)
    if not bool(np.all(np.isfinite(share) & (share >= 0))):
        faults.add("shares", "are missing or negative")
    if not int(floor.sum()) <= n <= int(limit.sum()):
        faults.add(
            "n",
            f"{plural(n, 'unit')} cannot be spread: strata hold {int(limit.sum())}, minima add up "
            f"to {int(floor.sum())}",
            hint="Change n or minimum.",
        )
    faults.raise_if_any()
    result = np.zeros(len(share))
    free = np.ones(len(share), dtype=bool)
    remaining = float(n)
    for _ in range(2 * len(share) + 1):
        weight = share[free] if share[free].sum() > 0 else np.ones(int(free.sum()))
        result[free] = remaining * weight / weight.sum()
        over = free & (result > limit)
        under = free & (result < floor)
        if not over.any() and not under.any():
            break
        # fix the side that is violated more, so that the loop ends at a solution
        excess = float((result - limit)[over].sum())
        lack = float((floor - result)[under].sum())
        fixed = over if excess >= lack else under
        result[fixed] = (limit if excess >= lack else floor)[fixed]
        remaining -= float(result[fixed].sum())
        free &= ~fixed
        if not free.any():
            break
    return _whole(result, limit, floor, n)


def _whole(target: np.ndarray, limit: np.ndarray, floor: np.ndarray, n: int) -> np.ndarray:
    base = np.clip(np.floor(target + 1e-9).astype(np.int64), floor, limit)
    gap = n - int(base.sum())
    while gap != 0:
        step = 1 if gap > 0 else -1
        room = base < limit if step > 0 else base > floor
        order = np.argsort(-step * (target - base), kind="stable")
        strata = order[room[order]][: abs(gap)]
        base[strata] += step
        gap -= step * len(strata)
    return base


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same number in each stratum.

    Attributes
    ----------
    n : int
        Per stratum.

    Examples
    --------
    >>> Fixed(5).sizes(np.array([100, 3]), {}).tolist()
    [5, 3]
    """

    n: int
    variable: ClassVar[None] = None

    def sizes(self, units: np.ndarray, moments: dict[str, np.ndarray]) -> np.ndarray:
        """Return the sizes, shape (H,); a smaller stratum is taken whole."""
        return np.minimum(units, self.n)


@dataclass(frozen=True, slots=True)
class Proportional:
    """In proportion to the number of units.

    Attributes
    ----------
    n : int
        In all.
    minimum : int
        Least number in a stratum.

    Examples
    --------
    >>> Proportional(10).sizes(np.array([60, 40]), {}).tolist()
    [6, 4]
    """

    n: int
    minimum: int = 1
    variable: ClassVar[None] = None

    def sizes(self, units: np.ndarray, moments: dict[str, np.ndarray]) -> np.ndarray:
        """Return the sizes, shape (H,)."""
        return allocate(units, units, self.n, minimum=self.minimum)


@dataclass(frozen=True, slots=True)
class Neyman:
    """In proportion to units times standard deviation: the smallest variance of the total.

    Attributes
    ----------
    n : int
        In all.
    variable : str
        Column of the population (or a good proxy) whose total is wanted.
    minimum : int

    Examples
    --------
    >>> Neyman(10, "x").sizes(np.array([50, 50]), {"sd": np.array([3.0, 1.0])}).tolist()
    [8, 2]
    """

    n: int
    variable: str
    minimum: int = 1

    def sizes(self, units: np.ndarray, moments: dict[str, np.ndarray]) -> np.ndarray:
        """Return the sizes, shape (H,)."""
        return allocate(units * moments["sd"], units, self.n, minimum=self.minimum)


@dataclass(frozen=True, slots=True)
class Power:
    """In proportion to a power of the stratum total times the coefficient of variation.

    Attributes
    ----------
    n : int
        In all.
    variable : str or None
        Column whose totals and coefficients of variation count. None: a power of the number of
        units alone.
    exponent : float
        0: as good as can be in every stratum (equal sizes without a variable); 1: Neyman.
    minimum : int

    Notes
    -----
    Bankier (1988), doi:10.1080/00031305.1988.10475556.

    Examples
    --------
    >>> Power(12, exponent=0.5).sizes(np.array([100, 25]), {}).tolist()
    [8, 4]
    """

    n: int
    variable: str | None = None
    exponent: float = 0.5
    minimum: int = 1

    def sizes(self, units: np.ndarray, moments: dict[str, np.ndarray]) -> np.ndarray:
        """Return the sizes, shape (H,)."""
        if self.variable is None:
            shares = units.astype(np.float64) ** self.exponent
        else:
            total = np.abs(moments["total"])
            with np.errstate(divide="ignore", invalid="ignore"):
                variation = np.where(total > 0, moments["sd"] * units / total, 0.0)
            shares = total**self.exponent * variation
        return allocate(shares, units, self.n, minimum=self.minimum)


Allocation = Fixed | Proportional | Neyman | Power
