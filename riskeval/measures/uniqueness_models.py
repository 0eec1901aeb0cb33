"""Population uniques from how many keys occur once, twice ... in a sample: Zayatz, Pitman, Chen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CLEARLY = 1.92  # gain in log-likelihood that one more parameter needs at the 5 % level
LARGEST_SHAPE = 10.0  # above it all keys are about equally frequent, which no keys of persons are


def zayatz_uniques(counts: np.ndarray, population: float) -> float:
    """Population uniques after Zayatz (1991), from the records of each distinct key."""
    from scipy.special import gammaln

    n, big = float(counts.sum()), float(population)
    sizes, classes = np.unique(counts, return_counts=True)
    j = sizes.astype(np.float64)
    possible = big - n - (j - 1) > -0.5  # a class of size j can leave one person in the sample
    j, share = j[possible], classes[possible] / len(counts)

    def log_choose(top: np.ndarray | float, bottom: float) -> Any:
        return gammaln(top + 1) - gammaln(bottom + 1) - gammaln(top - bottom + 1)

    one = np.exp(np.log(j) + log_choose(big - j, n - 1) - log_choose(big, n))
    alone = float(share[j == 1][0] * one[j == 1][0])
    probability = alone / float((share * one).sum())
    return float(np.count_nonzero(counts == 1)) * probability * big / n


def pitman_uniques(counts: np.ndarray, population: float) -> float:
    """Population uniques by maximum likelihood in Pitman's formula (Hoshino 2001); NaN if none."""
    from scipy.special import gammaln

    fitted = pitman_fit(counts)
    if fitted is None:
        return float("nan")
    theta, alpha = fitted
    big = float(population)
    log_uniques = (
        np.log(big)
        + gammaln(theta + alpha + big - 1)
        + gammaln(theta + 1)
        - gammaln(theta + alpha)
        - gammaln(theta + big)
    )
    value = float(np.exp(min(float(log_uniques), 700.0)))
    return value if np.isfinite(value) and value <= big else float("nan")


def pitman_fit(counts: np.ndarray) -> tuple[float, float] | None:
    """Maximum likelihood estimates (theta, alpha) of Pitman's formula; None where there are none.

    Either 0 <= alpha < 1 and theta > -alpha, or alpha < 0 and theta = -m alpha: a population of m
    keys in all (the symmetric Dirichlet-multinomial model), which fits when the sample has seen
    most keys. The second is taken only when it is clearly more likely, as it is the riskier one to
    be wrong with (it finds few uniques). There is no maximum when all keys occur once, or when
    there is one key.
    """
    n, u = int(counts.sum()), len(counts)
    if u <= 1 or u == n:
        return None
    starts = [(0.0, np.log(u)), (1.5, 1.0), (-6.0, np.log(10.0 * u))]
    open_ended = _best(_loss(counts, _pitman), starts)
    finite = _best(_loss(counts, _dirichlet), [(0.0, 0.0), (-3.0, 2.0), (2.0, -2.0)])
    if not np.isfinite(open_ended.fun) or open_ended.x[1] > 39 or open_ended.x[0] > 25:
        return None
    b, m = _finite_of(finite.x, u)
    if n * (open_ended.fun - finite.fun) > CLEARLY and b < LARGEST_SHAPE:
        return m * b, -b
    alpha = _alpha_of(open_ended.x[0])
    return float(np.exp(open_ended.x[1])) - alpha, alpha


def _best(loss: Callable[[np.ndarray], float], starts: list[tuple[float, float]]) -> Any:
    from scipy.optimize import minimize

    options = {"xatol": 1e-7, "fatol": 1e-13, "maxiter": 400}  # a maximum takes some 100
    fits = [minimize(loss, start, method="Nelder-Mead", options=options) for start in starts]
    return min(fits, key=lambda fit: fit.fun)


def _alpha_of(x: float) -> float:
    return float(_between(1 / (1 + np.exp(-_between(x, -30, 30))), 1e-9, 1 - 1e-9))


def _between(x: float, least: float, most: float) -> float:
    """Do what `np.clip` does, which takes longer for a single number than all the rest."""
    return min(max(x, least), most)


def _finite_of(x: np.ndarray, u: int) -> tuple[float, float]:
    """Shape b and number of keys m, kept where differences of log-gammas are exact enough."""
    b = float(np.exp(_between(x[0], -12, 6)))
    return b, u - 1 + float(np.exp(_between(x[1], -12, np.log(1e4 * u))))


def _loss(
    counts: np.ndarray, model: Callable[[np.ndarray, int], tuple[float, float, Any]]
) -> Callable[[np.ndarray], float]:
    """Minus the mean log-likelihood of Pitman's formula, by the parameters of a model."""
    from scipy.special import gammaln

    n, u = int(counts.sum()), len(counts)
    sizes, classes = np.unique(counts, return_counts=True)

    def loss(x: np.ndarray) -> float:
        theta, alpha, steps = model(x, u)
        draws = gammaln(theta + n) - gammaln(theta + 1)
        inside = (classes * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
        return float(-(steps - draws + inside) / n)

    return loss


def _pitman(x: np.ndarray, u: int) -> tuple[float, float, Any]:
    """Parameters theta and alpha >= 0 of (logit alpha, log(theta + alpha)), and the steps."""
    from scipy.special import gammaln

    alpha = _alpha_of(x[0])
    theta = float(np.exp(_between(x[1], -30, 40))) - alpha
    steps = (u - 1) * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
    return theta, alpha, steps


def _dirichlet(x: np.ndarray, u: int) -> tuple[float, float, Any]:
    """The same for alpha = -b < 0 of (log b, log(m - u + 1))."""
    from scipy.special import gammaln

    b, m = _finite_of(x, u)
    return m * b, -b, (u - 1) * np.log(b) + gammaln(m) - gammaln(m - u + 1)


def snb_uniques(counts: np.ndarray, population: float) -> float:
    """Population uniques of the slide negative binomial model; NaN where it has no solution.

    Class sizes F = 1 + G with G negative binomial (shape a, mean a m). Thinned with fraction pi, a
    class is empty with probability (1 - pi) A and a sample unique with A (pi + (1 - pi) a pi m / (1
    + pi m)), A = (1 + pi m)^-a. With K = N / (1 + a m) classes both expected numbers are set to the
    observed ones; uniques are K (1 + m)^-a.
    """
    from scipy.optimize import least_squares

    n, big = float(counts.sum()), float(population)
    pi = n / big
    filled, alone = float(len(counts)), float(np.count_nonzero(counts == 1))

    def gap(x: np.ndarray) -> np.ndarray:
        a, m = np.exp(np.clip(x, -40, 40))
        classes = big / (1 + a * m)
        none = np.exp(-a * np.log1p(pi * m))
        expected_filled = classes * (1 - (1 - pi) * none)
        expected_alone = classes * none * (pi + (1 - pi) * a * pi * m / (1 + pi * m))
        return np.log([max(expected_filled, 1e-300) / filled, max(expected_alone, 1e-300) / alone])

    best = None
    for start in ((-1.0, 3.0), (0.0, 0.0), (-4.0, 6.0), (2.0, -2.0), (-2.0, 9.0)):
        fit = least_squares(gap, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if best is None or fit.cost < best.cost:
            best = fit
    if best is None or np.abs(best.fun).max() > 1e-6:
        return float("nan")
    a, m = np.exp(np.clip(best.x, -40, 40))
    return float(big / (1 + a * m) * np.exp(-a * np.log1p(m)))
