"""How numbers of a comparison are written, for internal and external readers."""

from __future__ import annotations

import numpy as np

from riskeval.comparison.catalogue import CATALOGUE
from synthpop.microdata import suppression
from synthpop.microdata.text import BLANK, number


def shown(measure: str, value: float, records: int, external: bool = False) -> str:
    """Return a number with its unit.

    Parameters
    ----------
    measure : name in `CATALOGUE`
    value : float
        NaN becomes a dash.
    records : int
        Records that a share refers to.
    external : bool
        Hide shares and numbers that stand for 1 to 4 records.

    Examples
    --------
    >>> shown("below_3", 0.0415, 2_000), shown("below_3", 0.001, 2_000, external=True)
    ('4.15 %', '< 0.25 %')
    >>> shown("pmse_ratio", 2.345, 10), shown("expected_reidentifications", 256.7, 9)
    ('2.35', '257')
    """
    if np.isnan(value):
        return BLANK
    kind = CATALOGUE[measure]
    risk = kind.group != "utility"
    if kind.unit == "records":
        return suppression.shown(value, external, text=number)
    if kind.unit in ("share", "overlap"):
        return suppression.shown_share(value, records if risk else 0, external)
    return number(value)
