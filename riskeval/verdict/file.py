"""Everything that a file gives away by itself, all of its columns looked at."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from riskeval.recovery.result import Recovery
from riskeval.verdict.columns import column_evidence, missing_code_evidence, readable
from riskeval.verdict.neighbours import id_columns, neighbour_evidence
from riskeval.verdict.verdict import Finding
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join, percent

READ_BACK, FEW_CELLS = 0.1, 10
"""Share and number of suppressed cells that may follow from the file."""
MOSTLY = 0.5


def file_evidence(
    frame: pd.DataFrame,
    keys: Sequence[str],
    *,
    roles: Collection[str] = (),
    weights: str | None = None,
    household: str | None = None,
    k: int = 3,
    persons: bool = True,
) -> list[Finding]:
    """Return what a file gives away by itself, the worst first.

    roles: columns in a role other than keys, weights and household
    persons: whether a record stands for a person; of a synthetic file only single columns are read
    """
    frame = readable(frame)
    keys = [name for name in keys if name in frame]
    found = column_evidence(frame, keys)
    if persons and keys:
        found += neighbour_evidence(
            frame, keys, roles=roles, weights=weights, household=household, k=k
        )
    return [*found, *missing_code_evidence(frame, keys)]


def recovery_evidence(result: Recovery | None) -> list[Finding]:
    """Return what was suppressed and follows from the file; nothing where hardly anything does."""
    if result is None:
        return []
    cells = result.cells if result.n_right is None else result.cells[result.cells["right"]]
    sources = cells["column"].value_counts().index.tolist()
    again = "" if result.below is None else message(
        "; with them {n} records match fewer than {k}", n=count(result.below[1]), k=result.k
    )  # fmt: skip
    return read_back_evidence(len(cells), result.n_holes, sources, again)


def read_back_evidence(
    n: int, n_holes: int, names: Sequence[str], again: str = ""
) -> list[Finding]:
    """Return that `n` of the missing values of some columns follow from the file, if many do."""
    if n < FEW_CELLS or n < READ_BACK * n_holes:
        return []
    text = message(
        "{n} of {holes} missing values of {names} ({share}) follow from other columns",
        n=count(n), holes=count(n_holes), names=join(names[:3]), share=percent(n / n_holes, 0),
    )  # fmt: skip
    if not names:
        text = message(
            "{n} of {holes} missing values of keys ({share}) follow from other columns",
            n=count(n), holes=count(n_holes), share=percent(n / n_holes, 0),
        )  # fmt: skip
    return [
        Finding("suppressed values that follow", text + again,
                 value=n / n_holes, limit=READ_BACK,
                 limit_source="what chance and common knowledge may tell", records=n,
                 columns=tuple(map(str, names)), assumed="an intruder reads the whole file")
    ]  # fmt: skip


def differing_amounts(frame: pd.DataFrame) -> list[str]:
    """Return the columns of numbers, but for identifiers, that differ in most of the records."""
    ids = id_columns(frame)
    return [
        str(name) for name in frame
        if name not in ids and is_number(frame[name])
        and frame[name].nunique() > MOSTLY * len(frame)
    ]  # fmt: skip


def columns_not_tried(frame: pd.DataFrame, roles: Collection[str]) -> list[str]:
    """Say which columns outside the roles differ in most records: nobody asked who knows them."""
    left = [str(name) for name in frame if name not in readable(frame)]
    frame = readable(frame)
    ids = id_columns(frame)
    open_ends = [message("{names} cannot be read as values", names=join(left))] if left else []
    differing = [name for name in differing_amounts(frame) if name not in roles]
    if differing:
        open_ends.append(message(
            "{names} differ in most records and are not among the roles: an intruder who knows "
            "them finds persons", names=join(differing[:8]),
        ))  # fmt: skip
    numbering = [name for name in frame if name in ids and name not in roles]
    if numbering:
        open_ends.append(message(
            "{names} number records: they must not be numbers of another file",
            names=join([str(name) for name in numbering]),
        ))  # fmt: skip
    return open_ends
