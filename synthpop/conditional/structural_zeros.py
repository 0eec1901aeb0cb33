"""Structural zeros: values that a combination of predictors cannot have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from synthpop.conditional.encodings import Encodings
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.models.encoding import FEW_VALUES, distinct_numbers


def check_impossible(
    faults: Faults, label: str, name: str, impossible: Any, schema: Schema
) -> None:
    """Note rules of what is impossible that are not understood."""
    if not isinstance(impossible, (Sequence, NoneType)):
        what, hint = f"impossible is {impossible!r}", "Give a list of rules."
        faults.add(label, what, hint=hint)
        return
    for rule in impossible or ():
        _check_rule(faults, label, name, rule, schema)


def none_for_nan(value: Any) -> Any:
    """Return rules with None for a missing value, which in run files is nan."""
    if isinstance(value, tuple):
        return tuple(none_for_nan(item) for item in value)
    if isinstance(value, dict):
        return {key: none_for_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def _check_rule(
    faults: Faults, label: str, name: str, rule: Mapping[str, Any], schema: Schema
) -> None:
    understood = (
        isinstance(rule, Mapping)
        and set(rule) == {"levels", "when"}
        and isinstance(rule["when"], Mapping)
        and all(isinstance(x, (list, tuple)) for x in (rule["levels"], *rule["when"].values()))
    )
    if not understood:
        hint = 'Give {"levels": [...], "when": {predictor: [values]}}.'
        faults.add(label, f"rule {rule!r} of impossible is not understood", hint=hint)
        return
    check_available(faults, label, list(rule["when"]), schema, "condition on")
    for column, wanted in ((name, rule["levels"]), *rule["when"].items()):
        field = schema.survey.get(column)
        if field is None or field.kind != "categorical":
            continue
        for level in wanted:
            _position(faults, label, column, field.levels, level)


def compile_rules(
    label: str,
    rules: Sequence[Mapping[str, Any]] | None,
    field: Field,
    encodings: Encodings,
    sample: Sample,
    classes: np.ndarray,
) -> AllowedRule | None:
    """Turn rules into digits and classes; levels must be there, and something must be left."""
    if not rules:
        return None
    faults = Faults("recipe")
    variables = reversed(list(enumerate(encodings.variables)))  # sides of limits come last
    position = {item.name: j for j, item in variables if item.numbers is None}
    present = np.bincount(classes, minlength=len(field.levels) + 1) > 0
    compiled = []
    for rule in rules:
        conditions = tuple(
            (position[name], _digits_of(faults, label, sample, encodings, name, wanted))
            for name, wanted in rule["when"].items()
        )
        barred = tuple(
            _position(faults, label, field.name, field.levels, level) for level in rule["levels"]
        )
        if set(np.flatnonzero(present)) <= set(barred):
            what = f"rule {dict(rule)!r} of impossible leaves no possible value"
            faults.add(label, what, hint="Allow at least one level that the sample has.")
        compiled.append((conditions, barred))
    faults.raise_if_any()
    return AllowedRule(tuple(compiled), present)


def _position(faults: Faults, label: str, name: str, levels: Sequence[Any], level: Any) -> int:
    """Class of a level, 0 for missing; a level that is not there is a fault."""
    if level is None:
        return 0
    if level not in levels:
        what = f"impossible names the level {level!r} that {name!r} does not have"
        faults.add(label, what, hint=did_you_mean(level, levels))
        return 0
    return list(levels).index(level) + 1


def _digits_of(
    faults: Faults,
    label: str,
    sample: Sample,
    encodings: Encodings,
    name: str,
    wanted: Sequence[Any],
) -> tuple[int, ...]:
    field = sample.fields[name]
    if field.kind == "categorical":
        return tuple(_position(faults, label, name, field.levels, level) for level in wanted)
    distinct = distinct_numbers(sample.columns[name]).tolist()
    if len(distinct) > FEW_VALUES:
        what = f"impossible has a condition on {name!r}, a number with many values"
        faults.add(label, what, hint="Derive classes of it first.")
        return ()
    return tuple(_position(faults, label, name, distinct, value) for value in wanted)


@dataclass(frozen=True, slots=True)
class AllowedRule:
    """Structural zeros in digits: rules (predictor position -> digits) and the classes they bar."""

    rules: tuple[tuple[tuple[tuple[int, tuple[int, ...]], ...], tuple[int, ...]], ...]
    # bool array, shape (n_classes,): classes that the sample has; what a rule leaves is drawn
    # from these only
    present: np.ndarray

    def mask(self, digits: np.ndarray) -> np.ndarray:
        """Return False where a class is impossible, shape (c, n_classes)."""
        allowed = np.tile(self.present, (len(digits), 1))
        for conditions, classes in self.rules:
            matches = np.ones(len(digits), dtype=bool)
            for position, wanted in conditions:
                matches &= np.isin(digits[:, position], wanted)
            allowed[np.ix_(matches, np.asarray(classes, dtype=np.int64))] = False
        return allowed
