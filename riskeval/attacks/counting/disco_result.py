"""What DiSCO found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.attacks.counting.replicated_uniques import excess_sentence, with_intervals
from riskeval.attacks.counting.request import CountingResult
from riskeval.attacks.request import as_sentences
from riskeval.attacks.shares import Excess
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import percent


@dataclass(frozen=True, slots=True, eq=False)
class Disco(CountingResult):
    """Original persons or households whose target follows, rightly, from the synthetic file.

    Attributes
    ----------
    rate : float
        DiSCO, disclosive in synthetic, correct in original: share of original records whose keys
        lead to one single target level in the synthetic file, and it is their own. With replicates
        the mean over all files, as the other shares.
    disclosive_original : float
        Dorig, the baseline: share whose keys lead to one single level in the original.
    in_synthetic : float
        iS: share whose keys occur in the synthetic file.
    disclosive_in_synthetic : float
        Dsyn: share of synthetic records whose keys lead to one single level there.
    disclosive_synthetic : float
        DiS: share of original records whose keys lead to one single level there, right or wrong.
    disclosive_both : float
        DiSDiO: DiSCO records that are disclosive in the original as well.
    rate_judged : float
        DiSCO among those whose keys occur in the synthetic file.
    intervals : Intervals
        Of the measures over original units.
    excess : Excess or None
        DiSCO of those looked for against that of the hold-out; None without one.
    common : DataFrame
        Levels that may be common knowledge: ``key``, ``key_level`` (empty for the level by
        itself), ``level`` of the target, ``disclosed`` (original records that are DiSCO),
        ``share`` of the original records of this key level that have the target level.
    per_record : bool, shape (n_units,)
        Which original records (households, in order of appearance) are DiSCO; of several files,
        in the first.
    looked_for : bool, shape (n_units,)
        Whom the intruder looks for; shares of original units are of these, times the coverage.
    n_original, n_synthetic : int
        Units looked for, and records (members of households) of the synthetic file.
    unit : {"records", "households"}
    members : {"any", "every"}
    keys : tuple of str
    target : str
    seed : int
    notes : tuple of str
        What the numbers leave out, or rest on.
    """

    rate: float
    disclosive_original: float
    in_synthetic: float
    disclosive_in_synthetic: float
    disclosive_synthetic: float
    disclosive_both: float
    rate_judged: float
    excess: Excess | None
    common: pd.DataFrame
    per_record: np.ndarray
    n_original: int
    members: str
    target: str

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of DiSCO."""
        return self.intervals.of("DiSCO")

    def to_frame(self) -> pd.DataFrame:
        """Return the six shares with their intervals."""
        shares = {
            "Dorig": self.disclosive_original,
            "Dsyn": self.disclosive_in_synthetic,
            "iS": self.in_synthetic,
            "DiS": self.disclosive_synthetic,
            "DiSCO": self.rate,
            "DiSDiO": self.disclosive_both,
        }
        return with_intervals(shares, self.intervals)

    def summary(self) -> str:
        """Say what the share means and what to compare it with."""
        whom = f"persons with the same {', '.join(self.keys)} agree in {self.target}"
        if self.unit == "households":
            whom = (
                f"households with the same {', '.join(self.keys)} of all members agree in the "
                f"{self.target} of {self.members} member"
            )
        return (
            f"DiSCO: for {percent(self.rate)}{self.intervals.sentence('DiSCO')} of "
            f"{count_text(self.n_original)} original {self.unit} all synthetic {whom}, and rightly "
            f"so. In the original itself the keys determine {self.target} for "
            f"{percent(self.disclosive_original)}; the synthetic file seems to determine it for "
            f"{percent(self.disclosive_synthetic)}, right or wrong. "
            f"{self._common_sentence()}{excess_sentence(self.excess, self.unit)}There is no "
            f"published threshold.{as_sentences(self.notes)}{self.footnote}"
        )

    def _common_sentence(self) -> str:
        if self.common.empty:
            return (
                "A level that nearly everybody has, or that follows from the keys by common "
                "knowledge, counts too. "
            )
        first = self.common.iloc[0]
        where = f" of those with {first['key']} {first['key_level']}" if first["key"] else ""
        return (
            f"{count_text(first['disclosed'])} of these have {self.target} {first['level']}, as "
            f"{percent(first['share'], 0)}{where} in the original: that may be common knowledge "
            "(see common; exclude_levels and exclude_pairs leave such levels out). "
        )
