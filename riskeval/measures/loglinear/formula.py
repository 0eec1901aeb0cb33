"""Model formulas: read into terms, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Sequence

Term = frozenset[int]
TOKEN = re.compile(r"\s*(?:(`[^`]+`)|([^\W\d][\w.]*)|(\d+)|(\*\*|[~+\-:*^().]))")


class FormulaError(ValueError):
    """A formula that cannot be read; the message says where."""


def parse_formula(text: str, names: Sequence[str]) -> tuple[list[Term], set[int]]:
    """Read a model formula; nothing is evaluated.

    Parameters
    ----------
    text : str
        As ``"~ a + b + a:b"``; knows ``+``, ``-``, ``:``, ``*``, ``^`` (or ``**``), brackets, ``.``
        for all keys, ``C(name)`` for "as a category", and backticks round odd names.
    names : sequence of str
        The keys.

    Returns
    -------
    terms : list of frozenset of int
        Positions in `names`; each term once, lower orders first.
    categorical : set of int
        Keys written with ``C()``.

    Examples
    --------
    >>> terms, _ = parse_formula("~ (a + b + c)^2 - b:c", ["a", "b", "c"])
    >>> [sorted(term) for term in terms]
    [[0], [1], [2], [0, 1], [0, 2]]
    """
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"{text[place:].strip()[:10]!r} is not understood")
        tokens.append(match.group().strip())
        place = match.end()
    if tokens and tokens[0] == "~":
        tokens = tokens[1:]
    reader = _Reader(tokens, names)
    found = reader.total()
    if reader.place < len(tokens):
        raise FormulaError(f"{tokens[reader.place]!r} is out of place")
    terms = sorted((t for t in found if t), key=lambda term: (len(term), sorted(term)))
    return terms, reader.categorical


class _Reader:
    """Recursive descent over the tokens: sums of products of powers of names."""

    def __init__(self, tokens: list[str], names: Sequence[str]) -> None:
        self.tokens, self.names, self.place = tokens, list(names), 0
        self.categorical: set[int] = set()

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise FormulaError(f"{expected or 'a key'!r} is missing after {self._before()!r}")
        self.place += 1
        return token

    def _before(self) -> str:
        return " ".join(self.tokens[: self.place]) or "~"

    def total(self) -> set[Term]:
        found = self.product()
        while self.peek() in ("+", "-"):
            sign, other = self.take(), self.product()
            found = found | other if sign == "+" else found - other
        return found

    def product(self) -> set[Term]:
        found = self.crossing()
        while self.peek() == "*":
            self.take()
            other = self.crossing()
            found = found | other | {a | b for a in found for b in other}
        return found

    def crossing(self) -> set[Term]:
        found = self.power()
        while self.peek() == ":":
            self.take()
            other = self.power()
            found = {a | b for a in found for b in other}
        return found

    def power(self) -> set[Term]:
        found = self.atom()
        if self.peek() in ("^", "**"):
            self.take()
            order = self.take()
            if not order.isdigit() or int(order) < 1:
                raise FormulaError(f"{order!r} is not a power")
            base = list(found)
            for _ in range(int(order) - 1):
                found = found | {a | b for a in found for b in base}
        return found

    def atom(self) -> set[Term]:
        token = self.take()
        if token == "(":
            found = self.total()
            self.take(")")
            return found
        if token == ".":
            return {frozenset([j]) for j in range(len(self.names))}
        if token == "1":
            return {frozenset()}
        if token == "C" and self.peek() == "(":
            self.take()
            found = {frozenset([self.position(self.take())])}
            self.take(")")
            self.categorical |= set().union(*found)
            return found
        return {frozenset([self.position(token)])}

    def position(self, token: str) -> int:
        name = token.strip("`")
        if name not in self.names:
            raise FormulaError(f"{name!r} is not a key (there are: {', '.join(self.names)})")
        return self.names.index(name)


def format_formula(
    terms: Sequence[Term], names: Sequence[str], categories: Sequence[int] | set[int] = ()
) -> str:
    """Write terms as a formula that `parse_formula` reads back.

    Parameters
    ----------
    terms : terms of the model
    names : the keys
    categories : keys to be written with ``C()``

    Examples
    --------
    >>> format_formula([frozenset([0]), frozenset([0, 1])], ["a", "b c"], {0})
    '~ C(a) + C(a):`b c`'
    """
    if not terms:
        return "~ 1"
    plain = [name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`" for name in names]
    written = [f"C({name})" if j in set(categories) else name for j, name in enumerate(plain)]
    return "~ " + " + ".join(":".join(written[j] for j in sorted(term)) for term in terms)
