"""What to do about a comparison that is far off, from the recipe of the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synthpop.microdata.language import gettext, said

HOUSEHOLD_KINDS = ("members", "household counts", "household sums", "age gaps")


def advice(row: Mapping[Any, Any], recipe: Sequence[Mapping[str, Any]]) -> str:
    """Return one sentence that says what to change; for a table without a recipe a general one.

    Parameters
    ----------
    row : mapping
        A row of `FitReport.ranking`.
    recipe : sequence of dict
        Stages as the manifest has them.

    Examples
    --------
    >>> row = {"kind": "conditional", "variable": "job", "given": "sex"}
    >>> recipe = [{"type": "structure", "variables": ["age", "sex"]}]
    >>> advice(row, [*recipe, {"type": "categorical", "name": "job", "predictors": ["age"]}])
    'Give job the predictor sex.'
    """
    kind, variable, given = row["kind"], str(row["variable"]), str(row["given"])
    places = {name: k for k, stage in enumerate(recipe) for name in _made(stage)}
    if kind == "components":
        return said(
            "Split {variable} with a components stage, so that its parts add up.", variable=variable
        )
    if kind == "age gaps":
        return gettext("Put the ages of all members into the structure.")
    if kind == "households":
        return gettext("Check strata and household size of the survey, and the scale.")
    if kind in HOUSEHOLD_KINDS:
        return _of_household(variable, recipe, places)
    if given:
        return _of_pair(variable, given.removesuffix(" in classes"), recipe, places)
    return said("Look at the fallbacks and predictors of {variable}.", variable=variable)


def _made(stage: Mapping[str, Any]) -> tuple[str, ...]:
    kind = stage.get("type")
    if kind == "structure":
        return tuple(stage.get("variables", ()))
    if kind == "components":
        return tuple(stage.get("parts", ()))
    name = stage.get("name", ())
    return (name,) if isinstance(name, str) else tuple(name)


def _of_household(
    variable: str, recipe: Sequence[Mapping[str, Any]], places: Mapping[str, int]
) -> str:
    if not recipe:
        return said(
            "Draw {variable} of members given the other members of the household.",
            variable=variable,
        )
    if variable not in places or recipe[places[variable]].get("type") == "structure":
        return said(
            "Keep {variable} in the structure, together with relation and age.", variable=variable
        )
    stage = recipe[places[variable]]
    if not stage.get("by_household"):
        return said(
            "Draw {variable} of members given those before them (by_household).", variable=variable
        )
    return said(
        "Give {variable} the relation and the household size as predictors.", variable=variable
    )


def _of_pair(
    variable: str, given: str, recipe: Sequence[Mapping[str, Any]], places: Mapping[str, int]
) -> str:
    known = [name for name in (variable, given) if name in places]
    if len(known) < 2:
        return said("Let the model of {variable} know {given}.", variable=variable, given=given)
    later, earlier = sorted((variable, given), key=lambda name: -places[name])
    stage = recipe[places[later]]
    predictors = stage.get("predictors")
    if stage.get("type") == "derive":
        return said("{later} is derived: look at what it is derived from.", later=later)
    if stage.get("type") == "components":
        return said(
            "Add {earlier} to the variables that {later} is split by.", earlier=earlier, later=later
        )
    if isinstance(predictors, (list, tuple)) and earlier not in predictors:
        return said("Give {later} the predictor {earlier}.", later=later, earlier=earlier)
    if predictors == "basic":
        return said("Give {later} the predictor {earlier}.", later=later, earlier=earlier)
    return said(
        "Give {later} an interaction with {earlier}, or a second pass (revisit).",
        later=later,
        earlier=earlier,
    )
