"""The five scenarios over several synthetic populations of one fit: a mean with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.attacks.matching.attack import attack
from riskeval.attacks.matching.request import ALL_SCENARIOS, read_scenario_request
from riskeval.attacks.matching.scenarios import caveat, story_of, units_of
from riskeval.attacks.matching.tables import risk_table
from riskeval.attacks.scenario import Scenario
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import SHARE, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, percent, plural, short_percent
from synthpop.microdata.statistics.streams import Streams, resolve_seed

if TYPE_CHECKING:
    from riskeval.measures.uniqueness import PopulationUniqueness


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedRisk(TableResult):
    """Risk of a way to generate populations, not of one population.

    Attributes
    ----------
    table : DataFrame
        One row per scenario and accuracy (and target, when there are several): `scenario`,
        `accuracy`, `tau` (mean over populations), `sd`, `lower`, `upper` (t interval of the mean),
        `smallest`, `largest`, `rate` (mean tau divided by the number of records), and means of
        `tau_literal`, `tau_zero` and, where they exist, `tau_baseline`, `tau_expected` with
        `expected_lower` and `expected_upper`, `tau_unique` with `unique_lower` and
        `unique_upper`, `false_matches` and `rate_holdout`.
    replicates : DataFrame
        The table of `intruder_scenarios` of every population, with its number in `population`.
    n_populations, n_sample : int
    confidence : float
    target : str
    scenario : Scenario
        What the intruder knows, whom they look for and what counts as success.
    seed : int
    """

    table: pd.DataFrame
    replicates: pd.DataFrame
    n_populations: int
    n_sample: int
    confidence: float
    target: str
    scenario: Scenario
    seed: int

    def summary(self) -> str:
        """Say what the means and their intervals mean, one sentence a scenario."""
        lines = [
            f"Mean over {plural(self.n_populations, 'synthetic population')} of the number of the "
            f"{count(self.n_sample)} sample {units_of(self.scenario)} whose {self.target} an "
            f"intruder finds, with the {percent(self.confidence, 0)} interval of that mean (draws "
            "of the population; the survey and the fitted models are taken as given)."
        ]
        by = ["scenario", "target"] if "target" in self.table else ["scenario"]
        for group, rows in self.table.groupby(by, sort=False):
            texts = [
                self._sentence(row) for row in rows.to_dict("records") if not np.isnan(row["tau"])
            ]
            story = story_of(int(str(group[0])), bool(rows["accuracy"].isna().all()), "")
            of = f", {group[1]}" if len(by) > 1 else ""
            lines.append(
                f"Scenario {group[0]}{of} ({story}): {joined_by('; ', texts) or 'not computed'}."
            )
        if "tau_expected" in self.table:
            lines.append(
                message(
                    "Expected: found, and alone in the register as well by the weights, so that "
                    "the intruder could be sure."
                )
            )
        if "tau_unique" in self.table:
            lines.append(
                message("Unique: found, and unique in the population by the estimate given.")
            )
        return joined_by("\n", [*lines, caveat(self.scenario)])

    def _sentence(self, row: Mapping[Any, Any]) -> str:
        text = _mean_with_interval(row["tau"], row["lower"], row["upper"])
        if not np.isnan(row["accuracy"]):
            text += f" within {short_percent(row['accuracy'])}"
        for name in ("expected", "unique"):
            if f"tau_{name}" in row:
                numbers = (row[f"tau_{name}"], row[f"{name}_lower"], row[f"{name}_upper"])
                text += f", {name} {_mean_with_interval(*numbers)}"
        return text


def _mean_with_interval(mean: float, lower: float, upper: float) -> str:
    """Write the mean; one draw has no interval."""
    if np.isnan(lower):
        return f"{mean:.3g}"
    return f"{mean:.3g} ({lower:.3g} to {upper:.3g})"


@same_library
def scenario_replicates(
    sample: Any,
    populations: Iterable[Any],
    keys: Scenario | Sequence[str] | str | None = None,
    target: Sequence[str] | str | None = None,
    *,
    accuracy: Sequence[float] | float | None = None,
    intervals: tuple[str, str] | Mapping[str, tuple[str, str]] | None = None,
    scenarios: Sequence[int] = ALL_SCENARIOS,
    weights: str | np.ndarray | None = None,
    uniqueness: PopulationUniqueness | None = None,
    missing: str = "wildcard",
    open_interval: str = "value",
    holdout: Any = None,
    model: Any = "linear",
    confidence: float = 0.95,
    seed: int | None = None,
    on_event: Listener = silent,
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
    seed : int, optional
        Wrong keys and models of scenario 5 are drawn again for each population.
    on_event : callable, optional
        Gets an `Event` for every population, and those of `intruder_scenarios`.
    sample, keys, target, accuracy, intervals, scenarios, weights, uniqueness, missing, \
open_interval, holdout, model
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
    Draws what `intruder_scenarios` draws, from the stream of `seed` and of the number of the
    population. The book asks for these averages (Templ 2017, section 6.3.2: "many data sets need
    to be generated").

    Examples
    --------
    >>> sample = pd.DataFrame({"region": ["A", "B"], "income": [100.0, 200.0]})
    >>> draws = [pd.DataFrame({"region": ["A", "B"], "income": [v, 900.0]}) for v in (100.0, 300.0)]
    >>> risk = scenario_replicates(sample, draws, "region", "income", scenarios=(2,), accuracy=0.05)
    >>> risk.table[["tau", "smallest", "largest"]].values.tolist()
    [[0.5, 0.0, 1.0]]
    """
    faults = Faults("scenario_replicates")
    check(faults, {"confidence": SHARE}, {"confidence": confidence})
    if isinstance(populations, (pd.DataFrame, str)) or not isinstance(populations, Iterable):
        faults.add("populations", "is not a collection of populations", hint="Give a list.")
    faults.raise_if_any()
    used = resolve_seed(seed)
    tables: list[pd.DataFrame] = []
    first: dict[str, Any] = {}
    for number, population in enumerate(populations):
        request = read_scenario_request(
            sample, population, keys, target, accuracy=accuracy, intervals=intervals,
            scenarios=scenarios, weights=weights, uniqueness=uniqueness, missing=missing,
            open_interval=open_interval, holdout=holdout, model=model, on_event=on_event,
            seed=int(Streams(used).at("population", number).integers(1 << 62)),
        )  # fmt: skip
        of_first, others = attack(request)
        tables.append(risk_table(request, of_first, others).assign(population=number))
        if not first:
            first = {
                "n_sample": of_first.targets.n,
                "scenario": request.scenario,
                "target": ", ".join(request.scenario.targets),
            }
            n_asked = int(of_first.targets.eligible.sum())
        on_event(Event("progress", "scenario_replicates", number + 1, detail="populations"))
    if not tables:
        raise InputError.of(faults.subject, "populations", "holds no population")
    replicates = pd.concat(tables, ignore_index=True)
    return ReplicatedRisk(
        table=_means(replicates, len(tables), n_asked, confidence),
        replicates=replicates,
        n_populations=len(tables),
        confidence=confidence,
        seed=used,
        **first,
    )


def _means(replicates: pd.DataFrame, m: int, n_asked: int, confidence: float) -> pd.DataFrame:
    by = [name for name in ("target", "scenario", "accuracy") if name in replicates]
    groups = replicates.groupby(by, sort=False, dropna=False)
    tau = groups["tau"]
    mean, half = tau.mean(), _half_width(tau, m, confidence)
    table = pd.DataFrame(
        {
            "tau": mean,
            "sd": tau.std(ddof=1),
            "lower": (mean - half).clip(lower=0.0),
            "upper": mean + half,
            "smallest": tau.min(),
            "largest": tau.max(),
            "rate": mean / n_asked,
        }
    )
    names = ("tau_literal", "tau_zero", "tau_baseline", "tau_expected", "tau_unique")
    for name in (*names, "false_matches", "rate_holdout"):
        if name in replicates:
            table[name] = groups[name].mean()
    for name in ("expected", "unique"):
        if f"tau_{name}" in replicates:
            half = _half_width(groups[f"tau_{name}"], m, confidence)
            table[f"{name}_lower"] = (table[f"tau_{name}"] - half).clip(lower=0.0)
            table[f"{name}_upper"] = table[f"tau_{name}"] + half
    return table.reset_index()


def _half_width(groups: Any, m: int, confidence: float) -> Any:
    """Half the t interval of the mean of each group; missing for one population."""
    from scipy.stats import t

    sd = groups.std(ddof=1)
    return t.ppf((1 + confidence) / 2, m - 1) * sd / np.sqrt(m) if m > 1 else sd
