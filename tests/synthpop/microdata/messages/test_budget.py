"""Limits of one call: declared, told with a way to raise them, kept by rules and repetitions."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from riskeval import utility
from synthpop import check_rules
from synthpop.microdata.messages.budget import VARIABLE, budget, current_budget, repeated
from synthpop.microdata.messages.errors import InputError
from synthpop.sampling import SimpleRandom, draw_setup

PEOPLE = pd.DataFrame({"age": [3, 40, 71], "sex": ["f", "m", "f"]})
DEEP = {
    "brackets": "(" * 3000 + "age>1" + ")" * 3000,
    "a chain": "age > 1" + " and age > 1" * 5000,
    "not": "not " * 5000 + "age>1",
    "signs": "age > " + "-" * 5000 + "1",
    "a sum": "age" + "+1" * 5000 + " > 1",
    "calls": "abs(" * 3000 + "age" + ")" * 3000 + " > 1",
}


@pytest.mark.parametrize("name", DEEP)
def test_rules_that_nest_too_deeply_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="are allowed") as caught:
        check_rules(PEOPLE, [DEEP[name]])
    assert "SYNTHPOP_BUDGET=" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_rules_as_deep_as_allowed_are_checked() -> None:
    deep = "(" * 50 + "age>1" + ")" * 50
    long = "age > 1" + " and age > 1" * 250
    many = f"age in {{{', '.join(map(str, range(5000)))}}}"
    assert len(check_rules(PEOPLE, [deep, long, many]).to_frame()) == 3
    with budget(operators=300):
        check_rules(PEOPLE, ["age > 1" + " and age > 1" * 300])
    with budget(depth=3), pytest.raises(InputError, match="4 brackets"):
        check_rules(PEOPLE, ["((((age>1))))"])


def test_repetitions_that_would_not_end_are_refused_soon() -> None:
    rng = np.random.default_rng(1)
    one, other = (
        pd.DataFrame({"c": rng.choice([*"abc"], 60), "W": rng.uniform(1, 2, 60)}) for _ in range(2)
    )
    begin = time.monotonic()
    with (
        budget(seconds=60),
        pytest.raises(InputError, match="1,000,000 would take about") as caught,
    ):
        utility.propensity(one, other, variables=["c"], weights="W", permutations=1_000_000, seed=1)
    assert time.monotonic() - begin < 30
    assert "Give about" in str(caught.value)


def test_drawn_samples_keep_to_the_time() -> None:
    people = pd.DataFrame({"a": np.arange(20_000)})
    with budget(seconds=2), pytest.raises(InputError, match="n_samples"):
        draw_setup(people, SimpleRandom(10_000), n_samples=1_000_000, seed=1)


def test_repetitions_within_the_time_are_all_made() -> None:
    assert list(repeated(5, "permutations")) == [0, 1, 2, 3, 4]
    with budget(seconds=float("inf")):
        done = 0
        for _ in repeated(300, "permutations"):
            time.sleep(0.005)
            done += 1
    assert done == 300


def test_the_environment_sets_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = current_budget()
    monkeypatch.setenv(VARIABLE, "cells=10,seconds=7200")
    assert (current_budget().cells, current_budget().seconds) == (10, 7200)
    assert current_budget().unpacked == usual.unpacked
    with budget(cells=20):
        assert current_budget().cells == 20
    for text in ("cells=many", "colour=1", "cells"):
        monkeypatch.setenv(VARIABLE, text)
        with pytest.raises(InputError, match="Write it like"):
            current_budget()


@pytest.mark.parametrize("value", [0, -1, "many", True, float("nan")])
def test_a_limit_is_a_positive_number(value: float) -> None:
    with pytest.raises(InputError, match="Give a positive number"), budget(cells=value):
        pass
    with pytest.raises(InputError, match="is unknown"), budget(colour=1.0):
        pass
