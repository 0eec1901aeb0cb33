"""Bootstrap variance of any indicator of a survey, naive or calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.checks import check_choice, check_columns, check_weights
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults, SparseDataWarning
from synthpop.microdata.indicators.results import OVERALL, Indicator
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.text import plural

Estimator = Callable[..., Any]
Calibrator = Callable[[Any, np.ndarray], Any]


@dataclass(frozen=True, slots=True)
class Bootstrap(Result):
    """Bootstrap distribution of an indicator.

    Attributes
    ----------
    labels : tuple
        Names of the numbers: ``("value",)``, or "all" and the domains.
    estimates : array, shape (q,)
        From the sample itself.
    replicates : array, shape (replicates, q)
        NaN where a replicate gave no number.
    variances : array, shape (q,)
        Variance of the replicates (divisor replicates - 1).
    intervals : array, shape (q, 2)
    level : float
    interval_method : str
    calibrated : bool
        Whether the weights were calibrated anew in each replicate.
    n_units : int
        Units that were resampled.
    seed : int
    """

    labels: tuple[Any, ...]
    estimates: np.ndarray
    replicates: np.ndarray
    variances: np.ndarray
    intervals: np.ndarray
    level: float
    interval_method: str
    calibrated: bool
    n_units: int
    seed: int

    def _shaped(self, numbers: np.ndarray) -> Any:
        if len(self.labels) == 1:
            return float(numbers[0])
        return pd.Series(numbers, index=pd.Index(list(self.labels)))

    @property
    def estimate(self) -> Any:
        """Estimate from the sample: float, or Series where there are several."""
        return self._shaped(self.estimates)

    @property
    def variance(self) -> Any:
        """Bootstrap variance: float or Series."""
        return self._shaped(self.variances)

    @property
    def standard_error(self) -> Any:
        """Square root of the variance: float or Series."""
        return self._shaped(np.sqrt(self.variances))

    @property
    def interval(self) -> Any:
        """Confidence interval: (low, high), or a frame with columns lower and upper."""
        if len(self.labels) == 1:
            return (float(self.intervals[0, 0]), float(self.intervals[0, 1]))
        return self.to_frame()[["lower", "upper"]]

    def to_frame(self) -> pd.DataFrame:
        """Return estimate, standard error and interval, one row a label."""
        return pd.DataFrame(
            {
                "estimate": self.estimates,
                "standard_error": np.sqrt(self.variances),
                "lower": self.intervals[:, 0],
                "upper": self.intervals[:, 1],
                "failed": np.isnan(self.replicates).sum(axis=0),
            },
            index=pd.Index(list(self.labels), name="domain"),
        )

    def summary(self) -> str:
        """Return what the numbers mean."""
        kind = "calibrated anew" if self.calibrated else "not calibrated anew"
        low, high = self.intervals[0]
        return (
            f"Estimate {self.estimates[0]:.4g}, standard error {np.sqrt(self.variances[0]):.3g}, "
            f"{100 * self.level:g} % {self.interval_method} interval {low:.4g} to {high:.4g}: "
            f"{len(self.replicates)} bootstrap samples of {plural(self.n_units, 'unit')} within "
            f"strata, weights {kind} (seed {self.seed})."
        )


def bootstrap(
    indicator: Estimator,
    data: Any,
    *,
    weights: Any,
    by: Any = None,
    strata: Any = None,
    cluster: Any = None,
    calibrate: Calibrator | Sequence[Any] | None = None,
    replicates: int = 200,
    level: float = 0.95,
    interval: str = "percentile",
    seed: int | None = None,
) -> Bootstrap:
    """Bootstrap an indicator: variance and confidence interval.

    Parameters
    ----------
    indicator : function (data, weights) or (data, weights, by=...)
        `gini` and its siblings for a column of values, or any function of your own that returns a
        number, an `Indicator`, a mapping or a Series. **It must use its weights**: a replicate is
        the rows that were drawn, with their weight times the number of times they were drawn.
    data : DataFrame, Series or array of n rows
        Handed to `indicator` (the drawn rows).
    weights : column name or array, shape (n,)
    by : column name or array, shape (n,), optional
        Domains, handed to `indicator` as `by`.
    strata, cluster : column name or array, shape (n,), optional
        Units (clusters; by default rows) are drawn with replacement within each stratum, as many
        as there are.
    calibrate : function (data, weights) -> weights, or list of Margin, optional
        Calibrates each replicate (calibrated bootstrap), so that the variance is that of a
        calibrated estimator; without it weights stay as they are (naive bootstrap). Margins need
        `data` to be a frame; members of a cluster then keep one weight.
    replicates : int
    level : float
        Confidence level.
    interval : {"percentile", "normal", "basic"}
    seed : int, optional
        Replicate r draws from the stream ("bootstrap", r).

    Returns
    -------
    Bootstrap

    Raises
    ------
    InputError
        Faulty weights, absent columns, missing strata or clusters, unknown options.

    Notes
    -----
    A stratum with a single unit adds nothing to the variance; a `SparseDataWarning` says so.
    Replicates without a number (an empty domain) are left out and counted in `to_frame`. Source:
    Alfons and Templ (2013), doi:10.18637/jss.v054.i15, section 6.

    Examples
    --------
    >>> from synthpop.microdata.indicators import gini
    >>> income = np.arange(1.0, 401.0)
    >>> result = bootstrap(gini, income, weights=np.ones(400), replicates=100, seed=1)
    >>> round(result.estimate, 1), 0.8 < result.standard_error < 1.6
    (33.2, True)
    """
    faults = Faults("bootstrap")
    check_choice(faults, "interval", interval, tuple(INTERVALS))
    if replicates < 2:
        faults.add("replicates", f"is {replicates}", remedy="Give 200 or more.")
    if not 0 < level < 1:
        faults.add("level", f"is {level}", remedy="Give a share such as 0.95.")
    if isinstance(data, (list, tuple)):
        data = np.asarray(data)
    n = len(data)
    w_column = _column(faults, data, weights, "weights", n)
    columns = {
        name: None if value is None else _column(faults, data, value, name, n)
        for name, value in (("by", by), ("strata", strata), ("cluster", cluster))
    }
    faults.raise_if_any()
    w = check_weights(faults, w_column, "weights")
    unit, stratum = _units(faults, columns["strata"], columns["cluster"], n)
    faults.raise_if_any()
    assert w is not None
    cluster_name = cluster if isinstance(cluster, str) else None
    calibrator = _calibrator(calibrate, cluster_name)
    rows = _presorted(data, calibrate)
    plan = _Plan(indicator, data, w, columns["by"], calibrator)
    start = plan.evaluate(rows, np.ones(n, dtype=np.int64))
    seed = resolve_seed(seed)
    streams = Streams(seed)
    drawn = [
        plan.evaluate(rows, _multiplicities(streams.at("bootstrap", r), stratum)[unit])
        for r in range(replicates)
    ]
    labels = tuple(start)
    values = np.array([[one.get(label, np.nan) for label in labels] for one in drawn])
    estimates = np.array(list(start.values()), dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all replicates of a label may be NaN
        variances = np.nanvar(values, axis=0, ddof=1)
        intervals = np.column_stack(INTERVALS[interval](estimates, values, variances, level))
    return Bootstrap(
        labels,
        estimates,
        values,
        variances,
        intervals,
        level,
        interval,
        calibrate is not None,
        len(stratum),
        seed,
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    indicator: Estimator
    data: Any
    weights: np.ndarray
    by: pd.Series | None
    calibrator: Calibrator | None

    def evaluate(self, rows: np.ndarray, times: np.ndarray) -> dict[Any, float]:
        """Estimate from the rows with their weights times `times`."""
        drawn = rows[times[rows] > 0]
        part = self.data.iloc[drawn] if hasattr(self.data, "iloc") else self.data[drawn]
        weights = self.weights[drawn] * times[drawn]
        if self.calibrator is not None:
            weights = np.asarray(self.calibrator(part, weights), dtype=np.float64)
        if self.by is None:
            return _numbers(self.indicator(part, weights))
        return _numbers(self.indicator(part, weights, by=self.by.iloc[drawn]))


def _numbers(result: Any) -> dict[Any, float]:
    if isinstance(result, Indicator):
        if not result.domains:
            return {"value": result.value}
        return dict(zip([OVERALL, *result.domains], result.values.tolist(), strict=True))
    if isinstance(result, pd.Series):
        result = result.to_dict()
    if isinstance(result, Mapping):
        return {label: float(value) for label, value in result.items()}
    return {"value": float(result)}


def _column(faults: Faults, data: Any, value: Any, name: str, n: int) -> pd.Series:
    if isinstance(value, str) and isinstance(data, pd.DataFrame):
        if check_columns(faults, data, [value], name):
            return data[value].reset_index(drop=True)
        return pd.Series(np.ones(n))
    column = pd.Series(value).reset_index(drop=True)
    if len(column) != n:
        faults.add(
            name,
            f"{plural(len(column), 'entry', 'entries')} for {plural(n, 'row')}",
            remedy="Give one a row.",
        )
    return column


def _units(
    faults: Faults, strata: pd.Series | None, cluster: pd.Series | None, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Unit of each row, shape (n,), and stratum of each unit."""
    h = np.zeros(n, dtype=np.int64)
    if strata is not None:
        h = encode(strata)[0].astype(np.int64)
        if (h < 0).any():
            faults.add("strata", "is missing", rows=np.flatnonzero(h < 0), remedy="Fill it.")
    unit = np.arange(n)
    if cluster is not None:
        codes = encode(cluster)[0].astype(np.int64)
        if (codes < 0).any():
            faults.add("cluster", "is missing", rows=np.flatnonzero(codes < 0), remedy="Fill it.")
        unit = np.unique(codes, return_inverse=True)[1].reshape(-1)
    if faults:
        return unit, h
    stratum = np.zeros(int(unit.max()) + 1 if n else 0, dtype=np.int64)
    stratum[unit] = h
    if not np.array_equal(stratum[unit], h):
        faults.add("cluster", "some lie in two strata", remedy="Clusters nest in strata.")
    single = int((np.bincount(stratum) == 1).sum()) if n else 0
    if single and not faults:
        warnings.warn(
            f"nothing is added to the variance by {plural(single, 'stratum', 'strata')} of one "
            "unit",
            SparseDataWarning,
            stacklevel=3,
        )
    return unit, stratum


def _multiplicities(rng: np.random.Generator, stratum: np.ndarray) -> np.ndarray:
    """How often each unit is drawn: n_h draws with replacement in each stratum."""
    order = np.argsort(stratum, kind="stable")
    sizes = np.bincount(stratum)
    sizes = sizes[sizes > 0]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    picks = starts + (rng.random(len(stratum)) * np.repeat(sizes, sizes)).astype(np.int64)
    times = np.empty(len(stratum), dtype=np.int64)
    times[order] = np.bincount(picks, minlength=len(stratum))
    return times


def _presorted(data: Any, calibrate: Any) -> np.ndarray:
    """Row order in which indicators of one column need not sort again."""
    n = len(data)
    if isinstance(data, pd.DataFrame) or calibrate is not None or np.ndim(data) != 1:
        return np.arange(n)
    try:
        return np.argsort(np.asarray(data, dtype=np.float64), kind="stable")
    except (TypeError, ValueError):
        return np.arange(n)


def _calibrator(
    calibrate: Calibrator | Sequence[Any] | None, cluster: str | None
) -> Calibrator | None:
    if calibrate is None or callable(calibrate):
        return calibrate
    from synthpop.calibration import calibrate as fit_weights
    from synthpop.microdata.survey import Survey

    margins = list(calibrate)

    def to_margins(part: pd.DataFrame, weights: np.ndarray) -> np.ndarray:
        name = "bootstrap weight"
        survey = Survey(part.assign(**{name: weights}), weight=name, household=cluster)
        fitted = fit_weights(survey, margins, household_equal=cluster is not None)
        return np.asarray(fitted.weights, dtype=np.float64)

    return to_margins


def _percentile(
    estimates: np.ndarray, values: np.ndarray, variances: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _normal(
    estimates: np.ndarray, values: np.ndarray, variances: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    half = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(variances)
    return estimates - half, estimates + half


def _basic(
    estimates: np.ndarray, values: np.ndarray, variances: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    low, high = _percentile(estimates, values, variances, level)
    return 2 * estimates - high, 2 * estimates - low


INTERVALS = {"percentile": _percentile, "normal": _normal, "basic": _basic}
