"""Columns of the right side of a formula."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import LARGEST
from synthpop.microdata.statistics.formula import Formula


def design(faults: Faults, frame: pd.DataFrame, formula: Formula) -> tuple[np.ndarray, np.ndarray]:
    """Varying columns of the right side, no constant, and which of them are numbers as they are.

    Numbers are standardised; a missing one becomes the mean and an indicator column says so. Other
    columns become indicators of all levels but the first; a missing value is a level. Products
    multiply the columns of their parts.
    """
    if not check_columns(faults, frame, formula.columns, "predictor"):
        return np.empty((len(frame), 0)), np.empty(0, dtype=bool)
    predictors = {name: _columns_of(frame[name]) for name in formula.columns}
    columns: list[np.ndarray] = [np.empty((len(frame), 0))]
    continuous: list[bool] = []
    for term in formula.names:
        block, starts_with_number = predictors[term[0]]
        for name in term[1:]:
            other = predictors[name][0]
            block = (block[:, :, None] * other[:, None, :]).reshape(len(frame), -1)
        columns.append(block)
        is_number_alone = starts_with_number and len(term) == 1
        continuous += [is_number_alone and j == 0 for j in range(block.shape[1])]
    matrix = np.column_stack(columns)
    varying = np.ptp(matrix, axis=0) > 0 if len(matrix) else np.ones(matrix.shape[1], dtype=bool)
    return matrix[:, varying], np.array(continuous, dtype=bool)[varying]


def _columns_of(values: pd.Series) -> tuple[np.ndarray, bool]:
    """Columns of one predictor, and whether the first of them is a number."""
    if is_number(values):
        numbers = as_numbers(values)
        known = np.isfinite(numbers)
        if not known.any():
            return np.zeros((len(values), 1)), True
        if (largest := np.abs(numbers[known]).max()) > LARGEST:
            numbers = numbers / largest  # squares stay numbers; it is standardised anyhow
        centred = np.where(known, numbers - numbers[known].mean(), 0.0)
        spread = numbers[known].std()
        columns = [centred / spread if spread > 0 else centred]
        return np.column_stack([*columns, *([~known] if not known.all() else [])]), True
    codes, _ = encode(values)
    present = np.unique(codes)[1:]
    return (codes[:, None] == present[None, :]).astype(np.float64), False
