"""The result of membership inference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.attacks.request import as_sentences
from riskeval.attacks.shares import Excess, caution_of
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import formatted, percent


@dataclass(frozen=True, slots=True, eq=False)
class Membership(Result):
    """How well an intruder tells members of the original from other people.

    Attributes
    ----------
    auc : float
        Probability that a member of the original gets a higher score than a person of the
        hold-out, by the strongest attack of the panel: 0.5 is guessing, 1 is certainty.
    interval : (float, float)
        Interval of `auc`, corrected for the choice of the attack.
    excess : Excess
        `auc` beyond 0.5.
    panel : DataFrame
        One row per attack: ``attack``, ``auc``, ``lower``, ``upper``, ``strangers`` (how many).
    advantage : float
        Largest difference of true and false positive rates over all cuts of the score; above 0 by
        chance too.
    adversarial_accuracy, adversarial_accuracy_holdout, privacy_loss : float
        Share of records that are nearer to their own file than to the other one (ties count one
        half), mean of both files, for original against synthetic and hold-out against synthetic, in
        samples of equal size; and the second minus the first. Near 0 loss: the synthetic file is no
        nearer to the original than to strangers. NaN for method "density".
    per_record : DataFrame
        ``member`` (original or hold-out), ``row`` (with households the household, in order of
        appearance), ``score`` of each judged unit, by the strongest attack.
    unit : {"records", "households"}
    method : str
        The strongest attack.
    confidence : float
    seed : int
    variables : tuple of str
    notes : tuple of str
    """

    auc: float
    interval: tuple[float, float]
    excess: Excess
    panel: pd.DataFrame
    advantage: float
    adversarial_accuracy: float
    adversarial_accuracy_holdout: float
    privacy_loss: float
    per_record: pd.DataFrame
    unit: str
    method: str
    confidence: float
    seed: int
    variables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    footnote: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the measures."""
        rows = {
            "auc": self.auc,
            "auc lower": self.interval[0],
            "auc upper": self.interval[1],
            "advantage": self.advantage,
            "adversarial accuracy, original": self.adversarial_accuracy,
            "adversarial accuracy, hold-out": self.adversarial_accuracy_holdout,
            "privacy loss": self.privacy_loss,
        }
        return pd.DataFrame({"measure": list(rows), "value": list(rows.values())})

    def summary(self) -> str:
        """Say what the area means."""
        low, high = self.interval
        one = "person" if self.unit == "records" else "household"
        n_attacks = len(self.panel)
        which = message(
            "the strongest of {n_attacks} attacks, {method}",
            n_attacks=n_attacks,
            method=self.method,
        )
        text = message(
            "Membership inference ({which}): shown a {one} of the original and one that "
            "was not in it, an intruder with the synthetic file picks the right one with "
            "probability {auc} ({confidence} interval {low} to {high}; 0.5 is guessing).",
            which=which if n_attacks > 1 else self.method,
            one=one,
            auc=formatted(self.auc, ".3f"),
            confidence=percent(self.confidence, 0),
            low=formatted(low, ".3f"),
            high=formatted(high, ".3f"),
        )
        caution = caution_of([self.excess])
        if low > 0.5:
            text += " " + message(
                "The synthetic file reveals who was in the survey.{caution}", caution=caution
            )
        else:
            text += caution or (
                " " + message("These attacks cannot tell them apart; a stronger one might.")
            )
        if not np.isnan(self.privacy_loss):
            text += " " + message(
                "Nearest-neighbour privacy loss {privacy_loss} (0: no nearer to members than "
                "to strangers).",
                privacy_loss=formatted(self.privacy_loss, "+.3f"),
            )
        return message(
            "{text} There is no published threshold.{notes}{footnote}",
            text=text,
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )
