"""Known totals: tables of margins, checked when they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.frames import as_numbers, is_number, n_columns
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.parameters import check_choice

LEVELS = ("person", "household")
SHARE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Margin:
    """A table of known totals.

    Parameters
    ----------
    table : DataFrame, Series or number
        One row per cell: category columns, named as in the survey, and one column of totals. A
        Series has the categories in its (named) index. A number is the total of everybody. The
        table need not cover every category: persons in none of its cells are not controlled by it.
        A missing category is a cell of the persons whose value is missing. Categories match by
        value; where none of a column does, by their text (``1``, ``1.0`` and ``"1"`` are one).
    level : "person" or "household"
        What is counted. For households the category columns (and `variable`) must be equal for
        all members.
    total : str
        Name of the column of totals.
    importance : float, optional
        None: must be met. A number: how strongly the control pulls where controls conflict; the
        penalty is ``importance * (achieved - target)^2 / (2 target)``, in the unit of the distance
        between old and new weights, so that 1 meets it about half way, 1000 nearly.
    variable : str, optional
        Numeric column of the survey whose weighted sum is known, instead of a count. A missing
        value adds nothing.
    size : float, optional
        The totals are shares of this size (0.5 means half of it).
    name : str, optional
        Name in messages and tables; default made of the columns.

    Raises
    ------
    InputError
        Lists every fault: absent column of totals, totals missing or negative, cells given twice,
        shares that add up to more than one.

    Examples
    --------
    >>> table = pd.DataFrame({"sex": ["f", "m"], "total": [510.0, 490.0]})
    >>> Margin(table).label
    'persons by sex'
    >>> Margin(table.assign(total=[0.51, 0.49]), size=1000).targets.tolist()
    [510.0, 490.0]
    """

    table: Any
    _: KW_ONLY
    level: str = "person"
    total: str = "total"
    importance: float | None = None
    variable: str | None = None
    size: float | None = None
    name: str | None = None
    frame: pd.DataFrame = field(init=False, repr=False)

    def __post_init__(self) -> None:
        faults = Faults("margin")
        object.__setattr__(self, "frame", _as_table(self.table, self.total))
        check_choice(faults, "level", self.level, LEVELS)
        if self.importance is not None and not self.importance > 0:
            faults.add("importance", f"is {self.importance}", hint="Give a positive number.")
        if self.size is not None and not (self.size > 0 and np.isfinite(self.size)):
            faults.add("size", f"is {self.size}", hint="Give a positive number.")
        if self.total not in self.frame.columns:
            faults.add(
                repr(self.total),
                "column of totals is not in the table",
                hint=did_you_mean(self.total, self.frame.columns),
            )
        faults.raise_if_any()
        self._check_totals(faults)
        faults.raise_if_any()

    def _check_totals(self, faults: Faults) -> None:
        if n_columns(self.frame.columns, self.total) > 1:
            faults.add(repr(self.total), "several columns have this name", hint="Rename them.")
            return
        totals, label = self.frame[self.total], f"{self.label}: {self.total}"
        if not is_number(totals):
            faults.add(label, f"totals are not numbers ({totals.dtype})", hint="Give numbers.")
            return
        values = as_numbers(totals)
        faulty = {"total is missing or infinite": ~np.isfinite(values)}
        if self.variable is None:
            faulty["total is negative"] = values < 0
        for what, where in faulty.items():
            if where.any():
                faults.add(label, what, rows=np.flatnonzero(where), hint="Correct the table.")
        is_repeated = np.arange(len(values)) > 0
        if self.columns:
            is_repeated = self.frame.duplicated(subset=list(self.columns)).to_numpy()
        if is_repeated.any():
            rows = np.flatnonzero(is_repeated)
            faults.add(label, "cells are given twice", rows=rows, hint="Add them up.")
        if len(values) == 0:
            faults.add(label, "the table has no rows", hint="Give at least one total.")
        share = float(values.sum())
        if self.size is not None and share > 1 + SHARE_TOLERANCE:
            percent = abs(share - 100) < 1
            hint = "Give fractions of 1, not percent." if percent else "Correct the shares."
            faults.add(label, f"shares add up to {share:.6g}, above 1", hint=hint)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the category columns."""
        return tuple(str(name) for name in self.frame.columns if name != self.total)

    @property
    def targets(self) -> np.ndarray:
        """Totals as numbers, shape (n_cells,)."""
        return self.frame[self.total].to_numpy(dtype=np.float64) * (self.size or 1.0)

    @property
    def label(self) -> str:
        """Name of the margin in messages and tables."""
        if self.name is not None:
            return self.name
        what = f"{self.level}s" if self.variable is None else f"sum of {self.variable}"
        if self.variable is not None and self.level == "household":
            what += " of households"
        return what + (f" by {' x '.join(self.columns)}" if self.columns else "")

    def scaled(self, factor: float) -> Margin:
        """Return the margin with its totals times a factor."""
        table = self.frame.assign(**{self.total: self.targets * factor})
        return replace(self, table=table, size=None)

    def cell_labels(self) -> list[str]:
        """Return one text per cell, such as ``sex=f, region=Tyrol``."""
        if not self.columns:
            return ["all"]
        names = self.columns
        texts = [self.frame[name].astype(object).tolist() for name in names]
        return [
            ", ".join(f"{name}={value}" for name, value in zip(names, row, strict=True))
            for row in zip(*texts, strict=True)
        ]


def _as_table(table: Any, total: str) -> pd.DataFrame:
    if isinstance(table, (int, float, np.integer, np.floating)) and not isinstance(table, bool):
        return pd.DataFrame({total: [float(table)]})
    if isinstance(table, pd.Series):
        return table.rename(total).reset_index()
    return as_frame(table, "margin")


def long_table(
    table: Any, columns: Mapping[str, Mapping[str, Any]], *, total: str = "total"
) -> pd.DataFrame:
    """Return known totals in long form, one row per cell, from a table with a column per category.

    Parameters
    ----------
    table : DataFrame
        One row per area, as statistical offices and PopulationSim give them: columns that say
        which, and columns of totals. `read_table` reads it from CSV or Excel.
    columns : dict
        Column of totals -> the categories that it counts: ``{"HHSIZE1": {"size": 1}}``. All other
        columns of the table are those of the area.
    total : str
        Name of the column of totals in the result.

    Raises
    ------
    InputError
        A column is not in the table, or columns count by different variables.

    Examples
    --------
    >>> wide = pd.DataFrame({"zone": ["a", "b"], "women": [3, 5], "men": [4, 6]})
    >>> long = long_table(wide, {"women": {"sex": "f"}, "men": {"sex": "m"}})
    >>> long.values.tolist()
    [['a', 'f', 3], ['b', 'f', 5], ['a', 'm', 4], ['b', 'm', 6]]
    """
    frame, faults = as_frame(table, "table"), Faults("long table")
    variables = list(next(iter(columns.values()), {}))
    for name, categories in columns.items():
        if name not in frame.columns:
            hint = did_you_mean(name, frame.columns)
            faults.add(name, "is not a column of the table", hint=hint)
        if list(categories) != variables:
            what = f"counts by {list(categories)}, others by {variables}"
            faults.add(name, what, hint="Make a table of each.")
    if not variables:
        faults.add("columns", "name no categories", hint='Give {"women": {"sex": "f"}, ...}.')
    faults.raise_if_any()
    areas = frame[[name for name in frame.columns if name not in columns]]
    parts = [
        areas.assign(**{**dict(categories), total: frame[name]})
        for name, categories in columns.items()
    ]
    return pd.concat(parts, ignore_index=True)


def margin_list(margins: Any) -> list[Margin]:
    """Return one margin or several as a list, or say what else was given."""
    items = [margins] if isinstance(margins, Margin) else margins
    if not isinstance(items, Sequence) or not all(isinstance(m, Margin) for m in items):
        raise InputError.of(
            "margins", "margins", "must be a Margin or a list of them", "Margin(table)"
        )
    return list(items)
