"""Roles of columns: declared once, they fill the arguments of verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riskeval.protection.household.layer import read_households
from riskeval.protection.registry import VERBS
from synthpop.microdata.frame.checks import check_columns, check_names, check_numeric
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import method_type
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.statistics.formula import Allowed, read_formula

KNOWN_OF_HIERARCHIES = ("minimal_generalization", "household_keys")
SUBJECTS = ("keys", "columns", "variables", "column", "formula", "hierarchies")
"""Arguments that name what a verb works on; household variables and sums concern only these."""


@dataclass(frozen=True)
class SessionRoles:
    """Which column plays which part in a session."""

    keys: tuple[str, ...]
    numeric: tuple[str, ...] = ()
    weights: str | None = None
    household: str | None = None
    strata: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    linked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pram: tuple[str, ...] = ()
    household_variables: tuple[str, ...] = ()
    household_keys: tuple[str, ...] = ()
    components: tuple[tuple[str, tuple[str, ...]], ...] = ()
    drop: tuple[str, ...] = ()

    def argument(self, role: str) -> Any:
        """Return a role as the argument of a verb; None where it is empty."""
        value = getattr(self, role)
        if role in ("linked", "components"):
            return {key: list(columns) for key, columns in value} or None
        return (list(value) or None) if isinstance(value, tuple) else value


def fill_from_roles(
    verb: str, values: dict[str, Any], allowed: Sequence[str], roles: SessionRoles
) -> dict[str, Any]:
    """Return the arguments of a verb with those that roles answer."""
    filled = dict(values)
    for name, role in VERBS[verb].roles.items():
        value = roles.argument(role)
        if name in filled or name not in allowed or value is None:
            continue
        subjects = _subjects(filled)
        if name == "household_variables" or (verb, name) == KNOWN_OF_HIERARCHIES:
            value = [one for one in value if one in subjects]
        elif name == "components" and verb != "local_suppression":
            value = {t: p for t, p in value.items() if {t, *p} & {*subjects}}
        if name in ("household", "components") and method_type(filled.get("method")) == "gower":
            continue
        if value:
            filled[name] = value
    return filled


def _subjects(values: Mapping[str, Any]) -> list[str]:
    name = next((subject for subject in SUBJECTS if subject in values), None)
    if name is None:
        return []
    if name == "formula":
        model = read_formula(Faults("formula"), values[name], Allowed(responses=(1, None)))
        return [] if model is None else [factor.column for factor in model.responses]
    return list(listed_names(values[name]))


def pairs(
    value: Mapping[str, str | Sequence[str]] | None,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a mapping of a column to columns as pairs."""
    return tuple((key, listed_names(columns)) for key, columns in (value or {}).items())


def check_roles(faults: Faults, file: Microdata, roles: SessionRoles) -> None:
    """Raise an InputError with everything that is wrong with the roles beside those of the file."""
    frame = file.frame
    check_names(faults, frame)
    for role in ("strata", "pram", "household_variables", "household_keys", "drop"):
        check_columns(faults, frame, dict.fromkeys(getattr(roles, role)), role)
    if roles.weights is None and file.weights is not None:
        faults.add("weights", "are an array", hint="Make them a column of the file.")
    if roles.household is not None:
        declared = roles.household_variables
        read_households(faults, file, declared, declared=declared)
    elif roles.household_variables or roles.household_keys:
        faults.add("household", "is not given", hint="Name the column of household ids.")
    for name in roles.drop:
        if name in (*roles.keys, *roles.numeric):
            hint = "Release it, or leave it out of the keys."
            faults.add("drop", message("{name} is a key", name=repr(name)), hint=hint)
    for name in roles.household_keys:
        if name not in roles.keys:
            faults.add("household_keys", f"{name!r} is not a key")
    for key, columns in roles.linked:
        if key not in roles.keys:
            faults.add("linked", f"{key!r} is not a key")
        check_columns(faults, frame, columns, "linked")
    for total, parts in roles.components:
        check_numeric(faults, frame, [total, *parts], "components")
    faults.raise_if_any()
