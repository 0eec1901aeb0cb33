"""One word for the fit of a population, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from synthpop.evaluation.detector import findings
from synthpop.evaluation.ranking import worst_comparisons
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count

LIMITED_AUC, UNUSABLE_AUC = 0.65, 0.8
FAR_RATIO, MOST_WORST = 2.0, 5


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """A word with its reason."""

    word: str  # {"good", "usable with these limits", "not usable"}
    reason: str
    findings: pd.DataFrame  # comparisons of the detector beyond their limits, the gravest first
    worst: pd.DataFrame  # at most five rows of the ranking beyond twice the expected error


def fit_verdict(ranking: pd.DataFrame, auc: Mapping[str, float], detector: pd.DataFrame) -> Verdict:
    """Return the verdict on the fit from the detector and the classifier.

    "good": the detector finds nothing, and no classifier has an AUC above 0.65. "not usable": a
    finding is so large that it spoils the variable, or an AUC is above 0.8. "usable with these
    limits" otherwise. The ranking by sampling errors gives examples, no word.
    """
    found = findings(detector)
    highest = max((value for value in auc.values() if value == value), default=0.5)
    word = message("good")
    if len(found) or highest > LIMITED_AUC:
        word = message("usable with these limits")
    if bool((found["grave"] >= 1).any()) or highest > UNUSABLE_AUC:
        word = message("not usable")
    reason = message("Nothing was found that another sample of the country would not have.")
    if len(found):
        reason = message(
            "{n} of {all} comparisons with the survey are beyond chance and matter.",
            n=count(len(found)), all=count(len(detector)),
        )  # fmt: skip
    if highest > LIMITED_AUC:
        reason += " " + message("A classifier tells the population from the sample.")
    return Verdict(word, reason, found, worst_comparisons(ranking, MOST_WORST, FAR_RATIO))
