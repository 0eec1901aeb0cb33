"""Local suppression: k-anonymity by missing values in as few cells as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, own_frame, protected, suppress_cells
from riskeval.protection.suppress_codes import (
    SLACK,
    TREATMENTS,
    Request,
    count_matches,
    suppress_codes,
)
from synthpop.microdata.checks import check_choice, check_columns
from synthpop.microdata.codes import cell_ids, encode_keys
from synthpop.microdata.errors import Faults, GuaranteeError
from synthpop.microdata.text import plural

MOST_KEYS = 40


def local_suppression(
    data: Any,
    keys: Sequence[str],
    *,
    k: int = 3,
    importance: Sequence[int] | Mapping[str, int] | None = None,
    subsets: Mapping[int, int] | None = None,
    strata: str | Sequence[str] | None = None,
    linked: Mapping[str, str | Sequence[str]] | None = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
) -> Protected:
    """Make values missing until every record matches at least k records on its keys.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    keys : sequence of str
        Categorical key variables; every distinct value is a category.
    k : int
        Records that each record must match, itself included. Not used when `subsets` is given.
    importance : sequence or mapping of numbers from 1, optional
        Rank of each key: 1 is the most important, the largest is suppressed first. A record then
        loses the least important key that brings it nearer to k. Default: keys count alike and
        the number of suppressed cells is kept small.
    subsets : mapping, optional
        {size: k} (sizes may be text, as in a run file): every combination of that many keys must
        reach its own k (the all-M approach of mu-Argus); all keys together are asked for only if
        ``len(keys)`` is among the sizes.
    strata : str or sequence of str, optional
        Columns whose combinations are protected each on its own; a missing stratum is a stratum.
    linked : mapping, optional
        Key -> columns with the same content (codes and labels, coarser versions), suppressed in
        the same records.
    missing : {"wildcard", "conservative", "category-size", "conservative-2", "own-category"}
        What a missing key matches, as in ``frequency_counts``.
    alpha : float
        What a match through a missing key of the other record counts, 0 to 1; for "wildcard".

    Returns
    -------
    Protected
        Types, order of categories and all other columns stay; whole numbers become the nullable
        type of the same size in columns that lose a value. Missing values of the input count by
        `missing` and are never filled. Nothing is drawn at random: among equal records the first
        in the file is suppressed. ``details`` holds ``risky_before`` (records below k),
        ``smallest_count`` afterwards, and the bool table ``suppressed`` (n, keys).

    Raises
    ------
    InputError
        Unknown columns, ranks that are not numbers from 1, a stratum with fewer than k records.
    GuaranteeError
        The independent count at the end found a record below k (this is never expected).

    Notes
    -----
    Only records below k lose a value (under "own-category", where nothing else helps, a few safe
    records may have to join them). One cell at a time is suppressed: the one that closes most of
    the gap to k, of the record itself and of the other risky records that it newly matches, per
    cell; this is the greedy rule of Wolsey (1982, doi:10.1007/BF02579435) for covering problems.
    Under "wildcard" with alpha = 1 values that later suppressions have made needless to hide are
    given back at the end, so that no single suppression can be undone (of each subset).
    Counting follows Templ (2017), sections 3.2.2 and 4.2.2.

    Under "wildcard" a record may end up safe with all its values visible because others are
    suppressed. Where that is not wanted, take "conservative" or a smaller `alpha`.

    Examples
    --------
    The toy file of Templ (2017), table 4.1:

    >>> people = pd.DataFrame({"region": ["A"] * 5,
    ...     "status": ["single", "married", "married", "single", "widowed"]})
    >>> result = local_suppression(people, ["region", "status"], k=2)
    >>> result.cells_suppressed, result.data["status"].isna().tolist()
    (1, [False, False, False, False, True])
    """
    frame = own_frame(data)
    names = [keys] if isinstance(keys, str) else list(keys)
    by = [] if strata is None else [strata] if isinstance(strata, str) else list(strata)
    ties = {
        key: [columns] if isinstance(columns, str) else list(columns)
        for key, columns in (linked or {}).items()
    }
    wanted = {len(names): k} if subsets is None else _whole_sizes(subsets)
    faults = Faults("local_suppression")
    ranks = _checked(faults, frame, names, by, ties, wanted, importance, missing, alpha)
    faults.raise_if_any()
    request = Request(
        0, missing, float(alpha), ranks, np.array([1.0 + len(ties.get(key, ())) for key in names])
    )
    codes = encode_keys(frame, names).codes
    strata_codes = _stratum_codes(frame, by)
    _check_sizes(faults, strata_codes, max(wanted.values()))
    faults.raise_if_any()
    result = _all_subsets(codes, strata_codes, request, wanted)
    hidden = (result < 0) & (codes >= 0)
    released = frame.copy(deep=False)
    for j, key in enumerate(names):
        for column in [key, *ties.get(key, [])]:
            released[column] = suppress_cells(frame[column], hidden[:, j])
    smallest = _verified(released, names, by, request, wanted)
    risky = np.zeros(len(frame), dtype=bool)
    for subset, demanded in _asked(len(names), wanted):
        risky |= count_matches(codes[:, subset], strata_codes, request) < demanded - SLACK
    return protected(
        frame,
        released,
        [*names, *(column for key in names for column in ties.get(key, []))],
        method="local_suppression",
        parameters={
            "keys": names,
            "k": k,
            "importance": None
            if importance is None
            else dict(zip(names, map(int, ranks), strict=True)),
            "subsets": None if subsets is None else wanted,
            "strata": by or None,
            "linked": ties or None,
            "missing": missing,
            "alpha": float(alpha),
        },
        notes=[
            _promise(wanted, len(names), by, missing),
            f"{plural(int(risky.sum()), 'record was', 'records were')} below.",
        ],
        details={
            "risky_before": int(risky.sum()),
            "smallest_count": smallest,
            "suppressed": pd.DataFrame(hidden, columns=names, index=frame.index),
        },
    )


def _whole_sizes(subsets: Mapping[Any, int]) -> dict[int, int]:
    """Sizes as numbers: the keys of a run file are text."""
    return {
        int(size) if isinstance(size, str) and size.isdigit() else size: k
        for size, k in subsets.items()
    }


def _promise(wanted: dict[int, int], n_keys: int, by: list[str], missing: str) -> str:
    parts = [
        f"{k} records on {'all keys' if size == n_keys else f'every {size} of the keys'}"
        for size, k in wanted.items()
    ]
    within = f" within {', '.join(by)}" if by else ""
    return (
        f"Counted anew, every record matches at least {' and '.join(parts)}{within} "
        f"(missing values: {missing})."
    )


def _checked(
    faults: Faults,
    frame: pd.DataFrame,
    names: list[str],
    by: list[str],
    ties: dict[str, list[str]],
    wanted: dict[int, int],
    importance: Sequence[int] | Mapping[str, int] | None,
    missing: str,
    alpha: float,
) -> np.ndarray:
    if not names:
        faults.add("keys", "no key is given", remedy="Name at least one column.")
    if len(set(names)) < len(names):
        faults.add("keys", "a column is named twice", remedy="Name each key once.")
    if len(names) > MOST_KEYS:
        faults.add("keys", f"{plural(len(names), 'key')}", remedy=f"Give at most {MOST_KEYS}.")
    check_columns(faults, frame, dict.fromkeys(names), "key")
    check_columns(faults, frame, by, "strata")
    for column in set(by) & set(names):
        faults.add(column, "is a key and a stratum", remedy="Choose one of the two.")
    check_choice(faults, "missing", missing, TREATMENTS)
    number = isinstance(alpha, (int, float, np.number)) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha <= 1:
        faults.add("alpha", f"is {alpha!r}", remedy="Give a number from 0 to 1.")
    elif alpha != 1 and missing != "wildcard":
        faults.add("alpha", f"has no meaning with missing={missing!r}", remedy="Leave it out.")
    if not wanted:
        faults.add("subsets", "are empty", remedy="Give {size: k}.")
    for size, k in wanted.items():
        if not _whole(size) or not 1 <= size <= len(names):
            faults.add(
                "subsets", f"{size!r} of {plural(len(names), 'key')}", remedy="Give 1 to all keys."
            )
        if not _whole(k) or k < 1:
            faults.add("k", f"is {k!r}", remedy="Give a whole number from 1.")
    seen: set[str] = set()
    for key, columns in ties.items():
        if key not in names:
            faults.add("linked", f"{key!r} is not a key")
        check_columns(faults, frame, columns, "linked column")
        for column in columns:
            if column in names or column in by or column in seen:
                faults.add("linked", f"{column!r} is a key, a stratum or linked twice")
            seen.add(column)
    return _ranks(faults, names, importance)


def _whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _ranks(
    faults: Faults, names: list[str], importance: Sequence[int] | Mapping[str, int] | None
) -> np.ndarray:
    if importance is None:
        return np.zeros(len(names))
    if isinstance(importance, Mapping):
        for key in set(importance) ^ set(names):
            faults.add("importance", f"{key!r} is not a key or has no rank")
        values = [importance.get(key, 1) for key in names]
    else:
        values = list(importance)
    if len(values) != len(names) or not all(_whole(rank) and rank >= 1 for rank in values):
        faults.add("importance", f"is {values}", remedy="Give one rank from 1 for each key.")
        return np.zeros(len(names))
    return np.array(values, dtype=np.float64)


def _stratum_codes(frame: pd.DataFrame, by: list[str]) -> np.ndarray:
    if not by:
        return np.zeros(len(frame), dtype=np.int64)
    coded = encode_keys(frame, by)
    return cell_ids(coded.codes, [len(levels) for levels in coded.levels])[0]


def _check_sizes(faults: Faults, strata: np.ndarray, k: int) -> None:
    sizes = np.bincount(strata)
    small = np.flatnonzero((sizes > 0) & (sizes < k))
    if len(small):
        faults.add(
            "k",
            f"{plural(len(small), 'stratum (or the file) has', 'strata have')} fewer than {k} "
            "records",
            rows=np.flatnonzero(np.isin(strata, small)),
            remedy="Join strata or lower k: no suppression can help there.",
        )


def _asked(n_keys: int, wanted: dict[int, int]) -> list[tuple[list[int], int]]:
    """Every subset of keys that something is asked of, small ones first, with its k."""
    return [
        (list(subset), k)
        for size, k in sorted(wanted.items())
        for subset in combinations(range(n_keys), size)
    ]


def _all_subsets(
    codes: np.ndarray, strata: np.ndarray, request: Request, wanted: dict[int, int]
) -> np.ndarray:
    """Visit every subset of keys until none asks for another suppression."""
    result = codes.copy()
    asked = _asked(codes.shape[1], wanted)
    calm = 0
    while calm < len(asked):
        for subset, k in asked:
            part = replace(request, k=k, rank=request.rank[subset], cost=request.cost[subset])
            new = suppress_codes(result[:, subset], strata, part)
            calm = calm + 1 if np.array_equal(new, result[:, subset]) else 1
            result[:, subset] = new
            if calm >= len(asked):
                break
    return result


def _verified(
    released: pd.DataFrame,
    names: list[str],
    by: list[str],
    request: Request,
    wanted: dict[int, int],
) -> float:
    """Count the released file anew; return the smallest count over what was asked for."""
    codes, strata = encode_keys(released, names).codes, _stratum_codes(released, by)
    smallest = np.inf
    for subset, k in _asked(len(names), wanted):
        f = count_matches(codes[:, subset], strata, request)
        smallest = min(smallest, float(f.min(initial=np.inf)))
        if (f < k - SLACK).any():
            raise GuaranteeError(
                "local_suppression: "
                f"{plural(int((f < k - SLACK).sum()), 'record matches', 'records match')} fewer "
                f"than {k} records on {[names[j] for j in subset]}"
            )
    return smallest


def suppress_risky(data: Any, column: str, *, risk: Any, threshold: float) -> Protected:
    """Make the value of one column missing in every record whose risk is above a threshold.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    column : str
        The column to suppress, usually a key variable.
    risk : array of shape (n,), or a result with such an array as ``risk``
        Risk of each record in the order of the file, for instance of ``individual_risk``.
    threshold : float
        Records with a risk strictly above it lose their value.

    Returns
    -------
    Protected
        ``details`` has ``above``, the number of records above the threshold; it is larger than
        the number of changed cells where values were missing before. Nothing is drawn at random.
        The risk of the new file is not known before it is estimated anew.

    Raises
    ------
    InputError
        Unknown column, risk of another length or with missing values.

    Notes
    -----
    Templ (2017), section 4.2.2.2.

    Examples
    --------
    >>> people = pd.DataFrame({"region": ["A", "A", "B"]})
    >>> result = suppress_risky(people, "region", risk=[0.01, 0.01, 0.5], threshold=0.1)
    >>> result.data["region"].isna().tolist()
    [False, False, True]
    """
    frame = own_frame(data)
    faults = Faults("suppress_risky")
    check_columns(faults, frame, [column], "column to suppress")
    values = np.asarray(getattr(risk, "risk", risk), dtype=object).reshape(-1)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    if len(numbers) != len(frame):
        faults.add(
            "risk", f"has {plural(len(numbers), 'value')} for {plural(len(frame), 'record')}"
        )
    elif np.isnan(numbers).any():
        faults.add("risk", "is missing or no number", rows=np.flatnonzero(np.isnan(numbers)))
    number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
    if not number or np.isnan(threshold):
        faults.add("threshold", f"is {threshold!r}", remedy="Give a number.")
    faults.raise_if_any()
    above = numbers > threshold
    released = frame.copy(deep=False)
    released[column] = suppress_cells(frame[column], above)
    return protected(
        frame,
        released,
        [column],
        method="suppress_risky",
        parameters={"column": column, "risk": numbers.tolist(), "threshold": float(threshold)},
        notes=[f"{plural(int(above.sum()), 'record')} had a risk above {threshold:g}."],
        details={"above": int(above.sum())},
    )
