"""The Pareto distribution of the largest values, ``P(X > x) = (x / threshold)^-shape``.

Estimators of the shape for survey samples; the partial density component (PDC) and the integrated
squared error (ISE) estimators are robust and take survey weights. Notation: y = x / threshold for
the k values above the threshold, density ``f(y) = theta y^-(1 + theta)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.pareto_estimators import hill, ise, ls, moment, pdc, qq, tm, wml
from synthpop.microdata.statistics.weighted import clean, mean, quantile

TAIL_PROBS = (0.97, 0.98)


def drawn_between(
    tail: Tail, uniforms: np.ndarray, lower: float | None, upper: float | None
) -> np.ndarray:
    """Turn uniform numbers into draws from a tail, given that these lie between two bounds."""
    low = 0.0 if lower is None else float(tail.cdf(lower))
    high = 1.0 if upper is None else float(tail.cdf(upper))
    if not high > low:
        what = f"no probability between {lower} and {upper}"
        raise InputError.of("tail", "upper", what, "Widen the interval.")
    values = tail.quantile(low + (high - low) * uniforms)
    return np.clip(values, lower, upper) if lower is not None or upper is not None else values


class Tail(Result, ABC):
    """A distribution of large values, from which values are drawn."""

    __slots__ = ()

    @abstractmethod
    def cdf(self, values: npt.ArrayLike) -> np.ndarray:
        """Distribution function; NaN stays NaN."""

    @abstractmethod
    def quantile(self, probs: npt.ArrayLike) -> np.ndarray:
        """Quantile function, inverse of `cdf`."""

    def draw(
        self,
        rng: np.random.Generator,
        size: int,
        *,
        lower: float | None = None,
        upper: float | None = None,
    ) -> np.ndarray:
        """Draw values, truncated to ``lower < x < upper`` where these are given.

        Parameters
        ----------
        rng : Generator
            One uniform number is used for each value.
        lower, upper : float, optional
            Truncation: the values follow the distribution given that they lie between.

        Returns
        -------
        array, shape (size,)

        Raises
        ------
        InputError
            The interval is empty or the tail gives it no probability.

        Examples
        --------
        >>> tail = ParetoTail(threshold=100.0, shape=2.0)
        >>> drawn = tail.draw(np.random.default_rng(1), 1000, upper=150.0)
        >>> bool(100 <= drawn.min() and drawn.max() <= 150)
        True
        """
        return drawn_between(self, rng.random(size), lower, upper)


@dataclass(frozen=True, slots=True)
class ParetoTail(Tail):
    """Pareto distribution of the values above a threshold.

    Examples
    --------
    >>> tail = ParetoTail(threshold=50_000.0, shape=4.0)
    >>> float(tail.quantile(0.99).round(0))
    158114.0
    """

    threshold: float  # scale parameter: the distribution begins there
    # theta > 0; the smaller, the heavier the tail. The mean exists above 1, the variance above 2.
    shape: float
    method: str = "given"  # estimator
    k: int = 0  # number of values in the tail
    n: int = 0  # number of values in all

    def __post_init__(self) -> None:
        faults = Faults("Pareto tail")
        for name in ("threshold", "shape"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                faults.add(name, f"is {value}", hint="It must be positive.")
        faults.raise_if_any()

    def cdf(self, values: npt.ArrayLike) -> np.ndarray:
        """Distribution function; NaN stays NaN.

        values: array of any shape
        Returns array of that shape.
        """
        ratio = np.maximum(np.asarray(values, dtype=np.float64) / self.threshold, 1.0)
        return 1.0 - ratio**-self.shape

    def quantile(self, probs: npt.ArrayLike) -> np.ndarray:
        """Quantile function, inverse of `cdf`.

        probs: array of any shape; between 0 and 1
        Returns array of that shape.
        """
        with np.errstate(divide="ignore", over="ignore"):  # heavy tails reach infinity
            logs = np.log1p(-np.asarray(probs, dtype=np.float64))
            return self.threshold * np.exp(-logs / self.shape)

    def summary(self) -> str:
        """Return what the tail says about large values."""
        return (
            f"The {self.k} of {self.n} values above {self.threshold:.6g} follow a Pareto "
            f"distribution with shape {self.shape:.4g} ({self.method}): the share above twice the "
            f"threshold is {100 * 2**-self.shape:.2g} % of them."
        )


def van_kerm_threshold(values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """Threshold of the Pareto tail of equivalised income by van Kerm's rule.

    Two and a half times the mean, but not below the 97 % and not above the 98 % quantile.

    Parameters
    ----------
    values : array, shape (n,)
        NaN is left out.
    weights : array, shape (n,), optional

    Notes
    -----
    Van Kerm (2007), IRISS working paper 2007-01. In print the rule reads min(max(2.5 mean, q98),
    q97), which would always be q97; the quantiles have changed places. Quantiles are the first
    value whose share of weight is larger than p.

    Examples
    --------
    >>> van_kerm_threshold(np.arange(1.0, 201.0))
    197.0
    """
    low, high = quantile(values, weights, TAIL_PROBS, definition="exceeded")
    return float(min(max(2.5 * mean(values, weights), low), high))


def fit_pareto(
    values: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    method: str = "pdc",
    k: int | None = None,
    threshold: float | None = None,
    cutoff: float = 2.5,
    trim: float = 0.05,
) -> ParetoTail:
    """Fit a Pareto distribution to the largest values.

    Parameters
    ----------
    values : array, shape (n,)
        One value per household where values are shared by its members. NaN is left out.
    weights : array, shape (n,), optional
        Survey weights, for "hill", "pdc", "ise" and "moment"; the others have no weighted form.
    method : {"hill", "pdc", "wml", "ise", "moment", "qq", "ls", "tm"}
        Hill's maximum likelihood; partial density component; weighted maximum likelihood with
        residual weights and bias correction (the weights are about robustness, not the survey);
        integrated squared error; moments of logarithms; regression on the quantile plot; the same
        through the threshold (least squares); trimmed mean of logarithms.
    k : int, optional
        Number of values in the tail; the threshold is the next one.
    threshold : float, optional
        Values above it are the tail. Without `k` and `threshold`: van Kerm's rule.
    cutoff : float
        "wml": residuals up to this size have weight one.
    trim : float
        "tm": share trimmed on either side, below one half.

    Raises
    ------
    InputError
        Both `k` and `threshold`; a threshold that is not positive or leaves fewer than two
        values; weights with a method that has no weighted form.

    Notes
    -----
    Alfons, Templ and Filzmoser (2013), doi:10.1111/j.1467-9876.2012.01063.x; Hill (1975); Dekkers,
    Einmahl and de Haan (1989); Kratz and Resnick (1996); Brazauskas and Serfling (2000); Dupuis
    and Victoria-Feser (2006); Vandewalle et al. (2007), doi:10.1016/j.csda.2007.01.003.

    Examples
    --------
    >>> x = ParetoTail(1000.0, 3.0).quantile((np.arange(500) + 0.5) / 500)
    >>> [round(fit_pareto(x, method=m, threshold=1000.0).shape, 1) for m in ("hill", "pdc")]
    [3.0, 3.0]
    """
    faults = Faults("Pareto tail")
    check_choice(faults, "method", method, tuple(ESTIMATORS))
    if k is not None and threshold is not None:
        faults.add("k, threshold", "both are given", hint="Give one of them.")
    if weights is not None and method in ("wml", "qq", "ls", "tm"):
        faults.add("weights", f"{method} has no weighted form", hint="Use pdc, ise or hill.")
    if not cutoff > 0:
        faults.add("cutoff", f"is {cutoff}", hint="Give a positive number.")
    if not 0 <= trim < 0.5:
        faults.add("trim", f"is {trim}", hint="Give a share below one half.")
    faults.raise_if_any()
    x, w, _ = clean(values, weights)
    order = np.argsort(x)
    x, w = x[order], np.ones(len(x)) if w is None else w[order]
    start, x0 = _tail_start(faults, x, w, k, threshold)
    faults.raise_if_any()
    y = x[start:] / x0
    shape = ESTIMATORS[method](np.log(y), w[start:] / w[start:].sum(), cutoff, trim)
    if not (np.isfinite(shape) and shape > 0):
        what = f"{method} has no solution in this tail"
        raise InputError.of("Pareto tail", "values", what, "Use hill or pdc.")
    return ParetoTail(float(x0), float(shape), method, len(y), len(x))


def _tail_start(
    faults: Faults, x: np.ndarray, w: np.ndarray, k: int | None, threshold: float | None
) -> tuple[int, float]:
    n = len(x)
    if k is not None:
        if not 2 <= k < n:
            faults.add("k", f"{k} of {n} values", hint=f"Give a number between 2 and {n - 1}.")
            return 0, 1.0
        start, x0 = n - k, float(x[n - k - 1])
    else:
        x0 = van_kerm_threshold(x, w) if threshold is None else threshold
        start = int(np.searchsorted(x, x0, side="right"))
        if n - start < 2:
            faults.add("threshold", f"{plural(n - start, 'value')} above it", hint="Lower it.")
            return 0, 1.0
    if x[-1] <= x0:
        hint = "The values are too much alike to have a tail."
        faults.add("values", f"none lies above the threshold of {x0:g}", hint=hint)
        return 0, 1.0
    if not x0 > 0:
        faults.add("threshold", f"is {x0:g}", hint="It must be positive.")
        return 0, 1.0
    return start, x0


ESTIMATORS: dict[str, Callable[[np.ndarray, np.ndarray, float, float], float]] = {
    "hill": hill,
    "pdc": pdc,
    "wml": wml,
    "ise": ise,
    "moment": moment,
    "qq": qq,
    "ls": ls,
    "tm": tm,
}
