"""Formulas such as ``income + rent ~ age + sex``: names, plus signs and colons, never evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.checks import check_columns
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults

NAME = re.compile(r"`[^`]+`|[^+:~\s`]+")
OUTSIDE = r"(?=(?:[^`]*`[^`]*`)*[^`]*$)"  # an even number of backquotes follows


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, read.

    Attributes
    ----------
    responses : tuple of str
    terms : tuple of tuples of str
        Each term is a product of columns; a single name for a main effect.
    """

    responses: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]

    @property
    def predictors(self) -> tuple[str, ...]:
        """Distinct columns of the right side."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term))


def read_formula(faults: Faults, text: str) -> Formula | None:
    """Read ``a + b ~ c + d + c:d``; a name with spaces stands in backquotes, ``~ 1`` for none.

    Examples
    --------
    >>> read_formula(Faults("example"), "a + b ~ c + `d e` + c:`d e`").terms
    (('c',), ('d e',), ('c', 'd e'))
    """
    sides = re.split("~" + OUTSIDE, text) if isinstance(text, str) else []
    if len(sides) != 2:
        faults.add("formula", f"{text!r} is not of the form 'a + b ~ c + d'")
        return None
    left = [_names(faults, part) for part in re.split(r"\+" + OUTSIDE, sides[0])]
    right = [] if sides[1].strip() == "1" else re.split(r"\+" + OUTSIDE, sides[1])
    terms = tuple(dict.fromkeys(_names(faults, part) for part in right))
    for term in left:
        if len(term) != 1 and term:
            faults.add("formula", f"{':'.join(term)!r} stands on the left side")
    responses = tuple(term[0] for term in left if len(term) == 1)
    found = Formula(responses, tuple(term for term in terms if term))
    for name in found.predictors:
        if name in responses:
            faults.add("formula", f"{name!r} stands on both sides")
    for name in dict.fromkeys(responses):
        if responses.count(name) > 1:
            faults.add("formula", f"{name!r} stands on the left side twice")
    return found


def _names(faults: Faults, part: str) -> tuple[str, ...]:
    names = []
    for piece in re.split(":" + OUTSIDE, part):
        whole = NAME.fullmatch(piece.strip())
        if whole is None or (re.search(r"[()*/^\-]", piece) and "`" not in piece):
            faults.add(
                "formula",
                f"{piece.strip()!r} is not a column name",
                remedy="Write names, + and : only; put other names into backquotes.",
            )
            return ()
        names.append(piece.strip().strip("`"))
    return tuple(names)


def design(faults: Faults, frame: pd.DataFrame, formula: Formula) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the right side without a constant.

    Numbers are standardised; a missing one becomes the mean and an indicator column says so.
    Other columns become indicators of all levels but the first; a missing value is a level.
    Products multiply the columns of their parts.

    Returns
    -------
    columns : float64, shape (n, m)
        Constant columns are left out.
    continuous : bool, shape (m,)
        Whether a column holds a number as it is.
    """
    if not check_columns(faults, frame, formula.predictors, "predictor"):
        return np.empty((len(frame), 0)), np.empty(0, dtype=bool)
    parts = {name: _part(frame[name]) for name in formula.predictors}
    columns: list[np.ndarray] = [np.empty((len(frame), 0))]
    continuous: list[bool] = []
    for term in formula.terms:
        block = parts[term[0]][0]
        for name in term[1:]:
            other = parts[name][0]
            block = (block[:, :, None] * other[:, None, :]).reshape(len(frame), -1)
        columns.append(block)
        first = parts[term[0]][1]
        continuous += [first and j == 0 and len(term) == 1 for j in range(block.shape[1])]
    matrix = np.column_stack(columns)
    varying = np.ptp(matrix, axis=0) > 0 if len(matrix) else np.ones(matrix.shape[1], dtype=bool)
    return matrix[:, varying], np.array(continuous, dtype=bool)[varying]


def _part(values: pd.Series) -> tuple[np.ndarray, bool]:
    """Columns of one predictor, and whether the first of them is a number."""
    dtype = values.dtype
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        known = np.isfinite(numbers)
        if not known.any():
            return np.zeros((len(values), 1)), True
        centred = np.where(known, numbers - numbers[known].mean(), 0.0)
        spread = numbers[known].std()
        columns = [centred / spread if spread > 0 else centred]
        return np.column_stack([*columns, *([~known] if not known.all() else [])]), True
    codes, _ = encode(values)
    present = np.unique(codes)[1:]
    return (codes[:, None] == present[None, :]).astype(np.float64), False
