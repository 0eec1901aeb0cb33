"""Rules and expressions on columns: three-valued conditions, numbers with missing values.

A condition is 1 where it holds, 0 where it does not, NaN where a value that it needs is missing
(Kleene's logic).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.conditional.household_values import joined
from synthpop.conditional.rules.parse import OF_HOUSEHOLD
from synthpop.conditional.rules.syntax import (
    Call,
    Member,
    Minus,
    Missing,
    Name,
    Node,
    Not,
    Number,
    Operation,
    Rule,
    RuleComparison,
)
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import InputError, did_you_mean
from synthpop.microdata.statistics.indicators.equivalised import equivalised_size

NEARLY = 1e-9  # differences of sums of amounts, as a share, that are rounding errors


@dataclass(frozen=True, slots=True)
class People:
    """Persons, households side by side, as rules see them."""

    fields: Mapping[str, Field]  # dict of Field
    columns: Mapping[str, np.ndarray]  # dict of arrays, each shape (n_persons,)
    offsets: np.ndarray  # int array, shape (n_households + 1,)

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return int(self.offsets[-1])

    @property
    def household(self) -> np.ndarray:
        """Number of the household of each person, shape (n_persons,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def codes_of_level(self, text: str) -> tuple[str, int]:
        """Return the one category that has a level, and its code."""
        positions = [
            (name, code)
            for name, field in self.fields.items()
            if name in self.columns
            for code, level in enumerate(field.levels)
            if level_text(level) == text
        ]
        if len(positions) == 1:
            return positions[0]
        if positions:
            names = ", ".join(name for name, _ in positions)
            raise _fault(text, f"is a level of several categories: {names}", "Name the column.")
        levels = [level_text(x) for field in self.fields.values() for x in field.levels]
        hint = did_you_mean(text, [*levels, *self.columns])
        raise _fault(text, "is neither a column nor a level of a category", hint)

    def column(self, name: Name) -> tuple[Field, np.ndarray] | None:
        """Return a column, of the person or of a member of the household; None for a level."""
        if name.kind == "level" or (name.kind == "any" and name.text not in self.columns):
            return None
        if name.text not in self.columns:
            raise _fault(name.text, "is not a column", did_you_mean(name.text, self.columns))
        field, values = self.fields[name.text], self.columns[name.text]
        return field, values if name.member is None else self.of_member(values, field, name.member)

    def of_member(self, values: np.ndarray, field: Field, member: str) -> np.ndarray:
        """Return the value of the first such member for all of its household; missing without."""
        column, code = self.codes_of_level(member)
        row = np.where(self.columns[column] == code, np.arange(self.n_persons), self.n_persons)
        if not self.n_persons:
            return values
        first = np.minimum.reduceat(row, self.offsets[:-1])[self.household]
        has_member = first < self.n_persons
        member_values = values[np.where(has_member, first, 0)]
        if field.kind == "categorical":
            return np.where(has_member, member_values, -1)
        return np.where(has_member, member_values.astype(np.float64), np.nan)


def _fault(text: str, what: str, hint: str) -> InputError:
    return InputError.of("rules", repr(text), what, hint)


def condition_of(people: People, node: Node) -> np.ndarray:
    """Return 1, 0 or NaN for each person, shape (n_persons,)."""
    match node:
        case Operation(operator, left, right) if operator in ("and", "or", "iff"):
            a, b = condition_of(people, left), condition_of(people, right)
            if operator == "iff":
                return 1.0 - np.abs(a - b)
            return _both(a, b) if operator == "and" else 1.0 - _both(1.0 - a, 1.0 - b)
        case Not(value):
            return 1.0 - condition_of(people, value)
        case RuleComparison(operator, left, right):
            return _compared(people, operator, left, right)
        case Member(value, items):
            truth = np.zeros(people.n_persons)
            for item in items:
                truth = 1.0 - _both(1.0 - truth, 1.0 - _compared(people, "=", value, item))
            return truth
        case Missing(value):
            return _missing(people, value)
        case Name():
            return _has_level(people, node)
    raise _fault(str(node), "is a number where a condition is needed", "Compare it with another.")


def number_of(people: People, node: Node) -> np.ndarray:
    """Return a number for each person, NaN where it is missing; shape (n_persons,)."""
    match node:
        case Number(value):
            return np.full(people.n_persons, value)
        case Minus(value):
            return -number_of(people, value)
        case Call(function, value):
            return _called(people, function, value)
        case Operation(operator, left, right) if operator in "+-*/":
            a, b = number_of(people, left), number_of(people, right)
            if operator == "/":
                return np.divide(a, b, out=np.full(len(a), np.nan), where=b != 0)
            return a + b if operator == "+" else a - b if operator == "-" else a * b
        case Name():
            column = people.column(node)
            if column is None:
                people.codes_of_level(node.text)
                raise _fault(node.text, "is a level where a number is needed", "Name a column.")
            return _numbers(*column)
    return condition_of(people, node)


def _numbers(field: Field, values: np.ndarray) -> np.ndarray:
    if field.kind == "numeric":
        return values.astype(np.float64)
    try:
        table = np.array([*(float(level) for level in field.levels), np.nan])
    except (TypeError, ValueError):
        what = "is a category, not a number"
        raise _fault(field.name, what, "Compare it with one of its levels.") from None
    return table[values]


def _called(people: People, function: str, value: Node) -> np.ndarray:
    values = condition_of(people, value) if function == "count" else number_of(people, value)
    if function == "abs":
        return np.abs(values)
    if function == "round":
        return np.round(values)
    if function == "zero_if_missing":
        return np.nan_to_num(values)
    if not people.n_persons:
        return values
    if function in ("sum", "mean"):
        return joined(values, people.offsets, function)
    first, has_value = people.offsets[:-1], ~np.isnan(values)
    if function == "equivalised_size":
        return equivalised_size(values, people.household)
    if function == "count":
        return np.add.reduceat(np.where(has_value, values, 0.0), first)[people.household]
    extreme, fill = (np.minimum, np.inf) if function == "min" else (np.maximum, -np.inf)
    reduced = extreme.reduceat(np.where(has_value, values, fill), first)
    return np.where(np.isfinite(reduced), reduced, np.nan)[people.household]


def _both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _missing(people: People, node: Node) -> np.ndarray:
    column = people.column(node) if isinstance(node, Name) else None
    if column is not None and column[0].kind == "categorical":
        return (column[1] < 0).astype(np.float64)
    return np.isnan(number_of(people, node)).astype(np.float64)


def _has_level(people: People, name: Name) -> np.ndarray:
    """Whether a person has a level, or the first such member of the household."""
    if people.column(name) is not None:
        raise _fault(name.text, "is a column where a condition is needed", "Compare it.")
    column, code = people.codes_of_level(name.text)
    field, codes = people.fields[column], people.columns[column]
    if name.member is not None:
        codes = people.of_member(codes, field, name.member)
    return np.where(codes < 0, np.nan, codes == code)


def _compared(people: People, operator: str, left: Node, right: Node) -> np.ndarray:
    a = people.column(left) if isinstance(left, Name) else None
    b = people.column(right) if isinstance(right, Name) else None
    if a is not None and a[0].kind == "categorical":
        if b is None and isinstance(right, (Name, Number)):
            return _with_level(a, operator, right)
        if b is not None and b[0].kind == "categorical" and operator in ("=", "!="):
            return _same_level(a, b, operator)
    if b is not None and b[0].kind == "categorical" and a is None and isinstance(left, Name):
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
        return _with_level(b, turned.get(operator, operator), left)
    x, y = number_of(people, left), number_of(people, right)
    return _ordered(operator, x, y, NEARLY * np.maximum(np.abs(x), np.abs(y)))


def _ordered(operator: str, x: np.ndarray, y: np.ndarray, room: np.ndarray | float) -> np.ndarray:
    gap = x - y
    holds = {
        "=": np.abs(gap) <= room,
        "!=": np.abs(gap) > room,
        "<": gap < -room,
        "<=": gap <= room,
        ">": gap > room,
        ">=": gap >= -room,
    }[operator]
    return np.where(np.isnan(gap), np.nan, holds)


def _with_level(
    column: tuple[Field, np.ndarray], operator: str, level: Name | Number
) -> np.ndarray:
    """Compare a category with one of its levels; those that are numbers by their value."""
    field, codes = column
    texts = [level_text(x) for x in field.levels]
    text = level.text if isinstance(level, Name) else f"{level.value:g}"
    if operator not in ("=", "!=") and not field.ordered:
        value = level.value if isinstance(level, Number) else np.nan
        return _ordered(operator, _numbers(field, codes), np.full(len(codes), value), 0.0)
    if text not in texts:
        raise _fault(text, f"is not a level of {field.name!r}", did_you_mean(text, texts))
    position = np.where(codes < 0, np.nan, codes.astype(np.float64))
    return _ordered(operator, position, np.full(len(codes), texts.index(text)), 0.0)


def _same_level(
    a: tuple[Field, np.ndarray], b: tuple[Field, np.ndarray], operator: str
) -> np.ndarray:
    texts = [level_text(x) for x in a[0].levels]
    table = [texts.index(t) if t in texts else -2 for t in map(level_text, b[0].levels)]
    comparable = (a[1] >= 0) & (b[1] >= 0)
    same = a[1] == np.array([*table, -1])[b[1]]
    return np.where(comparable, same if operator == "=" else ~same, np.nan)


def broken_by(people: People, rule: Rule) -> np.ndarray:
    """Return which persons break a rule, all members where it is about households; shape (n,).

    Examples
    --------
    >>> from synthpop.conditional.rules.parse import parse_rule
    >>> ages = {"age": np.array([40.0, 12.0]), "kin": np.array([0, 1])}
    >>> kin = Field.categorical("kin", ("head", "spouse"))
    >>> people = People({"age": Field.number("age"), "kin": kin}, ages, np.array([0, 2]))
    >>> broken_by(people, parse_rule("spouse: age >= 16")).tolist()
    [False, True]
    """
    broken: np.ndarray = condition_of(people, rule.condition) == 0
    if rule.scope is not None:
        broken &= condition_of(people, rule.scope) == 1
    return broken


def names_of(node: Node | None) -> Iterator[Name]:
    """Yield every name of an expression or condition."""
    match node:
        case Name():
            yield node
        case Operation(_, left, right) | RuleComparison(_, left, right):
            yield from names_of(left)
            yield from names_of(right)
        case Minus(value) | Not(value) | Missing(value) | Call(_, value):
            yield from names_of(value)
        case Member(value, items):
            for item in (value, *items):
                yield from names_of(item)


def always_whole(node: Node, whole: Collection[str] = ()) -> bool:
    """Whether an expression is a whole number for everybody: counts and what is made of them.

    whole: columns of whole numbers none of which is missing
    """
    match node:
        case Number(value):
            return value == round(value)
        case Name(text, None):
            return text in whole
        case Call("count", _):
            return True
        case Operation(operator, left, right) if operator in "+-*":
            return always_whole(left, whole) and always_whole(right, whole)
        case Minus(value):
            return always_whole(value, whole)
    return False


def columns_used(rule: Rule, people: People) -> frozenset[str]:
    """Return the columns that a rule reads, those of levels named alone included."""
    return columns_of((rule.scope, rule.condition), people)


def columns_of(nodes: tuple[Node | None, ...], people: People) -> frozenset[str]:
    """Return the columns that expressions read."""
    columns = set()
    for node in nodes:
        for name in names_of(node):
            if name.member is not None:
                columns.add(people.codes_of_level(name.member)[0])
            if people.column(name) is not None:
                columns.add(name.text)
            elif not _compared_level(node, name, people):
                columns.add(people.codes_of_level(name.text)[0])
    return frozenset(columns)


def _compared_level(node: Any, name: Name, people: People) -> bool:
    """Whether a level stands in a comparison with a column, whose name is there already."""
    match node:
        case RuleComparison(_, left, right):
            pair = (left, right)
            if name in pair:
                level_name = right if name == left else left
                return isinstance(level_name, Name) and people.column(level_name) is not None
            return any(_compared_level(item, name, people) for item in pair)
        case Member(_, items):
            return name in items
        case Operation(_, left, right):
            return _compared_level(left, name, people) or _compared_level(right, name, people)
        case Not(value) | Call(_, value) | Missing(value) | Minus(value):
            return _compared_level(value, name, people)
    return False


def of_household(node: Node) -> bool:
    """Whether an expression has one value for all members of a household."""
    match node:
        case Number():
            return True
        case Call(function, value):
            return function in OF_HOUSEHOLD or of_household(value)
        case Name(_, member, _):
            return member is not None
        case Operation(_, left, right) | RuleComparison(_, left, right):
            return of_household(left) and of_household(right)
        case Minus(value) | Not(value) | Missing(value) | Member(value, _):
            return of_household(value)
    return False
