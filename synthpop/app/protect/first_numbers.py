"""The numbers of the risk that take little time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from synthpop.app.protect.state import ProtectState

QUICK = ("frequencies", "k_anonymity", "individual_risk")


def first_numbers(state: ProtectState, frame: pd.DataFrame) -> dict[str, Any]:
    """Return the first numbers of the risk of a file, by their keys."""
    from riskeval.measures.assess import assess
    from riskeval.report.values import shown

    assessment = assess(
        frame,
        keys=list(state.roles.keys),
        weights=state.roles.weights,
        household=state.roles.household,
        measures=QUICK,
        k=sorted({2, 3, 5, state.k}),
        limits=dict(state.limits),
    )
    return {
        measurement.key: {
            "title": measurement.title,
            "meaning": measurement.info.meaning,
            "text": shown(measurement),
            "value": float(measurement.value),
            "within": measurement.within,
        }
        for measurement in assessment.measurements
    }
