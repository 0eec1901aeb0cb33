"""The verdict on the current file of a protection session."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from riskeval.session.roles import SessionRoles
from riskeval.shared.measurement import Measurement
from riskeval.verdict.amounts import amount_evidence
from riskeval.verdict.file import columns_not_tried, file_evidence
from riskeval.verdict.verdict import ReleaseVerdict, verdict_of
from synthpop.microdata.frame.frames import is_number


def session_verdict(
    original: pd.DataFrame,
    current: pd.DataFrame,
    roles: SessionRoles,
    measured: Iterable[Measurement],
    k: int,
) -> ReleaseVerdict:
    """Judge limits, unchanged amounts of numeric keys, and every column that is released."""
    current = current.drop(columns=[name for name in roles.drop if name in current])
    named = {*roles.keys, *roles.numeric, *roles.sensitive, *roles.pram}
    named |= {one for one in (roles.weights, roles.household) if one is not None}
    numeric = [name for name in roles.numeric if is_number(current[name])]
    found = amount_evidence(original, current, numeric)
    weights, household = (
        one if one in current else None for one in (roles.weights, roles.household)
    )
    found += file_evidence(
        current, roles.keys, roles=named, weights=weights, household=household, k=k
    )
    return verdict_of(found, measured, not_tried=columns_not_tried(current, named))
