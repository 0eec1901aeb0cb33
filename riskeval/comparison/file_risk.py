"""Risk of a file by itself, on its own levels, by the registry of measures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from riskeval.comparison.request import CompareRequest
from riskeval.measures.assess import file_measurements
from riskeval.measures.individual import HOUSEHOLD_RISK, LARGEST_HOUSEHOLD
from riskeval.measures.l_diversity import NOT_DIVERSE
from riskeval.measures.registry import MEASURES
from riskeval.shared.measurement import Measurement, not_measured
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.roles.microdata import Microdata

HOUSEHOLD = (HOUSEHOLD_RISK, LARGEST_HOUSEHOLD)


def file_risk(
    request: CompareRequest, frame: pd.DataFrame, weights: np.ndarray | None, kind: str
) -> list[Measurement]:
    """Run every measure of the registry that takes any file."""
    keys = [name for name in request.keys if name in frame]
    absent = [name for name in request.keys if name not in frame]
    sensitive = [name for name in request.sensitive if name not in keys]
    if request.keys and not keys:
        return _nothing(message("no key is in the release"), sensitive)
    note = f"without {', '.join(absent)}" if absent else ""
    household = request.household if request.household in frame else None
    present = [name for name in sensitive if name in frame]
    amounts = [] if keys else [n for n in request.numeric if n in frame and is_number(frame[n])]
    file = Microdata(
        frame, keys=keys, weight=weights, household=household, sensitive=present, numeric=amounts
    )
    measured = file_measurements(file, limits=request.limits, kind=kind)
    measured = [one.noted(note) for one in measured]
    for name in sensitive:
        if name not in frame:
            measured += not_measured(
                [NOT_DIVERSE], message("{name} is not in the release", name=name), [name]
            )
    if request.household is not None and household is None:
        measured += not_measured(
            HOUSEHOLD, message("{household} is not in the release", household=request.household)
        )
    return measured


def _nothing(why: str, sensitive: list[str]) -> list[Measurement]:
    unmeasured = []
    for measure in MEASURES.values():
        if measure.compared:
            targets = sensitive if "sensitive" in measure.needs else [""]
            unmeasured += not_measured(measure.infos, why, targets)
    return unmeasured
