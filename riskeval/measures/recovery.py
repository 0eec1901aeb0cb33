"""Recovery of suppressed key values in an assessment: its entry and its numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from riskeval.measures.entry import PERSONS, Measure
from riskeval.measures.request import AssessRequest
from riskeval.recovery.result import Recovery
from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import count

RECOVERED = MeasureInfo(
    "recovered", "file risk", "low", "records",
    "missing key values that follow from the rest of the file: household members, number of rows, "
    "weights, other columns, order of the records",
    "de Waal and Willenborg 1997", "Key values that can be read back", kinds=PERSONS,
)  # fmt: skip


@cache
def below_recovered(k: int) -> MeasureInfo:
    """Return what violations of k-anonymity are once missing values were read back."""
    return MeasureInfo(
        f"below_{k}_after_recovery", "file risk", "low", "records",
        message(
"records whose keys fewer than {k} records share once these values are filled "
"in", k=k),
        "de Waal and Willenborg 1997", message("Violations of {k}-anonymity after recovery", k=k),
        kinds=PERSONS,
    )  # fmt: skip


def _run_recovery(request: AssessRequest) -> Recovery:
    from riskeval.recovery.recover import recover

    frame = request.frame
    is_key = np.broadcast_to(frame.columns.isin(request.file.roles.keys), frame.shape)
    return recover(
        request.file,
        k=request.limits.k or 3,
        suppressed=pd.DataFrame(is_key, columns=frame.columns),
        **request.arguments("recovery"),
    )


def of_recovery(result: Recovery, request: AssessRequest) -> list[Measurement]:
    """Key values that follow from the rest of the file, and records that are rare with them.

    With an original beside the file only values that are right count.
    """
    assert result.below is not None
    cells = result.cells if result.n_right is None else result.cells[result.cells["right"]]
    sources = [
        message(str(rule)) + " " + count(n) for rule, n in cells["rule"].value_counts().items()
    ]
    note = message("from {rules}", rules=joined_by(", ", sources)) if sources else ""
    if not result.n_holes:
        note = message("no key value is missing")
    holes = max(result.n_holes, 1)
    limit = None if request.limits.k is None else 0
    return [
        request.measured(RECOVERED, len(cells), records=holes, note=note),
        request.measured(
            below_recovered(result.k), result.below[1], limit=limit,
            limit_source=message("as for {k}-anonymity", k=result.k) if limit == 0 else "",
        ),
    ]  # fmt: skip


MEASURE = Measure(
    name="recovery",
    rank=30,
    title="Recovery of missing keys",
    question="Which missing key values can be read back from the rest of the file?",
    blind_spots="values that follow from other files, or by models that are no rule of the file",
    source="de Waal and Willenborg 1997",
    function="riskeval.recovery.recover:recover",
    run=_run_recovery,
    measurements=of_recovery,
    options=("strata", "components", "household_variables", "household_size", "rules", "certainty"),
    infos=(RECOVERED, below_recovered(3)),
)
