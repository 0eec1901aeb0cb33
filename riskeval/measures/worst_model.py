"""Individual risk by the worst of several models: what an intruder finds if it is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.individual import risk_of_request
from riskeval.measures.individual_result import IndividualRisk
from riskeval.measures.request import AssessRequest
from riskeval.measures.uniqueness import PopulationUniqueness, population_uniqueness
from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, plural


@dataclass(frozen=True, slots=True, eq=False)
class WorstModel(Result):
    """Risk of each record by the worst of the models.

    Attributes
    ----------
    risk : float64, shape (n,)
        The individual risk; of a record that is alone on the values that it shows at least the
        largest probability that such a record is alone in the population.
    alone : bool, shape (n,)
    probability : float
        That probability: the largest of the methods of population uniqueness.
    by_weights : float64, shape (n,)
        The individual risk (Franconi and Polettini), from the weights of each key alone.
    """

    risk: np.ndarray
    alone: np.ndarray
    probability: float
    by_weights: np.ndarray

    @property
    def expected(self) -> float:
        """Expected correct links."""
        return float(self.risk.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a record."""
        return pd.DataFrame({"risk": self.risk, "alone": self.alone})

    def table(self) -> pd.DataFrame:
        """Return one row a model: `assumption`, `expected`, `highest`.

        Of these the last is to be cited: a limit is met when it is met by the worst of them.
        """
        return pd.DataFrame(
            {
                "assumption": [
                    "the population of each key is what its weights say",
                    message(
                        "a record alone in the file is alone in the population with probability "
                        "{probability}",
                        probability=number(self.probability),
                    ),
                ],
                "expected": [float(self.by_weights.sum()), self.expected],
                "highest": [float(rows.max(initial=0.0)) for rows in (self.by_weights, self.risk)],
            }
        )

    def summary(self) -> str:
        """Return what an intruder finds by either model."""
        n = int(self.alone.sum())
        if not n:
            return message(
                "No record is alone on the values that it shows: the models of population "
                "uniqueness add nothing to {sum} expected correct links.",
                sum=number(self.by_weights.sum()),
            )
        return message(
            "{n} alone on the values shown. By their weights {sum} correct links are "
            "expected; by the most pessimistic model of population uniqueness, in which "
            "such a record is alone in the population with probability {probability}, "
            "{expected}. Limits are judged by the larger number.",
            n=plural(n, "record is", "records are"),
            sum=number(self.by_weights.sum()),
            probability=number(self.probability),
            expected=number(self.expected),
        )


def worst_model(individual: IndividualRisk, uniqueness: PopulationUniqueness) -> WorstModel:
    """Join the individual risk with the probability that a unique record is a population unique.

    Parameters
    ----------
    individual : IndividualRisk
    uniqueness : PopulationUniqueness
        Of the same keys.

    Returns
    -------
    WorstModel
        Nothing is drawn at random.

    Examples
    --------
    >>> from riskeval.measures.individual import individual_risk
    >>> people = pd.DataFrame({"age": range(50), "w": 1000.0})
    >>> by_weights = individual_risk(people, ["age"], weights="w")
    >>> worst = worst_model(by_weights, population_uniqueness(people, ["age"], weights="w"))
    >>> round(float(by_weights.risk.max()), 3), float(worst.risk.max())
    (0.007, 1.0)
    """
    table = individual.counts.keys
    f, _ = match_counts(table, "conservative")
    alone = (f < 2 * (1 - 1e-12))[table.cell]
    most = uniqueness.tau1_range[1]
    probability = 0.0
    if uniqueness.n_sample_uniques and np.isfinite(most):
        probability = min(most / uniqueness.n_sample_uniques, 1.0)
    risk = np.where(alone, np.maximum(individual.risk, probability), individual.risk)
    return WorstModel(risk, alone, probability, individual.risk)


SOURCE = "Dankar et al. 2012"
WORST_EXPECTED = person_risk(
    "worst_expected", "Expected re-identifications (worst model)", "persons",
    "records that an intruder links correctly on average if the most pessimistic model of the "
    "population is right", SOURCE,
)  # fmt: skip
WORST_GLOBAL = person_risk(
    "worst_global_risk", "Mean individual risk (worst model)", "probability",
    "mean probability of a correct link if the most pessimistic model of the population is right",
    SOURCE,
)  # fmt: skip
WORST_RECORD = person_risk(
    "worst_record_risk", "Highest risk of a record (worst model)", "probability",
    "probability that the most exposed record is linked correctly if the most pessimistic model of "
    "the population is right", SOURCE, single=True,
)  # fmt: skip


def _run_worst_model(request: AssessRequest) -> WorstModel:
    size = request.population_size
    uniqueness = population_uniqueness(request.file, population_size=size)
    return worst_model(risk_of_request(request), uniqueness)


def of_worst_model(result: WorstModel, request: AssessRequest) -> list[Measurement]:
    """Expected links and risks by the worst of the models, judged by the limits of the risks."""
    limits = request.limits
    note = message("{n} alone on the values shown", n=plural(int(result.alone.sum()), "record"))
    source = "as for the individual risk"
    return [
        request.measured(WORST_EXPECTED, result.expected, note=note),
        request.measured(
            WORST_GLOBAL, result.expected / max(len(result.risk), 1), note=note,
            limit=limits.global_risk, limit_source=source,
        ),
        request.measured(
            WORST_RECORD, result.risk.max(initial=0.0), note=note, limit=limits.record_risk,
            limit_source=source,
        ),
    ]  # fmt: skip


MEASURE = Measure(
    name="worst_model",
    rank=45,
    title="Worst of the models",
    question="What does an intruder find if the most pessimistic model of the population is right?",
    blind_spots=(
        "which of the records that are alone on the values shown are alone in the population; "
        "models that fit worse than those that it tries"
    ),
    source=SOURCE,
    function=worst_model,
    run=_run_worst_model,
    measurements=of_worst_model,
    needs=("population",),
    infos=(WORST_EXPECTED, WORST_GLOBAL, WORST_RECORD),
)
