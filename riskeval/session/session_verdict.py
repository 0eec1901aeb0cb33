"""The verdict on the current file of a protection session."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from riskeval.measures.recovery import RECOVERED
from riskeval.recovery.result import Recovery
from riskeval.session.roles import SessionRoles
from riskeval.shared.measurement import Measurement
from riskeval.verdict.amounts import amount_evidence, amounts_of
from riskeval.verdict.file import (
    columns_not_tried,
    file_evidence,
    read_back_evidence,
    recovery_evidence,
)
from riskeval.verdict.verdict import ReleaseVerdict, verdict_of
from synthpop.microdata.frame.frames import is_number


def session_verdict(
    original: pd.DataFrame,
    current: pd.DataFrame,
    roles: SessionRoles,
    measured: Iterable[Measurement],
    k: int,
) -> ReleaseVerdict:
    """Judge limits, unchanged amounts, values that follow, and every column that is released."""
    measured = list(measured)
    current = current.drop(columns=[name for name in roles.drop if name in current])
    named = {*roles.keys, *roles.numeric, *roles.sensitive, *roles.pram}
    named |= {one for one in (roles.weights, roles.household) if one is not None}
    shared = current[[name for name in current if name in original]]
    numeric = amounts_of(shared, roles.keys, roles.numeric, [*named - {*roles.numeric}])
    numeric = [name for name in numeric if is_number(current[name])]
    found = amount_evidence(original, current, numeric)
    weights, household = (
        one if one in current else None for one in (roles.weights, roles.household)
    )
    found += file_evidence(
        current, roles.keys, roles=named, weights=weights, household=household, k=k
    )
    read_back = [one for one in measured if one.info is RECOVERED and one.value > 0]
    for one in read_back:
        found += read_back_evidence(int(one.value), one.records, [])
    if not read_back:
        found += recovery_evidence(_of_older_holes(original, current, roles, k))
    return verdict_of(found, measured, not_tried=columns_not_tried(current, named))


def _of_older_holes(
    original: pd.DataFrame, current: pd.DataFrame, roles: SessionRoles, k: int
) -> Recovery | None:
    """Return which key values that were missing from the start follow from the current file."""
    from riskeval.recovery.recover import recover

    older = pd.DataFrame(False, index=current.index, columns=current.columns)
    for name in roles.keys:
        older[name] = original[name].isna().to_numpy() & current[name].isna().to_numpy()
    if not older.to_numpy().any():
        return None
    return recover(current, household=roles.household, weights=roles.weights, keys=roles.keys,
                   suppressed=older, k=k)  # fmt: skip
