"""Categories that sample and population are compared in, coded the same way in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import MISSING_LABEL, encode
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number
from synthpop.models.breaks import breaks, class_bounds, classify

UNKNOWN_LABEL = "not in the survey"
ZERO_SHARE = 0.005
CLASS_SHARES = (0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A categorical variable; codes 0 ... L - 1 are levels, L missing, L + 1 any other value."""

    name: str
    levels: tuple[Any, ...]
    labels: tuple[str, ...]
    limits: np.ndarray | None = None  # class limits of a number that is compared in classes
    zeros: bool = False  # zero is a class of its own

    @property
    def n_codes(self) -> int:
        """Number of codes, with those for missing and other values."""
        return len(self.labels)

    def code(self, values: pd.Series) -> np.ndarray:
        """Return the code of each value, shape (n,)."""
        if self.limits is not None:
            numbers = as_numbers(values)
            codes = classify(numbers, self.limits, zeros=self.zeros).astype(np.int64)
            codes[codes < 0] = len(self.levels)
            return codes
        column_codes, levels = _own_codes(values)
        position = {level: code for code, level in enumerate(self.levels)}
        unseen = len(self.levels) + 1
        table = [position.get(level, unseen) for level in levels] + [len(self.levels)]
        return np.array(table, dtype=np.int64)[column_codes]


def _own_codes(values: pd.Series) -> tuple[np.ndarray, Sequence[Any]]:
    """Codes and levels of a column by itself, in no order; -1 is missing."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), values.cat.categories.tolist()
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 1000:
            return values.to_numpy() - low, range(low, high + 1)
    codes, uniques = pd.factorize(values, use_na_sentinel=True)
    return codes, np.asarray(uniques, dtype=object).tolist()


def make_factor(sample: pd.Series, more_levels: Sequence[Any] = ()) -> Factor:
    """Return the factor of a column of the sample, with further levels of the population."""
    levels = tuple(dict.fromkeys((*encode(sample)[1], *more_levels)))
    labels = (*(text_of(level) for level in levels), MISSING_LABEL, UNKNOWN_LABEL)
    return Factor(str(sample.name), levels, labels)


def make_classes(sample: pd.Series, weights: np.ndarray) -> Factor:
    """Return the classes of a number: weighted fifths of the sample, zero a class of its own."""
    values = as_numbers(sample)
    has_value = ~np.isnan(values)
    zero = weights[has_value & (values == 0)].sum() > ZERO_SHARE * weights[has_value].sum()
    limits = breaks(values, weights, probs=CLASS_SHARES, zeros=bool(zero), equidist=True)
    limits = np.unique(np.concatenate([[-np.inf], limits[1:-1], [np.inf]]))
    labels = _class_texts(limits, bool(zero))
    return Factor(
        str(sample.name),
        tuple(range(len(labels))),
        (*labels, MISSING_LABEL, UNKNOWN_LABEL),
        limits,
        bool(zero),
    )


def _class_texts(limits: np.ndarray, zeros: bool) -> tuple[str, ...]:
    texts = []
    for low, high in zip(*class_bounds(limits, zeros=zeros), strict=True):
        if low == high:
            texts.append("0")
        elif low == -np.inf:
            texts.append(
                message("up to {high}", high=number(high, 6)) if high != 0 else message("below 0")
            )
        elif high == np.inf:
            texts.append(message("over {low}", low=number(low, 6)))
        else:
            texts.append(message("over {low} to {high}", low=number(low, 6), high=number(high, 6)))
    return tuple(texts)


def text_of(level: Any) -> str:
    """Return a level as text; whole numbers without decimals."""
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)
