"""What is fuzzed: every public function that takes tables, and files that somebody may alter."""

from __future__ import annotations

import importlib
import inspect
import json
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from synthpop.microdata.formats.hashed import with_hash
from tests.fuzz.altered import altered
from tests.fuzz.arguments import arguments_of, is_known
from tests.fuzz.further import further_targets
from tests.fuzz.inputs import Maker

FACADES = (
    "riskeval", "riskeval.protect", "riskeval.utility", "synthpop", "synthpop.indicators",
    "synthpop.heaping", "synthpop.weighted", "synthpop.sampling",
)  # fmt: skip
LEFT_OUT = {
    "synthpop.run": "runs recipes and writes folders",
    "synthpop.load_demo_survey": "has no input",
    "synthpop.load_demo_population": "has no input",
    "synthpop.write_report": "needs a fitted recipe",
    "synthpop.write_table": "writes files",
    "synthpop.write_dictionary": "writes files",
    "synthpop.cross_validate": "needs a recipe",
    "synthpop.assess_fit": "needs a fitted recipe",
    "riskeval.write_assessment": "writes a page",
    "riskeval.protect.estimate_counts": "needs the matrix of a file that was post-randomised",
    "riskeval.protect.write_release": "writes files",
    "riskeval.search_plans": "needs a session",
}
"""Public functions that are not targets, with the reason."""

HOSTILE = "hostile"
"""Ends the name of a target whose inputs are worse: see `tests.fuzz.hostile`."""

Target = Callable[[Maker, Path], Any]


@cache
def targets() -> dict[str, Target]:
    """Return every target by its name."""
    named: dict[str, Target] = {}
    for facade in FACADES:
        module = importlib.import_module(facade)
        names = getattr(module, "__all__", None) or dir(module)
        for name in sorted(names):
            value = getattr(module, name, None)
            where = f"{facade}.{name}"
            public = isinstance(value, types.FunctionType) and where not in LEFT_OUT
            if public and _takes_values(value) and is_known(value):
                named[where] = _call(value)
    plain = {**named, **_FILES, "recipe": _recipe, "session": _session}
    hostile = {**{name: run for name, run in plain.items() if name not in _FILES},
               **further_targets(FACADES)}  # fmt: skip
    return plain | {f"{name}, {HOSTILE}": run for name, run in hostile.items()}


def _takes_values(function: Callable[..., Any]) -> bool:
    names = list(inspect.signature(function).parameters)
    return bool(names) and names[0] not in ("path", "file", "folder", "paths")


def _call(function: Callable[..., Any]) -> Target:
    def run(make: Maker, folder: Path) -> Any:
        result = function(**arguments_of(function, make))
        make.shown(result)
        return result

    return run


def _recipe(make: Maker, folder: Path) -> Any:
    from synthpop import Categorical, Components, Continuous, Pipeline, Relation, Structure, Survey

    frame = make.frame()
    survey = Survey(
        frame,
        household=make.name(frame, "household"),
        weight=make.one_of(["weight", "weight", None]),
        strata=make.one_of([None, "region"]),
    )
    stages: list[Any] = [Structure(make.names(frame, "age", "sex"))]
    for _ in range(make.whole(0, 3)):
        kind = make.one_of([Categorical, Continuous, Relation, Components])
        name = make.name(frame, "status", "income", "group")
        if kind is Components:
            stages.append(Components(name, parts=make.names(frame, "score", "income"), by=["sex"]))
        elif kind is Relation:
            stages.append(Relation(name, relationship=make.name(frame, "status"), head="a"))
        else:
            stages.append(kind(name))
    fitted = Pipeline(stages).fit(survey, seed=make.whole(0, 9))
    return fitted.simulate(seed=1, scale=make.one_of([1, 0.1, 0.001])).frame()


def _session(make: Maker, folder: Path) -> Any:
    from riskeval import ProtectionSession, protect

    frame = make.frame()
    session = ProtectionSession(
        frame,
        keys=make.names(frame, "age", "sex", "region"),
        numeric=make.one_of([[], ["income"]]),
        weights=make.one_of([None, "weight"]),
        household=make.one_of([None, "household"]),
    )
    for _ in range(make.whole(0, 3)):
        verb = make.one_of(protect.VERBS)
        arguments = arguments_of(getattr(protect, verb), make)
        arguments.pop("data", None)
        session.apply(verb, **arguments)
    session.risk()
    session.utility()
    return session.to_script()


PLANS = {
    "population": b"""[survey]
file = "people.csv"
household = "household"
weight = "weight"
strata = "region"

[run]
seed = 1
scale = 1.0
rules = ["age >= 0"]

[[stage]]
type = "structure"
variables = ["age", "sex"]

[[stage]]
type = "continuous"
name = "income"
predictors = ["age", "sex"]
""",
    "assess": b"""[data]
file = "people.csv"
keys = ["age", "sex", "region"]
weights = "weight"
household = "household"

[limits]
k = 3
""",
}


def _plan(kind: str) -> Target:
    def run(make: Maker, folder: Path) -> Any:
        make.frame().to_csv(folder / "people.csv", index=False)
        path = folder / "plan.toml"
        path.write_bytes(altered(make, PLANS[kind]))
        if kind == "population":
            from synthpop import load_runfile

            return load_runfile(path).read_survey()
        from riskeval import assess_file

        return assess_file(path)

    return run


def _csv(make: Maker, folder: Path) -> Any:
    from synthpop import read_table

    text = make.frame().to_csv(index=False).encode("utf-8", "replace")
    path = folder / "people.csv"
    path.write_bytes(altered(make, text))
    return read_table(path)


def _parquet(make: Maker, folder: Path) -> Any:
    from synthpop import read_table

    path = folder / "people.parquet"
    frame = make.frame()
    if frame.columns.has_duplicates:
        frame = frame.loc[:, ~frame.columns.duplicated()]
    frame = frame.astype({n: str for n in frame if frame[n].dtype == object})
    frame.to_parquet(path)
    path.write_bytes(altered(make, path.read_bytes()))
    return read_table(path)


def _stored_session(make: Maker, folder: Path) -> Any:
    from riskeval import ProtectionSession

    session = ProtectionSession(_plain_frame(np.random.default_rng(1)), keys=["age", "sex"])
    session.global_recode("age", breaks=[0, 30, 60, 99])
    session.local_suppression(k=2)
    session.save(folder / "session")
    path = folder / "session" / "session.json"
    path.write_bytes(_forged(altered(make, path.read_bytes())))
    loaded = ProtectionSession.load(folder / "session")
    return loaded.data, loaded.to_script()


def _forged(data: bytes) -> bytes:
    """Return a changed record with the hash that it should have, as a forger would write it."""
    try:
        record = json.loads(data)
        return json.dumps(with_hash({k: v for k, v in record.items() if k != "hash"})).encode()
    except (ValueError, AttributeError):
        return data


def _manifest(make: Maker, folder: Path) -> Any:
    from synthpop import Pipeline, Structure, Survey, open_population

    survey = Survey(_plain_frame(np.random.default_rng(1)), household="household", weight="weight")
    fitted = Pipeline([Structure(["age", "sex"])]).fit(survey, seed=1)
    fitted.simulate(seed=1, out=folder / "population")
    files = sorted((folder / "population").rglob("*.json"))
    path = make.one_of(files)
    path.write_bytes(altered(make, path.read_bytes()))
    return open_population(folder / "population").frame()


def _plain_frame(rng: np.random.Generator) -> Any:
    import pandas as pd

    n = 24
    return pd.DataFrame(
        {
            "household": np.arange(n) // 2,
            "age": rng.integers(0, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "weight": np.repeat(rng.uniform(5, 9, n // 2), 2),
        }
    )


_FILES: dict[str, Target] = {
    "file: csv": _csv,
    "file: parquet": _parquet,
    "file: run file": _plan("population"),
    "file: plan": _plan("assess"),
    "file: session": _stored_session,
    "file: manifest": _manifest,
}
