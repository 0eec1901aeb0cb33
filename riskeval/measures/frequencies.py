"""Frequency counts of keys in the sample (f) and, by weights, in the population (F).

The table of distinct keys (`tabulate`) is the ground of all measures for categorical keys. What a
missing key matches is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.checks import as_frame, check_choice, check_columns, check_weights
from synthpop.microdata.codes import cell_ids, encode
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result

TREATMENTS = ("wildcard", "conservative", "category-size", "conservative-2", "own-category")
DENSE_CELLS = 1 << 24  # largest full table (every combination of levels) that is held in memory
LARGEST = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """The distinct keys of a file; a missing value is a value of its own here.

    Attributes
    ----------
    names : tuple of str
        The m keys.
    levels : tuple of tuples
        Levels of each key.
    codes : int32 array, shape (K, m)
        Distinct keys in lexicographic order of their codes; -1 is missing.
    cell : integer array, shape (n,)
        Row of `codes` of each record.
    counts, weights : float64 arrays, shape (K,)
        Records and sum of weights of each distinct key (`weights` equals `counts` without
        weights).
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    codes: np.ndarray
    cell: np.ndarray
    counts: np.ndarray
    weights: np.ndarray

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each key."""
        return tuple(len(levels) for levels in self.levels)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.cell)

    def frame(self) -> pd.DataFrame:
        """The distinct keys as columns with their levels, missing where a key is missing."""
        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(self.codes[:, j], pd.Index(self.levels[j]))
                for j, name in enumerate(self.names)
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyCounts(Result):
    """How often the key of each record occurs.

    Attributes
    ----------
    f : float64 array, shape (n,)
        Records of the file that the key of each record matches, itself included. Whole numbers
        unless `alpha` or the treatment makes parts of records count.
    F : float64 array, shape (n,)
        The same with weights: estimated number of persons of the population; equal to `f` without
        weights.
    cell : integer array, shape (n,)
        Row of `table` each record belongs to.
    missing : str
        Treatment of missing keys.
    alpha : float
        Weight of a match through somebody else's missing key ("wildcard" only).
    weighted : bool
        Whether `F` comes from weights.
    cell_f, cell_F : float64 arrays, shape (K,)
        Counts of the K distinct keys.
    keys : KeyTable
        The distinct keys.
    """

    f: np.ndarray
    F: np.ndarray
    cell: np.ndarray
    missing: str
    alpha: float
    weighted: bool
    cell_f: np.ndarray
    cell_F: np.ndarray
    keys: KeyTable

    @property
    def table(self) -> pd.DataFrame:
        """One row a distinct key: the key, `records`, sum of `weights`, and counts `f`, `F`."""
        return self.keys.frame().assign(
            records=self.keys.counts.astype(np.int64),
            weights=self.keys.weights,
            f=self.cell_f,
            F=self.cell_F,
        )

    @property
    def n_unique(self) -> int:
        """Number of records whose key no other record matches (f = 1)."""
        return int(np.count_nonzero(self.f == 1))

    @property
    def cell_sizes(self) -> pd.DataFrame:
        """Cell size indices (Templ 2017, equation 3.2): `size` j and `cells` t_j with f = j.

        Distinct keys without a missing value are counted, as in the book's figure 3.1; size 0 are
        the combinations of observed levels that no record has. Without missing keys the cells
        times their sizes add up to the number of records.
        """
        complete = (self.keys.codes >= 0).all(axis=1)
        size, cells = np.unique(self.cell_f[complete], return_counts=True)
        possible = 1
        for j in range(len(self.keys.names)):
            observed = self.keys.codes[:, j]
            possible *= len(np.unique(observed[observed >= 0]))
        empty = possible - int(complete.sum())
        if empty:
            size, cells = np.append(0.0, size), np.append(empty, cells)
        return pd.DataFrame({"size": size, "cells": cells})

    def to_frame(self) -> pd.DataFrame:
        """One row a record: `f` and `F`."""
        return pd.DataFrame({"f": self.f, "F": self.F})

    def summary(self) -> str:
        """Return how many records are rare, and how missing keys were matched."""
        n = len(self.f)
        share = self.n_unique / n if n else 0.0
        text = (
            f"{self.n_unique:,} of {n:,} records ({share:.2%}) are the only one in the file with "
            f"their combination of {', '.join(self.keys.names)}; there are {len(self.cell_f):,} "
            "distinct combinations."
        )
        if (self.keys.codes < 0).any():
            text += f" Missing keys are treated as {self.missing!r}" + (
                f" with alpha = {self.alpha:g}." if self.missing == "wildcard" else "."
            )
        if self.weighted and n:
            low = int(np.count_nonzero(self.F < 100))
            text += f" {low:,} records stand for fewer than 100 persons of the population."
        return text


def tabulate(
    frame: pd.DataFrame, keys: Sequence[str], weights: np.ndarray | None = None
) -> KeyTable:
    """Find the distinct keys of a file; columns must exist.

    Parameters
    ----------
    frame : DataFrame, n records
    keys : sequence of str
    weights : float64 array, shape (n,), optional

    Returns
    -------
    KeyTable
    """
    columns, levels = [], []
    for key in keys:
        codes, values = encode(frame[key])
        columns.append(codes)
        levels.append(values)
    return _table_of(columns, tuple(keys), tuple(levels), weights)


def _table_of(
    columns: list[np.ndarray],
    names: tuple[str, ...],
    levels: tuple[tuple[Any, ...], ...],
    weights: np.ndarray | None,
) -> KeyTable:
    cell, n_cells = number_rows(columns, [len(values) for values in levels])
    n = len(cell)
    first = np.zeros(n_cells, dtype=np.int64)
    first[cell[::-1]] = np.arange(n - 1, -1, -1)
    codes = np.empty((n_cells, len(columns)), dtype=np.int32)
    for j, column in enumerate(columns):
        codes[:, j] = column[first]
    counts = np.bincount(cell, minlength=n_cells).astype(np.float64)
    sums = counts if weights is None else np.bincount(cell, weights=weights, minlength=n_cells)
    return KeyTable(names, levels, codes, cell, counts, sums)


def number_rows(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """Number the distinct rows of several code columns in lexicographic order; -1 comes first.

    The same as ``cell_ids`` for columns side by side, with less memory for long files.

    Returns
    -------
    cell : int32 or int64 array, shape (n,)
    n_cells : int
    """
    ids = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for column, size in zip(columns, sizes, strict=True):
        if span * (size + 1) >= LARGEST:
            ids, span = _compact(ids, span)
        ids *= size + 1
        ids += column
        ids += 1
        span *= size + 1
    return _compact(ids, span)


def _compact(ids: np.ndarray, span: int) -> tuple[np.ndarray, int]:
    if span <= max(DENSE_CELLS, 4 * len(ids)):
        present = np.zeros(span, dtype=bool)
        present[ids] = True
        rank = np.cumsum(present, dtype=np.int32 if span < 1 << 31 else np.int64)
        return rank[ids] - 1, int(rank[-1])
    found, distinct = pd.factorize(ids)
    order = np.argsort(distinct)
    place = np.empty(len(distinct), dtype=np.int32 if len(distinct) < 1 << 31 else np.int64)
    place[order] = np.arange(len(distinct))
    return place[found], len(distinct)


def match_counts(
    table: KeyTable, missing: str = "wildcard", alpha: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Counts f and F of each distinct key under a treatment of missing values.

    Parameters
    ----------
    table : KeyTable
    missing : one of `TREATMENTS`
    alpha : float
        Only for "wildcard".

    Returns
    -------
    f, F : float64 arrays, shape (K,)
    """
    holes = table.codes < 0
    own = np.column_stack([table.counts, table.weights])
    if missing == "own-category" or not holes.any():
        return table.counts, table.weights
    complete = ~holes.any(axis=1)
    given = own.copy()
    by_alpha = {"wildcard": alpha, "conservative-2": 0.0}.get(missing, 1.0)
    given[~complete] *= by_alpha
    totals = _wildcard_totals(
        table, given, shares_of(table) if missing == "category-size" else None
    )
    if by_alpha != 1.0:  # records with the very same key count in full, whatever alpha is
        totals[~complete] += (1.0 - by_alpha) * own[~complete]
    if missing == "conservative":
        totals[complete] = own[complete]
    return totals[:, 0].copy(), totals[:, 1].copy()


def shares_of(table: KeyTable) -> list[np.ndarray]:
    """Share of each level of each key among all records, missing ones in the denominator."""
    n = max(table.n_records, 1)
    return [
        np.bincount(table.codes[:, j] + 1, weights=table.counts, minlength=size + 1)[1:] / n
        for j, size in enumerate(table.sizes)
    ]


def _wildcard_totals(
    table: KeyTable, given: np.ndarray, shares: list[np.ndarray] | None
) -> np.ndarray:
    gaps = np.flatnonzero((table.codes < 0).any(axis=0))
    span = 1
    for size in table.sizes:
        span *= size + 1
    bits = (table.codes[:, gaps] >= 0).astype(np.int64) << np.arange(len(gaps))
    patterns, pattern_of = np.unique(bits.sum(axis=1), return_inverse=True)
    if span <= DENSE_CELLS and span * len(gaps) <= 8 * len(patterns) * len(given) + (1 << 16):
        return _dense_totals(table, given, shares)
    factors = np.ones((len(given), len(gaps)))
    if shares is not None:
        for column, j in enumerate(gaps):
            factors[:, column] = np.append(shares[j], 1.0)[table.codes[:, j]]
    span_of = _span_without_missing(table, gaps)
    for j in gaps:
        span_of *= table.sizes[j] + 1
    if span_of >= LARGEST or len(gaps) > 62:
        return _pairwise_totals(table, given, factors, gaps)
    from riskeval.kernels.counts import match_patterns

    rest = np.setdiff1d(np.arange(len(table.names)), gaps)
    place, n_fixed = 1, 1
    fixed = np.zeros(len(given), dtype=np.int64)
    if len(rest):
        fixed, n_fixed = cell_ids(table.codes[:, rest], [table.sizes[j] for j in rest])
    place = n_fixed
    terms = np.empty((len(given), len(gaps)), dtype=np.int64)
    for column, j in enumerate(gaps):
        terms[:, column] = (table.codes[:, j].astype(np.int64) + 1) * place
        place *= table.sizes[j] + 1
    order = np.argsort(pattern_of.reshape(-1), kind="stable")
    starts = np.searchsorted(pattern_of.reshape(-1)[order], np.arange(len(patterns) + 1))
    sorted_out = np.empty_like(given)
    match_patterns(
        terms[order], fixed[order], starts, patterns, given[order], factors[order], sorted_out
    )
    out = np.empty_like(given)
    out[order] = sorted_out
    return out


def _span_without_missing(table: KeyTable, gaps: np.ndarray) -> int:
    span = 1
    for j in np.setdiff1d(np.arange(len(table.names)), gaps):
        span = min(span * (table.sizes[j] + 1), len(table.codes))
    return span


def _dense_totals(
    table: KeyTable, given: np.ndarray, shares: list[np.ndarray] | None
) -> np.ndarray:
    """Sum over the full table, key by key: matching is a product of matchings of single keys."""
    shape = [size + 1 for size in table.sizes]
    place = np.ravel_multi_index(tuple((table.codes + 1).T), shape)
    out = np.empty_like(given)
    for v in range(given.shape[1]):
        full = np.zeros(int(np.prod(shape)))
        full[place] = given[:, v]
        for j in np.flatnonzero((table.codes < 0).any(axis=0)):
            cube = full.reshape(int(np.prod(shape[:j])), shape[j], -1)
            total = cube.sum(axis=1)
            factor = 1.0 if shares is None else shares[j][None, :, None]
            cube[:, 1:, :] += factor * cube[:, :1, :]
            cube[:, 0, :] = total
        out[:, v] = full[place]
    return out


def _pairwise_totals(
    table: KeyTable, given: np.ndarray, factors: np.ndarray, gaps: np.ndarray
) -> np.ndarray:
    """Sum over pairs of patterns; for key tables too wide to be numbered in 64 bits."""
    out = np.zeros_like(given)
    for targets, meetings in matching_patterns(table, "wildcard"):
        for shared, sources in meetings:
            dropped = np.flatnonzero(~np.isin(gaps, shared))
            observed = table.codes[np.ix_(targets, gaps[dropped])] >= 0
            factor = np.where(observed, factors[np.ix_(targets, dropped)], 1.0).prod(axis=1)
            ids, n_ids = shared_ids(table, shared, targets, sources)
            for v in range(given.shape[1]):
                sums = np.bincount(ids[len(targets) :], weights=given[sources, v], minlength=n_ids)
                out[targets, v] += factor * sums[ids[: len(targets)]]
    return out


def matching_patterns(
    table: KeyTable, missing: str
) -> Iterator[tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]]:
    """For each pattern of missing values, the patterns it can match under a treatment.

    Yields
    ------
    targets : int64 array
        Rows of the table with one pattern of observed keys.
    meetings : list of pairs of int64 arrays (shared, sources)
        `sources`: rows of all patterns that share exactly the keys at positions `shared` with the
        targets; a target matches those of them that agree with it there.
    """
    observed = table.codes >= 0
    if missing == "own-category":
        observed = np.ones_like(observed)
    patterns, pattern_of = np.unique(observed, axis=0, return_inverse=True)
    rows = [np.flatnonzero(pattern_of.reshape(-1) == p) for p in range(len(patterns))]
    for a, wanted in enumerate(patterns):
        only_complete = missing == "conservative-2" or (missing == "conservative" and wanted.all())
        allowed = np.array([not only_complete or bool(p.all()) for p in patterns])
        allowed[a] = True
        groups: dict[bytes, list[int]] = {}
        for b in np.flatnonzero(allowed):
            groups.setdefault((patterns[b] & wanted).tobytes(), []).append(int(b))
        yield (
            rows[a],
            [
                (
                    np.flatnonzero(np.frombuffer(shared, dtype=bool)),
                    np.concatenate([rows[b] for b in members]),
                )
                for shared, members in groups.items()
            ],
        )


def shared_ids(
    table: KeyTable, shared: np.ndarray, targets: np.ndarray, sources: np.ndarray
) -> tuple[np.ndarray, int]:
    """Common numbers of targets (first) and sources (after them) by their shared keys."""
    both = np.concatenate([targets, sources])
    if not len(shared):
        return np.zeros(len(both), dtype=np.int64), 1
    return cell_ids(table.codes[np.ix_(both, shared)], [table.sizes[j] for j in shared])


def read_keys(
    faults: Faults, frame: pd.DataFrame, keys: Sequence[str], missing: str, alpha: float
) -> tuple[str, ...]:
    """Check keys, treatment and alpha; shared by every measure of categorical keys."""
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if not names:
        faults.add("keys", "no key is given", remedy="Name at least one column.")
    if len(set(names)) < len(names):
        faults.add("keys", "a column is named twice", remedy="Name each key once.")
    check_columns(faults, frame, dict.fromkeys(names), "key")
    check_choice(faults, "missing", missing, TREATMENTS)
    number = isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha <= 1:
        faults.add("alpha", f"is {alpha!r}", remedy="Give a number from 0 to 1.")
    elif alpha != 1 and missing in TREATMENTS and missing != "wildcard":
        faults.add(
            "alpha",
            f"is {alpha:g}, which has no meaning with missing={missing!r}",
            remedy='Leave it out, or use missing="wildcard".',
        )
    return names


def read_weights(
    faults: Faults, frame: pd.DataFrame, weights: Any, argument: str = "weights"
) -> np.ndarray | None:
    """Weights from a column name or from an array of the length of the file; checked."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if not check_columns(faults, frame, [weights], argument):
            return None
        return check_weights(faults, frame[weights], weights)
    values = pd.Series(np.asarray(weights))
    if len(values) != len(frame):
        faults.add(
            argument,
            f"has {len(values)} values for {len(frame)} records",
            remedy="Give one weight a record.",
        )
        return None
    return check_weights(faults, values, argument)


def frequency_counts(
    data: Any,
    keys: Sequence[str],
    *,
    weights: Any = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
) -> FrequencyCounts:
    """Count how often the key of each record occurs in the file and in the population.

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables; every distinct value is a category.
    weights : str or array of shape (n,), optional
        Sampling weights: persons of the population that a record stands for. Must be positive.
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
    frame = as_frame(data)
    faults = Faults("frequency counts")
    names = read_keys(faults, frame, keys, missing, alpha)
    values = read_weights(faults, frame, weights)
    faults.raise_if_any()
    return count_keys(tabulate(frame, names, values), missing, alpha, values is not None)


def count_keys(table: KeyTable, missing: str, alpha: float, weighted: bool) -> FrequencyCounts:
    """`FrequencyCounts` of a table of keys, arguments checked before."""
    f, big_f = match_counts(table, missing, float(alpha))
    per_record = f[table.cell]
    return FrequencyCounts(
        f=per_record,
        F=big_f[table.cell] if weighted else per_record,
        cell=table.cell,
        missing=missing,
        alpha=float(alpha),
        weighted=weighted,
        cell_f=f,
        cell_F=big_f if weighted else f,
        keys=table,
    )
