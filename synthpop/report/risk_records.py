"""Which survey persons and keys carry the risk of the intruder scenarios; for internal pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import CodedKeys, cell_ids, encode_keys

MOST_RECORDS = 10
MOST_KEYS = 3
MOST_COMBINATIONS = 250
MOST_OF_A_SIZE = 4
MATCHING = ("scenario_1", "scenario_2", "scenario_3", "scenario_4")


def riskiest_records(risk: Any, frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the survey persons that the matching scenarios find most surely; None without such.

    Columns: ``record`` (from 1), the keys as text, ``matches`` in the population, ``alone``
    (probability to be unique in the country) and ``found`` (probability that the value is found,
    given that).
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
    table = frame[keys].iloc[order].astype("string").reset_index(drop=True)
    table.insert(0, "record", order + 1)
    matches = pd.to_numeric(records["n_matches"], errors="coerce")
    table["matches"] = matches.to_numpy(dtype=np.float64)[order]
    table["alone"] = alone[order] if "alone" in records else np.nan
    table["found"] = largest[order]
    return table


def key_contributions(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return how many survey persons are unique on all keys, and on all but one.

    Returns DataFrame: ``key`` (empty for all keys together), ``unique``: sample uniques without
        that key.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [1, 1, 2, 3], "sex": list("fmff")})
    >>> key_contributions(frame, ["age", "sex"])["unique"].tolist()
    [4, 1, 2]
    """
    coded = encode_keys(frame, keys)
    places = range(len(keys))
    rows = [("", int(_is_unique(coded, places).sum()))]
    for place, key in enumerate(keys):
        other_places = [other for other in places if other != place]
        rows.append((key, int(_is_unique(coded, other_places).sum())))
    return pd.DataFrame(rows, columns=["key", "unique"])


def key_combinations(
    frame: pd.DataFrame, keys: Sequence[str], records: Sequence[int] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return on which combinations of one to three keys survey persons are unique, and how many.

    The table has the four combinations of each size with the most sample uniques; the list the
    first smallest combination of each of the `records`. A missing value is a level of its key.
    """
    coded = encode_keys(frame, keys)
    rows: list[tuple[str, int]] = []
    smallest = [""] * len(records)
    n_counted = 0
    for n_keys in range(1, min(MOST_KEYS, len(keys)) + 1):
        n_counted += comb(len(keys), n_keys)
        if n_counted > MOST_COMBINATIONS:
            break
        uniques = {
            ", ".join(keys[place] for place in places): _is_unique(coded, places)
            for places in combinations(range(len(keys)), n_keys)
        }
        totals = sorted(((text, int(is_unique.sum())) for text, is_unique in uniques.items()),
                        key=lambda row: -row[1])  # fmt: skip
        rows += [row for row in totals[:MOST_OF_A_SIZE] if row[1]]
        for place, record in enumerate(records):
            if not smallest[place]:
                smallest[place] = next((text for text in uniques if uniques[text][record]), "")
    return pd.DataFrame(rows, columns=["keys", "unique"]), smallest


def _is_unique(coded: CodedKeys, places: Sequence[int]) -> np.ndarray:
    """Return which rows share their values of some of the keys with nobody; bool, shape (n,)."""
    sizes = [len(coded.levels[place]) for place in places]
    cells, n_cells = cell_ids(coded.codes[:, list(places)], sizes)
    return np.bincount(cells, minlength=n_cells)[cells] == 1
