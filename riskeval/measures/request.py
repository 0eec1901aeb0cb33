"""What an assessment is asked, what it accepts, and how a measure answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from riskeval.measures.frequencies import FrequencyCounts
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result


@dataclass(frozen=True, slots=True)
class Limits:
    """What an office accepts; each can be None, which means no limit.

    Attributes
    ----------
    k : int or None, default 3
        Records that must at least share a key. Offices commonly ask for 3 or 5.
    global_risk : float or None, default 0.01
        Mean of the individual risks. The default is sdcMicro's.
    record_risk : float or None, default 0.09
        Risk of one record. The default is that of the European Medicines Agency (Policy 0070) and
        of Health Canada for published clinical data: one in eleven.
    l : float or None, default 2
        Distinct sensitive values of a group; 2 is the least that protects anything.
    t : float or None
        Distance of a group from the file; there is no agreed value.
    alpha : float or None
        Share that one sensitive value may have in a group; (alpha, k)-anonymity is measured when
        it is given, with `k`.

    Examples
    --------
    >>> Limits(k=5).k
    5
    """

    k: int | None = 3
    global_risk: float | None = 0.01
    record_risk: float | None = 0.09
    l: float | None = 2  # noqa: E741 - the letter of the literature
    t: float | None = None
    alpha: float | None = None


RANGES = {
    "k": (1.0, math.inf),
    "global_risk": (0.0, 1.0),
    "record_risk": (0.0, 1.0),
    "l": (1.0, math.inf),
    "t": (0.0, math.inf),
    "alpha": (0.0, 1.0),
}


def check_limit(faults: Faults, where: str, name: str, value: Any) -> None:
    """Note a limit that no file could keep or every file would: below or beyond what there is."""
    if value is None:
        return
    low, high = RANGES[name]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high or math.isinf(value):
        span = f"from {low:g} on" if math.isinf(high) else f"between {low:g} and {high:g}"
        faults.add(where, f"is {value!r}", remedy=f"Give a number {span}, or none for no limit.")


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is assessed, checked and counted once.

    Attributes
    ----------
    frame : DataFrame
    keys, sensitive : tuple of str
    weights : str, array or None
        As given.
    household : str or None
    counts : FrequencyCounts
    population_size : float or None
        Sum of the weights, or as given; None for neither.
    k : tuple of int
    limits : Limits
    options : mapping
        More arguments of single measures, by their name.
    """

    frame: pd.DataFrame
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    weights: Any
    household: str | None
    counts: FrequencyCounts
    population_size: float | None
    k: tuple[int, ...]
    limits: Limits
    options: Mapping[str, Mapping[str, Any]]

    def more(self, measure: str, **given: Any) -> dict[str, Any]:
        """Arguments of a measure: `given`, over which the options of the user win."""
        return {**given, **self.options.get(measure, {})}


@dataclass(frozen=True, slots=True, eq=False)
class Several(Result):
    """One result for each sensitive variable.

    Attributes
    ----------
    by_variable : mapping of str to result
    """

    by_variable: Mapping[str, Any]

    def to_frame(self) -> pd.DataFrame:
        """Frames of the single results side by side, under the name of the variable."""
        return pd.concat({name: one.to_frame() for name, one in self.by_variable.items()}, axis=1)

    def summary(self) -> str:
        """Return the sentences of the single results."""
        return " ".join(one.summary() for one in self.by_variable.values())


@dataclass(frozen=True, slots=True)
class Headline:
    """One number of an assessment.

    Attributes
    ----------
    name : str
    value : float
    meaning : str
        What the number says, in plain words.
    limit : float or None
        What is accepted; None where nothing is asked.
    source : str
        Where the limit comes from.
    at_least : bool
        Whether the value must reach the limit (True) or must not exceed it.
    """

    name: str
    value: float
    meaning: str
    limit: float | None = None
    source: str = ""
    at_least: bool = False

    @property
    def within(self) -> bool | None:
        """Whether the value keeps the limit; None without a limit."""
        if self.limit is None:
            return None
        slack = 1e-12 * max(abs(self.limit), 1.0)
        if self.at_least:
            return bool(self.value >= self.limit - slack)
        return bool(self.value <= self.limit + slack)


@dataclass(frozen=True, slots=True)
class Measure:
    """One entry of the registry.

    Attributes
    ----------
    title : str
    question : str
        The question that it answers, in plain words.
    needs : tuple of str
        Parts of the request without which it is left out: "weights", "population", "sensitive",
        "alpha" (of the limits).
    run : function of a Request to a result
    headlines : function of the result and the Request to a list of Headline
    source : str
    options : tuple of str
        Arguments that the user may give besides those of the assessment.
    """

    title: str
    question: str
    needs: tuple[str, ...]
    run: Callable[[Request], Any]
    headlines: Callable[[Any, Request], Sequence[Headline]]
    source: str
    options: tuple[str, ...] = ()
