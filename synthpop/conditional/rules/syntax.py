"""What rules and expressions are made of, once they are parsed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Name:
    """A column or the level of a category; quoted names are one of the two for sure.

    member: level that tells whose value it is: that of the first such person of the household
    kind: "any", "column" or "level"
    """

    text: str
    member: str | None = None
    kind: str = "any"


@dataclass(frozen=True, slots=True)
class Operation:
    """``+ - * /`` of two numbers, ``and``, ``or``, ``iff`` of two conditions."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Minus:
    """A number with the other sign."""

    value: Node


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that does not hold."""

    value: Node


@dataclass(frozen=True, slots=True)
class RuleComparison:
    """``= != < <= > >=`` of two values."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Member:
    """A value among some: ``in {...}``."""

    value: Node
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that is missing."""

    value: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of a person's value, or of the values of a household."""

    function: str
    value: Node


Node = Number | Name | Operation | Minus | Not | RuleComparison | Member | Missing | Call


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a condition that must hold for each person in scope (None: all).

    household: whether the rule is about households: the condition is the same for all members
    """

    text: str
    scope: Node | None
    condition: Node
    household: bool = False
