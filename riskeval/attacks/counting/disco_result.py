"""What DiSCO found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.attacks.counting.replicated_uniques import excess_sentence, with_intervals
from riskeval.attacks.counting.request import CountingResult
from riskeval.attacks.request import as_sentences
from riskeval.attacks.shares import Excess
from synthpop.microdata.messages.message import message
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
        DiSCO of those looked for against that of the hold-out; None if there is none.
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
        whom = message(
            "persons with the same {keys} agree in {target}",
            keys=", ".join(self.keys),
            target=self.target,
        )
        if self.unit == "households":
            whom = message(
                "households with the same {keys} of all members agree in the {target} of "
                "{members} member",
                keys=", ".join(self.keys),
                target=self.target,
                members=message(self.members),
            )
        return message(
            "DiSCO: for {rate}{interval} of {n_original} original {unit} all synthetic "
            "{whom}, and correctly so. In the original itself the keys determine {target} "
            "for {disclosive_original}; the synthetic file appears to determine it for "
            "{disclosive_synthetic}, correctly or not. {common_sentence}{excess}There is "
            "no published threshold.{notes}{footnote}",
            rate=percent(self.rate),
            interval=self.intervals.sentence("DiSCO"),
            n_original=count_text(self.n_original),
            unit=message(self.unit),
            whom=whom,
            target=self.target,
            disclosive_original=percent(self.disclosive_original),
            disclosive_synthetic=percent(self.disclosive_synthetic),
            common_sentence=self._common_sentence(),
            excess=excess_sentence(self.excess, self.unit),
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )

    def _common_sentence(self) -> str:
        if self.common.empty:
            return (
                message(
                    "A level that nearly everybody has, or that follows from the keys by common "
                    "knowledge, counts too."
                )
                + " "
            )
        first = self.common.iloc[0]
        where = (
            (
                " "
                + message(
                    "of those with {key} {key_level}",
                    key=first["key"],
                    key_level=first["key_level"],
                )
            )
            if first["key"]
            else ""
        )
        return (
            message(
                "{n} of these have {target} {level}, as {share}{where} in the original: that "
                "may be common knowledge (see common; exclude_levels and exclude_pairs leave "
                "such levels out).",
                n=count_text(first["disclosed"]),
                target=self.target,
                level=first["level"],
                share=percent(first["share"], 0),
                where=where,
            )
            + " "
        )
