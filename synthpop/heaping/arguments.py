"""What the correction of heaps is given: ages, heaps, windows and predictors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.frame.checks import as_frame, check_weights
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.statistics import weighted

STEPS = {"5year": 5, "10year": 10}
HALF_WINDOW = {"5year": (2.0, 2.5), "10year": (5.0, 5.0)}  # normal and log-normal; uniform

LARGEST_AGE = 1_000


def read_weights(weights: npt.ArrayLike | None, n: int, faults: Faults) -> np.ndarray | None:
    """Return survey weights; note faulty ones."""
    if weights is None:
        return None
    column = pd.Series(np.asarray(weights))
    if not weighted.check_length(faults, "weights", len(column), n, "age"):
        return None
    return check_weights(faults, column, "weights")


def read_groups(by: Any, n: int, faults: Faults) -> tuple[np.ndarray, list[Any]]:
    """Return the group of each row and the labels of the groups."""
    if by is None:
        return np.zeros(n, dtype=np.int64), ["all"]
    column = by if isinstance(by, pd.Series) else pd.Series(by)
    if not weighted.check_length(faults, "by", len(column), n, "age"):
        return np.zeros(n, dtype=np.int64), ["all"]
    codes, levels = encode(column)
    present = np.unique(codes)
    labels = ["missing" if code < 0 else levels[code] for code in present]
    return np.searchsorted(present, codes), labels


def read_ages(ages: npt.ArrayLike, faults: Faults) -> np.ndarray:
    """Return ages as numbers, shape (n,)."""
    n_faults = len(faults.found)
    values = weighted.as_numbers(faults, ages, "ages")
    if len(faults.found) > n_faults:
        return np.empty(0)
    if not np.isfinite(values).any():
        faults.add("ages", "no age is known")
    elif np.nanmax(np.abs(values), where=np.isfinite(values), initial=0) > LARGEST_AGE:
        what = f"go beyond {count(LARGEST_AGE)} years"
        faults.add("ages", what, hint="Give ages in years.")
        return np.empty(0)
    return values


def read_fixed(fixed: npt.ArrayLike | None, n: int, faults: Faults) -> np.ndarray:
    """Return which records keep their age, shape (n,)."""
    mask = np.zeros(n, dtype=bool)
    if fixed is None:
        return mask
    marked = np.asarray(fixed)
    if marked.dtype == bool and marked.shape == (n,):
        return marked
    if marked.dtype == bool or (len(marked) and (marked.min() < 0 or marked.max() >= n)):
        faults.add("fixed", f"is neither positions below {n} nor a bool array of that length")
        return mask
    mask[marked.astype(np.int64)] = True
    return mask


def heap_ages(
    values: np.ndarray, heaps: str | Sequence[float], start: float, faults: Faults
) -> np.ndarray:
    """Return the ages that are heaps."""
    known = np.floor(values[np.isfinite(values)])
    if isinstance(heaps, str):
        check_choice(faults, "heaps", heaps, STEPS)
        if heaps not in STEPS or len(known) == 0:
            return np.empty(0)
        if not 0 <= start <= known.max():
            what = f"is {start:g}, the largest age is {known.max():g}"
            faults.add("start", what, hint="Give an age that occurs.")
            return np.empty(0)
        ages = np.arange(start, known.max() + 1, STEPS[heaps], dtype=np.float64)
        return ages[ages > known.min()]
    ages = np.asarray(heaps, dtype=np.float64)
    for age in ages[~np.isin(ages, known)]:
        faults.add("heaps", f"nobody is {age:g} years old", hint="Leave this age out.")
    return ages


def read_window(
    heaps: str | Sequence[float], window: tuple[float, float] | None, method: str, faults: Faults
) -> tuple[float, float]:
    """Return the years before and after a heap that new ages come from."""
    if window is not None:
        if len(window) != 2 or min(window) < 0 or sum(window) <= 0:
            faults.add("window", f"{window!r} is not a pair of years", hint="Give (2, 2).")
            return 0.0, 0.0
        extra = 0.5 if method == "uniform" and not isinstance(heaps, str) else 0.0
        return window[0] + extra, window[1] + extra
    if not isinstance(heaps, str):
        faults.add("window", "is needed with a list of heaps", hint="For instance (2, 2).")
        return 0.0, 0.0
    half = HALF_WINDOW.get(heaps, (0.0, 0.0))[1 if method == "uniform" else 0]
    return half, half


def predictor_matrix(predictors: Any, n: int, faults: Faults) -> np.ndarray | None:
    """Return numbers and dummies of categories, shape (n, p), with an intercept."""
    frame = as_frame(predictors, "predictors")
    if len(frame) != n:
        faults.add("predictors", f"{plural(len(frame), 'row')} for {n} ages")
        return None
    columns = [np.ones((n, 1))]
    for name in frame.columns:
        column = frame[name]
        if is_number(column):
            numbers = as_numbers(column)
            mean = float(np.nanmean(numbers)) if np.isfinite(numbers).any() else 0.0
            columns.append(np.where(np.isfinite(numbers), numbers, mean)[:, None])
        else:
            codes, levels = encode(column)
            columns.append((codes[:, None] == np.arange(-1, len(levels) - 1)).astype(np.float64))
    return np.hstack(columns)
