"""The numbers of the risk that take little time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synthpop.microdata.messages.errors import Faults

if TYPE_CHECKING:
    import pandas as pd

    from riskeval.session.roles import SessionRoles
    from synthpop.app.protect.state import ProtectState

QUICK = ("frequencies", "k_anonymity", "individual_risk")


def first_numbers(
    state: ProtectState, original: pd.DataFrame, frame: pd.DataFrame, roles: SessionRoles
) -> dict[str, Any]:
    """Return the first numbers of the risk of a file, by their keys.

    Of a file without keys those of its amounts, where its records are those of the original.
    """
    from riskeval.measures.assess import assess
    from riskeval.measures.request import read_limits
    from riskeval.report.values import shown
    from riskeval.session.measure import risk_measurements

    if state.roles.keys:
        measured = assess(
            frame,
            keys=list(state.roles.keys),
            weights=state.roles.weights,
            household=state.roles.household,
            measures=QUICK,
            k=sorted({2, 3, 5, state.k}),
            limits=dict(state.limits),
        ).measurements
    elif len(original) != len(frame):
        return {}
    else:
        limits = read_limits(Faults("limits"), state.limits)
        measured = (*risk_measurements(original, frame, roles, (), limits),)
    return {
        measurement.key: {
            "title": measurement.title,
            "meaning": measurement.info.meaning,
            "text": shown(measurement),
            "value": float(measurement.value),
            "within": measurement.within,
        }
        for measurement in measured
    }
