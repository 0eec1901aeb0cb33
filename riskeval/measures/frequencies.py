"""Frequency counts of keys in the sample (f) and, by weights, in the population (F)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riskeval.keys.table import check_treatment
from riskeval.measures.counts import FrequencyCounts, counts_of
from riskeval.measures.entry import Measure, k_limit, missing_note, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.roles.microdata import as_file


@same_library
def frequency_counts(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weights: Any = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
) -> FrequencyCounts:
    """Count how often the key of each record occurs in the file and in the population.

    Parameters
    ----------
    data, keys, weights
        The file and its roles: see `Microdata`.
    missing : {"wildcard", "conservative", "category-size", "conservative-2", "own-category"}
        What a missing key matches (Templ 2017, sections 3.2.2 and 4.2.2):

        - "wildcard": any value, in both directions; a match through a missing value of the other
          record counts `alpha`.
        - "conservative": a missing value matches any value for the record that has it, but does
          not raise the count of records that are complete.
        - "category-size": like "wildcard", but a missing value of another record counts as much
          as the share of the wanted category among all records (of several keys: the product).
        - "conservative-2": a missing value never raises the count of a record with another key.
        - "own-category": missing is a category like any other.
    alpha : float, default 1
        From 0 to 1; only for "wildcard". 1 is the usual count, 0 equals "conservative-2".

    Returns
    -------
    FrequencyCounts
        Nothing is drawn at random. A record whose keys are all missing is counted by the same
        rules as any other.

    Raises
    ------
    InputError
        Unknown columns or treatment, weights that are not positive, alpha out of range or given
        where it has no meaning.

    Notes
    -----
    Time grows with the number of distinct keys times the number of patterns of missing keys, not
    with the square of the number of records.

    Examples
    --------
    The toy file of Templ (2017), section 3.2.3:

    >>> import pandas as pd
    >>> toy = pd.DataFrame({"key1": [1, 1, 2, None], "key2": [1, 1, 1, 1],
    ...                     "key3": [3, None, 3, None], "w": [10, 20, 30, 40]})
    >>> counts = frequency_counts(toy, ["key1", "key2", "key3"], weights="w")
    >>> counts.f.tolist(), counts.F.tolist()
    ([3.0, 3.0, 2.0, 4.0], [70.0, 70.0, 70.0, 100.0])
    >>> frequency_counts(toy, ["key1", "key2", "key3"], missing="conservative").f.tolist()
    [1.0, 3.0, 1.0, 4.0]
    """
    faults = Faults("frequency counts")
    file = as_file(data, faults, keys=keys, weights=weights, columns=())
    check_treatment(faults, missing, alpha)
    faults.raise_if_any()
    return counts_of(file, missing, alpha)


UNIQUE = person_risk(
    "below_2", "Unique records", "records",
    "sample uniques on the key variables", "Templ 2017, section 3.2",
)  # fmt: skip
DISTINCT = person_risk(
    "distinct_keys", "Distinct keys", "records", "different combinations of the keys",
    "Templ 2017, section 3.2",
)  # fmt: skip


def of_counts(counts: FrequencyCounts, request: AssessRequest) -> list[Measurement]:
    """Unique records and distinct keys."""
    note = missing_note(request, counts.missing)
    unique = int((counts.f < 2 * (1 - 1e-12)).sum())
    return [
        request.measured(UNIQUE, unique, note=note, **k_limit(2, request)),
        request.measured(DISTINCT, len(counts.cell_f)),
    ]


MEASURE = Measure(
    name="frequencies",
    rank=10,
    title="Frequency counts",
    question="How many records are alone with their key?",
    blind_spots=(
        "whether anybody else of the population has the key; intruders who know it only roughly"
    ),
    source="Templ 2017, section 3.2",
    function=frequency_counts,
    run=lambda request: request.counts,
    measurements=of_counts,
    infos=(UNIQUE, DISTINCT),
)
