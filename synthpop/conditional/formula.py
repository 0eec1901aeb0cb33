"""Formulas of predictors: names joined by ``+``, ``:`` and ``*``, taken apart, never evaluated."""

from __future__ import annotations

import re

from synthpop.microdata.errors import Fault, InputError

Term = tuple[str, ...]
TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d][\w.]*)|`(?P<quoted>[^`]+)`|(?P<sign>[+:*()]))\s*")
MOST_TERMS = 1000
DEEPEST = 50
LONGEST = 20_000


def parse_formula(text: str) -> list[Term]:
    """Return the terms of a formula of names, ``+``, ``:``, ``*`` and parentheses.

    ``a:b`` is the interaction of a and b, ``a * b`` stands for ``a + b + a:b``. Names that are
    more than letters, digits, points and underlines stand between backticks. A leading ``~`` may
    be left out. Terms come by the number of their variables, each once.

    Raises
    ------
    InputError
        Anything else, with the position of the first fault; text of more than 20,000 characters.

    Examples
    --------
    >>> parse_formula("~ age + sex * status")
    [('age',), ('sex',), ('status',), ('sex', 'status')]
    >>> parse_formula("(age + `net income`):sex")
    [('age', 'sex'), ('net income', 'sex')]
    """
    reader = _Reader(text)
    terms = reader.sum(0)
    if reader.sign != "":
        raise reader.fault(f"{reader.sign!r} is not wanted here")
    return sorted(terms, key=len)


class _Reader:
    """Reads a formula from left to right; ``sign`` and ``name`` are what comes next."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            what = f"a formula of {len(text):,} characters is longer than {LONGEST:,}"
            raise InputError("formula", [Fault("predictors", what, remedy="Give a list of names.")])
        self.at = self.end = len(re.match(r"\s*~?\s*", text).group())  # type: ignore[union-attr]
        self.step()

    def step(self) -> None:
        self.at, found = self.end, TOKEN.match(self.text, self.end)
        self.sign, self.name = "", ""
        if found:
            self.end = found.end()
            self.sign = found["sign"] or "name"
            self.name = found["name"] or found["quoted"] or ""
        elif self.text[self.end :].strip():
            raise self.fault(f"{self.text[self.end :].strip()[0]!r} is not understood")

    def fault(self, what: str) -> InputError:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        what = f"{shown!r} cannot be read at position {self.at + 1}: {what}"
        remedy = "Join names by +, : and *, as in ~ age + sex:status."
        return InputError("formula", [Fault("predictors", what, remedy=remedy)])

    def sum(self, depth: int) -> list[Term]:
        terms = self.product(depth)
        while self.sign == "+":
            self.step()
            terms = self.distinct(terms + self.product(depth))
        return terms

    def product(self, depth: int) -> list[Term]:
        terms = self.interaction(depth)
        while self.sign == "*":
            self.step()
            more = self.interaction(depth)
            terms = self.distinct(terms + more + [a + b for a in terms for b in more])
        return terms

    def interaction(self, depth: int) -> list[Term]:
        terms = self.item(depth)
        while self.sign == ":":
            self.step()
            more = self.item(depth)
            terms = self.distinct([a + b for a in terms for b in more])
        return terms

    def item(self, depth: int) -> list[Term]:
        if self.sign == "name":
            name = self.name
            self.step()
            return [(name,)]
        if self.sign != "(":
            found = f"{self.sign!r}" if self.sign else "the end"
            raise self.fault(f"a name is wanted here, not {found}")
        if depth == DEEPEST:
            raise self.fault(f"more than {DEEPEST} parentheses in one another")
        self.step()
        terms = self.sum(depth + 1)
        if self.sign != ")":
            raise self.fault("a parenthesis is not closed")
        self.step()
        return terms

    def distinct(self, terms: list[Term]) -> list[Term]:
        """Return terms once each, whatever the order of their variables."""
        found: dict[frozenset[str], Term] = {}
        for term in terms:
            found.setdefault(frozenset(term), tuple(dict.fromkeys(term)))
        if len(found) > MOST_TERMS:
            raise self.fault(f"more than {MOST_TERMS} terms")
        return list(found.values())
