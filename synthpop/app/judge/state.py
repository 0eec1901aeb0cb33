"""The state of the journey "judge a release" and its commands: pure functions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from synthpop.app.state import ColumnRoles, Command, Source, changed_at
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.messages.errors import InputError

Kind = Literal["found", "perturbed", "synthetic"]
Role = Literal["", "keys", "sensitive", "numeric", "weights", "household"]

MOST_RELEASES = 8


class JudgedFile(Table):
    """A release: its data, and whether its records are those of the original.

    "found" from the data, as `compare` does.
    """

    source: Source
    kind: Kind = "found"


class JudgeRoles(ColumnRoles):
    """What an intruder knows (keys) and looks for (sensitive), and what users estimate."""

    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    weights: str | None = None
    household: str | None = None


class JudgeState(Table):
    """The original, the releases, a hold-out, and what an intruder is thought to know."""

    original: Source | None = None
    releases: tuple[JudgedFile, ...] = ()
    holdout: Source | None = None
    roles: JudgeRoles = JudgeRoles()
    seed: int = Field(default=1, ge=0)


def open_original(state: JudgeState, name: str, file: str) -> JudgeState:
    """Take a file as the original; the roles of another one are forgotten."""
    update = {"original": Source(name=name, file=file), "roles": JudgeRoles()}
    return state.model_copy(update=update)


def add_release(state: JudgeState, name: str, file: str) -> JudgeState:
    """Add a release."""
    if len(state.releases) >= MOST_RELEASES:
        raise InputError.of(
            "project", "release", f"there are {MOST_RELEASES} already", "Remove one first."
        )
    new = JudgedFile(source=Source(name=name, file=file))
    return state.model_copy(update={"releases": (*state.releases, new)})


def remove_release(state: JudgeState, place: int) -> JudgeState:
    """Remove a release."""
    return state.model_copy(update={"releases": changed_at(state.releases, place, "release")})


def set_kind(state: JudgeState, place: int, kind: Kind) -> JudgeState:
    """Say whether a release holds records of the original or synthetic ones, or is found to."""
    releases = changed_at(
        state.releases, place, "release", lambda release: release.model_copy(update={"kind": kind})
    )
    return state.model_copy(update={"releases": releases})


def open_holdout(state: JudgeState, name: str, file: str) -> JudgeState:
    """Take a file of persons who were not in the original."""
    return state.model_copy(update={"holdout": Source(name=name, file=file)})


def remove_holdout(state: JudgeState) -> JudgeState:
    """Do without a hold-out."""
    return state.model_copy(update={"holdout": None})


def set_role(state: JudgeState, column: str, role: Role) -> JudgeState:
    """Give a column a role; it loses the one it had."""
    return set_roles(state, {column: role})


def set_roles(state: JudgeState, roles: dict[str, Role]) -> JudgeState:
    """Give several columns their roles."""
    return state.model_copy(update={"roles": state.roles.with_roles(roles)})


def set_seed(state: JudgeState, seed: int) -> JudgeState:
    """Choose the seed of the random draws."""
    return JudgeState(**(state.model_dump() | {"seed": seed}))


COMMANDS: dict[str, Command] = {
    command.__name__: command
    for command in (
        open_original, add_release, remove_release, set_kind, open_holdout, remove_holdout,
        set_role, set_roles, set_seed,
    )
}  # fmt: skip
