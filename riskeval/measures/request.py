"""What an assessment is asked, what it accepts, and how a measure answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from riskeval.measures.counts import FrequencyCounts
from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.roles.microdata import Microdata


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


LIMITS = tuple(RANGES)


def read_limits(faults: Faults, limits: Limits | Mapping[str, Any] | None) -> Limits:
    """Return limits as an object or by name; what is not named has its default. Note faults."""
    values = asdict(limits) if isinstance(limits, Limits) else dict(limits or {})
    for name, value in values.items():
        check_choice(faults, "limits", name, sorted(LIMITS))
        if name in LIMITS:
            check_limit(faults, f"limits.{name}", name, value)
    return Limits() if faults else Limits(**values)


def check_limit(faults: Faults, where: str, name: str, value: Any) -> None:
    """Note a limit that no file could keep or every file would: below or beyond what there is."""
    if value is None:
        return
    low, high = RANGES[name]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high or math.isinf(value):
        span = f"from {low:g} on" if math.isinf(high) else f"between {low:g} and {high:g}"
        faults.add(where, f"is {value!r}", hint=f"Give a number {span}, or none for no limit.")


@dataclass(frozen=True, slots=True, eq=False)
class AssessRequest:
    """What is assessed, checked and counted once."""

    file: Microdata
    counts: FrequencyCounts
    population_size: float | None  # sum of the weights, or as given; None for neither
    k: tuple[int, ...]
    limits: Limits
    # mapping: more arguments of single measures, by their name
    options: Mapping[str, Mapping[str, Any]]
    # {"original", "perturbed", "synthetic"}: what the file is: numbers that mean nothing for its
    # kind are not judged by limits
    kind: str = "original"

    @property
    def frame(self) -> pd.DataFrame:
        """The records."""
        return self.file.frame

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Sensitive variables of the file."""
        return self.file.roles.sensitive

    def arguments(self, measure: str, **defaults: Any) -> dict[str, Any]:
        """Arguments of a measure: `defaults`, over which the options of the user win."""
        return {**defaults, **self.options.get(measure, {})}

    def measured(self, info: MeasureInfo, value: float, **more: Any) -> Measurement:
        """Return a number of the file, judged only where it applies to this kind of file."""
        more.setdefault("records", len(self.frame))
        return Measurement(info, float(value), applies=info.applies_to(self.kind), **more)


@dataclass(frozen=True, slots=True, eq=False)
class ByVariable(Result):
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
        return joined_by(" ", [one.summary() for one in self.by_variable.values()])
