"""New identifiers that tell nothing about the old ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.result import Protected, protected
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import cell_ids, encode_keys
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count
from synthpop.microdata.roles.microdata import as_file


@same_library
def create_new_id(
    data: Any,
    column: str,
    *,
    within: str | Sequence[str] | None = None,
    also: Sequence[str] = (),
    seed: int | None = None,
) -> Protected:
    """Replace identifiers by random numbers 1, 2, ..., equal ids by equal numbers.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    column : str
        The identifier; missing values stay missing.
    within : str or sequence of str, optional
        Number anew from 1 within each combination of these columns (persons within a household).
    also : sequence of str
        Further columns that hold the same identifiers (of the mother, the partner); an identifier
        that `column` does not have becomes missing there.
    seed : int, optional

    Returns
    -------
    Protected
        The columns are int64, or Int64 where a value is missing. The key from old to new numbers
        is not in the result; whoever has the data and the seed can rebuild it, so the seed must
        not be published.

    Raises
    ------
    InputError
        Unknown columns, a column named in two roles.

    Notes
    -----
    Equal ids stay equal, so that members keep one household id: `household` has no meaning here.

    Examples
    --------
    >>> people = pd.DataFrame({"hid": [1001, 1001, 1007], "mother": [None, 1001, None]})
    >>> new = create_new_id(people, "hid", also=["mother"], seed=4).data
    >>> new["hid"].nunique(), sorted(new["hid"].unique()), new["mother"][1] == new["hid"][0]
    (2, [np.int64(1), np.int64(2)], np.True_)
    """
    faults = Faults("create_new_id")
    frame = as_file(data, faults).indexed
    by = [] if within is None else list(listed_names(within))
    columns = [column, *also]
    check_columns(faults, frame, dict.fromkeys(columns), "identifier")
    check_columns(faults, frame, by, "within")
    if len({*columns, *by}) < len(columns) + len(by):
        faults.add("column, within, also", "name a column twice")
    streams = read_secret(faults, seed)
    faults.raise_if_any()
    rng = streams.at("create_new_id", column)
    values = pd.concat([frame[name].astype(object) for name in columns], ignore_index=True)
    coded, uniques = pd.factorize(values, use_na_sentinel=True)
    groups = np.zeros(len(frame), dtype=np.int64)
    if by:
        groups = cell_ids(encode_keys(frame, by).codes)[0]
    # 1. the ids of the column in each group, numbered at random
    codes = coded.reshape(len(columns), len(frame))  # of the columns, one below the other
    n_ids = len(uniques) + 1
    cells = groups * n_ids + codes
    distinct = np.unique(cells[0, codes[0] >= 0])
    order = np.lexsort((rng.random(len(distinct)), distinct // n_ids))
    of_group = distinct[order] // n_ids
    starts = np.searchsorted(of_group, of_group)
    numbers = np.empty(len(distinct), dtype=np.int64)
    numbers[order] = np.arange(len(distinct)) - starts + 1
    # 2. these numbers wherever an id stands; what is no id of the column becomes missing
    released = frame.copy(deep=False)
    for name, codes_of_column, cell in zip(columns, codes, cells, strict=True):
        has_id = (codes_of_column >= 0) & np.isin(cell, distinct)
        new = np.zeros(len(frame), dtype=np.int64)
        new[has_id] = numbers[np.searchsorted(distinct, cell[has_id])]
        ids = pd.Series(new, index=frame.index)
        released[name] = ids if has_id.all() else ids.astype("Int64").mask(~has_id)
    return protected(
        frame,
        released,
        columns,
        method="create_new_id",
        parameters={"column": column, "within": by or None, "also": list(also)},
        seed=streams.seed,
        notes=[message("{n} identifiers were renumbered at random.", n=count(len(distinct)))],
    )


METHOD = ProtectionMethod(
    run=create_new_id,
    rank=110,
    title="New identifiers",
    question="Which random numbers replace identifiers?",
    blind_spots="records that their other columns, or their place in the file, give away",
    example={"column": "db030"},
)
