"""How numbers of a comparison are written, for internal and external readers."""

from __future__ import annotations

import numpy as np

from riskeval.comparison.catalogue import CATALOGUE

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
        return "–"
    kind = CATALOGUE[measure]
    risk = kind.group != "utility"
    if kind.unit == "records":
        return f"< {SMALL}" if external and 0 < value < SMALL else count(value)
    if kind.unit in ("share", "overlap"):
        small = external and risk and records and 0 < value * records < SMALL
        return f"< {percent(SMALL / records)}" if small else percent(value)
    return plain_number(value)


def percent(value: float) -> str:
    """Return a share in percent with three digits.

    Examples
    --------
    >>> percent(0.5), percent(0.12345), percent(0.000123), percent(0.0)
    ('50 %', '12.3 %', '0.0123 %', '0 %')
    """
    return f"{float(f'{100 * value:.3g}'):,.10g} %"


def count(value: float) -> str:
    """Return an expected number of records.

    Examples
    --------
    >>> count(12345.6), count(0.034)
    ('12,346', '0.034')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def plain_number(value: float) -> str:
    """Return a number with three or four digits, never with a power of ten where it is large.

    Examples
    --------
    >>> plain_number(0.0000123456), plain_number(123456.7), plain_number(8e-34)
    ('0.0000123', '123,457', '0')
    """
    if np.isnan(value):
        return "–"
    if abs(value) < 1e-9:  # rounding of what is none
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")
