"""What scores prove: area, success at few false alarms, and a lower bound of epsilon."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.statistics.intervals import clopper_pearson

GUESSED = (0.01, 0.05, 0.2, 1.0)
"""Shares of the scores, the most extreme ones, on which guesses are made."""


def lower_bound_of_epsilon(right: int, n: int, confidence: float) -> float:
    """Return what epsilon exceeds where `right` of `n` guesses who was in are right.

    A generator that is epsilon-differentially private lets nobody guess a fair coin with a
    probability above exp(epsilon) / (1 + exp(epsilon)), however many are guessed from one release:
    the number that is right is at most binomial (Steinke, Nasr and Jagielski 2023,
    arXiv 2305.08846, theorem 5.2 with delta 0). The bound is the logit of the one-sided
    Clopper-Pearson limit of the share, 0 where that is below one half.

    Examples
    --------
    >>> round(lower_bound_of_epsilon(100, 100, 0.95), 2)
    3.49
    >>> lower_bound_of_epsilon(55, 100, 0.95)
    0.0
    """
    low, _ = clopper_pearson(right, n, 2 * confidence - 1)
    return float(np.log(low / (1 - low))) if low > 0.5 else 0.0


def bound_of_rates(true: int, n_in: int, false: int, n_out: int, confidence: float) -> float:
    """Return the lower bound of epsilon from true and false alarms (Jagielski et al. 2020).

    The logarithm of the Clopper-Pearson limits of both rates, each at half of the error.

    Examples
    --------
    >>> round(bound_of_rates(100, 100, 0, 100, 0.95), 2)
    3.28
    """
    low, _ = clopper_pearson(true, n_in, confidence)
    _, high = clopper_pearson(false, n_out, confidence)
    return max(0.0, float(np.log(low / high))) if low > 0 else 0.0


def guesses(
    scores: np.ndarray, present: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Return how many guesses on the most extreme scores are right, and how many there are.

    The highest half of that share is guessed in, the lowest out; equal scores in random order.
    """
    order = np.lexsort((rng.random(len(scores)), scores))
    each = max(1, int(len(scores) * share / 2))
    right = int(present[order[-each:]].sum()) + int((~present[order[:each]]).sum())
    return right, 2 * each


def success_at(
    scores: np.ndarray, present: np.ndarray, false_alarms: float
) -> tuple[int, int, int, int]:
    """Return true alarms, those in, false alarms and those out at a rate of false alarms.

    The threshold is the lowest score above which no more than that share of those out lie.
    """
    outside = np.sort(scores[~present])[::-1]
    allowed = int(false_alarms * len(outside))
    threshold = outside[allowed] if len(outside) else np.inf
    above = scores > threshold
    return (
        int((above & present).sum()), int(present.sum()), int((above & ~present).sum()),
        len(outside),
    )  # fmt: skip
