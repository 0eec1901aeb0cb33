"""k-anonymity: how many records are too rare in the file, for any k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import check_treatment
from riskeval.measures.counts import FrequencyCounts, counts_of
from riskeval.measures.entry import Measure, k_limit, missing_note, person_risk
from riskeval.measures.frequencies import UNIQUE
from riskeval.measures.request import AssessRequest
from riskeval.measures.sensitive_groups import households_of_cells
from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.roles.microdata import Microdata, as_file


@dataclass(frozen=True, slots=True, eq=False)
class KAnonymity(Result):
    """Records that violate k-anonymity.

    Attributes
    ----------
    violations : dict of int to int
        For each k, the number of records with f < k.
    weighted_violations : dict of int to int, or None
        For each k, the number of records with F < k: fewer than k persons of the population are
        estimated to share the key. None without weights.
    visible_violations : dict of int to int
        For each k, the number of records that violate it on the values that they show: a record
        is matched by those that show the same values, never by holes of others.
    k : int
        The largest k for which the whole file is k-anonymous (the smallest f, rounded down).
    f, F : float64 arrays, shape (n,)
        Counts of each record; `F` equals `f` without weights.
    counts : FrequencyCounts
    households : float64 array, shape (n,), or None
        Households among the records that match each record; None without households.
    household_violations : dict of int to int, or None
        For each k, the number of records whose key fewer than k households share: k records of one
        household hide nobody.
    """

    violations: dict[int, int]
    weighted_violations: dict[int, int] | None
    visible_violations: dict[int, int]
    k: int
    f: np.ndarray
    F: np.ndarray
    counts: FrequencyCounts
    households: np.ndarray | None = None
    household_violations: dict[int, int] | None = None

    def violating(self, k: int) -> np.ndarray:
        """Positions of the records with f < k."""
        return np.flatnonzero(self.f < k * (1 - 1e-12))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per k: `violations`, `share` of the records, and those of other counts.

        `weighted_violations` with weights, `household_violations` with households.
        """
        n = max(len(self.f), 1)
        frame = pd.DataFrame({"violations": self.violations}).rename_axis("k")
        frame["share"] = frame["violations"] / n
        if self.weighted_violations is not None:
            frame["weighted_violations"] = pd.Series(self.weighted_violations)
        if self.household_violations is not None:
            frame["household_violations"] = pd.Series(self.household_violations)
        return frame

    def summary(self) -> str:
        """Return the number of violating records for each k."""
        n = len(self.f)
        names = ", ".join(self.counts.keys.names)
        violations = [
            message(
                "{count} of {n} records ({count_2}) violate {k}-anonymity",
                count=count_text(count),
                n=count_text(n),
                count_2=percent(count / max(n, 1)),
                k=k,
            )
            for k, count in self.violations.items()
        ]
        text = message(
            "{violations}: fewer than k records of the file share their key ({names}).",
            violations=joined_by("; ", violations),
            names=names,
        )
        if n_blank(self.counts) == n > 0:
            text += " " + message(
                "Every key of every record is missing: nothing is disclosed through these "
                "keys, and no record can be rare."
            )
        elif self.has_holes:
            text = self._visible_sentence() + text
        else:
            text += " " + message("The file as a whole is {k}-anonymous.", k=self.k)
        if self.household_violations is not None:
            parts = [
                message("{count} of fewer than {k}", count=count_text(count), k=k)
                for k, count in self.household_violations.items()
            ]
            text += " " + message(
                "Counted in households the records are {parts}.", parts=joined_by("; ", parts)
            )
        return text + (
            " "
            + message(
                "Offices commonly require k = 3 or 5 (SDC practice guide of the World Bank); "
                "k-anonymity says nothing about the population or about what the records of a "
                "group have in common."
            )
        )

    @property
    def has_holes(self) -> bool:
        """Whether a key is missing in a record."""
        return bool((self.counts.keys.codes < 0).any())

    def _visible_sentence(self) -> str:
        blank = n_blank(self.counts)
        text = (
            (
                message(
                    "{blank} every key missing.", blank=plural(blank, "record has", "records have")
                )
                + " "
            )
            if blank
            else ""
        )
        visible = joined_by(
            "; ",
            (
                message("{count} violate {k}-anonymity", count=count_text(count), k=k)
                for k, count in self.visible_violations.items()
            ),
        )
        return (
            message(
                "{text}On the values that they show, {visible}. Where a missing key matches "
                "every value",
                text=text,
                visible=visible,
            )
            + ", "
        )


@same_library
def k_anonymity(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    k: int | Sequence[int] = (2, 3, 5),
    weights: Any = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
    household: str | None = None,
) -> KAnonymity:
    """Count the records whose key fewer than k records share (Samarati and Sweeney 1998).

    Parameters
    ----------
    data, keys, weights
        The file and its roles (see `Microdata`). With weights, records whose estimated population
        frequency F is below k are counted too.
    k : int or sequence of int, default (2, 3, 5)
        At least 1 each.
    missing, alpha
        Treatment of missing keys: see `frequency_counts`.
    household : str, optional
        Column of household ids: violations are also counted in households. A record whose keys are
        all missing is in no group but its own there, and `alpha` has no part.

    Returns
    -------
    KAnonymity
        Nothing is drawn at random.

    Raises
    ------
    InputError
        As for `frequency_counts`, and k that are not whole numbers from 1 on.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"sex": ["m", "m", "f", "f", "f"], "age": [30, 30, 20, 20, 40]})
    >>> result = k_anonymity(data, ["sex", "age"], k=(2, 3))
    >>> result.violations, result.k
    ({2: 1, 3: 5}, 1)
    """
    faults = Faults("k-anonymity")
    file = as_file(data, faults, keys=keys, weights=weights, household=household, columns=())
    check_treatment(faults, missing, alpha)
    limits: list[Any] = list(k) if isinstance(k, Iterable) else [k]
    for limit in limits:
        check(faults, {"k": Whole(1)}, {"k": limit})
    if not limits:
        faults.add("k", "is empty", hint="Give at least one k.")
    faults.raise_if_any()
    counts = counts_of(file, missing, alpha)
    return anonymity_of_counts(counts, [int(limit) for limit in limits], _homes_of(file))


def _homes_of(file: Microdata) -> np.ndarray | None:
    return None if file.roles.household is None else file.household_index


def n_blank(counts: FrequencyCounts) -> int:
    """Return how many records have every key missing."""
    return int(counts.keys.counts[(counts.keys.codes < 0).all(axis=1)].sum())


def anonymity_of_counts(
    counts: FrequencyCounts, limits: Sequence[int], homes: np.ndarray | None = None
) -> KAnonymity:
    """`KAnonymity` from frequency counts that were made before, and households of the records."""
    households, by_household = None, None
    if homes is not None:
        households = households_of_cells(counts.keys, homes, counts.missing)[counts.cell]
        by_household = {k: int((households < k).sum()) for k in limits}
    records = counts.keys.counts
    slack = 1 - 1e-12  # sums of weights and of parts of records are not exact
    by_f = {k: int(records[counts.cell_f < k * slack].sum()) for k in limits}
    by_population = {k: int(records[counts.cell_F < k * slack].sum()) for k in limits}
    return KAnonymity(
        violations=by_f,
        weighted_violations=by_population if counts.weighted else None,
        visible_violations=_visible_violations(counts, limits),
        k=int(counts.cell_f.min() * (2 - slack)) if len(counts.cell_f) else 0,
        f=counts.f,
        F=counts.F,
        counts=counts,
        households=households,
        household_violations=by_household,
    )


def _visible_violations(counts: FrequencyCounts, limits: Sequence[int]) -> dict[int, int]:
    """Violations on the values that records show."""
    table = counts.keys
    f, _ = match_counts(table, "visible")
    return {k: int(table.counts[f < k * (1 - 1e-12)].sum()) for k in limits}


VISIBLE = 0.05
VISIBLE_SOURCE = "a twentieth of the records"


@cache
def below(k: int) -> MeasureInfo:
    """Return what violations of k-anonymity are; k = 2 is the number of unique records."""
    if k == 2:
        return UNIQUE
    return person_risk(
        f"below_{k}", message("Violations of {k}-anonymity", k=k), "records",
        message("records whose key fewer than {k} records share", k=k), "Samarati and Sweeney 1998",
    )  # fmt: skip


@cache
def visible(k: int) -> MeasureInfo:
    """Return what violations of k-anonymity on the values that records show are."""
    alone = message("alone") if k == 2 else message("matched by fewer than {k} records", k=k)
    title = message("Violations of {k}-anonymity on the values shown", k=k)
    return person_risk(
        f"below_{k}_visible", "Alone on the values they show" if k == 2 else title, "records",
        message(
"records that are {alone} on the values that they show, where holes of others "
"hide nobody", alone=alone),
        "Samarati and Sweeney 1998",
    )  # fmt: skip


ONE_HOUSEHOLD = person_risk(
    "one_household", "Records that only one household shares", "records",
    "records whose key as many records share as k asks for, all of them of one household",
    "Templ 2017, section 3.6",
)  # fmt: skip
FEW_HOUSEHOLDS = person_risk(
    "few_households", "Records that fewer than k households share", "records",
    "records whose key fewer than k households share", "Templ 2017, section 3.6",
)  # fmt: skip


def _of_households(result: KAnonymity, request: AssessRequest) -> list[Measurement]:
    """Records that one household stands behind, and those that fewer than k share."""
    if result.households is None:
        return []
    k = request.limits.k or 3
    alone = int(((result.households < 2) & (result.f >= k * (1 - 1e-12))).sum())
    few, most = int((result.households < k).sum()), int(VISIBLE * len(result.f))
    one: dict[str, object] = {}
    several: dict[str, object] = {}
    if request.limits.k is not None:
        one = {"limit": 0.0, "limit_source": "k records of one household hide nobody"}
        several = {"limit": most, "limit_source": VISIBLE_SOURCE}
    return [
        request.measured(ONE_HOUSEHOLD, alone, **one),
        request.measured(FEW_HOUSEHOLDS, few, note=f"k = {k}", **several),
    ]


def of_anonymity(result: KAnonymity, request: AssessRequest) -> list[Measurement]:
    """Violations for each k, and those on the values that records show."""
    blank = n_blank(result.counts)
    note = missing_note(request, result.counts.missing)
    measured = []
    for k, count in result.violations.items():
        limit = k_limit(k, request)
        measured.append(request.measured(below(k), count, note=note, **limit))
        if result.has_holes and blank < len(result.f):
            text = message(
                "{blank} every key missing", blank=plural(blank, "record has", "records have")
            )
            most = int(VISIBLE * len(result.f))
            shown: dict[str, object] = (
                {"limit": most, "limit_source": VISIBLE_SOURCE} if limit else {}
            )
            measured.append(
                request.measured(
                    visible(k), result.visible_violations[k], note=text if blank else "", **shown
                )
            )
        elif blank:
            text = message(
                "every key of every record is missing: nothing is disclosed through these keys"
            )
            measured[-1] = measured[-1].noted(text)
    return measured + _of_households(result, request)


MEASURE = Measure(
    name="k_anonymity",
    rank=20,
    title="k-anonymity",
    question="How many records are too rare in the file?",
    blind_spots=(
        "what the k records have in common; records whose keys are all missing, which it "
        "counts apart"
    ),
    source="Samarati and Sweeney 1998",
    function=k_anonymity,
    run=lambda request: anonymity_of_counts(request.counts, request.k, _homes_of(request.file)),
    measurements=of_anonymity,
    infos=(below(3), below(5)),
)
