"""Counts that vary more than Poisson counts: a gamma or inverse Gaussian factor of every cell.

The population count of a cell is Poisson with mean lambda g, its sample count Poisson with mean
pi lambda g, the rest Poisson with mean (1 - pi) lambda g; g has mean 1 and the variance
`dispersion`. With L the Laplace transform of g and L_f its f-th derivative without the sign,

    P(F = f | f) = L_f(lambda) / L_f(pi lambda),
    E(1 / F | f) = integral over t in (0, 1) of t^(f - 1) L_f(s(t)) / L_f(pi lambda),

s(t) = pi lambda + (1 - pi) lambda (1 - t). Without a factor L(s) = exp(-s), which gives the
equations 3.21 to 3.23 of Templ (2017) for f = 1.
"""

from __future__ import annotations

import numpy as np

DISTRIBUTIONS = ("poisson", "negative-binomial", "poisson-inverse-gaussian")
NODES = 48
LARGEST_COUNT = 400
"""Records of a cell up to which the integral is used; above, 1 / F is 1 over its mean."""
LEAST, MOST = 1e-4, 1e3
"""Range of dispersions that are tried."""


def log_transform(distribution: str, dispersion: float, f: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Log of the f-th derivative of the factor's Laplace transform at s, without its sign."""
    if distribution == "poisson" or dispersion == 0:
        return -s
    from scipy.special import gammaln, kve

    if distribution == "negative-binomial":
        shape = 1 / dispersion
        steps = gammaln(shape + f) - gammaln(shape) + f * np.log(dispersion)
        return np.asarray(steps - (shape + f) * np.log1p(dispersion * s))
    # density of the factor: (2 pi a g^3)^(-1/2) exp(-(g - 1)^2 / (2 a g)), a the dispersion
    root = np.sqrt(1 + 2 * dispersion * s)
    order, z = f - 0.5, root / dispersion
    with np.errstate(divide="ignore", over="ignore"):
        bessel = np.log(kve(order, z)) - z
    large = ~np.isfinite(bessel)  # many records in a cell of a tiny mean: K(z) ~ (z/2)^-order
    if large.any():
        small = gammaln(np.maximum(order, 0.5)) - np.log(2) - order * np.log(z / 2)
        bessel = np.where(large, small, bessel)
    scale = 0.5 * np.log(2 / (np.pi * dispersion)) + 1 / dispersion
    return np.asarray(scale + bessel - order * np.log(root))


def match_risks(
    distribution: str, dispersion: float, f: np.ndarray, mean: np.ndarray, pi: np.ndarray
) -> np.ndarray:
    """E(1 / F | f): the probability that a match is right; `mean` is that of the population."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # a power of the nodes puts more of them where the integrand of a large mean is: near 1
    u, du = (nodes + 1) / 2, weights / 2
    power = 4
    t, dt = 1 - u**power, power * u ** (power - 1) * du
    result = np.empty(len(f))
    few = f <= LARGEST_COUNT
    count, lam, p = f[few, None], mean[few, None], pi[few, None]
    s = p * lam + (1 - p) * lam * (1 - t)
    counts_at_nodes = np.broadcast_to(count, s.shape)
    low = log_transform(distribution, dispersion, count, p * lam)
    ratio = log_transform(distribution, dispersion, counts_at_nodes, s) - low
    result[few] = np.exp((count - 1) * np.log(t) + ratio) @ dt
    result[~few] = 1 / (f[~few] + (1 - pi[~few]) * mean[~few])
    return np.minimum(result, 1.0)


def unique_probabilities(
    distribution: str, dispersion: float, mean: np.ndarray, pi: np.ndarray
) -> np.ndarray:
    """Return P(F = 1 | f = 1) of cells."""
    one = np.ones(len(mean))
    top = log_transform(distribution, dispersion, one, mean)
    return np.asarray(np.exp(top - log_transform(distribution, dispersion, one, pi * mean)))


def estimated_dispersion(distribution: str, f: np.ndarray, mean: np.ndarray) -> float:
    """Dispersion of greatest likelihood of the occupied cells (f of at least 1), given means."""
    if distribution == "poisson":
        return 0.0
    from scipy.optimize import minimize_scalar

    mean = np.maximum(mean, 1e-12)

    def loss(log_dispersion: float) -> float:
        a = float(np.exp(log_dispersion))
        inside = f * np.log(mean) + log_transform(distribution, a, f, mean)
        none = log_transform(distribution, a, np.zeros(len(f)), mean)
        return -float((inside - np.log(-np.expm1(np.minimum(none, -1e-300)))).sum())

    minimum = minimize_scalar(loss, bounds=(np.log(LEAST), np.log(MOST)), method="bounded")
    return float(np.exp(minimum.x))
