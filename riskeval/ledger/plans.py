"""A release that agrees with earlier ones: the same cells hidden, their classes, their noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from riskeval.ledger.columns import Readable
from riskeval.ledger.knowledge import EarlierRelease
from riskeval.ledger.linking import AGREES, FEW_PAIRS

COLUMNS = ["column", "release", "what", "n"]


def make_consistent(
    frame: pd.DataFrame, new: Mapping[str, Readable], earlier: Sequence[EarlierRelease],
    keys: Sequence[str], wave: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
    """Return the release with what earlier ones show in its place, and what was done.

    Later releases come last: where several differ, the last one counts for values, and a cell that
    any of them hides is hidden.
    """
    result, rows = frame.copy(deep=False), []
    for one in earlier:
        if one.synthetic:
            continue
        for name in (name for name in new if name in one.columns):
            record = one.links.teller.get(name, one.links.record)
            own, other = new[name], one.columns[name]
            what = _what(own, other, record, name in keys, one.wave == wave)
            if not what:
                continue
            linked = record >= 0
            if what == "hide the same cells":
                cells = linked & (other.hash[record] == 0) & (own.hash != 0)
                result[name] = result[name].mask(cells)
            else:
                shown = other.shown.reset_index(drop=True).reindex(np.where(linked, record, -1))
                shown.index = result.index
                cells = linked | (what == "use its classes")
                result[name] = shown if cells.all() else _put(result[name], shown, cells)
            rows.append((name, one.name, what, int(cells.sum())))
    return result, pd.DataFrame(rows, columns=COLUMNS)


def hide_rest(
    frame: pd.DataFrame, keys: Sequence[str], rare: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the release without the keys of some records, and what was done.

    rare: bool, shape (n,)
    """
    result, rows = frame.copy(deep=False), []
    for name in keys:
        cells = rare & frame[name].notna().to_numpy()
        if cells.any():
            result[name] = result[name].mask(cells)
            rows.append((name, "", "hide what is left", int(cells.sum())))
    return result, pd.DataFrame(rows, columns=COLUMNS)


def not_linked(earlier: Sequence[EarlierRelease], n: int) -> np.ndarray:
    """Return which of n records have more than one candidate, or none, in a release of theirs."""
    apart = [one.links.record < 0 for one in earlier if one.links.n_linked and not one.synthetic]
    return np.logical_or.reduce(apart) if apart else np.zeros(n, dtype=bool)


def _what(own: Readable, other: Readable, record: np.ndarray, is_key: bool, same_wave: bool) -> str:
    """Return what makes a column agree with an earlier one; empty where nothing is needed."""
    both = np.flatnonzero(record >= 0)
    known = both[(own.hash[both] != 0) & (other.hash[record[both]] != 0)]
    if len(known) < FEW_PAIRS:
        return ""
    same = (own.hash[known] == other.hash[record[known]]).mean()
    if same >= AGREES:
        hidden = (other.hash[record[both]] == 0) & (own.hash[both] != 0)
        return "hide the same cells" if is_key and hidden.any() else ""
    if own.low is not None and other.low is not None and "classes" in (own.kind, other.kind):
        return "use its classes"
    return "use its values" if same_wave else ""


def _put(values: pd.Series, shown: pd.Series, cells: np.ndarray) -> pd.Series:
    """Return a column with other values in some cells."""
    if isinstance(values.dtype, pd.CategoricalDtype) or values.dtype != shown.dtype:
        return values.astype(object).where(~cells, shown.astype(object))
    return values.where(~cells, shown)
