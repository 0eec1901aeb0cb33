"""One number of an attack, and what it is read against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from riskeval.attacks.shares import Excess
from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import percent

OUTSIDE = "persons outside the original"
RAAB = "Raab, Nowok and Dibben 2024, arXiv:2406.16826"


def beside(info: MeasureInfo, title: str) -> MeasureInfo:
    """Return what a number is under its title beside the name of the attack."""
    return replace(info, title=title)


@dataclass(frozen=True, slots=True)
class AttackNumber:
    """One number of an attack, and what it is read against."""

    # its baseline is what an intruder reaches on persons who were not in the original, without
    # the release, or with the original itself
    measurement: Measurement
    # {"strangers", "original", ""}: what the baseline is. "original": the value is a part of what
    # the original itself tells.
    kind: str = ""
    # the attack on the original beyond that on strangers; only this allows a verdict
    excess: Excess | None = None

    @property
    def is_above(self) -> bool:
        """Whether strangers are clearly attacked with less success."""
        return self.excess is not None and self.excess.is_above

    def reading(self) -> str:
        """Say in a few words how the value stands to its baseline; empty where nothing can be said.

        Examples
        --------
        >>> from riskeval.shared.measurement import MeasureInfo
        >>> info = MeasureInfo("auc", "attribution risk", "low", "probability", "...")
        >>> beyond = Excess(0.7, 0.5, 0.2, 0.1, 0.3, 90, 90, 0.95)
        >>> AttackNumber(Measurement(info, 0.7), "strangers", beyond).reading()
        'above the hold-out'
        >>> AttackNumber(Measurement(info, 0.01, baseline=0.04), "original").reading()
        '25 % of what the original reveals; no verdict without a hold-out'
        """
        one = self.measurement
        if np.isnan(one.value):
            return ""
        verdict = message("no verdict without a hold-out")
        if self.excess is not None:
            verdict = self.excess.verdict
        if self.kind == "original" and one.baseline > 0:
            return message(
                "{share} of what the original reveals; {verdict}",
                share=percent(one.value / one.baseline, 0),
                verdict=verdict,
            )
        return verdict
