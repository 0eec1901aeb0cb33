"""What the attack that draws a record with the same keys found."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from riskeval.attacks.counting.replicated_uniques import excess_sentence
from riskeval.attacks.counting.request import CountingResult
from riskeval.attacks.request import as_sentences
from riskeval.attacks.shares import Excess
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, formatted


@dataclass(frozen=True, slots=True, eq=False)
class Attribution(CountingResult, TableResult):
    """Probabilities that an intruder attributes the right target value.

    Attributes
    ----------
    table : DataFrame
        ``measure``, ``value``, ``n`` (units or records it is a mean over), ``meaning``, ``mean``,
        ``lower``, ``upper``; see `tcap`.
    per_record : DataFrame
        One row per original person, looked for or not. ``cap``: probability to draw the right level
        among synthetic records with the same keys,
        NaN where there are none; ``weap``: share of the most frequent level among them (NaN
        likewise); ``targeted``: `weap` reaches `tau`; ``right``: the most frequent level is the
        record's own (the first level when several are as frequent). With households also
        ``household`` (0, 1, ... in order of appearance).
    baseline : float
        Probability to be right by drawing from the distribution of the target in the original,
        without any key.
    intervals : Intervals
        Of the measures over original units.
    excess : dict of measure to Excess
        DCAP and TCAP_original of those looked for against those of the hold-out; empty without
        one. (TCAP counts those who are targeted and rightly so, over all.)
    looked_for : bool, shape (n_units,)
    tau : float
    unit : {"records", "households"}
    members : {"any", "every"}
    keys : tuple of str
    target : str
    n_synthetic : int
    seed : int
    notes : tuple of str
        What the numbers leave out, or rest on.
    """

    table: pd.DataFrame
    per_record: pd.DataFrame
    baseline: float
    excess: dict[str, Excess]
    tau: float
    members: str
    target: str

    def value(self, measure: str) -> float:
        """Return one measure by name."""
        values = self.table.loc[self.table["measure"] == measure, "value"]
        if values.empty:
            hint = message("There are: {value}.", value=[*self.table["measure"]])
            raise InputError.of("Attribution", measure, "no such measure", hint)
        return float(values.iloc[0])

    def summary(self) -> str:
        """Say what the main measures mean."""
        n_targeted = int(self.table.loc[self.table["measure"] == "TCAP_original", "n"].iloc[0])
        right = message("is right")
        if self.unit == "households":
            right = message(
                "is right for {members} member of a household", members=message(self.members)
            )
        return message(
            "Correct attribution of {target} from {keys}: an intruder who draws among the "
            "synthetic persons with the same keys {right} with probability "
            "{value}{interval} where there are any ({over_all} over all original {unit}); "
            "drawing without keys {baseline}; drawing in the original itself "
            "{in_original}. For the {n_targeted} {unit} whose synthetic class points to "
            "one level (WEAP at least {tau}) the share of correct attributions is {tcap} "
            "(TCAP over original {unit}; over synthetic records {tcap_synthetic}). "
            "{excess}There is no published threshold.{notes}{footnote}",
            target=self.target,
            keys=", ".join(self.keys),
            right=right,
            value=formatted(self.value("DCAP_matched"), ".3f"),
            interval=self.intervals.sentence("DCAP_matched"),
            over_all=formatted(self.value("DCAP"), ".3f"),
            unit=message(self.unit),
            baseline=formatted(self.baseline, ".3f"),
            in_original=formatted(self.value("CAP_original"), ".3f"),
            n_targeted=count(n_targeted),
            tau=formatted(self.tau, "g"),
            tcap=formatted(self.value("TCAP_original"), ".3f"),
            tcap_synthetic=formatted(self.value("TCAP_synthetic"), ".3f"),
            excess=excess_sentence(self.excess.get("DCAP"), self.unit),
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )
