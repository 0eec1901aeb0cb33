"""One measured number, and the way to note why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synthpop.microdata.errors import InputError, MicrodataError

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Number:
    """One number of one release.

    Attributes
    ----------
    measure : str
        Name in `CATALOGUE`.
    value : float
        NaN where it could not be measured; then `note` says why.
    target : str
        Sensitive variable, where the measure is about one.
    baseline : float
        What an intruder reaches without the release; NaN for none.
    against : str
        What the baseline is.
    lower, upper : float
        Interval of the value; NaN for none.
    note : str
        Why there is no value, or how it was obtained.
    """

    measure: str
    value: float
    target: str = ""
    baseline: float = NAN
    against: str = ""
    lower: float = NAN
    upper: float = NAN
    note: str = ""


def left_out(why: str, measures: Sequence[str], targets: Sequence[str] = ("",)) -> list[Number]:
    """Numbers that are missing, with the reason.

    Examples
    --------
    >>> left_out("no keys", ["disco"], ["ill"])[0].note
    'no keys'
    """
    return [Number(measure, NAN, target, note=why) for measure in measures for target in targets]


def attempt(
    measures: Sequence[str], target: str, measure: Callable[[], Sequence[Number]]
) -> list[Number]:
    """Measure, or say why it cannot be done; faults of data do not end a comparison."""
    try:
        return list(measure())
    except InputError as problem:
        first = problem.faults[0]
        return left_out(f"{first.where}: {first.what}", measures, [target])
    except MicrodataError as problem:
        return left_out(str(problem), measures, [target])
