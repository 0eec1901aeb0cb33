"""Methods with options of their own: one meaning in functions, sessions, scripts and run files."""

from __future__ import annotations

import inspect
import typing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval import protect
from riskeval.protection.methods import METHODS, ClusterGroups, GowerGroups, InvariantMatrix
from riskeval.runfiles.runfile import load_protect_plan
from riskeval.session.session import ProtectionSession
from synthpop.microdata.messages.methods import Method

VERB_METHODS = [(verb, argument) for verb, table in METHODS.items() for argument in table]


def people(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "region": rng.choice([*"abc"], n),
            "income": rng.lognormal(8, 1, n).round(),
            "rent": rng.lognormal(6, 1, n).round(),
        }
    )


@pytest.mark.parametrize(("verb", "argument"), VERB_METHODS)
def test_signatures_name_every_method(verb: str, argument: str) -> None:
    """Forms and editors offer what the signature lists; each name has its documented class."""
    hints = typing.get_type_hints(getattr(protect, verb))
    names = [name for part in typing.get_args(hints[argument]) for name in typing.get_args(part)]
    assert set(METHODS[verb][argument]) <= set(names)
    default = inspect.signature(getattr(protect, verb)).parameters[argument].default
    assert default in METHODS[verb][argument]
    for name, method in METHODS[verb][argument].items():
        assert method.type == name
        assert getattr(protect, method.__name__) is method
        assert set(method.PARAMETERS) == set(inspect.signature(method).parameters)
        for option in inspect.signature(method).parameters:
            assert option in inspect.getdoc(method)  # type: ignore[operator]


def test_three_forms_give_one_result_and_one_record() -> None:
    table = {"type": "cluster", "clusters": 2}
    results = [
        protect.microaggregate(people(), ["income", "rent"], method=method, seed=1)
        for method in (ClusterGroups(clusters=2), table)
    ]
    pd.testing.assert_frame_equal(results[0].data, results[1].data)
    assert [result.parameters["method"] for result in results] == [table, table]
    assert protect.add_noise(people(), ["income"]).parameters["method"] == "additive"


def steps() -> list[tuple[str, dict[str, Any], Method]]:
    return [
        ("pram", {"columns": ["region"]}, InvariantMatrix(alpha=1.0)),
        ("microaggregate", {"variables": ["income", "rent"]}, ClusterGroups(clusters=2)),
        ("microaggregate", {"variables": ["income"]}, GowerGroups(distance=["rent"])),
    ]


def test_sessions_scripts_and_run_files_take_them(tmp_path: Path) -> None:
    session = ProtectionSession(people(), keys=["region"], numeric=["income", "rent"])
    direct = people()
    for verb, parameters, method in steps():
        argument = "matrix" if verb == "pram" else "method"
        session.apply(verb, **parameters, **{argument: method}, seed=3)
        direct = getattr(protect, verb)(direct, **parameters, **{argument: method}, seed=3).data
    pd.testing.assert_frame_equal(session.data, direct)
    # a saved session
    folder = session.save(tmp_path / "saved")
    pd.testing.assert_frame_equal(ProtectionSession.load(folder).data, direct)
    # a script
    people().to_parquet(tmp_path / "original.parquet")
    exec(  # the script that a user would run
        session.to_script(
            source_path=str(tmp_path / "original.parquet"),
            target_path=str(tmp_path / "protected.parquet"),
        )
    )
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "protected.parquet"), direct)
    # a run file
    people().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(
        'data = {file = "people.csv"}\nroles = {keys = ["region"], numeric = ["income"]}\n'
        '[[step]]\nverb = "microaggregate"\nseed = 3\n'
        'method = {type = "cluster", clusters = 2}\n'
    )
    plan = load_protect_plan(tmp_path / "plan.toml")
    (verb, arguments), data = plan.steps[0], plan.read()
    session = ProtectionSession(data, **plan.roles.model_dump())
    session.apply(verb, **arguments)
    expected = protect.microaggregate(data, ["income"], method=ClusterGroups(2), seed=3)
    pd.testing.assert_frame_equal(session.data, expected.data)


ROLES = {
    "data", "original", "released", "release", "releases", "synthetic", "sample", "population",
    "populations", "earlier", "holdout", "keys", "variables", "columns", "column", "variable",
    "target", "targets", "by", "gender", "weights", "released_weights", "household", "members",
    "household_variables", "household_keys", "components", "linked", "strata", "cluster",
    "categorical", "numeric", "sensitive", "seed", "workers", "on_event", "pipeline", "survey",
}  # fmt: skip
"""Arguments that mean the same in every function: files, recipes, roles, how it is run."""


@pytest.mark.parametrize("package", [riskeval, protect, riskeval.utility])
def test_public_functions_have_at_most_eight_options_of_their_own(package: Any) -> None:
    for name in package.__all__:
        function = getattr(package, name)
        if inspect.isfunction(function):
            options = [n for n in inspect.signature(function).parameters if n not in ROLES]
            assert len(options) <= 8, (name, options)
