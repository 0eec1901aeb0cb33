"""Find the rules that a survey keeps, each with its support and its exceptions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.conditional.rules.evaluate import People, broken_by, condition_of, names_of
from synthpop.conditional.rules.parse import parse_rule
from synthpop.conditional.rules.syntax import Rule
from synthpop.logic.bounds import Head, head_rules, order_rules
from synthpop.logic.implications import (
    ERROR,
    NEARLY,
    Excluded,
    Implication,
    excluded_states,
    implications,
    reduced,
)
from synthpop.logic.states import States, states_of
from synthpop.microdata.frame.dataset import Field, encode_column
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import InputError

FEWEST_PERSONS = 100
MOST_ORDERS = 15
MOST_EXCEPTIONS = 0.01  # of the persons whom a rule with exceptions is about


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """A rule that the survey keeps, or nearly keeps."""

    text: str  # see `synthpop.conditional.rules`
    support: int  # survey persons whom it is about
    exceptions: int  # of them who break it
    expected: float  # persons who would break it if the columns had nothing to do with each other


def learn_rules(
    frame: pd.DataFrame,
    columns: Sequence[str],
    *,
    household: str | None = None,
    age: str | None = None,
    relation: str | None = None,
    totals: Mapping[str, Collection[str]] | None = None,
) -> list[LearnedRule]:
    """Return the rules of a survey, those without exceptions first.

    columns: among which rules are looked for
    household, age, relation: columns of household ids, of years of age, of the relation to a
        reference person
    totals: total -> its parts, which need no rule that a part is at most the total

    Rules are implications between the states of two columns (levels, missing, signs of numbers,
    ages), orders of two numbers, and what follows from the reference person. Each would be broken
    often if the columns had nothing to do with each other; the probability that chance gives one is
    1 % for all together (Bonferroni; members of a household count as one). No randomness.
    """
    if len(frame) < FEWEST_PERSONS:
        return []
    of_household = np.arange(len(frame))
    if household is not None:
        of_household = pd.factorize(frame[household], use_na_sentinel=False)[0]
    weight = (int(of_household.max()) + 1) / len(frame)
    found = [states_of(frame[name], name, age=name == age) for name in columns]
    states = [item for item in found if item is not None and item.n > 1]
    least = float(np.log(max(sum(item.n for item in states), 2) ** 2 / ERROR)) / weight
    exact = excluded_states(states, weight)
    rules = implications(states, exact, reduced(exact), least)
    rules += _others(frame, states, of_household, age, relation, totals or {}, least)
    nearly = _nearly(states, exact, weight, least)
    people = people_of(frame, household, [parse_rule(item.text) for item in rules + nearly])
    counted = [_counted(item, people) for item in rules + nearly]
    kept = [item for item in counted if item is not None]
    return [r for r in kept if not r.exceptions] + [r for r in kept if r.exceptions]


def _others(
    frame: pd.DataFrame,
    states: Sequence[States],
    household: np.ndarray,
    age: str | None,
    relation: str | None,
    totals: Mapping[str, Collection[str]],
    least: float,
) -> list[Implication]:
    """Return orders of numbers, and what follows from the reference person."""
    numbers = {
        item.name: as_numbers(frame[item.name])
        for item in states
        if item.kind != "category"  # codes are no amounts
    }
    apart = {frozenset((total, part)) for total, parts in totals.items() for part in parts}
    orders = sorted(order_rules(numbers, apart, least), key=lambda item: -item.expected)
    larger: dict[str, set[str]] = {}
    for order in orders:
        larger.setdefault(order.columns[0], set()).add(order.columns[1])
    rules = [
        order for order in orders
        if not any(order.columns[1] in larger.get(y, ()) for y in larger[order.columns[0]])
    ][:MOST_ORDERS]  # fmt: skip
    kin = next((item for item in states if item.name == relation and not item.missing), None)
    if kin is not None:
        years = None if age not in numbers else (str(age), numbers[str(age)])
        rules += head_rules(Head(kin, household, states), states, years, least)
    return rules


def _nearly(
    states: Sequence[States], exact: Excluded, weight: float, least: float
) -> list[Implication]:
    """Return the rules that few break, beside those that nobody does."""
    nearly = excluded_states(states, weight, tolerance=NEARLY)
    left = reduced(nearly)
    for pair, found in exact.cells.items():
        if pair in left:
            left[pair] &= ~found
    left = {pair: found for pair, found in left.items() if found.any()}
    return implications(states, nearly, left, least)


def _counted(item: Implication, people: People) -> LearnedRule | None:
    """Return a rule with what the survey says of it; None where it cannot be read or says little.

    Rules are read by the same code that enforces them.
    """
    rule = parse_rule(item.text)
    try:
        broken = int(broken_by(people, rule).sum())
        support = people.n_persons
        if rule.scope is not None:
            support = int((condition_of(people, rule.scope) == 1).sum())
    except InputError:
        return None
    if broken > MOST_EXCEPTIONS * support:
        return None
    return LearnedRule(item.text, support, broken, item.expected)


def people_of(frame: pd.DataFrame, household: str | None, rules: Sequence[Rule]) -> People:
    """Return the columns of a table that rules can mean, households side by side.

    household: column of ids; without it every row is a household of its own, as one without id is
    Raises InputError: a column that rules name cannot be read.
    """
    sizes = np.ones(len(frame), dtype=np.int64)
    if household is not None:
        number = pd.factorize(frame[household])[0]
        alone = np.flatnonzero(number < 0)  # without an id: nobody knows with whom
        number[alone] = number.max(initial=-1) + 1 + np.arange(len(alone))
        order = np.argsort(number, kind="stable")
        frame, sizes = frame.iloc[order], np.bincount(number)
    nodes = [node for rule in rules for node in (rule.scope, rule.condition)]
    mentioned = {name.text for node in nodes for name in names_of(node)}
    fields: dict[str, Field] = {}
    columns: dict[str, np.ndarray] = {}
    for column in map(str, frame.columns):
        if column == household:
            continue
        try:
            fields[column], columns[column] = encode_column(frame[column])
        except InputError:  # dates, for instance
            if column in mentioned:
                raise
    return People(fields, columns, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
