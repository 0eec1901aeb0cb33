"""Balanced samples by the cube method: sample totals agree with population totals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted import as_numbers

EDGE = 1e-9
MOST_LANDING = 10
FIRST_COLUMN = 1e4


def draw_balanced(
    probabilities: npt.ArrayLike, auxiliary: npt.ArrayLike, rng: np.random.Generator
) -> np.ndarray:
    """Draw a sample whose Horvitz-Thompson totals are those of the population, nearly.

    Parameters
    ----------
    probabilities : array, shape (N,)
        Inclusion probabilities between 0 and 1.
    auxiliary : array, shape (N, q)
        Balancing variables, the most important first. Put the probabilities themselves in the
        first column for a sample of fixed size. NaN is not allowed.
    rng : Generator

    Returns
    -------
    int array, shape (n,)
        Positions of the chosen units, increasing.

    Raises
    ------
    InputError
        Probabilities outside 0 and 1, missing auxiliary values, shapes that do not match.

    Notes
    -----
    Flight: a random walk on the constraints over q + 1 units at a time, until fewer than q + 1
    units are undecided. Landing: by a linear programme over the samples of up to ten undecided
    units; where there are more, the last variables are dropped one by one first. The inclusion
    probabilities are met exactly, the totals up to the effect of at most q units.
    Deville and Tillé (2004), doi:10.1093/biomet/91.4.893; Chauvet and Tillé (2006),
    doi:10.1007/s00180-006-0250-2.

    Examples
    --------
    >>> x = np.arange(1.0, 101.0)
    >>> p = np.full(100, 0.2)
    >>> chosen = draw_balanced(p, np.column_stack([p, x]), np.random.default_rng(1))
    >>> len(chosen), bool(abs(x[chosen].sum() / 0.2 - x.sum()) < 0.1 * x.sum())
    (20, True)
    """
    from synthpop.kernels import sampling as kernels

    faults = Faults("balanced sample")
    p = as_numbers(faults, probabilities, "probabilities")
    table = auxiliary if np.ndim(auxiliary) > 1 else np.asarray(auxiliary)[:, None]
    variables = [as_numbers(faults, column, "auxiliary") for column in np.asarray(table).T]
    faults.raise_if_any()
    a = np.column_stack(variables)
    is_invalid = ~((p >= 0) & (p <= 1 + EDGE))
    if is_invalid.any():
        faults.add("probabilities", "are not between 0 and 1", rows=np.flatnonzero(is_invalid))
    if len(a) != len(p):
        faults.add("auxiliary", f"{plural(len(a), 'row')} for {plural(len(p), 'unit')}")
    gaps = ~np.isfinite(a).all(axis=1)
    if gaps.any():
        faults.add("auxiliary", "missing or infinite", rows=np.flatnonzero(gaps))
    faults.raise_if_any()
    order = rng.permutation(len(p))
    state = np.clip(p, 0.0, 1.0)[order]
    inside = np.flatnonzero((state > EDGE) & (state < 1 - EDGE))
    balance = _independent(a[order][inside] / state[inside, None])
    walk = state[inside]
    for n_variables in range(balance.shape[1], 0, -1):
        undecided = np.flatnonzero((walk > EDGE) & (walk < 1 - EDGE))
        if len(undecided) <= (0 if n_variables == balance.shape[1] else MOST_LANDING):
            break
        part = walk[undecided]
        columns = np.ascontiguousarray(balance[undecided, :n_variables])
        kernels.cube_flight(columns, part, rng, EDGE)
        walk[undecided] = part
    left = np.flatnonzero((walk > EDGE) & (walk < 1 - EDGE))
    walk[left] = _land(balance[left], walk[left], rng)
    state[inside] = walk
    return np.sort(order[state > 0.5])


def _land(columns: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Decide the last units: the distribution over samples with the least expected imbalance.

    Among all distributions on the 2^m samples with these inclusion probabilities the linear
    programme finds the one whose expected squared imbalance is least; the first column (the size
    of the sample) counts before all others.
    """
    from scipy.optimize import linprog

    m = len(p)
    if m == 0 or m > MOST_LANDING or columns.shape[1] == 0:
        return (rng.random(m) < p).astype(np.float64)
    samples = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
    imbalance = ((samples - p) @ columns) ** 2
    imbalance[:, 0] *= FIRST_COLUMN
    cost = imbalance.sum(axis=1)
    rules = np.vstack([np.ones(len(samples)), samples.T])
    solved = linprog(cost / cost.max(), A_eq=rules, b_eq=np.append(1.0, p), method="highs")
    if solved.x is None:
        return (rng.random(m) < p).astype(np.float64)
    chance = np.maximum(solved.x, 0)
    return samples[rng.choice(len(samples), p=chance / chance.sum())].astype(np.float64)


def _independent(columns: np.ndarray) -> np.ndarray:
    """Drop columns that earlier ones explain, and scale the rest to a common size."""
    if len(columns) == 0:
        return columns
    scale = np.sqrt((columns**2).mean(axis=0))
    scaled = columns / np.where(scale > 0, scale, 1.0)
    independent: list[int] = []
    basis = np.empty((len(scaled), 0))
    for j in range(scaled.shape[1]):
        column = scaled[:, j]
        residual = column - basis @ (basis.T @ column)
        residual -= basis @ (basis.T @ residual)
        norm = float(np.linalg.norm(residual))
        if scale[j] > 0 and norm > 1e-9 * np.sqrt(len(scaled)):
            independent.append(j)
            basis = np.column_stack([basis, residual / norm])
    return scaled[:, independent]
