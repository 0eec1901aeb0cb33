"""Changes of the cells of a table, cell by cell: of records, or of households."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import check_both, read_files
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, number, percent, plural

Metric = Callable[[np.ndarray, np.ndarray], np.ndarray]
TOTAL = "all"


def _relative(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    moved = np.abs(x - y)
    return np.divide(moved, x, out=np.zeros(len(x)), where=x > 0)


METRICS: dict[str, Metric] = {
    "absolute": lambda x, y: np.abs(x - y),
    "relative": _relative,
    "square root": lambda x, y: np.abs(np.sqrt(x) - np.sqrt(y)),
}
"""Distances of two counts; a cell that was empty has the relative distance 0."""


@dataclass(frozen=True, slots=True, eq=False)
class CellChanges(TableResult):
    """How far the cells of a table moved.

    Attributes
    ----------
    cells : DataFrame
        One row per cell, margins included: the variables ("all" in a margin), `original`,
        `released`, and one column per metric.
    table : DataFrame
        One row per metric: `mean`, `median`, `q90`, `largest`.
    false_zero, false_nonzero : int
        Cells that are empty in the release only, and in the original only.
    unit : str
        "records" or "households".
    """

    cells: pd.DataFrame
    table: pd.DataFrame
    false_zero: int
    false_nonzero: int
    unit: str

    def summary(self) -> str:
        """Say how far cells moved."""
        rows = self.table.set_index("metric")
        moved = int((self.cells["original"] != self.cells["released"]).sum())
        n = len(self.cells)
        mean, largest = (float(rows["mean"].iloc[0]), float(rows["largest"].iloc[0]))
        return message(
            "{moved} of {n} ({share}) changed; the {index} distance is {mean} {unit} on "
            "average, {largest} at most. {false_zero} became empty and {false_nonzero} "
            "filled. There is no threshold: compare releases of the same file.",
            moved=count(moved),
            n=plural(n, "cell"),
            share=percent(moved / max(n, 1)),
            index=rows.index[0],
            mean=number(mean),
            unit=self.unit,
            largest=number(largest),
            false_zero=plural(self.false_zero, "cell"),
            false_nonzero=count(self.false_nonzero),
        )


@same_library
def cell_changes(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    household: str | None = None,
    metrics: Mapping[str, Metric] | None = None,
    margins: bool = True,
) -> CellChanges:
    """Compare the counts of a table between both files, cell by cell.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str
        Columns of both files that span the table. A missing value is a level.
    household : str, optional
        Column of household ids in both files: households with some member in the cell are counted
        in place of records.
    metrics : mapping of name to function, optional
        Distances of counts: functions of the original and the released counts, float64 arrays of
        one shape, to an array of that shape. Default: absolute, relative to the original count (0
        where that is 0), and of the square roots, which weighs small cells more.
    margins : bool
        Whether totals over one or several variables, but not over all, are cells too.

    Returns
    -------
    CellChanges
        Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, a metric that does not return one finite number a cell.

    Notes
    -----
    The counts and distances that are usual for swapped records (Shlomo, Tudor and Groom 2010).
    Cells are those that one of the files has.

    Examples
    --------
    >>> x = pd.DataFrame({"region": list("aabb"), "sex": list("fmfm")})
    >>> y = pd.DataFrame({"region": list("abbb"), "sex": list("fmfm")})
    >>> cell_changes(x, y, ["region", "sex"], margins=False).cells["absolute"].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    faults = Faults("cell changes")
    files = read_files(faults, original, released, None, None)
    names = as_names(faults, variables, "variables")
    check_both(faults, files, names, "variable")
    if household is not None:
        check_both(faults, files, [household], "household")
        if household in names:
            faults.add("household", f"{household!r} is a variable too")
    faults.raise_if_any()
    x, y = (_counts(frame, names, household, margins) for frame in files.frames)
    both = pd.concat([x.rename("original"), y.rename("released")], axis=1).fillna(0.0)
    both = both.sort_index()
    cells = both.index.to_frame(index=False).assign(**both.reset_index(drop=True))
    before, after = both["original"].to_numpy(), both["released"].to_numpy()
    rows = []
    for name, metric in (METRICS if metrics is None else metrics).items():
        values = np.asarray(metric(before, after), dtype=np.float64)
        if values.shape != before.shape or not np.isfinite(values).all():
            what = f"{name!r} does not return one finite number a cell"
            raise InputError.of(faults.subject, "metrics", what)
        cells[name] = values
        rows.append(
            {
                "metric": name, "mean": values.mean(), "median": np.median(values),
                "q90": np.quantile(values, 0.9), "largest": values.max(),
            }
        )  # fmt: skip
    return CellChanges(
        cells=cells, table=pd.DataFrame(rows),
        false_zero=int(((before > 0) & (after == 0)).sum()),
        false_nonzero=int(((before == 0) & (after > 0)).sum()),
        unit="records" if household is None else "households",
    )  # fmt: skip


def _counts(
    frame: pd.DataFrame, names: Sequence[str], household: str | None, margins: bool
) -> pd.Series:
    """Records, or distinct households, of every cell; levels as text."""
    levels = frame[list(names)].astype(object).map(_text)
    if household is not None:
        levels = levels.assign(**{household: frame[household].to_numpy()})
    counts = []
    for size in range(1, len(names) + 1) if margins else [len(names)]:
        for subset in combinations(names, size):
            table = levels.copy()
            for name in names:
                if name not in subset:
                    table[name] = TOTAL
            if household is not None:
                table = table.drop_duplicates()
            counts.append(table.groupby(list(names)).size())
    return pd.concat(counts).astype(np.float64)


def _text(value: Any) -> str:
    if pd.isna(value):
        return "missing"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
