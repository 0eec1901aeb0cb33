"""Arguments are checked by tables; every fault is noted, with what to give instead."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import (
    NONE,
    POSITIVE,
    SHARE,
    Between,
    Constraint,
    Flag,
    Instance,
    Names,
    OneOf,
    Whole,
    check,
    check_choice,
    is_number,
)


def fault(constraint: Constraint, value: object) -> str:
    faults = Faults("call")
    check(faults, {"x": constraint}, {"x": value})
    assert len(faults.found) <= 1
    return str(faults.found[0]) if faults else ""


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Between(0, 1), [0, 1, 0.5, np.float32(1)], [-0.1, 1.1, "0.5", None, True, np.nan]),
        (SHARE, [0.5], [0, 1]),
        (Between(0, 1, open="low"), [1], [0]),
        (Between(0, 1, open="high"), [0], [1]),
        (POSITIVE, [1e-300, 10**30], [0, -1, np.inf, 10**400]),
        (Between(), [-5, 5.5], [np.nan, np.inf, 1j, Decimal(1), np.array([1.0])]),
        (Whole(1), [1, np.int8(5)], [0, 1.0, True, "1", None, np.array([1])]),
        (Whole(1, 3) | NONE, [1, 3, None], [4, 0]),
        (Whole() | OneOf("all"), [-3, "all"], ["al", 0.5]),
        (OneOf("a", "b"), ["a", np.str_("b")], ["c", None, ["a"], np.array(["a"])]),
        (OneOf(None, 1), [None, 1], [True, 2]),
        (OneOf(False, "auto"), [False, "auto"], [0, True]),
        (Flag(), [True, np.False_], [0, "yes"]),
        (Instance(str, "a name"), ["a"], [1]),
    ],
)
def test_what_is_allowed(constraint: Constraint, good: list[object], bad: list[object]) -> None:
    assert [fault(constraint, value) for value in good] == [""] * len(good)
    assert all(fault(constraint, value) for value in bad)


@pytest.mark.parametrize(
    ("constraint", "value", "text"),
    [
        (SHARE, 2, "x: is 2. Give a number between 0 and 1 (both excluded)."),
        (POSITIVE, np.float64(-1.5), "x: is -1.5. Give a positive number."),
        (Between(1, None), "a", "x: is 'a'. Give a number of at least 1."),
        (Between(None, 5), 6, "x: is 6. Give a number of at most 5."),
        (Whole(1) | NONE, 0, "x: is 0. Give a whole number of at least 1, or None."),
        (Whole(2, 9), 1, "x: is 1. Give a whole number from 2 to 9."),
        (OneOf("gpd", "pareto") | NONE, "gdp",
         "x: 'gdp' is not allowed. Did you mean 'gpd'? There are: gpd, pareto."),
        (Whole(0) | OneOf("all"), "x", "x: is 'x'. Give a whole number of at least 0, or one of "
         "'all'."),
        (Flag(), 1, "x: is 1. Give True or False."),
    ],
)  # fmt: skip
def test_faults_say_what_to_give(constraint: Constraint, value: object, text: str) -> None:
    assert fault(constraint, value) == text


@dataclass
class Options:
    rate: float = 2.0
    k: int = 0


def test_all_faults_are_noted_and_objects_are_read() -> None:
    faults = Faults("call")
    check(faults, {"rate": SHARE, "k": Whole(1), "other": Whole(1)}, Options(), label="step")
    assert [item.where for item in faults.found] == ["step: rate", "step: k"]


def test_long_values_are_cut() -> None:
    assert len(fault(Whole(1), "x" * 10_000)) < 150
    assert not is_number(np.bool_(True))


def test_example_of_between() -> None:
    assert [Between(0, 1, open="both").allows(x) for x in (0, 0.5, 1, True, float("nan"))] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert Between(0, None, open="low").wanted == "a positive number"


def test_example_of_whole() -> None:
    assert [Whole(1).allows(x) for x in (1, np.int64(3), 0, 2.0, True)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert (Whole(1, 10) | NONE).wanted == "a whole number from 1 to 10, or None"


def test_example_of_oneof() -> None:
    assert not (OneOf("gpd", "pareto", None).allows("gpdd"))


def test_example_of_instance() -> None:
    assert (Instance(str, "the name of a column").allows(3), Flag().allows(0)) == (False, False)


def test_example_of_names() -> None:
    assert [Names().allows(x) for x in ("age", ["age", "sex"], (), [1], 3)] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_example_of_check() -> None:
    faults = Faults("anneal")
    check(faults, {"cooling": SHARE, "workers": Whole(1)}, {"cooling": 2, "workers": 0})
    assert [str(fault) for fault in faults.found] == [
        "cooling: is 2. Give a number between 0 and 1 (both excluded).",
        "workers: is 0. Give a whole number of at least 1.",
    ]


def test_example_of_check_choice() -> None:
    faults = Faults("quantile")
    check_choice(faults, "definition", "reach", ("reached", "exceeded"))
    assert str(faults.found[0]) == (
        "definition: 'reach' is not allowed. Did you mean 'reached'? There are: reached, exceeded."
    )


def test_example_of_is_number() -> None:
    assert [is_number(x) for x in (1, 0.5, np.float32(2), True, "1", float("inf"), None)] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
