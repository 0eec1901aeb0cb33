"""One answer on the risk in the population: unique persons, right links, the most exposed record.

How many persons of the file are alone in the population, how many links of an intruder are right,
and how likely is that of the most exposed: by a model of the whole key table, with the uncertainty
of the file, of the model and of who else lives in the population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import weighted_key_table
from riskeval.measures.counts import counts_of
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.individual import risk_of_counts, risk_of_request
from riskeval.measures.latent_classes import share_draws
from riskeval.measures.loglinear.mixing import match_risks
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import SHARE, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import number, percent, plural
from synthpop.microdata.roles.microdata import Microdata, as_file
from synthpop.microdata.statistics.streams import Streams, resolve_seed

MODEL_BIAS, FEWER, MORE = 0.15, 0.5, 0.7
"""Median of the logarithm by which the model misses the persons of rare keys, and its spread below
and above, as seen on populations that are known whole (`python -m benchmarks.population_risk`)."""
COLUMNS = ["intruder", "assumption", "expected", "lower", "upper", "highest"]


@dataclass(frozen=True, slots=True, eq=False)
class PopulationRisk(TableResult):
    """Risk of a file in its population, with intervals.

    Attributes
    ----------
    table : DataFrame
        One row an intruder: `intruder`, `assumption`, `expected` (right links), `lower`, `upper`
        (of the interval, missing where the assumption leaves nothing open), `highest` (probability
        for the most exposed record, the upper end where there is an interval). The last row is the
        one that limits are judged by.
    unique, links : tuple of float
        Persons of the file who are alone in the population with the values that they show, and
        right links of an intruder who links every record: estimate, lower and upper end.
    risk, upper : float64, shape (n,)
        Probability that a link with each record is right, and its upper end.
    alone : bool, shape (n,)
        Records alone in the file on the values that they show.
    by_weights : float64, shape (n,)
        The individual risk (Franconi and Polettini), from the weights of each key alone.
    confidence : float
    seed : int
    keys : tuple of str
    """

    table: pd.DataFrame
    unique: tuple[float, float, float]
    links: tuple[float, float, float]
    risk: np.ndarray
    upper: np.ndarray
    alone: np.ndarray
    by_weights: np.ndarray
    confidence: float
    seed: int
    keys: tuple[str, ...]

    def summary(self) -> str:
        """Return the three answers with their intervals."""
        n = len(self.risk)
        if not n:
            return message("The file is empty: nobody is at risk.")
        return message(
            "Of {n} about {unique} ({unique_low} to {unique_high}) are of persons who are alone in "
            "the population on {keys}; an intruder who links every record is right about "
            "{links} times ({low} to {high}); for the most exposed record with probability "
            "{highest} (at most {upper}). Intervals of {confidence} hold the uncertainty of the "
            "file, of the model and of the population; limits are judged by their upper ends.",
            n=plural(n, "record"),
            unique=number(self.unique[0]),
            unique_low=number(self.unique[1]),
            unique_high=number(self.unique[2]),
            keys=", ".join(self.keys),
            links=number(self.links[0]),
            low=number(self.links[1]),
            high=number(self.links[2]),
            highest=number(self.risk.max()),
            upper=number(self.upper.max()),
            confidence=percent(self.confidence, 0),
        )


@same_library
def population_risk(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weights: Any = None,
    population_size: float | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
) -> PopulationRisk:
    """Estimate who of a file is unique in the population, and how many links are right.

    Parameters
    ----------
    data, keys, weights
        The file and its roles (see `Microdata`). A record with missing keys stands for persons with
        the values that it shows, whatever the others are.
    population_size : float, optional
        Persons of the population; the sum of the weights when not given.
    confidence : float in (0, 1)
    seed : int, optional
        Of the sampler.

    Returns
    -------
    PopulationRisk

    Raises
    ------
    InputError
        Neither weights nor population size, a population smaller than the file, no keys.

    Notes
    -----
    1. The shares of all keys of the file in the population are drawn from the posterior of a
       latent class model (`latent_classes.share_draws`); with weights from a pseudo-posterior. At
       most 10,000 records, drawn at random, are fitted.
    2. Each draw is multiplied by a factor whose logarithm has median 0.15 and the scores of a
       normal distribution with standard deviation 0.5 below and 0.7 above it, the error of the
       model on populations that are known whole; for a key with f records they are divided by
       1 + 0.49 f and by its root. The scores are systematic, so that ends do not hang on luck.
    3. Of a key with f records, inclusion probability pi and N s expected persons, F - f persons
       who are not in the file are drawn from Poisson((1 - pi) N s), and 1/F and F = 1 are counted.

    Ends are quantiles over the draws. The probability of a record is E(1/F | f) at the median of
    its N s, its upper end at the lower quantile (Skinner and Shlomo 2008,
    doi:10.1198/016214507000001328).

    Examples
    --------
    >>> people = pd.DataFrame({"age": range(50), "w": 1000.0})
    >>> risk = population_risk(people, ["age"], weights="w", seed=1)
    >>> risk.links[0] < 1, int(risk.alone.sum())
    (True, 50)
    """
    faults = Faults("population risk")
    file = as_file(data, faults, keys=keys, weights=weights, columns=())
    check(faults, {"confidence": SHARE}, {"confidence": confidence})
    size = population_size
    if size is None and file.weights is not None:
        size = max(float(np.sum(file.weights)), len(file))
    if size is None:
        faults.add("population_size", "is not given", hint="Give it, or weights to add up.")
    elif size < len(file):
        faults.add("population_size", f"{size:g} persons, fewer than the records of the file")
    faults.raise_if_any()
    assert size is not None
    by_weights = risk_of_counts(counts_of(file, "wildcard", 1.0), file).risk
    return _estimate(file, float(size), by_weights, confidence, resolve_seed(seed))


def _estimate(
    file: Microdata, size: float, by_weights: np.ndarray, confidence: float, seed: int
) -> PopulationRisk:
    from scipy.special import ndtri

    table = weighted_key_table(file)
    n = len(file)
    f, big_f = match_counts(table, "visible")
    records = table.counts
    weighted = big_f if file.weights is not None else f * size / max(n, 1)
    pi = np.minimum(f / np.maximum(weighted, f), 1.0)
    # 1. Expected persons of each key, by draw, with the error of the model
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    rng = Streams(seed).at("population risk")
    person = np.ones(n) if file.weights is None else file.weights
    draws = np.zeros((1, len(f)))
    if n:
        order = np.lexsort((person, table.cell))  # the order of the file has no part
        draws = share_draws(table.codes[table.cell[order]], person[order], table.codes, rng)
        known = 1 / np.sqrt(1 + MORE**2 * f)  # records of a key tell how common it is
        scores = ndtri((rng.permutation(len(draws))[:, None] + 0.5) / len(draws))
        error = np.where(scores < 0, FEWER, MORE) * scores
        draws *= size * np.exp(MODEL_BIAS * known**2 + error * known)
    # 2. Persons who are not in the file, and what follows
    persons = f + rng.poisson((1 - pi) * draws)
    unique = (persons < 2) @ np.where(f < 2, records, 0.0)
    links = (1 / persons) @ records
    # 3. The probability of each record
    middle, low = np.quantile(draws, [0.5, ends[0]], axis=0)
    risk, upper = (match_risks("poisson", 0.0, f, mean, pi)[table.cell] for mean in (middle, low))
    answers = []
    for values in (unique, links):
        lowest, highest = np.quantile(values, ends)
        answers.append((float(values.mean()), float(lowest), float(highest)))
    rows = [
        (message("knows who is in the file"), message("the values that records show are right"),
         float((records / f).sum()), *_NONE, float((1 / f).max(initial=0.0))),
        (message("does not know it"), message("the persons of a key are what its weights say"),
         float(by_weights.sum()), *_NONE, float(by_weights.max(initial=0.0))),
        (message("does not know it"), message("the keys hang together as in the file"),
         *answers[1], float(upper.max(initial=0.0))),
    ]  # fmt: skip
    return PopulationRisk(
        pd.DataFrame(rows, columns=COLUMNS), answers[0], answers[1], risk, upper,
        (f < 2 * (1 - 1e-12))[table.cell], by_weights, confidence, seed, file.roles.keys,
    )  # fmt: skip


_NONE = (float("nan"), float("nan"))
SOURCE = "Manrique-Vallier and Reiter 2012"
UNIQUE_PERSONS = person_risk(
    "unique_persons", "Persons of the file who are unique in the population", "persons",
    "records of persons who are alone in the population with the values that they show", SOURCE,
)  # fmt: skip
LINKS = person_risk(
    "population_links", "Expected re-identifications (upper end)", "persons",
    "records that an intruder links correctly: the upper end of the interval", SOURCE,
)  # fmt: skip
MEAN_RISK = person_risk(
    "population_global_risk", "Mean individual risk (upper end)", "probability",
    "mean probability of a correct link: the upper end of the interval", SOURCE,
)  # fmt: skip
RECORD = person_risk(
    "population_record_risk", "Highest risk of a record (upper end)", "probability",
    "probability that the most exposed record is linked correctly: the upper end of the interval",
    SOURCE, single=True,
)  # fmt: skip


def _run(request: AssessRequest) -> PopulationRisk:
    size = request.population_size
    assert size is not None  # it needs a population
    by_weights = risk_of_request(request).risk
    seed = request.arguments("population_risk").get("seed", 1)
    return _estimate(request.file, size, by_weights, 0.95, resolve_seed(seed))


def of_population_risk(result: PopulationRisk, request: AssessRequest) -> list[Measurement]:
    """Unique persons, right links, and risks; limits are judged by upper ends."""
    limits, n = request.limits, max(len(result.risk), 1)
    source = "as for the individual risk"
    estimate, low, high = result.links
    note = message("estimate {estimate}, {low} to {high}", estimate=number(estimate),
                   low=number(low), high=number(high))  # fmt: skip
    return [
        request.measured(UNIQUE_PERSONS, result.unique[0], lower=result.unique[1],
                         upper=result.unique[2]),
        request.measured(LINKS, high, note=note),
        request.measured(MEAN_RISK, high / n, limit=limits.global_risk, limit_source=source),
        request.measured(
            RECORD, result.upper.max(initial=0.0), limit=limits.record_risk, limit_source=source,
            note=message("estimate {risk}", risk=number(result.risk.max(initial=0.0))),
        ),
    ]  # fmt: skip


MEASURE = Measure(
    name="population_risk",
    rank=45,
    title="Risk in the population",
    question="Who is unique in the population, and how often is an intruder right?",
    blind_spots=(
        "what single records are unique in truth; populations in which rare keys come in pairs, "
        "which a sample cannot show"
    ),
    source=SOURCE,
    function=population_risk,
    run=_run,
    measurements=of_population_risk,
    needs=("population",),
    options=("seed",),
    infos=(UNIQUE_PERSONS, LINKS, MEAN_RISK, RECORD),
)
