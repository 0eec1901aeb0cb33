"""How a comparison of releases runs each attack: on samples, with its own baselines and notes.

The entries of attacks name these; an attack without one is run by a comparison as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.shares import Excess
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import MeasureInfo, Measurement, joined
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted
from synthpop.microdata.statistics.streams import Streams

N_GROUPS = 10
"""Groups in which measures that count compare a numeric target."""
PERMUTATIONS = 1
TRAINED = 5
"""Records to learn from, for each record that is predicted: a copy is seen only if it is drawn."""
BASE = 4
"""Nearness is judged for some records, against so many times as many of the other file."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFiles:
    """Original and release on the levels that both have."""

    original: pd.DataFrame
    release: pd.DataFrame
    holdout: pd.DataFrame | None  # persons outside the original, on the same levels
    keys: list[str]  # keys that both files have
    variables: list[str]  # keys, sensitive and numeric variables that both files have
    n_predicted: int  # original records that the intruder's model predicts, at most
    n_screened: int  # records that are judged by nearness, at most
    model: str  # the intruder's model
    seed: int
    note: str = ""  # which keys are left out
    amounts: tuple[str, ...] = ()  # variables that are numbers; all others are categories

    @property
    def by_keys(self) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
        """First arguments of the attacks that count by keys."""
        return self.original, self.release, self.keys

    def drawn_records(self, most: int, what: str) -> pd.DataFrame:
        """At most so many records of the original, drawn at random."""
        rows = drawn(len(self.original), most, Streams(self.seed), what)
        return self.original.iloc[rows].reset_index(drop=True)

    def drawn_seed(self, *names: str) -> int:
        """Seed of an attack."""
        return int(Streams(self.seed).at("compare", *names).integers(2**62))


@dataclass(frozen=True, slots=True)
class ComparedAttack:
    """How a comparison runs an attack."""

    infos: tuple[MeasureInfo, ...]  # numbers that it gives
    # function of ComparedFiles and a target to a list of Measurement
    run: Callable[[ComparedFiles, str], list[Measurement]]


def drawn(n: int, most: int, streams: Streams, what: str) -> np.ndarray:
    """Positions of at most `most` of n records, in order; the same for every release of n."""
    return drawn_rows(n, most, streams.at("compare", what, n))


STRANGERS = "what the same attack finds about strangers, and chance"
TRIED = 20
"""Attacks of one comparison, for whose choice the limits beside strangers are corrected."""


def shown(info: MeasureInfo, number: AttackNumber, records: int, *notes: str) -> Measurement:
    """A number under its title by itself, with its records and how it was obtained.

    With a hold-out its limit is the value less what is clearly found beyond strangers.
    """
    one = replace(number.measurement, info=info, records=records, note=joined(*notes))
    beyond = number.excess
    if beyond is None or beyond.overlap:
        return one
    clear = beyond.difference - (beyond.difference - beyond.lower) * beyond.stretch(TRIED)
    return replace(one, limit=one.value - clear, limit_source=STRANGERS)


def shown_beyond(
    files: ComparedFiles, info: MeasureInfo, number: AttackNumber, result: Any
) -> list[Measurement]:
    """The one number of an attack that counts original records, beside strangers."""
    n, beyond = len(files.original), beyond_strangers(number.excess)
    return [shown(info, number, n, files.note, beyond, *result.notes)]


def beyond_strangers(one: Excess | None) -> str:
    """Say how much more is found about the original than about strangers; empty without them."""
    if one is None:
        return ""
    return message(
        (
            "{difference} points compared with strangers ({lower} to {upper}); the "
            "hold-out contains no strangers"
        )
        if one.overlap
        else ("{difference} points against strangers ({lower} to {upper})"),
        difference=formatted(100 * one.difference, "+.1f"),
        lower=formatted(100 * one.lower, "+.1f"),
        upper=formatted(100 * one.upper, "+.1f"),
    )
