"""Indices of digit preference in reported ages."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.statistics.weighted import as_numbers, checked_weights

METHODS = ("standard", "modified", "spoorenberg")
DIGITS = 10
OLDEST = 1000
"""Ages beyond are not ages."""
SCALE = 18.0  # sum of |index - 1| where all ages end in one digit


def whipple_index(
    ages: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, method: str = "standard"
) -> float:
    """Measure age heaping.

    Parameters
    ----------
    ages : array, shape (n,)
        Ages in completed years; parts of a year are cut off. Missing ages are left out.
    weights : array, shape (n,), optional
        Survey weights; default: every person counts once.
    method : {"standard", "modified", "spoorenberg"}
        "standard": persons aged 23 to 62 whose age ends in 0 or 5, in percent of a fifth of all
        persons of these ages: 100 without preference, 500 when all end in 0 or 5. "modified": all
        ten digits over all ages, ``sum_i |10 p_i - 1| / 18`` with p_i the share of digit i: 0
        without preference, 1 when all ages end in one digit. "spoorenberg": the total modified
        index ``sum_i |W_i - 1|`` of Spoorenberg (2007), each digit against the five-year ranges
        around it: 0 without preference, 16 when all ages end in 0 or 5.

    Returns
    -------
    float
        NaN when nobody is in the range of ages. The United Nations call a standard index below
        105 very accurate, 105 to 110 fairly accurate, 110 to 125 approximate, 125 to 175 rough,
        above 175 very rough.

    Raises
    ------
    InputError
        Ages that are not numbers, weights of another length, negative or missing.

    Notes
    -----
    Shryock and Siegel (1976), The Methods and Materials of Demography, chapter 8; Spoorenberg
    (2007), doi 10.3917/popu.704.0847.

    Examples
    --------
    >>> whipple_index([25, 30, 31, 32, 44])
    200.0
    >>> round(whipple_index(np.arange(20, 70), method="modified"), 6)
    0.0
    """
    faults = Faults("whipple_index")
    check_choice(faults, "method", method, METHODS)
    years, amounts = _known_ages(ages, weights, faults)
    if method == "modified":
        digits = np.bincount(years % DIGITS, amounts, minlength=DIGITS)
        total = digits.sum()
        if total == 0:
            return float("nan")
        return float(np.abs(DIGITS * digits / total - 1.0).sum() / SCALE)
    counts = np.bincount(years[years >= 0], amounts[years >= 0], minlength=70)
    if method != "standard":
        return _spoorenberg(counts)
    total = counts[23:63].sum()
    return float(500.0 * counts[25:61:5].sum() / total) if total > 0 else float("nan")


def _known_ages(
    ages: npt.ArrayLike, weights: npt.ArrayLike | None, faults: Faults
) -> tuple[np.ndarray, np.ndarray]:
    """Return whole ages and weights of the persons whose age is known; raise all faults."""
    values = as_numbers(faults, ages, "ages")
    n = len(values)
    amounts = np.ones(n) if weights is None else checked_weights(faults, weights, n, "age")
    is_finite = np.isfinite(values)
    too_old = is_finite & (np.abs(values) > OLDEST)
    faults.add_where(too_old, "ages", f"are above {OLDEST}", hint="Give ages in years.")
    faults.raise_if_any()
    return np.floor(values[is_finite]).astype(np.int64), amounts[is_finite]


def _spoorenberg(counts: np.ndarray) -> float:
    """Sum over the digits; digits 3 to 9 from 23 ... 29 on, 0 to 2 from 30 ... 32 on."""
    total = 0.0
    for digit in range(DIGITS):
        first = digit + (20 if digit >= 3 else 30)
        ages = first + DIGITS * np.arange(4)
        around = sum(counts[ages + shift].sum() for shift in range(-2, 3))
        index = 5.0 * counts[ages].sum() / around if around > 0 else 0.0
        total += abs(index - 1.0)
    return float(total) if counts[20:70].sum() > 0 else float("nan")
