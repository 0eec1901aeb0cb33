"""What every perturbation method returns: the protected file and a count of what was changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.frame.frames import usual_types
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, percent, plural
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.statistics.streams import is_secret


@dataclass(frozen=True)
class Protected(Result):
    """A protected file.

    Attributes
    ----------
    data : DataFrame, or frame of the library of the input; shape (n_records, n_columns)
        The file after protection: the same rows, index, column order and types as the input;
        only the columns of `changes` can differ. `drop` and `sample` return fewer rows.
    changes : DataFrame
        One row per column that the method worked on: ``column``, ``cells`` (values that differ from
        the input), ``share`` (of the records), ``suppressed`` (cells that were filled and are now
        missing), ``type_before``, ``type_after``.
    method : str
        Name of the verb, as in ``riskeval.protect``.
    parameters : mapping
        The arguments it was called with, as plain values.
    n_records : int
    records_changed : int
        Records with at least one changed cell.
    seed : int or None
        Seed of the random draws; None where nothing is drawn.
    notes : tuple of str
        Guarantees that were verified afterwards, fallbacks that were used: one sentence each.
    details : mapping
        What else the method computed (transition matrices, minimal nodes, swapped households).
    unmet : tuple of str
        What was asked for and is missed, with the number of records: the summary begins with it.
    records_dropped : int
        Records that left the file.

    Examples
    --------
    >>> from riskeval.protect import top_bottom_code
    >>> result = top_bottom_code(pd.DataFrame({"age": [30, 95]}), "age", upper=80)
    >>> result.cells_changed, result.records_changed, result.share_of_records
    (1, 1, 0.5)
    """

    data: Any
    changes: pd.DataFrame
    method: str
    parameters: Mapping[str, Any]
    n_records: int
    records_changed: int
    seed: int | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    unmet: tuple[str, ...] = ()
    records_dropped: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "unmet", tuple(self.unmet))

    @property
    def cells_changed(self) -> int:
        """Cells that differ from the input, over all columns."""
        return int(self.changes["cells"].sum())

    @property
    def cells_suppressed(self) -> int:
        """Cells that were filled and are now missing, over all columns."""
        return int(self.changes["suppressed"].sum())

    @property
    def share_of_records(self) -> float:
        """Share of the records with at least one changed cell (0 for an empty file)."""
        return self.records_changed / self.n_records if self.n_records else 0.0

    def to_frame(self) -> pd.DataFrame:
        """Return the table of changes."""
        return self.changes

    def summary(self) -> str:
        """Say what was changed and which guarantees were verified."""
        changed = self.changes.loc[self.changes["cells"] > 0]
        counts = [f"{row.column} {count(row.cells)}" for row in changed.itertuples()]
        text = message(
            "{verb}: {cells} changed in {rows} of {records} ({share})",
            verb=self.method,
            cells=plural(self.cells_changed, "cell"),
            rows=count(self.records_changed),
            records=plural(self.n_records, "record"),
            share=percent(self.share_of_records),
        )
        text += f": {', '.join(counts)}." if counts else "."
        if self.records_dropped:
            left = message(
                "{verb}: {n} of {records} leave the file.", verb=self.method,
                n=count(self.records_dropped), records=plural(self.n_records, "record"),
            )  # fmt: skip
            text = left + " " + text if counts else left
        if self.cells_suppressed:
            text += " " + message(
                "{n} of these cells are now missing.", n=count(self.cells_suppressed)
            )
        if self.seed is not None:
            secret = is_secret(self.seed)
            text += (
                " Its secret seed repeats it."
                if secret
                else (" " + message("Seed {seed} repeats it.", seed=self.seed))
            )
        return joined_by(" ", [*self.unmet, text, *self.notes])


def own_frame(data: Any) -> pd.DataFrame:
    """Return a frame that may be given new columns without touching the caller's data.

    Assign whole columns only: the values are shared with the caller until a column is replaced.
    """
    frame = usual_types(data) if isinstance(data, pd.DataFrame) else as_frame(data)
    return frame.copy(deep=False)


def protected(
    before: pd.DataFrame,
    after: pd.DataFrame,
    columns: Iterable[str],
    *,
    method: str,
    parameters: Mapping[str, Any],
    seed: int | None = None,
    notes: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
) -> Protected:
    """Count what differs between two files of the same rows and wrap it up.

    Categories that lost their last record are dropped from `after`: a file shows them.
    """
    rows, changed = [], np.zeros(len(after), dtype=bool)
    after = after.copy(deep=False)
    for name in dict.fromkeys(columns):
        old, new = before[name], without_lost_categories(before[name], after[name])
        after[name] = new
        differs = changed_cells(old, new)
        changed |= differs
        cells = int(differs.sum())
        suppressed = int((new.isna().to_numpy() & ~old.isna().to_numpy()).sum())
        share = cells / len(after) if len(after) else 0.0
        rows.append((name, cells, share, suppressed, str(old.dtype), str(new.dtype)))
    names = ["column", "cells", "share", "suppressed", "type_before", "type_after"]
    changes, n_changed = pd.DataFrame(rows, columns=names), int(changed.sum())
    return Protected(
        after, changes, method, parameters, len(after), n_changed, seed, tuple(notes), details or {}
    )


def with_fewer_records(
    file: Microdata,
    rows: np.ndarray,
    *,
    method: str,
    parameters: Mapping[str, Any],
    notes: Sequence[str],
    seed: int | None = None,
    changed: pd.DataFrame | None = None,
) -> Protected:
    """Return some rows of a file, by position, and say how many left it.

    changed: the file with other values, of which the rows are taken
    """
    before = file.indexed
    after = (before if changed is None else changed).iloc[rows]
    kept = before.iloc[rows]
    columns = [
        str(name) for name in kept if changed is not None and not kept[name].equals(after[name])
    ]
    result = protected(
        kept, after, columns, method=method, parameters=parameters, seed=seed, notes=notes,
        details={"rows": rows},
    )  # fmt: skip
    n, data = len(before), result.data
    if file.library is not None:  # which knows no labels
        data = data.reset_index(drop=True)
    return replace(result, n_records=n, records_dropped=n - len(rows), data=data)


def changed_cells(before: pd.Series, after: pd.Series) -> np.ndarray:
    """Return where two columns differ; two missing values are equal. Bool array, shape (n,)."""
    missing_before, missing_after = before.isna().to_numpy(), after.isna().to_numpy()
    kinds = {_kind(before), _kind(after)}
    if kinds <= {"whole", "real"}:
        as_type = np.int64 if kinds == {"whole"} else np.float64
        x = before.to_numpy(dtype=as_type, na_value=0)
        y = after.to_numpy(dtype=as_type, na_value=0)
        return (missing_before != missing_after) | (~missing_before & ~missing_after & (x != y))
    (old, old_levels), (new, new_levels) = encode(before), encode(after)
    if before.dtype != after.dtype:
        old_levels, new_levels = (tuple(map(level_text, of)) for of in (old_levels, new_levels))
    position = {level: code for code, level in enumerate(old_levels)}
    table = np.array([*(position.get(level, -2) for level in new_levels), -1], dtype=np.int64)
    return np.asarray(table[new] != old)


def without_lost_categories(before: pd.Series, after: pd.Series) -> pd.Series:
    """Drop the categories of `after` without a record that had one, or were absent, before."""
    if not isinstance(after.dtype, pd.CategoricalDtype):
        return after
    categories = after.cat.categories
    used = np.zeros(len(categories) + 1, dtype=bool)
    used[after.cat.codes.to_numpy()] = True
    keep = used[:-1]
    if isinstance(before.dtype, pd.CategoricalDtype) and not keep.all():
        had = np.zeros(len(before.cat.categories) + 1, dtype=bool)
        had[before.cat.codes.to_numpy()] = True
        keep |= categories.isin(before.cat.categories[~had[:-1]])
    return after if keep.all() else after.cat.set_categories(categories[keep])


def categorical_column(
    codes: np.ndarray, categories: Sequence[Any], *, ordered: bool, index: pd.Index
) -> pd.Series:
    """Return a categorical column from codes, shape (n,), with -1 for missing."""
    dtype = pd.CategoricalDtype(list(categories), ordered=ordered)
    return pd.Series(pd.Categorical.from_codes(codes.astype(np.int64), dtype=dtype), index=index)


def _kind(values: pd.Series) -> str:
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return "other"
    if pd.api.types.is_integer_dtype(dtype):
        fits = getattr(dtype, "kind", "u") == "i" or getattr(dtype, "itemsize", 8) < 8
        return "whole" if fits else "other"
    return "real" if dtype.kind == "f" else "other"


def suppress_cells(values: pd.Series, rows: np.ndarray) -> pd.Series:
    """Return `values` with missing values at `rows` (bool, shape (n,)).

    A type that cannot hold them becomes the nullable one of the same size (``Int64``, ``boolean``);
    without a row to suppress the column comes back as it is.
    """
    if not rows.any():
        return values
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        nullable = str(dtype).replace("i", "I").replace("u", "U")
        values = values.astype(pd.api.types.pandas_dtype(nullable))
    elif isinstance(dtype, np.dtype) and dtype.kind == "b":
        values = values.astype("boolean")
    return values.mask(rows)
