"""What an intruder filled: cells, sources, shares, and records that are rare again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, tabulate
from riskeval.recovery.columns import CLOSE
from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import join, percent, plural

if TYPE_CHECKING:
    from riskeval.recovery.rules import Fill


@dataclass(frozen=True)
class Recovery(Result):
    """Values that a released file does not hide although they are missing in it.

    Attributes
    ----------
    cells : DataFrame
        One row per filled cell: ``row`` (position, from 0), ``column``, ``value``, ``rule``,
        ``source``, ``support`` (visible records on which it rests), ``round``, and ``right``
        (bool, with an original only).
    sources : DataFrame
        One row per rule, source and column: ``rule``, ``source``, ``column``, ``cells``, ``cases``
        (visible cells on which it was tried), ``agreement`` (share of them on which it is
        right), and ``right`` with an original.
    data : DataFrame, n records
        The release with the filled cells.
    holes : mapping of str to int
        Missing values that were asked for, by column (columns without one are left out).
    n_records : int
    n_right : int or None
        Filled cells that hold the true value; None without an original.
    below : tuple of two ints, or None
        Records that fewer than `k` records match on the keys: in the release, and after the holes
        that are filled (rightly, with an original); None without keys.
    k : int

    Examples
    --------
    >>> from riskeval.recovery.recover import recover
    >>> people = pd.DataFrame({"home": [1, 1], "region": ["north", None]})
    >>> recover(people, household="home", household_variables="region").share
    1.0
    """

    cells: pd.DataFrame
    sources: pd.DataFrame
    data: pd.DataFrame
    holes: Mapping[str, int]
    n_records: int
    n_right: int | None
    below: tuple[int, int] | None
    k: int

    @property
    def n_holes(self) -> int:
        """Missing values that were asked for."""
        return sum(self.holes.values())

    @property
    def n_filled(self) -> int:
        """Holes that the intruder fills."""
        return len(self.cells)

    @property
    def share(self) -> float:
        """Share of the holes that are filled; 0 for a file without holes."""
        return self.n_filled / self.n_holes if self.n_holes else 0.0

    @property
    def share_right(self) -> float:
        """Share of the holes that are filled rightly; NaN without an original."""
        if self.n_right is None:
            return float("nan")
        return self.n_right / self.n_holes if self.n_holes else 0.0

    @property
    def share_wrong(self) -> float:
        """Share of the holes that are filled with a wrong value; NaN without an original."""
        return self.share - self.share_right

    def to_frame(self) -> pd.DataFrame:
        """Return `sources`."""
        return self.sources

    def by_column(self) -> pd.DataFrame:
        """One row per column: ``holes``, ``filled``, and ``right`` with an original."""
        table = pd.DataFrame({"holes": pd.Series(dict(self.holes), dtype="int64")})
        table["filled"] = self.cells["column"].value_counts().reindex(table.index, fill_value=0)
        if self.n_right is not None:
            right = self.cells.loc[self.cells["right"], "column"].value_counts()
            table["right"] = right.reindex(table.index, fill_value=0)
        return table.rename_axis("column").reset_index()

    def summary(self) -> str:
        """Say how many holes an intruder fills, from what, and who is rare again."""
        if not self.n_holes:
            text = message("The file has no missing values to recover.")
        elif not self.n_filled:
            text = message(
                "None of {n_holes} follows from the file itself.",
                n_holes=plural(self.n_holes, "missing value"),
            )
        else:
            text = message(
                "{n_filled} of {n_holes} ({share}) follow from the file itself",
                n_filled=count_text(self.n_filled),
                n_holes=plural(self.n_holes, "missing value"),
                share=percent(self.share),
            )
            if self.n_right is not None:
                wrong = self.n_filled - self.n_right
                text += "; " + message(
                    "{n_right} of them are right and {wrong} wrong",
                    n_right=count_text(self.n_right),
                    wrong=count_text(wrong),
                )
            by_rule = self.cells["rule"].value_counts()
            named = joined_by(
                ", ", (message(str(rule)) + " " + count_text(n) for rule, n in by_rule.items())
            )
            text += message(". By source: {named}.", named=named)
        if self.below is not None:
            before, after = self.below
            text += " " + message(
                "{a} of {records} match fewer than {k} on the keys as released, {b} after "
                "these values are filled in.",
                a=count_text(before),
                records=plural(self.n_records, "record"),
                k=self.k,
                b=count_text(after),
            )
        return text


def read_back_text(recovery: Recovery, what: str) -> str:
    """Say how many values can be read back, and from which sources."""
    sources = join(dict.fromkeys(recovery.cells["source"]))
    holes = plural(recovery.n_holes, what)
    return f"{count_text(recovery.n_right or 0)} of {holes} can be read back ({sources})"


def make_result(
    frame: pd.DataFrame,
    table: KeyTable | None,
    fills: Sequence[Fill],
    n_holes: Mapping[str, int],
    original: pd.DataFrame | None,
    k: int,
) -> Recovery:
    """Collect what was filled, compare it with the original and count the keys of the table."""
    cells = _cells(fills)
    n_right = None
    if original is not None:
        cells["right"] = _right(frame, cells, original)
        n_right = int(cells["right"].sum())
    sources = _sources(fills, cells)
    cells = cells.sort_values(["row", "column"], kind="stable", ignore_index=True)
    data = with_values(frame, cells)
    below = None
    if table is not None:
        believed = cells if original is None else cells[cells["right"]]
        believed = believed[believed["column"].isin(table.names)]
        before = after = _below(table, k)
        if len(believed):
            after = _below(tabulate(with_values(frame, believed), table.names), k)
        below = (before, after)
    holes = {name: count for name, count in n_holes.items() if count}
    return Recovery(cells, sources, data, holes, len(frame), n_right, below, k)


def _cells(fills: Sequence[Fill]) -> pd.DataFrame:
    """One row per filled cell, in the order in which they were filled."""
    sizes = [len(fill.rows) for fill in fills]

    def each(values: Sequence[Any], dtype: Any) -> np.ndarray:
        return np.repeat(np.array(values, dtype=dtype), sizes)

    whole = np.empty(0, dtype=np.int64)
    supports = [fill.deduction.support[np.isin(fill.deduction.rows, fill.rows)] for fill in fills]
    values = pd.Series([value for fill in fills for value in fill.values], dtype=object)
    return pd.DataFrame(
        {
            "row": np.concatenate([whole, *(fill.rows for fill in fills)]),
            "column": each([fill.deduction.target for fill in fills], object),
            "value": values,
            "rule": each([fill.deduction.rule for fill in fills], object),
            "source": each([fill.deduction.source for fill in fills], object),
            "support": np.concatenate([whole, *supports]),
            "round": each([fill.round for fill in fills], np.int64),
        }
    )


def _sources(fills: Sequence[Fill], cells: pd.DataFrame) -> pd.DataFrame:
    """One row per rule, source and column; `cells` in the order of the fills."""
    counts = ["cells", "right"] if "right" in cells else ["cells"]
    names = ["rule", "source", "column", *counts, "cases", "agreement"]
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    first = 0
    for fill in fills:
        deduction, end = fill.deduction, first + len(fill.rows)
        line = lines.setdefault(
            (deduction.rule, deduction.source, deduction.target),
            {"cells": 0, "right": 0, "cases": deduction.cases, "agreement": deduction.agreement},
        )
        line["cells"] += len(fill.rows)
        if "right" in cells:
            line["right"] += int(cells["right"].to_numpy()[first:end].sum())
        first = end
    rows = [(*key, *(line[name] for name in names[3:])) for key, line in lines.items()]
    table = pd.DataFrame(rows, columns=names)
    return table.sort_values("cells", ascending=False, kind="stable", ignore_index=True)


def with_values(frame: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the values of `cells` (columns row, column, value) put in."""
    data = frame.copy(deep=False)
    for name, part in cells.groupby("column", sort=False):
        data[str(name)] = _filled(frame[str(name)], part["row"].to_numpy(), part["value"].tolist())
    return data


def _filled(values: pd.Series, rows: np.ndarray, new: list[Any]) -> pd.Series:
    filled: Any = values.copy()
    if isinstance(values.dtype, pd.CategoricalDtype):
        new_levels = [value for value in dict.fromkeys(new) if value not in values.cat.categories]
        filled = values.cat.add_categories(new_levels)
    elif pd.api.types.is_integer_dtype(values.dtype):
        whole = all(float(value).is_integer() for value in new)
        new = [int(value) for value in new] if whole else new
        filled = filled if whole else filled.astype("Float64")
    filled.iloc[rows] = new
    return pd.Series(filled)


def _right(frame: pd.DataFrame, cells: pd.DataFrame, original: pd.DataFrame) -> np.ndarray:
    right = np.zeros(len(cells), dtype=bool)
    for name, part in cells.groupby("column", sort=False):
        if name not in original:
            continue
        truth = expected_values(frame[str(name)], original[str(name)], part["row"].to_numpy())
        right[part.index] = [_equal(a, b) for a, b in zip(part["value"], truth, strict=True)]
    return right


def _equal(value: Any, truth: Any) -> bool:
    if isinstance(value, (int, float)) and isinstance(truth, (int, float)):
        return abs(value - truth) <= CLOSE * max(abs(truth), 1.0)
    return truth is not None and level_text(value) == level_text(truth)


def expected_values(released: pd.Series, original: pd.Series, rows: np.ndarray) -> np.ndarray:
    """Return what the cells at `rows` would show had they not been suppressed; None for unknown.

    Where a column was recoded, an original value stands for the commonest released value beside
    it.
    """
    filled = (released.notna() & original.notna()).to_numpy()
    if _are_alike(released, original, filled):
        codes, levels = encode(original.iloc[rows])
        return np.array([*levels, None], dtype=object)[codes]
    original_codes, levels = encode(original)
    released_codes, released_levels = encode(released)
    truth = np.array([*levels, None], dtype=object)[original_codes]
    if not filled.any():
        return truth[rows]
    texts = [level_text(level) for level in (*levels, *released_levels)]
    number = pd.factorize(np.array(texts, dtype=object))[0]
    equal = number[original_codes[filled]] == number[len(levels) :][released_codes[filled]]
    if equal.mean() >= 0.5:
        return truth[rows]
    pairs = np.bincount(
        original_codes[filled].astype(np.int64) * len(released_levels) + released_codes[filled],
        minlength=len(levels) * len(released_levels),
    ).reshape(len(levels), len(released_levels))
    known = pairs.sum(axis=1) > 0
    place = np.append(np.where(known, pairs.argmax(axis=1), -1), -1)
    return np.array([*released_levels, None], dtype=object)[place[original_codes[rows]]]


def _are_alike(released: pd.Series, original: pd.Series, filled: np.ndarray) -> bool:
    """Whether two columns of one type have equal values in most filled cells."""
    integers = all(pd.api.types.is_integer_dtype(values.dtype) for values in (released, original))
    if not integers and (released.dtype != original.dtype or released.dtype == object):
        return False
    equal = (released == original).to_numpy(dtype=bool, na_value=False)
    return bool(filled.any() and equal[filled].mean() >= 0.5)


def _below(table: KeyTable, k: int) -> int:
    """Records that fewer than `k` records match."""
    records, _ = match_counts(table, "wildcard", 1.0)
    return int((records[table.cell] < k).sum())
