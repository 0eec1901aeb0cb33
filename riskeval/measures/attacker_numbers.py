"""Numbers of the prosecutor, the journalist and the marketer in an assessment."""

from __future__ import annotations

from riskeval.measures.attacker_risk import AttackerRisk, attacker_risk
from riskeval.measures.numbers import person_risk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted

SOURCE = "El Emam and Dankar 2008"
PROSECUTOR = person_risk(
    "prosecutor_risk", "Highest risk against the prosecutor", "probability",
    "probability that an intruder who knows that somebody is in the file links the most exposed "
    "record", SOURCE, single=True,
)  # fmt: skip
JOURNALIST = person_risk(
    "journalist_above", "Records at risk from the journalist", "records",
    "records that an intruder who looks for anybody of the population links with a probability "
    "above the threshold", SOURCE,
)  # fmt: skip
MARKETER = person_risk(
    "marketer_risk", "Risk from the marketer", "probability",
    "share of the records that an intruder who matches the whole file with the population links "
    "correctly", "Dankar and El Emam 2010",
)  # fmt: skip
K_MAP = person_risk(
    "k_map", "k-map", "value", "persons of the population who share the rarest key", "Sweeney 2002",
    better="high", single=True,
)  # fmt: skip


def run_attackers(request: AssessRequest) -> AttackerRisk:
    """Run the three intruders on a population table where there is one, else on the weights."""
    defaults = {"weights": request.weights, "missing": request.counts.missing}
    arguments = request.arguments("attacker_risk", **defaults)
    if arguments.get("population") is not None:
        arguments["weights"] = None
    return attacker_risk(request.file, request.keys, **arguments)


def of_attackers(result: AttackerRisk, request: AssessRequest) -> list[Measurement]:
    """Highest risk, and what is known of the population: records above the threshold and k-map.

    Without a population table the marketer's risk is the mean individual risk.
    """
    measured = [request.measured(PROSECUTOR, result.prosecutor.max())]
    if result.source == "file":
        return measured
    how = (
        message("counted in the population")
        if result.source == "population"
        else message("from the weights")
    )
    above = result.table.set_index("attacker")["above"]["journalist"]
    measured += [
        request.measured(
            JOURNALIST,
            above,
            note=message(
                "threshold {threshold}; {how}", threshold=formatted(result.threshold, "g"), how=how
            ),
        ),
        request.measured(K_MAP, result.k_map, note=how),
    ]
    if result.source == "population":
        measured.append(request.measured(MARKETER, result.journalist.mean(), note=how))
    return measured
