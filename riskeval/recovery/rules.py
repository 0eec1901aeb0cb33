"""Rules by which holes of a file are filled; a new rule is one more entry of `RULES`.

A rule looks at the evidence and returns deductions; it draws nothing at random. A rule that is
not declared by the user must first be right on the values that the file shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskeval.recovery.columns import Column, Evidence, can_determine
from riskeval.recovery.unanimity import LEAST_CASES, Answer, Trial, make_trial, trial_of, unanimous
from synthpop.microdata.frame.codes import extremes
from synthpop.microdata.messages.message import message

TOLERANCE = 1e-6
FEW_CLASSES = 200
FEW_RECORDS = 500
MOST_MEMBERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Ways:
    """What the intruder was told about the file."""

    certainty: float  # share of visible cells on which a rule that was not declared must be right
    household_variables: tuple[str, ...] = ()  # declared to be the same for all members
    household_size: str | None = None  # declared to be the number of members
    # weights, strata: columns of weights, and columns that they may tell
    weights: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    components: Mapping[str, tuple[str, ...]] | None = None  # total -> its parts


@dataclass(frozen=True, slots=True, eq=False)
class Deduction:
    """Values of holes that follow from one source."""

    rule: str
    source: str
    target: str
    rows: np.ndarray  # int64 array, shape (h,)
    codes: np.ndarray | None  # int64 array, shape (h,), or None: levels of the target
    # float64 array, shape (h,), or None: numbers, where they need not be levels
    numbers: np.ndarray | None
    support: np.ndarray  # int64 array, shape (h,): visible records on which each value rests
    cases: int  # visible cells on which the rule was tried
    agreement: float  # share of them on which it is right


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """Cells that one deduction filled in one round."""

    deduction: Deduction
    rows: np.ndarray
    values: list[Any]
    round: int


def from_members(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """Other members of the household show the value."""
    if evidence.household is None:
        return
    for target in evidence.targets():
        answer = unanimous(evidence.household.number, target)
        if target.name not in ways.household_variables:
            answer = answer.convincing(ways.certainty)
        yield from _answered("household", message("other members of the household"), target, answer)


def from_rows(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """The number of rows of the household is its size, or tells its class."""
    if evidence.household is None:
        return
    n_rows = evidence.household.n_rows
    source = message("number of rows of the household")
    for target in evidence.targets():
        if target.numbers is not None:
            same = trial_of(n_rows, _whole_numbers(target.numbers))
            rows = target.holes[n_rows[target.holes] >= 0]
            if len(rows) and (same.convinces(ways.certainty) or _is_size(target, ways, same)):
                yield Deduction(
                    message("household size"), source, target.name, rows, None,
                    n_rows[rows].astype(np.float64), np.ones(len(rows), dtype=np.int64),
                    same.cases, same.agreement,
                )  # fmt: skip
                continue
        answer = unanimous(evidence.household.n_rows, target)
        if target.name != ways.household_size:
            answer = answer.convincing(ways.certainty)
        yield from _answered(message("household size"), source, target, answer)


def _whole_numbers(numbers: np.ndarray) -> np.ndarray:
    """Numbers as codes: -1 for a hole, a code that no household has for what is not a size."""
    whole = (numbers >= 0) & (numbers < MOST_MEMBERS) & (numbers == np.floor(numbers))
    codes = np.full(len(numbers), MOST_MEMBERS, dtype=np.int64)
    codes[whole] = numbers[whole].astype(np.int64)
    codes[np.isnan(numbers)] = -1
    return codes


def _is_size(target: Column, ways: Ways, same: Trial) -> bool:
    return target.name == ways.household_size and (same.cases == 0 or same.agreement == 1.0)


def from_places(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """The place among the members tells the value: the first one is the head."""
    if evidence.household is None:
        return
    for target in evidence.targets():
        answer = unanimous(evidence.household.place, target).convincing(ways.certainty)
        yield from _answered("place", message("place in the household"), target, answer)


def from_roles(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """Every household has exactly one member of a category, and the visible ones are not it."""
    if evidence.household is None:
        return
    number = evidence.household.number
    home = np.where(number >= 0, number, number.max() + 1)
    size = np.bincount(home)
    for target in evidence.targets():
        filled = target.codes >= 0
        n_unknown = size - np.bincount(home[filled], minlength=len(size))
        open_ = target.holes[n_unknown[home[target.holes]] == 1]
        open_ = open_[number[open_] >= 0]
        complete = n_unknown == 0
        counts = np.bincount(target.codes[filled & complete[home]], minlength=len(target.levels))
        for level in np.flatnonzero(np.abs(counts / max(complete.sum(), 1) - 1) < 0.5):
            # each member of a complete household left out in turn
            n_level = np.bincount(home[target.codes == level], minlength=len(size))
            right = int((complete & (n_level == 1)).sum())
            wrong = int(size[complete & (n_level == 0)].sum())
            trial = make_trial(right, wrong, target.error_of_guessing)
            rows = open_[n_level[home[open_]] == 0]
            if len(rows) and trial.convinces(ways.certainty):
                source = message("one {level} in each household", level=target.levels[level])
                yield Deduction(
                    "role", source, target.name, rows, np.full(len(rows), level), None,
                    size[home[rows]], trial.cases, trial.agreement,
                )  # fmt: skip


def from_weights(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """A weight occurs in one stratum only."""
    for name in ways.weights:
        weights = evidence.columns[name].codes
        for target in evidence.targets():
            if target.name == name:
                continue
            answer = unanimous(weights, target)
            if target.name not in ways.strata:
                answer = answer.convincing(ways.certainty)
            yield from _answered("weights", f"weight {name}", target, answer)


def from_sums(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """A part is the total less the other parts, and the total the sum of its parts."""
    for total, parts in (ways.components or {}).items():
        names = [total, *parts]
        values = np.column_stack([_numbers(evidence.columns[name]) for name in names])
        signs = np.array([-1.0, *[1.0] * len(parts)])
        missing = np.isnan(values)
        gap = np.where(missing, 0.0, values) @ signs
        scale = np.maximum(np.nanmax(np.abs(np.where(missing, 0.0, values)), axis=1), 1.0)
        complete = ~missing.any(axis=1)
        cases = int(complete.sum())
        holds = np.abs(gap[complete]) <= TOLERANCE * scale[complete]
        agreement = float(holds.mean()) if cases else float("nan")
        if cases and agreement < ways.certainty:
            continue
        alone = missing.sum(axis=1) == 1
        for j, name in enumerate(names):
            target = evidence.columns[name]
            rows = np.flatnonzero(alone & missing[:, j] & target.hidden)
            if not len(rows):
                continue
            numbers = -gap[rows] * signs[j]
            numbers[np.abs(numbers) <= TOLERANCE * scale[rows]] = 0.0
            source = f"{total} = {' + '.join(parts)}"
            ones = np.ones(len(rows), dtype=np.int64)
            yield Deduction("sums", source, name, rows, None, numbers, ones, cases, agreement)


def _numbers(column: Column) -> np.ndarray:
    assert column.numbers is not None
    return column.numbers


def from_columns(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """Another column determines this one."""
    targets = evidence.targets()
    sources = [(column, "") for column in evidence.columns.values()]
    sources += [(column, "earlier ") for column in evidence.earlier.values()]
    for column, label in sources:
        if not can_determine(column) or (not label and column.name in ways.weights):
            continue
        for target in targets:
            if target is column or not evidence.is_new(target, *(() if label else (column,))):
                continue
            answer = unanimous(column.codes, target).convincing(ways.certainty)
            yield from _answered("dependency", f"{label}{column.name}", target, answer)


def from_classes(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """A number stands beside its class: classes are intervals that do not overlap."""
    numbers = [column for column in evidence.columns.values() if column.numbers is not None]
    numbers += [column for column in evidence.earlier.values() if column.numbers is not None]
    for target in evidence.targets():
        if len(target.levels) > FEW_CLASSES:
            continue
        for column in numbers:
            if column is target or len(column.levels) <= len(target.levels):
                continue
            if not evidence.is_new(target, column):
                continue
            # classes that overlap among some records overlap
            some = slice(None, None, max(len(target.codes) // FEW_RECORDS, 1))
            if _intervals(column, target, some) is None:
                continue
            intervals = _intervals(column, target, slice(None))
            if intervals is None:
                continue
            lows, highs, classes, n_records = intervals
            if n_records.sum() < LEAST_CASES or (n_records >= 3).sum() < 2:
                continue
            x = _numbers(column)[target.holes]
            place = np.searchsorted(lows, x, side="right") - 1
            inside = (place >= 0) & (x <= highs[np.maximum(place, 0)])
            rows = target.holes[inside]
            if len(rows):
                support = np.bincount(target.codes[target.codes >= 0], minlength=len(target.levels))
                codes = classes[place[inside]]
                yield Deduction(
                    "classes",
                    message("value of {name}", name=column.name),
                    target.name,
                    rows,
                    codes,
                    None,
                    support[codes],
                    int(n_records.sum()),
                    1.0,
                )


def _intervals(
    column: Column, target: Column, rows: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Classes of `target` as intervals of the numbers of `column`; None where they overlap.

    Returns lowest and highest number of each class, the classes in this order, and the records of
    each level.
    """
    codes, x = target.codes[rows], _numbers(column)[rows]
    both = np.flatnonzero((codes >= 0) & ~np.isnan(x))
    codes = codes[both]
    lows, highs = extremes(x[both], codes, len(target.levels))
    n_records = np.bincount(codes, minlength=len(target.levels))
    used = np.flatnonzero(n_records)
    order = used[np.argsort(lows[used], kind="stable")]
    if not (highs[order][:-1] < lows[order][1:]).all():
        return None
    return lows[order], highs[order], order, n_records


def from_order(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """The records before and after show the same value in a file that is sorted by it."""
    for target in evidence.targets():
        filled = np.flatnonzero(target.codes >= 0)
        codes = target.codes[filled]
        # 1. each filled cell left out: the filled cells before and after it agree, and on its value
        agree = codes[:-2] == codes[2:]
        n_right = int((agree & (codes[:-2] == codes[1:-1])).sum())
        trial = make_trial(n_right, int(agree.sum()) - n_right, target.error_of_guessing)
        # 2. holes between two filled cells that agree
        after = np.searchsorted(filled, target.holes)
        inside = (after > 0) & (after < len(filled))
        rows, after = target.holes[inside], after[inside]
        alike = codes[after - 1] == codes[after]
        rows, levels = rows[alike], codes[after[alike]]
        if trial.convinces(ways.certainty) and len(rows):
            support = np.full(len(rows), 2, dtype=np.int64)
            yield Deduction(
                "order", message("records before and after"), target.name, rows, levels, None,
                support, trial.cases, trial.agreement,
            )  # fmt: skip


def from_earlier(evidence: Evidence, ways: Ways) -> Iterator[Deduction]:
    """An earlier state of the file shows the value."""
    for target in evidence.targets():
        column = evidence.earlier.get(target.name)
        if column is None or (column.numbers is None) != (target.numbers is None):
            continue  # texts are not values of a number
        place = {level: code for code, level in enumerate(target.levels)}
        table = np.array([*(place.get(level, -1) for level in column.levels), -1])
        shown = table[column.codes]
        both = (column.codes >= 0) & (target.codes >= 0)
        trial = trial_of(np.where(column.codes >= 0, shown, -1), target.codes)
        if trial.cases < both.sum() or (trial.cases and trial.agreement < ways.certainty):
            continue
        new_levels = [level for level in column.levels if level not in place]
        target.levels += new_levels  # values that only the earlier state still shows
        place.update({level: len(place) + j for j, level in enumerate(new_levels)})
        table = np.array([*(place[level] for level in column.levels), -1])
        shown = table[column.codes]
        rows = target.holes[shown[target.holes] >= 0]
        if len(rows):
            ones = np.ones(len(rows), dtype=np.int64)
            yield Deduction(
                "earlier", f"earlier {target.name}", target.name, rows, shown[rows], None, ones,
                trial.cases, trial.agreement,
            )  # fmt: skip


def _answered(rule: str, source: str, target: Column, answer: Answer) -> Iterator[Deduction]:
    if not len(answer.rows):
        return
    trials = [trial for trial in (answer.single, answer.several) if trial.cases]
    cases = sum(trial.cases for trial in trials)
    right = sum(trial.cases * trial.agreement for trial in trials)
    yield Deduction(
        rule, source, target.name, answer.rows, answer.codes, None, answer.support, cases,
        right / cases if cases else float("nan"),
    )  # fmt: skip


Rule = Callable[[Evidence, Ways], Iterator[Deduction]]

RULES: dict[str, Rule] = {
    "household": from_members,
    "household size": from_rows,
    "role": from_roles,
    "place": from_places,
    "weights": from_weights,
    "sums": from_sums,
    "earlier": from_earlier,
    "classes": from_classes,
    "dependency": from_columns,
    "order": from_order,
}
"""Rules in the order in which an intruder tries them: the surest first."""


def apply(evidence: Evidence, deduction: Deduction) -> tuple[np.ndarray, list[Any]]:
    """Fill the holes of a deduction that are still open; return their rows and values."""
    target = evidence.columns[deduction.target]
    open_ = target.codes[deduction.rows] < 0
    rows = deduction.rows[open_]
    if deduction.numbers is not None:
        numbers = deduction.numbers[open_]
        target.fill_numbers(rows, numbers)
        return rows, numbers.tolist()
    assert deduction.codes is not None
    codes = deduction.codes[open_]
    target.fill(rows, codes)
    return rows, [target.levels[code] for code in codes]
