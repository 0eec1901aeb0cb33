"""Arguments that make no sense: each one ends in an InputError that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Anneal,
    Categorical,
    Components,
    Continuous,
    Derive,
    Margin,
    Pipeline,
    Structure,
    Survey,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.pipeline.fingerprint import chosen_strata
from synthpop.stages.blocks import check_size
from tests.small import ROLES, small_frame, small_survey

SURVEY = small_survey(60)


def fit(*steps: Any, survey: Any = SURVEY) -> Any:
    return Pipeline([Structure(["age", "sex"]), *steps]).fit(survey, seed=1)


CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: Pipeline([Structure, "x"]).fit(SURVEY), "step 2: 'x' is not a step"),
    (lambda: Pipeline([Structure]).fit(SURVEY), "is not a step"),
    (lambda: Pipeline("structure").fit(SURVEY), "recipe: is a str"),
    (lambda: Pipeline(None).fit(SURVEY), "recipe: is a NoneType"),  # type: ignore[arg-type]
    (lambda: fit(survey=small_frame(60)), "survey: is a DataFrame"),
    (lambda: fit(Categorical("status", predictors=None)), "predictors = None is not understood"),
    (lambda: fit(Categorical("status", predictors=[5])), "is not understood"),
    (lambda: Survey(small_frame(5), weight=5), "weight: is 5"),  # type: ignore[arg-type]
    (lambda: Structure(None), "variables: is None"),  # type: ignore[arg-type]
    (lambda: Structure([5]), "variables: is"),  # type: ignore[list-item]
    (lambda: fit().simulate(scale="2"), "scale: is '2'"),
    (lambda: fit().simulate(scale=True), "scale: is True"),
    (lambda: fit().simulate(scale=float("nan")), "scale: is nan"),
    (lambda: fit().simulate(rows_per_block="9"), "rows_per_block: is '9'"),
    (lambda: fit().simulate(rows_per_block=True), "rows_per_block: is True"),
    (lambda: fit().simulate(rows_per_block=0), "rows_per_block: is 0"),
    (lambda: fit().simulate(workers="²"), "'²' is not understood"),
    (lambda: fit().simulate(seed=-1), "seed: must not be negative"),
    (lambda: fit(Derive("a", source="sex", mapping={"f": None})), "no new value for 'f'"),
    (lambda: fit(Derive("a", source="age", breaks=["x", "y"])), "are not numbers"),
    (lambda: fit(Derive("a", source="age", breaks="0, 9")), "are not numbers"),
    (lambda: fit(Derive("a", source="age", breaks=5)), "are not numbers"),
    (
        lambda: fit(Categorical("status", impossible=[{"levels": "works", "when": {}}])),
        "is not understood",
    ),
    (lambda: fit().simulate(scale=1e9), "scale: the population would have"),
    (lambda: fit().simulate(scale=1e6, rows_per_block=1), "rows_per_block: the population would"),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=range(len(CASES)))
def test_faulty_arguments(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


EVERY_FAULT: list[tuple[dict[str, Any], list[str]]] = [
    ({"strata": "nowhere", "scale": -1}, ["strata", "scale"]),
    ({"strata": "nowhere", "scale": 1e9}, ["strata", "scale"]),
    ({"strata": [], "rows_per_block": 0, "scale": "2"}, ["strata", "rows_per_block", "scale"]),
    ({"seed": -1, "workers": 0, "scale": 1e-9}, ["seed", "workers", "scale"]),
    ({"seed": "x", "strata": ["a", "b"]}, ["seed", "strata", "strata"]),
    ({"out": 5, "on_event": "print", "workers": "many"}, ["out", "on_event", "workers"]),
]


@pytest.mark.parametrize(("arguments", "named"), EVERY_FAULT, ids=range(len(EVERY_FAULT)))
def test_simulate_tells_every_faulty_argument_at_once(
    arguments: dict[str, Any], named: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        fit().simulate(**arguments)
    assert sorted(fault.where for fault in caught.value.faults) == sorted(named)
    with pytest.raises(InputError) as caught:
        fit().replicates(0, **arguments)  # at the call, before the first population is asked for
    assert sorted(fault.where for fault in caught.value.faults) == sorted(["n", *named])


def test_strata_that_population_stages_forbid_are_told_with_other_faults() -> None:
    table = pd.DataFrame({"sex": ["f", "m"], "total": [1, 1]})
    fitted = fit(Anneal([Margin(table)]))
    with pytest.raises(InputError) as caught:
        fitted.simulate(strata="north", scale=-1)
    assert sorted(fault.where for fault in caught.value.faults) == ["scale", "strata"]


def test_a_single_name_is_a_list_of_one() -> None:
    assert Structure("age").provides == ("age",)
    assert Components("income", parts="wage", by="status").by == ("status",)
    assert Components("income", parts="wage", by="status").provides == ("wage",)


def test_names_of_columns_become_text() -> None:
    survey = Survey(small_frame(60).rename(columns={"age": 5}), **ROLES)
    assert "5" in survey.frame.columns
    assert "5" in Pipeline([Structure(["5"])]).fit(survey, seed=1).simulate().frame().columns
    twice = small_frame(5).rename(columns={"age": 5, "sex": "5"})
    with pytest.raises(InputError, match="once names are text"):
        Survey(twice, **ROLES)


def test_more_combinations_than_can_be_told_apart() -> None:
    rng = np.random.default_rng(1)
    frame = small_frame(60)
    for number in range(22):
        frame[f"x{number}"] = rng.random(len(frame))
    names = [f"x{number}" for number in range(22)]
    stages = [Structure(["age", *names]), Continuous("income", predictors="all")]
    with pytest.raises(InputError, match=r"\(age \(21 classes\), x0 .* Name fewer pred"):
        Pipeline(stages).fit(Survey(frame, **ROLES), seed=1)


def test_the_size_of_a_population_is_known_before_it_is_planned() -> None:
    sizes, totals = np.array([1, 4]), np.array([[2.0**36, 2.0**36]])
    check_size(sizes, totals, 1.0, 250_000)
    with pytest.raises(InputError, match=r"1\.37e\+12 persons"):
        check_size(sizes, totals, 4.0, 250_000)
    with pytest.raises(InputError, match="blocks"):
        check_size(sizes, totals, 1.0, 1000)
    with pytest.raises(InputError, match="inf persons"):
        check_size(sizes, np.array([[1e308, 1e308]]), 10.0, 1000)


def test_data_are_not_changed_by_names_as_text() -> None:
    frame = pd.DataFrame({"w": [1.0, 2.0], 7: [1, 2]})
    assert Survey(frame, weight="w").frame.columns.tolist() == ["w", "7"]
    assert frame.columns.tolist() == ["w", 7]


def test_strata_are_named_by_value_or_by_text() -> None:
    assert chosen_strata("8", (7.0, 8.0), "region") == [1]
    assert chosen_strata([7], ("7", "8"), "region") == [0]
    assert chosen_strata(["8.0"], ("8", "8.0"), "region") == [1]
