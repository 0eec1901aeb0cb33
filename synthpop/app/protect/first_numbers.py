"""The numbers of the risk that take little time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synthpop.microdata.messages.errors import Faults

if TYPE_CHECKING:
    import pandas as pd

    from riskeval.session.session import ProtectionSession
    from synthpop.app.protect.state import ProtectState

QUICK = ("frequencies", "k_anonymity", "individual_risk")


def first_numbers(
    state: ProtectState, session: ProtectionSession, frame: pd.DataFrame
) -> dict[str, Any]:
    """Return the first numbers of the risk of a file, by their keys.

    A file of amounts without keys is compared with its original, record by record: {} where it
    has other records than the original and the current file of the session.
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
    else:
        whole = len(frame) == len(session.original_frame)
        original = session.original_frame if whole else session.original_of_current()
        if len(original) != len(frame):
            return {}
        limits = read_limits(Faults("limits"), state.limits)
        measured = (*risk_measurements(original, frame, session.roles, (), limits),)
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
