"""Further targets: functions that need more than a table, constructors, chains of steps, files."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from synthpop.microdata.messages.results import Result
from tests.fuzz.altered import altered
from tests.fuzz.arguments import arguments_of, is_known
from tests.fuzz.inputs import Maker

Draw = Callable[[Maker], Any]
Target = Callable[[Maker, Path], Any]


def _mean_age(frame: pd.DataFrame, weights: Any = None) -> float:
    ages = pd.DataFrame(frame.get("age", [])).iloc[:, :1]
    return float(ages.notna().sum().sum())


def _measure(make: Maker) -> Any:
    from synthpop import indicators

    names = ("gini", "quintile_share_ratio", "poverty_gap", "at_risk_of_poverty_rate")
    return make.one_of([getattr(indicators, name) for name in names if hasattr(indicators, name)])


def _survey(make: Maker) -> Any:
    from synthpop import Survey

    household = make.one_of([None, "household"])
    return Survey(make.frame(), weight=make.one_of(["weight", None]), household=household)


def _step(make: Maker) -> Any:
    from synthpop import sampling

    rate = make.one_of([0.1, 0.0, 1.0])
    return make.one_of(
        [sampling.MissingItems("income", rate), sampling.MissingUnits(rate),
         sampling.ContaminateAtRandom("income", rate, lambda n, rng: rng.normal(size=n))]
    )  # fmt: skip


def _dictionary(make: Maker) -> Any:
    from synthpop import Dictionary

    return Dictionary.from_frame(make.frame())


def _populations(make: Maker) -> list[Any]:
    return [make.frame() for _ in range(make.whole(0, 3))]


def _matrix(make: Maker) -> pd.DataFrame:
    levels = make.one_of([["f", "m"], ["f"], ["f", "m", "x"]])
    table = make.rng.random((len(levels), len(levels)))
    return pd.DataFrame(table / table.sum(axis=1, keepdims=True), levels, levels)


def _session(make: Maker) -> Any:
    from riskeval import ProtectionSession

    return ProtectionSession(make.frame(), keys=["age", "sex"], numeric=["income"])


def _text(*values: str) -> Draw:
    return lambda make: make.one_of(values)


NEEDS: dict[str, Mapping[str, Draw]] = {
    "riskeval.scenario_replicates": {"populations": _populations},
    "riskeval.search_plans": {
        "session": _session,
        "plans": lambda make: make.one_of([1, 1, 0]),
        "recodings": lambda make: None,
        "seconds": lambda make: None,
    },
    "riskeval.protect.estimate_counts": {
        "released": lambda make: make.frame()["sex"],
        "matrix": _matrix,
    },
    "synthpop.assess_fit": {"survey": _survey},
    "synthpop.estimate_over_replicates": {
        "function": lambda make: _mean_age,
        "replicates": _populations,
    },
    "synthpop.indicators.bootstrap": {
        "indicator": _measure,
        "replicates": lambda make: make.one_of([2, 5, 0]),
    },
    "synthpop.indicators.over_years": {"measure": _measure},
    "synthpop.indicators.replicate_weights_from": {
        "method": _text("bootstrap", "jackknife", "brr", "other")
    },
    "synthpop.sampling.joint_probabilities": {"method": _text("sampford", "tille", "brewer", "x")},
    "synthpop.sampling.levels_of_rate": {
        "step": _step,
        "rates": lambda make: make.one_of([[0.1, 0.2], [], [2.0], [float("nan")]]),
    },
    "synthpop.with_dictionary": {"dictionary": _dictionary},
}
"""Arguments that no name or default gives, by function."""


def further_targets(facades: tuple[str, ...]) -> dict[str, Target]:
    """Return targets by name; each draws its input from a hostile maker."""
    named = {where: _call(_public(where), needs) for where, needs in NEEDS.items()}
    classes = {
        value
        for module in map(importlib.import_module, facades)
        for value in map(partial(getattr, module), getattr(module, "__all__", ()))
        if _is_constructor(value) and is_known(value)
    }
    calls = [_call(value, {}) for value in sorted(classes, key=lambda value: value.__name__)]

    def constructed(make: Maker, folder: Path) -> Any:
        return make.one_of(calls)(make, folder)

    return {
        **named,
        **_FILES,
        "a constructor": constructed,
        "recipe of any stage": _recipe,
        "steps of a session": _steps,
    }


def _public(where: str) -> Any:
    module, _, name = where.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _is_constructor(value: Any) -> bool:
    return (
        isinstance(value, type)
        and not issubclass(value, BaseException | Result | Warning)
        and not inspect.isabstract(value)
        and value.__name__ != "Dictionary"  # its variables are not names of columns
        and not getattr(value, "_is_protocol", False)
    )


def _call(function: Callable[..., Any], needs: Mapping[str, Draw]) -> Target:
    def run(make: Maker, folder: Path) -> Any:
        drawn = {name: draw(make) for name, draw in needs.items()}
        result = function(**{**arguments_of(function, make), **drawn})
        if isinstance(function, type):  # its methods are of use to a recipe only
            return repr(result)
        make.shown(result)
        return result

    return run


def _recipe(make: Maker, folder: Path) -> Any:
    from synthpop import Pipeline, Structure, Survey
    from synthpop.stages.registry import STAGES

    survey = Survey(
        make.frame(),
        household=make.one_of(["household", "household", None]),
        weight=make.one_of(["weight", "weight", None]),
        strata=make.one_of([None, "region"]),
    )
    stages: list[Any] = [Structure(["age", "sex"])]
    for _ in range(make.whole(1, 2)):
        kind = make.one_of(list(STAGES.values()))
        arguments = arguments_of(kind, make)
        if is_known(kind):
            stages.insert(make.one_of([len(stages), len(stages), 0]), kind(**arguments))
    fitted = Pipeline(stages).fit(survey, seed=1)
    population = fitted.simulate(seed=1, scale=make.one_of([1, 0.1, 0.001]))
    make.shown(fitted)
    make.shown(population)
    return population.frame()


def _steps(make: Maker, folder: Path) -> Any:
    from riskeval import ProtectionSession, protect

    arguments = arguments_of(ProtectionSession, make)
    session = ProtectionSession(**arguments)
    for _ in range(make.whole(1, 3)):
        verb = make.one_of(protect.VERBS)
        arguments = arguments_of(getattr(protect, verb), make)
        arguments.pop("data", None)
        session.apply(verb, **arguments)
        make.shown(session)
    loaded = ProtectionSession.load(session.save(folder / "session"))
    return loaded.history(), loaded.data


@cache
def _valid(kind: str) -> bytes:
    """Return the bytes of a file that can be read."""
    import tempfile

    from synthpop import write_dictionary, write_table
    from synthpop.sampling import SimpleRandom, draw_setup

    make = Maker(1)
    table = Maker(2).frame()[["household", "weight", "age", "sex", "income"]].astype({"sex": str})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file.{kind}"
        if kind == "dictionary.toml":
            write_dictionary(_dictionary(make), path)
        elif kind == "setup.json":
            draw_setup(table, SimpleRandom(3), n_samples=2, seed=1).write(path)
        else:
            write_table(table, path)
        return path.read_bytes()


def _file(kind: str) -> Target:
    def run(make: Maker, folder: Path) -> Any:
        import synthpop
        from synthpop.sampling import read_setup

        path = folder / f"file.{kind}"
        path.write_bytes(altered(make, _valid(kind)))
        read = {"dictionary.toml": synthpop.read_dictionary, "setup.json": read_setup}
        return read.get(kind, synthpop.read_table)(path)

    return run


PLANS = {
    "compare": b"""[original]
file = "people.csv"
keys = ["age", "sex"]
weights = "weight"

[[release]]
name = "a"
file = "people.csv"
""",
    "judge": b"""seed = 3
attacks = ["replicated_uniques", "disco"]
n_groups = 5

[data]
file = "people.csv"

[synthetic]
file = "people.csv"

[intruder]
keys = ["age", "sex"]
targets = ["region"]
""",
    "intruders": b"""seed = 3
[data]
file = "people.csv"

[population]
file = "people.csv"

[intruder]
keys = ["age", "sex"]
targets = ["income"]
accuracy = [0.1]
key_errors = {age = 0.1}

[options]
scenarios = [2, 4, 5]
weights = "weight"
""",
}


def _plan(kind: str) -> Target:
    def run(make: Maker, folder: Path) -> Any:
        import riskeval

        Maker(2).frame().to_csv(folder / "people.csv", index=False)
        path = folder / "plan.toml"
        path.write_bytes(altered(make, PLANS[kind]))
        return getattr(riskeval, f"load_{kind}_plan")(path)

    return run


READ = ("sav", "zsav", "dta", "xpt", "xlsx", "feather", "rds", "dictionary.toml", "setup.json")
_FILES: dict[str, Target] = {
    **{f"file: {kind}": _file(kind) for kind in READ},
    **{f"file: plan to {kind}": _plan(kind) for kind in PLANS},
}
