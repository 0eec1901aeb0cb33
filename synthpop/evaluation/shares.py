"""Tables and distances of categorical variables: shares of a weighted sample and a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.design_effect import Ratios
from synthpop.evaluation.tabulate import Counts, TabulationPlan
from synthpop.microdata.statistics.distances import expected_total_variation, total_variation

DISTANCE = ("value", "expected_simulation_error", "expected_sampling_error")
ORDER = ["measure", "variable", "crossed", "scope", *DISTANCE, "where"]


@dataclass(frozen=True, slots=True, eq=False)
class ShareTables:
    """What was counted on both sides, and how sure each side is."""

    plan: TabulationPlan
    # sample, rows, population: weighted sample, unweighted sample, population
    sample: Counts
    rows: Counts
    population: Counts
    effective: float  # effective size of the sample (Kish)
    effective_by: Mapping[str, np.ndarray]  # dict of arrays: the same within the groups of a factor
    scale: float  # persons of the population for one unit of weight
    # effective size of a variable or pair over Kish's, where the survey names a design
    ratios: Ratios = field(default_factory=dict)

    def effective_of(self, *names: str) -> float:
        """Return the effective size of the sample for a variable or a pair."""
        return self.effective * self.ratio(*names)

    def ratio(self, *names: str) -> float:
        """Return the effective size for a variable or a pair over Kish's."""
        return self.ratios.get(names, self.ratios.get(names[::-1], 1.0))


def shares(counts: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return counts divided by their sum, over everything or along an axis; 0 / 0 is 0."""
    totals = counts.sum(axis=axis, keepdims=axis is not None)
    return np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)


def one_way(sides: ShareTables, names: Sequence[str]) -> pd.DataFrame:
    """Shares of each level, one row per level that occurs on either side."""
    parts = []
    for name in names:
        labels = np.array(sides.plan.factors[name].labels, dtype=object)
        q, p = sides.sample.single[name], sides.population.single[name]
        occurs = (q > 0) | (p > 0)
        table = {
            "variable": name,
            "level": labels[occurs],
            "sample": shares(q)[occurs],
            "population": shares(p)[occurs],
            "n_sample": sides.rows.single[name][occurs].astype(np.int64),
            "n_population": p[occurs].astype(np.int64),
        }
        parts.append(pd.DataFrame(table))
    return _joined(parts, ["variable", "level", "sample", "population", "n_sample", "n_population"])


def two_way(sides: ShareTables, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Shares of each cell of the crossed variables, of all persons."""
    parts = [_crossed(sides, a, b, within=False) for a, b in pairs]
    return _joined(parts, ["a", "b", "level_a", "level_b", "sample", "population", "n_sample"])


def within(sides: ShareTables, group: str, names: Sequence[str]) -> pd.DataFrame:
    """Shares of each level inside each level of `group` (strata)."""
    parts = [_crossed(sides, group, name, within=True) for name in names if name != group]
    return _joined(parts, ["a", "b", "level_a", "level_b", "sample", "population", "n_sample"])


def _crossed(sides: ShareTables, a: str, b: str, *, within: bool) -> pd.DataFrame:
    q, p, n = (side_pair(side, a, b) for side in (sides.sample, sides.population, sides.rows))
    axis = 1 if within else None
    rows, columns = (q + p).sum(axis=1) > 0, (q + p).sum(axis=0) > 0
    cut = np.ix_(rows, columns)
    labels_a = np.array(sides.plan.factors[a].labels, dtype=object)[rows]
    labels_b = np.array(sides.plan.factors[b].labels, dtype=object)[columns]
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "level_a": np.repeat(labels_a, len(labels_b)),
            "level_b": np.tile(labels_b, len(labels_a)),
            "sample": shares(q, axis)[cut].ravel(),
            "population": shares(p, axis)[cut].ravel(),
            "n_sample": n[cut].ravel().astype(np.int64),
        }
    )


def side_pair(counts: Counts, a: str, b: str) -> np.ndarray:
    """Return the counts of a pair, `a` in the rows, whichever way round it was counted."""
    return counts.pairs[a, b] if (a, b) in counts.pairs else counts.pairs[b, a].T


def _joined(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def share_distances(
    sides: ShareTables, names: Sequence[str], pairs: Sequence[tuple[str, str]], strata: str | None
) -> list[dict[str, object]]:
    """Total variation distances: each variable overall and by stratum, and each pair."""
    rows = []
    for name in names:
        q, p = shares(sides.sample.single[name]), sides.population.single[name]
        rows.append(tvd_row(name, "", "all", q, p, sides.effective_of(name)))
        if strata is not None and name != strata:
            rows += mean_and_largest(tvd_by_level(sides, name, strata), "tvd", name, strata)
    for a, b in pairs:
        q, p = shares(sides.sample.pairs[a, b]), sides.population.pairs[a, b]
        rows.append(tvd_row(a, b, "all", q, p, sides.effective_of(a, b)))
    return rows


def tvd_row(
    variable: str, crossed: str, scope: str, q: np.ndarray, counts: np.ndarray, effective: float
) -> dict[str, object]:
    """Return the row of a total variation distance: shares q of the sample, counts beside them."""
    simulation = expected_total_variation(q, float(counts.sum()))
    errors = (simulation, expected_total_variation(q, effective))
    return distance_row("tvd", variable, crossed, scope, total_variation(shares(counts), q), errors)


def distance_row(
    measure: str, variable: str, crossed: str, scope: str, value: float,
    expected: tuple[float, float],
) -> dict[str, object]:  # fmt: skip
    """Return a row of distances; `expected`: the errors of simulation and of sampling."""
    return dict(zip(ORDER, (measure, variable, crossed, scope, value, *expected, ""), strict=True))


def tvd_by_level(sides: ShareTables, name: str, group: str) -> dict[str, Any]:
    """Total variation distance of a variable inside each level of `group` that both sides have.

    Returns columns, in which one value may stand for all levels.
    """
    q, p = side_pair(sides.sample, group, name), side_pair(sides.population, group, name)
    both = np.flatnonzero((q.sum(axis=1) > 0) & (p.sum(axis=1) > 0))
    effective = sides.effective_by[group][both] * sides.ratio(name)
    distances = [
        (
            total_variation(shares(counts), share),
            expected_total_variation(share, float(counts.sum())),
            expected_total_variation(share, size),
        )
        for share, counts, size in zip(map(shares, q[both]), p[both], effective, strict=True)
    ]
    columns = np.array(distances, dtype=np.float64).reshape(len(both), len(DISTANCE)).T
    levels = np.array(sides.plan.factors[group].labels, dtype=object)[both]
    table = {"measure": "tvd", "variable": name, "crossed": "", "scope": "all"}
    table |= dict(zip(DISTANCE, columns, strict=True))
    return {**table, "where": "", "by": group, "level": levels}


def mean_and_largest(
    table: Mapping[str, Any], measure: str, name: str, by: str
) -> list[dict[str, object]]:
    """Two rows of distances: unweighted mean over the levels of a group, and the largest."""
    known = ~np.isnan(np.asarray(table["value"], dtype=np.float64))
    if not known.any():
        return []
    base = {"measure": measure, "variable": name, "crossed": ""}
    distances = {column: np.asarray(table[column])[known] for column in DISTANCE}
    mean = {column: _mean(values) for column, values in distances.items()}
    worst = int(distances["value"].argmax())
    largest = {column: float(values[worst]) for column, values in distances.items()}
    level = str(np.asarray(table["level"])[known][worst])
    return [
        {**base, "scope": f"mean over {by}", **mean, "where": ""},
        {**base, "scope": f"largest over {by}", **largest, "where": level},
    ]


def _mean(values: np.ndarray) -> float:
    """Mean of the values that are known, NaN of none."""
    known = ~np.isnan(values)
    return float(np.where(known, values, 0.0).sum() / known.sum()) if known.any() else float("nan")


def conditional(sides: ShareTables, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Distances of each variable inside the levels of another.

    One row per variable and condition: `value` the mean over the levels, weighted with their shares
    in the sample, the two expected errors likewise; `largest` and `where` the level farthest off
    for its sampling error.
    """
    rows = []
    for name, condition in [*pairs, *((b, a) for a, b in pairs)]:
        table = tvd_by_level(sides, name, condition)
        if not len(table["level"]):
            continue
        weights = shares(sides.sample.single[condition])
        of_level = dict(zip(sides.plan.factors[condition].labels, weights, strict=True))
        w = np.array([of_level[level] for level in table["level"]])
        value, error = table["value"], table["expected_sampling_error"]
        ratio = np.divide(value, error, out=np.zeros(len(value)), where=error > 0)
        worst = int(ratio.argmax())
        means = {c: float(np.average(table[c], weights=w)) for c in DISTANCE}
        at = {"largest": float(value[worst]), "where": str(table["level"][worst])}
        rows.append({"variable": name, "given": condition, **means, **at})
    return pd.DataFrame(rows, columns=CONDITIONAL)


CONDITIONAL = ["variable", "given", *DISTANCE, "largest", "where"]


def household_rows(table: pd.DataFrame) -> list[dict[str, object]]:
    """Return comparisons of households as rows of distances."""
    rows: list[Any] = table.assign(crossed="")[ORDER].to_dict("records")
    return rows
