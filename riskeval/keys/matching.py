"""What a missing key matches: counts of distinct keys under the five treatments.

Decided here and nowhere else; the measures of diversity take their groups from here too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from riskeval.keys.table import KeyTable
from synthpop.microdata.frame.codes import LARGEST_SPAN, cell_ids, number_rows, observed_patterns

LARGEST_TABLE = 1 << 24  # cells of the largest full table (every combination of levels)


def match_counts(
    table: KeyTable, missing: str = "wildcard", alpha: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Counts f and F of each distinct key under a treatment of missing values.

    Beside the treatments of users there is "visible": records that show every value that the key
    shows.
    """
    holes = table.codes < 0
    if missing == "own-category" or not holes.any():
        return table.counts, table.weights
    one = table.weights is table.counts
    amounts = table.counts[:, None] if one else np.column_stack([table.counts, table.weights])
    if missing == "visible":
        totals = _wildcard_totals(table, amounts, None, visible=True)
        return totals[:, 0].copy(), totals[:, -1].copy()
    complete = ~holes.any(axis=1)
    matched = amounts.copy()
    by_alpha = {"wildcard": alpha, "conservative-2": 0.0}.get(missing, 1.0)
    matched[~complete] *= by_alpha
    totals = _wildcard_totals(
        table, matched, shares_of(table) if missing == "category-size" else None
    )
    if by_alpha != 1.0:  # records with the very same key count in full, whatever alpha is
        totals[~complete] += (1.0 - by_alpha) * amounts[~complete]
    if missing == "conservative":
        totals[complete] = amounts[complete]
    return totals[:, 0].copy(), totals[:, -1].copy()


def shares_of(table: KeyTable) -> list[np.ndarray]:
    """Share of each level of each key among all records, missing ones in the denominator."""
    n = max(table.n_records, 1)
    return [
        np.bincount(table.codes[:, j] + 1, weights=table.counts, minlength=size + 1)[1:] / n
        for j, size in enumerate(table.sizes)
    ]


def _wildcard_totals(
    table: KeyTable, amounts: np.ndarray, shares: list[np.ndarray] | None, *, visible: bool = False
) -> np.ndarray:
    gaps = np.flatnonzero((table.codes < 0).any(axis=0))
    span = 1
    for size in table.sizes:
        span *= size + 1
    bits = (table.codes[:, gaps] >= 0).astype(np.int64) << np.arange(len(gaps))
    patterns, pattern_of = np.unique(bits.sum(axis=1), return_inverse=True)
    small = span * len(gaps) <= 8 * len(patterns) * len(amounts) + (1 << 16)
    if span <= LARGEST_TABLE and small and not visible:
        return _dense_totals(table, amounts, shares)
    factors = np.ones((len(amounts), len(gaps)))
    if shares is not None:
        for column, j in enumerate(gaps):
            factors[:, column] = np.append(shares[j], 1.0)[table.codes[:, j]]
    span_of = _span_without_missing(table, gaps)
    for j in gaps:
        span_of *= table.sizes[j] + 1
    if span_of >= LARGEST_SPAN or len(gaps) > 62:
        missing = "visible" if visible else "wildcard"
        return _pairwise_totals(table, amounts, factors, gaps, missing)
    from riskeval.kernels.counts import match_patterns

    complete_keys = np.setdiff1d(np.arange(len(table.names)), gaps)
    place, n_fixed = 1, 1
    fixed = np.zeros(len(amounts), dtype=np.int64)
    if len(complete_keys):
        fixed, n_fixed = cell_ids(
            table.codes[:, complete_keys], [table.sizes[j] for j in complete_keys]
        )
    place = n_fixed
    terms = np.empty((len(amounts), len(gaps)), dtype=np.int64)
    for column, j in enumerate(gaps):
        terms[:, column] = (table.codes[:, j].astype(np.int64) + 1) * place
        place *= table.sizes[j] + 1
    order = np.argsort(pattern_of.reshape(-1), kind="stable")
    starts = np.searchsorted(pattern_of.reshape(-1)[order], np.arange(len(patterns) + 1))
    sorted_out = np.empty_like(amounts)
    match_patterns(
        terms[order], fixed[order], starts, patterns, amounts[order], factors[order], visible,
        sorted_out,
    )  # fmt: skip
    totals = np.empty_like(amounts)
    totals[order] = sorted_out
    return totals


def _span_without_missing(table: KeyTable, gaps: np.ndarray) -> int:
    span = 1
    for j in np.setdiff1d(np.arange(len(table.names)), gaps):
        span = min(span * (table.sizes[j] + 1), len(table.codes))
    return span


def _dense_totals(
    table: KeyTable, amounts: np.ndarray, shares: list[np.ndarray] | None
) -> np.ndarray:
    """Sum over the full table, key by key: matching is a product of matchings of single keys."""
    shape = [size + 1 for size in table.sizes]
    place = np.ravel_multi_index(tuple((table.codes + 1).T), shape)
    totals = np.empty_like(amounts)
    for v in range(amounts.shape[1]):
        full = np.zeros(int(np.prod(shape)))
        full[place] = amounts[:, v]
        for j in np.flatnonzero((table.codes < 0).any(axis=0)):
            cube = full.reshape(int(np.prod(shape[:j])), shape[j], -1)
            total = cube.sum(axis=1)
            factor = 1.0 if shares is None else shares[j][None, :, None]
            cube[:, 1:, :] += factor * cube[:, :1, :]
            cube[:, 0, :] = total
        totals[:, v] = full[place]
    return totals


def _pairwise_totals(
    table: KeyTable, amounts: np.ndarray, factors: np.ndarray, gaps: np.ndarray,
    missing: str,
) -> np.ndarray:  # fmt: skip
    """Sum over pairs of patterns; for key tables too wide to be numbered in 64 bits."""
    totals = np.zeros_like(amounts)
    for targets, meetings in matching_patterns(table, missing):
        for shared, sources in meetings:
            dropped = np.flatnonzero(~np.isin(gaps, shared))
            observed = table.codes[np.ix_(targets, gaps[dropped])] >= 0
            factor = np.where(observed, factors[np.ix_(targets, dropped)], 1.0).prod(axis=1)
            ids, n_ids = shared_ids(table, shared, targets, sources)
            for v in range(amounts.shape[1]):
                sums = np.bincount(
                    ids[len(targets) :], weights=amounts[sources, v], minlength=n_ids
                )
                totals[targets, v] += factor * sums[ids[: len(targets)]]
    return totals


def matching_patterns(
    table: KeyTable, missing: str
) -> Iterator[tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]]:
    """For each pattern of missing values, the patterns it can match under a treatment.

    Yields targets: int64 array; rows of the table with one pattern of observed keys; meetings: list
        of pairs of int64 arrays (shared, sources); `sources`: rows of all patterns that share
        exactly the keys at positions `shared` with the targets; a target matches those of them that
        agree with it there.
    """
    observed = table.codes >= 0
    if missing == "own-category":
        observed = np.ones_like(observed)
    patterns, pattern_of = observed_patterns(observed)
    rows = [np.flatnonzero(pattern_of == p) for p in range(len(patterns))]
    for a, wanted in enumerate(patterns):
        only_complete = missing == "conservative-2" or (missing == "conservative" and wanted.all())
        allowed = np.array([not only_complete or bool(p.all()) for p in patterns])
        if missing == "visible":
            allowed = (patterns >= wanted).all(axis=1)
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
    return number_rows([table.codes[both, j] for j in shared], [table.sizes[j] for j in shared])
