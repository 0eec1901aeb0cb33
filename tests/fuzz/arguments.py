"""Arguments of a public function from its signature: by their names, choices and defaults."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pandas as pd

from synthpop.microdata.messages.errors import MicrodataError
from tests.fuzz.inputs import Maker

KEYS = ("age", "sex", "region", "status", "group")
AMOUNTS = ("income", "age", "score")
UNKNOWN = object()
SKIPPED = ("progress", "out", "workers", "path", "folder", "n_jobs", "to", "model")
"""Arguments that write files or start processes stay at their defaults."""


def arguments_of(function: Callable[..., Any], make: Maker) -> dict[str, Any]:
    """Draw arguments for a function: all that it needs, and some of the others."""
    frame = make.frame()
    arguments: dict[str, Any] = {}
    for name, parameter in _parameters(function):
        needed = parameter.default is inspect.Parameter.empty
        if name in SKIPPED or not (needed or make.chance(0.25)):
            continue
        odd = make.odd_share and make.chance(make.odd_share)
        value = make.odd() if odd else _value(name, parameter, frame, make)
        if value is not UNKNOWN:
            arguments[name] = make.argument(value, str(parameter.annotation))
    return arguments


def is_known(function: Callable[..., Any]) -> bool:
    """Whether every argument that a function needs can be drawn."""
    make = Maker(1)
    frame = make.frame()
    for name, parameter in _parameters(function):
        if name in SKIPPED:
            if parameter.default is inspect.Parameter.empty:
                return False
            continue
        try:
            value = _value(name, parameter, frame, make)
        except MicrodataError:  # of a survey that could be drawn
            continue
        if parameter.default is inspect.Parameter.empty and value is UNKNOWN:
            return False
    return True


def _parameters(function: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    signature = inspect.signature(function)
    return [(n, p) for n, p in signature.parameters.items() if p.kind not in kinds]


def _value(name: str, parameter: inspect.Parameter, frame: pd.DataFrame, make: Maker) -> Any:
    choices = _choices(parameter.annotation)
    if choices:
        return make.one_of(choices)
    if name == "household" and "ArrayLike" in str(parameter.annotation):
        return _series("household")(frame, make)
    if name in _FRAMES:
        return _FRAMES[name](frame, make)
    if name in _BY_NAME:
        return _BY_NAME[name](frame, make)
    default = parameter.default
    if str(parameter.annotation).startswith("Mapping"):
        return UNKNOWN
    if isinstance(default, bool):
        return make.chance(0.5)
    if isinstance(default, int):
        return make.one_of([default, 1, 2, 3, 5, 10, 0, -1])
    if isinstance(default, float):
        return make.one_of([default, default / 2, 0.0, 0.5, 1.0, 2.0, -1.0])
    if isinstance(default, str):
        return make.one_of([default, default, "none", "nothing"])
    return UNKNOWN


def _choices(annotation: Any) -> list[Any]:
    """Return the values of a Literal, wherever it stands in an annotation (text or type)."""
    if isinstance(annotation, str):
        if "Literal[" not in annotation:
            return []
        inside = annotation.split("Literal[", 1)[1].split("]", 1)[0]
        return [part.strip().strip("\"'") for part in inside.split(",") if part.strip()]
    found: list[Any] = []
    for part in typing.get_args(annotation):
        found += [part] if isinstance(part, str) else _choices(part)
    return found


def _series(*usual: str) -> Callable[[pd.DataFrame, Maker], Any]:
    def draw(frame: pd.DataFrame, make: Maker) -> Any:
        values = frame[make.name(frame, *usual)]
        return values.iloc[:, 0] if isinstance(values, pd.DataFrame) else values

    def safe(frame: pd.DataFrame, make: Maker) -> Any:
        try:
            return draw(frame, make)
        except KeyError:
            return make.column(len(frame))

    return safe


def _survey(frame: pd.DataFrame, make: Maker) -> Any:
    from synthpop import Survey

    household = make.one_of([None, "household"])
    return Survey(frame, household=household, weight="weight", strata=make.one_of([None, "region"]))


def _margins(frame: pd.DataFrame, make: Maker) -> Any:
    from synthpop import Margin

    name = make.name(frame, "region", "sex")
    levels = list(dict.fromkeys(frame[name].dropna())) if name in frame else ["a"]
    totals = make.rng.integers(1, 500, len(levels))
    return [Margin(pd.DataFrame({str(name): levels, "total": totals}))]


def _design(frame: pd.DataFrame, make: Maker) -> Any:
    from synthpop import Cluster, SimpleRandom, Stratified, Systematic

    n = make.one_of([1, 3, 10, 0])
    return make.one_of(
        [SimpleRandom(n), Systematic(n), Stratified({"A": n, "B": n}, by="region"),
         Cluster("household", SimpleRandom(n))]
    )  # fmt: skip


def _mean_age(sample: pd.DataFrame) -> float:
    return float(pd.to_numeric(sample["age"], errors="coerce").mean())


def _names(*usual: str) -> Callable[[pd.DataFrame, Maker], Any]:
    return lambda frame, make: make.names(frame, *usual)


def _name(*usual: str) -> Callable[[pd.DataFrame, Maker], Any]:
    return lambda frame, make: make.name(frame, *usual)


_FRAMES: dict[str, Callable[[pd.DataFrame, Maker], Any]] = {
    **dict.fromkeys(("data", "original", "sample", "frame"), lambda frame, make: frame),
    **dict.fromkeys(
        ("release", "released", "synthetic", "holdout", "hold_out", "earlier", "population"),
        lambda frame, make: make.released(frame),
    ),
    "values": _series("income", "age"),
    "survey": lambda frame, make: _survey(frame, make),
    "releases": lambda frame, make: {"a": make.released(frame), "b": make.released(frame)},
}

_BY_NAME: dict[str, Callable[[pd.DataFrame, Maker], Any]] = {
    **dict.fromkeys(("keys", "similar", "risk_keys", "hierarchy", "key_variables"), _names(*KEYS)),
    **dict.fromkeys(("columns", "variables", "numeric", "predictors"), _names(*AMOUNTS)),
    **dict.fromkeys(("sensitive", "pram", "strata", "by", "domains"), _names("status", "region")),
    **dict.fromkeys(("column", "target", "variable"), _name("income", "status", "age")),
    **dict.fromkeys(("weights", "weight"), lambda frame, make: make.one_of(
        [None, "weight", "weight", "income", "nothing"])),
    **dict.fromkeys(("household", "cluster", "psu"), lambda frame, make: make.one_of(
        [None, "household", "household", "region"])),
    "household_variables": lambda frame, make: make.one_of([[], ["region"], ["age"]]),
    "household_keys": lambda frame, make: make.one_of([[], ["region"], ["age", "sex"]]),
    "components": lambda frame, make: make.one_of([None, {"income": ["score", "age"]}, {}]),
    "linked": lambda frame, make: make.one_of([None, {"age": "group"}, {"region": ["status"]}]),
    "groups": lambda frame, make: make.one_of(
        [{"AB": ["A", "B"]}, {"x": ["f"]}, {1: [0, 1]}, {}, {"other": [None, "A"]}]),
    "breaks": lambda frame, make: make.one_of(
        [[0, 20, 60, 90], 4, [-1, 0], [5, 5], [0, float("inf")], 0, [float("-inf"), 0, 1]]),
    "formula": lambda frame, make: make.one_of(
        ["~ age + sex", "income ~ age", "~ region * sex", "income ~", "~ (age", "age + nothing",
         "income ~ log(age) + C(region)", "~ a^99"]),
    "k": lambda frame, make: make.one_of([2, 3, 3, 5, 1, 0, 1000]),
    "p": lambda frame, make: make.one_of([0.05, 0.2, 0.5, 0.0, 1.0, 5]),
    "level": lambda frame, make: make.one_of([0.1, 0.5, 1, 0, 10, -1]),
    "seed": lambda frame, make: make.one_of([1, 2, 0, None, 2**40]),
    "risk": lambda frame, make: make.rng.random(len(frame)),
    "threshold": lambda frame, make: make.one_of([0.1, 0.5, 1, 100, -1, float("nan")]),
    "limits": lambda frame, make: make.one_of([None, {"k": 3}, {"k": 5, "l": 2}, {"x": 1}]),
    "hierarchies": lambda frame, make: make.one_of(
        [{"age": [[0, 50, 99]]}, {"sex": [{"all": ["f", "m"]}]}, {}]),
    "scenarios": lambda frame, make: None,
    "share": lambda frame, make: make.one_of([0.1, 0.5, 0.9, 0, 1]),
    "n": lambda frame, make: make.one_of([1, 5, 20, 0, -3, 10**6]),
    "replicates": lambda frame, make: make.one_of([2, 5, 1, 0]),
    "probability": lambda frame, make: make.one_of([0.1, 0.5, 0.99, 0, 1.5]),
    "probabilities": lambda frame, make: make.rng.random(len(frame)),
    "size": lambda frame, make: make.one_of([1, 3, 10, 0]),
    "sizes": _series("income"),
    "counts": lambda frame, make: make.rng.integers(0, 50, make.one_of([0, 1, 17, 18, 21])),
    "group": _series("sex", "region"),
    "income": _series("income"),
    "agreement": lambda frame, make: make.one_of([None, {"age": 0.9}, {"x": 1}, {"age": -1}]),
    "alpha": lambda frame, make: make.one_of([0.5, 0.1, 0.9, 0, 1, 2]),
    "matrix": lambda frame, make: make.one_of(["invariant", "random", None]),
    "households": lambda frame, make: frame.drop_duplicates("household"),
    **dict.fromkeys(
        ("lower_original", "upper_original", "lower_released", "upper_released"),
        lambda frame, make: make.rng.normal(size=make.one_of([1, 3, 3, 3, 0])),
    ),
    "margins": lambda frame, make: _margins(frame, make),
    "age": _series("age"), "ages": _series("age"), "gender": _series("sex"),
    "condition": lambda frame, make: _series("age")(frame, make) == make.whole(0, 90),
    "years": lambda frame, make: make.rng.integers(2018, 2022, len(frame)),
    "five_year_counts": lambda frame, make: make.rng.integers(0, 50, make.one_of([17, 18, 5, 0])),
    "shares": lambda frame, make: make.rng.random(make.one_of([3, 3, 0])),
    "auxiliary": lambda frame, make: make.rng.normal(size=(len(frame), 2)),
    "rng": lambda frame, make: make.rng,
    "estimates": lambda frame, make: make.rng.normal(size=make.one_of([5, 2, 1, 0])),
    "variances": lambda frame, make: make.rng.random(make.one_of([5, 2, 1, 0])),
    "kind": lambda frame, make: make.one_of(["fully", "partially", "bootstrap", "other"]),
    "design": lambda frame, make: _design(frame, make),
    "estimators": lambda frame, make: {"mean": _mean_age},
    "repetitions": lambda frame, make: make.one_of([1, 2, 0]),
    "n_samples": lambda frame, make: make.one_of([1, 2, 0]),
    "x": _series("income", "age"),
    "y": _series("income", "score"),
}  # fmt: skip
