"""One language of formulas, read and never evaluated; each caller says what it allows."""

from __future__ import annotations

import time

import pytest

from riskeval.measures.loglinear.model import loglinear_risk
from riskeval.protection.shuffle import shuffle
from riskeval.utility.regressions import regression_comparison
from synthpop.conditional.predictors import resolve_terms
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.statistics.formula import Allowed, FormulaFactor, read_formula
from tests.riskeval.utility.test_regressions import earners

ALL = Allowed(responses=(0, None), functions=("C", "log"), dot=["a", "b", "c"], no_constant=True)


def read(text: object, allowed: Allowed | None = None) -> str:
    faults = Faults("example")
    formula = read_formula(faults, text, allowed)
    faults.raise_if_any()
    assert formula is not None
    return str(formula).removeprefix("~ ")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("~ a", "a"),
        ("a + b", "a + b"),
        ("~a+b+a", "a + b"),
        ("~ a:b + c", "c + a:b"),
        ("~ a * b", "a + b + a:b"),
        ("~ a * b * c", "a + b + c + a:b + a:c + b:c + a:b:c"),
        ("~ (a + b):c", "a:c + b:c"),
        ("~ (a + b) * c", "a + b + c + a:c + b:c"),
        ("~ (a + b + c)^2", "a + b + c + a:b + a:c + b:c"),
        ("~ (a + b)**7", "a + b + a:b"),
        ("~ a*b*c - a:b:c", "a + b + c + a:b + a:c + b:c"),
        ("~ a - b", "a"),
        ("~ a - a + b", "b"),
        ("~ a:b + b:a", "a:b"),
        ("~ a:a", "a"),
        ("~ ((a))", "a"),
        ("~ 1", "1"),
        ("~ 1 + a", "a"),
        ("~ größe + x_1 + net.income", "größe + x_1 + net.income"),
        ("~ `net income` + `a+b` + `~`", "`net income` + `a+b` + `~`"),
        ("-a + b", "b"),
    ],
)
def test_terms(text: str, terms: str) -> None:
    assert read(text) == terms
    assert read(read(text)) == terms


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("~ .", "a + b + c"),
        ("~ . - c", "a + b"),
        ("~ .^2 - a:b", "a + b + c + a:c + b:c"),
        ("a ~ .", "a ~ b + c"),
        ("log(pay) + `x y` ~ C(a):log(b)", "log(pay) + `x y` ~ C(a):log(b)"),
        ("log( `x y` )", "log(`x y`)"),
        ("0 + a", "0 + a"),
        ("a - 1", "0 + a"),
        ("a - 1 + 1", "a"),
    ],
)
def test_what_callers_may_allow(text: str, formula: str) -> None:
    assert read(text, ALL) == formula


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("~ .", "'.' is not available"),
        ("~ C(a)", "C() is not available here"),
        ("~ a - 1", "constant cannot be taken out"),
        ("a ~ b", "it has a left side"),
    ],
)
def test_what_callers_do_not_allow_is_refused(text: str, fault: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert fault in str(error.value)
    read(text, ALL)


def test_interactions_and_sides_can_be_refused() -> None:
    with pytest.raises(InputError, match=r"interactions are not available here \(a:b\)"):
        read("a*b", Allowed(interactions=False))
    with pytest.raises(InputError, match="no left side"):
        read("a", Allowed(responses=(1, 1)))
    with pytest.raises(InputError, match="2 columns stand on the left side, not 1"):
        read("a + b ~ c", Allowed(responses=(1, 1)))


@pytest.mark.parametrize(
    "text",
    [
        "", "~", " ", "a ~ b ~ c", "a |b", "a / b", "a %in% b", "exp(a)", "a +", "a:", "(a", "a)",
        "`a", "``", "a b", "2*a", "1.5", "'a'", "a ^ b", "a ^ 0", "a ^ 21", "a ^ 1.5", "a == b",
        "a; b", "a, b", "{a}", "a[0]", "__import__('os').system('ls')", "log(a)(b)", "log(a + b)",
        "log(log(a))", "C()", "a*b ~ c", "a ~ a", "a + a ~ b", "a if b else c", 3, None,
    ],
)  # fmt: skip
def test_all_else_is_our_own_error(text: object) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(text, ALL)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("(" * 9_000 + "a" + ")" * 9_000, "more than 50 parentheses"),
        ("(" * 100_000 + "a", "100,001 characters are more than 20,000"),
        (" * ".join(f"x{i}" for i in range(60)), "more than 1,000 terms"),
        ("(" + " + ".join(f"x{i}" for i in range(60)) + ")^5", "more than 1,000 terms"),
        ("(a+b)^3000000", "not a power between 1 and 20"),
        ("(a+b)^10^12", "cannot be read"),
        ("(a+b)^" + "9" * 10_000, "not a power"),
        ("(" + "+".join(f"x{i}" for i in range(1500)) + "):y", "more than 1,000 terms"),
    ],
)
def test_large_formulas_end_at_once(text: str, fault: str) -> None:
    started = time.process_time()
    with pytest.raises(InputError, match=fault):
        read(text)
    assert time.process_time() - started < 2


def test_parts_of_a_formula() -> None:
    formula = read_formula(Faults("example"), "log(pay) ~ age*`the sex`", ALL)
    assert formula is not None
    assert formula.responses == (FormulaFactor("pay", "log"),)
    assert formula.columns == ("age", "the sex")
    assert formula.names == (("age",), ("the sex",), ("age", "the sex"))
    assert [factor.label for factor in formula.factors] == ["age", "`the sex`"]


COLUMNS = {"age", "sex"}
SAME = ["age*sex", "age + sex + age:sex", "(age + sex)^2", "(age + `sex`)**2", "1 + sex*age"]


@pytest.mark.parametrize("text", SAME)
def test_all_readers_speak_one_language(text: str) -> None:
    """Predictors, log-linear models, shuffling and regressions: the same terms."""
    data = earners(80)
    wanted = {frozenset(["age"]), frozenset(["sex"]), frozenset(["age", "sex"])}
    assert {frozenset(t) for t in resolve_terms(f"~ {text}", ["age", "sex"], [])} == wanted
    risk = loglinear_risk(data, ["age", "sex"], weights="w", formula=f"~ {text}")
    assert risk.formula in ("~ age + sex + age:sex", "~ age + C(sex) + age:C(sex)")
    shuffled = shuffle(data, formula=f"pay ~ {text}", seed=1).data
    assert shuffled.equals(shuffle(data, formula="pay ~ age*sex", seed=1).data)
    terms = set(regression_comparison(data, data, f"pay ~ {text}").table.index)
    assert terms == set(regression_comparison(data, data, "pay ~ age*sex").table.index)


def test_example_of_read_formula() -> None:
    faults = Faults("example")
    assert (
        str(read_formula(faults, "(age + `net pay`)*sex - age:sex"))
        == "~ age + `net pay` + sex + `net pay`:sex"
    )
    assert (
        str(read_formula(faults, "log(pay) ~ age", Allowed((1, 1), functions=("log",))))
        == "log(pay) ~ age"
    )
