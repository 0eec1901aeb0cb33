"""What columns say beside the keys: finer twins of a key, nested codes, weights, duplicates."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from riskeval.keys.table import number_rows
from riskeval.verdict.verdict import Finding
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join, percent
from synthpop.microdata.reading.lexicon import WEIGHT_NAME, columns_named_for, concept_of

REPEATED = 5.0
"""Records for each value from which on a value that always goes with one level of a key counts."""
NOTABLE = 0.01
"""Share of the records that a column must make rare."""
COVERED = 0.9
DUPLICATES = 0.05
"""Share of the records that repeat others, amounts included, from which on k is not believed."""
OF_AMOUNTS, FEW_VALUES = 0.3, 30
"""Part of the distinct records, and number of values, from which on numbers are amounts."""


def neighbour_evidence(
    frame: pd.DataFrame,
    keys: Sequence[str],
    *,
    roles: Collection[str] = (),
    weights: str | None = None,
    household: str | None = None,
    k: int = 3,
) -> list[Finding]:
    """Return columns that tell more than a key does, and duplicates that raise k.

    A column tells more than a key where each of its values goes with one level of the key and it
    has more values: a village beside its region, an age beside its class. What it adds is counted:
    the records that fewer than k share on the keys and the column, beyond those on the keys.

    roles: columns in a role other than keys and weights, which are not looked at
    """
    ids = id_columns(frame, household)
    coded = {name: encode(frame[name]) for name in keys}
    codes = {name: (values.astype(np.int64), len(levels)) for name, (values, levels)
             in coded.items()}  # fmt: skip
    below = _below(list(codes.values()), len(frame), k)
    nested: dict[bool, list[tuple[str, str, int]]] = {False: [], True: []}
    for name in frame:
        if name in keys or name in ids or (name in roles and name != weights):
            continue
        is_weight = name == weights or bool(WEIGHT_NAME.search(str(name)))
        values, levels = encode(frame[name])
        coded_column = values.astype(np.int64), len(levels)
        key = _finer_than(frame, str(name), coded_column, codes, is_weight)
        if key:
            added = _below([*codes.values(), coded_column], len(frame), k) - below
            if added > NOTABLE * len(frame):
                nested[is_weight].append((str(name), key, added))
    found = []
    for name, key, added in nested[False]:
        text = message(
            "column {name} tells more than the key {key}: with it {added} more records match "
            "fewer than {k}", name=name, key=key, added=count(added), k=k,
        )  # fmt: skip
        found.append(Finding("finer than a key", text, value=float(added), limit=0.0,
                              records=added, columns=(name, key),
                              assumed="an intruder knows it as well as the key"))  # fmt: skip
    for name, key, added in nested[True]:
        text = message(
            "the weights {name} tell cells within {key}: with them {added} more records match "
            "fewer than {k}", name=name, key=key, added=count(added), k=k,
        )  # fmt: skip
        found.append(Finding("weights that tell the cell", text, value=float(added), limit=0.0,
                              records=added, columns=(name, key),
                              assumed="an intruder knows the design"))  # fmt: skip
    return [*found, *_duplicates(frame, codes, ids, k)]


def id_columns(frame: pd.DataFrame, household: str | None = None) -> set[str]:
    """Return columns that number records, households or sampling units."""
    named = {household} if household else set()
    for role in ("household", "person", "psu"):
        named |= set(columns_named_for(role, frame.columns))
    for name in frame:
        column = frame[name]
        if name in named or column.isna().any() or not len(column):
            continue
        if is_number(column):
            values = as_numbers(column)
            whole = bool(np.isfinite(values).all() and (values == np.rint(values)).all())
            steps = np.diff(values)
            in_order = bool((steps >= 0).all() and 2 * column.nunique() > len(column) / 10)
            if whole and (column.is_unique or (in_order and len(column) > 2)):
                named.add(str(name))
        elif column.is_unique and not column.astype(str).str.contains(r"\s").any():
            named.add(str(name))
    return named


def _finer_than(
    frame: pd.DataFrame,
    name: str,
    column: tuple[np.ndarray, int],
    keys: dict[str, tuple[np.ndarray, int]],
    is_weight: bool,
) -> str:
    """Return the key of which each value of a column has one level; empty for none."""
    values, n_levels = column
    concept = concept_of(name)
    for key, (levels, n_key) in keys.items():
        related = concept is not None and (of_key := concept_of(key)) and of_key[0] == concept[0]
        known = (values >= 0) & (levels >= 0)
        n = int(known.sum())
        if n < COVERED * len(values) or n_levels <= n_key or n_key < (2 if related else 3):
            continue
        occurring = len(np.unique(values[known]))
        pairs = np.unique(values[known] * n_key + levels[known])
        if len(pairs) != occurring or len(np.unique(levels[known])) < n_key:
            continue
        least = 2 * REPEATED if is_weight else 1.5 if related else REPEATED
        if n >= least * occurring:
            return key
        if not is_weight and is_number(frame[name]) and (related or n_key >= REPEATED):
            order = np.argsort(as_numbers(frame[name])[known], kind="stable")
            changes = int((np.diff(levels[known][order]) != 0).sum())
            if changes == n_key - 1:
                return key
    return ""


def _below(columns: list[tuple[np.ndarray, int]], n: int, k: int) -> int:
    """Count the records that fewer than k share on coded columns, missing being a value."""
    ids, _ = number_rows([values for values, _ in columns], [max(size, 1) for _, size in columns])
    sizes = np.bincount(ids)
    return int((sizes[ids] < k).sum()) if n else 0


def _duplicates(
    frame: pd.DataFrame, keys: dict[str, tuple[np.ndarray, int]], ids: set[str], k: int
) -> list[Finding]:
    """Return records that repeat others in all columns, where amounts make that no accident."""
    names = [name for name in frame if name not in ids or name in keys]
    if len(frame) < 2 or not names:
        return []
    codes = {name: encode(frame[name]) for name in names}
    rows, n_rows = number_rows(
        [values.astype(np.int64) for values, _ in codes.values()],
        [max(len(levels), 1) for _, levels in codes.values()],
    )
    marked = np.zeros(len(frame), dtype=bool)
    amounts = []
    for name in names:
        if is_number(frame[name]) and frame[name].nunique() > max(OF_AMOUNTS * n_rows, FEW_VALUES):
            values = as_numbers(frame[name])
            marked |= np.isfinite(values) & (values != 0)
            amounts.append(str(name))
    again = marked & (np.bincount(rows)[rows] > 1)
    if again.sum() < DUPLICATES * len(frame):
        return []
    first = np.unique(rows, return_index=True)[1]
    once = [(values[first], size) for values, size in keys.values()]
    share, rare = float(again.mean()), _below(once, len(first), k)
    text = message(
        "{share} of the records repeat others in all columns, {amounts} included: without the "
        "repetitions {rare} of {n} match fewer than {k}", share=percent(share, 0),
        amounts=join(amounts[:3]), rare=count(rare), n=count(len(first)), k=k,
    )  # fmt: skip
    return [Finding("repeated records", text, value=share, limit=DUPLICATES,
                     limit_source="duplicates of amounts are no accident",
                     records=int(again.sum()), columns=tuple(amounts))]  # fmt: skip
