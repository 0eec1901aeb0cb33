"""Equivalised household size and income (modified OECD scale)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.messages.errors import Faults, InputError

FIRST_ADULT, OTHER_ADULT, CHILD = 1.0, 0.5, 0.3
ADULT_AGE = 14


def equivalised_size(age: npt.ArrayLike, household: npt.ArrayLike) -> np.ndarray:
    """Size of each person's household on the modified OECD scale.

    The first person of 14 years and more counts 1, every other 0.5, every child below 14 counts
    0.3.

    Parameters
    ----------
    age : array, shape (n,)
        In years; a household with a missing age has a missing size.
    household : array, shape (n,)
        Ids, in any order.

    Returns
    -------
    array, shape (n,)
        ``1 + 0.5 (adults - 1) + 0.3 children``, the same for all members; a household without an
        adult counts 1 + 0.3 for each child, as if an adult were there.

    Raises
    ------
    InputError
        Ages that are not numbers, missing ids, or another number of them.

    Notes
    -----
    Hagenaars, de Vos and Zaidi (1994), Poverty statistics in the late 1980s; Eurostat's EU-SILC
    variable HX050.

    Examples
    --------
    >>> equivalised_size([40, 38, 9, 71], [1, 1, 1, 2]).tolist()
    [1.8, 1.8, 1.8, 1.0]
    """
    faults = Faults("equivalised size")
    code, years = _of_households(faults, household, age, "age")
    faults.raise_if_any()
    n = int(code.max(initial=-1)) + 1
    adult = years >= ADULT_AGE
    adults = np.bincount(code, adult, n)
    children = np.bincount(code, years < ADULT_AGE, n)
    unknown = np.bincount(code, np.isnan(years), n) > 0
    size = FIRST_ADULT + OTHER_ADULT * np.maximum(adults - 1, 0) + CHILD * children
    size[unknown] = np.nan
    return size[code]


def equivalised_income(
    income: npt.ArrayLike, age: npt.ArrayLike, household: npt.ArrayLike
) -> np.ndarray:
    """Income of each person's household for each unit of its equivalised size.

    Parameters
    ----------
    income : array, shape (n,)
        Of persons; added up within households, missing ones count as none. Where all members lack
        one the result is missing.
    age, household : arrays, shape (n,)
        See `equivalised_size`.

    Returns
    -------
    array, shape (n,)

    Examples
    --------
    >>> equivalised_income([30_000, 6_000, np.nan], [40, 38, 9], [1, 1, 1]).tolist()
    [20000.0, 20000.0, 20000.0]
    """
    faults = Faults("equivalised income")
    code, amount = _of_households(faults, household, income, "income")
    faults.raise_if_any()
    n = int(code.max(initial=-1)) + 1
    has_value = ~np.isnan(amount)
    total = np.bincount(code, np.where(has_value, amount, 0.0), n).astype(float)  # of nobody: ints
    total[np.bincount(code, has_value, n) == 0] = np.nan
    return total[code] / equivalised_size(age, household)


def _of_households(
    faults: Faults, household: npt.ArrayLike, values: npt.ArrayLike, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each person's household and the values as floats."""
    try:
        code = pd.factorize(np.asarray(household))[0]
    except TypeError:
        what = "has ids that are not single values"
        raise InputError.of(faults.subject, "household", what, "Give numbers or text.") from None
    try:
        if np.iscomplexobj(values):
            raise TypeError
        numbers = pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        numbers = np.full(len(code), np.nan)
        faults.add(name, "has values that are not numbers", hint="Give numbers.")
    hint = "Give every person a household."
    faults.add_where(code < 0, "household", "has missing ids", hint=hint)
    if len(numbers) != len(code):
        what = f"has {len(numbers)} values for {len(code)} household ids"
        faults.add(name, what, hint="Give one value for each person.")
    return code, numbers
