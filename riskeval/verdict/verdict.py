"""One verdict on a file, by one rule set, whatever the file is and whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, plural

STOP = "do not publish"
EXCEEDED = "exceeds your limits"
UNKNOWN = "cannot judge"
CLEAR = "no objection found by what was tried"
LEVELS = (STOP, EXCEEDED, UNKNOWN, CLEAR)
"""Levels of a verdict, the worst first."""
MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that speaks against publishing a file.

    Attributes
    ----------
    name : str
        What was found, in a few words: "copied records", "direct identifier".
    text : str
        The finding with its number, as a part of a sentence.
    level : str
        What it means for the file: "do not publish", "exceeds your limits" or "cannot judge".
    value : float
        The number; NaN where the finding is none.
    limit : float or None
        What is accepted.
    limit_source : str
    records : int
        Records concerned; 0 for unknown.
    columns : tuple of str
        Columns concerned.
    assumed : str
        What the finding supposes of the intruder or of the file.
    single : bool
        Whether the number is that of one record, which external readers do not see.
    """

    name: str
    text: str
    level: str = STOP
    value: float = float("nan")
    limit: float | None = None
    limit_source: str = ""
    records: int = 0
    columns: tuple[str, ...] = ()
    assumed: str = ""
    single: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseVerdict(Result):
    """What can be said about publishing a file.

    Attributes
    ----------
    level : {"do not publish", "exceeds your limits", "cannot judge", \
"no objection found by what was tried"}
    evidence : tuple of Finding
        In order of harm.
    met : tuple of str
        Limits that apply and are met.
    not_tried : tuple of str
        What was not looked at or could not be measured: none of it counts as met.

    Examples
    --------
    >>> found = Finding("direct identifier", "column phone names persons", columns=("phone",))
    >>> verdict_of([found], []).summary()
    'Do not publish this file: column phone names persons.'
    >>> verdict_of([], []).level
    'cannot judge'
    """

    level: str
    evidence: tuple[Finding, ...]
    met: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()

    @property
    def fatal(self) -> bool:
        """Whether the file must not be published as it is."""
        return self.level == STOP

    def to_frame(self) -> pd.DataFrame:
        """Return one row a piece of evidence, in order of harm."""
        columns = ["level", "name", "text", "value", "limit", "limit_source", "records", "columns",
                   "assumed"]  # fmt: skip
        rows = [
            {name: getattr(one, name) for name in columns} | {"columns": ", ".join(one.columns)}
            for one in self.evidence
        ]
        return pd.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values, as ``--json`` writes it."""
        rows = self.to_frame().astype(object)
        evidence = rows.where(rows.notna(), None).to_dict("records")
        return {
            "level": self.level, "sentence": self.summary(), "evidence": evidence,
            "met": list(self.met), "not_tried": list(self.not_tried),
        }  # fmt: skip

    def for_others(self) -> dict[str, object]:
        """Return what may leave with a file: what was found, met and not tried, without numbers."""
        evidence = [
            {"name": one.name, "level": one.level, "columns": list(one.columns),
             "assumed": one.assumed} for one in self.evidence if not one.single
        ]  # fmt: skip
        return {"level": self.level, "evidence": evidence, "met": list(self.met),
                "not_tried": list(self.not_tried)}  # fmt: skip

    def beside(self, other: ReleaseVerdict) -> ReleaseVerdict:
        """Return the verdict on what both saw: the worse level, the evidence of both."""
        evidence = [*self.evidence, *other.evidence]
        evidence.sort(key=lambda one: LEVELS.index(one.level))
        met, not_tried = ([*one, *two] for one, two in (
            (self.met, other.met), (self.not_tried, other.not_tried)))  # fmt: skip
        level = evidence[0].level if evidence else self.level
        return ReleaseVerdict(level, tuple(evidence), tuple(met), tuple(dict.fromkeys(not_tried)))

    def reasons(self, most: int = MOST_REASONS) -> str:
        """Return the first findings of the verdict's own level, and how many more there are."""
        texts = [one.text for one in self.evidence if one.level == self.level]
        more = len(texts) - most
        text = joined_by("; ", texts[:most])
        return text + (message("; and {n} more", n=more) if more > 0 else "")

    def summary(self) -> str:
        """Return the verdict as one sentence with its reasons."""
        if self.level == STOP:
            text = message("Do not publish this file: {reasons}.", reasons=self.reasons())
            exceeded = sum(one.level == EXCEEDED for one in self.evidence)
            if exceeded:
                text += message(" It also exceeds {limits}.", limits=plural(exceeded, "limit"))
            return text
        if self.level == EXCEEDED:
            exceeded = sum(one.level == EXCEEDED for one in self.evidence)
            return message(
                "This file exceeds {n} of {limits}: {reasons}.", n=exceeded,
                limits=plural(exceeded + len(self.met), "limit"), reasons=self.reasons(),
            )  # fmt: skip
        if self.level == UNKNOWN:
            reasons = self.reasons() or message("no limit applies to what could be measured")
            return message("This file cannot be judged: {reasons}.", reasons=reasons)
        return message(
            "No objection was found by what was tried: {limits} met.",
            limits=plural(len(self.met), "limit"),
        )


def verdict_of(
    found: Iterable[Finding],
    measurements: Iterable[Measurement],
    *,
    met: Sequence[str] = (),
    not_tried: Sequence[str] = (),
) -> ReleaseVerdict:
    """Return the verdict that findings and measured numbers give.

    A number that exceeds its limit is evidence; one without a value, or that does not apply, is
    among what was not tried and never counts as met. Without a limit that is met nothing can be
    judged.

    met: what else was asked and answered well, such as attacks
    """
    evidence = list(found)
    passed, open_ends = list(met), list(not_tried)
    exceeded = []
    for one in measurements:
        if one.limit is None:
            continue
        if one.within is None:
            why = one.note or (
                message("does not apply") if not one.applies else message("could not be measured")
            )
            open_ends.append(one.title + ": " + why)
        elif one.within:
            passed.append(one.title)
        else:
            exceeded.append(one)
    exceeded.sort(key=over_limit, reverse=True)
    evidence += [_exceeded(one) for one in exceeded]
    evidence.sort(key=lambda one: LEVELS.index(one.level))
    level = evidence[0].level if evidence else CLEAR if passed else UNKNOWN
    return ReleaseVerdict(level, tuple(evidence), tuple(passed), tuple(dict.fromkeys(open_ends)))


def over_limit(one: Measurement) -> float:
    """Return a value as a multiple of its limit; NaN without a limit."""
    if one.limit is None or one.value != one.value:
        return float("nan")
    value, limit = (one.limit, one.value) if one.at_least else (one.value, one.limit)
    return value / limit if limit else (np.inf if value else 0.0)


def _exceeded(one: Measurement) -> Finding:
    """A number that exceeds its limit, as evidence."""
    sign = "<" if one.at_least else ">"
    count = one.info.unit in ("records", "persons")
    text = joined_by(" ", [one.title, number(one.value), sign, number(one.limit)])
    return Finding(
        one.title, text, EXCEEDED, one.value, one.limit, one.limit_source,
        int(one.value) if count else 0, assumed=one.note, single=one.info.single,
    )  # fmt: skip
