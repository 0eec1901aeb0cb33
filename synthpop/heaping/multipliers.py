"""Single years of age from five-year groups with Sprague's multipliers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.weighted import as_numbers

YEARS = 5
# Sprague (1880): rows are the single years of a group, columns the groups used.
FIRST = np.array(  # first group; groups 1 to 4
    [
        [0.3616, -0.2768, 0.1488, -0.0336],
        [0.2640, -0.0960, 0.0400, -0.0080],
        [0.1840, 0.0400, -0.0320, 0.0080],
        [0.1200, 0.1360, -0.0720, 0.0160],
        [0.0704, 0.1968, -0.0848, 0.0176],
    ]
)
SECOND = np.array(  # second group; groups 1 to 4
    [
        [0.0336, 0.2272, -0.0752, 0.0144],
        [0.0080, 0.2320, -0.0480, 0.0080],
        [-0.0080, 0.2160, -0.0080, 0.0000],
        [-0.0160, 0.1840, 0.0400, -0.0080],
        [-0.0176, 0.1408, 0.0912, -0.0144],
    ]
)
MIDDLE = np.array(  # any other group; two groups before it to two behind it
    [
        [-0.0128, 0.0848, 0.1504, -0.0240, 0.0016],
        [-0.0016, 0.0144, 0.2224, -0.0416, 0.0064],
        [0.0064, -0.0336, 0.2544, -0.0336, 0.0064],
        [0.0064, -0.0416, 0.2224, 0.0144, -0.0016],
        [0.0016, -0.0240, 0.1504, 0.0848, -0.0128],
    ]
)


def sprague(five_year_counts: npt.ArrayLike, *, open_ended: bool = True) -> pd.Series:
    """Split five-year age groups into single years of age.

    Parameters
    ----------
    five_year_counts : array, shape (n_groups,)
        Persons aged 0-4, 5-9, 10-14 ... ; at least five groups, no missing value. A Series is
        taken in its order.
    open_ended : bool
        The last group is open (such as 80 and older): it is kept as it is, and stands in the
        multipliers of the two groups before it as if it had five years. False: it is split too.

    Returns
    -------
    Series, shape (n_years,)
        Index "0", "1", ... and, when open-ended, one entry such as "80+". The sum of every group
        is kept; single years can come out negative where the groups jump.

    Raises
    ------
    InputError

    Notes
    -----
    Sprague's fifth-difference osculatory formula in its multiplier form: Shryock and Siegel
    (1976), The Methods and Materials of Demography, appendix C, table C-1.

    Examples
    --------
    >>> sprague([100.0] * 17).tolist()[:3]
    [20.0, 20.0, 20.0]
    >>> sprague([10, 20, 30, 40, 50, 60]).index[-1]
    '25+'
    """
    faults = Faults("sprague")
    values = as_numbers(faults, five_year_counts, "five_year_counts")
    faults.raise_if_any()
    if len(values) < 5:
        what, hint = plural(len(values), "group"), "The formula needs five or more."
        faults.add("five_year_counts", what, hint=hint)
    is_invalid = ~np.isfinite(values) | (values < 0)
    faults.add_where(is_invalid, "five_year_counts", "missing or negative")
    faults.raise_if_any()
    n = len(values)
    n_split = n - 1 if open_ended else n
    single = np.concatenate([_split(values, group) for group in range(n_split)])
    labels = [str(age) for age in range(len(single))]
    if open_ended:
        single = np.append(single, values[-1])
        labels.append(f"{YEARS * n_split}+")
    return pd.Series(single.round(12), index=labels, name="count")


def _split(values: np.ndarray, group: int) -> np.ndarray:
    n = len(values)
    if group == 0:
        return FIRST @ values[:4]
    if group == 1:
        return SECOND @ values[:4]
    if group == n - 2:
        return SECOND[::-1, ::-1] @ values[n - 4 :]
    if group == n - 1:
        return FIRST[::-1, ::-1] @ values[n - 4 :]
    return MIDDLE @ values[group - 2 : group + 3]
