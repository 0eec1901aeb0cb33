"""Which columns attacks can use: those that both files code alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from riskeval.attacks.levels import comparable_text, occurring_levels
from riskeval.attacks.values import is_amount
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.runs.chunks import open_chunks


def unusable_columns(
    original: pd.DataFrame, synthetic: Any, names: Sequence[str], categorical: Collection[str] = ()
) -> list[str]:
    """Return the columns of which no value of the original stands in the release.

    Amounts may differ in all values and are compared by distance; a column without any value in
    the original is left to the attacks.

    Examples
    --------
    >>> one = pd.DataFrame({"region": ["N", "S"], "age": [30, 40]})
    >>> unusable_columns(one, one.assign(region=["Nx", "Sx"]), ["region", "age"])
    ['region']
    """
    wanted = {name: _texts(original[name]) for name in names}
    open_names = [name for name, texts in wanted.items() if texts]
    numeric = {
        name for name in names if name not in categorical and is_number(original[name])
        and is_amount(original[name])
    }  # fmt: skip
    for block in open_chunks(synthetic, "synthetic", names):
        open_names = [
            name for name in open_names
            if not (name in numeric and is_number(block[name]))
            and not wanted[name] & _texts(block[name])
        ]  # fmt: skip
        if not open_names:
            break
    return open_names


def _texts(values: pd.Series) -> set[str]:
    return {comparable_text(level) for level in occurring_levels(values)}
