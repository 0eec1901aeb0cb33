"""Model matrices of both files side by side: the same columns for the same levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskeval.shared.files import FilePair
from riskeval.utility.tables import coded_alike
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.frames import numbers


@dataclass(frozen=True, slots=True, eq=False)
class DesignBlock:
    """Columns of one variable, both files stacked (original first)."""

    name: str
    # float64, shape (n + m, q): standardised numbers and an indicator of missing values, or
    # dummies of all levels but one
    values: np.ndarray
    labels: tuple[str, ...]


def variable_block(files: FilePair, name: str, categorical: bool) -> DesignBlock:
    """Columns of one variable; missing values are a level, or an indicator beside the mean."""
    if categorical or not files.numeric([name]):
        levels, *coded = coded_alike(files, name)
        codes = np.concatenate(coded)
        labels = [f"{name}={level}" for level in levels]
        if (codes == MISSING).any():
            codes[codes == MISSING] = len(levels)
            labels.append(f"{name} missing")
        dummies = (codes[:, None] == np.arange(1, len(labels))).astype(np.float64)
        return DesignBlock(name, dummies, tuple(labels[1:]))
    values = np.concatenate([numbers(frame, [name])[:, 0] for frame in files.frames])
    gap = np.isnan(values)
    columns, labels = [], []
    if not gap.all():
        known = values[~gap]
        center, spread = known.mean(), known.std()
        filled = np.where(gap, center, values) - center
        columns.append(filled / (spread if spread > 0 else 1.0))
        labels.append(name)
    if gap.any():
        columns.append(gap.astype(np.float64))
        labels.append(f"{name} missing")
    return DesignBlock(name, np.column_stack(columns), tuple(labels))


def model_matrix(
    files: FilePair, names: Sequence[str], categorical: Sequence[str], pairs: bool
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the matrix without intercept, shape (n + m, q), and its labels.

    With `pairs`, products of the columns of every two variables are added.
    """
    blocks = [variable_block(files, name, name in categorical) for name in names]
    columns = [block.values for block in blocks]
    labels = [label for block in blocks for label in block.labels]
    if pairs:
        for i, first in enumerate(blocks):
            for second in blocks[i + 1 :]:
                for a, label in enumerate(first.labels):
                    columns.append(first.values[:, [a]] * second.values)
                    labels += [f"{label} x {other}" for other in second.labels]
    return np.hstack(columns), tuple(labels)
