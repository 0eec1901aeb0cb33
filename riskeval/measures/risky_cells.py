"""Risky cells: small counts in all two-way, three-way ... tables of the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, check_treatment, key_table
from riskeval.measures.entry import Measure, person_risk, run_on
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.codes import cell_ids, first_rows
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, formatted, percent, plural
from synthpop.microdata.roles.microdata import as_file

COLUMNS = [
    "keys", "dimension", "threshold", "cells", "unsafe_cells", "unsafe_records", "share",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class RiskyCells(TableResult):
    """Small cells of every table of up to so many keys.

    Attributes
    ----------
    table : DataFrame
        One row per combination of keys: ``keys`` (their names, joined by " x "), ``dimension``,
        ``threshold``, ``cells`` (non-empty ones), ``unsafe_cells`` (with frequency at most the
        threshold), ``unsafe_records`` (records in them) and ``share`` of the records.
    per_record : int64 array, shape (n,)
        Number of tables in which each record is in an unsafe cell.
    combinations : tuple of tuples of str
        The keys of each row of `table`.
    """

    table: pd.DataFrame
    per_record: np.ndarray
    combinations: tuple[tuple[str, ...], ...]

    def summary(self) -> str:
        """Return how many records are in a small cell of some table."""
        n = len(self.per_record)
        touched = int((self.per_record > 0).sum())
        text = message(
            "{touched} of {n} records ({touched_2}) are in a small cell of at least one of "
            "{n_2} tables, so tables made from the file for secondary use can show them.",
            touched=count(touched),
            n=count(n),
            touched_2=percent(touched / max(n, 1)),
            n_2=count(len(self.table)),
        )
        if touched:
            worst = self.table.iloc[int(self.table["unsafe_records"].to_numpy().argmax())]
            text += " " + message(
                "Most are in {keys}: {n} of {n_2} cells with at most {threshold} records.",
                keys=worst["keys"],
                n=count(worst["unsafe_cells"]),
                n_2=count(worst["cells"]),
                threshold=formatted(worst["threshold"], "g"),
            )
        return text + (
            " "
            + message("The threshold is a rule of the office (mu-Argus asks for one a dimension).")
        )


@same_library
def risky_cells(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    threshold: float | Sequence[float] = 2,
    max_dimension: int = 3,
    levels: Sequence[int] | Mapping[str, int] | None = None,
    missing: str = "own-category",
    alpha: float = 1.0,
) -> RiskyCells:
    """Count small cells in the tables of all combinations of keys.

    Parameters
    ----------
    data, keys
        The file and its key variables: see `Microdata`.
    threshold : float or sequence of float, default 2
        A cell with at most so many records is unsafe; one number, or one a dimension (for single
        keys, pairs, triples ...).
    max_dimension : int, default 3
        Largest number of keys in a table; at most the number of keys is used.
    levels : sequence or mapping of whole numbers from 0, optional
        Identification level of each key, as in mu-Argus: 1 is the most identifying, 0 leaves a
        key out. Tables are extremely identifying x very identifying x identifying: the first key
        has level 1, the second at most 2, the third at most 3, and so on. Default: all
        combinations.
    missing, alpha
        Treatment of missing keys: see `frequency_counts`. Cells with a missing key are counted
        as the table would print them.

    Returns
    -------
    RiskyCells
        Tables in the order of the keys, single keys first. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, thresholds that are negative or of another number than the dimensions.

    Notes
    -----
    The count of unsafe cells of mu-Argus; identification levels: Willenborg and de Waal (2001),
    Elements of Statistical Disclosure Control, section 1.4. The file is tabulated once; all tables
    come from its distinct keys.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"sex": [1, 1, 2, 2, 2], "age": [1, 1, 1, 2, 2],
    ...                      "job": [1, 1, 1, 1, 2]})
    >>> cells = risky_cells(data, ["sex", "age", "job"], threshold=1, max_dimension=2)
    >>> cells.table[["keys", "unsafe_cells"]].values.tolist()[3:]
    [['sex x age', 1], ['sex x job', 1], ['age x job', 2]]
    """
    faults = Faults("risky cells")
    file = as_file(data, faults, keys=keys, columns=())
    check_treatment(faults, missing, alpha)
    names = file.roles.keys
    rank = _read_levels(faults, names, levels)
    limits = _read_thresholds(faults, max_dimension, threshold, len(names))
    faults.raise_if_any()
    table = key_table(file)
    rows, chosen = [], []
    unsafe_tables = np.zeros(len(table.codes), dtype=np.int64)
    for dimension in range(1, len(limits) + 1):
        for positions in combinations(range(len(names)), dimension):
            if not is_known_table([rank[j] for j in positions]):
                continue
            limit = limits[dimension - 1]
            marginal, cell = _marginal(table, positions)
            f, _ = match_counts(marginal, missing, float(alpha))
            unsafe = f <= limit * (1 + 1e-12)
            unsafe_tables += unsafe[cell]
            records = int(marginal.counts[unsafe].sum())
            chosen.append(tuple(names[j] for j in positions))
            rows.append((
                " x ".join(chosen[-1]), dimension, float(limit), len(f), int(unsafe.sum()), records,
                records / max(table.n_records, 1),
            ))  # fmt: skip
    return RiskyCells(pd.DataFrame(rows, columns=COLUMNS), unsafe_tables[table.cell], tuple(chosen))


def _read_thresholds(faults: Faults, max_dimension: Any, threshold: Any, n_keys: int) -> np.ndarray:
    """Return the threshold of each dimension of tables that is looked at."""
    check(faults, {"max_dimension": Whole(1)}, {"max_dimension": max_dimension})
    dimensions = min(int(max_dimension), n_keys) if Whole(1).allows(max_dimension) else 1
    limits = np.ravel(np.asarray(threshold, dtype=np.float64))
    if np.ndim(threshold) == 0:
        limits = np.repeat(limits, dimensions)
    if len(limits) != dimensions:
        faults.add(
            "threshold",
            f"has {plural(len(limits), 'value')} for {dimensions} dimensions",
            hint="Give one number, or one a dimension.",
        )
    elif not (limits >= 0).all():
        faults.add("threshold", f"is {threshold!r}", hint="Give numbers from 0 on.")
    return limits


def is_known_table(levels: Sequence[int]) -> bool:
    """Whether the i-th key has at most the identification level i, keys sorted by their levels."""
    return all(0 < level <= position for position, level in enumerate(sorted(levels), start=1))


def _read_levels(
    faults: Faults, names: Sequence[str], levels: Sequence[int] | Mapping[str, int] | None
) -> list[int]:
    """Identification level of each key; without levels 1, which lets every table pass."""
    if levels is None:
        return [1] * len(names)
    if isinstance(levels, Mapping):
        for name in set(levels) ^ set(names):
            faults.add("levels", f"{name!r} is not a key or has no level")
        by_name = [levels.get(name, 1) for name in names]
    else:
        by_name = list(levels)
        if len(by_name) != len(names):
            what = f"has {plural(len(by_name), 'value')} for {plural(len(names), 'key')}"
            faults.add("levels", what)
            return [1] * len(names)
    for value in by_name:
        if not Whole(0).allows(value):
            faults.add("levels", f"is {value!r}", hint="Give whole numbers from 0.")
            return [1] * len(names)
    if 1 not in by_name:
        faults.add("levels", "has no key of level 1", hint="Every table starts with one.")
    return [int(value) for value in by_name]


def _marginal(table: KeyTable, positions: Sequence[int]) -> tuple[KeyTable, np.ndarray]:
    """Table of some keys made from the table of all, and the new cell of each old one."""
    codes = table.codes[:, list(positions)]
    cell, n_cells = cell_ids(codes)
    first = first_rows(cell, n_cells)
    counts = np.bincount(cell, weights=table.counts, minlength=n_cells)
    marginal = KeyTable(
        names=tuple(table.names[j] for j in positions),
        levels=tuple(table.levels[j] for j in positions),
        codes=codes[first],
        cell=np.broadcast_to(np.int64(0), (table.n_records,)),  # only its length is used
        counts=counts,
        weights=counts,
    )
    return marginal, cell


RISKY_CELLS = person_risk(
    "risky_cells", "Records in a risky cell", "records",
    "records in a small cell of at least one table of the keys", "mu-Argus",
)  # fmt: skip


def of_cells(result: RiskyCells, request: AssessRequest) -> list[Measurement]:
    """Records in a small cell."""
    text = message(
        "{tables} tables of up to {n}",
        tables=len(result.table),
        n=plural(result.table["dimension"].max(), "key"),
    )
    return [request.measured(RISKY_CELLS, int((result.per_record > 0).sum()), note=text)]


MEASURE = Measure(
    name="risky_cells",
    rank=90,
    title="Risky cells",
    question="Which tables made from the file would show single persons?",
    blind_spots="tables of more than `max_dimension` keys, and tables with other columns",
    source="mu-Argus",
    function=risky_cells,
    run=run_on("risky_cells", risky_cells),
    measurements=of_cells,
    options=("threshold", "max_dimension", "missing", "alpha"),
    compared=False,
)
