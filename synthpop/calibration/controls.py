"""Controls on the persons of a survey: the cells of margins, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin
from synthpop.calibration.problem import constraint_matrix
from synthpop.microdata.frame.codes import DENSE_CELLS, MISSING, encode, level_text
from synthpop.microdata.frame.frames import as_numbers, n_columns
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import number, plural
from synthpop.microdata.roles.survey import Survey

SHOWN_CELLS = 8

LARGEST_ID = 1 << 62


@dataclass(frozen=True, slots=True)
class Controls:
    """All cells of all margins, matched with the persons of a survey."""

    # one item a margin: control of each person, int32, shape (n_persons,), -1 where none; what is
    # summed, float64, shape (n_persons,), None: persons; whether households count; its name
    cells: list[np.ndarray]
    values: list[np.ndarray | None]
    household_level: list[bool]
    names: list[str]
    # one item a control, shape (n_controls,): number of its margin, label, total, importance
    margin: np.ndarray
    labels: list[str]
    targets: np.ndarray
    importance: np.ndarray
    # one item a margin: category columns; codes of the categories, the same in all margins, int64,
    # shape (cells of the margin, columns); the variable that is summed
    columns: list[tuple[str, ...]]
    keys: list[np.ndarray]
    variables: list[str | None]

    def matrix(self, household_index: np.ndarray, *, household_equal: bool = True) -> Any:
        """Return the matrix of all units by all controls; see `constraint_matrix`."""
        return constraint_matrix(
            self.cells, self.values, self.household_level, len(self.targets),
            household_index=household_index, household_equal=household_equal,
        )  # fmt: skip

    def label(self, k: int) -> str:
        """Return margin and cell of one control."""
        return f"{self.names[self.margin[k]]}: {self.labels[k]}"

    def table(self) -> pd.DataFrame:
        """Return one row per control: its margin, its cell, and its level."""
        return pd.DataFrame(
            {
                "margin": [self.names[m] for m in self.margin],
                "cell": self.labels,
                "level": [
                    "household" if self.household_level[m] else "person" for m in self.margin
                ],
            }
        )


def controls_of(survey: Survey, margins: Sequence[Margin], subject: str) -> Controls:
    """Match margins with the persons of a survey; raise every fault."""
    faults = Faults(subject)
    index = survey.household_index if survey.roles.household is not None else None
    controls = resolve_margins(survey.frame, margins, faults, household_index=index)
    faults.raise_if_any()
    assert controls is not None  # or there was a fault
    return controls


def resolve_margins(
    frame: pd.DataFrame,
    margins: Sequence[Margin],
    faults: Faults,
    *,
    household_index: np.ndarray | None,
    keep_all: bool = False,
    part: bool = False,
) -> Controls | None:
    """Match margins with the persons of a frame; note what does not fit. None: columns are absent.

    faults: gets every fault; cells with a total of zero and nobody in them are left out without one
    household_index: None: the data have no households, so that margins of households are a fault
    keep_all: keep every cell as a control, also those that nobody is in and those with a total of
        zero: right where households are exchanged instead of weighted
    part: the frame is a part of the population: nobody of it need be in a margin
    """
    codings: dict[str, tuple[np.ndarray, tuple[Any, ...]]] = {}
    if not _check_present(frame, margins, faults, household_index is not None):
        return None
    matched = [
        match_margin(frame, margin, codings, faults, household_index, keep_all, part)
        for margin in margins
    ]
    offset, cells = 0, []
    for one in matched:
        cell = one.cell
        cells.append(np.where(cell >= 0, cell + np.int32(offset), np.int32(-1)))
        offset += len(one.targets)
    count = [len(one.targets) for one in matched]
    importance = [np.inf if m.importance is None else float(m.importance) for m in margins]
    return Controls(
        cells=cells,
        values=[one.values for one in matched],
        household_level=[m.level == "household" for m in margins],
        names=_distinct([m.label for m in margins]),
        margin=np.repeat(np.arange(len(margins)), count),
        labels=[label for one in matched for label in one.labels],
        targets=np.concatenate([one.targets for one in matched]),
        importance=np.repeat(importance, count),
        columns=[m.columns for m in margins],
        keys=[one.keys for one in matched],
        variables=[m.variable for m in margins],
    )


def _distinct(names: list[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} ({i + 1})" for i, name in enumerate(names)]


def _check_present(
    frame: pd.DataFrame, margins: Sequence[Margin], faults: Faults, households: bool
) -> bool:
    n_faults = len(faults.found)
    if not margins:
        faults.add("margins", "there are none", hint="Give at least one Margin.")
    for margin in margins:
        if not isinstance(margin, Margin):
            faults.add("margins", f"{type(margin).__name__} is not a Margin", hint="Wrap it.")
            return False
        if margin.level == "household" and not households:
            hint = "Give the survey its household role, or use level='person'."
            faults.add(margin.label, "the data have no households", hint=hint)
        for name in (*margin.columns, *((margin.variable,) if margin.variable else ())):
            if n_columns(frame.columns, name) != 1:
                what = f"{name!r} is not a column of the survey"
                faults.add(margin.label, what, hint=did_you_mean(name, frame.columns))
        variable = margin.variable
        if variable in frame.columns and not pd.api.types.is_numeric_dtype(frame[variable]):
            what = f"variable {variable!r} is not numeric ({frame[variable].dtype})"
            faults.add(margin.label, what, hint="Convert it first.")
    return len(faults.found) == n_faults


@dataclass(frozen=True, slots=True)
class _Matched:
    """One margin matched: control of each person within the margin, and its controls."""

    cell: np.ndarray
    values: np.ndarray | None
    targets: np.ndarray
    labels: list[str]
    keys: np.ndarray


def match_margin(
    frame: pd.DataFrame,
    margin: Margin,
    codings: dict[str, tuple[np.ndarray, tuple[Any, ...]]],
    faults: Faults,
    household_index: np.ndarray | None,
    keep_all: bool,
    part: bool,
) -> _Matched:
    """Find the cells of a margin in a table of persons; note what is wrong with them."""
    n_persons, n_cells = len(frame), len(margin.frame)
    ids = np.zeros(n_persons, dtype=np.int64)
    table_ids = np.zeros(n_cells, dtype=np.int64)
    keys = np.zeros((n_cells, len(margin.columns)), dtype=np.int64)
    known = np.ones(n_cells, dtype=bool)
    product = 1
    for j, name in enumerate(margin.columns):
        if name not in codings:
            codings[name] = encode(frame[name])
        codes, levels = codings[name]
        codes_of_table = _table_codes(margin.frame[name], levels)
        known &= codes_of_table > MISSING - 1
        keys[:, j] = codes_of_table
        radix = len(levels) + 1
        if product > LARGEST_ID // radix:
            distinct, compact = np.unique(np.concatenate([ids, table_ids]), return_inverse=True)
            ids, table_ids = compact[:n_persons], compact[n_persons:]
            product = len(distinct)
        ids = ids * radix + np.where(codes < 0, len(levels), codes)
        table_ids = table_ids * radix + np.where(
            codes_of_table == MISSING, len(levels), np.maximum(codes_of_table, 0)
        )
        product *= radix
    if household_index is not None and margin.level == "household":
        _check_constant(ids, household_index, margin, "/".join(margin.columns), faults)
    cell = _look_up(ids, table_ids, known, product)
    values = None
    if margin.variable is not None:
        values = as_numbers(frame[margin.variable])
        if household_index is not None and margin.level == "household":
            filled = np.nan_to_num(values, nan=-np.inf)
            _check_constant(filled, household_index, margin, margin.variable, faults)
    if keep_all:
        if (cell < 0).all() and not part:
            what = f"no category of {', '.join(margin.columns)} occurs in the data as given"
            faults.add(margin.label, what, hint=_levels_there(margin, codings))
        return _Matched(cell, values, margin.targets, margin.cell_labels(), keys)
    return _check_cells(margin, cell, values, keys, faults, _levels_there(margin, codings))


def _levels_there(margin: Margin, codings: dict[str, tuple[np.ndarray, tuple[Any, ...]]]) -> str:
    """Say which categories the data have."""
    sentences = []
    for name in margin.columns:
        levels = codings[name][1]
        ellipsis = ", ..." if len(levels) > SHOWN_CELLS else ""
        sentences.append(
            f"{name!r} has {', '.join(map(str, levels[:SHOWN_CELLS])) or 'none'}{ellipsis}."
        )
    return " ".join(sentences)


def _table_codes(column: pd.Series, levels: tuple[Any, ...]) -> np.ndarray:
    """Position of each table value among the levels: -1 missing, -2 not among them."""
    position = {level: code for code, level in enumerate(levels)}
    missing = column.isna().to_numpy()
    values = column.astype(object).tolist()
    codes = np.array([position.get(value, -2) for value in values], dtype=np.int64)
    if (codes[~missing] < 0).all():
        for text in (str, level_text):
            by_text = {text(level): code for code, level in enumerate(levels)}
            if len(by_text) == len(levels) and (codes[~missing] < 0).all():
                codes = np.array([by_text.get(text(value), -2) for value in values], dtype=np.int64)
    codes[missing] = MISSING
    return codes


def _look_up(ids: np.ndarray, table_ids: np.ndarray, known: np.ndarray, product: int) -> np.ndarray:
    positions = np.flatnonzero(known)
    if product <= DENSE_CELLS:
        table = np.full(product, -1, dtype=np.int32)
        table[table_ids[positions]] = positions
        return table[ids]
    order = positions[np.argsort(table_ids[positions], kind="stable")]
    cell = np.full(len(ids), -1, dtype=np.int32)
    if len(order):
        place = np.minimum(np.searchsorted(table_ids[order], ids), len(order) - 1)
        cell = np.where(table_ids[order][place] == ids, order[place], -1).astype(np.int32)
    return cell


def _check_constant(
    values: np.ndarray, household_index: np.ndarray, margin: Margin, what: str, faults: Faults
) -> None:
    first = np.empty(int(household_index.max()) + 1, dtype=values.dtype)
    first[household_index[::-1]] = values[::-1]
    differs = values != first[household_index]
    if differs.any():
        n = len(np.unique(household_index[differs]))
        faults.add(
            margin.label,
            f"{what} differs within {plural(n, 'household')}",
            rows=np.flatnonzero(differs),
            hint="Count households by what all members share, or use level='person'.",
        )


def _check_cells(
    margin: Margin,
    cell: np.ndarray,
    values: np.ndarray | None,
    keys: np.ndarray,
    faults: Faults,
    place: str,
) -> _Matched:
    """Note cells that the sample cannot meet; drop empty cells with a total of zero."""
    targets, labels = margin.targets, margin.cell_labels()
    inside = np.flatnonzero(cell >= 0)
    counts = np.bincount(cell[inside], minlength=len(targets))
    empty_cells = (counts == 0) & (targets != 0)
    if empty_cells.any() and (counts == 0).all():
        where = ", ".join(margin.columns)
        what = f"no category of {where} occurs in the sample as given"
        faults.add(margin.label, what, hint=place)
    what, hint = "but nobody of the sample is in it", "Put cells together, or leave them out."
    _note(faults, margin, empty_cells, what, hint)
    if values is None:
        forced = (counts > 0) & (targets == 0) & (margin.importance is None)
        what = "but {n} persons of the sample are in it"
        hint = "Drop these persons, or leave the cell out: weights must be positive."
        _note(faults, margin, forced, what, hint, counts)
    else:
        amount = np.nan_to_num(values[inside])
        low = np.bincount(cell[inside], np.minimum(amount, 0.0), minlength=len(targets))
        high = np.bincount(cell[inside], np.maximum(amount, 0.0), minlength=len(targets))
        out_of_reach = (counts > 0) & (
            ((targets >= 0) & (high == 0) & ~((targets == 0) & (low == 0)))
            | ((targets <= 0) & (low == 0) & ~((targets == 0) & (high == 0)))
        )
        what = f"which no sum of {margin.variable} in the sample can reach"
        _note(faults, margin, out_of_reach, what, "Correct the total or its sign.")
    keep = (counts > 0) & ~((targets == 0) & _blank(cell, values, len(targets)))
    new = np.full(len(targets) + 1, -1, dtype=np.int32)
    new[:-1][keep] = np.arange(keep.sum())
    cells = np.flatnonzero(keep)
    return _Matched(new[cell], values, targets[cells], [labels[k] for k in cells], keys[cells])


def _blank(cell: np.ndarray, values: np.ndarray | None, n_cells: int) -> np.ndarray:
    """Cells whose values are all zero or missing, so that a total of zero is met anyway."""
    if values is None:
        return np.zeros(n_cells, dtype=bool)
    inside = cell >= 0
    return np.bincount(cell[inside], np.abs(np.nan_to_num(values[inside])), n_cells) == 0


def _note(
    faults: Faults,
    margin: Margin,
    faulty: np.ndarray,
    what: str,
    hint: str,
    counts: np.ndarray | None = None,
) -> None:
    """Note the faulty cells of a margin; `counts` stand in the text in place of {n}."""
    targets, cells = margin.targets, np.flatnonzero(faulty)
    labels = margin.cell_labels() if len(cells) else []
    for k in cells[:SHOWN_CELLS]:
        text = what if counts is None else what.format(n=count_text(int(counts[k])))
        where = f"{margin.label}: {labels[k]}"
        faults.add(where, f"total {number(targets[k], 6)}, {text}", hint=hint)
    if len(cells) > SHOWN_CELLS:
        further = targets[cells[SHOWN_CELLS:]]
        text = f"{len(further)} more cells of this kind, totals {number(further.sum(), 6)} in all"
        faults.add(margin.label, text, hint=hint)
