"""Model formulas as data: read into terms by formulaic's parser, never evaluated.

One grammar for all formulas of both packages, that of Wilkinson and Rogers (1973) as R and
formulaic have it; each caller says what it allows.

========================  =====================================================================
``age``, `` `net pay` ``  a column; backticks round names that are more than letters, digits,
                          points and underlines
``C(age)``, ``log(pay)``  a column as a category, its natural logarithm (where allowed)
``a:b``, ``a*b``          an interaction; ``a + b + a:b``
``(a + b + c)^2``         all interactions of up to two of them (also ``**``)
``a - a:b``               without a term
``.``                     all columns that the caller names
``1``, ``0`` or ``- 1``   a constant, none
========================  =====================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import count, join

MOST_TERMS, MOST_PRODUCTS = 1000, 200_000
LONGEST, DEEPEST, LARGEST_POWER = 20_000, 50, 20
CALL = re.compile(r"\s*([^\W\d]\w*)\s*\((.*)\)\s*", re.DOTALL)
PLAIN = re.compile(r"[^\W\d][\w.]*")
WORDS = {
    "Could not find matching context marker": "a parenthesis is not closed",
    "Formula ended before quote context was closed. Expected: `": "a backtick is not closed",
}
MISPLACED = re.compile(r"Operator `(.*)` (?:has insuff|is incorrectly used)")
REMEDY = "Join columns by + : * ^ - and parentheses, as in ~ age + sex:status."


@dataclass(frozen=True, slots=True)
class FormulaFactor:
    """A column of the data, or a function of it."""

    column: str
    function: str = ""  # empty, "C" or "log"

    @property
    def label(self) -> str:
        """The factor as formulas write it."""
        name = self.column if PLAIN.fullmatch(self.column) else f"`{self.column}`"
        return f"{self.function}({name})" if self.function else name


Term = tuple[FormulaFactor, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula as terms."""

    responses: tuple[FormulaFactor, ...]  # the left side; empty where there is none
    # the right side without the constant: main effects first, then interactions by order
    terms: tuple[Term, ...]
    constant: bool = True  # whether there is a constant

    @property
    def factors(self) -> tuple[FormulaFactor, ...]:
        """Distinct factors of the right side, in order."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))

    @property
    def columns(self) -> tuple[str, ...]:
        """Distinct columns of the right side, in order."""
        return tuple(dict.fromkeys(factor.column for factor in self.factors))

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """Terms as tuples of columns."""
        return tuple(tuple(factor.column for factor in term) for term in self.terms)

    def __str__(self) -> str:
        """Write the formula so that `read_formula` reads it back."""
        right = [":".join(factor.label for factor in term) for term in self.terms]
        if not self.constant:
            right = ["0", *right]
        left = " + ".join(factor.label for factor in self.responses)
        return f"{left} ~ {' + '.join(right) or '1'}".strip()


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a caller allows in its formulas."""

    # (int, int or None): fewest and most columns on the left side; (0, 0) for formulas of one
    # side
    responses: tuple[int, int | None] = (0, 0)
    functions: tuple[str, ...] = ()  # of "C" and "log"
    interactions: bool = True  # whether terms may have several columns
    # columns that ``.`` stands for, but those of the left side; None where it is not allowed
    dot: Sequence[str] | None = None
    no_constant: bool = False  # whether the constant may be taken out


def read_formula(
    faults: Faults, text: object, allowed: Allowed | None = None, *, argument: str = "formula"
) -> Formula | None:
    """Read a formula, or note what is wrong with it and return None.

    text: a leading ``~`` may be left out where there is no left side; at most 20,000 characters, 50
        parentheses in one another, powers up to 20 and 1,000 terms
    allowed: default: one side, no functions, interactions
    """
    allowed = allowed or Allowed()
    shown = text if not isinstance(text, str) or len(text) <= 80 else text[:77] + "..."
    try:
        if not isinstance(text, str):
            raise _Unreadable("it is not text")
        return _Reader(text, allowed).formula()
    except _Unreadable as problem:
        faults.add(argument, f"{shown!r} cannot be read: {problem}", hint=REMEDY)
        return None


class _Unreadable(ValueError):
    """What is wrong with a formula."""


Terms = dict[frozenset[FormulaFactor], Term]
CONSTANT: frozenset[FormulaFactor] = frozenset()


class _Reader:
    """Evaluates the syntax tree of a formula to sets of terms."""

    def __init__(self, text: str, allowed: Allowed) -> None:
        self.text, self.allowed = text, allowed
        self.on_the_left: set[str] = set()

    def formula(self) -> Formula:
        from formulaic.errors import FormulaicError

        try:
            left, right = self.sides()
        except FormulaicError as problem:
            what = str(problem).splitlines()[0].rstrip(".")  # the rest marks the place by colour
            if sign := MISPLACED.match(what):
                what = f"something is missing beside {sign.group(1)[:20]!r}"
            raise _Unreadable(WORDS.get(what, what)) from None
        responses = self.responses(left)
        self.on_the_left = {factor.column for factor in responses}
        terms = self.evaluate(right) if right is not None else {}
        constant = not self.removes_constant(right)
        if not constant and not self.allowed.no_constant:
            raise _Unreadable("the constant cannot be taken out here")
        ordered = sorted((term for term in terms.values() if term), key=len)
        if ordered and len(ordered[-1]) > 1 and not self.allowed.interactions:
            label = ":".join(factor.label for factor in ordered[-1])
            raise _Unreadable(f"interactions are not available here ({label})")
        formula = Formula(responses, tuple(ordered), constant)
        for factor in formula.factors:
            if factor in responses:
                raise _Unreadable(f"{factor.label!r} stands on both sides")
        return formula

    def sides(self) -> tuple[Any, Any]:
        """Check the limits, then build the syntax tree of both sides."""
        from formulaic.parser import DefaultFormulaParser
        from formulaic.parser.algos.tokenize import tokenize

        if len(self.text) > LONGEST:
            size = f"{count(len(self.text))} characters are more than {count(LONGEST)}"
            raise _Unreadable(f"{size}; give a list of names")
        depth = deepest = 0
        tokens = list(tokenize(self.text))
        for token in tokens:
            depth += (token.token == "(") - (token.token == ")")
            deepest = max(deepest, depth)
            if token.kind.value == "python":  # formulaic would hand it to Python's parser
                self.call(token.token)
        if deepest > DEEPEST:
            raise _Unreadable(f"more than {DEEPEST} parentheses are in one another")
        if not tokens or [token.token for token in tokens] == ["~"]:
            raise _Unreadable("it has no terms")
        tree = DefaultFormulaParser(include_intercept=False).get_ast(self.text)
        if getattr(getattr(tree, "operator", None), "symbol", "") != "~":
            return None, tree
        return (None, *tree.args) if len(tree.args) == 1 else tuple(tree.args)

    def responses(self, left: Any) -> tuple[FormulaFactor, ...]:
        fewest, most = self.allowed.responses
        if left is None:
            if fewest:
                raise _Unreadable("it has no left side, as in income ~ age + sex")
            return ()
        if most == 0:
            raise _Unreadable("it has a left side; start with ~")
        factors: list[FormulaFactor] = []
        for leaf in self.leaves_of_sum(left):
            factors += next(iter(self.leaf(leaf).values()), ())
        if len(set(factors)) < len(factors):
            raise _Unreadable("a column stands twice on the left side")
        if len(factors) < fewest or (most is not None and len(factors) > most):
            raise _Unreadable(f"{len(factors)} columns stand on the left side, not {most}")
        return tuple(factors)

    def leaves_of_sum(self, tree: Any) -> list[Any]:
        """Return the columns of a left side, which may be joined by + only."""
        waiting, leaves = [tree], []
        while waiting:
            node = waiting.pop()
            if not hasattr(node, "operator"):
                leaves.append(node)
            elif node.operator.symbol == "+":
                waiting += reversed(node.args)
            else:
                raise _Unreadable(f"{node.operator.symbol!r} stands on the left side")
        return leaves

    def evaluate(self, tree: Any) -> Terms:
        """Return the terms of a tree; without recursion, for sums of thousands of terms."""
        waiting, values = [(tree, False)], []
        while waiting:
            node, ready = waiting.pop()
            if not hasattr(node, "operator"):
                values.append(node)
            elif not ready:
                waiting.append((node, True))
                waiting += [(operand, False) for operand in reversed(node.args)]
            else:
                n = len(node.args)
                operands = values[len(values) - n :]
                del values[len(values) - n :]
                values.append(self.apply(node.operator.symbol, operands))
        return self.terms(values[0])

    def apply(self, sign: str, operands: list[Any]) -> Terms:
        if sign == ".":
            return self.dot()
        if sign in ("^", "**"):
            return self.power(self.terms(operands[0]), operands[1])
        if sign not in OPERATORS:
            raise _Unreadable(f"{sign!r} is not available; write + - : * ^")
        terms = [self.terms(operand) for operand in operands]
        if len(terms) == 1:  # a sign in front
            return {} if sign == "-" else terms[0]
        self.check_products(*terms)
        return self.limited(OPERATORS[sign](*terms))

    def power(self, base: Terms, exponent: Any) -> Terms:
        text = str(getattr(exponent, "token", exponent))
        if not text.isdigit() or not 1 <= int(text[:9]) <= LARGEST_POWER:
            raise _Unreadable(f"{text!r} is not a power between 1 and {LARGEST_POWER}")
        terms = base
        for _ in range(int(text) - 1):
            self.check_products(terms, base)
            more = self.limited({**terms, **_interactions(terms, base)})
            if len(more) == len(terms):
                break
            terms = more
        return terms

    def check_products(self, left: Terms, right: Terms) -> None:
        if len(left) * len(right) > MOST_PRODUCTS:
            raise _Unreadable(f"more than {count(MOST_TERMS)} terms")

    def limited(self, terms: Terms) -> Terms:
        if len(terms) > MOST_TERMS:
            raise _Unreadable(f"more than {count(MOST_TERMS)} terms")
        return terms

    def terms(self, value: Any) -> Terms:
        return value if isinstance(value, dict) else self.leaf(value)

    def leaf(self, token: Any) -> Terms:
        """Return the term of a token: a column, a function of one, a constant or the dot."""
        text, kind = str(token.token), token.kind.value
        if kind == "name":
            return _one(FormulaFactor(text))
        if text == ".":
            return self.dot()
        if text in ("0", "1"):
            return {CONSTANT: ()} if text == "1" else {}
        if kind == "python":
            return _one(self.call(text))
        raise _Unreadable(f"{text!r} is not a column; put other names into backticks")

    def call(self, text: str) -> FormulaFactor:
        """Read ``C(column)`` or ``log(column)``."""
        from formulaic.parser.algos.tokenize import tokenize

        shown, call = text if len(text) <= 40 else text[:37] + "...", CALL.fullmatch(text)
        if call is None:
            raise _Unreadable(f"{shown!r} is not a column; put other names into backticks")
        function = call.group(1)
        if function not in self.allowed.functions:
            names = [f"{name}()" for name in self.allowed.functions]
            known = f"; there are {join(names)}" if names else ""
            raise _Unreadable(f"{function}() is not available here{known}")
        tokens = list(tokenize(call.group(2)))
        if len(tokens) != 1 or tokens[0].kind.value != "name":
            raise _Unreadable(f"{shown!r} is not a function of one column")
        return FormulaFactor(str(tokens[0].token), function)

    def dot(self) -> Terms:
        if self.allowed.dot is None:
            raise _Unreadable("'.' is not available here")
        factors = [FormulaFactor(name) for name in self.allowed.dot if name not in self.on_the_left]
        return {frozenset([factor]): (factor,) for factor in factors}

    def removes_constant(self, tree: Any) -> bool:
        """Whether ``0`` or ``- 1`` stands in the outermost sum; the last one counts."""
        constant, node = None, tree
        while hasattr(node, "operator") and node.operator.symbol in ("+", "-"):
            last = node.args[-1]
            if constant is None and getattr(last, "token", None) in ("0", "1"):
                constant = (str(last.token) == "1") == (node.operator.symbol == "+")
            if len(node.args) == 1:
                break
            node = node.args[0]
        if constant is None and getattr(node, "token", None) in ("0", "1"):
            constant = str(node.token) == "1"
        return constant is False


def _one(factor: FormulaFactor) -> Terms:
    return {frozenset([factor]): (factor,)}


def _interactions(left: Terms, right: Terms) -> Terms:
    products: Terms = {}
    for a, one in left.items():
        for b, two in right.items():
            products.setdefault(a | b, tuple(dict.fromkeys(one + two)))
    return products


def _sum(left: Terms, right: Terms) -> Terms:
    return {**left, **{key: term for key, term in right.items() if key not in left}}


def _difference(left: Terms, right: Terms) -> Terms:
    return {key: term for key, term in left.items() if key not in right}


def _crossed(left: Terms, right: Terms) -> Terms:
    return _sum(_sum(left, right), _interactions(left, right))


OPERATORS: dict[str, Callable[[Terms, Terms], Terms]] = {
    "+": _sum,
    "-": _difference,
    ":": _interactions,
    "*": _crossed,
}
