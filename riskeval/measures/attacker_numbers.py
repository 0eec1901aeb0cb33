"""Numbers of the prosecutor, the journalist and the marketer in an assessment."""

from __future__ import annotations

from riskeval.measures.attacker_risk import AttackerRisk, attacker_risk
from riskeval.measures.numbers import PERSONS
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import MeasureInfo, Measurement

SOURCE = "El Emam and Dankar 2008"
PROSECUTOR = MeasureInfo(
    "prosecutor_risk", "file risk", "low", "probability",
    "probability that an intruder who knows that somebody is in the file links the most exposed "
    "record",
    SOURCE, "Highest risk against the prosecutor", kinds=PERSONS, single=True,
)  # fmt: skip
JOURNALIST = MeasureInfo(
    "journalist_above", "file risk", "low", "records",
    "records that an intruder who looks for anybody of the population links with a probability "
    "above the threshold",
    SOURCE, "Records at risk from the journalist", kinds=PERSONS,
)  # fmt: skip
MARKETER = MeasureInfo(
    "marketer_risk", "file risk", "low", "probability",
    "share of the records that an intruder who matches the whole file with the population links "
    "correctly",
    "Dankar and El Emam 2010", "Risk from the marketer", kinds=PERSONS,
)  # fmt: skip
K_MAP = MeasureInfo(
    "k_map", "file risk", "high", "value", "persons of the population who share the rarest key",
    "Sweeney 2002", "k-map", kinds=PERSONS, single=True,
)  # fmt: skip


def run_attackers(request: AssessRequest) -> AttackerRisk:
    """Run the three intruders on a population table where there is one, else on the weights."""
    defaults = {"weights": request.weights, "missing": request.counts.missing}
    arguments = request.arguments("attacker_risk", **defaults)
    if arguments.get("population") is not None:
        arguments["weights"] = None
    return attacker_risk(request.frame, request.keys, **arguments)


def of_attackers(result: AttackerRisk, request: AssessRequest) -> list[Measurement]:
    """Highest risk, and what is known of the population: records above the threshold and k-map.

    Without a population table the marketer's risk is the mean individual risk.
    """
    measured = [request.measured(PROSECUTOR, result.prosecutor.max())]
    if result.source == "file":
        return measured
    how = "counted in the population" if result.source == "population" else "from the weights"
    above = result.table.set_index("attacker")["above"]["journalist"]
    measured += [
        request.measured(JOURNALIST, above, note=f"threshold {result.threshold:g}; {how}"),
        request.measured(K_MAP, result.k_map, note=how),
    ]
    if result.source == "population":
        measured.append(request.measured(MARKETER, result.journalist.mean(), note=how))
    return measured
