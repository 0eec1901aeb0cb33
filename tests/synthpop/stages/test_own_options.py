"""A step keeps its own options: lists that are changed later do not change the recipe."""

from __future__ import annotations

import copy
import json
import pickle
import tomllib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Anneal,
    Categorical,
    Components,
    Continuous,
    CorrectHeaping,
    Derive,
    Distribute,
    GibbsPass,
    Impute,
    Margin,
    Pipeline,
    Relation,
    Structure,
)
from synthpop.microdata.messages.methods import own_copy
from synthpop.pipeline.fingerprint import stage_to_dict
from synthpop.runfiles.runfile import dump_runfile, parse_runfile
from tests.small import small_survey

RULES = [{"levels": ["works"], "when": {"age": [1, 2], "sex": ["f"]}}]
AREAS = pd.DataFrame({"region": ["north"], "area": ["n1"], "total": [10.0]})
OPTIONS: list[tuple[type, dict[str, Any]]] = [
    (Structure, {"variables": ["age", "sex"]}),
    (Derive, {"name": "a", "source": "age", "breaks": [0, 20, 120], "labels": ["y", "o"]}),
    (Derive, {"name": "s", "source": "sex", "mapping": {"f": "x", "m": "y"}}),
    (Categorical, {"name": ["status"], "predictors": ["age", "sex"], "impossible": RULES}),
    (Relation, {"name": "status", "relationship": "sex", "head": "f", "direct": ["m"],
                "predictors": ["age"]}),
    (Continuous, {"name": "income", "predictors": ["age"], "breaks": [0.0, 10.0, 20.0],
                  "intervals": ["low", "high"]}),
    (Components, {"total": "income", "parts": ["wage", "other"], "by": ["status"]}),
    (GibbsPass, {"variables": ["status"], "predictors": ["age"]}),
    (Impute, {"variables": ["status"], "given": ["age"]}),
    (CorrectHeaping, {"name": "age", "heaps": [30.0, 40.0], "window": [2, 2]}),
    (Anneal, {"margins": [Margin(10.0)]}),
    (Distribute, {"name": "area", "within": "region", "margins": [Margin(AREAS)]}),
]  # fmt: skip


def scramble(value: Any) -> None:
    """Change every list and dict inside, the innermost first."""
    if isinstance(value, dict):
        for item in value.values():
            scramble(item)
        value["new"] = "changed"
    elif isinstance(value, list):
        for item in value:
            scramble(item)
        value.append("changed")


@pytest.mark.parametrize(("kind", "options"), OPTIONS, ids=lambda x: getattr(x, "__name__", ""))
def test_later_changes_of_a_list_do_not_reach_the_step(kind: type, options: dict[str, Any]) -> None:
    given = {k: v if k == "margins" else copy.deepcopy(v) for k, v in options.items()}
    given = {k: list(v) if k == "margins" else v for k, v in given.items()}
    step = kind(**given)
    before, shown = stage_to_dict(step), repr(step)
    for value in given.values():
        scramble(value)
    assert stage_to_dict(step) == before
    assert repr(step) == shown
    assert step == kind(**options)
    if kind not in (Anneal, Distribute):  # margins are equal to themselves only
        assert pickle.loads(pickle.dumps(step)) == step


def test_later_changes_of_the_list_of_steps_do_not_reach_the_recipe() -> None:
    steps = [Structure(["age"])]
    recipe = Pipeline(steps)
    steps.append(Categorical("status"))
    assert recipe.stages == (Structure(["age"]),)
    assert recipe == Pipeline((Structure(["age"]),))


def test_a_changed_rule_does_not_change_a_population() -> None:
    rules = [{"levels": ["idle"], "when": {"sex": ["f"]}}]
    recipe = Pipeline([Structure(["age", "sex"]), Categorical("status", impossible=rules)])
    rules[0]["when"]["sex"] = ["m"]  # type: ignore[index]
    made = recipe.fit(small_survey(), seed=1).simulate().frame()
    assert not ((made["status"] == "idle") & (made["sex"] == "f")).any()
    assert ((made["status"] == "idle") & (made["sex"] == "m")).any()


def test_rows_of_numbers_become_plain_numbers() -> None:
    for breaks in (np.array([0, 20, 120]), pd.Series([0, 20, 120]), pd.Index([0, 20, 120])):
        step = Derive("a", source="age", breaks=breaks)
        assert step == Derive("a", source="age", breaks=[0, 20, 120])
        assert [type(x) for x in step.breaks or ()] == [int] * 3
    assert own_copy(np.eye(2)).shape == (2, 2)  # checked by the step, not here


def test_a_run_file_gives_equal_steps() -> None:
    steps = [kind(**options) for kind, options in OPTIONS if "margins" not in options]
    tables = [stage_to_dict(step) for step in steps]
    plan = parse_runfile({"survey": {"demo": True}, "stage": json.loads(json.dumps(tables))})
    assert list(plan.stages) == steps
    assert list(parse_runfile(tomllib.loads(dump_runfile(plan))).stages) == steps
