"""The log-linear models in an assessment: their entry and its numbers."""

from __future__ import annotations

from typing import Any

from riskeval.keys.table import ALONE
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural

TAU1 = person_risk(
    "tau1", "tau_1 of the log-linear model", "persons",
    "unique records expected to be alone in the population", "Skinner and Shlomo 2008",
)  # fmt: skip
TAU2 = person_risk(
    "tau2", "tau_2 of the log-linear model", "persons",
    "unique records that an intruder is expected to link correctly", "Skinner and Shlomo 2008",
)  # fmt: skip
HOUSEHOLDS = person_risk(
    "loglinear_households", "Household risk of the log-linear model", "persons",
    "persons in a household of which some member is expected to be linked correctly, under the "
    "log-linear model", "Templ 2017, section 3.6; Skinner and Shlomo 2008",
)  # fmt: skip


def of_loglinear(result: Any, request: AssessRequest) -> list[Measurement]:
    """The two measures of Skinner and Shlomo and, with households, the persons in them."""
    note = plural(result.n_uniques, *ALONE)
    if result.n_left_out:
        note += "; " + message(
            "{n_left_out} with a missing key left out",
            n_left_out=plural(result.n_left_out, "record"),
        )
    measured = [
        request.measured(TAU1, result.tau1, note=note),
        request.measured(TAU2, result.tau2, note=note),
    ]
    if result.household_risk is not None:
        measured.append(
            request.measured(
                HOUSEHOLDS, result.expected_household_reidentifications, note=result.formula
            )
        )
    return measured


def _run_loglinear(request: AssessRequest) -> Any:
    from riskeval.measures.loglinear.model import loglinear_risk

    return loglinear_risk(request.file, **request.arguments("loglinear"))


MEASURE = Measure(
    name="loglinear",
    rank=70,
    title="Log-linear model",
    question="How many unique records does a model of the table expect to be found?",
    blind_spots="ties that the model leaves out; a model with too many terms understates",
    source="Skinner and Shlomo 2008",
    function="riskeval.measures.loglinear.model:loglinear_risk",
    run=_run_loglinear,
    measurements=of_loglinear,
    needs=("weights",),
    options=("formula", "method", "bound", "inclusion", "fit"),
    compared=False,
)
