"""Combining rules: one estimate with its variance from several synthetic populations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import POSITIVE, SHARE, OneOf, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, plural, short_percent
from synthpop.microdata.statistics.design_variance import t_quantile


@dataclass(frozen=True, slots=True)
class Combined(Result):
    """An estimate over several synthetic data sets.

    Attributes
    ----------
    estimate : float
        Mean of the estimates.
    variance : float
        Total variance, never negative.
    degrees_of_freedom : float
        Of the t distribution of the interval.
    interval : (float, float)
    between : float
        Variance of the estimates (divisor m - 1).
    within : float
        Mean of their variances; NaN where none were given.
    m : int
        Number of data sets.
    kind : str
    level : float
    adjusted : bool
        The published estimator of the variance was negative and the published replacement was
        taken.
    """

    estimate: float
    variance: float
    degrees_of_freedom: float
    interval: tuple[float, float]
    between: float
    within: float
    m: int
    kind: str
    level: float
    adjusted: bool = False

    @property
    def standard_error(self) -> float:
        """Square root of the variance."""
        return float(np.sqrt(self.variance))

    def summary(self) -> str:
        """Return the estimate with its interval, in sentences."""
        low, high = self.interval
        freedom = number(self.degrees_of_freedom) if np.isfinite(self.degrees_of_freedom) else "no"
        limit = "degrees of freedom" if np.isfinite(self.degrees_of_freedom) else "bound on them"
        text = (
            f"Estimate {number(self.estimate, 5)}, standard error {number(self.standard_error)}, "
            f"{short_percent(self.level)} interval {number(low, 5)} to {number(high, 5)}: "
            f"{plural(self.m, 'data set')} combined by the rules for {KINDS[self.kind]} "
            f"({freedom} {limit})."
        )
        if self.adjusted:
            text += (
                " The unbiased estimator of the variance is negative here; the replacement of "
                "Reiter (2002) was taken, which is too large on average: more data sets help."
            )
        return text


KINDS = {
    "fully": "fully synthetic data (Raghunathan, Reiter and Rubin 2003)",
    "partially": "partially synthetic data (Reiter 2003)",
    "bootstrap": "bootstrap populations (Dong, Elliott and Raghunathan 2014)",
}


def combine(
    estimates: npt.ArrayLike,
    variances: npt.ArrayLike | None = None,
    *,
    kind: str,
    synthetic_fraction: float = 1.0,
    level: float = 0.95,
) -> Combined:
    """Combine the estimates of several synthetic data sets.

    Parameters
    ----------
    estimates : array, shape (m,)
        Estimate of each data set, m of 2 or more.
    variances : array, shape (m,), optional
        Its variance as the analyst of one data set computes it, as if the data were real. Needed
        but for "bootstrap".
    kind : {"fully", "partially", "bootstrap"}
        "fully": samples of synthetic populations that were drawn from a posterior predictive
        distribution. "partially": files in which some values were replaced. "bootstrap": whole
        populations, each generated from a bootstrap sample of the survey
        (`FittedPipeline.replicates` with ``refit="bootstrap"``); a population has no sampling
        variance of its own.
    synthetic_fraction : float
        For "fully" with negative variance: size of a synthetic data set over that of the survey.
    level : float
        Confidence level.

    Returns
    -------
    Combined

    Raises
    ------
    InputError
        Fewer than two estimates, other lengths, missing or negative numbers, unknown kind.

    Notes
    -----
    With mean q, between-variance b and mean variance u: **fully synthetic**, Raghunathan, Reiter
    and Rubin (2003, Journal of Official Statistics 19): T = (1 + 1/m) b - u, degrees of freedom
    (m - 1)(1 - u / ((1 + 1/m) b))^2; where T is negative, Reiter (2002, Journal of Official
    Statistics 18) replaces it by ``synthetic_fraction`` times u, and the degrees of freedom by
    m - 1. **Partially synthetic**, Reiter (2003, Survey Methodology 29): T = u + b/m, degrees of
    freedom (m - 1)(1 + u / (b/m))^2. **Bootstrap populations**, Dong, Elliott and Raghunathan
    (2014, Survey Methodology 40): T = (1 + 1/m) b, m - 1 degrees of freedom.

    Examples
    --------
    >>> result = combine([10.0, 12.0, 14.0], [1.0, 1.0, 1.0], kind="partially")
    >>> round(result.estimate, 3), round(result.variance, 3), round(result.degrees_of_freedom, 3)
    (12.0, 2.333, 6.125)
    """
    q, u = _checked(estimates, variances, kind, synthetic_fraction, level)
    m = len(q)
    b, within = float(q.var(ddof=1)), float(u.mean()) if len(u) else float("nan")
    adjusted = False
    if kind == "fully":
        total, freedom, adjusted = _fully(b, within, m, synthetic_fraction)
    elif kind == "partially":
        total = within + b / m
        freedom = (m - 1) * (1 + within / (b / m)) ** 2 if b > 0 else float("inf")
    else:
        total, freedom = (1 + 1 / m) * b, float(m - 1)
    mean = float(q.mean())
    half = t_quantile((1 + level) / 2, freedom) * np.sqrt(total)
    interval = (float(mean - half), float(mean + half))
    return Combined(mean, total, freedom, interval, b, within, m, kind, level, adjusted)


def _fully(b: float, within: float, m: int, fraction: float) -> tuple[float, float, bool]:
    total = (1 + 1 / m) * b - within
    if total > 0:
        return total, (m - 1) * (1 - within / ((1 + 1 / m) * b)) ** 2, False
    return fraction * within, float(m - 1), True


def _checked(
    estimates: Any, variances: Any, kind: object, fraction: object, level: object
) -> tuple[np.ndarray, np.ndarray]:
    faults = Faults("combine")
    check(
        faults,
        {"kind": OneOf(*KINDS), "synthetic_fraction": POSITIVE, "level": SHARE},
        {"kind": kind, "synthetic_fraction": fraction, "level": level},
    )
    q = _numbers(faults, estimates, "estimates")
    u = np.empty(0) if variances is None else _numbers(faults, variances, "variances")
    if q is not None and len(q) < 2:
        faults.add("estimates", f"{plural(len(q), 'number')}", hint="Give two or more.")
    if variances is None and kind in ("fully", "partially"):
        faults.add("variances", f"are needed for {kind} synthetic data")
    if variances is not None and q is not None and u is not None:
        if len(u) != len(q):
            faults.add("variances", f"{len(u)} for {plural(len(q), 'estimate')}")
        elif (u < 0).any():
            faults.add("variances", "are negative", rows=np.flatnonzero(u < 0))
    faults.raise_if_any()
    assert q is not None
    assert u is not None
    return q, u


def _numbers(faults: Faults, values: Any, name: str) -> np.ndarray | None:
    try:
        column = np.asarray(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        faults.add(name, "are not numbers", hint="Give one number per data set.")
        return None
    if not np.isfinite(column).all():
        rows = np.flatnonzero(~np.isfinite(column))
        faults.add(name, "are missing or infinite", rows=rows, hint="Leave these data sets out.")
        return None
    return column
