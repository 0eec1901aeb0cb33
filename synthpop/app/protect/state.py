"""The state of the journey "protect a file" and its commands: pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from synthpop.app.state import (
    ColumnRoles,
    Command,
    Source,
    opened,
    with_meaning,
    with_reading,
    with_type,
)
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.messages.errors import Faults, InputError

Role = Literal[
    "", "keys", "numeric", "weights", "household", "sensitive", "strata", "pram",
    "household_variables", "identifiers",
]  # fmt: skip


class FileRoles(ColumnRoles):
    """Arguments of ``ProtectionSession``, and direct identifiers, which never leave the office."""

    keys: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    weights: str | None = None
    household: str | None = None
    strata: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    pram: tuple[str, ...] = ()
    household_variables: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``ProtectionSession``."""
        return {
            role: list(value) if isinstance(value, tuple) else value
            for role, value in self
            if value and role != "identifiers"
        }


class AppliedStep(Table):
    """A step of the session: verb, arguments as a session saves them, its summary by language."""

    verb: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    summaries: dict[str, str] = Field(default_factory=dict)


class Subset(Table):
    """Records to work on: those with one of these values (as text), or numbers from low to high."""

    column: str
    values: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


class Override(Table):
    """Who releases a file against its verdict, and why; it holds for this state of the file."""

    name: str
    reason: str
    verdict: str  # what spoke against it, as a sentence
    stamp: str  # of the roles and steps it was decided for


class ProtectState(Table):
    """Everything that the journey needs to be repeated."""

    source: Source | None = None
    subset: tuple[Subset, ...] = ()
    sample: int | None = Field(default=None, ge=1)  # so many records, at random
    roles: FileRoles = FileRoles()
    steps: tuple[AppliedStep, ...] = ()
    position: int = Field(default=0, ge=0)
    limits: dict[str, float | None] = Field(default_factory=dict)
    k: int = Field(default=3, ge=2)
    override: Override | None = None
    persons: ProtectState | None = None  # waits while the work is on its household file

    @property
    def active(self) -> tuple[AppliedStep, ...]:
        """Steps that are in effect."""
        return self.steps[: self.position]

    def anew(self, **changes: Any) -> ProtectState:
        """Return the changed state without steps, which were made for the former one."""
        return self.model_copy(update={**changes, "steps": (), "position": 0})


def open_file(state: ProtectState, name: str, file: str) -> ProtectState:
    """Start with a file; roles and steps of another file are forgotten."""
    return ProtectState(source=Source(name=name, file=file), k=state.k, limits=state.limits)


def _reread(state: ProtectState, change: Callable[..., Source], *arguments: Any) -> ProtectState:
    """Read the file in another way."""
    source = change(opened(state.source, "file"), *arguments)
    source.reading()
    return state.anew(source=source)


def set_reading(state: ProtectState, **options: str) -> ProtectState:
    """Change how the file is read."""
    return _reread(state, with_reading, options)


def set_type(
    state: ProtectState, column: str, kind: Literal["", "number", "text", "category"]
) -> ProtectState:
    """Read a column as number, text or category."""
    return _reread(state, with_type, column, kind)


def set_meaning(state: ProtectState, column: str, entry: dict[str, Any]) -> ProtectState:
    """Change the label, the value labels or the missing codes of a column."""
    return _reread(state, with_meaning, column, entry)


def set_subset(
    state: ProtectState,
    column: str,
    values: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
) -> ProtectState:
    """Keep the records with these values of a column, or from low to high; nothing: keep all."""
    other_conditions = tuple(known for known in state.subset if known.column != column)
    condition = Subset(column=column, values=values, low=low, high=high)
    new = other_conditions if condition == Subset(column=column) else (*other_conditions, condition)
    return state.anew(subset=new)


def set_sample(state: ProtectState, n: int | None) -> ProtectState:
    """Random subsample size, drawn at random; None: on all."""
    values = state.model_dump() | {"sample": n, "steps": (), "position": 0}
    return ProtectState(**values)


def set_role(state: ProtectState, column: str, role: Role) -> ProtectState:
    """Give a column a role; it loses the one it had, and steps are undone for good."""
    return set_roles(state, {column: role})


def set_roles(state: ProtectState, roles: dict[str, Role]) -> ProtectState:
    """Give several columns their roles."""
    return state.anew(roles=state.roles.with_roles(roles))


def add_step(
    state: ProtectState,
    verb: str,
    parameters: dict[str, Any],
    summaries: dict[str, str] | None = None,
) -> ProtectState:
    """Add a step behind those in effect; undone steps are forgotten."""
    step = AppliedStep(verb=verb, parameters=parameters, summaries=summaries or {})
    return state.model_copy(update={"steps": (*state.active, step), "position": state.position + 1})


def take_steps(state: ProtectState, steps: list[dict[str, Any]]) -> ProtectState:
    """Put a plan of steps in the place of those behind the current position."""
    records = tuple(AppliedStep(**step) for step in steps)
    position = state.position + len(records)
    return state.model_copy(update={"steps": (*state.active, *records), "position": position})


def go_to(state: ProtectState, position: int) -> ProtectState:
    """Go to the state after so many steps."""
    if not 0 <= position <= len(state.steps):
        raise InputError.of("project", "step", f"{position} is none of 0 to {len(state.steps)}")
    return state.model_copy(update={"position": position})


def undo(state: ProtectState) -> ProtectState:
    """Go one step back."""
    return go_to(state, max(0, state.position - 1))


def redo(state: ProtectState) -> ProtectState:
    """Repeat the step that was undone last."""
    return go_to(state, min(len(state.steps), state.position + 1))


def split_households(
    state: ProtectState, file: str, name: str, columns: tuple[str, ...]
) -> ProtectState:
    """Go to the household file; the file of persons waits, with its steps."""
    if state.persons is not None or state.roles.household is None:
        raise InputError.of(
            "project", "household file", "is open already, or no column is the household"
        )
    shared = [column for column in columns if column != state.roles.household]
    values: dict[str, Any] = {
        role: tuple(column for column in value if column in shared)
        if isinstance(value, tuple)
        else (value if value in shared else None)
        for role, value in state.roles
    }
    return ProtectState(
        source=Source(name=name, file=file), roles=FileRoles(**values), limits=state.limits,
        k=state.k, persons=state,
    )  # fmt: skip


def leave_households(state: ProtectState) -> ProtectState:
    """Go back to the file of persons as it was."""
    if state.persons is None:
        raise InputError.of("project", "household file", "is not open")
    return state.persons


def merge_households(state: ProtectState, step: dict[str, Any]) -> ProtectState:
    """Go back to the file of persons, with the step that merges the protected households."""
    return add_step(leave_households(state), **step)


def set_limit(state: ProtectState, name: str, value: float | None) -> ProtectState:
    """Set what the office accepts; None: no limit."""
    from riskeval.measures.request import Limits

    limits = state.limits | {name: value}
    Limits(**limits)  # type: ignore[arg-type]
    return state.model_copy(update={"limits": limits})


def set_k(state: ProtectState, k: int) -> ProtectState:
    """Choose the number of records that must share a key."""
    if k < 2:
        raise InputError.of("project", "k", f"is {k}", "Give 2 or more.")
    return state.model_copy(update={"k": k})


def override(state: ProtectState, name: str, reason: str, verdict: str, stamp: str) -> ProtectState:
    """Release the file although its verdict says not to; the record of the project keeps it."""
    faults = Faults("release")
    for what, text in (("name", name), ("reason", reason)):
        if not text.strip():
            faults.add(what, "is not given", hint="Write who decides, and why.")
    faults.raise_if_any()
    decided = Override(name=name.strip(), reason=reason.strip(), verdict=verdict, stamp=stamp)
    return state.model_copy(update={"override": decided})


COMMANDS: dict[str, Command] = {
    command.__name__: command
    for command in (
        open_file, set_reading, set_type, set_meaning, set_subset, set_sample, set_role, set_roles,
        add_step, take_steps, go_to, undo, redo, split_households, leave_households,
        merge_households, set_limit, set_k, override,
    )
}  # fmt: skip
