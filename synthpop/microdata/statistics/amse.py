"""Where a Pareto tail begins: the number of values with the least mean squared error of Hill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted import clean

LEAST_VALUES = 50
STABLE_FROM, STABLE_TO = 0.995, 0.999  # powers of n between which rho is estimated


@dataclass(frozen=True, slots=True)
class AmseThreshold(Result):
    """The tail that minimises the asymptotic mean squared error (AMSE) of Hill's estimator.

    Attributes
    ----------
    k : int
        Number of values in the tail.
    threshold : float
        The largest value below the tail, where it begins; unit of the values.
    shape : float
        Hill's estimate of the Pareto shape from the k values.
    rho : float
        Second-order parameter, negative: how fast the upper tail comes near a Pareto tail.
    beta : float
        Size of the difference from a Pareto tail.
    n : int
        Number of positive values.
    """

    k: int
    threshold: float
    shape: float
    rho: float
    beta: float
    n: int

    def summary(self) -> str:
        """Return where the tail begins, in a sentence."""
        return (
            f"The mean squared error of Hill's estimator is least with the {self.k} largest of "
            f"{plural(self.n, 'positive value')}, above {self.threshold:.6g}: shape "
            f"{self.shape:.4g}."
        )


def amse_threshold(values: npt.ArrayLike) -> AmseThreshold:
    """Choose the threshold of a Pareto tail by the least AMSE of Hill's estimator.

    Parameters
    ----------
    values : array, shape (n,)
        NaN and values that are not positive are left out. Survey weights have no part in the
        choice, as in the literature; give them to `fit_pareto` with the threshold.

    Raises
    ------
    InputError
        Fewer than 50 positive values, or values so much alike that they have no tail.

    Notes
    -----
    For a tail with second-order parameters rho < 0 and beta, Hill's estimate from the k largest
    values has AMSE(k) proportional to 1/k + (beta / (1 - rho))^2 (n/k)^(2 rho), which is least at
    k0 = ((1 - rho)^2 n^(-2 rho) / (-2 rho beta^2))^(1 / (1 - 2 rho)) (Hall and Welsh 1985; Caeiro
    and Gomes 2016, in Dey and Yan, Extreme Value Modeling and Risk Analysis, 69-86). rho: Fraga
    Alves, Gomes and de Haan (2003), Portugaliae Mathematica 60, 193-213; beta: Gomes and Martins
    (2002), doi:10.1023/A:1020925908039.

    Examples
    --------
    >>> u = (np.arange(2000) + 0.5) / 2000
    >>> frechet = (-np.log(u)) ** -0.5  # shape 2, rho -1, beta 0.5
    >>> tail = amse_threshold(frechet)
    >>> tail.k, round(tail.shape, 1), round(tail.rho, 1)
    (294, 1.9, -1.2)
    """
    subject = "threshold of the tail"
    x = clean(values, None)[0]
    x = np.sort(x[x > 0])[::-1]
    n = len(x)
    if n < LEAST_VALUES:
        hint = f"Give {LEAST_VALUES} or more, or a threshold."
        raise InputError.of(subject, "values", plural(n, "positive value"), hint)
    logs = np.log(x)
    # 1. The second-order parameters, from nearly all values.
    rho = second_order_rho(logs)
    beta = second_order_beta(logs, rho, int(n**STABLE_TO))
    if not (np.isfinite([rho, beta]).all() and rho < 0 and beta != 0):
        what = "have no upper tail whose second-order parameters can be estimated"
        raise InputError.of(subject, "values", what, "Give a threshold, or use van Kerm's rule.")
    # 2. The number of values with the least error, and Hill's estimate from these.
    k = int(np.clip(least_error_k(n, rho, beta), 2, n - 1))
    mean_excess = float(logs[:k].mean() - logs[k])
    if not mean_excess > 0:
        raise InputError.of(subject, "values", "are equal in the tail", "Give a threshold.")
    return AmseThreshold(k, float(x[k]), 1.0 / mean_excess, rho, beta, n)


def least_error_k(n: int, rho: float, beta: float) -> float:
    """Return the k that minimises 1/k + (beta / (1 - rho))^2 (n/k)^(2 rho)."""
    ratio = (1 - rho) ** 2 * float(n) ** (-2 * rho) / (-2 * rho * beta**2)
    return float(ratio ** (1 / (1 - 2 * rho)))


def second_order_rho(logs: np.ndarray) -> float:
    """Estimate rho from the logarithms of the values, largest first."""
    n = len(logs)
    k = np.unique(np.arange(int(n**STABLE_FROM), int(n**STABLE_TO) + 1))
    k = k[(k >= 2) & (k < n)]
    moments = [_moment(logs, k, power) for power in (1, 2, 3)]
    by_tuning = []
    for tuning in (0, 1):
        with np.errstate(divide="ignore", invalid="ignore"):
            # T of the moments: a ratio of differences of their powers (of logarithms for 0)
            first, second, third = (
                np.log(m) / j if tuning == 0 else m ** (tuning / j)
                for j, m in enumerate((moments[0], moments[1] / 2, moments[2] / 6), start=1)
            )
            t = (first - second) / (second - third)
            estimates = -np.abs(3 * (t - 1) / (t - 3))
        estimates = estimates[np.isfinite(estimates)]
        if len(estimates):
            unstable = float(np.sum((estimates - np.median(estimates)) ** 2))
            by_tuning.append((unstable, float(estimates[-1])))
    return min(by_tuning)[1] if by_tuning else float("nan")


def _moment(logs: np.ndarray, k: np.ndarray, power: int) -> np.ndarray:
    """Mean of (log X_i - log X_(k+1))^power over the k largest, for each k."""
    sums = [np.concatenate([[0.0], np.cumsum(logs**j)]) for j in range(1, power + 1)]
    at = logs[k]
    if power == 1:
        return np.asarray(sums[0][k] / k - at)
    if power == 2:
        return np.asarray(sums[1][k] / k - 2 * at * sums[0][k] / k + at**2)
    cube = sums[2][k] / k - 3 * at * sums[1][k] / k + 3 * at**2 * sums[0][k] / k - at**3
    return np.asarray(cube)


def second_order_beta(logs: np.ndarray, rho: float, k: int) -> float:
    """Estimate beta from the scaled log-spacings of the k largest values."""
    rank = np.arange(1, k + 1)
    spacing = rank * (logs[:k] - logs[1 : k + 1])
    weight = (rank / k) ** -rho
    d, plain = float(weight.mean()), float(spacing.mean())
    with_weight = float((weight * spacing).mean())
    twice = float((weight**2 * spacing).mean())
    below = d * with_weight - twice
    if below == 0:
        return float("nan")
    return float((k / len(logs)) ** rho * (d * plain - with_weight) / below)
