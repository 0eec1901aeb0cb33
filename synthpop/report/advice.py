"""What to do about a comparison that is far off, from the recipe of the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message

HOUSEHOLD_KINDS = ("members", "household counts", "household sums")


def advice(row: Mapping[Any, Any], recipe: Sequence[Mapping[str, Any]]) -> str:
    """Return what to change, for a row of `FitReport.ranking` and the recipe of the manifest."""
    kind, variable, condition = row["kind"], str(row["variable"]), str(row["given"])
    if kind == "components":
        return message(
            "Split {variable} with a components stage, so that its parts add up.", variable=variable
        )
    if kind == "households":
        return gettext("Check strata and household size of the survey, and the scale.")
    steps = _Steps(recipe)
    stage = steps.of(variable)
    if kind == "age gaps" and (stage is None or stage["type"] != "structure"):
        return gettext("Put the ages of all members into the structure.")
    if kind == "age gaps":
        return _of_structure(variable, steps)
    if kind in HOUSEHOLD_KINDS:
        return _of_household(variable, steps)
    if condition:
        return _of_pair(variable, condition.removesuffix(" in classes"), steps)
    return message("Look at the fallbacks and predictors of {variable}.", variable=variable)


class _Steps:
    """Which step of a recipe makes a variable, through those that are derived from others."""

    def __init__(self, recipe: Sequence[Mapping[str, Any]]) -> None:
        self.recipe = recipe
        self.places = {name: k for k, stage in enumerate(recipe) for name in _made(stage)}

    def root(self, variable: str) -> str:
        """Return the variable that is drawn or copied, where one is derived from it."""
        for _ in self.recipe:
            place = self.places.get(variable, -1)
            stage = self.recipe[place] if place >= 0 else {}
            if stage.get("type") != "derive" or not isinstance(stage.get("source"), str):
                return variable
            variable = stage["source"]
        return variable

    def of(self, variable: str) -> Mapping[str, Any] | None:
        """Return the step that draws or copies what a variable is made of."""
        place = self.places.get(self.root(variable))
        return None if place is None else self.recipe[place]


def _made(stage: Mapping[str, Any]) -> tuple[str, ...]:
    kind = stage.get("type")
    if kind == "structure":
        return tuple(stage.get("variables", ()))
    if kind == "components":
        return tuple(stage.get("parts", ()))
    name = stage.get("name", ())
    return listed_names(name)


def _of_structure(variable: str, steps: _Steps) -> str:
    root, stage = steps.root(variable), steps.of(variable) or {}
    if root in (stage.get("jitter") or {}):
        return message(
            "Draw {variable} again within fewer years (jitter of the structure).", variable=root
        )
    return message(
        "{variable} is copied with the household: look at strata, weights and pooling of the "
        "structure.",
        variable=root,
    )


def _of_household(variable: str, steps: _Steps) -> str:
    stage = steps.of(variable)
    if not steps.recipe:
        return message(
            "Draw {variable} of members given the other members of the household.",
            variable=variable,
        )
    if stage is None:
        return message(
            "Keep {variable} in the structure, together with relation and age.", variable=variable
        )
    if stage["type"] == "structure":
        return _of_structure(variable, steps)
    if stage["type"] == "derive":
        return message("{later} is derived: look at what it is derived from.", later=variable)
    if not stage.get("by_household"):
        return message(
            "Draw {variable} of members given those before them (by_household).", variable=variable
        )
    return message(
        "Give {variable} the relation and the household size as predictors.", variable=variable
    )


def _of_pair(variable: str, predictor: str, steps: _Steps) -> str:
    roots = {name: steps.root(name) for name in (variable, predictor)}
    if any(root not in steps.places for root in roots.values()):
        return message(
            "Let the model of {variable} know {given}.", variable=variable, given=predictor
        )
    later, earlier = sorted((variable, predictor), key=lambda name: -steps.places[roots[name]])
    stage = steps.recipe[steps.places[roots[later]]]
    if stage["type"] == "derive" or roots[later] == roots[earlier]:
        return message("{later} is derived: look at what it is derived from.", later=later)
    if stage["type"] == "structure":
        return _of_structure(later, steps)
    if stage["type"] == "components":
        return message(
            "Add {earlier} to the variables that {later} is split by.", earlier=earlier, later=later
        )
    predictors = stage.get("predictors")
    named = predictors if isinstance(predictors, (list, tuple)) else ()
    if earlier not in named and roots[earlier] in {steps.root(name) for name in named}:
        return message(
            "Give {later} finer classes of {earlier}.", later=later, earlier=roots[earlier]
        )
    basic = steps.recipe[steps.places[roots[earlier]]]["type"] == "structure"
    if (named and earlier not in named) or (predictors == "basic" and not basic):
        return message("Give {later} the predictor {earlier}.", later=later, earlier=earlier)
    return message(
        "Give {later} an interaction with {earlier}, or a second pass (revisit).",
        later=later,
        earlier=earlier,
    )
