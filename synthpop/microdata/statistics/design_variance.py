"""Variance of a weighted total under a stratified sample of one or several stages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.frame.codes import cell_ids, encode
from synthpop.microdata.messages.errors import Faults, InputError, SparseDataWarning
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted import as_numbers, check_length


def design_variance(
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    strata: Any = None,
    cluster: Any = None,
    fpc: Any = None,
) -> float:
    """Variance of the total sum(w z), from the spread of unit totals within strata.

    Parameters
    ----------
    values : array, shape (n,)
        A variable, or the linearised variable of an indicator.
    weights : array, shape (n,), optional
    strata : array, shape (n,), optional
        For several stages an array of shape (n, stages) or a DataFrame, first stage first.
    cluster : array, shape (n,) or (n, stages), optional
        Sampling units of each stage. Default: every row.
    fpc : number or array, shape (n,) or (n, stages), optional
        Finite population correction: the sampling fraction of the stratum (up to 1) or the number
        of units that it has in the population (above 1). Default: none, as if units were drawn
        with replacement.

    Returns
    -------
    float

    Raises
    ------
    InputError
        Lengths differ, a stratum, unit or correction is missing, a unit lies in two strata, there
        are fewer than two units, or more units in the sample than in the population.

    Notes
    -----
    One stage: sum_h (1 - f_h) n_h / (n_h - 1) sum_i (u_hi - mean_h)^2 with unit totals
    u_hi = sum w z; unbiased with f_h = 0 when units are drawn with replacement. The variance of a
    later stage is added with the sampling fractions of all stages before it as a factor, so that
    later stages count only with a correction at the earlier ones. A first-stage stratum with one
    sampled unit is compared with the mean over all units, a later one adds nothing, and a
    `SparseDataWarning` says so. Source: Särndal, Swensson and Wretman (1992), sections 4.3 to 4.6.

    Examples
    --------
    >>> design_variance([1.0, 3.0, 10.0, 14.0], [2, 2, 1, 1], strata=["a", "a", "b", "b"])
    32.0
    >>> design_variance([1.0, 3.0, 10.0, 14.0], [2, 2, 1, 1], strata=["a", "a", "b", "b"], fpc=0.5)
    16.0
    """
    faults = Faults("variance")
    z = as_numbers(faults, values, "values")
    w = None if weights is None else as_numbers(faults, weights, "weights")
    if w is not None and len(w) != len(z) and not faults:
        faults.add("weights", f"{len(w)} for {plural(len(z), 'value')}", hint="Give one each.")
    faults.raise_if_any()
    return sampled_units(len(z), strata=strata, cluster=cluster, fpc=fpc).variance(z, w)


def t_quantile(p: float, degrees_of_freedom: float) -> float:
    """Return the quantile of the t distribution; of the normal one for infinite freedom."""
    from scipy.special import ndtri, stdtrit

    if not 0.5 <= p < 1:
        what, hint = f"is {2 * p - 1:.6g}", "Give a number between 0 and 1, such as 0.95."
        raise InputError.of("interval", "level", what, hint)
    if np.isinf(degrees_of_freedom):
        return float(ndtri(p))
    return float(stdtrit(degrees_of_freedom, p))


@dataclass(frozen=True)
class SamplingStage:
    """One stage of a sample, coded."""

    # int array, shape (n,), or None: unit of each row; None where every row is a unit
    unit: np.ndarray | None
    stratum: np.ndarray  # int array, shape (units,): stratum of each unit
    # array, shape (strata,): sampling fraction of each stratum, 0 without a correction
    fraction: np.ndarray
    # array, shape (strata,): product of the sampling fractions of the earlier stages
    factor: np.ndarray

    @cached_property
    def count(self) -> np.ndarray:
        """Units of each stratum, shape (strata,)."""
        return np.bincount(self.stratum)

    def variance(self, u: np.ndarray, first: bool) -> float:
        """Return the part of this stage in the variance of the sum of u, shape (n,)."""
        h, count = self.stratum, self.count
        single = count == 1
        scale = np.where(single, 1.0, count / np.maximum(count - 1, 1))
        scale = scale * (1.0 - self.fraction) * self.factor
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values have no variance
            if self.unit is not None:
                u = np.bincount(self.unit, weights=u, minlength=len(h)).astype(np.float64)
            level = np.asarray(np.bincount(h, weights=u) / np.maximum(count, 1), dtype=np.float64)
            if first:
                level[single] = u.mean()
            deviations = u - level[h]
            deviations *= deviations
            return float(np.dot(scale[h], deviations))


@dataclass(frozen=True)
class SampledUnits:
    """Which unit each row belongs to, and the stratum of each unit, stage by stage."""

    stages: tuple[SamplingStage, ...]  # first stage first

    @property
    def unit(self) -> np.ndarray | None:
        """First-stage unit of each row, shape (n,); None where every row is a unit."""
        return self.stages[0].unit

    @property
    def stratum(self) -> np.ndarray:
        """Stratum of each first-stage unit."""
        return self.stages[0].stratum

    @property
    def fraction(self) -> np.ndarray:
        """Sampling fraction of each first-stage stratum."""
        return self.stages[0].fraction

    @property
    def degrees_of_freedom(self) -> int:
        """Number of first-stage units less the number of strata."""
        return max(len(self.stratum) - int(np.count_nonzero(self.stages[0].count)), 1)

    def variance(self, z: np.ndarray, w: np.ndarray | None) -> float:
        """Return the variance of sum(w z) (see `design_variance`)."""
        u: np.ndarray = z if w is None else z * w
        return sum(stage.variance(u, k == 0) for k, stage in enumerate(self.stages))


def sampled_units(
    n: int,
    *,
    strata: Any = None,
    cluster: Any = None,
    fpc: Any = None,
    single: str = "compared with the overall mean",
) -> SampledUnits:
    """Check and code strata, units and sampling fractions of n rows (see `design_variance`).

    `single` says in the warning what becomes of first-stage strata of one unit.
    """
    faults = Faults("variance")
    units = [_codes(faults, column, "cluster", n) for column in _columns(cluster)]
    levels = [_codes(faults, column, "strata", n) for column in _columns(strata)]
    sizes = [_fractions(faults, column, n) for column in _columns(fpc)]
    n_stages = max(len(units), len(levels), len(sizes), 1)
    faults.raise_if_any()
    stages: list[SamplingStage] = []
    parent, factor = np.zeros(n, dtype=np.int64), np.ones(n)
    for k in range(n_stages):
        # 1. Strata of this stage are nested in the units of the stage before.
        rows = parent if k >= len(levels) else _nested(parent, levels[k])
        # 2. Units are nested in strata; without a column every row is a unit.
        unit: np.ndarray | None = None
        if k < len(units):
            unit = units[k] if k == 0 else _nested(rows, units[k])
        stage = _stage(faults, unit, rows, sizes[k] if k < len(sizes) else None, factor)
        faults.raise_if_any()
        stages.append(stage)
        if k + 1 == n_stages:
            break
        # 3. The next stage counts by the sampling fractions up to here.
        factor = factor * stage.fraction[rows]
        parent = rows if unit is None else unit
    if len(stages[0].stratum) < 2:
        what = plural(len(stages[0].stratum), "unit")
        faults.add("cluster", what, hint="A variance needs two at least.")
    faults.raise_if_any()
    _warn_of_single_units(stages, single)
    return SampledUnits(tuple(stages))


def _columns(values: Any) -> list[Any]:
    """Columns of the stages, first stage first."""
    if values is None:
        return []
    if isinstance(values, pd.DataFrame):
        return [values.iloc[:, j] for j in range(values.shape[1])]
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return [values[:, j] for j in range(values.shape[1])]
    return [values]


def _nested(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    pairs = outer.astype(np.int64) * (int(inner.max(initial=0)) + 1) + inner
    return np.unique(pairs, return_inverse=True)[1].reshape(-1)


def _stage(
    faults: Faults,
    unit: np.ndarray | None,
    rows: np.ndarray,
    sizes: np.ndarray | None,
    factor: np.ndarray,
) -> SamplingStage:
    """Collect one stage: stratum (`rows`), correction and earlier fractions of each row."""
    n_strata = int(rows.max(initial=-1)) + 1
    stratum = rows
    if unit is not None:
        stratum = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.int64)
        stratum[unit] = rows
        if not np.array_equal(stratum[unit], rows):
            faults.add("cluster", "some lie in two strata", hint="Clusters nest in strata.")
            faults.raise_if_any()
    count = np.bincount(stratum, minlength=n_strata)
    correction, multiplier = np.zeros(n_strata), np.ones(n_strata)
    multiplier[rows] = factor
    if sizes is not None:
        correction[rows] = sizes
        if not np.array_equal(correction[rows], sizes):
            what = "differs within a stratum"
            faults.add("fpc", what, hint="Give the same number for all rows of a stratum.")
    fraction = np.where(correction > 1.0, count / np.maximum(correction, 1.0), correction)
    if (fraction > 1.0 + 1e-9).any():
        what = "a stratum has more units in the sample than in the population"
        faults.add("fpc", what, hint="Give the number of first-stage units, not of persons.")
    return SamplingStage(unit, stratum, np.minimum(fraction, 1.0), multiplier)


def _warn_of_single_units(stages: Sequence[SamplingStage], text: str) -> None:
    for k, stage in enumerate(stages):
        matters = (stage.fraction < 1.0) & (stage.factor > 0.0)
        single = int(((stage.count == 1) & matters).sum())
        if not single:
            continue
        how = text if k == 0 else f"stage {k + 1} adds nothing there"
        warnings.warn(
            f"{plural(single, 'stratum has', 'strata have')} one sampled unit: {how}",
            SparseDataWarning,
            stacklevel=4,
        )


def _fractions(faults: Faults, values: Any, n: int) -> np.ndarray:
    """Sampling fraction or population size of each row, shape (n,)."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add("fpc", "is not a number", hint="Give sampling fractions or numbers of units.")
        return np.zeros(n)
    if column.ndim == 0:
        column = np.full(n, float(column))
    if not check_length(faults, "fpc", len(column), n, "row"):
        return np.zeros(n)
    is_invalid = ~(np.isfinite(column) & (column >= 0))
    faults.add_where(is_invalid, "fpc", "is missing, infinite or negative")
    return np.where(is_invalid, 0.0, column)


def _codes(faults: Faults, values: Any, name: str, n: int) -> np.ndarray:
    series = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
    if not check_length(faults, name, len(series), n, "row"):
        return np.zeros(n, dtype=np.int64)
    codes, distinct = encode(series)
    faults.add_where(codes < 0, name, "is missing", hint="Fill it.")
    return cell_ids(codes[:, None], [len(distinct)])[0]
