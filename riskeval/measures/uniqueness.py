"""Population uniqueness from the sample alone: Pitman, Zayatz, slide negative binomial, Dankar.

These models look only at how many keys occur once, twice ... in the sample and at the sampling
fraction; they give the risk of the file, not of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import ALONE, key_table
from riskeval.measures.entry import Measure, missing_note, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.measures.uniqueness_models import pitman_uniques, snb_uniques, zayatz_uniques
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, number, percent, plural
from synthpop.microdata.roles.microdata import as_file

METHODS = ("pitman", "zayatz", "snb")
SMALL_FRACTION = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class PopulationUniqueness(TableResult):
    """Estimated number of persons who are alone in the population with their key.

    Attributes
    ----------
    table : DataFrame
        One row per method ("pitman", "zayatz", "snb"): ``population_uniques`` (persons of the
        population alone with their key), ``share`` of the population, ``sample_uniques`` (how
        many of the sample uniques are population uniques: tau_1), ``probability`` (that a sample
        unique is a population unique) and ``note``. NaN where a method has no solution.
    chosen : str
        Method that the rule of Dankar et al. takes.
    n_records, population_size : int, float
    fraction : float
        Sampling fraction.
    n_keys, n_sample_uniques : int
        Distinct keys and keys that occur once in the sample.
    keys : tuple of str
    """

    table: pd.DataFrame
    chosen: str
    n_records: int
    population_size: float
    fraction: float
    n_keys: int
    n_sample_uniques: int
    keys: tuple[str, ...]

    @property
    def population_uniques(self) -> float:
        """Estimate of the chosen method."""
        return float(self.table.loc[self.chosen, "population_uniques"])  # type: ignore[arg-type]

    @property
    def tau1(self) -> float:
        """Sample uniques that are population uniques, by the chosen method."""
        return float(self.table.loc[self.chosen, "sample_uniques"])  # type: ignore[arg-type]

    @property
    def tau1_range(self) -> tuple[float, float]:
        """Smallest and largest estimate of `tau1` over the methods that have one."""
        estimates = self.table["sample_uniques"].dropna()
        if estimates.empty:
            return float("nan"), float("nan")
        return float(estimates.min()), float(estimates.max())

    def summary(self) -> str:
        """Return the estimate of the chosen method and why it was chosen."""
        why = (
            message("the sampling fraction is at most 0.1")
            if self.fraction <= SMALL_FRACTION
            else message(
                "the sampling fraction is above 0.1 and it is the smaller of two estimates"
            )
        )
        return (
            message(
                "About {population_uniques} of {population_size} persons ({share}) are unique "
                "in the population on {keys}. Of the {n_sample_uniques} of the file about "
                "{tau1} are such population uniques, for which a match is certain. Method: "
                "{chosen}, since {why} (rule of Dankar et al. 2012); the three methods range "
                "from {low} to {high} such records, so take the number as an order of "
                "magnitude.",
                population_uniques=count(self.population_uniques),
                population_size=count(self.population_size),
                share=percent(self.population_uniques / self.population_size, 3),
                keys=", ".join(self.keys),
                n_sample_uniques=plural(self.n_sample_uniques, *ALONE),
                tau1=number(self.tau1),
                chosen=self.chosen,
                why=why,
                low=number(self.tau1_range[0]),
                high=number(self.tau1_range[1]),
            )
            if self.n_records
            else message("The file is empty: nobody is unique.")
        )


@same_library
def population_uniqueness(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weights: Any = None,
    population_size: float | None = None,
) -> PopulationUniqueness:
    """Estimate how many persons are unique in the population, and in the sample at once.

    Parameters
    ----------
    data, keys, weights
        The file and its roles (see `Microdata`). A missing key is a category of its own here: the
        models are for tables whose cells do not overlap. Of weights the sum counts.
    population_size : float, optional
        Persons of the population, at least n.

    Returns
    -------
    PopulationUniqueness
        The models assume simple random sampling of persons. Nothing is drawn at random.

    Raises
    ------
    InputError
        Neither weights nor population size, or a population smaller than the file.

    Notes
    -----
    Pitman: maximum likelihood in the Pitman sampling formula (Hoshino 2001), over both of its
    domains (alpha from 0 to 1; alpha below 0, with a finite number of keys, where that is clearly
    more likely), then the expected number of classes of size one,

        N Gamma(theta + alpha + N - 1) Gamma(theta + 1) / (Gamma(theta + alpha) Gamma(theta + N)).

    Zayatz (1991): Bayes' rule with hypergeometric sampling and the class sizes of the sample as
    prior. Slide negative binomial (Chen and Keller-McNulty 1998): class sizes are one plus a
    negative binomial; three moments (persons, non-empty classes, unique classes) under Bernoulli
    sampling. Rule of Dankar et al. (2012), doi:10.1186/1472-6947-12-66: Pitman up to a sampling
    fraction of 0.1 (Zayatz where it has no solution), else the smaller of Zayatz and the slide
    negative binomial.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"key": [1, 1, 1, 2, 2, 3, 4, 5]})
    >>> result = population_uniqueness(data, ["key"], population_size=20)
    >>> result.n_sample_uniques, round(float(result.table.loc["zayatz", "probability"]), 3)
    (3, 0.553)
    """
    faults = Faults("population uniqueness")
    file = as_file(data, faults, keys=keys, weights=weights, columns=())
    values, n = file.weights, len(file)
    size = float("nan")
    if population_size is not None:
        size = float(population_size)
    elif values is not None:
        size = float(np.sum(values))
    elif weights is None:
        faults.add("population_size", "is not given", hint="Give it, or weights to add up.")
    if size < n * (1 - 1e-12):
        faults.add(
            "population_size", f"{size:g} persons, fewer than the {plural(n, 'record')} of the file"
        )
    faults.raise_if_any()
    counts = key_table(file).counts.astype(np.int64)
    return _estimate(counts, n, max(size, n), file.roles.keys)


def _estimate(
    counts: np.ndarray, n: int, population: float, names: tuple[str, ...]
) -> PopulationUniqueness:
    uniques = int(np.count_nonzero(counts == 1))
    fraction = n / population if population else 1.0
    notes = dict.fromkeys(METHODS, "")
    if uniques == 0:
        estimates = dict.fromkeys(METHODS, 0.0)
        notes = dict.fromkeys(METHODS, message("no record is unique"))
    elif fraction >= 1:
        estimates = dict.fromkeys(METHODS, float(uniques))
        notes = dict.fromkeys(METHODS, message("the file is the population"))
    else:
        estimates = {
            "pitman": pitman_uniques(counts, population),
            "zayatz": zayatz_uniques(counts, population),
            "snb": snb_uniques(counts, population),
        }
        for method, value in estimates.items():
            if not np.isfinite(value):
                notes[method] = message("the likelihood or the moments have no solution")
    # the rule of Dankar et al. (2012)
    chosen = "snb" if estimates["snb"] <= estimates["zayatz"] else "zayatz"
    if fraction <= SMALL_FRACTION:
        chosen = "pitman" if np.isfinite(estimates["pitman"]) else "zayatz"
    estimate = np.array([estimates[method] for method in METHODS])
    in_both = np.minimum(estimate * fraction, uniques)
    table = pd.DataFrame(
        {
            "population_uniques": estimate,
            "share": estimate / max(population, 1),
            "sample_uniques": in_both,
            "probability": in_both / max(uniques, 1),
            "note": [notes[method] for method in METHODS],
        },
        index=pd.Index(METHODS, name="method"),
    )
    return PopulationUniqueness(
        table=table,
        chosen=chosen,
        n_records=n,
        population_size=population,
        fraction=fraction,
        n_keys=len(counts),
        n_sample_uniques=uniques,
        keys=names,
    )


POPULATION_UNIQUES = person_risk(
    "population_uniques", "Population uniques in the file", "persons",
    "unique records that are alone in the population as well: a match with them is certain",
    "Dankar et al. 2012",
)  # fmt: skip


def of_uniqueness(result: PopulationUniqueness, request: AssessRequest) -> list[Measurement]:
    """Population uniques by the chosen method, with the range of the others."""
    if not result.n_records:
        return []
    low, high = result.tau1_range
    note = message(
        "method {chosen}; the three methods give {low} to {high}; {n_sample_uniques}",
        chosen=result.chosen,
        low=number(low),
        high=number(high),
        n_sample_uniques=plural(result.n_sample_uniques, *ALONE),
    )
    missing = missing_note(request, "own-category")
    measured = request.measured(POPULATION_UNIQUES, result.tau1, lower=low, upper=high, note=note)
    return [measured.noted(missing)]


MEASURE = Measure(
    name="population_uniqueness",
    rank=60,
    title="Population uniqueness",
    question="How many unique records are alone in the population too?",
    blind_spots="which records these are; ties between keys (only the numbers of rare keys enter)",
    source="Hoshino 2001; Zayatz 1991; Dankar et al. 2012",
    function=population_uniqueness,
    run=lambda request: population_uniqueness(
        request.file, population_size=request.population_size
    ),
    measurements=of_uniqueness,
    needs=("population",),
    compared=False,
)
