"""Individual risk by the worst of several models: what an intruder finds if it is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.measures.individual_result import IndividualRisk
from riskeval.measures.uniqueness import PopulationUniqueness
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
                    f"a record alone in the file is alone in the population with probability "
                    f"{number(self.probability)}",
                ],
                "expected": [float(self.by_weights.sum()), self.expected],
                "highest": [float(rows.max(initial=0.0)) for rows in (self.by_weights, self.risk)],
            }
        )

    def summary(self) -> str:
        """Return what an intruder finds by either model."""
        n = int(self.alone.sum())
        if not n:
            return (
                "No record is alone on the values that it shows: the models of population "
                f"uniqueness add nothing to {number(self.by_weights.sum())} expected correct links."
            )
        return (
            f"{plural(n, 'record is', 'records are')} alone on the values shown. By their weights "
            f"{number(self.by_weights.sum())} correct links are expected; by the most pessimistic "
            "model of population uniqueness, in which such a record is alone in the population "
            f"with probability {number(self.probability)}, {number(self.expected)}. Limits are "
            "judged by the larger number."
        )


def worst_model(individual: IndividualRisk, uniqueness: PopulationUniqueness) -> WorstModel:
    """Join the individual risk with the probability that a unique record is a population unique."""
    table = individual.counts.keys
    f, _ = match_counts(table, "conservative")
    alone = (f < 2 * (1 - 1e-12))[table.cell]
    most = uniqueness.tau1_range[1]
    probability = 0.0
    if uniqueness.n_sample_uniques and np.isfinite(most):
        probability = min(most / uniqueness.n_sample_uniques, 1.0)
    risk = np.where(alone, np.maximum(individual.risk, probability), individual.risk)
    return WorstModel(risk, alone, probability, individual.risk)
