"""Candidates of a cross-validation: their names, their options, the steps before them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from synthpop.conditional.members_before import GIVEN_MEMBERS
from synthpop.conditional.predictors import resolve_terms
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import MOST_TIMES, NONE, SHARE, Whole, check
from synthpop.stages.categorical import Categorical
from synthpop.stages.continuous.stage import Continuous
from synthpop.stages.id_columns import SIZE_NAME
from synthpop.stages.relation import Relation
from synthpop.stages.structure import Structure

KIND = "kind of step"
Candidate = Categorical | Relation | Continuous
"""Stages that can be compared."""
PARAMETERS = {
    "folds": Whole(2),
    "draws": Whole(2, MOST_TIMES),
    "smallest_probability": SHARE | NONE,
}


def grid(stage: Candidate, options: Mapping[str, Sequence[Any]]) -> dict[str, Candidate]:
    """Return the stage with every combination of the options, by label.

    Examples
    --------
    >>> found = grid(Categorical("status"), {"model": ["tree", "forest"], "predictors": [["age"]]})
    >>> list(found)
    ["model='tree', predictors=['age']", "model='forest', predictors=['age']"]
    """
    faults = Faults("candidates")
    options_of_stage = {item.name for item in fields(stage)}
    for option, values in options.items():
        if option not in options_of_stage:
            what = f"{type(stage).__name__} has no option {option!r}"
            faults.add(option, what, hint=f"Options are {', '.join(sorted(options_of_stage))}.")
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            faults.add(option, f"is {values!r}", hint="Give a list of values to try.")
    faults.raise_if_any()
    stages = {}
    for combination in itertools.product(*options.values()):
        pairs = dict(zip(options, combination, strict=True))
        label = ", ".join(f"{option}={_text(value)}" for option, value in pairs.items())
        stages[label] = replace(stage, **pairs)
    return stages


def _text(value: Any) -> str:
    """Return an option as it is written in Python, a tuple as a list, in one line."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    return " ".join(repr(value).split())


def labelled(candidates: Any) -> dict[str, Any]:
    """Candidates by label; those of a list are called by the options that tell them apart."""
    faults = Faults("cross-validation")
    if isinstance(candidates, Mapping):
        stage_by_label = {str(label): _of_one_name(stage) for label, stage in candidates.items()}
    elif isinstance(candidates, Sequence) and not isinstance(candidates, str):
        stages = [_of_one_name(stage) for stage in candidates]
        labels = _labels(stages)
        repeated_labels = {label for label in labels if labels.count(label) > 1}
        for label in sorted(repeated_labels):
            faults.add("candidates", f"{label} is there twice", hint="Leave one of them.")
        stage_by_label = dict(zip(labels, stages, strict=True))
    else:
        stage_by_label = {}
    if not stage_by_label:
        faults.add("candidates", "there are none", hint="Give a dict or a list of stages.")
    faults.raise_if_any()
    return stage_by_label


def _of_one_name(stage: Any) -> Any:
    """Return a step for a list of one name as a step for that name."""
    if isinstance(stage, Categorical) and len(stage.provides) == 1 and stage.name != stage.variable:
        return replace(stage, name=stage.variable)
    return stage


def _labels(stages: Sequence[Any]) -> list[str]:
    """Return the options in which candidates differ; where they do not, those that were given."""
    options = [_options(stage) for stage in stages]
    names = dict.fromkeys(option for item in options for option in item)
    apart = [name for name in names if len(_settings(name, stages, options)) > 1]
    labels = [_label(item, [name for name in apart if name in item]) for item in options]
    if "" not in labels and len(set(labels)) == len(labels):
        return labels
    return [_label(item, _given(stage)) for stage, item in zip(stages, options, strict=True)]


def _settings(
    name: str, stages: Sequence[Any], options: Sequence[dict[str, str]]
) -> set[str | None]:
    """Return the values of an option; None: the default of the candidate's kind."""
    values: set[str | None] = set()
    for stage, item in zip(stages, options, strict=True):
        if name in item:
            field = type(stage).__dataclass_fields__.get(name) if name != KIND else None
            is_default = field is not None and item[name] == _text(field.default)
            values.add(None if is_default else item[name])
    return values


def _options(stage: Any) -> dict[str, str]:
    """Return the kind of a candidate and its options, the model first."""
    if not isinstance(stage, Candidate):
        return {KIND: repr(stage)}
    names = sorted((item.name for item in fields(stage) if item.name != "name"), key=_is_no_model)
    return {KIND: type(stage).__name__, **{name: _text(getattr(stage, name)) for name in names}}


def _given(stage: Any) -> list[str]:
    """Return the model of a candidate and the options that are not their default."""
    if not isinstance(stage, Candidate):
        return [KIND]
    names = [
        item.name
        for item in fields(stage)
        if item.name not in ("name", "relationship", "head")
        and (not _is_no_model(item.name) or getattr(stage, item.name) != item.default)
    ]
    return sorted(names, key=_is_no_model)


def _is_no_model(option: str) -> bool:
    return option not in ("model", "method")


def _label(settings: Mapping[str, str], options: Sequence[str]) -> str:
    return ", ".join(
        settings[name] if name == KIND else f"{name}={settings[name]}" for name in options
    )


def check_options(
    named: Mapping[str, Any], name: str, folds: Any, draws: Any, smallest: Any
) -> None:
    """Note options of a cross-validation that cannot work."""
    faults = Faults("cross-validation")
    if not isinstance(name, str):
        faults.add("name", f"is {name!r}", hint="Give the name of one variable.")
    for label, stage in named.items():
        if not isinstance(stage, Candidate):
            hint = "Give Categorical, Relation or Continuous stages."
            faults.add(label, f"{stage!r} is not a candidate", hint=hint)
        elif isinstance(name, str) and stage.name != name:
            columns = ", ".join(map(repr, stage.provides))
            hint = "Compare candidates for one variable."
            faults.add(label, f"makes {columns}, not {name!r}", hint=hint)
    candidates = [stage for stage in named.values() if isinstance(stage, Candidate)]
    if len({isinstance(stage, Continuous) for stage in candidates}) > 1:
        what = "are Continuous and others: their scores cannot be compared"
        faults.add("candidates", what, hint="Compare them in two calls.")
    forms = {stage.by_household for stage in candidates if isinstance(stage, Continuous)}
    if len({None if form in GIVEN_MEMBERS else form for form in forms}) > 1:
        what = "differ in by_household: they predict different values"
        faults.add("candidates", what, hint="Compare them in two calls.")
    values = {"folds": folds, "draws": draws, "smallest_probability": smallest}
    check(faults, PARAMETERS, values)
    faults.raise_if_any()


def steps_before(survey: Any, stages: Any) -> list[Any]:
    """A structure of all predictors that are named."""
    faults = Faults("cross-validation")
    names: list[str] = []
    for stage in stages:
        if isinstance(stage.predictors, str) and stage.predictors in ("all", "basic"):
            what = f"predictors are {stage.predictors!r}, but no steps come before"
            hint = "Name the predictors, or give before: the steps of the recipe up to here."
            faults.add(stage.label, what, hint=hint)
            continue
        names += [name for term in resolve_terms(stage.predictors, (), ()) for name in term]
        if isinstance(stage, Relation):
            names.append(stage.relationship)
        if stage.by is not None:
            names.append(stage.by)
        for rule in stage.structural_zeros:
            names += list(rule["when"])
    faults.raise_if_any()
    roles = getattr(survey, "roles", None)
    fixed = (getattr(roles, "strata", None), getattr(roles, "household_size", None) or SIZE_NAME)
    return [Structure([name for name in dict.fromkeys(names) if name not in fixed])]
