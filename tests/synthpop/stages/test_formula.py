"""Formulas of predictors."""

from __future__ import annotations

import pytest

from synthpop.conditional.formula import parse_formula
from synthpop.microdata.errors import InputError


def read(text: str) -> str:
    return " ".join(":".join(term) for term in parse_formula(text))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("~ a", "a"),
        ("a + b", "a b"),
        ("~a+b+a", "a b"),
        ("~ a:b + c", "c a:b"),
        ("~ a * b", "a b a:b"),
        ("~ a * b * c", "a b c a:b a:c b:c a:b:c"),
        ("~ (a + b):c", "a:c b:c"),
        ("~ (a + b) * c", "a b c a:c b:c"),
        ("~ a:b + b:a", "a:b"),
        ("~ a:a", "a"),
        ("~ ((a))", "a"),
        ("~ größe + x_1 + net.income", "größe x_1 net.income"),
        ("~ `net income` + `a+b`", "net income a+b"),
    ],
)
def test_terms(text: str, terms: str) -> None:
    assert read(text) == terms


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("~ (age+sex)**9999999", 13),
        ("~ .", 3),
        ("a ~ b ~ c", 3),
        ("~ age | sex", 7),
        ("~ age ^ 2", 7),
        ("~ age - sex", 7),
        ("~ age / sex", 7),
        ("~ age %in% sex", 7),
        ("~ log(age)", 6),
        ("~ sex +", 8),
        ("~ (sex", 7),
        ("~ sex)", 6),
        ("~ 1 + sex", 3),
        ("~ `sex", 3),
        ("~ ``", 3),
        ("~ a b", 5),
        ("~", 2),
    ],
)
def test_faults_come_with_their_position(text: str, position: int) -> None:
    with pytest.raises(InputError, match=f"cannot be read at position {position}:"):
        parse_formula(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(" * 100_000 + "a", "100,001 characters is longer than 20,000"),
        ("(" * 10_000 + "a", "more than 50 parentheses"),
        (" * ".join(f"x{i}" for i in range(60)), "more than 1000 terms"),
        ("(a*b*c)" + ":(d*e*f)" * 30_000, "240,007 characters is longer than 20,000"),
    ],
)
def test_long_formulas_are_refused(text: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        parse_formula(text)


def test_repeated_factors_count_once() -> None:
    assert parse_formula("(a + b)" + ":(a + b)" * 1000) == [("a",), ("b",), ("a", "b")]
