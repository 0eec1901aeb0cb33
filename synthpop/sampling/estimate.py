"""Horvitz-Thompson totals and their variance on arrays."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import LARGEST, SHARE, check, check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted import as_numbers
from synthpop.sampling.pps import EDGE


@dataclass(frozen=True, slots=True)
class Total(Result):
    """An estimated total.

    Attributes
    ----------
    estimate : float
    variance : float
        May be negative when it comes from joint probabilities; the interval is then NaN. NaN
        where a single unit was not certain: its variance cannot be estimated.
    method : str
        "sen-yates-grundy", "horvitz-thompson", "deville" or "hajek".
    level : float
    n : int
    """

    estimate: float
    variance: float
    method: str
    level: float
    n: int

    @property
    def standard_error(self) -> float:
        """Square root of the variance; NaN where it is negative."""
        return float(np.sqrt(self.variance)) if self.variance >= 0 else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Normal confidence interval."""
        half = NormalDist().inv_cdf((1 + self.level) / 2) * self.standard_error
        return (self.estimate - half, self.estimate + half)

    def summary(self) -> str:
        """Return the total with its interval."""
        if np.isnan(self.variance):
            return (
                f"Estimated total {self.estimate:.6g} from {plural(self.n, 'unit')}; one of them "
                "alone was not certain, so that the variance cannot be estimated."
            )
        low, high = self.interval
        return (
            f"Estimated total {self.estimate:.6g} from {plural(self.n, 'unit')}, "
            f"{100 * self.level:g} % interval {low:.6g} to {high:.6g} ({self.method})."
        )


def horvitz_thompson(
    values: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    joint: npt.ArrayLike | None = None,
    method: str | None = None,
    level: float = 0.95,
) -> Total:
    """Estimate a total from a sample with unequal probabilities, with its variance.

    Parameters
    ----------
    values : array, shape (n,)
        Of the drawn units; NaN is not allowed.
    probabilities : array, shape (n,)
        Their inclusion probabilities.
    joint : array, shape (n, n), optional
        Their joint inclusion probabilities, positive.
    method : {"sen-yates-grundy", "horvitz-thompson", "deville", "hajek"}, optional
        The first is for designs of fixed size, the second also for random size; both need `joint`.
        The others need none: approximations for designs near to maximum entropy (conditional
        Poisson, Sampford, Brewer, Tillé, pivotal in random order). Units with probability one add
        nothing. Default: the first with `joint`, "deville" without.
    level : float

    Returns
    -------
    Total

    Raises
    ------
    InputError
        Missing values, probabilities outside 0 and 1, shapes that do not match.

    Notes
    -----
    Sen, Yates and Grundy: sum_{k<l} (p_k p_l - p_kl) / p_kl (y_k/p_k - y_l/p_l)^2. Horvitz and
    Thompson: sum_kl (p_kl - p_k p_l) / p_kl y_k/p_k y_l/p_l. The approximations are sum c_k
    (y_k/p_k - B)^2 with B the mean of y/p weighted by c. Hájek (1964),
    doi:10.1214/aoms/1177700375: c_k = (1 - p_k) m / (m - 1) with m units of p_k < 1. Deville
    (1993): c_k = (1 - p_k) / (1 - sum a_l^2), a_l = (1 - p_l) / sum (1 - p). Both are n / (n - 1)
    times (1 - p) where all probabilities are equal. Tillé (2006), Sampling Algorithms, chapter 7.

    Examples
    --------
    >>> total = horvitz_thompson([10.0, 30.0, 20.0], [0.1, 0.3, 0.2])
    >>> total.estimate, total.variance
    (300.0, 0.0)
    """
    faults = Faults("total")
    y = as_numbers(faults, values, "values")
    p = as_numbers(faults, probabilities, "probabilities")
    n = len(y)
    if np.isnan(y).any():
        faults.add("values", "are missing", rows=np.flatnonzero(np.isnan(y)), hint="Impute them.")
    if len(p) != n:
        faults.add("probabilities", f"{len(p)} for {plural(n, 'value')}", hint="Give one a unit.")
    elif not bool(np.all((p > 0) & (p <= 1 + 1e-9))):
        faults.add("probabilities", "are not between 0 and 1")
    elif not bool(np.all(np.abs(y[~np.isnan(y)]) <= LARGEST * p[~np.isnan(y)])):
        what = "are infinite or too large: their squares have no number"
        faults.add("values", what, hint="Give them in a larger unit.")
    pairs = None if joint is None else np.asarray(joint, dtype=np.float64)
    if pairs is not None and pairs.shape != (n, n):
        faults.add("joint", f"has shape {pairs.shape}", hint=f"Give ({n}, {n}).")
    elif pairs is not None and not bool(np.all(pairs > 0)):
        faults.add("joint", "has pairs that cannot be drawn", hint="Use 'deville'.")
    estimator = method or ("deville" if pairs is None else "sen-yates-grundy")
    check_choice(faults, "method", estimator, (*WITH_PAIRS, *APPROXIMATIONS))
    if estimator in WITH_PAIRS and pairs is None:
        faults.add("joint", f"is needed by {estimator}")
    check(faults, {"level": SHARE}, {"level": level})
    faults.raise_if_any()
    expanded = y / p
    variance = _variance(estimator, expanded, p, pairs)
    return Total(float(expanded.sum()), variance, estimator, level, n)


def _deville(q: np.ndarray) -> np.ndarray:
    """Factors of Deville (1993) from q = 1 - p of the units that are not certain."""
    share = q / q.sum()
    return np.asarray(q / (1.0 - np.dot(share, share)))


def _hajek(q: np.ndarray) -> np.ndarray:
    """Factors of Hájek (1964) from q = 1 - p of the units that are not certain."""
    return np.asarray(q * len(q) / (len(q) - 1))


WITH_PAIRS = ("sen-yates-grundy", "horvitz-thompson")
APPROXIMATIONS = {"deville": _deville, "hajek": _hajek}


def _variance(method: str, expanded: np.ndarray, p: np.ndarray, pairs: np.ndarray | None) -> float:
    if method in APPROXIMATIONS or pairs is None:
        uncertain = p < 1 - EDGE
        if uncertain.sum() < 2:
            return float("nan") if uncertain.any() else 0.0
        c = APPROXIMATIONS[method](1 - p[uncertain])
        y = expanded[uncertain]
        return float(np.dot(c, (y - np.dot(c, y) / c.sum()) ** 2))
    full = pairs.copy()
    np.fill_diagonal(full, p)
    ratio = 1 - np.outer(p, p) / full
    if method == "horvitz-thompson":
        return float(expanded @ ratio @ expanded)
    differences = (expanded[:, None] - expanded[None, :]) ** 2
    return float(-0.5 * (ratio * differences).sum())
