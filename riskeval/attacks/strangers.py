"""Whether a hold-out holds strangers: persons who are not in the original."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.attacks.distance.space import as_points
from riskeval.attacks.indexer import number_rows
from riskeval.attacks.request import AttackRequest, read_request
from riskeval.attacks.shares import excess
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, percent

CONFIDENCE = 0.99


def overlap_of(
    original: pd.DataFrame,
    holdout: pd.DataFrame | None,
    names: Sequence[str],
    categorical: Sequence[str] = (),
) -> str:
    """Say that the hold-out holds records of the original, where chance does not explain it.

    Chance is the share of original records that equal another original one in these columns.

    Examples
    --------
    >>> people = pd.DataFrame({"age": range(40), "income": range(100, 140)})
    >>> overlap_of(people, people[:20], ["age", "income"])[:54]
    '20 of 20 records of the hold-out equal a record of the'
    >>> overlap_of(people, people + 0.5, ["age", "income"])
    ''
    """
    if holdout is None:
        return ""
    request = read_request("hold-out", list(dict.fromkeys(names)), categorical=categorical)
    try:
        shared, twins = shared_records(original, holdout, request)
    except InputError:  # columns of other types: each attack says so
        return ""
    beyond = excess(shared, twins, CONFIDENCE)
    if beyond is None or not beyond.is_above:
        return ""
    return message(
        "{n} of {all} records of the hold-out equal a record of the original in all of "
        "{names}, compared with {chance} by chance, so they are not strangers",
        n=count(int(shared.sum())),
        all=count(len(shared)),
        names=", ".join(names),
        chance=percent(twins.mean(), 1),
    )


def shared_records(
    original: pd.DataFrame, holdout: pd.DataFrame, request: AttackRequest
) -> tuple[np.ndarray, np.ndarray]:
    """Which hold-out records equal an original one in all columns, and which originals another."""
    frames = {"original": original, "holdout": holdout}
    points, _ = as_points(frames, request)
    both = [np.column_stack([np.nan_to_num(file.numbers, nan=np.inf), file.codes])
            for file in (points["original"], points["holdout"])]  # fmt: skip
    number = number_rows(np.vstack(both) + 0.0)[0]  # one zero, whatever its sign
    n = len(original)
    sizes = np.bincount(number[:n], minlength=int(number.max(initial=-1)) + 1)
    return sizes[number[n:]] > 0, sizes[number[:n]] > 1
