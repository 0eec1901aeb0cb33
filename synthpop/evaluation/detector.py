"""What a population has that another sample of the survey's country would not have.

Each comparison is a test of two samples whose members of a household are not independent, with its
size; a finding is beyond chance and large enough to matter. All findings of one population
together are due to chance in a few of a hundred fresh samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from synthpop.conditional.rules.evaluate import broken_by
from synthpop.conditional.rules.parse import parse_rule
from synthpop.evaluation.household_rows import HouseholdRows
from synthpop.evaluation.two_samples import (
    Inside,
    compared_cells,
    deviate,
    inside_rows,
    mean_square_contingency,
)
from synthpop.evaluation.unseen import new_levels, new_pairs
from synthpop.logic.learn import learn_rules, people_of
from synthpop.microdata.frame.frames import as_numbers, has_numbers, is_number
from synthpop.microdata.messages.text import number
from synthpop.microdata.reading.kinds import are_seldom_equal, are_whole
from synthpop.microdata.statistics.distances import effective_size
from synthpop.profile.household_sums import word
from synthpop.profile.reader import MOST_LEVELS

MOST_HOUSEHOLDS = 20_000
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.995)
MOST_STATES = 12  # of a column in a table of two
HEAPS = {"age": (5, 10), "amount": (10, 100, 1000)}
FEW_VALUES = 30
UNSEEN = "not in the survey"
FAR = 6.0  # of one cell of a table
COLUMNS = ["kind", "variable", "given", "where", "sample", "population", "z", "size"]


@dataclass(frozen=True, slots=True)
class FindingLimits:
    """From where on a comparison is a finding, and from which size on it spoils the population."""

    z: float
    size: float
    bad: float


KINDS: Mapping[str, FindingLimits] = {
    "level": FindingLimits(5.0, 0.02, 0.15),
    "table": FindingLimits(5.0, 0.015, 0.15),
    "stratum": FindingLimits(4.5, 0.04, 0.15),
    "members": FindingLimits(5.0, 0.04, 0.2),
    "sizes": FindingLimits(5.0, 0.02, 0.15),
    "heaping": FindingLimits(5.0, 0.03, 0.3),
    "rule": FindingLimits(4.0, 0.0005, 0.05),
    "copies": FindingLimits(5.0, 0.02, np.inf),
    "new": FindingLimits(5.0, 0.02, 0.3),
}


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Sample and population, with what is compared coded alike."""

    sample: HouseholdRows
    population: HouseholdRows
    coder: Mapping[str, Callable[[pd.Series], np.ndarray]]
    labels: Mapping[str, tuple[str, ...]]
    numbers: tuple[str, ...]
    age: str | None
    codes: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @property
    def both(self) -> tuple[HouseholdRows, HouseholdRows]:
        """Sample and population."""
        return self.sample, self.population


def detect(
    sample: HouseholdRows,
    population: HouseholdRows,
    columns: Sequence[str],
    *,
    age: str | None = None,
    relation: str | None = None,
    strata: str | None = None,
    totals: Mapping[str, Sequence[str]] | None = None,
) -> pd.DataFrame:
    """Return all comparisons: kind, variable, given, where, both values, z and size.

    columns: variables of both sides
    age, relation, strata: those of them that are it
    totals: total -> parts that add up to it

    At most 20,000 households of each side are used, evenly spaced. No randomness.
    """
    sample, population = (_thinned(side) for side in (sample, population))
    sides = _coded(sample, population, columns, age)
    rows = [*_levels(sides), *_tables(sides, strata), *_members(sides), *_sizes(sides)]
    rows += [
        *_heaping(sides),
        *_rules(sides, columns, relation, totals or {}),
        *_copies(sides),
        *_new(sides),
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def findings(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons beyond their limits, the gravest first; of each variable a few."""
    limits = comparisons["kind"].map(KINDS)
    beyond = [
        z > limit.z and size > limit.size
        for z, size, limit in zip(comparisons["z"], comparisons["size"], limits, strict=True)
    ]
    table = comparisons[beyond].copy()
    table["grave"] = [
        size / KINDS[kind].bad for size, kind in zip(table["size"], table["kind"], strict=True)
    ]
    return table.sort_values(["grave", "z"], ascending=False, kind="stable").reset_index(drop=True)


def _thinned(side: HouseholdRows) -> HouseholdRows:
    n = len(side.sizes)
    if n <= MOST_HOUSEHOLDS:
        return side
    return side.take(np.linspace(0, n - 1, MOST_HOUSEHOLDS).astype(np.int64))


def _coded(
    sample: HouseholdRows, population: HouseholdRows, columns: Sequence[str], age: str | None
) -> Sides:
    coder, labels, numbers = {}, {}, []
    known: np.ndarray | list[float]
    for name in columns:
        column = sample.frame[name]
        values = as_numbers(column) if has_numbers(column) else None
        known = np.unique(values[np.isfinite(values)]) if values is not None else []
        if values is not None and not len(known):
            continue
        if values is not None and _are_amounts(values, len(known)):
            numbers.append(name)
            coder[name], labels[name] = _classes(values, name == age)
        elif column.nunique() <= MOST_LEVELS:
            coder[name], labels[name] = _levels_of(column)
    codes = {
        name: (code(sample.frame[name]), code(population.frame[name]))
        for name, code in coder.items()
    }
    return Sides(sample, population, coder, labels, tuple(numbers), age, codes)


def _are_amounts(values: np.ndarray, n_distinct: int) -> bool:
    return n_distinct > FEW_VALUES or not are_whole(values) or are_seldom_equal(values)


def _classes(values: np.ndarray, is_age: bool) -> tuple[Any, tuple[str, ...]]:
    amounts = values[np.isfinite(values) & (values > 0)]
    low = float(np.nanmin(values))
    cuts = np.arange(5, 95, 5) if is_age else np.unique(np.quantile(amounts, SHARES)) if len(
        amounts) else np.zeros(0)  # fmt: skip
    limits = np.unique(np.concatenate([[0.0] if low < 0 else [], [0.0], cuts]))
    steps = [f"{number(a)} to {number(b)}" for a, b in pairwise(limits)]
    texts = ["below 0", "0", *steps, f"above {number(limits[-1])}"]

    def code(column: pd.Series) -> np.ndarray:
        x = as_numbers(column)
        codes = 2 + np.searchsorted(limits, np.nan_to_num(x), side="left") - 1
        codes = np.where(x == 0, 1, np.where(x < 0, 0, np.maximum(codes, 2)))
        return np.where(np.isfinite(x), codes, len(texts)).astype(np.int64)

    return code, (*texts, "missing")


def _levels_of(column: pd.Series) -> tuple[Any, tuple[str, ...]]:
    levels = [
        str(x) if not is_number(column) else f"{float(x):g}" for x in column.dropna().unique()
    ]
    position = {level: code for code, level in enumerate(sorted(set(levels)))}
    numeric = is_number(column)

    def code(other: pd.Series) -> np.ndarray:
        own, uniques = pd.factorize(other)
        texts = [f"{float(x):g}" if numeric and is_number(other) else str(x) for x in uniques]
        table = [position.get(text, len(position) + 1) for text in texts] + [len(position)]
        return np.array(table, dtype=np.int64)[own]

    return code, (*position, "missing", UNSEEN)


# one variable, and two


def _levels(sides: Sides) -> Iterator[tuple[Any, ...]]:
    for name, codes in sides.codes.items():
        labels = sides.labels[name]
        cells = compared_cells(sides.both, codes, len(labels) + 1)
        q, p, z = cells.q.copy(), cells.p, cells.z.copy()
        if labels[-1] == UNSEEN:  # as many of another sample as have a level that nobody else has
            alone, new = new_levels(codes, sides.sample.index)
            marked = compared_cells(sides.both, [alone.astype(np.int64), new.astype(np.int64)], 2)
            q[len(labels) - 1], z[len(labels) - 1] = marked.q[1], max(marked.z[1], 0.0)
        for at in np.flatnonzero(np.abs(z) > 3):
            relative = abs(p[at] - q[at]) * max(1.0, min(0.1 / max(q[at], p[at]), 20.0))
            yield "level", name, "", labels[at], cells.q[at], p[at], abs(z[at]), relative


def _few_states(codes: tuple[np.ndarray, np.ndarray], n: int) -> tuple[list[np.ndarray], int]:
    """Return codes with the rarest states of the sample in one."""
    counts = np.bincount(codes[0], minlength=n + 1)
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_STATES])
    table = np.full(n + 1, len(kept))
    table[kept] = np.arange(len(kept))
    return [table[code] for code in codes], len(kept) + 1


def _tables(sides: Sides, strata: str | None) -> Iterator[tuple[Any, ...]]:
    few = {n: _few_states(c, len(sides.labels[n])) for n, c in sides.codes.items()}
    inside: list[Inside] = []
    alike: list[float] = []
    for a, b in combinations(few, 2):
        (codes_a, n_a), (codes_b, n_b) = (few[b], few[a]) if b == strata else (few[a], few[b])
        both = [x * n_b + y for x, y in zip(codes_a, codes_b, strict=True)]
        cells = compared_cells(sides.both, both, n_a * n_b).shaped(n_a, n_b)
        gap, used = np.abs(cells.p - cells.q), cells.z != 0
        chance = float((gap / np.maximum(np.abs(cells.z), 1e-9))[used].sum() / 2 * 0.8)
        far = float(gap[np.abs(cells.z) > FAR].max(initial=0.0))
        size = max(cells.apart - chance, far)
        yield "table", a, b, "", 0.0, cells.apart, cells.beyond, size
        if strata in (a, b):
            inside.append(inside_rows(sides.both, both, n_a, n_b))
        else:
            alike.append(mean_square_contingency(cells.mean, len(both[0])))
    if inside and strata is not None:
        yield from _strata(sides, strata, inside, sum(alike))


def _strata(
    sides: Sides, strata: str, inside: Sequence[Inside], alike: float
) -> Iterator[tuple[Any, ...]]:
    """Compare what is inside each stratum, all variables together.

    Sums of squares of two variables have the covariance 2 phi^2: of variables that go together,
    all say the same, and count less.

    alike: sum of phi squared over all pairs of variables
    """
    labels = [sides.labels[strata][k] for k in np.unique(sides.codes[strata][0])]
    squares = np.sum([one.squares for one in inside], axis=0)
    degrees = np.sum([one.degrees for one in inside], axis=0)
    apart = np.mean([one.apart for one in inside], axis=0)
    for k in range(min(len(labels), len(squares))):
        repeated = 1 + 2 * alike / max(degrees[k], 1e-9)
        z = deviate(squares[k] / repeated, degrees[k] / repeated)
        yield "stratum", strata, "", labels[k], 0.0, apart[k], z, apart[k]


# households


def _members(sides: Sides) -> Iterator[tuple[Any, ...]]:
    """Levels of the first and of another member of a household, crossed."""
    rows, firsts = [], []
    for side in sides.both:
        first = side.starts[side.index]
        rows.append(np.flatnonzero(np.arange(len(first)) != first))
        firsts.append(first[rows[-1]])
    if min(map(len, rows)) < 100:
        return
    for name, codes in sides.codes.items():
        few, n = _few_states(codes, len(sides.labels[name]))
        cells = [c[first] * n + c[row] for c, first, row in zip(few, firsts, rows, strict=True)]
        crossed = compared_cells(sides.both, cells, n * n, rows)
        yield "members", name, "", "", 0.0, crossed.apart, crossed.beyond, crossed.apart
    if sides.age is not None:
        gaps = []
        for side, first, row in zip(sides.both, firsts, rows, strict=True):
            age = as_numbers(side.frame[sides.age])
            gap = np.nan_to_num(age[first] - age[row])
            gaps.append(np.clip((gap + 60) // 4, 0, 40).astype(np.int64))
        of_gaps = compared_cells(sides.both, gaps, 41, rows)
        yield ("members", sides.age, "", "gap", 0.0, of_gaps.apart, of_gaps.beyond,
               of_gaps.apart)  # fmt: skip


def _sizes(sides: Sides) -> Iterator[tuple[Any, ...]]:
    if not (sides.sample.sizes > 1).any():
        return
    codes = [np.minimum(side.sizes, 8)[side.index] for side in sides.both]
    cells = compared_cells(sides.both, codes, 9)
    q, p, z = cells.q, cells.p, cells.z
    for at in np.flatnonzero(np.abs(z) > 3):
        yield "sizes", "", "", str(at), q[at], p[at], abs(z[at]), abs(p[at] - q[at])


def _copies(sides: Sides) -> Iterator[tuple[Any, ...]]:
    """Households that are in all columns like another of the same side."""
    shares, n = [], []
    for side in sides.both:
        hashed = pd.util.hash_pandas_object(side.frame[list(sides.codes)], index=False).to_numpy()
        household = np.add.reduceat(hashed, side.starts) if len(side.starts) else hashed[:0]
        large = household[side.sizes > 1]
        _, position, count = np.unique(large, return_inverse=True, return_counts=True)
        shares.append(float((count[position] > 1).mean()) if len(large) else 0.0)
        n.append(max(len(large), 1))
    q, p = shares
    # of more households more are alike by chance; up to three of the sample may have been missed
    chance = min((q * n[0] + 3) / n[0] * max(n[1] / n[0], 1.0), 1.0)
    z = (p - chance) / np.sqrt(max(chance * (1 - chance), 1e-9) * (1 / n[0] + 1 / n[1]))
    yield "copies", "", "", "", q, p, z, max(p - 2 * chance, 0.0)


def _new(sides: Sides) -> Iterator[tuple[Any, ...]]:
    """Persons with a pair of values that nobody else of the survey has."""
    marked = new_pairs(sides.codes, sides.sample.index)
    cells = compared_cells(sides.both, [rows.astype(np.int64) for rows in marked], 2)
    q, p = cells.q[1], cells.p[1]
    yield "new", "", "", "", q, p, cells.z[1], max(p - q, 0.0)


# numbers and rules


def _heaping(sides: Sides) -> Iterator[tuple[Any, ...]]:
    """Share of multiples among the numbers that are not zero."""
    for name in sides.numbers:
        values = [as_numbers(side.frame[name]) for side in sides.both]
        for unit in HEAPS["age" if name == sides.age else "amount"]:
            rows = [np.flatnonzero(np.isfinite(x) & (np.abs(x) >= unit)) for x in values]
            if min(map(len, rows)) < FEW_VALUES:
                continue
            on = [(np.mod(x[row], unit) == 0).astype(np.int64)
                  for x, row in zip(values, rows, strict=True)]  # fmt: skip
            cells = compared_cells(sides.both, on, 2, rows)
            q, p, z = cells.q[1], cells.p[1], abs(cells.z[1])
            yield "heaping", name, "", number(unit), q, p, z, abs(p - q)


def _rules(
    sides: Sides, columns: Sequence[str], relation: str | None, totals: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Any, ...]]:
    """Rules that the survey keeps, or nearly keeps, and sums."""
    name = "household of the comparison"
    frames = [side.frame.assign(**{name: side.index}) for side in sides.both]
    learned = learn_rules(frames[0], list(columns), household=name, age=sides.age,
                          relation=relation, totals=totals)  # fmt: skip
    texts = [rule.text for rule in learned]
    texts += [f"{' + '.join(map(word, parts))} = {word(total)}" for total, parts in totals.items()]
    rules = [parse_rule(text) for text in texts]
    people = [people_of(frame, name, rules) for frame in frames]
    for text, rule in zip(texts, rules, strict=True):
        broken = [broken_by(side, rule) for side in people]
        yield "rule", text, "", "", *_broken_shares(sides, broken)


def _broken_shares(sides: Sides, broken: Sequence[np.ndarray]) -> tuple[float, ...]:
    """Return the shares that break a rule, the root of the likelihood ratio, and the excess.

    Members of one household who break it count as one.
    """
    counts, sizes = [], []
    for side, rows in zip(sides.both, broken, strict=True):
        n = effective_size(side.person_weights)
        share = float(np.average(rows, weights=side.person_weights))
        alike = max(int(rows.sum()) / max(len(np.unique(side.index[rows])), 1), 1.0)
        counts.append(share * n / alike)
        sizes.append(n / alike)
    q, p = (count / size for count, size in zip(counts, sizes, strict=True))
    both = sum(counts) / sum(sizes)

    def fit(count: float, share: float) -> float:
        return count * np.log(share) if count > 0 else 0.0

    ratio = sum(fit(count, count / size) - fit(count, both)
                for count, size in zip(counts, sizes, strict=True))  # fmt: skip
    return q, p, float(np.sign(p - q) * np.sqrt(2 * max(ratio, 0.0))), max(p - q, 0.0)
