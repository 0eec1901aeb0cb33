"""What RAPID found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.attacks.request import as_sentences
from riskeval.attacks.shares import Excess, caution_of
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, percent, short_percent


@dataclass(frozen=True, slots=True, eq=False)
class Rapid(Result):
    """Original records whose target a model of the synthetic file predicts too well.

    Attributes
    ----------
    rate : float
        Share of judged records at risk, by the strongest model of the panel.
    interval : (float, float)
        Wilson interval of `rate` at `confidence`, corrected for the choice of the model; units
        taken as independent. It covers which persons are in the original, not the draw of the
        synthetic file.
    permuted_rate : float
        Mean share at risk when the target of the synthetic file is shuffled before training: what
        the same model reaches without any relation between keys and target. NaN for no
        permutations.
    holdout_rate : float
        The share of persons of the hold-out, by the same model; NaN without hold-out.
    excess : Excess or None
        What the strongest model finds about the original beyond what it finds about strangers, on
        those who can be compared, with Newcombe's interval corrected for the choice of the model.
    panel : DataFrame
        One row per model: ``model``, ``rate``, ``lower``, ``upper``, and with a hold-out
        ``holdout_rate``, ``excess``, ``excess_lower``, ``excess_upper``.
    by_tolerance : dict
        Rate within each tolerance; empty for a categorical target.
    per_record : DataFrame
        ``at_risk`` (False where not judged), ``score`` (categorical: normalised gain; numeric:
        relative error), ``predicted``; in the order of the original, by the strongest model.
    kind : {"categorical", "numeric"}
    limit : float
        Threshold of the score, or tolerance.
    n_judged, n_missing : int
        Units looked for with a true value, and records of the original without one.
    unit : {"records", "households"}
    target : str
    keys : tuple of str
    model : str
        The strongest model: with a hold-out the one with the largest lower end of `excess`, else
        the one with the largest rate.
    warned : str
        Warnings of the models while training; empty when there were none.
    confidence : float
    seed : int
    notes : tuple of str
        Rules that the numbers rest on.
    """

    rate: float
    interval: tuple[float, float]
    permuted_rate: float
    holdout_rate: float
    excess: Excess | None
    panel: pd.DataFrame
    by_tolerance: dict[float, float]
    per_record: pd.DataFrame
    kind: str
    limit: float
    n_judged: int
    n_missing: int
    unit: str
    target: str
    keys: tuple[str, ...]
    model: str
    warned: str
    confidence: float
    seed: int
    notes: tuple[str, ...] = ()
    footnote: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return rates and baselines."""
        none = (np.nan, np.nan)
        beyond, ends = np.nan, none
        if self.excess is not None:
            beyond, ends = self.excess.difference, (self.excess.lower, self.excess.upper)
        rows = [
            ("original", self.rate, *self.interval),
            ("permuted", self.permuted_rate, *none),
            ("holdout", self.holdout_rate, *none),
            ("excess", beyond, *ends),
        ]
        rows += [
            (f"original within {short_percent(limit)}", rate, *none)
            for limit, rate in self.by_tolerance.items()
        ]
        return pd.DataFrame(rows, columns=["measure", "rate", "lower", "upper"])

    def summary(self) -> str:
        """Say what the rate means and what to compare it with."""
        low, high = self.interval
        meaning = (
            message("within {limit} of its true value", limit=short_percent(self.limit))
            if self.kind == "numeric"
            else message(
                "with a gain above {limit} (0 is the share of the level in the original, 1 is "
                "certainty)",
                limit=formatted(self.limit, ".3g"),
            )
        )
        which = (
            message("the strongest of {n} models", n=len(self.panel))
            if len(self.panel) > 1
            else message("a model")
        )
        text = message(
            "RAPID: {which} trained on the synthetic file ({model}) predicts {target} "
            "{meaning} for {rate} of {n_judged} original {unit} ({confidence} interval "
            "{low} to {high}).",
            which=which,
            model=self.model,
            target=self.target,
            meaning=meaning,
            rate=percent(self.rate),
            n_judged=count_text(self.n_judged),
            unit=message(self.unit),
            confidence=percent(self.confidence, 0),
            low=percent(low),
            high=percent(high),
        )
        if self.warned:
            text += " " + message("A model warned: {warned}.", warned=self.warned)
        if not np.isnan(self.permuted_rate):
            text += " " + message(
                "Without any relation to the keys it would be {permuted_rate}.",
                permuted_rate=percent(self.permuted_rate),
            )
        if self.excess is None:
            text += " " + message(
                "Without a hold-out, what the keys reveal about anybody is counted as risk as well."
            )
        else:
            one = self.excess
            text += " " + message(
                "For persons who were not in the original it is {holdout_rate}: the excess "
                "risk of having taken part is {difference} points ({lower} to {upper}), the "
                "rest is what the keys reveal about anybody.{caution}",
                holdout_rate=percent(self.holdout_rate),
                difference=formatted(100 * one.difference, "+.2f"),
                lower=formatted(100 * one.lower, "+.2f"),
                upper=formatted(100 * one.upper, "+.2f"),
                caution=caution_of([one]),
            )
        return message(
            "{text} The limit is a policy decision.{notes}{footnote}",
            text=text,
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )
