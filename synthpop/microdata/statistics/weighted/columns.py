"""Checks of values and weights before a weighted statistic."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import plural

Missing = Literal["drop", "propagate"]
SHARE_TOLERANCE = 1e-12


def clean(
    values: npt.ArrayLike, weights: npt.ArrayLike | None, missing: str = "drop"
) -> tuple[np.ndarray, np.ndarray | None, bool]:
    """Check values and weights together and leave out missing values.

    values: array, shape (n,)
    weights: array, shape (n,), or None
    missing: "drop" or "propagate"
    Returns values: float64 array, shape (m,); without NaN and without rows of weight zero; weights:
        float64 array, shape (m,), or None; blank: bool; True when `missing` is "propagate" and a
        value is missing.
    """
    faults = Faults("weighted statistic")
    check_choice(faults, "missing", missing, ("drop", "propagate"))
    x = as_numbers(faults, values, "values")
    w = None if weights is None else checked_weights(faults, weights, len(x))
    faults.raise_if_any()
    keep = ~np.isnan(x)
    all_there = bool(keep.all())
    if missing == "propagate" and not all_there:
        return x[:0], None, True
    if w is not None:
        keep &= w > 0
        all_there = bool(keep.all())
    if not all_there:
        x, w = x[keep], None if w is None else w[keep]
    return x, w, False


def as_numbers(faults: Faults, values: npt.ArrayLike, name: str) -> np.ndarray:
    """Return a column of any library as float64, missing values as NaN; note what is no number."""
    if np.iscomplexobj(values):
        faults.add(name, "are complex numbers", hint="Give real numbers.")
        return np.empty(0)
    try:
        if type(values).__module__.startswith("pandas"):
            x = values.to_numpy(dtype=np.float64, na_value=np.nan)  # type: ignore[union-attr]
        else:
            x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add(name, "are not numbers", hint="Give an array of numbers.")
        return np.empty(0)
    if x.ndim != 1:
        faults.add(name, f"have {x.ndim} dimensions", hint="Give one column.")
        return np.empty(0)
    return x


def check_length(faults: Faults, name: str, n: int, expected: int, noun: str = "value") -> bool:
    """Note a column with another number of entries than there are rows or values."""
    if n != expected:
        what = f"{plural(n, 'entry', 'entries')} for {plural(expected, noun)}"
        faults.add(name, what, hint="Give one value per row.")
    return n == expected


def checked_weights(
    faults: Faults, weights: npt.ArrayLike, n: int, noun: str = "value"
) -> np.ndarray:
    """Return weights as float64, shape (n,); note those that are missing or negative."""
    w = as_numbers(faults, weights, "weights")
    if len(w) != n and not faults:
        what = f"{len(w)} weights for {plural(n, noun)}"
        faults.add("weights", what, hint="Give one value per row.")
    faults.add_where(~np.isfinite(w), "weights", "missing or infinite")
    faults.add_where(w < 0, "weights", "negative")
    return w
