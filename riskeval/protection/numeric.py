"""Numeric columns in and out: what every method for continuous variables needs at its edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.protection.dates import unit_of
from riskeval.recovery.columns import names_of
from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.codes import cell_ids, encode_keys
from synthpop.microdata.frame.frames import as_dates, as_names, as_numbers, check_size, is_date
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import LARGEST, OneOf
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import Microdata

INTEGERS = OneOf("real", "round")
"""What becomes of columns of whole numbers."""

MANY_OUTLIERS = (
    "That is more than a quarter of them: a variable with many equal values, for instance zeros, "
    "can cause this."
)


def numeric_names(
    faults: Faults, file: Microdata, variables: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the variables to mask: those that are named, else the numeric keys of the file."""
    return as_names(faults, file.roles.numeric if variables is None else variables, "variables")


def read_numbers(
    faults: Faults, frame: pd.DataFrame, names: Sequence[str], role: str
) -> np.ndarray | None:
    """Return columns as float64, shape (n, p), NaN where missing; note faulty ones (then None)."""
    if not check_numeric(faults, frame, names, role, dates=True):
        return None
    values = np.empty((len(frame), len(names)))
    for j, name in enumerate(names):
        values[:, j] = as_numbers(frame[name])
        check_size(faults, values[:, j], name)
    return values


def check_strata(faults: Faults, frame: pd.DataFrame, strata: str | Sequence[str] | None) -> None:
    """Note faulty columns of strata."""
    if names_of(strata):
        check_columns(faults, frame, as_names(faults, strata or (), "strata"), "stratum")


def strata_of(
    frame: pd.DataFrame, strata: str | Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """Stratum of each record, int64, shape (n,), and their labels; a missing value is a level.

    Draws are named by the labels: a stratum keeps its draws whatever other strata there are.
    """
    names = names_of(strata)
    if not names or len(frame) == 0:
        return np.zeros(len(frame), dtype=np.int64), ["all"]
    keys = encode_keys(frame, names)
    ids, _ = cell_ids(keys.codes)
    texts = [[*(str(level) for level in levels), "missing"] for levels in keys.levels]
    codes = keys.codes[np.unique(ids, return_index=True)[1]]
    labels = [
        ", ".join(f"{name}={texts[j][row[j]]}" for j, name in enumerate(names)) for row in codes
    ]
    return ids, labels


def with_signs(
    ids: np.ndarray, labels: Sequence[str], values: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Split strata by the signs of some columns, (n, p): below, at and above zero, or missing."""
    signs = np.where(np.isnan(values), 2, np.sign(values)).astype(np.int64)
    patterns, number = np.unique(np.column_stack([ids, signs]), axis=0, return_inverse=True)
    marks = {-1: "-", 0: "0", 1: "+", 2: "missing"}
    texts = [
        f"{labels[row[0]]}, {''.join(marks[int(sign)] for sign in row[1:])}" for row in patterns
    ]
    return number.reshape(-1), texts


def standardised(values: np.ndarray) -> np.ndarray:
    """Return columns, shape (n, p), with mean 0 and variance 1 (n); a constant one becomes 0."""
    centred: np.ndarray = values - values.mean(axis=0)
    scale = values.std(axis=0)
    return centred / np.where(scale > 0, scale, 1.0)


def put_numbers(
    before: pd.Series, values: np.ndarray, rows: np.ndarray, *, integers: str = "real"
) -> pd.Series:
    """Return a column with new values at some rows, of the same type where that is possible.

    Dates are rounded to days or seconds. A column of whole numbers becomes real (Float64 where its
    type holds missing values) when new values are not whole, or they are rounded.
    """
    where = np.flatnonzero(rows)
    if len(where) == 0:
        return before
    new, dtype = values[where], before.dtype
    if is_date(before):
        days = as_numbers(before)
        days[where] = new
        dates = pd.Series(as_dates(days, unit_of(before)), before.index, name=before.name)
        zone = getattr(dtype, "tz", None)
        return (dates if zone is None else dates.dt.tz_localize("UTC")).astype(dtype)
    if pd.api.types.is_integer_dtype(dtype):
        kind: np.dtype[np.integer] = np.dtype(getattr(dtype, "numpy_dtype", str(dtype)))
        if integers == "round":
            new = np.rint(new)
        limits = np.iinfo(kind)
        fits = new.min() >= limits.min and new.max() < float(limits.max)
        if fits and np.array_equal(new, np.rint(new)):
            new = new.astype(kind)
        else:
            before = before.astype(np.float64 if isinstance(dtype, np.dtype) else "Float64")
    elif isinstance(dtype, np.dtype):
        new = new.astype(dtype)
    elif hasattr(dtype, "numpy_dtype"):
        new = new.astype(dtype.numpy_dtype)
    after = before.copy()
    after.iloc[where] = new
    return after


def with_numbers(
    frame: pd.DataFrame, names: Sequence[str], values: np.ndarray, rows: np.ndarray, integers: str
) -> pd.DataFrame:
    """Return a file with new values at some cells of its columns, values and rows (n, p)."""
    released = frame.copy(deep=False)
    for j, name in enumerate(names):
        released[name] = put_numbers(frame[name], values[:, j], rows[:, j], integers=integers)
    return released


def incomplete_notes(values: np.ndarray) -> list[str]:
    """Say how many records have some values, shape (n, p), but not all."""
    missing = np.isnan(values)
    n_incomplete = int((missing.any(axis=1) & ~missing.all(axis=1)).sum())
    records = plural(n_incomplete, "record")
    return (
        [message("{records} with missing values stayed unchanged.", records=records)]
        if n_incomplete
        else []
    )


def type_notes(before: pd.DataFrame, after: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Sentences about columns of whole numbers that hold reals now."""
    turned = [name for name in names if before[name].dtype != after[name].dtype]
    return (
        [message("Whole numbers became reals in {turned}.", turned=", ".join(turned))]
        if turned
        else []
    )


def nearest_rows(points: np.ndarray, asked: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Row of the nearest point for each that is asked, int64, shape (m,); all of p columns.

    spread: standard deviation of each column, its unit; columns without one count as they are
    """
    from scipy.spatial import KDTree

    scale = np.where(spread > 0, spread, 1.0)
    with np.errstate(over="ignore"):  # beyond every point, however small the unit
        far = np.clip(asked / scale, -LARGEST, LARGEST)
    return np.asarray(KDTree(points / scale).query(far)[1])
