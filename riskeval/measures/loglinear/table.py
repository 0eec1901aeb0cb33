"""The observed cells of a key table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.loglinear import fit as fitting
from riskeval.measures.loglinear.terms import Term
from synthpop.microdata.frame.codes import cell_ids, first_rows
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.roles.microdata import Microdata


@dataclass(frozen=True, eq=False)
class CellCounts:
    """The observed cells of a key table."""

    names: tuple[str, ...]
    levels: tuple[list[Any], ...]  # levels of each key that occur in the file
    codes: np.ndarray  # int64, shape (n_observed, m): cells without missing keys
    # counts, weights, inverse: float64, shape (n_observed,): records, sum of weights, sum of 1 /
    # weight
    counts: np.ndarray
    weights: np.ndarray
    inverse: np.ndarray
    cell_of: np.ndarray  # int64, shape (n,): cell of each record; -1 where a key is missing
    # total, population: records and sum of weights of the file, incomplete records included
    total: float
    population: float

    @property
    def sizes(self) -> list[int]:
        """Number of levels of each key."""
        return [len(levels) for levels in self.levels]


def read_cells(faults: Faults, file: Microdata, weights: Any, least: int = 1) -> CellCounts:
    """Check a file with keys and `weights`, as given; raise what was noted, and count the cells."""
    if 0 < len(file.roles.keys) < least:
        faults.add("keys", "one key is given", hint="Name at least two columns.")
    if len(file) == 0:
        faults.add("data", "has no rows")
    if weights is None and file.weights is None:
        faults.add("weights", "are needed", hint="Name the column of sampling weights.")
    if not faults and file.frame[list(file.roles.keys)].isna().any(axis=1).all():
        faults.add("data", "has no record with all keys")
    faults.raise_if_any()
    return count_cells(file)


def count_cells(file: Microdata) -> CellCounts:
    """Count the cells of the key table of a file (records that miss a key are in none)."""
    weights = file.weights
    assert weights is not None
    columns, levels = [], []
    for key in file.roles.keys:
        codes, key_levels = file.codes(key)
        present = np.unique(codes[codes >= 0])
        rank = np.full(len(key_levels) + 1, -1, dtype=np.int64)
        rank[present] = np.arange(len(present))
        columns.append(rank[codes])
        levels.append([key_levels[code] for code in present])
    matrix = np.column_stack(columns)
    complete = (matrix >= 0).all(axis=1)
    ids, n_cells = cell_ids(matrix[complete])
    first = first_rows(ids, n_cells)
    cell_of = np.full(len(file), -1, dtype=np.int64)
    cell_of[complete] = ids
    weight = weights[complete]
    return CellCounts(
        names=file.roles.keys,
        levels=tuple(levels),
        codes=matrix[complete][first],
        counts=np.bincount(ids, minlength=n_cells).astype(np.float64),
        weights=np.bincount(ids, weights=weight, minlength=n_cells),
        inverse=np.bincount(ids, weights=1 / weight, minlength=n_cells),
        cell_of=cell_of,
        total=float(len(file)),
        population=float(weights.sum()),
    )


def check_size(
    faults: Faults,
    table: CellCounts,
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    method: str,
) -> None:
    """Note a model whose parts are too large to be held in memory."""
    newton = method in ("clogg-eliason", "weighted") or any(x is not None for x in numbers)
    most = fitting.MOST_DESIGN if newton else fitting.MOST_CELLS
    for keys in fitting.connected_keys(terms, len(table.sizes)):
        cells = prod(table.sizes[j] for j in keys)
        if cells > most:
            faults.add(
                "formula",
                f"ties {', '.join(table.names[j] for j in keys)} together: "
                f"{plural(cells, 'cell')}, at most {count(most)} can be held",
                hint="Use fewer interactions or coarser keys.",
            )
    width = sum(
        prod(1 if numbers[j] is not None else table.sizes[j] for j in term) for term in terms
    )
    if newton and width > fitting.MOST_PARAMETERS:
        faults.add(
            "formula",
            f"has {count(width)} parameters, at most {count(fitting.MOST_PARAMETERS)} can be "
            "fitted here",
            hint="Use coarser keys, or method 'poisson', 'pseudo-ml' or 'ipf'.",
        )


def program_measures(
    table: CellCounts, sample_mean: np.ndarray, bound: float
) -> tuple[float, float, int]:
    """Return what the R function ``modRisk`` calls gr1 and gr2, which the book prints as tau.

    With p the *sum* of 1 / weight in a cell, mu the fitted *sample* mean, v = (1 - p) mu, and k
    cells of 1 to `bound` records: gr1 is the sum of exp(-v) over sample uniques divided by k, gr2
    that of (1 - exp(-v)) / v (1 where v is 0). These are not the measures of Skinner and Shlomo.
    """
    used = table.counts <= bound
    alone = table.counts == 1
    v = ((1 - table.inverse) * sample_mean)[alone]
    n_used = int(used.sum())
    if n_used == 0:
        return np.nan, np.nan, 0
    match = np.where(v == 0, 1.0, -np.expm1(-v) / np.where(v == 0, 1.0, v))
    return float(np.exp(-v).sum() / n_used), float(match.sum() / n_used), n_used


def cell_levels(table: CellCounts) -> pd.DataFrame:
    """The levels of each cell, one column per key."""
    columns = {
        name: pd.Series([levels[code] for code in table.codes[:, j]], dtype=object)
        for j, (name, levels) in enumerate(zip(table.names, table.levels, strict=True))
    }
    return pd.DataFrame(columns).infer_objects()
