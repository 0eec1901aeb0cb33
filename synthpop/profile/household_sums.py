"""Numbers that are sums over the members of a household, beside numbers of the person's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from synthpop.microdata.frame.names import RESERVED
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural
from synthpop.microdata.reading.households import CONSTANT_SHARE, FEWEST_HOUSEHOLDS, HouseholdIndex
from synthpop.microdata.statistics.indicators.equivalised import equivalised_size
from synthpop.profile.columns import ColumnProfile

ROUNDING = 1e-6  # of the largest value
NEAR_WHOLE = 0.02  # coefficients this near to -1, 0 or 1 are meant to be it
ALIKE = 0.2  # correlation of members from which on a number may hold sums over the household
FEWEST_ROWS, ROWS_A_TERM = 50, 3
ROWS_A_COLUMN = 2  # rows that tell whether the others need a look
MOST_BEYOND = 0.1  # of a number that sums leave over, to be looked at


@dataclass(frozen=True, slots=True)
class Terms:
    """A number as sums over the household and numbers of the person, each plus or minus.

    of_household, of_person: dict of int; column -> 1 or -1
    scaled: bool; whether all of it is over the modified OECD scale
    incomplete: str or None; the number is missing where this column is for a member of the
        household
    """

    of_household: Mapping[str, int]
    of_person: Mapping[str, int]
    scaled: bool
    incomplete: str | None

    @property
    def why(self) -> str:
        """What the number is, in words."""
        text = message("{n} over the household", n=plural(len(self.of_household), "sum"))
        if self.of_person:
            text += " " + message("and {n} of the person", n=plural(len(self.of_person), "number"))
        return text + ((" " + message("over the modified OECD scale")) if self.scaled else "")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are added up."""
        return tuple(dict.fromkeys([*self.of_household, *self.of_person]))

    def expression(self, gaps: Sequence[str], age: str | None) -> str:
        """Return it in the language of `Derive`; `gaps` are the columns with missing values."""

        def added(signs: Mapping[str, int]) -> str:
            words = [
                f"{'-' if sign < 0 else '+'} {filled(name) if name in gaps else word(name)}"
                for name, sign in signs.items()
            ]
            return " ".join(words).removeprefix("+ ")

        text = f"sum({added(self.of_household)})"
        if self.incomplete is not None:
            text += f" / (count({word(self.incomplete)} is missing) = 0)"
        if self.of_person:
            text = f"{text} + {added(self.of_person)}".replace("+ - ", "- ")
        if self.scaled:
            text = f"({text}) / equivalised_size({word(str(age))})"
        return text


def word(name: str) -> str:
    """Return a column as expressions name it."""
    return name if name.isidentifier() and name not in RESERVED else f"`{name}`"


def filled(name: str) -> str:
    """Return a column whose missing values count as zero."""
    return f"zero_if_missing({word(name)})"


def may_hold_sums(values: np.ndarray, index: HouseholdIndex) -> bool:
    """Whether members have numbers as alike as sums over the household make them."""
    first, other = index.pairs()
    has_both = np.isfinite(values[first]) & np.isfinite(values[other])
    a, b = values[first[has_both]], values[other[has_both]]
    if len(a) < FEWEST_ROWS or not (a.std() > 0 and b.std() > 0):
        return False
    return float(np.corrcoef(a, b)[0, 1]) > ALIKE


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A number that may be a term; arrays of shape (n,)."""

    values: np.ndarray
    amounts: np.ndarray  # a missing value as zero
    sums: np.ndarray  # over the household
    differs: np.ndarray  # where the sum is another number than the amount

    @classmethod
    def of(cls, values: np.ndarray, index: HouseholdIndex) -> Candidate:
        """Return a column with its sums."""
        amounts = np.nan_to_num(values)
        sums = household_total(amounts, index)
        return cls(values, amounts, sums, ~np.isclose(sums, amounts))

    @property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums over the household and the amounts of the person."""
        return self.sums, self.amounts


def terms_of(
    values: np.ndarray,
    candidates: Mapping[str, Candidate],
    index: HouseholdIndex,
    oecd: np.ndarray | None,
) -> Terms | None:
    """Return the sums that a number is made of; None where it is none of these.

    Least squares of the number on the candidates and on their household sums: coefficients of -1
    and 1 are the terms, which then must add up to it but for one row in a thousand. A missing
    value counts as zero, unless the number is missing wherever a member lacks that column. A number
    that is none of it is looked at again times the modified OECD scale.

    candidates: numbers that may be terms
    oecd: equivalised size of each person's household, where ages are known
    """
    finite = np.isfinite(values)
    if finite.sum() < FEWEST_ROWS + 2 * ROWS_A_TERM * len(candidates):
        return None
    usable = {n: one for n, one in candidates.items() if np.isfinite(one.values[finite]).any()}
    sums = [n for n, one in usable.items() if one.differs[finite].any()]
    if not sums:
        return None
    columns = [*(usable[n].sums for n in sums), *(one.amounts for one in usable.values())]
    matrix = np.column_stack(columns)[finite]
    names = [*((n, True) for n in sums), *((n, False) for n in usable)]
    sizes: list[Any] = [1.0] if oecd is None else [1.0, oecd[finite]]
    for size in sizes:
        if not np.isfinite(size).all():
            continue
        signs = _signs(values[finite] * size, matrix)
        terms = [(*names[j], int(sign)) for j, sign in enumerate(signs) if sign]
        of_household = {n: sign for n, summed, sign in terms if summed}
        of_person = {n: sign for n, summed, sign in terms if not summed}
        if not of_household or len(terms) < 2:
            continue
        incomplete = None
        if not finite.all():
            lacking = (n for n in of_household if _lacks_with(usable[n].values, finite, index))
            incomplete = next(lacking, None)
            if incomplete is None:
                continue
        return Terms(of_household, of_person, np.ndim(size) > 0, incomplete)
    return None


def may_be_sums(
    names: Sequence[str],
    candidates: Mapping[str, Candidate],
    size: Mapping[str, float],
    oecd: np.ndarray | None,
) -> set[str]:
    """Return the numbers of which smaller ones and their household sums leave little over.

    One QR decomposition of the candidates in the order of their size tells it for all numbers that
    are missing for the same persons: the first j rows of R are what the first j columns explain.

    names: numbers to be looked at, all among the candidates
    size: mean absolute value of each candidate
    """
    order = sorted(candidates, key=size.__getitem__)
    before = {name: 2 * i for i, name in enumerate(order)}  # columns of smaller numbers
    alike: dict[bytes, list[str]] = {}
    for name in names:
        alike.setdefault(np.isfinite(candidates[name].values).tobytes(), []).append(name)
    found = set()
    for pattern, group in alike.items():
        rows = np.flatnonzero(np.frombuffer(pattern, dtype=bool))
        n_columns = max(before[name] for name in group)
        if len(rows) < FEWEST_ROWS or not n_columns:
            continue
        rows = rows[:: max(1, len(rows) // (ROWS_A_COLUMN * n_columns))]
        ones = np.ones(len(rows))
        scales = [ones] if oecd is None or np.isnan(oecd[rows]).any() else [ones, oecd[rows]]
        columns = [v[rows] for n in order[: n_columns // 2] for v in candidates[n].both]
        columns += [candidates[name].amounts[rows] * scale for name in group for scale in scales]
        matrix = np.column_stack(columns)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=0), np.finfo(float).tiny)
        explained = np.square(np.linalg.qr(matrix, mode="r"))
        for j, name in enumerate(name for name in group for _ in scales):
            column = explained[:, n_columns + j]
            if column[before[name] :].sum() < MOST_BEYOND**2 * column.sum():
                found.add(name)
    return found


def household_total(values: np.ndarray, index: HouseholdIndex) -> np.ndarray:
    """Return the sum over the household for each of its members."""
    return np.bincount(index.index, values, minlength=len(index.sizes))[index.index]


def _lacks_with(values: np.ndarray, known: np.ndarray, index: HouseholdIndex) -> bool:
    """Whether a number is missing where a member of the household lacks another, and else not."""
    some_missing = household_total(np.isnan(values).astype(float), index) > 0
    return bool(np.mean(some_missing == ~known) >= CONSTANT_SHARE)


def _signs(values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the coefficients -1, 0, 1 of an exact sum; all zero where there is none.

    What is no sum in some of the rows is none; what is one there may be it in all of them.
    """
    step = len(matrix) // (ROWS_A_COLUMN * matrix.shape[1])
    if step > 1:
        some = _signs_in(values[::step], matrix[::step])
        if not some.any() or _are_exact(some, values, matrix):
            return some
    return _signs_in(values, matrix)


def _signs_in(values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    nothing = np.zeros(matrix.shape[1])
    scale = np.maximum(np.abs(matrix).max(axis=0), np.finfo(float).tiny)
    found = lstsq(matrix / scale, values, cond=1e-10, lapack_driver="gelsy", check_finite=False)
    coefficients = found[0] / scale
    signs: np.ndarray = np.rint(coefficients)
    if np.any(np.abs(coefficients - signs) > NEAR_WHOLE) or np.any(np.abs(signs) > 1):
        return nothing
    return signs if _are_exact(signs, values, matrix) else nothing


def _are_exact(signs: np.ndarray, values: np.ndarray, matrix: np.ndarray) -> bool:
    """Whether columns with these signs add up to the values but for one row in a thousand."""
    gap = np.abs(matrix @ signs - values)
    rounding = ROUNDING * float(np.abs(values).max(initial=0.0))
    return float((gap > rounding).mean()) <= 1 - CONSTANT_SHARE


def household_sum(
    values: np.ndarray, persons: np.ndarray, index: HouseholdIndex, oecd: np.ndarray | None = None
) -> str:
    """Return what a household number is of a number of persons; empty where it is nothing of it.

    "sum": the household sum. "modified": the sum over the modified OECD scale of the ages (1 for
    the first adult, 0.5 for others from 14 on, 0.3 for children). "scale": the sum over another
    equivalence scale (a number of tenths between 1 and the household size).

    oecd: equivalised size of each person's household, where ages are known
    """
    sums = np.bincount(index.index, np.nan_to_num(persons), minlength=len(index.sizes))
    first = values[index.order[index.starts]]
    is_amount = np.isfinite(first) & (np.abs(first) > 0) & (index.sizes > 1)
    if is_amount.sum() < FEWEST_HOUSEHOLDS:
        return ""
    ratio = sums[is_amount] / first[is_amount]
    if np.mean(np.abs(ratio - 1) < 1e-4) >= CONSTANT_SHARE:
        return "sum"
    if oecd is not None:
        of_household = oecd[index.order[index.starts]][is_amount]
        if np.mean(np.abs(ratio - of_household) < 1e-3) >= CONSTANT_SHARE:
            return "modified"
    tenths = np.abs(ratio * 10 - np.rint(ratio * 10)) < 1e-3
    scale = tenths & (ratio > 1) & (ratio <= index.sizes[is_amount])
    return "scale" if np.mean(scale) >= 0.99 else ""


def household_sums(
    columns: Mapping[str, ColumnProfile],
    values: Mapping[str, np.ndarray],
    index: HouseholdIndex,
    age: str | None,
) -> Iterator[tuple[ColumnProfile, str | None]]:
    """Yield the columns that are sums over the household, and the expression of each.

    Sums of one number first, then of several and of numbers of the person, small ones first.

    values: dict of float arrays; columns that are numbers
    """
    years = None if age is None else values.get(age)
    oecd = None if years is None else equivalised_size(years, index.index)
    values = {
        n: v
        for n, v in values.items()
        if n != age and columns[n].use in ("continuous", "categorical") and np.isfinite(v).any()
    }
    numeric = {n: v for n, v in values.items() if columns[n].use == "continuous"}
    # 1. Numbers of the household: the sum of one number, also per unit of a scale.
    constant = [n for n, v in numeric.items() if index.constant(np.nan_to_num(v, nan=-1e300))]
    derived = set()
    for name in constant:
        for other in [n for n in numeric if n not in constant]:
            kind = household_sum(numeric[name], numeric[other], index, oecd)
            if kind:
                derived.add(name)
                yield _of_one(columns[name], other, kind, age)
                break
    # 2. Sums of several numbers and numbers of the person, small ones first.
    size = {n: float(np.nanmean(np.abs(v))) for n, v in values.items()}
    alike = [n for n in numeric if n not in derived and may_hold_sums(numeric[n], index)]
    candidates = {n: Candidate.of(v, index) for n, v in values.items()} if alike else {}
    likely = may_be_sums(alike, candidates, size, oecd)
    for name in sorted(likely, key=size.__getitem__):
        smaller = {
            n: one
            for n, one in candidates.items()
            if n != name and n not in derived and size[n] <= size[name]
        }
        terms = terms_of(numeric[name], smaller, index, oecd)
        if terms is None:
            continue
        derived.add(name)
        gaps = [n for n in terms.columns if np.isnan(values[n]).any()]
        yield replace(columns[name], use="derive", why=terms.why), terms.expression(gaps, age)


def _of_one(
    item: ColumnProfile, other: str, kind: str, age: str | None
) -> tuple[ColumnProfile, str | None]:
    """Return a column that is the household sum of another, and its expression."""
    if kind == "scale":
        why = message("an equivalised household sum of {column}", column=other)
        return replace(item, use="left out", why=why, detail=other), None
    why, expression = message("the household sum of {column}", column=other), f"sum({word(other)})"
    if kind == "modified":
        why += " " + message("over the modified OECD scale")
        expression += f" / equivalised_size({word(str(age))})"
    return replace(item, use="derive", why=why, detail=other), expression
