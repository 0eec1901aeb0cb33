"""Rescaled bootstrap of any indicator of a survey, naive or calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.budget import repeated
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import MOST_TIMES, SHARE, Whole, check, check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.roles.survey import as_survey
from synthpop.microdata.statistics.design_variance import sampled_units, t_quantile
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.variance.bootstrap_plan import (
    BootstrapPlan,
    Calibrator,
    Estimator,
    design_columns,
    first_line,
    read_plan,
)
from synthpop.variance.resampling import rescaled_bootstrap

INTERVALS = ("t", "normal", "percentile", "basic")


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
        Whether the weights were calibrated again in each replicate.
    n_units : int
        Units that were resampled.
    degrees_of_freedom : int
        First-stage units less strata.
    seed : int
    failures : tuple of (replicate, reason)
        Replicates whose calibration or indicator failed; their numbers are NaN.
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
    degrees_of_freedom: int
    seed: int
    failures: tuple[tuple[int, str], ...] = ()

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
        """Return estimate, standard error and interval, one row per label."""
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
        kind = "calibrated again" if self.calibrated else "not calibrated again"
        low, high = self.intervals[0]
        text = (
            f"Estimate {self.estimates[0]:.4g}, standard error {np.sqrt(self.variances[0]):.3g}, "
            f"{100 * self.level:g} % {self.interval_method} interval {low:.4g} to {high:.4g}: "
            f"{len(self.replicates)} rescaled bootstrap samples of {plural(self.n_units, 'unit')} "
            f"within strata, weights {kind} (seed {self.seed})."
        )
        if self.failures:
            replicate, reason = self.failures[0]
            text += (
                f" {plural(len(self.failures), 'replicate')} gave no number; the first, "
                f"{replicate}, because of: {reason}"
            )
        return text


def bootstrap(
    indicator: Estimator,
    data: Any,
    *,
    weights: Any = None,
    by: Any = None,
    strata: Any = None,
    cluster: Any = None,
    fpc: Any = None,
    household: Any = None,
    calibrate: Calibrator | Sequence[Any] | None = None,
    replicates: int = 200,
    level: float = 0.95,
    interval: str = "t",
    seed: int | None = None,
) -> Bootstrap:
    """Bootstrap an indicator: variance and confidence interval.

    Parameters
    ----------
    indicator : function (data, weights) or (data, weights, by=...)
        `gini` and its siblings for a column of values, or any function of your own that returns a
        number, an `Indicator`, a mapping or a Series. **It must use its weights**: a replicate is
        the rows that were drawn, with rescaled weights.
    data : DataFrame, Series, array of n rows, or Survey
        Handed to `indicator` (the drawn rows; of a survey its frame). A survey brings its weights
        and its design: the roles psu (or household), design_strata (or strata) and fpc.
    weights : column name or array, shape (n,)
        Needed but for a survey.
    by : column name or array, shape (n,), optional
        Domains, handed to `indicator` as `by`.
    strata, cluster : column name or array, shape (n,), optional
        Design strata, and the units that were drawn in them (default: rows). A list of names, or
        a DataFrame, for several stages, first stage first.
    fpc : number, column name or array, shape (n,), optional
        Finite population correction: sampling fraction of the stratum (up to 1), or its number of
        units in the population (above 1). A list of names, or a DataFrame, for several stages.
    household : column name or array, shape (n,), optional
        Members of a household keep one weight when `calibrate` is a list of margins, whatever
        unit is resampled.
    calibrate : function (data, weights) -> weights, or list of Margin, optional
        Calibrates each replicate (calibrated bootstrap), so that the variance is that of a
        calibrated estimator; without it weights stay as they are (naive bootstrap). Margins need
        `data` to be a frame.
    replicates : int
    level : float
        Confidence level.
    interval : {"t", "normal", "percentile", "basic"}
        "t": estimate and standard error with the t distribution of (units - strata) degrees of
        freedom.
    seed : int, optional
        Replicate r draws from the stream ("bootstrap", r).

    Returns
    -------
    Bootstrap

    Raises
    ------
    InputError
        Faulty weights, absent columns, missing strata or clusters, unknown options, or a
        calibration that fails on the sample itself.

    Notes
    -----
    Rescaled bootstrap of Rao and Wu (1988), doi:10.1080/01621459.1988.10478591: n_h - 1 units are
    drawn with replacement in each stratum and weights grow by n_h / (n_h - 1), shrunk towards the
    start weights with a finite population correction (see `rescaled_bootstrap` for more stages).
    A stratum with a single unit adds nothing to the variance; a `SparseDataWarning` says so.
    Replicates without a number (an empty domain, a calibration or an indicator that fails) are
    left out, counted in `to_frame`, and their reasons are in `failures`. Calibrated and naive
    bootstrap: Alfons and Templ (2013), doi:10.18637/jss.v054.i15, section 6.

    Examples
    --------
    >>> from synthpop.indicators import gini
    >>> income = np.arange(1.0, 401.0)
    >>> result = bootstrap(gini, income, weights=np.ones(400), replicates=100, seed=1)
    >>> round(result.estimate, 1), 0.8 < result.standard_error < 1.6
    (33.2, True)
    """
    faults = Faults("bootstrap")
    check_choice(faults, "interval", interval, INTERVALS)
    check(
        faults,
        {"replicates": Whole(2, MOST_TIMES), "level": SHARE},
        {"replicates": replicates, "level": level},
    )
    survey = as_survey(data) if isinstance(data, Microdata) else None
    if survey is not None:
        data, weights = survey.frame, survey.roles.weight if weights is None else weights
        if any(value is not None for value in (strata, cluster, fpc)):
            what = "has its design in its roles"
            faults.add("data", what, hint="Leave out strata, cluster and fpc.")
    elif weights is None:
        faults.add("weights", "are not given", hint="Give one per row, or a Survey as data.")
        faults.raise_if_any()
    if isinstance(data, (list, tuple)):
        data = np.asarray(data)
    design = {
        name: None if value is None else design_columns(faults, data, value, name)
        for name, value in (("strata", strata), ("cluster", cluster), ("fpc", fpc))
    }
    plan = read_plan(faults, indicator, data, weights, by, household, calibrate)
    units = None
    with faults.gathering():
        units = (
            survey.sampled_units
            if survey is not None
            else sampled_units(len(data), single="it adds nothing to the variance", **design)
        )
    faults.raise_if_any()
    assert units is not None
    seed = resolve_seed(seed)
    start, values, failures = _replicate(plan, units, replicates, Streams(seed))
    estimates = np.array(list(start.values()), dtype=np.float64)
    freedom = units.degrees_of_freedom
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all replicates of a label may be NaN
        variances = np.nanvar(values, axis=0, ddof=1)
        limits = _limits(interval, estimates, values, variances, level, freedom)
    return Bootstrap(
        tuple(start), estimates, values, variances, np.column_stack(limits), level, interval,
        calibrate is not None, len(units.stratum), freedom, seed, failures,
    )  # fmt: skip


def _replicate(
    plan: BootstrapPlan, units: Any, replicates: int, streams: Streams
) -> tuple[dict[Any, float], np.ndarray, tuple[tuple[int, str], ...]]:
    """Return estimates by label, those of replicates (replicate, label), and what failed."""
    start = plan.evaluate(np.ones(len(plan.data)))
    failures, replicated = [], []
    for r in repeated(replicates, "replicates"):
        factors = rescaled_bootstrap(streams.at("bootstrap", r), units)
        try:
            replicated.append(plan.evaluate(factors))
        except (InputError, ArithmeticError, ValueError) as problem:
            failures.append((r, first_line(problem)))
            replicated.append({})
    values = np.array([[item.get(label, np.nan) for label in start] for item in replicated])
    return start, values, tuple(failures)


def _limits(
    interval: str,
    estimates: np.ndarray,
    values: np.ndarray,
    variances: np.ndarray,
    level: float,
    freedom: int,
) -> tuple[np.ndarray, np.ndarray]:
    upper = (1 + level) / 2
    if interval in ("t", "normal"):
        factor = t_quantile(upper, freedom) if interval == "t" else NormalDist().inv_cdf(upper)
        half = factor * np.sqrt(variances)
        return estimates - half, estimates + half
    low, high = np.nanquantile(values, [(1 - level) / 2, upper], axis=0)
    return (low, high) if interval == "percentile" else (2 * estimates - high, 2 * estimates - low)
