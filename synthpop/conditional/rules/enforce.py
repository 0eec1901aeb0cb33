"""Rules kept while a population is drawn: redraws of the households that break one.

A rule is looked at as soon as the last of its columns has been drawn. Households that break it are
drawn again by that step, from the same model, until they keep it: draws from the distribution given
the rule. What is still broken then takes the nearest value of the sample that the rule allows.
Everything is counted. Columns that later steps derive are derived for the look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from synthpop.conditional.rules.evaluate import People, broken_by, columns_used
from synthpop.conditional.rules.syntax import Operation, Rule
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import percent, plural
from synthpop.models.encoding import distinct_numbers

TRIES = (1, 1, 2, 4, 8, 14)  # draws of the households that break a rule, in each round
CANDIDATES = 60
MOST_MEMBERS = 8  # of a household, whose values are tried one after another
LABEL = "rules"


@dataclass(frozen=True, slots=True)
class RulePlan:
    """When which rule is looked at."""

    rules: tuple[Rule, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)  # dict of Field
    # position of a step -> positions of the rules that it completes
    at: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    # position of a step -> positions of later steps whose columns its rules need
    derived: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    # column -> values of the sample, for households that no redraw helps
    candidates: Mapping[str, np.ndarray] = field(default_factory=dict)

    def people(self, columns: Mapping[str, np.ndarray], offsets: np.ndarray) -> People:
        """Return persons as rules see them."""
        return People(self.fields, columns, offsets)


def check_rules_of_recipe(
    faults: Faults, rules: Sequence[Rule], fields: Mapping[str, Field | None]
) -> None:
    """Note rules that name what the population will not have."""
    known_fields = {name: item for name, item in fields.items() if item is not None}
    columns = {name: np.zeros(0, dtype=item.dtype) for name, item in known_fields.items()}
    nobody = People(known_fields, columns, np.zeros(1, dtype=np.int64))
    for rule in rules:
        try:
            columns_used(rule, nobody)
            broken_by(nobody, rule)
        except InputError as problem:
            for fault in problem.faults:
                faults.add(f"rule {rule.text!r}", f"{fault.where} {fault.what}", hint=fault.hint)


def plan_rules(
    rules: Sequence[Rule], stages: Sequence[Any], models: Sequence[Any], sample: Sample
) -> RulePlan:
    """Find out after which step each rule can be looked at.

    stages, models: the steps that work block by block, `Structure` first, and what they learned
    sample: with the columns of all steps
    """
    rules = [conjunct for rule in rules for conjunct in conjuncts(rule)]
    people = People(sample.fields, sample.columns, sample.offsets)
    maker = {name: k for k, stage in enumerate(stages) for name in stage.provides}
    at: dict[int, list[int]] = {}
    derived: dict[int, set[int]] = {}
    names: set[str] = set()
    for number, rule in enumerate(rules):
        columns = columns_used(rule, people)
        base, through = _base_columns(columns, models, maker)
        steps = {max((maker.get(name, 0) for name in base), default=0)}
        steps |= {k for k, stage in enumerate(stages) if base & {*stage.revises}}
        for step in steps:
            at.setdefault(step, []).append(number)
            derived.setdefault(step, set()).update(k for k in through if k > step)
        names |= base
    return RulePlan(
        tuple(rules),
        sample.fields,
        {step: tuple(numbers) for step, numbers in at.items()},
        {step: tuple(sorted(numbers)) for step, numbers in derived.items()},
        {name: _candidates(sample, name) for name in sorted(names) if name in maker},
    )


def conjuncts(rule: Rule) -> list[Rule]:
    """Return a rule "A and B" of persons as one for each part, which is kept by its own step."""
    condition = rule.condition
    if rule.household or not isinstance(condition, Operation) or condition.operator != "and":
        return [rule]
    left, right = (replace(rule, condition=one) for one in (condition.left, condition.right))
    return [*conjuncts(left), *conjuncts(right)]


def _base_columns(
    used: frozenset[str], models: Sequence[Any], maker: Mapping[str, int]
) -> tuple[set[str], set[int]]:
    """Return the columns that are drawn, and the steps that derive the others of them."""
    base, through, todo = set(), set(), list(used)
    while todo:
        name = todo.pop()
        sources = getattr(models[maker[name]], "sources", ()) if name in maker else ()
        if sources:
            through.add(maker[name])
            todo += sources
        else:
            base.add(name)
    return base, through


def _candidates(sample: Sample, name: str) -> np.ndarray:
    values, weights = sample.columns[name], sample.weights
    if sample.fields[name].kind == "categorical":
        has_value = values >= 0
        counts = np.bincount(values[has_value], weights[has_value], len(sample.fields[name].levels))
        codes = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
        return np.append(codes, MISSING) if (~has_value).any() else codes
    has_value = ~np.isnan(values.astype(np.float64))
    distinct = distinct_numbers(values)
    if len(distinct) > CANDIDATES:
        places = np.linspace(0, len(distinct) - 1, CANDIDATES).round().astype(np.int64)
        zero = distinct[distinct == 0]
        distinct = np.union1d(distinct[places], zero)
    return np.append(distinct.astype(np.float64), np.nan) if (~has_value).any() else distinct


def broken_in_survey(plan: RulePlan, sample: Sample) -> tuple[Fallback, ...]:
    """Note which rules the survey itself breaks, and by how much."""
    people, notes = plan.people(sample.columns, sample.offsets), []
    for text in dict.fromkeys(rule.text for rule in plan.rules):
        parts = [broken_by(people, rule) for rule in plan.rules if rule.text == text]
        broken = np.any(parts, axis=0)
        if broken.any():
            share = float(sample.weights[broken].sum() / sample.weights.sum())
            persons = plural(int(broken.sum()), "survey person")
            what = message(
                "{rule} is broken by {persons} ({share}); the population keeps it",
                rule=repr(text),
                persons=persons,
                share=percent(share),
            )
            notes.append(Fallback(LABEL, "all", what))
    return tuple(notes)


def households_that_break(plan: RulePlan, sample: Sample) -> np.ndarray:
    """Return which sample households break a rule about what `Structure` copies; shape (H,)."""
    people = plan.people(sample.columns, sample.offsets)
    broken = np.zeros(sample.n_persons, dtype=bool)
    for number in plan.at.get(0, ()):
        broken |= broken_by(people, plan.rules[number])
    return np.maximum.reduceat(broken, sample.offsets[:-1])


def draw_within_rules(
    plan: RulePlan, stages: Sequence[Any], models: Sequence[Any], step: int, block: Block,
    rng: np.random.Generator, stratum: str,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Draw the new columns of a step such that the rules it completes are kept.

    step: position among the stages
    rng: of the step in this block; redraws go on with it
    """
    jitters = bool(getattr(models[step], "jitter", ()))
    before_draw = deepcopy(rng) if jitters and not step else None
    new: dict[str, np.ndarray] = stages[step].simulate(models[step], block, rng)
    numbers = plan.at.get(step, ())
    if not numbers or not block.n_households:
        return new
    look = _Look(plan, stages, models, step, numbers)
    first = look.broken(block, new)
    if before_draw is not None and bool(first.any()):
        copied = stages[step].copied(models[step], block, before_draw)
        rows = _of_same_households(block.offsets, np.asarray(first.any(axis=0)))
        for name, values in copied.items():
            new[name][rows] = values[rows]
        n_households = len(np.unique(np.searchsorted(block.offsets, rows, side="right")))
        what = plural(n_households, "household")
        what += " " + message("would break a rule with ages drawn again: copied as in the sample")
        block.fallbacks.append(Fallback(LABEL, stratum, what, len(rows)))
        first = look.broken(block, new)
    broken = np.asarray(first.any(axis=0))
    if not broken.any():
        return new
    for number, rows in zip(numbers, first, strict=True):
        if rows.any() and step:
            what = message(
                "{text}: households were drawn again until they kept it",
                text=repr(plan.rules[number].text),
            )
            block.fallbacks.append(Fallback(LABEL, stratum, what, int(rows.sum())))
    new = {name: values.copy() for name, values in new.items()}
    for copies in TRIES if step else ():
        rows = _of_same_households(block.offsets, broken)
        # never more rows than in the block
        copies = int(np.clip(block.n_persons // len(rows), 1, copies))
        households = repeated(block_rows(block, rows), copies)
        drawn = stages[step].simulate(models[step], households, rng)
        breaks = look.broken(households, drawn).any(axis=0)
        chosen = _first_that_keeps(breaks, households.offsets, copies)
        for name, values in drawn.items():
            new[name][rows] = values[chosen]
        broken[rows] = breaks[chosen]
        if not broken.any():
            return new
    revised = stages[step].revises
    if revised:  # what was there before kept the rules
        rows = _of_same_households(block.offsets, broken)
        for name in revised:
            new[name][rows] = block.columns[name][rows]
    elif step:
        before = int(broken.sum())
        look.repair(block, new, broken)
        changed = before - int(broken.sum())
        if changed:
            names = ", ".join(stages[step].provides)
            what = message(
                "no draw of {names} satisfied the rules: the nearest sample value that does",
                names=names,
            )
            block.fallbacks.append(Fallback(LABEL, stratum, what, changed))
    for number, breaks in zip(numbers, look.broken(block, new), strict=True):
        if breaks.any():
            what = message("{rule} could not be satisfied", rule=repr(plan.rules[number].text))
            block.fallbacks.append(Fallback(LABEL, stratum, what, int(breaks.sum())))
    return new


def repeated(block: Block, copies: int) -> Block:
    """Return a block with so many copies of its households, one copy of all after another."""
    if copies == 1:
        return block
    sizes = np.tile(np.diff(block.offsets), copies)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(block.offsets.dtype)
    columns = {name: np.tile(values, copies) for name, values in block.columns.items()}
    return Block(block.stratum, block.number, offsets, columns)


def _first_that_keeps(breaks: np.ndarray, offsets: np.ndarray, copies: int) -> np.ndarray:
    """Return the rows of the first copy of each household that breaks no rule, or of the last."""
    n_households, n_persons = (len(offsets) - 1) // copies, len(breaks) // copies
    bad = np.logical_or.reduceat(breaks, offsets[:-1]).reshape(copies, n_households)
    bad[-1] = False
    copy = np.repeat(bad.argmin(axis=0), np.diff(offsets[: n_households + 1]))
    return copy * n_persons + np.arange(n_persons)


def _of_same_households(offsets: np.ndarray, persons: np.ndarray) -> np.ndarray:
    """Return the rows of all members of the households of some persons."""
    is_in_household = np.maximum.reduceat(persons, offsets[:-1])
    return np.flatnonzero(np.repeat(is_in_household, np.diff(offsets)))


def block_rows(block: Block, rows: np.ndarray) -> Block:
    """Return the block of some whole households; what it records goes nowhere."""
    household = np.repeat(np.arange(block.n_households), np.diff(block.offsets))[rows]
    sizes = np.unique(household, return_counts=True)[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = {name: values[rows] for name, values in block.columns.items()}
    return Block(block.stratum, block.number, offsets, columns)


@dataclass(frozen=True, slots=True)
class _Look:
    """How the rules of a step are looked at."""

    plan: RulePlan
    stages: Sequence[Any]
    models: Sequence[Any]
    step: int
    numbers: tuple[int, ...]

    def broken(self, block: Block, new: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return who breaks which rule, shape (rules, n_persons)."""
        trial = replace(block.with_columns(new), fallbacks=[])
        for later in self.plan.derived.get(self.step, ()):
            trial = trial.with_columns(self.stages[later].simulate(self.models[later], trial, None))
        people = self.plan.people(trial.columns, block.offsets)
        return np.array([broken_by(people, self.plan.rules[k]) for k in self.numbers])

    def repair(self, block: Block, new: dict[str, np.ndarray], broken: np.ndarray) -> None:
        """Give persons the nearest value of the sample with which fewest rules are broken.

        Parts of a total are exchanged first, which keeps their sum. Then those who break a rule
        get another value; then, where that is not enough, one member of the household
        after another: a rule may be about two of them.
        """
        self._swap(block, new, broken)
        if not broken.any():
            return
        sizes = np.diff(block.offsets)
        place = np.arange(block.n_persons) - np.repeat(block.offsets[:-1], sizes)
        for member in (None, *range(min(int(sizes.max(initial=0)), MOST_MEMBERS))):
            for name in self.stages[self.step].provides:
                if name not in self.plan.candidates or name not in new:
                    continue
                rows = _of_same_households(block.offsets, broken)
                chosen = broken[rows] if member is None else place[rows] == member
                part = block_rows(block, rows)
                new[name][rows] = self._nearest(
                    name, {key: values[rows] for key, values in new.items()}, chosen, part,
                    of_person=member is None,
                )  # fmt: skip
                broken[:] = self.broken(block, new).any(axis=0)
                if not broken.any():
                    return

    def _swap(self, block: Block, new: dict[str, np.ndarray], broken: np.ndarray) -> None:
        """Exchange the values of two columns of the step where fewer rules are broken then."""
        numeric = [name for name in new if self.plan.fields[name].kind == "numeric"]
        if len(numeric) < 2 or not broken.any():
            return
        rows = _of_same_households(block.offsets, broken)
        part, values = block_rows(block, rows), {name: new[name][rows] for name in new}
        breaks = self.broken(part, values)
        for a, b in combinations(numeric, 2):
            bad = breaks.any(axis=0)
            trial = {
                **values,
                a: np.where(bad, values[b], values[a]),
                b: np.where(bad, values[a], values[b]),
            }
            fewer = bad & (self.broken(part, trial).sum(axis=0) < breaks.sum(axis=0))
            if not fewer.any():
                continue
            values |= {name: np.where(fewer, trial[name], values[name]) for name in (a, b)}
            breaks = self.broken(part, values)
            if not breaks.any():
                break
        for name in numeric:
            new[name][rows] = values[name]
        broken[rows] = breaks.any(axis=0)

    def _nearest(
        self, name: str, new: Mapping[str, np.ndarray], chosen: np.ndarray, part: Block,
        *, of_person: bool,
    ) -> np.ndarray:  # fmt: skip
        """Return values of a column of whole households, those of the chosen persons replaced.

        of_person: count the rules that the person breaks, not those of all the household
        """
        household = np.repeat(np.arange(part.n_households), np.diff(part.offsets))

        def n_broken(trial: Mapping[str, np.ndarray]) -> np.ndarray:
            counts = self.broken(part, trial).sum(axis=0)
            if not of_person:
                counts = np.bincount(household, counts, part.n_households)[household]
            return np.asarray(counts)[chosen]

        old = new[name][chosen]
        best, fewest, distance = old.copy(), n_broken(new), np.full(len(old), -1.0)
        categorical = self.plan.fields[name].kind == "categorical"
        for order, value in enumerate(self.plan.candidates[name]):
            trial = {key: values.copy() if key == name else values for key, values in new.items()}
            trial[name][chosen] = value
            counts = n_broken(trial)
            gap = np.full(len(old), float(order))
            if not categorical:
                gap = np.nan_to_num(np.abs(old - value), nan=1e300)
            better = (counts < fewest) | ((counts == fewest) & (gap < distance))
            best[better], fewest[better], distance[better] = value, counts[better], gap[better]
        values = new[name].copy()
        values[chosen] = best
        return values
