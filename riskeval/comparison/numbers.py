"""Measure, or say why it cannot be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riskeval.measurement import MeasureInfo, Measurement, not_measured
from synthpop.microdata.errors import InputError, MicrodataError

NAN = float("nan")


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
    """Return the notes that say something, in one text.

    Examples
    --------
    >>> joined("a", "", "b", "a")
    'a; b'
    """
    return "; ".join(dict.fromkeys(note for note in notes if note))
