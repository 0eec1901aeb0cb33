"""What a release no longer tells of each column: one number from 0 to 1 a column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.session.roles import SessionRoles
from synthpop.microdata.frame.codes import cell_ids, encode
from synthpop.microdata.frame.frames import as_numbers


def role_losses(
    original: pd.DataFrame, released: pd.DataFrame, roles: SessionRoles
) -> dict[str, float]:
    """Return the loss of each key, numeric key, sensitive and post-randomised column."""
    categories = dict.fromkeys([*roles.keys, *roles.sensitive, *roles.pram])
    losses = {n: category_loss(original[n], released[n]) for n in categories}
    return {**losses, **{n: number_loss(original[n], released[n]) for n in roles.numeric}}


def category_loss(original: pd.Series, released: pd.Series) -> float:
    """Return H(X | Y) / H(X): the share of the entropy of X that Y leaves open.

    X is the original and Y the released column; a missing value of Y is a category, records whose
    X is missing are left out. 0 where X has one category only.
    """
    before, after = encode(original)[0], encode(released)[0]
    filled = before >= 0
    pairs = np.column_stack([before[filled], after[filled]]).astype(np.int64)
    of_original = _entropy(np.bincount(pairs[:, 0], minlength=1))
    if of_original <= 0:
        return 0.0
    of_both = _entropy(np.bincount(cell_ids(pairs)[0]))
    of_release = _entropy(np.bincount(pairs[:, 1] + 1, minlength=1))
    return float(min(max((of_both - of_release) / of_original, 0.0), 1.0))


def number_loss(original: pd.Series, released: pd.Series) -> float:
    """Return the mean absolute change as a part of what the median in place of all would cost.

    A missing released value counts as the median; records without an original value are left out.
    The loss of a category where the released column holds no numbers; at most 1, 0 for a constant.
    """
    if not pd.api.types.is_numeric_dtype(released.dtype):
        return category_loss(original, released)
    before = as_numbers(original)
    after = as_numbers(released)
    known = np.isfinite(before)
    if not known.any():
        return 0.0
    centre = float(np.median(before[known]))
    after = np.where(np.isfinite(after), after, centre)
    worst = float(np.abs(before[known] - centre).sum())
    moved = float(np.abs(before[known] - after[known]).sum())
    return min(moved / worst, 1.0) if worst > 0 else 0.0


def cells_lost(original: pd.DataFrame, released: pd.DataFrame, keys: Sequence[str]) -> float:
    """Return the share of the cells of the keys that became missing."""
    n_lost = sum(int((original[n].notna() & released[n].isna()).sum()) for n in keys)
    return n_lost / (len(original) * len(keys)) if len(original) and keys else 0.0


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log(shares)).sum())
