"""k-anonymity: how many records are too rare in the file, for any k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, read_keys, tabulate
from riskeval.measures.counts import FrequencyCounts, count_keys
from riskeval.measures.entry import Measure, k_limit, missing_note, person_risk
from riskeval.measures.frequencies import UNIQUE
from riskeval.measures.request import AssessRequest
from riskeval.shared.files import read_weights
from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import percent, plural


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
        For each k, the number of records that violate it when records whose keys are all missing
        match nobody: these may be anybody, yet hide nobody whose keys are printed.
    k : int
        The largest k for which the whole file is k-anonymous (the smallest f, rounded down).
    f, F : float64 arrays, shape (n,)
        Counts of each record; `F` equals `f` without weights.
    counts : FrequencyCounts
    """

    violations: dict[int, int]
    weighted_violations: dict[int, int] | None
    visible_violations: dict[int, int]
    k: int
    f: np.ndarray
    F: np.ndarray
    counts: FrequencyCounts

    def violating(self, k: int) -> np.ndarray:
        """Positions of the records with f < k."""
        return np.flatnonzero(self.f < k * (1 - 1e-12))

    def to_frame(self) -> pd.DataFrame:
        """One row per k: `violations`, `share` of the records and `weighted_violations`."""
        n = max(len(self.f), 1)
        frame = pd.DataFrame({"violations": self.violations}).rename_axis("k")
        frame["share"] = frame["violations"] / n
        if self.weighted_violations is not None:
            frame["weighted_violations"] = pd.Series(self.weighted_violations)
        return frame

    def summary(self) -> str:
        """Return the number of violating records for each k."""
        n = len(self.f)
        blank = n_blank(self.counts)
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
        if 0 < blank < n:
            text = self._blank_sentence(n, blank) + text
        elif blank:
            text += " " + message(
                "Every key of every record is missing: nothing is disclosed through these "
                "keys, and no record can be rare."
            )
        else:
            text += " " + message("The file as a whole is {k}-anonymous.", k=self.k)
        return text + (
            " "
            + message(
                "Offices commonly require k = 3 or 5 (SDC practice guide of the World Bank); "
                "k-anonymity says nothing about the population or about what the records of a "
                "group have in common."
            )
        )

    def _blank_sentence(self, n: int, blank: int) -> str:
        others = count_text(n - blank)
        visible = joined_by(
            "; ",
            (
                message(
                    "{count} of the other {others} violate {k}-anonymity",
                    count=count_text(count),
                    others=others,
                    k=k,
                )
                for k, count in self.visible_violations.items()
            ),
        )
        return (
            message(
                "{blank} every key missing and may be anybody. Without them, {visible}. Where "
                "they count as matches of every record",
                blank=plural(blank, "record has", "records have"),
                visible=visible,
            )
            + ", "
        )


@same_library
def k_anonymity(
    data: Any,
    keys: Sequence[str],
    *,
    k: int | Sequence[int] = (2, 3, 5),
    weights: Any = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
) -> KAnonymity:
    """Count the records whose key fewer than k records share (Samarati and Sweeney 1998).

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables.
    k : int or sequence of int, default (2, 3, 5)
        At least 1 each.
    weights : str or array of shape (n,), optional
        Also count records whose estimated population frequency F is below k.
    missing, alpha
        Treatment of missing keys: see `frequency_counts`.

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
    frame = as_frame(data, columns=(keys, weights))
    faults = Faults("k-anonymity")
    names = read_keys(faults, frame, keys, missing, alpha)
    values = read_weights(faults, frame, weights)
    limits: list[Any] = list(k) if isinstance(k, Iterable) else [k]
    for limit in limits:
        check(faults, {"k": Whole(1)}, {"k": limit})
    if not limits:
        faults.add("k", "is empty", hint="Give at least one k.")
    faults.raise_if_any()
    counts = count_keys(tabulate(frame, names, values), missing, alpha, values is not None)
    return anonymity_of_counts(counts, [int(limit) for limit in limits])


def n_blank(counts: FrequencyCounts) -> int:
    """Return how many records have every key missing."""
    return int(counts.keys.counts[(counts.keys.codes < 0).all(axis=1)].sum())


def anonymity_of_counts(counts: FrequencyCounts, limits: Sequence[int]) -> KAnonymity:
    """`KAnonymity` from frequency counts that were made before."""
    records = counts.keys.counts
    slack = 1 - 1e-12  # sums of weights and of parts of records are not exact
    by_f = {k: int(records[counts.cell_f < k * slack].sum()) for k in limits}
    by_population = {k: int(records[counts.cell_F < k * slack].sum()) for k in limits}
    return KAnonymity(
        violations=by_f,
        weighted_violations=by_population if counts.weighted else None,
        visible_violations=_visible_violations(counts, limits) if n_blank(counts) else by_f,
        k=int(counts.cell_f.min() * (2 - slack)) if len(counts.cell_f) else 0,
        f=counts.f,
        F=counts.F,
        counts=counts,
    )


def _visible_violations(counts: FrequencyCounts, limits: Sequence[int]) -> dict[int, int]:
    """Violations among records with at least one key, counted without the others."""
    table = counts.keys
    rows = np.flatnonzero((table.codes >= 0).any(axis=1))
    cell = np.full(len(table.codes), -1)
    cell[rows] = np.arange(len(rows))
    cells = cell[table.cell]
    visible = KeyTable(
        table.names, table.levels, table.codes[rows], cells[cells >= 0], table.counts[rows],
        table.weights[rows],
    )  # fmt: skip
    f, _ = match_counts(visible, counts.missing, counts.alpha)
    return {k: int(visible.counts[f < k * (1 - 1e-12)].sum()) for k in limits}


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
    """Return what violations of k-anonymity beside blank records are."""
    return person_risk(
        f"below_{k}_visible",
        message("Violations of {k}-anonymity among records with keys", k=k),
        "records",
        message(
            "records with a key that fewer than {k} records share, where records without "
            "any key match nobody",
            k=k,
        ),
        "Samarati and Sweeney 1998",
    )


def of_anonymity(result: KAnonymity, request: AssessRequest) -> list[Measurement]:
    """Violations for each k, and those beside blank records."""
    blank = n_blank(result.counts)
    note = missing_note(request, result.counts.missing)
    measured = []
    for k, count in result.violations.items():
        limit = k_limit(k, request)
        measured.append(request.measured(below(k), count, note=note, **limit))
        if 0 < blank < len(result.f):
            text = message(
                "{blank} every key missing", blank=plural(blank, "record has", "records have")
            )
            others = result.visible_violations[k]
            records = len(result.f) - blank
            measured.append(
                request.measured(visible(k), others, note=text, records=records, **limit)
            )
        elif blank:
            text = message(
                "every key of every record is missing: nothing is disclosed through these keys"
            )
            measured[-1] = measured[-1].noted(text)
    return measured


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
    run=lambda request: anonymity_of_counts(request.counts, request.k),
    measurements=of_anonymity,
    infos=(below(3), below(5)),
)
