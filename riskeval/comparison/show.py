"""How numbers of a comparison are written, for internal and external readers."""

from __future__ import annotations

import numpy as np

from riskeval.comparison.catalogue import CATALOGUE
from synthpop.microdata.text import BLANK, number, short_percent

SMALL = 5
"""External readers do not see numbers of records below this one."""


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
        return f"< {SMALL}" if external and 0 < value < SMALL else number(value)
    if kind.unit in ("share", "overlap"):
        small = external and risk and records and 0 < value * records < SMALL
        return f"< {short_percent(SMALL / records)}" if small else short_percent(value)
    return number(value)
