"""Numbers that never exceed others, and members who follow the reference person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from synthpop.logic.implications import Implication
from synthpop.logic.states import States
from synthpop.profile.household_sums import word
from synthpop.profile.reader import are_whole

SHIFTS = (0.31, 0.43, 0.59, 0.71)  # of the rows, to pair persons with those of elsewhere
FEWEST_AT = 5  # persons exactly at a bound that is not zero
LEAST_SHARE = 0.02  # of persons of elsewhere beyond a bound
YEARS = 200  # numbers whose distance is meant in years lie within so many
NEAR = 0.5  # of the larger number
GENERATION = 10  # years between members of which a bound is worth a rule


def _from_elsewhere(values: np.ndarray, share: float) -> np.ndarray:
    return np.roll(values, int(share * len(values)))


def order_rules(
    numbers: Mapping[str, np.ndarray], apart: set[frozenset[str]], least: float
) -> Iterator[Implication]:
    """Yield "x <= y" and "x <= y - d" of years; what chance would break often, and nobody does.

    numbers: dict of float arrays, NaN where missing
    apart: pairs of columns that need none, such as a total and its part
    least: persons whom chance must let break a rule
    """
    for x, a in numbers.items():
        for y, b in numbers.items():
            gap = a - b
            known = np.isfinite(gap)
            if x == y or frozenset((x, y)) in apart or known.sum() < least:
                continue
            bound = float(gap[known].max())
            at = int((gap[known] == bound).sum())
            in_years = all(are_whole(v) and np.ptp(v[np.isfinite(v)]) <= YEARS for v in (a, b))
            if bound > 0 or (bound < 0 and not (in_years and at >= FEWEST_AT)):
                continue
            near = a[known & (b > 0)] > NEAR * b[known & (b > 0)]
            if bound == 0 and near.mean() < LEAST_SHARE:  # of another size
                continue
            others = [a - _from_elsewhere(b, share) for share in SHIFTS]
            beyond = float(np.mean([(other > bound).sum() for other in others]))
            if beyond >= max(least, LEAST_SHARE * known.sum()):
                less = f" - {-bound:g}" if bound < 0 else ""
                yield Implication(f"{word(x)} <= {word(y)}{less}", (x, y), beyond)


class Head:
    """The reference person of each household, for rules about the others."""

    def __init__(self, relation: States, household: np.ndarray, columns: Sequence[States]) -> None:
        self.relation, self.household = relation, household
        n_households = int(household.max(initial=-1)) + 1
        counts = np.array([
            np.bincount(household[relation.codes == code], minlength=n_households)
            for code in range(len(relation.texts))
        ])  # fmt: skip
        alone = np.flatnonzero((counts == 1).all(axis=1))
        self.code = int(alone[0]) if len(alone) else -1
        self.row = np.zeros(n_households, dtype=np.int64)
        if self.code >= 0:
            rows = np.flatnonzero(relation.codes == self.code)
            self.row[household[rows]] = rows
            text = relation.texts[self.code]
            named = [text for other in columns for text in other.texts]
            self.name = text if text[0] in "\"'" and named.count(text) == 1 else None

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return the value of the reference person for each member."""
        return np.asarray(values[self.row[self.household]])

    def text(self, column: str, *, as_number: bool) -> str | None:
        """Return how a rule names the value of the reference person; None where it cannot."""
        if self.name is not None:
            name = self.name[1:-1] if self.name[1:-1].isidentifier() else self.name
            return f"{name}.{word(column)}"
        level = f"{word(self.relation.name)} = {self.relation.texts[self.code]}"
        return f"sum(({level}) * {word(column)})" if as_number else None

    def members(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the condition of each relation to the reference person, and who has it."""
        for code, text in enumerate(self.relation.texts):
            if code != self.code:
                yield f"{word(self.relation.name)} = {text}", self.relation.codes == code


def head_rules(
    head: Head, columns: Sequence[States], age: tuple[str, np.ndarray] | None, least: float
) -> Iterator[Implication]:
    """Yield what follows from the reference person: equal values, and ages that are apart."""
    if head.code < 0:
        return
    others = np.arange(len(head.household)) != head.row[head.household]
    coded = [c for c in columns if c.kind == "category" and c.name != head.relation.name]
    shared = {c.name for c in coded if (c.codes == head.of(c.codes)).all()}
    for own in coded:
        for of_head in coded:
            if own.missing or of_head.missing or set(own.texts).isdisjoint(of_head.texts):
                continue
            if own.name in shared and (own is of_head or of_head.name in shared):
                continue
            numeric = all(text[0] not in "\"'" for text in (*own.texts, *of_head.texts))
            text = head.text(of_head.name, as_number=numeric)
            position = {level: code for code, level in enumerate(own.texts)}
            theirs = np.array([position.get(level, -2) for level in of_head.texts])
            value = head.of(theirs[of_head.codes])
            scopes = [("", np.ones(len(value), bool))] if own is not of_head else head.members()
            for scope, rows in scopes:
                if text is None or not rows.any() or (own.codes[rows] != value[rows]).any():
                    continue
                persons = rows & others if own is of_head else rows
                elsewhere = [
                    (own.codes[persons] != _from_elsewhere(value, s)[persons]).sum() for s in SHIFTS
                ]
                if np.mean(elsewhere) >= least:
                    rule = f"{word(own.name)} = {text}" + (f" if {scope}" if scope else "")
                    yield Implication(rule, (own.name, of_head.name), float(np.mean(elsewhere)))
    if age is not None:
        yield from _generations(head, *age, least)


def _generations(head: Head, name: str, age: np.ndarray, least: float) -> Iterator[Implication]:
    """Yield how much younger or older than the reference person a relation is at least."""
    of_head, text = head.of(age), head.text(name, as_number=True)
    for scope, rows in head.members():
        gap = (of_head - age)[rows]
        gap = gap[np.isfinite(gap)]
        if not len(gap) or text is None:
            continue
        for sign, sides in ((1, (word(name), text)), (-1, (text, word(name)))):
            bound = float((sign * gap).min())
            elsewhere = [
                (sign * (_from_elsewhere(of_head, s) - age)[rows] < bound).sum() for s in SHIFTS
            ]
            if bound >= GENERATION and np.mean(elsewhere) >= least:
                rule = f"{sides[0]} <= {sides[1]} - {bound:g} if {scope}"
                yield Implication(rule, (name, head.relation.name), float(np.mean(elsewhere)))
