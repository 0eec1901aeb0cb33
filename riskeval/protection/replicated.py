"""Replicated uniques taken out of a synthetic file: records that look like one real person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, with_fewer_records
from riskeval.protection.where import with_their_households
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import cell_ids, encode, recode_to
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join, percent
from synthpop.microdata.roles.microdata import Microdata, as_file


@same_library
def remove_replicated_uniques(
    data: Any, original: Any, *, keys: Sequence[str] | None = None, household: str | None = None
) -> Protected:
    """Leave out the records of a synthetic file that are unique there and in the original.

    Parameters
    ----------
    data : DataFrame or another table
        The synthetic file.
    original : DataFrame or another table
        The confidential file that it was made of.
    keys : sequence of str, optional
        Variables on which both are unique. Default: all that both files have.
    household : str, optional
        Column of household ids of the synthetic file: the whole household goes with a record.

    Returns
    -------
    Protected
        Fewer records; ``details["rows"]`` are the positions of those that are left. Missing values
        are a level of their own.

    Raises
    ------
    InputError
        Unknown columns, no key, no record would be left.

    Notes
    -----
    R synthpop calls this statistical disclosure control of a synthetic file (Nowok, Raab and Dibben
    2016; Raab, Nowok and Dibben 2024). Records that leave are themselves a sign: who knows the
    original's uniques sees which are absent, and shares of rare kinds are too small afterwards.
    Nothing is drawn at random.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [30, 30, 71], "job": [*"aab"]})
    >>> synthetic = pd.DataFrame({"age": [30, 71, 30, 30], "job": [*"abba"]})
    >>> remove_replicated_uniques(synthetic, original).data["job"].tolist()
    ['a', 'b', 'a']
    """
    faults = Faults("remove_replicated_uniques")
    file, truth = as_file(data, faults, household=household), as_file(original, faults)
    shared = [str(name) for name in file.frame if name in truth.frame and name != household]
    names = shared if keys is None else [*keys]
    for frame, said in ((file.frame, "key of the synthetic file"), (truth.frame, "key")):
        check_columns(faults, frame, names, said)
    if not names:
        faults.add("keys", "no column is in both files", hint="Name them alike.")
    faults.raise_if_any()
    replicated = _unique_in_both(file.frame[names], truth.frame[names])
    gone = with_their_households(file, replicated)
    if len(gone) and gone.all():
        faults.add("data", "every record is a replicated unique", hint="Make another file.")
    faults.raise_if_any()
    return with_fewer_records(
        file, np.flatnonzero(~gone), method="remove_replicated_uniques",
        parameters={"keys": names, "household": household}, notes=[_note(file, replicated, names)],
    )  # fmt: skip


def _unique_in_both(synthetic: pd.DataFrame, original: pd.DataFrame) -> np.ndarray:
    """Records of the first file whose values occur once in each; bool, shape (n,)."""
    n, columns = len(synthetic), []
    for name in synthetic:
        codes, levels = encode(original[name])
        released, unknown = recode_to(synthetic[name], levels)
        columns.append(np.concatenate([np.where(unknown, -2, released), codes]) + 2)
    ids = cell_ids(np.column_stack(columns).astype(np.int64))[0]
    known = ~(np.column_stack(columns)[:n] == 0).any(axis=1)  # no level of the original is -2
    cells = ids.max(initial=-1) + 1
    once = [np.bincount(part, minlength=cells) == 1 for part in (ids[:n], ids[n:])]
    return np.asarray(known & once[0][ids[:n]] & once[1][ids[:n]])


def _note(file: Microdata, replicated: np.ndarray, names: Sequence[str]) -> str:
    return message(
        "{n} of {all} records ({share}) were unique in both files on {names}.",
        n=count(int(replicated.sum())), all=count(len(file)),
        share=percent(float(replicated.mean()) if len(file) else 0.0), names=join(names),
    )  # fmt: skip
