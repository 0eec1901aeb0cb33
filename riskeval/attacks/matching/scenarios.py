"""Five intruders who match a survey sample against a synthetic population (Templ & Alfons 2010)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.attacks.matching.attack import attack
from riskeval.attacks.matching.request import ALL_SCENARIOS, read_scenario_request
from riskeval.attacks.matching.tables import excesses, per_record, risk_table
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, caution_of
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, formatted, percent, plural, short_percent

if TYPE_CHECKING:
    from riskeval.measures.uniqueness import PopulationUniqueness

STORIES = {
    1: "one match in the synthetic population, its generating interval known",
    2: "one match in the synthetic population, its value taken as the answer",
    3: "all matches in the synthetic population, their generating intervals known",
    4: "all matches in the synthetic population, their values taken as the answer",
    5: message("a linear model fitted to the synthetic population and applied to the keys"),
}
CATEGORY_STORIES = {
    1: message("one match in the synthetic population, its category taken as the answer"),
    2: message("one match in the synthetic population, its category taken as the answer"),
    3: message(
        "all matches in the synthetic population, one of them at random taken as the answer"
    ),
    4: message("all matches in the synthetic population, all of one category"),
}
CAVEAT = (
    "These are worst cases: the intruder holds the keys of every person of the sample without "
    "error, and a person counts when unique in the sample, which does not mean unique in the "
    "country: an intruder who finds a close value cannot know that it belongs to that person."
)


@dataclass(frozen=True, slots=True, eq=False)
class IntruderRisk(TableResult):
    """What five intruders learn from a synthetic population about the persons of the sample.

    Attributes
    ----------
    table : DataFrame
        One row per scenario and accuracy: `scenario`, `accuracy` (NaN for a target of categories),
        `tau` (expected number of sample records disclosed; of households in attacks on
        households), `rate` (tau divided by the number of records) with its 95 % Wilson interval
        `lower`, `upper` (which persons are in the sample), `tau_literal`, `rate_literal`
        (the same when a record without any match counts as disclosed, as the printed product over
        an empty set has it), `tau_zero` (the part of tau whose true value is 0), `n_attacked`
        (records the scenario applies to) and `note`. With several targets also `target`; with a
        target of categories `tau_baseline` and `rate_baseline` (the attacked records of the level
        that is commonest in the population: what guessing it would find). With weights also
        `tau_weighted`, `rate_weighted`, `tau_expected`, `rate_expected` and, for a register of a
        part of the population, `false_matches`; with `uniqueness` `tau_unique` and
        `rate_unique`; with a hold-out `n_holdout` and `rate_holdout`.
    per_record : DataFrame
        One row per record of the sample, in its order: `sample_unique`, `n_matches` (missing where
        not looked for), with weights `alone` (probability that the record is in the register and
        alone there), `target`, `predicted` (scenario 5; missing when not asked for) and
        ``scenario_<s>_<accuracy>``, the probability (0 or 1 where there is no interval) that the
        value of the record is found, given that it is in the register. Without accuracy for
        categories; with several targets the name of the target is appended to each.
    n_sample, n_population, n_unique : int
        Records of the sample (or its households), persons of the population, and sample-unique
        records.
    n_looked_for : int
        Records (or households) that the intruder looks for.
    n_missing_target : int
        Records looked for that lack a true value of some target (households: of all members);
        they cannot be disclosed.
    n_unmatched : int
        Records looked for whose keys the population does not have.
    target : str
        Name of the target; several are joined by commas.
    keys : tuple of str
    scenario : Scenario
        What the intruder knows, whom they look for and what counts as success.
    uniqueness : PopulationUniqueness or None
        The estimate that was given.
    excess : dict of (target, scenario, accuracy) to Excess
        Success on the sample beyond that on the hold-out; accuracy is None for categories. Empty
        without a hold-out.
    models : dict of target to str
        What was fitted in scenario 5; empty when it was not asked for.
    seed : int
        Of wrong keys and of models that draw; recorded also when nothing is drawn.
    """

    table: pd.DataFrame
    per_record: pd.DataFrame
    n_sample: int
    n_population: int
    n_unique: int
    n_looked_for: int
    n_missing_target: int
    n_unmatched: int
    target: str
    keys: tuple[str, ...]
    scenario: Scenario
    uniqueness: PopulationUniqueness | None
    excess: dict[tuple[str, int, float | None], Excess]
    models: dict[str, str]
    seed: int

    def summary(self) -> str:
        """Say what each intruder learns, one sentence a scenario, and what the numbers are not."""
        lines = [self._most()]
        if self.scenario != Scenario(
            self.keys, self.scenario.targets, accuracy=self.scenario.accuracy
        ):
            lines.append(self.scenario.story())
        lines.append(self._head())
        several = "target" in self.table
        by = ["scenario", "target"] if several else ["scenario"]
        for group, rows in self.table.groupby(by, sort=False):
            target = str(group[1]) if several else self.target
            lines.append(self._sentence(int(str(group[0])), target, rows))
        if "tau_expected" in self.table or self.uniqueness is not None:
            lines.append(self._expected())
        return joined_by("\n", [*lines, caveat(self.scenario)])

    def _most(self) -> str:
        """How much the most successful of these intruders finds."""
        rates = self.table["rate"].to_numpy()
        if np.isnan(rates).all():
            return message("No scenario could be computed; the reasons are given below.")
        row = self.table.iloc[int(np.nanargmax(rates))]
        strangers = message("Compare with strangers (a hold-out) before you judge.")
        if "rate_holdout" in self.table:
            strangers = message(
                "For persons outside the sample it is {rate_holdout}.{caution}",
                rate_holdout=percent(row["rate_holdout"]),
                caution=caution_of(self.excess.values()),
            )
        return message(
            "The most successful of these intruders (scenario {scenario}) is right about "
            "{rate} of the {units} of the sample. {strangers}",
            scenario=row["scenario"],
            rate=percent(row["rate"]),
            units=units_of(self.scenario),
            strangers=strangers,
        )

    def _head(self) -> str:
        what = units_of(self.scenario)
        others = (
            message(
                "The intruder looks for {n_looked_for} {what}; {n_unmatched} of them",
                n_looked_for=count(self.n_looked_for),
                what=what,
                n_unmatched=count(self.n_unmatched),
            )
            if self.scenario.who == "everyone" or self.scenario.rows
            else message(
                "{n_unmatched} of the unique {what}", n_unmatched=count(self.n_unmatched), what=what
            )
        )
        several = len(self.scenario.targets) > 1
        missing = (
            message("no true value of at least one of {target}", target=self.target)
            if several
            else message("no true value of {target}", target=self.target)
        )
        return message(
            "{n_unique} of the {n_sample} sample {what} are unique on the keys {keys}; the "
            "synthetic population has {n_population}. {others} have no match there and "
            "count as not disclosed; {n_missing_target} have {missing}.",
            n_unique=count(self.n_unique),
            n_sample=count(self.n_sample),
            what=what,
            keys=", ".join(self.keys),
            n_population=plural(self.n_population, "person"),
            others=others,
            n_missing_target=count(self.n_missing_target),
            missing=missing,
        )

    def _sentence(self, scenario: int, target: str, rows: pd.DataFrame) -> str:
        category = bool(rows["accuracy"].isna().all())
        story = story_of(scenario, category, self.models.get(target, ""))
        head = message("Scenario {k} ({what})", k=scenario, what=story) + ": "
        if rows["tau"].isna().all():
            return head + message("not computed, {why}.", why=rows["note"].iloc[0])
        sentences = [
            message(
                "{tau} ({rate}), guessing the most frequent level {tau_baseline}",
                tau=formatted(row.tau, ".3g"),
                rate=percent(row.rate),
                tau_baseline=formatted(row.tau_baseline, ".3g"),
            )
            if category
            else message(
                "{tau} within {accuracy} of the true value ({rate})",
                tau=formatted(row.tau, ".3g"),
                accuracy=short_percent(row.accuracy),
                rate=percent(row.rate),
            )
            for row in rows.itertuples()
        ]
        zeros = rows["tau_zero"].max()
        of_zero = (
            (
                "; "
                + message(
                    "up to {zeros} of them have a true value of 0", zeros=formatted(zeros, ".3g")
                )
            )
            if zeros > 0
            else ""
        )
        if "rate_holdout" in rows:
            sentences = [
                message(
                    "{text} against {rate} of persons outside the sample",
                    text=text,
                    rate=percent(rate),
                )
                for text, rate in zip(sentences, rows["rate_holdout"], strict=True)
            ]
        return message(
            "{head}{units} whose {target} is found, of all in the sample: {numbers}{of_zero}.",
            head=head,
            units=units_of(self.scenario),
            target=target,
            numbers=joined_by(", ", sentences),
            of_zero=of_zero,
        )

    def _expected(self) -> str:
        text: str = message(
            "Worst case and expected case: at most {n} are found",
            n=formatted(self.table["tau"].max(), ".3g"),
        )
        if "tau_expected" in self.table:
            alone = self.per_record["alone"][self.per_record["n_matches"].notna()].sum()
            text += "; " + message(
                "{n} of them are expected to be alone in the register as well, by their weights "
                "(of all records looked for {all}), so that the intruder could be sure",
                n=formatted(self.table["tau_expected"].max(), ".3g"),
                all=formatted(alone, ".3g"),
            )
        if self.uniqueness is not None:
            text += "; " + message(
                "{n} of them are expected to be unique in the population, by the frequencies of "
                "the keys ({method})",
                n=formatted(self.table["tau_unique"].max(), ".3g"),
                method=self.uniqueness.chosen,
            )
        return text + "."


def units_of(scenario: Scenario) -> str:
    """What one attack is about, in the plural."""
    return "households" if scenario.unit == "household" else "records"


def caveat(scenario: Scenario) -> str:
    """What the numbers are not, for this intruder."""
    if scenario.key_errors or scenario.coverage < 1 or scenario.who == "everyone":
        return message(
            "A record counts as found when the answer is right, whether or not the "
            "intruder could know that: who is unique in the sample need not be unique in "
            "the country."
        )
    return CAVEAT


def story_of(scenario: int, category: bool, model: str) -> str:
    """Story of a scenario; scenario 5 tells its model when that is not the usual one."""
    if category and scenario in CATEGORY_STORIES:
        return CATEGORY_STORIES[scenario]
    if scenario == 5 and model and not model.startswith("a linear model with"):
        return message(
            "{model}, fitted to the synthetic population and applied to the keys", model=model
        )
    return STORIES[scenario]


@same_library
def intruder_scenarios(
    sample: Any,
    population: Any,
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
    seed: int | None = None,
    on_event: Listener = silent,
) -> IntruderRisk:
    """Measure what an intruder learns about variables of persons from a synthetic population.

    The intruder knows the keys of every person of the original sample and wants the value of
    `target`. A record that is unique in the sample is disclosed when the synthetic population
    yields a value within ``y (1 - p)`` and ``y (1 + p)`` of the true value y, p being the
    accuracy. Scenarios 1 and 2 use records with exactly one match, 3 and 4 all matches (all of
    them must be close), 5 the prediction of a model of the population, by default linear in main
    effects. A category is disclosed when the one match (1, 2) or all matches (4) have the true
    level, with the share of matches that have it (3), or when it is predicted (5).

    Parameters
    ----------
    sample : DataFrame, shape (n, ...)
        The original survey (anything that speaks Arrow, or a `Survey`).
    population : DataFrame, object or iterable of frames, N rows in all
        The synthetic population. Objects with ``iter_blocks()`` and iterables are streamed: one
        block in memory at a time, each read once. In attacks on households the members of one
        must stand one after the other, also across blocks.
    keys : Scenario, or names of the key columns in both files
        A `Scenario` says what the intruder knows, whom they look for and what counts as success;
        `target` and `accuracy` are left out then. Names alone are the intruder of the book: keys
        without errors, a register of everybody, sample uniques. Every key counts as categorical.
        Levels are compared by value.
    target : str or several
        Columns of both files. Numbers are in the same units; columns that are not numbers in both
        files, or that the Scenario declares, are categories. Missing in the sample: the record
        stays in the count of uniques, cannot be disclosed, and is counted in `n_missing_target`.
        Missing in the population: the match is not close, and is left out of the model.
    accuracy : numbers between 0 and 1
        A negative true value turns the bounds round; a true value of 0 has the point 0. Left out:
        0.01, 0.02 and 0.05, or what the Scenario says.
    intervals : (str, str) or mapping of target to (str, str), optional
        Population columns with the lower and upper bound of the interval each synthetic value was
        drawn from, in the units of `target`. Scenarios 1 and 3 need them for numbers. An interval
        that is a point (a class of zeros) counts 1 when inside, else 0.
    scenarios : numbers from 1 to 5
        Left at all five without `intervals`, scenarios 1 and 3 are reported as not computed;
        asked for otherwise, they need `intervals`.
    weights : str or array, shape (n,), optional
        Sampling weights of the sample. They change no tau; they add `tau_weighted` (persons of
        the true population that the disclosed records stand for: the sum of weight x disclosure)
        and `tau_expected` (disclosed records that are alone in the intruder's register: with a
        register of everybody each counts 1/weight, the probability that a sample-unique record is
        population-unique when the count in the population given the count in the sample is
        negative binomial). The weight of a household is the mean of its members.
    uniqueness : PopulationUniqueness, optional
        Result of `riskeval.population_uniqueness` for the same keys, for attacks on persons. Adds
        `tau_unique`: disclosed sample uniques that are in the register and unique in the
        population, each with the same probability (that of the method the estimate chose). It
        needs no weights of single records.
    missing : {"wildcard", "category", "unmatched"}
        What a missing key of the population matches. "wildcard": anything; where nobody has the
        keys of a record exactly, the intruder takes those who agree wherever they have a key, and
        of these the ones with the fewest holes. A match without a value of the target says nothing
        beside those with one. "category": a missing key of the record. "unmatched": nothing, and
        a record with a missing key is never unique.
    open_interval : {"value", "zero"}
        An interval with a missing or infinite bound (a drawn tail) has no length. "value": it
        counts 1 when the drawn value is close, an unbiased estimate of the probability under
        whichever tail it came from. "zero": it counts 0, the limit of the printed formula.
    holdout : DataFrame, optional
        Real persons who are not in the sample, with the keys and the target: what the intruder
        learns about them, the population gives away about anybody. Adds `n_holdout` and
        `rate_holdout`; a hold-out of about the size of the sample compares best, since smaller
        files have more unique records.
    model : {"linear", "stepwise", "forest", "boosting"} or estimator
        Of scenario 5. "linear": main effects of all keys (for categories one least-squares model
        a level, the largest prediction wins). "stepwise": main effects and pairs of keys chosen
        by BIC. "forest", "boosting": 100 trees of scikit-learn; or any regressor or classifier of
        it whose ``fit`` takes ``sample_weight``. All but "linear" are fitted to the distinct key
        combinations with their numbers of persons; keys enter as codes.
    seed : int, optional
        For wrong keys and for models that draw. The same seed gives the same result.
    on_event : callable, optional
        Gets an `Event` for every chunk of persons read and step of a model.

    Returns
    -------
    IntruderRisk

    Raises
    ------
    InputError
        Missing or non-numeric columns, accuracies outside (0, 1), no keys, scenarios 1 or 3 asked
        for without intervals, an interval whose lower bound is above the upper one, a key or a
        target of categories without any level in common, households that are torn apart.

    Notes
    -----
    Draws only wrong keys (`Scenario.key_errors`) and what models of scenario 5 draw. One pass over
    the population for all scenarios, targets and accuracies; memory is that of a block (and 8
    bytes a household in attacks on households, and the distinct key combinations for models other
    than "linear"). Source: Templ (2017), Statistical Disclosure Control for Microdata, equations
    6.17 to 6.26 with the corrections of ``docs/methods/intruder-scenarios.md``; Templ and Alfons
    (2010), doi:10.1007/978-3-642-15838-4_16. Population uniqueness: Benedetti and Franconi (1998).

    Examples
    --------
    >>> sample = pd.DataFrame({"region": ["A", "A", "B"], "income": [100.0, 200.0, 300.0]})
    >>> population = pd.DataFrame({"region": ["A", "A", "B"], "income": [90.0, 130.0, 303.0]})
    >>> risk = intruder_scenarios(sample, population, ["region"], "income", accuracy=0.02)
    >>> risk.table[["scenario", "tau", "rate"]].dropna().round(3).values.tolist()
    [[2.0, 1.0, 0.333], [4.0, 1.0, 0.333], [5.0, 1.0, 0.333]]
    >>> half = Scenario(["region"], "income", coverage=0.5, accuracy=0.02)
    >>> intruder_scenarios(sample, population, half, scenarios=[2]).table["tau"].tolist()
    [0.5]
    """
    request = read_scenario_request(
        sample, population, keys, target, accuracy=accuracy, intervals=intervals,
        scenarios=scenarios, weights=weights, uniqueness=uniqueness, missing=missing,
        open_interval=open_interval, holdout=holdout, model=model, seed=seed, on_event=on_event,
    )  # fmt: skip
    file, others = attack(request)
    scenario = request.scenario
    first = file.evidence[scenario.targets[0]]
    of_unit = file.targets.unit[file.rows]
    lacking = [np.setdiff1d(of_unit, of_unit[one.known]) for one in file.evidence.values()]
    return IntruderRisk(
        table=risk_table(request, file, others),
        per_record=per_record(request, file),
        n_sample=file.targets.n,
        n_population=file.n_population,
        n_unique=int((file.targets.eligible & (file.targets.frequency == 1)).sum()),
        n_looked_for=int(file.targets.looked_for.sum()),
        n_missing_target=len(np.unique(np.concatenate(lacking))),
        n_unmatched=len(np.unique(of_unit[first.n_matches == 0])),
        target=", ".join(scenario.targets),
        keys=scenario.keys,
        scenario=scenario,
        uniqueness=uniqueness,
        excess=excesses(request, file, others),
        models={name: evidence.model for name, evidence in file.evidence.items() if evidence.model},
        seed=request.seed,
    )
