"""The state of the journey "keep a ledger" and its commands: pure functions."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from synthpop.app.state import ColumnRoles, Command, Source
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.messages.errors import InputError

Kind = Literal["protected", "synthetic"]
Role = Literal["", "keys", "sensitive", "household"]


class LedgerRoles(ColumnRoles):
    """What an intruder knows (keys) and looks for (sensitive)."""

    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    household: str | None = None


class LedgerState(Table):
    """The register, the file that is to go out, and what an intruder is thought to know."""

    folder: str = ""  # of the register, outside of the project: it outlives it
    release: Source | None = None
    kind: Kind = "protected"
    roles: LedgerRoles = LedgerRoles()
    k: int = Field(default=3, ge=2)
    wave: str = ""
    recorded: int = 0  # releases that this project has recorded
    last: str = ""  # stored name of the file that was recorded last


def choose_folder(state: LedgerState, folder: str) -> LedgerState:
    """Take a folder as the register; it is made when the first release is recorded."""
    path = Path(folder.strip()).expanduser()
    if folder.strip() and not path.is_absolute():
        raise InputError.of("project", "ledger", "is no whole path", "Begin it with / or ~.")
    return state.model_copy(update={"folder": str(path) if folder.strip() else ""})


def open_release(state: LedgerState, name: str, file: str) -> LedgerState:
    """Take a file as the one that is to go out; the roles of another one are forgotten."""
    update = {"release": Source(name=name, file=file), "roles": LedgerRoles()}
    return state.model_copy(update=update)


def set_kind(state: LedgerState, kind: Kind) -> LedgerState:
    """Say whether records stand for persons of the survey or are synthetic."""
    return state.model_copy(update={"kind": kind})


def set_role(state: LedgerState, column: str, role: Role) -> LedgerState:
    """Give a column a role; it loses the one it had."""
    return set_roles(state, {column: role})


def set_roles(state: LedgerState, roles: dict[str, Role]) -> LedgerState:
    """Give several columns their roles."""
    return state.model_copy(update={"roles": state.roles.with_roles(roles)})


def set_question(state: LedgerState, k: int | None = None, wave: str | None = None) -> LedgerState:
    """Choose how many records must share their keys, and the time to which the file refers."""
    changes = {"k": k, "wave": wave}
    update = {name: value for name, value in changes.items() if value is not None}
    return LedgerState(**(state.model_dump() | update))


def count_recorded(state: LedgerState) -> LedgerState:
    """Say that the file is in the register, which is read again."""
    last = "" if state.release is None else state.release.file
    return state.model_copy(update={"recorded": state.recorded + 1, "last": last})


COMMANDS: dict[str, Command] = {
    command.__name__: command
    for command in (
        choose_folder, open_release, set_kind, set_role, set_roles, set_question, count_recorded,
    )
}  # fmt: skip
