"""Which survey persons and keys carry the risk of the intruder scenarios; for internal pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

MOST_RECORDS = 10
MATCHING = ("scenario_1", "scenario_2", "scenario_3", "scenario_4")


def riskiest_records(risk: Any, frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the survey persons that the matching scenarios find most surely.

    Parameters
    ----------
    risk : object with ``per_record`` and ``keys``
        Rows of `per_record` are those of `frame`, in its order.
    frame : DataFrame
        The survey.

    Returns
    -------
    DataFrame or None
        ``record`` (from 1 in the order of the survey), the keys, ``matches`` in the population,
        ``alone`` (probability to be unique in the country; missing without weights) and ``found``
        (probability that a scenario finds the value, given that). None without such records.
    """
    records = getattr(risk, "per_record", None)
    keys = [name for name in getattr(risk, "keys", ()) if name in frame]
    if records is None or len(records) != len(frame) or not keys:
        return None
    columns = [name for name in records if str(name).startswith(MATCHING)]
    if not columns:
        return None
    largest = np.nan_to_num(records[columns].to_numpy(dtype=np.float64)).max(axis=1)
    alone = np.ones(len(records))
    if "alone" in records:
        alone = np.nan_to_num(records["alone"].to_numpy(dtype=np.float64))
    score = largest * alone
    order = np.argsort(-score, kind="stable")[:MOST_RECORDS]
    order = order[score[order] > 0]
    if not len(order):
        return None
    table = frame[keys].iloc[order].astype(str).reset_index(drop=True)
    table.insert(0, "record", order + 1)
    matches = pd.to_numeric(records["n_matches"], errors="coerce")
    table["matches"] = matches.to_numpy(dtype=np.float64)[order]
    table["alone"] = alone[order] if "alone" in records else np.nan
    table["found"] = largest[order]
    return table


def key_contributions(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return how many survey persons are unique on all keys, and on all but one.

    Returns
    -------
    DataFrame
        ``key`` (empty for all keys together), ``unique``: sample uniques without that key.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [1, 1, 2, 3], "sex": list("fmff")})
    >>> key_contributions(frame, ["age", "sex"])["unique"].tolist()
    [4, 1, 2]
    """
    names = [name for name in keys if name in frame]
    rows = [("", _uniques(frame, names))]
    rows += [(name, _uniques(frame, [k for k in names if k != name])) for name in names]
    return pd.DataFrame(rows, columns=["key", "unique"])


def _uniques(frame: pd.DataFrame, keys: list[str]) -> int:
    if not keys:
        return int(len(frame) == 1)
    sizes = frame.groupby(keys, dropna=False, observed=True, sort=False).size()
    return int((sizes == 1).sum())
