"""From text to rules and expressions: a tokeniser and a recursive descent parser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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
from synthpop.microdata.frame.names import RESERVED
from synthpop.microdata.messages.budget import check_budget
from synthpop.microdata.messages.errors import Fault, InputError
from synthpop.microdata.messages.text import count

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|`(?P<column>[^`]+)`|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'"
    r"|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|!=|==|[=<>+\-*/(){},:.]))"
)
COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
OF_HOUSEHOLD = ("sum", "mean", "min", "max", "count", "equivalised_size")
OF_PERSON = ("abs", "round", "zero_if_missing")
WORDS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
AGE = "age"
OPERATORS = {"and", "or", "not", "+", "-", "*", "/"}
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text: `kind` "number", "column", "level", "word", "sign" or "end"."""

    kind: str
    text: str


END = Token("end", "")


def parse_rule(text: str) -> Rule:
    """Parse one rule; see `synthpop.conditional.rules`.

    Raises InputError: the text is not a rule; the fault says where it stops making sense.

    Examples
    --------
    >>> parse_rule("spouse: age >= 16").scope
    Name(text='spouse', member=None, kind='any')
    >>> parse_rule("exactly one head").household
    True
    """
    if not isinstance(text, str):
        raise _fault(repr(text), "is not text")
    parser = _Parser(text)
    rule = parser.rule()
    parser.expect_end()
    return rule


def parse_expression(text: str) -> Node:
    """Parse a number of each person, or a condition.

    Examples
    --------
    >>> parse_expression("sum(income) / 2").operator
    '/'
    """
    if not isinstance(text, str):
        raise _fault(repr(text), "is not text")
    parser = _Parser(text)
    node = parser.condition()
    parser.expect_end()
    return node


def _fault(text: str, what: str) -> InputError:
    hint = 'Write it like "spouse: age >= 16" or "pension = 0 if age < 55".'
    return InputError.of("rules", f"rule {text!r}", what, hint)


def _tokens(text: str) -> list[Token]:
    tokens, place = [], 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            raise _fault(text, f"cannot be read from {text[place:].strip()[:20]!r} on")
        kind = match.lastgroup or ""
        label = "level" if kind in ("double", "single") else kind
        tokens.append(Token(label, match.group(kind)))
        place = match.end()
    return tokens


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.place = 0
        self._check_budget()

    def _check_budget(self) -> None:
        """Refuse what would nest too deeply: brackets, signs and "not" before something, chains."""
        depth = deepest = row = operators = 0
        for token in self.tokens:
            depth += (token.text == "(") - (token.text == ")")
            is_prefix = token.kind in ("word", "sign") and token.text in ("not", "-")
            row = row + 1 if is_prefix else 0
            deepest = max(deepest, depth, row)
            operators += token.kind in ("word", "sign") and token.text in OPERATORS
        short = self.text if len(self.text) < LONGEST_SHOWN else f"{self.text[:LONGEST_SHOWN]}..."
        subject = f"rule {short!r}"
        what = f"has {count(deepest)} brackets or words 'not' inside one another"
        check_budget("depth", deepest, subject, what)
        check_budget("operators", operators, subject, f"has {count(operators)} operators")

    # tokens

    def peek(self, ahead: int = 0) -> Token:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else END

    def take(self) -> Token:
        token = self.peek()
        self.place += 1
        return token

    def words(self, *texts: str) -> bool:
        """Take these words if they come next."""
        ahead = [self.peek(j) for j in range(len(texts))]
        if any(token.kind != "word" or token.text != text
               for token, text in zip(ahead, texts, strict=True)):  # fmt: skip
            return False
        self.place += len(texts)
        return True

    def sign(self, *texts: str) -> str | None:
        """Take one of these signs if it comes next."""
        token = self.peek()
        if token.kind == "sign" and token.text in texts:
            self.place += 1
            return token.text
        return None

    def fail(self, wanted: str) -> InputError:
        token = self.peek()
        where = "at its end" if token is END else f"at {token.text!r}"
        return _fault(self.text, f"needs {wanted} {where}")

    def need(self, text: str) -> None:
        if self.sign(text) is None:
            raise self.fail(repr(text))

    def expect_end(self) -> None:
        if self.peek() is not END:
            raise self.fail("nothing more")

    # statements

    def rule(self) -> Rule:
        counted = self._count_rule()
        if counted is not None:
            return counted
        younger = self._age_rule()
        if younger is not None:
            return younger
        scope: Node | None = None
        body = self.condition()
        if self.sign(":"):
            scope, body = body, self.condition()
        if self.words("if", "and", "only", "if"):
            consequence = self.condition()
            if scope is None and isinstance(body, Name) and body.member is not None:
                scope, body = Name(body.member, kind="level"), Name(body.text, kind=body.kind)
            return Rule(self.text, scope, Operation("iff", body, consequence))
        if self.words("if"):
            when = self.condition()
            scope = when if scope is None else Operation("and", scope, when)
        return Rule(self.text, scope, body)

    def _count_rule(self) -> Rule | None:
        """``exactly one head``, ``at least 2 adult``, ``at most one spouse``, ``no lodger``."""
        start = self.place
        operator = ""
        for words, sign in ((("exactly",), "="), (("at", "least"), ">="), (("at", "most"), "<=")):
            if self.words(*words):
                operator = sign
        if not operator and self.peek().text == "no" and self.peek(1).kind in ("word", "level"):
            operator = "="
        if not operator:
            self.place = start
            return None
        token = self.take()
        if token.kind == "number":
            number = float(token.text)
        elif token.kind == "word" and token.text in WORDS:
            number = float(WORDS[token.text])
        else:
            self.place -= 1
            raise self.fail("a number")
        counted = Call("count", self.condition())
        return Rule(self.text, None, RuleComparison(operator, counted, Number(number)), True)

    def _age_rule(self) -> Rule | None:
        """``child at least 14 years younger than head``."""
        start = self.place
        who = self.take()
        at_least = self.words("at", "least")
        if who.kind not in ("word", "level") or not (at_least or self.words("at", "most")):
            self.place = start
            return None
        years = self.take()
        if years.kind != "number":
            self.place = start
            return None
        self.words("years") or self.words("year")
        younger = self.words("younger")
        if not younger and not self.words("older"):
            raise self.fail("'younger' or 'older'")
        if not self.words("than"):
            raise self.fail("'than'")
        other = self.take()
        if other.kind not in ("word", "level"):
            self.place -= 1
            raise self.fail("a member of the household")
        own_age, reference = Name(AGE, kind="column"), Name(AGE, other.text, "column")
        gap = Operation("-", reference, own_age) if younger else Operation("-", own_age, reference)
        condition = RuleComparison(">=" if at_least else "<=", gap, Number(float(years.text)))
        return Rule(self.text, Name(who.text, kind="level"), condition)

    # conditions

    def condition(self) -> Node:
        node = self._and()
        while self.words("or"):
            node = Operation("or", node, self._and())
        return node

    def _and(self) -> Node:
        node = self._not()
        while self.words("and"):
            node = Operation("and", node, self._not())
        return node

    def _not(self) -> Node:
        if self.words("not"):
            return Not(self._not())
        return self._comparison()

    def _comparison(self) -> Node:
        left = self._sum()
        sign = self.sign(*COMPARISONS)
        if sign is not None:
            return RuleComparison(COMPARISONS[sign], left, self._sum())
        if self.words("in"):
            return Member(left, self._items())
        if self.words("not", "in"):
            return Not(Member(left, self._items()))
        if self.words("is", "missing"):
            return Missing(left)
        if self.words("is", "not", "missing"):
            return Not(Missing(left))
        return left

    def _items(self) -> tuple[Node, ...]:
        self.need("{")
        items = [self._sum()]
        while self.sign(","):
            items.append(self._sum())
        self.need("}")
        return tuple(items)

    # numbers

    def _sum(self) -> Node:
        node = self._product()
        while (sign := self.sign("+", "-")) is not None:
            node = Operation(sign, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._factor()
        while (sign := self.sign("*", "/")) is not None:
            node = Operation(sign, node, self._factor())
        return node

    def _factor(self) -> Node:
        if self.sign("-"):
            return Minus(self._factor())
        if self.sign("("):
            node = self.condition()
            self.need(")")
            return node
        token = self.take()
        if token.kind == "number":
            return Number(float(token.text))
        if token.kind == "word" and self.peek() == Token("sign", "("):
            return self._call(token.text)
        if token.kind in ("word", "column", "level") and not self._reserved(token):
            return self._name(token)
        self.place -= 1
        raise self.fail("a name or a number")

    def _reserved(self, token: Token) -> bool:
        return token.kind == "word" and token.text in RESERVED

    def _call(self, function: str) -> Node:
        functions = (*OF_HOUSEHOLD, *OF_PERSON)
        if function not in functions:
            self.place -= 1
            raise self.fail(f"one of the functions {', '.join(functions)}")
        self.need("(")
        value = self.condition()
        self.need(")")
        return Call(function, value)

    def _name(self, token: Token) -> Name:
        kind = "any" if token.kind == "word" else token.kind
        following = self.peek(1)
        if self.peek() == Token("sign", ".") and following.kind in ("word", "column"):
            self.place += 2
            return Name(following.text, token.text, "column")
        following = self.peek()
        if following.kind in ("word", "level") and not self._reserved(following):
            self.place += 1
            return Name(following.text, token.text, "level")  # "head married"
        return Name(token.text, kind=kind)


def parse_rules(rules: Sequence[str]) -> tuple[Rule, ...]:
    """Parse several rules; faults of all of them are raised at once."""
    parsed: list[Rule] = []
    faults: list[Fault] = []
    for text in rules:
        try:
            parsed.append(parse_rule(text))
        except InputError as problem:
            faults += problem.faults
    if faults:
        raise InputError("rules", faults)
    return tuple(parsed)
