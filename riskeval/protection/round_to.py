"""Numbers rounded to multiples of a base."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.numeric import numeric_names, put_numbers, read_numbers
from riskeval.protection.result import Protected, protected
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, POSITIVE, Between, check
from synthpop.microdata.messages.text import formatted, join
from synthpop.microdata.roles.microdata import as_file

RANGES = {"base": POSITIVE, "least": Between(None, None) | NONE, "most": Between(None, None) | NONE}


@same_library
def round_to(
    data: Any,
    columns: str | Sequence[str],
    base: float,
    *,
    least: float | None = None,
    most: float | None = None,
) -> Protected:
    """Round numbers to the nearest multiple of a base, all of them or those of some size.

    Parameters
    ----------
    data : DataFrame or another table, one row per record
    columns : str or sequence of str
        Numeric columns.
    base : float, positive
        Of which the results are multiples; the middle between two goes to the even one.
    least, most : float, optional
        Values below `least` or above `most` stay as they are. Rounding by size takes several
        calls: the smaller values first.

    Returns
    -------
    Protected
        Missing values stay missing; whole numbers stay whole where the base is whole.

    Raises
    ------
    InputError
        Unknown or non-numeric columns, a base that is not positive.

    Notes
    -----
    Equal values stay equal, so that members of a household who shared one share it afterwards:
    `household` has no meaning here. Sums are not kept. Hundepool et al. (2012), section 3.5;
    SDC practice guide of the World Bank, case study 1. Nothing is drawn at random.

    Examples
    --------
    >>> import pandas as pd
    >>> farms = pd.DataFrame({"land": [0.26, 0.84, 3.4, 36.0]})
    >>> round_to(farms, "land", 0.1, most=1).data["land"].tolist()
    [0.3, 0.8, 3.4, 36.0]
    """
    faults = Faults("round_to")
    file = as_file(data, faults)
    frame, names = file.indexed, numeric_names(faults, file, columns)
    check(faults, RANGES, {"base": base, "least": least, "most": most})
    values = read_numbers(faults, frame, names, "column to round")
    faults.raise_if_any()
    assert values is not None
    low, high = -np.inf if least is None else least, np.inf if most is None else most
    released = frame.copy(deep=False)
    decimals = max(-int(Decimal(str(base)).normalize().as_tuple().exponent), 0)
    for name, numbers in zip(names, values.T, strict=True):
        with np.errstate(invalid="ignore"):
            rows = (numbers >= low) & (numbers <= high)
        rounded = np.round(np.rint(numbers / base) * base, decimals)  # 0.3, not 0.30000000000000004
        released[name] = put_numbers(frame[name], rounded, rows)
    return protected(
        frame, released, names, method="round_to",
        parameters={"columns": list(names), "base": base, "least": least, "most": most},
        notes=[message("{names} are multiples of {base} where they were rounded.",
                       names=join(names), base=formatted(base, "g"))],
    )  # fmt: skip


METHOD = ProtectionMethod(
    run=round_to,
    rank=65,
    title="Rounding",
    question="To which base are amounts rounded?",
    blind_spots="large amounts, which stay recognisable; sums, which no longer add up",
    example={"columns": ["netIncome"], "base": 100},
)
