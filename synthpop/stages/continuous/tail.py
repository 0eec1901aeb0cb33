"""The tail of the top class: a fitted distribution with an upper end, its mean kept."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.messages.errors import InputError, ModelWarning
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, formatted, number
from synthpop.microdata.statistics.pareto import drawn_between
from synthpop.microdata.statistics.tails import GpdTail, ParetoTail, fit_gpd, fit_pareto
from synthpop.models.tilted import ranks_and_shares, rate_of_ranks, tilted_uniforms

FEWEST_IN_TAIL = 20
ESTIMATORS: dict[str, tuple[str, ...]] = {
    "gpd": ("mle", "pwm", "pwm-biased", "moments"),
    "pareto": ("pdc", "hill", "ise", "moment"),
}
HEAVY = 0.5  # shape of a generalised Pareto distribution from which on it has no variance
TIMES_LARGEST = 2.0  # without `upper`: so many times the largest sample value at most
LEAST_END = 0.9
MEAN_WEIGHT = 10
REACH = 0.01  # difference of the mean, as a share, from which on it is recorded


@dataclass(frozen=True, slots=True)
class TopClass:
    """What is drawn in the top class."""

    # GpdTail or ParetoTail: fitted to the weighted sample values above its threshold
    tail: GpdTail | ParetoTail
    upper: float  # no draw lies above
    # exponential tilting of the ranks (`synthpop.models.tilted`), so that the mean of the draws
    # is the weighted mean of the sample values
    rate: float
    # where means are calibrated by a category: the law of each of its levels
    of_groups: tuple[TopClass, ...] = ()

    def draw(self, uniforms: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
        """Turn uniform numbers into values, shape (n,), by the law of each group if there is."""
        if groups is not None and self.of_groups:
            values = np.empty(len(uniforms))
            for group in np.unique(groups).tolist():
                of_group = groups == group
                values[of_group] = self.of_groups[group]._drawn(uniforms[of_group])
            return values
        return self._drawn(uniforms)

    def _drawn(self, uniforms: np.ndarray) -> np.ndarray:
        ranks = tilted_uniforms(uniforms, self.rate)
        return drawn_between(self.tail, ranks, None, self.upper)

    def mean(self) -> float:
        """Return the mean of the draws."""
        ranks, shares = ranks_and_shares()
        return float(np.dot(shares, self._drawn(ranks)))

    def by_group(
        self, values: np.ndarray, weights: np.ndarray, groups: np.ndarray, n_groups: int
    ) -> TopClass:
        """Return the class with a law for each group, in which single large values stay.

        The upper end of a group is as far above its largest sample value as that of all is above
        the largest of all, and at least the quantile `LEAST_END` of the tail. Its mean is the
        weighted mean of its values, where `MEAN_WEIGHT` values more have the mean that the tail of
        all has up to there.
        """
        ranks, shares = ranks_and_shares()
        beyond, least = self.upper / values.max(), float(self.tail.quantile(LEAST_END))
        top_classes = []
        for group in range(n_groups):
            of_group = groups == group
            largest = values[of_group].max(initial=0.0)
            end = float(min(self.upper, max(beyond * largest, least)))
            common = TopClass(self.tail, end, self.rate)
            sums, n = float((values * weights)[of_group].sum()), int(of_group.sum())
            mean_of_group = sums / weights[of_group].sum() if n else 0.0
            mean = (n * mean_of_group + MEAN_WEIGHT * common.mean()) / (n + MEAN_WEIGHT)
            quantiles = drawn_between(self.tail, ranks, None, end)
            top_classes.append(
                TopClass(self.tail, end, rate_of_ranks(quantiles, ranks, shares, mean))
            )
        return replace(self, of_groups=tuple(top_classes))


def fit_top_class(
    kind: str,
    estimator: str,
    values: np.ndarray,
    weights: np.ndarray,
    threshold: float,
    *,
    upper: float | None,
    label: str,
) -> tuple[TopClass | None, tuple[Fallback, ...]]:
    """Fit the distribution, "gpd" or "pareto", of the values of the top class; too few have none.

    threshold: where the class begins
    upper: largest value of a draw, as which larger sample values count; default twice the largest
        sample value, or the value that half a person is expected above where that is less, but
        never less than the largest sample value
    """
    values = values if upper is None else np.minimum(values, upper)
    above, why = values > threshold, ""
    if above.sum() < FEWEST_IN_TAIL:
        why = message("only {n} sample values in the top class", n=int(above.sum()))
    elif values[above].max() <= 0:
        why = message("no sample value is positive")
    elif kind == "pareto" and threshold <= 0:
        why = message(
            "the top class begins at {threshold}, which is not above zero",
            threshold=formatted(threshold, "g"),
        )
    if why:
        return None, (Fallback(label, "all", message("{why}: no tail, within the class", why=why)),)
    tail, notes = _fitted(kind, estimator, values, weights, above, threshold, label)
    if tail is None:
        return None, notes
    end = _default_upper(tail, values, weights, above) if upper is None else float(upper)
    # The mean of the sample's values is kept by tilting the ranks of the draws.
    mean = float(np.average(values[above], weights=weights[above]))
    ranks, shares = ranks_and_shares()
    quantiles = drawn_between(tail, ranks, None, end)
    top = TopClass(tail, end, rate_of_ranks(quantiles, ranks, shares, mean))
    top_mean = top.mean()
    if abs(top_mean - mean) > REACH * abs(mean):
        means = message(
            "{top_mean}, of the sample values there {mean}",
            top_mean=number(top_mean, 6),
            mean=number(mean, 6),
        )
        what = message("mean of the tail {means}", means=means)
        notes = (*notes, Fallback(label, "all", what))
    return top, (*notes, *_reach_notes(tail, top, float(values[above].max()), upper, label))


def _fitted(
    kind: str,
    method: str,
    values: np.ndarray,
    weights: np.ndarray,
    above: np.ndarray,
    threshold: float,
    label: str,
) -> tuple[GpdTail | ParetoTail | None, tuple[Fallback, ...]]:
    if kind == "gpd":
        gpd = fit_gpd(values[above], threshold, weights=weights[above], method=method)
        return gpd, (Fallback(label, "all", gpd.fallback),) if gpd.fallback else ()
    for estimator_used in dict.fromkeys((method, "hill")):
        try:
            tail = fit_pareto(values, weights=weights, threshold=threshold, method=estimator_used)
        except InputError:
            continue
        what = message(
            "no {method} estimate of the Pareto tail: {estimator_used} was used",
            method=method,
            estimator_used=estimator_used,
        )
        return tail, () if estimator_used == method else (Fallback(label, "all", what),)
    what = message("no Pareto tail fits the top class: no tail, within the class")
    return None, (Fallback(label, "all", what),)


def _default_upper(
    tail: GpdTail | ParetoTail, values: np.ndarray, weights: np.ndarray, above: np.ndarray
) -> float:
    largest, persons = float(values[above].max()), float(weights[above].sum())
    rare = float(tail.quantile(1.0 - 0.5 / max(persons, 1.0)))
    return max(largest, min(rare, TIMES_LARGEST * largest))


def _reach_notes(
    tail: GpdTail | ParetoTail, top: TopClass, largest: float, upper: float | None, label: str
) -> tuple[Fallback, ...]:
    """Warn of a tail without a variance whose end nobody has set, and record the end."""
    is_gpd = isinstance(tail, GpdTail)
    if (tail.shape if is_gpd else 1.0 / tail.shape) <= HEAVY or upper is not None:
        return ()
    shape = message("shape") if is_gpd else message("Pareto shape")
    shape += " " + formatted(tail.shape, ".2f")
    n = int(tail.n_exceed) if isinstance(tail, GpdTail) else tail.k
    what = message("heavy tail ({shape}, no variance) from {n} values", shape=shape, n=n)
    what += ": " + message(
        "drawn up to {upper}, largest sample value {largest}",
        upper=count(top.upper),
        largest=count(largest),
    )
    warnings.warn(
        message("{label}: {what}; set upper", label=label, what=what), ModelWarning, stacklevel=2
    )
    return (Fallback(label, "all", what),)
