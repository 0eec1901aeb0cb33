"""Households of a population beside those of the sample: members together, counts, sums, ages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.factors import Factor
from synthpop.evaluation.household_rows import HouseholdRows
from synthpop.evaluation.jackknife import MEAN_DEVIATION, group_jackknife
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.message import message
from synthpop.microdata.statistics.distances import (
    expected_ks,
    expected_total_variation,
    gini,
    total_variation,
)
from synthpop.microdata.statistics.weighted import quantile

MEMBERS = "pairs of members"
COUNTS = "members per household"
SUMS = "household sums"
AGES = "age gaps"
MOST_COUNTED = 3
FEWEST_PERSONS = 20
FEWEST_HOUSEHOLDS = 30
CHILD = 16
BELOW = "below 16"
LARGE_AMOUNT = 200.0
POVERTY_SHARE = 0.6
COLUMNS = [
    "scope", "measure", "variable", "where", "sample", "population", "value",
    "expected_simulation_error", "expected_sampling_error", "n_sample",
]  # fmt: skip
Row = tuple[Any, ...]
"""Values of the columns of a comparison."""
Compared = tuple[float, float, float, float, float]
"""Sample, population, their distance, and its expected errors of simulation and of sampling."""


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdPair:
    """Households of both sides and what is compared of them."""

    sample: HouseholdRows
    population: HouseholdRows
    # categories, and numbers in classes, of which the levels of members are crossed
    factors: Mapping[str, Factor]
    names: tuple[str, ...]  # those factors that are categorical variables
    numbers: tuple[str, ...]  # numbers whose household sums are compared
    age: str | None  # the age of persons
    relation: str | None  # relation to the reference person

    @property
    def sides(self) -> tuple[HouseholdRows, HouseholdRows]:
        """Sample and population."""
        return self.sample, self.population


def household_distances(pair: HouseholdPair) -> pd.DataFrame:
    """Return all comparisons of households, one row each; `where`: level, statistic or relation."""
    rows = [*_member_pairs(pair), *_member_counts(pair), *_sums(pair), *_age_gaps(pair)]
    return pd.DataFrame(rows, columns=COLUMNS)


def member_pairs(sizes: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the rows of both persons of each pair of members, and the pair's household."""
    first, second, household = [], [], []
    for size in np.unique(sizes[sizes > 1]).tolist():
        at = np.flatnonzero(sizes == size)
        i, j = np.triu_indices(size, 1)
        first.append((starts[at, None] + i).ravel())
        second.append((starts[at, None] + j).ravel())
        household.append(np.repeat(at, len(i)))
    if not first:
        return (np.zeros(0, dtype=np.int64),) * 3
    return np.concatenate(first), np.concatenate(second), np.concatenate(household)


def _pair_weights(side: HouseholdRows, household: np.ndarray) -> np.ndarray:
    """Weights of pairs; each household counts once, however many pairs it has."""
    sizes = side.sizes[household]
    return side.weights[household] / (sizes * (sizes - 1) / 2)


def _member_pairs(pair: HouseholdPair) -> list[Row]:
    """Levels of two members of a household, crossed; correlations of their numbers."""
    sides: list[Any] = [(side, *member_pairs(side.sizes, side.starts)) for side in pair.sides]
    if any(len(first) == 0 for _, first, _, _ in sides):
        return []
    weights = [_pair_weights(side, household) for side, _, _, household in sides]
    large = pair.sample.sizes > 1
    n, m = pair.sample.effective(large), float((pair.population.sizes > 1).sum())
    n_sample = int(large.sum())
    rows: list[Row] = []
    for key, factor in pair.factors.items():
        k = factor.n_codes
        tables, agree = [], []
        for (side, first, second, _), w in zip(sides, weights, strict=True):
            codes = factor.code(side.frame[factor.name])
            a, b = codes[first], codes[second]
            cells = np.bincount(np.minimum(a, b) * k + np.maximum(a, b), w, minlength=k * k)
            tables.append(cells / w.sum())
            agree.append(float(w[a == b].sum() / w.sum()))
        q, p = tables
        rows.append((MEMBERS, "tvd", key, "", *_tvd_of_cells(p, q, m, n), n_sample))
        if key in pair.names:
            compared = _shares_apart(agree[0], agree[1], n, m)
            rows.append((MEMBERS, "agreement", key, "", *compared, n_sample))
    for name in pair.numbers:
        correlation = _correlation(pair, sides, weights, name)
        if correlation is not None:
            rows.append((MEMBERS, "correlation", name, "", *correlation, n_sample))
    return rows


def _tvd_of_cells(p: np.ndarray, q: np.ndarray, m: float, n: float) -> Compared:
    simulation, sampling = (expected_total_variation(smoothed(q, size), size) for size in (m, n))
    return np.nan, np.nan, total_variation(p, q), simulation, sampling


def smoothed(q: np.ndarray, n: float) -> np.ndarray:
    """Return shares as if half a unit more lay in the cells, so that 0 and 1 are not certain."""
    return np.asarray((q * n + 0.5 / len(q)) / (n + 0.5))


def _shares_apart(q: float, p: float, n: float, m: float) -> Compared:
    """Two shares and the distance that sampling and simulation let expect."""
    smooth = [(q * size + 0.5) / (size + 1) for size in (n, m)]
    sampling, simulation = (
        MEAN_DEVIATION * float(np.sqrt(share * (1 - share) / size))
        for share, size in zip(smooth, (n, m), strict=True)
    )
    return q, p, abs(p - q), simulation, sampling


def _correlation(
    pair: HouseholdPair, sides: Sequence[Any], weights: Sequence[np.ndarray], name: str
) -> Compared | None:
    """Correlation of a number between two members of a household, in either order."""
    estimates, errors = [], []
    for (side, first, second, household), w in zip(sides, weights, strict=True):
        x = as_numbers(side.frame[name])
        a, b = x[first], x[second]
        is_finite = np.isfinite(a) & np.isfinite(b)
        a, b, w_known, owner = a[is_finite], b[is_finite], w[is_finite], household[is_finite]
        if len(a) < FEWEST_HOUSEHOLDS:
            return None

        def statistic(
            used: np.ndarray, a: Any = a, b: Any = b, w: Any = w_known, owner: Any = owner
        ) -> float:
            rows = used[owner]
            return _symmetric_correlation(a[rows], b[rows], w[rows])

        all_households = np.ones(len(side.sizes), dtype=bool)
        estimates.append(statistic(all_households))
        if side is pair.sample:
            error = group_jackknife(statistic, len(side.sizes), units=side.units)
            errors.append(MEAN_DEVIATION * error)
        else:
            errors.append(MEAN_DEVIATION * (1 - estimates[-1] ** 2) / np.sqrt(max(len(a), 1)))
    q, p = estimates
    return (q, p, abs(p - q), errors[1], errors[0]) if np.isfinite([q, p]).all() else None


def _symmetric_correlation(a: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
    total = w.sum()
    if not total > 0:
        return float("nan")
    centre = (w @ a + w @ b) / (2 * total)
    variance = (w @ (a - centre) ** 2 + w @ (b - centre) ** 2) / (2 * total)
    if not variance > 0:
        return float("nan")
    return float((w * (a - centre)) @ (b - centre) / total / variance)


def _member_counts(pair: HouseholdPair) -> list[Row]:
    """How many members have a level, a value other than zero, or are children."""
    rows = []
    for name in pair.names:
        factor = pair.factors[name]
        codes = [factor.code(side.frame[factor.name]) for side in pair.sides]
        numbers = np.bincount(codes[0], minlength=factor.n_codes)
        for level in np.flatnonzero(numbers >= FEWEST_PERSONS):
            marked = [code == level for code in codes]
            rows.append(_count_row(pair, name, factor.labels[level], marked))
    for name in pair.numbers:
        marked = [np.nan_to_num(as_numbers(side.frame[name])) != 0 for side in pair.sides]
        if not marked[0].all():
            rows.append(_count_row(pair, name, message("with a value other than 0"), marked))
    if pair.age is not None:
        marked = [as_numbers(side.frame[pair.age]) < CHILD for side in pair.sides]
        rows.append(_count_row(pair, pair.age, message(BELOW), marked))
    return rows


def _count_row(pair: HouseholdPair, name: str, where: str, marked: Sequence[np.ndarray]) -> Row:
    tables = []
    for side, persons in zip(pair.sides, marked, strict=True):
        counts = np.minimum(side.total(persons.astype(float)), MOST_COUNTED).astype(int)
        cells = np.bincount(counts, side.weights, minlength=MOST_COUNTED + 1)
        tables.append(cells / cells.sum())
    q, p = tables
    n, m = pair.sample.effective(), float(len(pair.population.sizes))
    return COUNTS, "tvd", name, str(where), *_tvd_of_cells(p, q, m, n), len(pair.sample.sizes)


def _sums(pair: HouseholdPair) -> list[Row]:
    """Household sums of each number: distribution, and Gini and poverty rate of amounts."""
    rows: list[Row] = []
    n, m = pair.sample.effective(), float(len(pair.population.sizes))
    for name in pair.numbers:
        sums = [side.total(as_numbers(side.frame[name])) for side in pair.sides]
        distance = ks_of_values(sums[1], pair.population.weights, sums[0], pair.sample.weights)
        errors = (expected_ks(m), expected_ks(n))
        compared: dict[tuple[str, str], Compared] = {
            ("ks", ""): (np.nan, np.nan, distance, *errors)
        }
        if np.quantile(np.abs(sums[0]), 0.9) >= LARGE_AMOUNT:
            for label, statistic in (
                (message("Gini coefficient"), _gini),
                (message("poverty rate"), _poverty_rate),
            ):
                compared["indicator", label] = _indicator(pair, sums, statistic)
        for (measure, where), values in compared.items():
            if np.isfinite(values[2]):
                rows.append((SUMS, measure, name, where, *values, len(pair.sample.sizes)))
    return rows


def _indicator(pair: HouseholdPair, sums: Sequence[np.ndarray], statistic: Any) -> Compared:
    s, population = pair.sides
    q = statistic(sums[0], s.sizes, s.weights)
    p = statistic(sums[1], population.sizes, population.weights)
    error = MEAN_DEVIATION * group_jackknife(
        lambda used: statistic(sums[0][used], s.sizes[used], s.weights[used]),
        len(s.sizes),
        units=s.units,
    )
    ratio = float(np.sqrt(s.effective() / max(len(population.sizes), 1)))
    return q, p, abs(p - q), error * ratio, error


def _gini(sums: np.ndarray, sizes: np.ndarray, weights: np.ndarray) -> float:
    return gini(sums / np.sqrt(sizes), weights * sizes)


def _poverty_rate(sums: np.ndarray, sizes: np.ndarray, weights: np.ndarray) -> float:
    """Share of persons below 60 % of the median of household sum / sqrt(size)."""
    equivalised, w = sums / np.sqrt(sizes), weights * sizes
    line = POVERTY_SHARE * float(quantile(equivalised, w, [0.5])[0])
    return float(w[equivalised < line].sum() / w.sum())


def _age_gaps(pair: HouseholdPair) -> list[Row]:
    """Age gaps of the two oldest members, of parents and children, and by relation."""
    if pair.age is None:
        return []
    gaps: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for side in pair.sides:
        age = as_numbers(side.frame[pair.age])
        for where, values, household in _gaps_of_side(side, age, pair.relation):
            is_finite = np.isfinite(values)
            entry = (values[is_finite], side.weights[household[is_finite]])
            gaps.setdefault(where, []).append(entry)
    rows: list[Row] = []
    for where, sides in gaps.items():
        if len(sides) < 2 or min(len(values) for values, _ in sides) < FEWEST_HOUSEHOLDS:
            continue
        (q, wq), (p, wp) = sides
        n = float(wq.sum() ** 2 / np.square(wq).sum())
        means = float(np.average(q, weights=wq)), float(np.average(p, weights=wp))
        errors = expected_ks(len(p)), expected_ks(n)
        distance = ks_of_values(p, wp, q, wq)
        rows.append((AGES, "ks", pair.age, where, *means, distance, *errors, len(q)))
    return rows


def _gaps_of_side(
    side: HouseholdRows, age: np.ndarray, relation: str | None
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    order = np.lexsort((-np.nan_to_num(age, nan=-1.0), side.index))
    sorted_age = age[order]
    gaps = []
    for least, where, a, b in (
        (2, message("the two oldest members"), 0, 1),
        (3, message("the second oldest and the youngest"), 1, -1),
    ):
        at = np.flatnonzero(side.sizes >= least)
        position = side.sizes[at] - 1 if b < 0 else b
        older, younger = sorted_age[side.starts[at] + a], sorted_age[side.starts[at] + position]
        gaps.append((where, older - younger, at))
    if relation is not None:
        texts = side.frame[relation].astype("str").to_numpy()
        first = side.starts[side.index]
        other_members = np.flatnonzero(np.arange(len(age)) != first)
        for level in np.unique(texts[other_members]).tolist():
            rows = other_members[texts[other_members] == level]
            where = message("the first member and {role}", role=level)
            gaps.append((where, age[first[rows]] - age[rows], side.index[rows]))
    return gaps


def ks_of_values(p: np.ndarray, wp: np.ndarray, q: np.ndarray, wq: np.ndarray) -> float:
    """Kolmogorov-Smirnov distance of two weighted samples; NaN where one is empty."""
    if not (wp.sum() > 0 and wq.sum() > 0):
        return float("nan")
    values = np.concatenate([p, q])
    jumps = np.concatenate([wp / wp.sum(), -wq / wq.sum()])
    distinct, code = np.unique(values, return_inverse=True)
    steps = np.bincount(code, jumps, minlength=len(distinct))
    return float(np.abs(np.cumsum(steps)).max())
