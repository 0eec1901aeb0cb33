"""Upper tails: the generalised Pareto distribution of the values above a threshold.

The Pareto distribution of the largest values and its estimators are in
`synthpop.microdata.statistics.pareto` and are offered here too, so that ``tails.fit_gpd`` and
``tails.fit_pareto`` stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.amse import AmseThreshold, amse_threshold
from synthpop.microdata.statistics.pareto import ParetoTail, Tail, fit_pareto, van_kerm_threshold
from synthpop.microdata.statistics.weighted import clean

__all__ = [
    "AmseThreshold",
    "GpdTail",
    "ParetoTail",
    "amse_threshold",
    "fit_gpd",
    "fit_pareto",
    "van_kerm_threshold",
]

NEARLY_EXPONENTIAL = 1e-9
LEAST_SHAPE = -1.0


@dataclass(frozen=True, slots=True)
class GpdTail(Tail):
    """Generalised Pareto distribution above a threshold.

    Examples
    --------
    >>> tail = GpdTail(location=100.0, scale=20.0, shape=0.25)
    >>> float(tail.quantile(0.5).round(3)), float(tail.cdf(np.inf))
    (115.137, 1.0)
    """

    location: float  # the threshold; the distribution begins there
    scale: float  # positive; unit of the values
    # above zero a heavy tail (moments of order 1/shape and higher do not exist), zero the
    # exponential distribution, below zero an upper end at ``location - scale / shape``
    shape: float
    method: str = "given"  # estimator that was used
    n_exceed: int = 0  # number of values above the threshold
    n_effective: float = 0.0  # the same after Kish, (sum w)^2 / sum w^2, for weighted values
    fallback: str = ""  # why another estimator stood in for the wanted one; empty when none had to

    def __post_init__(self) -> None:
        faults = Faults("generalised Pareto tail")
        if not np.isfinite([self.location, self.shape]).all():
            faults.add("location, shape", "are not finite")
        if not (np.isfinite(self.scale) and self.scale > 0):
            faults.add("scale", f"is {self.scale}", hint="It must be positive.")
        faults.raise_if_any()

    def cdf(self, values: npt.ArrayLike) -> np.ndarray:
        """Distribution function.

        values: array of any shape
        Returns array of that shape: NaN stays NaN.
        """
        x = np.asarray(values, dtype=np.float64)
        z = np.maximum((x - self.location) / self.scale, 0.0)
        if abs(self.shape) < NEARLY_EXPONENTIAL:
            return -np.expm1(-z)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.log1p(np.maximum(self.shape * z, -1.0)) / self.shape
        return -np.expm1(-inside)

    def quantile(self, probs: npt.ArrayLike) -> np.ndarray:
        """Quantile function, inverse of `cdf`.

        probs: array of any shape; between 0 and 1
        Returns array of that shape.
        """
        u = np.asarray(probs, dtype=np.float64)
        with np.errstate(divide="ignore"):
            exponential = -np.log1p(-u)
        if abs(self.shape) < NEARLY_EXPONENTIAL:
            return self.location + self.scale * exponential
        return self.location + self.scale * np.expm1(self.shape * exponential) / self.shape

    def summary(self) -> str:
        """Return what the tail says about large values."""
        if self.shape > NEARLY_EXPONENTIAL:
            kind = f"heavy: moments of order {1 / self.shape:.3g} and higher do not exist"
        elif self.shape < -NEARLY_EXPONENTIAL:
            kind = f"bounded: no value above {self.location - self.scale / self.shape:.6g}"
        else:
            kind = "exponential"
        text = (
            f"Values above {self.location:.6g} follow a generalised Pareto distribution with "
            f"scale {self.scale:.6g} and shape {self.shape:.4g} ({kind}), estimated by "
            f"{self.method} from {plural(self.n_exceed, 'value')}."
        )
        return f"{text} {self.fallback}".rstrip()


def fit_gpd(
    values: npt.ArrayLike,
    threshold: float,
    *,
    weights: npt.ArrayLike | None = None,
    method: str = "mle",
) -> GpdTail:
    """Fit a generalised Pareto distribution to the values above a threshold.

    Parameters
    ----------
    values : array, shape (n,)
        All values or those above the threshold; NaN and values up to the threshold are left out.
    weights : array, shape (n,), optional
        Survey weights; only their ratios matter.
    method : {"mle", "pwm", "pwm-biased", "moments"}
        "mle": maximum of the (weighted) likelihood, found on its profile in shape / scale, over
        shapes above -1. "pwm": probability-weighted moments, unbiased form; "pwm-biased": with
        plotting positions (i - 0.35) / n. "moments": mean and variance of the excesses.

    Returns
    -------
    GpdTail
        When the estimator cannot be computed (one value, all equal, no maximum of the likelihood)
        the next one of mle, pwm, moments, exponential is used and `fallback` says so.

    Raises
    ------
    InputError
        No value above the threshold, unknown method, wrong weights.

    Notes
    -----
    With excesses y, moments: shape = (1 - m^2/v) / 2, scale = m (m^2/v + 1) / 2. L-moments l1, l2:
    shape = 2 - l1/l2, scale = l1 (l1/l2 - 1). Weighted forms replace means by weighted means; the
    second L-moment is half the weighted mean difference of pairs of different rows. Sources:
    Hosking and Wallis (1987), doi:10.1080/00401706.1987.10488243; Grimshaw (1993),
    doi:10.1080/00401706.1993.10485040.

    Examples
    --------
    >>> y = GpdTail(0.0, 10.0, 0.2).quantile((np.arange(1000) + 0.5) / 1000)
    >>> fit = fit_gpd(y, 0.0)
    >>> round(fit.scale, 1), round(fit.shape, 1)
    (10.0, 0.2)
    """
    faults = Faults("generalised Pareto tail")
    check_choice(faults, "method", method, tuple(ESTIMATORS))
    if not np.isfinite(threshold):
        faults.add("threshold", f"is {threshold}", hint="Give a finite number.")
    faults.raise_if_any()
    x, w, _ = clean(values, weights)
    above = x > threshold
    y = x[above] - threshold
    w = np.ones(len(y)) if w is None else w[above]
    if len(y) == 0 or np.isinf(y).any():
        what = "no value is above it" if len(y) == 0 else "infinite values are above it"
        hint = "Choose another threshold or drop these values."
        raise InputError.of("generalised Pareto tail", "threshold", what, hint)
    sequence = [method, *[name for name in ("pwm", "moments") if name != method], "exponential"]
    for used in sequence:
        estimate = ESTIMATORS[used](y, w)
        if estimate is not None:
            break
    scale, shape = estimate if estimate is not None else (float(y[0]), 0.0)
    fallback = "" if used == method else f"{method} has no solution here: {used} was used."
    kish = float(w.sum() ** 2 / np.dot(w, w))
    return GpdTail(float(threshold), scale, shape, used, len(y), kish, fallback)


Estimate = tuple[float, float] | None


def _usable(scale: float, shape: float) -> Estimate:
    is_usable = np.isfinite(scale) and np.isfinite(shape) and scale > 0
    return (float(scale), float(shape)) if is_usable else None


def _moments(y: np.ndarray, w: np.ndarray) -> Estimate:
    n = len(y)
    mean = np.average(y, weights=w)
    variance = np.average((y - mean) ** 2, weights=w) * n / max(n - 1, 1)
    if variance <= mean**2 * 1e-12:
        return None
    ratio = mean**2 / variance
    return _usable(mean * (ratio + 1) / 2, (1 - ratio) / 2)


def _from_l_moments(l1: float, l2: float) -> Estimate:
    if l2 <= l1 * 1e-12:
        return None
    return _usable(l1 * (l1 / l2 - 1), 2 - l1 / l2)


def _pwm(y: np.ndarray, w: np.ndarray) -> Estimate:
    """Unbiased: sum over pairs i < j of w_i w_j |y_i - y_j| over the sum of w_i w_j."""
    order = np.argsort(y)
    y, w = y[order], w[order]
    before = np.cumsum(w) - w
    pairs = np.dot(w, before)
    if pairs <= 0:
        return None
    differences = np.dot(w * y, before) - np.dot(w, np.cumsum(w * y) - w * y)
    return _from_l_moments(float(np.average(y, weights=w)), float(differences / pairs / 2))


def _pwm_biased(y: np.ndarray, w: np.ndarray) -> Estimate:
    order = np.argsort(y)
    y, w = y[order], w[order]
    position = (np.cumsum(w) - 0.35 * w) / w.sum()
    l1 = float(np.average(y, weights=w))
    return _from_l_moments(l1, l1 - 2 * float(np.average(y * (1 - position), weights=w)))


def profile(theta: float, y: np.ndarray, share: np.ndarray) -> tuple[float, float]:
    """Log-likelihood per unit of weight at the best scale for theta = shape / scale, and the shape.

    theta: float; larger than -1 / max(y)
    y, share: arrays, shape (n,); excesses and weights that sum to one
    Returns log_likelihood, shape: float.
    """
    if theta == 0:
        return -float(np.log(np.dot(share, y))) - 1.0, 0.0
    shape = float(np.dot(share, np.log1p(theta * y)))
    return -float(np.log(shape / theta)) - shape - 1.0, shape


def _mle(y: np.ndarray, w: np.ndarray) -> Estimate:
    from scipy.optimize import minimize_scalar

    if len(y) < 2 or y.min() == y.max():
        return None
    unit = float(np.average(y, weights=w))
    z, share = y / unit, w / w.sum()
    edge = -1.0 / z.max()
    top = max(5.0, 4.0 - np.log10(np.median(z)))  # far above one over a small value
    negative = edge * (1 - np.logspace(-8, -0.01, 30))
    grid = np.concatenate([negative, [0.0], np.logspace(-3, top, int(4 * (top + 3)) + 1)])
    fits = np.array([profile(theta, z, share) for theta in grid])
    likelihood = np.where(fits[:, 1] > LEAST_SHAPE, fits[:, 0], -np.inf)
    inner = np.arange(1, len(grid) - 1)
    peaks = inner[
        np.isfinite(likelihood[inner - 1])
        & (likelihood[inner] >= likelihood[inner - 1])
        & (likelihood[inner] >= likelihood[inner + 1])
    ]
    if len(peaks) == 0:
        return None
    best = peaks[np.argmax(likelihood[peaks])]
    result = minimize_scalar(
        lambda theta: -profile(theta, z, share)[0],
        bounds=(grid[best - 1], grid[best + 1]),
        method="bounded",
        options={"xatol": 1e-10},
    )
    theta = float(result.x)
    shape = profile(theta, z, share)[1]
    scale = shape / theta if abs(theta) > 1e-12 else float(np.dot(share, z))
    return _usable(unit * scale, shape)


ESTIMATORS: dict[str, Callable[[np.ndarray, np.ndarray], Estimate]] = {
    "mle": _mle,
    "pwm": _pwm,
    "pwm-biased": _pwm_biased,
    "moments": _moments,
    "exponential": lambda y, w: (float(np.average(y, weights=w)), 0.0),
}
