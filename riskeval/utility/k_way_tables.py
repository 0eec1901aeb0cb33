"""Distances of all two-way, three-way ... tables of some variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from riskeval.shared.files import check_both, read_files
from riskeval.utility.tables import table_distance
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import percent, plural

NUMBERS = (
    "total_variation", "ut", "ut2", "aitchison", "hellinger", "n_cells", "empty_original",
    "empty_released",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TableDistances(TableResult):
    """Distances of every table of a size.

    Attributes
    ----------
    size : int
        Variables of a table.
    table : DataFrame
        One row per table, the largest total variation first: `variables`, `total_variation`, `ut`,
        `ut2`, `aitchison`, `hellinger`, `n_cells`, `empty_original`, `empty_released`.
    mean : float
        Mean total variation.
    largest : float
    """

    size: int
    table: pd.DataFrame
    mean: float
    largest: float

    def summary(self) -> str:
        """Return the mean, and the table that fits worst."""
        return message(
            "{n} of {size} variables: on average {mean} of the records would have to move "
            "to make original and release equal, at most {largest} ({variables}). 0 is no "
            "loss; large tables differ more by chance alone: compare releases of the same "
            "file.",
            n=plural(len(self.table), "table"),
            size=self.size,
            mean=percent(self.mean),
            largest=percent(self.largest),
            variables=self.table["variables"].iloc[0],
        )


@same_library
def table_distances(
    original: Any,
    released: Any,
    variables: Sequence[str],
    *,
    size: int = 2,
    weights: Any = None,
    released_weights: Any = None,
    total: str = "original",
    levels: str = "union",
    missing: str = "level",
    zeros: float = 0.5,
) -> TableDistances:
    """Compare all tables of `size` of the variables between both files.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str
        At least `size` columns of both files.
    size : int, default 2
        Variables of a table: 1, 2, 3 ...
    weights, released_weights, total, levels, missing, zeros
        As in `table_distance`.

    Returns
    -------
    TableDistances
        Nothing is drawn at random.

    Raises
    ------
    InputError
        As `table_distance`; also a size below 1 or above the number of variables.

    Examples
    --------
    >>> x = pd.DataFrame({"a": list("ppqq"), "b": list("uvuv"), "c": list("stst")})
    >>> y = x.assign(c=list("stts"))
    >>> found = table_distances(x, y, ["a", "b", "c"])
    >>> found.table[["variables", "total_variation"]].values.tolist()
    [['b x c', 0.5], ['a x b', 0.0], ['a x c', 0.0]]
    """
    faults = Faults("table distances")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    check_both(faults, files, names, "variable")
    check(faults, {"size": Whole(1, len(names))}, {"size": size})
    faults.raise_if_any()
    rows = []
    for columns in combinations(names, int(size)):
        distance = table_distance(
            files.x, files.y, columns, weights=files.wx, released_weights=files.wy, total=total,
            levels=levels, missing=missing, zeros=zeros,
        )  # fmt: skip
        measured = {name: getattr(distance, name) for name in NUMBERS}
        rows.append({"variables": " x ".join(columns), **measured})
    table = pd.DataFrame(rows).sort_values("total_variation", ascending=False, kind="stable")
    moved = table["total_variation"]
    return TableDistances(
        int(size), table.reset_index(drop=True), float(moved.mean()), float(moved.max())
    )
