"""One measured number with what it means: the record that every measure, attack and page shares.

A registry (of measures, attacks or utility measures) owns a `MeasureInfo` for each number that it
can give. Results carry `Measurement` records; tables and pages read nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from synthpop.microdata.messages.errors import InputError, MicrodataError
from synthpop.microdata.messages.message import as_messages, joined_by, message

__all__ = [
    "GROUPS", "UNITS", "MeasureInfo", "Measurement", "attempt", "attribution", "joined",
    "measurement_table", "not_measured",
]  # fmt: skip

NAN = float("nan")
GROUPS = ("file risk", "link risk", "attribution risk", "utility")
UNITS = ("records", "persons", "share", "probability", "ratio", "loss", "overlap", "value")
KINDS = ("original", "perturbed", "synthetic")

Group = Literal["file risk", "link risk", "attribution risk", "utility"]
Direction = Literal["low", "high"]
Unit = Literal["records", "persons", "share", "probability", "ratio", "loss", "overlap", "value"]


@dataclass(frozen=True, slots=True)
class MeasureInfo:
    """What a number is: its meaning, unit, good direction and source.

    Attributes
    ----------
    name : str
        Identifier, unique over all registries, such as ``"below_3"``.
    group : {"file risk", "link risk", "attribution risk", "utility"}
        Risk of the file itself, of linked records, of what the release says about persons; or the
        use that is left.
    direction : {"low", "high"}
        Which values are better.
    unit : str
        "records": a count of records of the file, which tables of several files show as a share;
        "persons": an expected number; "share", "probability" and "overlap" lie between 0 and 1;
        "ratio", "loss" and "value" are plain numbers.
    meaning : str
        What the number says, as the end of a sentence that begins with its title.
    source : str
        Publication that defines it.
    title : str
        Short, for heads, axes and rows; the name when empty.
    perfect : float
        Value of the original itself, for utility; NaN for risks.
    kinds : tuple of str
        Kinds of file ("original", "perturbed", "synthetic") for which the number means what it
        says. For others it is shown, marked as not applicable, and never compared with a limit.
    single : bool
        Whether the number is that of one record (a maximum): external pages leave it out.
    """

    name: str
    group: Group
    direction: Direction
    unit: Unit
    meaning: str
    source: str = ""
    title: str = ""
    perfect: float = NAN
    kinds: tuple[str, ...] = KINDS
    single: bool = False

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.name.replace("_", " "))
        as_messages(self, "title", "meaning", "source")

    def applies_to(self, kind: str) -> bool:
        """Whether the number means what it says for a kind of file."""
        return kind in self.kinds


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number of one file.

    Attributes
    ----------
    info : MeasureInfo
    value : float
        NaN where it could not be measured; `note` then says why.
    target : str
        Sensitive variable that the number is about; empty for none.
    limit : float or None
        What is accepted; None where nothing is asked.
    limit_source : str
        Where the limit comes from.
    at_least : bool
        Whether the value must reach the limit (True) or must not exceed it.
    records : int
        Records (or persons) that the number refers to: the denominator of a share; 0 for unknown.
    lower, upper : float
        Interval of the value; NaN for none.
    baseline : float
        What is reached without the release; NaN for none.
    against : str
        What the baseline is.
    applies : bool
        False where the number does not mean what it says for this kind of file.
    note : str
        How it was obtained, under which condition it holds, or why it is missing.

    Examples
    --------
    >>> info = MeasureInfo("below_3", "file risk", "low", "records",
    ...                    "records whose keys fewer than 3 records share", title="Below 3")
    >>> one = Measurement(info, 7, limit=0, records=100)
    >>> one.within, one.share, one.key
    (False, 0.07, 'below_3')
    """

    info: MeasureInfo
    value: float
    target: str = ""
    limit: float | None = None
    limit_source: str = ""
    at_least: bool = False
    records: int = 0
    lower: float = NAN
    upper: float = NAN
    baseline: float = NAN
    against: str = ""
    applies: bool = True
    note: str = ""

    def __post_init__(self) -> None:
        as_messages(self, "limit_source", "against", "note")

    @property
    def key(self) -> str:
        """Name of the measure and its target: ``"disco: health"``."""
        return f"{self.info.name}: {self.target}" if self.target else self.info.name

    @property
    def title(self) -> str:
        """Title of the measure and its target: ``"DiSCO of health"``."""
        if not self.target:
            return self.info.title
        return message("{title} of {target}", title=message(self.info.title), target=self.target)

    @property
    def share(self) -> float:
        """The value as a share: of `records` where it is a count of records."""
        if self.info.unit != "records":
            return self.value
        return self.value / self.records if self.records else NAN

    @property
    def within(self) -> bool | None:
        """Whether the limit is met; None without limit or value, or where it does not apply."""
        if self.limit is None or math.isnan(self.value) or not self.applies:
            return None
        slack = 1e-12 * max(abs(self.limit), 1.0)
        if self.at_least:
            return bool(self.value >= self.limit - slack)
        return bool(self.value <= self.limit + slack)

    def noted(self, *notes: str) -> Measurement:
        """Return the measurement with more notes, separated by semicolons."""
        return replace(self, note=joined(self.note, *(n for n in notes if n not in self.note)))


def attribution(
    name: str, title: str, meaning: str, source: str, unit: Unit = "share"
) -> MeasureInfo:
    """Return what a number on the attribution of values to persons is."""
    return MeasureInfo(name, "attribution risk", "low", unit, meaning, source, title)


def not_measured(
    infos: Iterable[MeasureInfo], why: str, targets: Sequence[str] = ("",)
) -> list[Measurement]:
    """Measurements without a value, with the reason."""
    return [Measurement(info, NAN, target, note=why) for info in infos for target in targets]


def attempt(
    infos: Sequence[MeasureInfo], target: str, measure: Callable[[], Sequence[Measurement]]
) -> list[Measurement]:
    """Measure, or note the reason; faults of data do not end a comparison."""
    try:
        return list(measure())
    except InputError as problem:
        first = problem.faults[0]
        return not_measured(infos, f"{first.where}: {first.what}", [target])
    except MicrodataError as problem:
        return not_measured(infos, str(problem), [target])


def joined(*notes: str) -> str:
    """Return the notes that say something, in one text, each once."""
    return joined_by("; ", dict.fromkeys(note for note in notes if note))


def measurement_table(measurements: Iterable[Measurement]) -> pd.DataFrame:
    """Return one row per measurement, with everything that its info and itself say."""
    rows: list[dict[str, object]] = [
        {
            "name": one.info.name,
            "target": one.target,
            "title": one.title,
            "group": one.info.group,
            "value": float(one.value),
            "unit": one.info.unit,
            "records": one.records,
            "lower": one.lower,
            "upper": one.upper,
            "baseline": one.baseline,
            "against": one.against,
            "better": one.info.direction,
            "limit": NAN if one.limit is None else float(one.limit),
            "within": one.within,
            "limit_source": one.limit_source if one.limit is not None else "",
            "applies": one.applies,
            "meaning": one.info.meaning,
            "note": one.note,
            "source": one.info.source,
        }
        for one in measurements
    ]
    return text_frame(
        rows, COLUMNS, "title", "against", "limit_source", "meaning", "note", "source"
    )


def text_frame(rows: list[dict[str, object]], columns: Sequence[str], *texts: str) -> pd.DataFrame:
    """Return rows as a table whose columns of messages keep what they were made from."""
    frame = pd.DataFrame(rows, columns=list(columns))
    for name in texts:  # the text type of pandas would make them plain
        frame[name] = pd.Series([row[name] for row in rows], index=frame.index, dtype=object)
    return frame


COLUMNS = (
    "name", "target", "title", "group", "value", "unit", "records", "lower", "upper", "baseline",
    "against", "better", "limit", "within", "limit_source", "applies", "meaning", "note", "source",
)  # fmt: skip
