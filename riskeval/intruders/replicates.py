"""The five scenarios over several synthetic populations of one fit: a mean with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.requests import ALL_SCENARIOS
from riskeval.intruders.scenarios import CAVEAT, STORIES, intruder_scenarios
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedRisk(Result):
    """Risk of a way to generate populations, not of one population.

    Attributes
    ----------
    table : DataFrame
        One row a scenario and accuracy: `scenario`, `accuracy`, `tau` (mean over populations),
        `sd`, `lower`, `upper` (t interval of the mean), `smallest`, `largest`, `rate` (mean tau
        divided by the sample size), and means of `tau_literal`, `tau_zero` and, where asked for,
        `tau_expected` and `rate_holdout`.
    replicates : DataFrame
        The table of `intruder_scenarios` of every population, with its number in `population`.
    n_populations, n_sample : int
    confidence : float
    target : str
    """

    table: pd.DataFrame
    replicates: pd.DataFrame
    n_populations: int
    n_sample: int
    confidence: float
    target: str

    def to_frame(self) -> pd.DataFrame:
        """Return the table of means."""
        return self.table

    def summary(self) -> str:
        """Say what the means and their intervals mean, one sentence a scenario."""
        lines = [
            f"Mean over {self.n_populations} synthetic populations of the number of the "
            f"{self.n_sample:,} sample records whose {self.target} an intruder finds, with the "
            f"{self.confidence:.0%} interval of that mean (draws of the population; the survey and "
            "the fitted models are taken as given)."
        ]
        for scenario, rows in self.table.groupby("scenario", sort=False):
            told = [
                f"{row.tau:.3g} ({row.lower:.3g} to {row.upper:.3g}) within {row.accuracy:.3g}"
                for row in rows.itertuples()
                if not np.isnan(float(str(row.tau)))
            ]
            story = STORIES[int(str(scenario))]
            lines.append(f"Scenario {scenario} ({story}): {', '.join(told) or 'not computed'}.")
        return "\n".join([*lines, CAVEAT])


def scenario_replicates(
    sample: Any,
    populations: Iterable[Any],
    keys: Sequence[str] | str,
    target: str,
    *,
    accuracy: Sequence[float] | float = (0.01, 0.02, 0.05),
    intervals: tuple[str, str] | None = None,
    scenarios: Sequence[int] = ALL_SCENARIOS,
    weights: str | np.ndarray | None = None,
    missing: str = "category",
    open_interval: str = "value",
    holdout: Any = None,
    confidence: float = 0.95,
) -> ReplicatedRisk:
    """Average the five scenarios over synthetic populations drawn from the same fit.

    One population is one draw: its tau moves from draw to draw. The mean with its interval is the
    risk of publishing a population made in this way.

    Parameters
    ----------
    populations : iterable of populations
        Each as in `intruder_scenarios`; a generator that makes one at a time keeps one in memory.
    confidence : float in (0, 1)
        Of the t interval of the mean; NaN for one population.
    sample, keys, target, accuracy, intervals, scenarios, weights, missing, open_interval, holdout
        As in `intruder_scenarios`.

    Returns
    -------
    ReplicatedRisk

    Raises
    ------
    InputError
        As `intruder_scenarios`; no population; `confidence` not in (0, 1).

    Notes
    -----
    No randomness of its own. The book asks for these averages (Templ 2017, section 6.3.2: "many
    data sets need to be generated").

    Examples
    --------
    >>> sample = pd.DataFrame({"region": ["A", "B"], "income": [100.0, 200.0]})
    >>> draws = [pd.DataFrame({"region": ["A", "B"], "income": [v, 900.0]}) for v in (100.0, 300.0)]
    >>> risk = scenario_replicates(sample, draws, "region", "income", scenarios=(2,), accuracy=0.05)
    >>> risk.table[["tau", "smallest", "largest"]].values.tolist()
    [[0.5, 0.0, 1.0]]
    """
    faults = Faults("scenario_replicates")
    if isinstance(confidence, bool) or not isinstance(confidence, float) or not 0 < confidence < 1:
        faults.add("confidence", f"{confidence!r} is not a number between 0 and 1")
    if isinstance(populations, (pd.DataFrame, str)) or not isinstance(populations, Iterable):
        faults.add("populations", "is not a collection of populations", remedy="Give a list.")
    faults.raise_if_any()
    tables = []
    n_sample = 0
    for number, population in enumerate(populations):
        risk = intruder_scenarios(
            sample, population, keys, target, accuracy=accuracy, intervals=intervals,
            scenarios=scenarios, weights=weights, missing=missing, open_interval=open_interval,
            holdout=holdout,
        )  # fmt: skip
        tables.append(risk.table.assign(population=number))
        n_sample = risk.n_sample
    if not tables:
        faults.add("populations", "holds no population")
        faults.raise_if_any()
    replicates = pd.concat(tables, ignore_index=True)
    return ReplicatedRisk(
        table=_means(replicates, len(tables), n_sample, confidence),
        replicates=replicates,
        n_populations=len(tables),
        n_sample=n_sample,
        confidence=confidence,
        target=target,
    )


def _means(replicates: pd.DataFrame, m: int, n_sample: int, confidence: float) -> pd.DataFrame:
    from scipy.stats import t

    groups = replicates.groupby(["scenario", "accuracy"], sort=False)
    tau = groups["tau"]
    mean, sd = tau.mean(), tau.std(ddof=1)
    half = t.ppf((1 + confidence) / 2, m - 1) * sd / np.sqrt(m) if m > 1 else sd
    table = pd.DataFrame(
        {
            "tau": mean,
            "sd": sd,
            "lower": (mean - half).clip(lower=0.0),
            "upper": mean + half,
            "smallest": tau.min(),
            "largest": tau.max(),
            "rate": mean / n_sample,
        }
    )
    for name in ("tau_literal", "tau_zero", "tau_expected", "rate_holdout"):
        if name in replicates:
            table[name] = groups[name].mean()
    return table.reset_index()
