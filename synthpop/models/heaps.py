"""Amounts rounded as respondents round them (digit preference; heaped data)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FEWEST = 50  # values of a size, or of a size and kind of person, with shares of their own
MOST_SIZES = 10
SURE = 5.0  # standard errors by which multiples must exceed those of unrounded values
LEAST_SHARE = 0.02  # of the values: fewer rounded ones are no habit
NEARLY = 1e-9


def units_of(values: np.ndarray, decimals: int) -> np.ndarray:
    """Return the units to which respondents may round: 1, 5, 10, 50, ... and 12, 60, 120, ...

    The smallest is the last decimal; multiples of twelve are yearly amounts of a monthly one.

    Examples
    --------
    >>> units_of(np.array([900.0]), 0).tolist()
    [1.0, 5.0, 10.0, 12.0, 50.0, 60.0, 100.0, 120.0, 500.0, 600.0]
    """
    most = np.abs(values).max(initial=0.0)
    powers = 10.0 ** np.arange(-decimals, 16)
    yearly = () if decimals else (12 * powers, 60 * powers)
    units = np.concatenate([powers, 5 * powers, *yearly])
    return np.unique(np.round(units[(units <= most) | (units == powers[0])], max(decimals, 0)))


def is_multiple(values: np.ndarray, units: np.ndarray | float) -> np.ndarray:
    """Return whether values are multiples of units, but for errors of floating-point numbers."""
    ratio = values / units
    near: np.ndarray = np.abs(ratio - np.round(ratio)) <= NEARLY * np.maximum(np.abs(ratio), 1.0)
    return near


@dataclass(frozen=True, slots=True)
class Heaps:
    """To which units values are rounded, by their size and by kind of person.

    A value that nobody has rounded gets a unit at random, and becomes the nearest multiple of it.
    The shares of the units are those by which the expected shares of multiples of each unit,
    chance multiples included, come nearest to the survey's (non-negative least squares; the
    latent units of Heitjan and Rubin, 1990, doi:10.1080/01621459.1990.10476213).

    units: float array, shape (U,), ascending; the first is the last decimal
    sizes: float array, shape (S - 1,); limits of the sizes of values (without sign)
    term: the term of the predictors whose digits are the kinds of persons, None for one kind
    shares: float array, shape (K + 1, S, U); rows sum to 1; the last kind is any other. A kind with
        fewer than 50 values of a size has there the shares of its values of all sizes
    """

    units: np.ndarray
    sizes: np.ndarray
    term: int | None
    shares: np.ndarray

    @classmethod
    def fit(
        cls,
        values: np.ndarray,
        unrounded: np.ndarray,
        weights: np.ndarray,
        decimals: int,
        digits: np.ndarray | None = None,
    ) -> Heaps | None:
        """Fit the shares; None where no more values than by chance are multiples of a unit.

        Parameters
        ----------
        values, unrounded, weights : arrays, shape (n,)
            Values of the survey, and what the model draws for these persons before rounding.
        decimals : int
            Decimals of the values.
        digits : int array, shape (n, T), optional
            Digits of the terms of the predictors; the term whose digits tell most about the
            rounding becomes the kind of person.
        """
        known = np.isfinite(values) & (values != 0) & (weights > 0)
        known &= np.isfinite(unrounded) & (unrounded != 0)
        values, unrounded, weights = values[known], unrounded[known], weights[known]
        if len(values) < FEWEST:
            return None
        units = units_of(values, decimals)
        multiples = is_multiple(values[:, None], units)
        by_chance = is_multiple(np.round(unrounded, decimals)[:, None], units).mean(axis=0)
        excess, middle = (
            multiples.mean(axis=0) - by_chance,
            (multiples.mean(axis=0) + by_chance) / 2,
        )
        errors = np.sqrt(2.0 * middle * (1.0 - middle) / len(values))
        if not ((excess > SURE * errors) & (excess > LEAST_SHARE)).any():
            return None
        n_sizes = int(np.clip(len(values) // (4 * FEWEST), 1, MOST_SIZES))
        sizes = np.unique(np.quantile(np.abs(values), np.arange(1, n_sizes) / n_sizes))
        rows = np.searchsorted(sizes, np.abs(values), side="left")
        drawn = np.searchsorted(sizes, np.abs(unrounded), side="left")
        term = None if digits is None else _kind(digits[known], multiples, excess, rows)
        kinds = np.zeros(len(values), dtype=np.int64)
        if term is not None and digits is not None:
            kinds = digits[known, term]
        shares = np.zeros((int(kinds.max()) + 2, len(sizes) + 1, len(units)))  # last: other kinds

        def solved(of: np.ndarray, like: np.ndarray) -> np.ndarray:
            chances = _chances(unrounded[like], units, decimals)
            return _solve(chances, multiples[of], weights[of])

        for size in range(len(sizes) + 1):
            shares[:, size] = solved(rows == size, drawn == size)
        for kind in np.flatnonzero(np.bincount(kinds) >= FEWEST) if term is not None else ():
            of_kind = kinds == kind
            shares[kind] = solved(of_kind, of_kind)
            for size in range(len(sizes) + 1):
                both = of_kind & (rows == size)
                if both.sum() >= FEWEST:
                    shares[kind, size] = solved(both, of_kind & (drawn == size))
        return cls(units, sizes, term, shares)

    def round(
        self,
        values: np.ndarray,
        kinds: np.ndarray | None,
        uniforms: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> np.ndarray:
        """Round values to units at random; zero, missing and points stay as they are.

        kinds: int array, shape (n,); digit of each person's kind
        uniforms: float array, shape (n,)
        low, high: float arrays, shape (n,); ends of each value's class, the one nearer to zero
            first, which is not part of the class; NaN for none. A value without a multiple of its
            unit in its class takes the largest smaller unit that divides it and has one.
        """
        out = values.copy()
        has_value = np.flatnonzero(np.isfinite(values) & (values != 0) & ~(low == high))
        size = np.searchsorted(self.sizes, np.abs(values[has_value]), side="left")
        kind = 0 if kinds is None else np.minimum(kinds[has_value], len(self.shares) - 1)
        ends = np.cumsum(self.shares, axis=2)[kind, size]
        unit = (uniforms[has_value, None] >= ends[:, :-1]).sum(axis=1)
        for number in range(len(self.units) - 1, 0, -1):
            chosen = np.flatnonzero(unit == number)
            of_unit, step = has_value[chosen], self.units[number]
            nearest = np.abs(np.round(values[of_unit] / step))
            sign = np.sign(values[of_unit])
            least = np.floor(np.abs(low[of_unit]) / step * (1 + NEARLY)) + 1.0
            most = np.floor(np.abs(high[of_unit]) / step * (1 + NEARLY))
            nearest = np.maximum(nearest, np.where(np.isnan(least), 1.0, least))
            fits = ~(nearest > most)
            out[of_unit[fits]] = (sign * nearest * step)[fits]
            unit[chosen[~fits]] = np.flatnonzero(is_multiple(step, self.units[:number]))[-1]
        return out


def _chances(unrounded: np.ndarray, units: np.ndarray, decimals: int) -> np.ndarray:
    """Return the shares of values rounded to one unit that are multiples of another, (U, U)."""
    chances = np.ones((len(units), len(units)))
    if not len(unrounded):  # as for values without limits
        whole = np.round(units * 10.0**decimals).astype(np.int64)
        limits: np.ndarray = np.gcd.outer(whole, whole) / whole[:, None]
        return limits
    for number, unit in enumerate(units):
        rounded = np.maximum(np.round(np.abs(unrounded) / unit), 1.0) * unit
        chances[:, number] = is_multiple(rounded[:, None], units).mean(axis=0)
    return chances


def _solve(chances: np.ndarray, multiples: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the shares of the units, shape (U,), from which persons are multiples of which."""
    from scipy.optimize import nnls

    observed = weights @ multiples / weights.sum() if len(weights) else np.eye(len(chances))[0]
    system = np.vstack([chances, 100.0 * np.ones(len(chances))])  # shares sum to one
    shares, _ = nnls(system, np.append(observed, 100.0))
    return shares / shares.sum()


def _kind(
    digits: np.ndarray, multiples: np.ndarray, excess: np.ndarray, sizes: np.ndarray
) -> int | None:
    """Return the term whose digits tell most about who rounds; None if none does surely.

    Persons of the same size of value are compared (a test of Cochran, Mantel and Haenszel's kind:
    differences from the share of the size, summed over sizes).
    """
    from scipy.stats import chi2

    rounds = multiples[:, int(np.argmax(excess))].astype(np.float64)
    n = np.bincount(sizes)
    share = np.bincount(sizes, rounds) / np.maximum(n, 1)
    rest, variance = rounds - share[sizes], (share * (1.0 - share))[sizes]
    best, least = None, 1e-3 / max(digits.shape[1], 1)
    for term in range(digits.shape[1]):
        spread = np.bincount(digits[:, term], variance)
        usable = (np.bincount(digits[:, term]) >= FEWEST) & (spread > 0)
        if usable.sum() < 2:
            continue
        gap = np.bincount(digits[:, term], rest)
        statistic = float((gap[usable] ** 2 / spread[usable]).sum())
        p = float(chi2.sf(statistic, int(usable.sum()) - 1))
        if p < least:
            best, least = term, p
    return best
