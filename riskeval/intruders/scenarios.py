"""Five intruders who match a survey sample against a synthetic population (Templ & Alfons 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.attack import Attack, attack
from riskeval.intruders.requests import ALL_SCENARIOS, NEED_INTERVALS, Request, read_request
from synthpop.microdata.results import Result

STORIES = {
    1: "one match in the synthetic population, its generating interval known",
    2: "one match in the synthetic population, its value taken as the answer",
    3: "all matches in the synthetic population, their generating intervals known",
    4: "all matches in the synthetic population, their values taken as the answer",
    5: "a linear model fitted to the synthetic population and applied to the keys",
}
CAVEAT = (
    "These are worst cases: the intruder holds the keys of every person of the sample without "
    "error, and a person counts when unique in the sample, which does not mean unique in the "
    "country: an intruder who finds a close value cannot know that it belongs to that person."
)


@dataclass(frozen=True, slots=True, eq=False)
class IntruderRisk(Result):
    """What five intruders learn from a synthetic population about the persons of the sample.

    Attributes
    ----------
    table : DataFrame
        One row a scenario and accuracy: `scenario`, `accuracy`, `tau` (expected number of sample
        records disclosed), `rate` (tau divided by the sample size), `tau_literal`, `rate_literal`
        (the same when a record without any match counts as disclosed, as the printed product over
        an empty set has it), `tau_zero` (the part of tau whose true value is 0), `n_attacked`
        (records the scenario applies to) and `note`. With weights also `tau_weighted`,
        `rate_weighted`, `tau_expected`, `rate_expected`; with a hold-out `n_holdout` and
        `rate_holdout`.
    per_record : DataFrame
        One row a record of the sample, in its order: `sample_unique`, `n_matches` (missing where
        not unique), `target`, `predicted` (scenario 5; missing when not asked for) and
        ``scenario_<s>_<accuracy>``, the probability (0 or 1 where there is no interval) that the
        record is disclosed.
    n_sample, n_population, n_unique : int
        Records of the sample, of the population, and sample-unique ones.
    n_missing_target : int
        Sample-unique records without a true value: they cannot be disclosed.
    n_unmatched : int
        Sample-unique records whose keys the population does not have.
    target : str
    keys : tuple of str
    """

    table: pd.DataFrame
    per_record: pd.DataFrame
    n_sample: int
    n_population: int
    n_unique: int
    n_missing_target: int
    n_unmatched: int
    target: str
    keys: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the table of scenarios."""
        return self.table

    def summary(self) -> str:
        """Say what each intruder learns, one sentence a scenario, and what the numbers are not."""
        lines = [
            f"{self.n_unique:,} of the {self.n_sample:,} sample records are unique in the keys "
            f"{', '.join(self.keys)}; the synthetic population has {self.n_population:,} persons. "
            f"{self.n_unmatched:,} of the unique records have no match there and count as not "
            f"disclosed; {self.n_missing_target:,} have no true value of {self.target}."
        ]
        for scenario, rows in self.table.groupby("scenario", sort=False):
            lines.append(self._sentence(int(str(scenario)), rows))
        return "\n".join([*lines, CAVEAT])

    def _sentence(self, scenario: int, rows: pd.DataFrame) -> str:
        head = f"Scenario {scenario} ({STORIES[scenario]}): "
        if rows["tau"].isna().all():
            return head + f"not computed, {rows['note'].iloc[0]}."
        told = [
            f"{row.tau:.3g} within {row.accuracy:.3g} of the true value ({row.rate:.2%})"
            for row in rows.itertuples()
        ]
        zeros = rows["tau_zero"].max()
        of_zero = f"; up to {zeros:.3g} of them have a true value of 0" if zeros > 0 else ""
        if "rate_holdout" in rows:
            told = [
                f"{text} against {rate:.2%} of persons outside the sample"
                for text, rate in zip(told, rows["rate_holdout"], strict=True)
            ]
        return (
            f"{head}records whose {self.target} is found, of all in the sample: "
            f"{', '.join(told)}{of_zero}."
        )


def intruder_scenarios(
    sample: Any,
    population: Any,
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
) -> IntruderRisk:
    """Measure what an intruder learns about a continuous variable from a synthetic population.

    The intruder knows the keys of every person of the original sample and wants the value of
    `target`. A record that is unique in the sample is disclosed when the synthetic population
    yields a value within ``y (1 - p)`` and ``y (1 + p)`` of the true value y, p being the
    accuracy. Scenarios 1 and 2 use records with exactly one match, 3 and 4 all matches (all of
    them must be close), 5 the prediction of a main-effects linear model of the population.

    Parameters
    ----------
    sample : DataFrame, shape (n, ...)
        The original survey (anything that speaks Arrow, or a `Survey`).
    population : DataFrame, object or iterable of frames, N rows in all
        The synthetic population. Objects with ``iter_blocks()`` and iterables are streamed: one
        block in memory at a time, each read once.
    keys : names of the key columns in both files
        Every key counts as categorical. Levels are compared by value.
    target : str
        Numeric column of both files, in the same units. Missing in the sample: the record stays
        in the count of uniques, cannot be disclosed, and is counted in `n_missing_target`.
        Missing in the population: the match is not close, and is left out of the model.
    accuracy : numbers between 0 and 1
        A negative true value turns the bounds round; a true value of 0 has the point 0.
    intervals : (str, str), optional
        Population columns with the lower and upper bound of the interval each synthetic value was
        drawn from, in the units of `target`. Scenarios 1 and 3 need them. An interval that is a
        point (a class of zeros) counts 1 when inside, else 0.
    scenarios : numbers from 1 to 5
        Left at all five without `intervals`, scenarios 1 and 3 are reported as not computed;
        asked for otherwise, they need `intervals`.
    weights : str or array, shape (n,), optional
        Sampling weights of the sample. They change no tau; they add `tau_weighted` (persons of
        the true population that the disclosed records stand for: the sum of weight x disclosure)
        and `tau_expected` (disclosed records that are unique in the true population: each counts
        1/weight, the probability that a sample-unique record is population-unique when the count
        in the population given the count in the sample is negative binomial).
    missing : {"category", "unmatched"}
        Missing keys are a value of their own, or match nothing (such a record is never unique).
    open_interval : {"value", "zero"}
        An interval with a missing or infinite bound (a drawn tail) has no length. "value": it
        counts 1 when the drawn value is close, an unbiased estimate of the probability under
        whichever tail it came from. "zero": it counts 0, the limit of the printed formula.
    holdout : DataFrame, optional
        Real persons who are not in the sample, with the keys and the target: what the intruder
        learns about them, the population gives away about anybody. Adds `n_holdout` and
        `rate_holdout`; a hold-out of about the size of the sample compares best, since smaller
        files have more unique records.

    Returns
    -------
    IntruderRisk

    Raises
    ------
    InputError
        Missing or non-numeric columns, accuracies outside (0, 1), no keys, scenarios 1 or 3 asked
        for without intervals, an interval whose lower bound is above the upper one, a key without
        any level in common.

    Notes
    -----
    No randomness. One pass over the population for all scenarios and accuracies; memory is that
    of a block. Source: Templ (2017), Statistical Disclosure Control for Microdata, equations 6.17
    to 6.26 with the corrections of ``docs/methods/intruder-scenarios.md``; Templ and Alfons
    (2010), doi:10.1007/978-3-642-15838-4_16. Population uniqueness: Benedetti and Franconi (1998).

    Examples
    --------
    >>> sample = pd.DataFrame({"region": ["A", "A", "B"], "income": [100.0, 200.0, 300.0]})
    >>> population = pd.DataFrame({"region": ["A", "A", "B"], "income": [90.0, 130.0, 303.0]})
    >>> risk = intruder_scenarios(sample, population, ["region"], "income", accuracy=0.02)
    >>> risk.table[["scenario", "tau", "rate"]].dropna().round(3).values.tolist()
    [[2.0, 1.0, 0.333], [4.0, 1.0, 0.333], [5.0, 1.0, 0.333]]
    """
    request = read_request(
        sample, population, keys, target, accuracy=accuracy, intervals=intervals,
        scenarios=scenarios, weights=weights, missing=missing, open_interval=open_interval,
        holdout=holdout,
    )  # fmt: skip
    found, others = attack(request)
    return IntruderRisk(
        table=_table(request, found, others),
        per_record=_per_record(found, request.accuracy, request.computed),
        n_sample=len(found.target),
        n_population=found.n_population,
        n_unique=len(found.unique),
        n_missing_target=int(np.isnan(found.target[found.unique]).sum()),
        n_unmatched=int((found.count == 0).sum()),
        target=target,
        keys=request.keys,
    )


def _table(request: Request, found: Attack, others: Attack | None) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for scenario in request.scenarios:
        for a, p in enumerate(request.accuracy):
            row: dict[str, Any] = {"scenario": scenario, "accuracy": p}
            if scenario in request.skipped:
                row["note"] = "it needs the intervals of the synthetic values"
            else:
                row |= _measures(found, scenario, a, request.weights)
                row["note"] = ""
            if others is not None:
                row["n_holdout"] = len(others.target)
                if scenario not in request.skipped:
                    row["rate_holdout"] = others.disclosed(scenario)[:, a].sum() / row["n_holdout"]
            rows.append(row)
    columns = ["scenario", "accuracy", "tau", "rate", "tau_literal", "rate_literal", "tau_zero"]
    if request.weights is not None:
        columns += ["tau_weighted", "rate_weighted", "tau_expected", "rate_expected"]
    if others is not None:
        columns += ["n_holdout", "rate_holdout"]
    table = pd.DataFrame(rows, columns=[*columns, "n_attacked", "note"])
    return table.astype({"n_attacked": "Int64"})


def _measures(found: Attack, scenario: int, a: int, weights: np.ndarray | None) -> dict[str, float]:
    n = len(found.target)
    target = found.target[found.unique]
    risk = found.disclosed(scenario)[:, a]
    empty = (found.count == 0) & ~np.isnan(target) if scenario in (3, 4) else False
    literal = float(risk.sum() + np.sum(empty))
    row = {"tau": float(risk.sum()), "rate": float(risk.sum()) / n}
    row |= {"tau_literal": literal, "rate_literal": literal / n}
    row |= {"tau_zero": float(risk[target == 0].sum())}
    row |= {"n_attacked": int(found.attacked(scenario).sum())}
    if weights is not None:
        stood_for = float(risk @ weights[found.unique])
        expected = float(np.sum(risk / np.maximum(weights[found.unique], 1.0)))
        row |= {"tau_weighted": stood_for, "rate_weighted": stood_for / float(weights.sum())}
        row |= {"tau_expected": expected, "rate_expected": expected / n}
    return row


def _per_record(
    found: Attack, accuracy: tuple[float, ...], computed: tuple[int, ...]
) -> pd.DataFrame:
    n = len(found.target)
    matches = pd.array([pd.NA] * n, dtype="Int64")
    matches[found.unique] = found.count
    columns: dict[str, Any] = {
        "sample_unique": np.isin(np.arange(n), found.unique),
        "n_matches": matches,
        "target": found.target,
        "predicted": found.predicted,
    }
    for scenario in computed:
        for a, p in enumerate(accuracy):
            risk = np.zeros(n)
            risk[found.unique] = found.disclosed(scenario)[:, a]
            columns[f"scenario_{scenario}_{p:.12g}"] = risk
    return pd.DataFrame(columns)


__all__ = ["CAVEAT", "NEED_INTERVALS", "STORIES", "IntruderRisk", "intruder_scenarios"]
