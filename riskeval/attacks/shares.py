"""What an attack finds beyond strangers, and areas under curves, with their intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from riskeval.attacks.clusters import design_effect, variance_of_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.statistics.intervals import newcombe

FEW = 25
"""Below so many persons of a kind DeLong's variance is not trusted."""


def corrected(confidence: float, n_tests: int) -> float:
    """Confidence of each of several intervals so that all hold together (Bonferroni).

    Examples
    --------
    >>> corrected(0.95, 5)
    0.99
    """
    return 1 - (1 - confidence) / max(n_tests, 1)


@dataclass(frozen=True, slots=True)
class Excess:
    """What an attack finds about persons of the original beyond what it finds about strangers.

    Attributes
    ----------
    rate, holdout_rate : float
        Mean success on persons of the original and of the hold-out that can be compared.
    """

    rate: float
    holdout_rate: float
    # difference, lower, upper: `rate` minus `holdout_rate`, with its interval
    difference: float
    lower: float
    upper: float
    # n, n_holdout: persons (or households) compared
    n: int
    n_holdout: int
    confidence: float  # of all numbers of the attack together
    # how many numbers of the attack were compared; each interval is corrected for the choice
    n_tests: int = 1
    # that records of the original are in the hold-out; empty where nothing shows it
    overlap: str = ""

    @property
    def is_above(self) -> bool:
        """Whether the original is attacked with more success than strangers, beyond chance."""
        return self.lower > 0

    @property
    def is_below(self) -> bool:
        """Whether strangers are attacked with more success, beyond chance."""
        return self.upper < 0

    @property
    def verdict(self) -> str:
        """Say in a few words how the original stands to the hold-out."""
        if self.is_above:
            return message("above the hold-out")
        if self.overlap:
            return message("no verdict: the hold-out contains no strangers")
        return (
            message("below the hold-out")
            if self.is_below
            else message("not clearly above the hold-out")
        )

    @property
    def caution(self) -> str:
        """Say why the hold-out cannot stand for strangers; empty where nothing shows it."""
        if self.overlap:
            why = (", " + message("which hides part of the excess")) if self.is_above else ""
            return f"{'Caution' if self.is_above else message('No verdict')}: {self.overlap}{why}."
        if self.is_below:
            return message(
                "No verdict: the release reveals more about the hold-out than about the "
                "original, as would a file made from the hold-out."
            )
        return ""

    def is_above_among(self, n_attacks: int) -> bool:
        """Whether that still holds when it is the most striking of so many attacks (Bonferroni).

        The distance to the lower end is stretched by the ratio of the normal quantiles.
        """
        return self.difference > (self.difference - self.lower) * self.stretch(n_attacks)

    def is_below_among(self, n_attacks: int) -> bool:
        """Whether strangers are attacked with more success, as the most striking of so many.

        Then the hold-out holds no strangers, or persons of another kind.
        """
        return self.difference < (self.difference - self.upper) * self.stretch(n_attacks)

    def stretch(self, n_attacks: int) -> float:
        """Return how much wider the interval is as one of so many attacks."""
        from scipy.special import ndtri

        one, family = (
            float(ndtri((1 + corrected(self.confidence, self.n_tests * n)) / 2))
            for n in (1, n_attacks)
        )
        return family / one


def excess(
    members: np.ndarray,
    strangers: np.ndarray,
    confidence: float,
    *,
    n_tests: int = 1,
    coverage: float = 1.0,
    overlap: str = "",
    clusters: tuple[np.ndarray | None, np.ndarray | None] | None = None,
) -> Excess | None:
    """Compare success on persons of the original, bool or in [0, 1], with success on strangers.

    The interval is Newcombe's, of samples as large as independent draws would have to be.

    n_tests: comparisons among which somebody chooses
    coverage: share of the population that the intruder has in a register; multiplies all
    overlap: that the strangers are none, if `strangers.overlap_of` says so
    clusters: households of both, in the order of their files; None for one of them where
        neighbouring records may be alike, None in place of the pair for independent draws

    Examples
    --------
    >>> one = excess(np.ones(100), np.arange(100) < 50, 0.95)
    >>> one.difference, one.is_above, round(one.lower, 2)
    (0.5, True, 0.4)
    """
    n, m = len(members), len(strangers)
    if n == 0 or m == 0:
        return None
    hits, other = float(np.sum(members)), float(np.sum(strangers))
    effects = [1.0, 1.0]
    if clusters is not None:
        effects = [design_effect(members, clusters[0]), design_effect(strangers, clusters[1])]
    low, high = newcombe(
        hits / effects[0], n / effects[0], other / effects[1], m / effects[1],
        corrected(confidence, n_tests),
    )  # fmt: skip
    return Excess(
        coverage * hits / n, coverage * other / m, coverage * (hits / n - other / m),
        coverage * low, coverage * high, n, m, confidence, n_tests, overlap,
    )  # fmt: skip


def caution_of(ones: Iterable[Excess | None]) -> str:
    """Return the first word of caution about several comparisons, as a sentence with a space.

    Examples
    --------
    >>> caution_of([excess(np.zeros(90), np.ones(90), 0.95)])[:33]
    ' No verdict: the release reveals '
    """
    texts = [one.caution for one in ones if one is not None and one.caution]
    return f" {texts[0]}" if texts else ""


def auc(
    members: np.ndarray,
    others: np.ndarray,
    confidence: float,
    clusters: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
    design: float = 1.0,
) -> tuple[float, float, float]:
    """Area under the ROC curve with its interval; equal scores count one half.

    Scores are in the order of their files; `clusters` are the households of members and of others,
    where they are known. Households and neighbouring records may be alike; `design` is the effect
    on the variance where they are and nothing tells who belongs together.

    The interval is that of DeLong, DeLong and Clarke-Pearson (1988). Where one side has fewer than
    25 scores, or all scores are separated, it is that of Newcombe (2006, method 5), whose variance
    is taken at the ends of the interval and does not vanish.

    Examples
    --------
    >>> area, low, high = auc(np.array([3.0, 4.0]), np.array([1.0, 2.0]), 0.95)
    >>> area, round(low, 2), high
    (1.0, 0.39, 1.0)
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    n, m = len(members), len(others)
    both = rankdata(np.concatenate([members, others]))
    above = (both[:n] - rankdata(members)) / m
    below = 1 - (both[n:] - rankdata(others)) / n
    area = float(above.mean())
    z = float(ndtri((1 + confidence) / 2))
    variance = 0.0
    if min(n, m) >= FEW:
        variance = variance_of_mean(above, clusters[0]) + variance_of_mean(below, clusters[1])
        variance *= design
    if variance <= 0:
        return area, _score_end(area, n, m, z, 0.0), _score_end(area, n, m, z, 1.0)
    half = z * float(np.sqrt(variance))
    return area, max(0.0, area - half), min(1.0, area + half)


def _score_end(area: float, n: int, m: int, z: float, far: float) -> float:
    """The value towards `far` that lies z of its own standard deviations from the area."""
    from scipy.optimize import brentq

    half = (n + m) / 2 - 1

    def distance(theta: float) -> float:
        variance = theta * (1 - theta)
        variance *= 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        return (area - theta) ** 2 - z * z * variance / (n * m)

    near = area + (far - area) * 1e-9
    if abs(area - far) < 1e-12 or distance(far) <= 0:
        return far
    return float(brentq(distance, min(far, near), max(far, near)))
