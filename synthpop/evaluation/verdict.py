"""One word for the fit of a population, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from synthpop.evaluation.ranking import worst_comparisons
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count

MIXED_RATIO, POOR_RATIO = 2.0, 6.0
MIXED_AUC, POOR_AUC = 0.65, 0.8
MOST_WORST = 5
WITHIN = "{n} of {all} comparisons are within the survey's sampling error."
BEYOND = (
    "{n} of {all} comparisons are within the survey's sampling error, {far} are more than twice as "
    "far."
)


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """A word with its reason."""

    word: str  # {"close", "mixed", "poor"}
    reason: str
    worst: pd.DataFrame  # at most five rows of the ranking beyond twice the expected error


def fit_verdict(ranking: pd.DataFrame, auc: Mapping[str, float]) -> Verdict:
    """Return the verdict on the fit from all comparisons and the classifier.

    "poor": a comparison is more than 6 times its expected error away, or a classifier has an AUC
    above 0.8. "mixed": more than 2 times, or above 0.65. "close" otherwise.
    """
    largest = float(ranking["ratio"].max()) if len(ranking) else 0.0
    highest = max((value for value in auc.values() if value == value), default=0.5)
    word = "close"
    if largest > MIXED_RATIO or highest > MIXED_AUC:
        word = "mixed"
    if largest > POOR_RATIO or highest > POOR_AUC:
        word = "poor"
    beyond = int((ranking["ratio"] > MIXED_RATIO).sum())
    within = int((ranking["ratio"] <= 1).sum())
    reason = message(WITHIN, n=count(within), all=count(len(ranking)))
    if beyond:
        reason = message(BEYOND, n=count(within), all=count(len(ranking)), far=count(beyond))
    if highest > MIXED_AUC and largest <= MIXED_RATIO:
        reason += " " + gettext("A classifier still tells the population from the sample.")
    return Verdict(word, reason, worst_comparisons(ranking, MOST_WORST, MIXED_RATIO))
