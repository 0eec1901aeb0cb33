"""Sensitive values in groups of records with the same key: shared by diversity and closeness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.matching import matching_patterns, shared_ids, shares_of
from riskeval.keys.table import KeyTable
from riskeval.measures.individual import with_lone_persons
from synthpop.microdata.frame.codes import first_rows, number_rows
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.roles.microdata import Microdata

MOST_CODES = 20
"""Distinct numbers up to which a numeric column may well hold codes of categories."""


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Sensitive values of some groups, in stretches that `riskeval.kernels.diversity` merges."""

    cells: np.ndarray  # int64 array, shape (T,): distinct keys that the groups belong to
    # begin, end: int64 arrays, shape (S, T)
    begin: np.ndarray
    end: np.ndarray
    factor: np.ndarray  # float64 array, shape (S, T), or (0, T): all 1
    value: np.ndarray  # int64 array, shape (E,)
    count: np.ndarray  # float64 array, shape (E,)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Arguments of the kernels, in their order."""
        return self.begin, self.end, self.factor, self.value, self.count


def sensitive_groups(
    table: KeyTable, values: np.ndarray, n_values: int, missing: str
) -> Iterator[Segments]:
    """Groups of records that match each distinct key, by pattern of missing keys.

    `values` are sensitive codes 0 ... n_values - 1; -1 is left out. Whatever the treatment of
    missing keys, records that have no known key in common (a record whose keys are all missing, for
    instance) do not make each other's group diverse.
    """
    rows = np.flatnonzero(values >= 0)
    pair, n_pairs = number_rows([table.cell[rows], values[rows]], [len(table.codes), n_values])
    row_of_pair = rows[first_rows(pair, n_pairs)]
    of_pair = table.cell[row_of_pair].astype(np.int64)
    value = values[row_of_pair].astype(np.int64)
    count = np.bincount(pair, minlength=n_pairs).astype(np.float64)
    treatment = missing if (table.codes < 0).any() else "own-category"
    bounds = np.searchsorted(of_pair, np.arange(len(table.codes) + 1))
    if treatment == "own-category":
        n = len(table.codes)
        yield Segments(
            np.arange(n), bounds[None, :-1], bounds[None, 1:], np.ones((0, n)), value, count
        )
        return
    shares = shares_of(table) if treatment == "category-size" else None
    for targets, matches in matching_patterns(table, treatment):
        blank = bool((table.codes[targets[0]] < 0).all())
        meetings = [item for item in matches if blank or len(item[0])]
        yield _merged(table, targets, meetings, bounds, value, count, n_values, shares)


def _merged(
    table: KeyTable,
    targets: np.ndarray,
    meetings: list[tuple[np.ndarray, np.ndarray]],
    starts: np.ndarray,
    value: np.ndarray,
    count: np.ndarray,
    n_values: int,
    shares: list[np.ndarray] | None,
) -> Segments:
    shape = len(meetings), len(targets)
    begin, end = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    factor = np.ones(shape if shares is not None else (0, len(targets)))
    all_values, all_counts = [], []
    offset = 0
    for position, (shared, sources) in enumerate(meetings):
        ids, n_ids = shared_ids(table, shared, targets, sources)
        entries = _entries(starts, sources)
        group = np.repeat(ids[len(targets) :], starts[sources + 1] - starts[sources])
        merged, n_merged = number_rows([group, value[entries]], [n_ids, n_values])
        rows = first_rows(merged, n_merged)
        bounds = offset + np.append(0, np.cumsum(np.bincount(group[rows], minlength=n_ids)))
        all_values.append(value[entries[rows]])
        all_counts.append(np.bincount(merged, weights=count[entries], minlength=n_merged))
        of_targets = ids[: len(targets)]
        begin[position], end[position] = bounds[of_targets], bounds[of_targets + 1]
        if shares is not None:
            factor[position] = _factor(table, targets, shared, shares)
        offset += n_merged
    return Segments(
        cells=targets,
        begin=begin,
        end=end,
        factor=factor,
        value=np.concatenate(all_values),
        count=np.concatenate(all_counts).astype(np.float64, copy=False),
    )


def _entries(starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Positions starts[r] ... starts[r + 1] - 1 of several rows, one after the other."""
    lengths = starts[rows + 1] - starts[rows]
    shift = np.repeat(starts[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return np.arange(int(lengths.sum())) + shift


def _factor(
    table: KeyTable, targets: np.ndarray, shared: np.ndarray, shares: list[np.ndarray]
) -> np.ndarray:
    factor = np.ones(len(targets))
    for j in range(len(table.names)):
        if j not in shared:
            factor *= np.append(shares[j], 1.0)[table.codes[targets, j]]
    return factor


def category_notes(frame: pd.DataFrame, variables: Sequence[str]) -> tuple[str, ...]:
    """Say which variables are numbers of so many values that categories would mislead."""
    notes = []
    for name in variables:
        distinct = int(frame[name].nunique())
        if is_number(frame[name]) and distinct > MOST_CODES:
            notes.append(
                message(
                    "The {distinct} distinct numbers of {name} count as one category each: near "
                    "values count as different. Group an amount into classes first (pandas.cut).",
                    distinct=count_text(distinct),
                    name=name,
                )
            )
    return tuple(notes)


def household_note(homes: np.ndarray | None) -> tuple[str, ...]:
    """Say that values are counted in households, where they are."""
    return () if homes is None else (message("A household counts once with each value."),)


def check_sensitive(faults: Faults, file: Microdata, most: int | None = None) -> tuple[str, ...]:
    """Return the sensitive variables; note none at all, and more than a measure takes."""
    variables = file.roles.sensitive
    if not variables:
        faults.add("sensitive", "no variable is given", hint="Name at least one column.")
    if most is not None and len(variables) > most:
        faults.add("sensitive", f"names {len(variables)} columns", hint=f"Name {most}.")
    return variables


def households_of_cells(table: KeyTable, household: np.ndarray, missing: str) -> np.ndarray:
    """Count the households among the records that match each distinct key, float64, shape (K,).

    household: int64, shape (n,); -1 is a household of one. A record whose keys are all missing
    is in no group but its own.
    """
    from riskeval.kernels.diversity import group_diversity

    homes, _ = with_lone_persons(household)
    n_homes = int(homes.max(initial=0)) + 1

    def measure(segments: Segments) -> np.ndarray:
        diversity = np.empty((len(segments.cells), 3))
        group_diversity(*segments.arrays, n_homes, -1, 2.0, diversity)
        return diversity

    return per_cell(table, homes, n_homes, missing, measure, 3)[:, 0]


def once_a_household(
    table: KeyTable, values: np.ndarray, household: np.ndarray | None
) -> np.ndarray:
    """Leave out (-1) values that another member of the household with the same key has already.

    values: int64, shape (n,); household: int64, shape (n,), or None to keep all
    """
    if household is None:
        return values
    homes, _ = with_lone_persons(household)
    columns = pd.DataFrame({"cell": table.cell, "home": homes, "value": values})
    return np.where(columns.duplicated(), -1, values)


def per_cell(
    table: KeyTable,
    values: np.ndarray,
    n_values: int,
    missing: str,
    measure: Callable[[Segments], np.ndarray],
    width: int,
) -> np.ndarray:
    """Run `measure` on all groups; its rows in the order of the table, shape (K, width)."""
    by_cell = np.zeros((len(table.codes), width))
    if table.n_records:
        for segments in sensitive_groups(table, values, n_values, missing):
            by_cell[segments.cells] = measure(segments).reshape(-1, width)
    return by_cell
