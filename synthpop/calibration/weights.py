"""What weights cost, and how to trim them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number


def design_effect(weights: npt.ArrayLike) -> float:
    """Return Kish's design effect of unequal weights, ``n sum(w^2) / sum(w)^2``.

    Parameters
    ----------
    weights : array, shape (n,)

    Returns
    -------
    float
        1 for equal weights; 1.3 means: a variance about 30 % larger than with equal weights.

    Notes
    -----
    Kish (1965), Survey Sampling, section 11.7; it holds for variables unrelated to the weights.

    Examples
    --------
    >>> design_effect([1.0, 1.0, 4.0])
    1.5
    """
    w = _scaled(weights)
    return float(len(w) * np.sum(w**2) / np.sum(w) ** 2)


def effective_sample_size(weights: npt.ArrayLike) -> float:
    """Return the sample size divided by the design effect, ``sum(w)^2 / sum(w^2)``.

    Parameters
    ----------
    weights : array, shape (n,)

    Examples
    --------
    >>> effective_sample_size([1.0, 1.0, 4.0])
    2.0
    """
    w = _scaled(weights)
    return float(np.sum(w) ** 2 / np.sum(w**2))


def _scaled(weights: npt.ArrayLike) -> np.ndarray:
    """Divide weights by a power of two, so that the largest is near 1 and no square is infinite."""
    w = np.asarray(weights, dtype=np.float64)
    exponent = int(np.frexp(np.abs(w).max(initial=0.0))[1])
    return np.ldexp(w, -exponent)


@dataclass(frozen=True, slots=True)
class TrimmedWeights(Result):
    """Weights held within limits, with the same sum.

    Attributes
    ----------
    weights : float64 array, shape (n,)
    lower, upper : float
    n_lower, n_upper : int
        Weights that lie at the lower and at the upper limit.
    design_effect_before, design_effect : float
    """

    weights: np.ndarray
    lower: float
    upper: float
    n_lower: int
    n_upper: int
    design_effect_before: float
    design_effect: float

    def summary(self) -> str:
        """Return what the trimming did, in sentences."""
        return (
            f"{self.n_lower} weights lie at the lower limit {self.lower:g} and {self.n_upper} at "
            f"the upper limit {self.upper:g}; the sum is kept. Design effect (Kish) "
            f"{self.design_effect_before:.4g} before, {self.design_effect:.4g} after. Known "
            "totals are no longer met exactly: calibrate again, with weight_bounds."
        )


def trim_weights(
    weights: npt.ArrayLike,
    *,
    lower: float = 0.0,
    upper: float = np.inf,
    groups: npt.ArrayLike | None = None,
) -> TrimmedWeights:
    """Cut weights at limits and spread what was cut over the others in proportion.

    Parameters
    ----------
    weights : array, shape (n,)
        Positive and finite.
    lower, upper : float
        Limits of a weight.
    groups : array, shape (n,), optional
        The sum is kept within each group; default overall.

    Returns
    -------
    TrimmedWeights

    Raises
    ------
    InputError
        Where weights are not positive, or no weights within the limits have the sum.

    Notes
    -----
    The trimmed weights of a group are ``min(max(c w, lower), upper)`` with the one factor c that
    keeps the sum, which is where repeated cutting and spreading ends.

    Examples
    --------
    >>> trim_weights([1.0, 2.0, 3.0, 14.0], upper=10.0).weights.round(6).tolist()
    [1.666667, 3.333333, 5.0, 10.0]
    """
    w = np.asarray(weights, dtype=np.float64)
    labels = np.zeros(len(w), dtype=np.int64) if groups is None else np.asarray(groups)
    faults = Faults("trim_weights")
    is_invalid = ~(np.isfinite(w) & (w > 0))
    if is_invalid.any():
        rows = np.flatnonzero(is_invalid)
        faults.add("weights", "not positive and finite", rows=rows, hint="Repair these rows.")
    if not 0 <= lower < upper:
        faults.add("limits", f"lower {lower} and upper {upper}", hint="0 <= lower < upper")
    if labels.shape != w.shape:
        faults.add("groups", f"{labels.shape} entries for {w.shape} weights")
    faults.raise_if_any()
    distinct, group = np.unique(labels, return_inverse=True)
    out = np.empty_like(w)
    for g, name in enumerate(distinct):
        member = group == g
        total, n = float(w[member].sum()), int(member.sum())
        if not n * lower <= total <= n * upper:
            faults.add(
                f"group {name}" if groups is not None else "limits",
                f"{n} weights with sum {number(total, 6)} cannot lie within {lower:g} and "
                f"{upper:g}",
                hint="Widen the limits.",
            )
            continue
        out[member] = _trimmed(w[member], lower, upper, total)
    faults.raise_if_any()
    return TrimmedWeights(
        weights=out,
        lower=float(lower),
        upper=float(upper),
        n_lower=int((out <= lower).sum()) if lower > 0 else 0,
        n_upper=int((out >= upper).sum()),
        design_effect_before=design_effect(w),
        design_effect=design_effect(out),
    )


def _trimmed(w: np.ndarray, lower: float, upper: float, total: float) -> np.ndarray:
    """Find the factor by halving an interval of its logarithm, then finish it exactly."""
    low, high = 0.0, 1.0
    while np.clip(high * w, lower, upper).sum() < total and high < 1e300:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.clip(middle * w, lower, upper).sum() < total:
            low = middle
        else:
            high = middle
    out = np.clip(high * w, lower, upper)
    free = (high * w > lower) & (high * w < upper)
    if free.any():
        remaining_total = total - float(out[~free].sum())
        out[free] = np.clip(w[free] * (remaining_total / float(w[free].sum())), lower, upper)
    return out
