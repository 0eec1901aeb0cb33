"""The state of the journey "create a population" and its commands: pure functions."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from synthpop.app.state import Command, Source, changed_at, opened, with_reading
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.messages.errors import InputError

SurveyRole = Literal[
    "", "weight", "household", "household_weight", "household_size", "person", "strata", "psu"
]


class Totals(Table):
    """A table of known totals: its file, and what its column of totals counts."""

    source: Source
    level: Literal["person", "household"] = "person"
    total: str = "total"


class CreateState(Table):
    """The survey, its roles, the recipe (stages and rules of a run file) and known totals."""

    survey: Source | None = None
    # role, "age" or "sex" -> its column, "" where there is none: what the file does not tell
    answers: dict[str, str] = Field(default_factory=dict)
    roles: dict[str, str] = Field(default_factory=dict)
    stages: tuple[dict[str, Any], ...] = ()
    rules: tuple[str, ...] = ()
    totals: tuple[Totals, ...] = ()
    seed: int = Field(default=1, ge=0)
    scale: float = Field(default=1.0, gt=0)
    keys: tuple[str, ...] = ()
    target: str = ""

    def role_of(self, column: str) -> str:
        """Return the role of a column; "" without one."""
        return next((role for role, name in self.roles.items() if name == column), "")


def open_survey(state: CreateState, name: str, file: str) -> CreateState:
    """Start with a survey."""
    return CreateState(survey=Source(name=name, file=file))


def set_reading(state: CreateState, **options: str) -> CreateState:
    """Change how the survey is read; the recipe is made anew."""
    source = with_reading(opened(state.survey, "survey"), options)
    source.reading()
    return CreateState(survey=source, totals=state.totals)


def take_recipe(
    state: CreateState, roles: dict[str, str], stages: list[dict[str, Any]]
) -> CreateState:
    """Take roles and stages, as those that the survey suggests."""
    return state.model_copy(update={"roles": roles, "stages": tuple(stages)})


def answer(state: CreateState, role: str, choice: str) -> CreateState:
    """Say which column has a role, "age" or "sex": "=" and its name, "-" for none, "" for open."""
    answers = {known: name for known, name in state.answers.items() if known != role}
    said = {role: "" if choice == "-" else choice.removeprefix("=")} if choice else {}
    return state.model_copy(update={"answers": answers | said})


def set_role(state: CreateState, column: str, role: SurveyRole) -> CreateState:
    """Give a column of the survey a role; it loses the one it had."""
    roles = {known: name for known, name in state.roles.items() if name != column and known != role}
    return state.model_copy(update={"roles": roles | ({role: column} if role else {})})


def set_stage(state: CreateState, place: int, options: dict[str, Any]) -> CreateState:
    """Change the options of a stage."""
    stages = changed_at(
        state.stages, place, "stage", lambda former: {"type": former["type"], **options}
    )
    return state.model_copy(update={"stages": stages})


def move_stage(state: CreateState, place: int, by: Literal[-1, 1]) -> CreateState:
    """Move a stage before the one above it, or behind the one below it."""
    others = changed_at(state.stages, place, "stage")
    target = place + by
    if not 0 <= target < len(state.stages):
        return state
    stages = (*others[:target], state.stages[place], *others[target:])
    return state.model_copy(update={"stages": stages})


def remove_stage(state: CreateState, place: int) -> CreateState:
    """Remove a stage."""
    return state.model_copy(update={"stages": changed_at(state.stages, place, "stage")})


def add_stage(state: CreateState, kind: str) -> CreateState:
    """Add a stage of a kind behind the others; its options follow."""
    from synthpop.stages.registry import STAGES

    if kind not in STAGES:
        hint = f"There are: {', '.join(STAGES)}."
        raise InputError.of("project", "stage", f"{kind!r} is unknown", hint)
    return state.model_copy(update={"stages": (*state.stages, {"type": kind})})


def set_rules(state: CreateState, text: str) -> CreateState:
    """Change the edit rules, one a line."""
    from synthpop.conditional.rules.parse import parse_rules

    rules = [line.strip() for line in text.splitlines() if line.strip()]
    parse_rules(rules)
    return state.model_copy(update={"rules": tuple(rules)})


def add_totals(state: CreateState, name: str, file: str) -> CreateState:
    """Add a table of known totals."""
    new = Totals(source=Source(name=name, file=file))
    return state.model_copy(update={"totals": (*state.totals, new)})


def set_totals(
    state: CreateState,
    place: int,
    level: Literal["person", "household"] | None = None,
    total: str | None = None,
) -> CreateState:
    """Say what a table of totals counts, and in which column."""
    changes = {k: v for k, v in (("level", level), ("total", total)) if v}
    totals = changed_at(
        state.totals, place, "totals", lambda table: table.model_copy(update=changes)
    )
    return state.model_copy(update={"totals": totals})


def remove_totals(state: CreateState, place: int) -> CreateState:
    """Remove a table of totals."""
    return state.model_copy(update={"totals": changed_at(state.totals, place, "totals")})


def set_run(state: CreateState, seed: int | None = None, scale: float | None = None) -> CreateState:
    """Choose the seed and the size of the population."""
    changes = {k: v for k, v in (("seed", seed), ("scale", scale)) if v is not None}
    return CreateState(**(state.model_dump() | changes))


def set_intruder(
    state: CreateState, keys: tuple[str, ...] | None = None, target: str | None = None
) -> CreateState:
    """Say what the intruder of the scenarios knows and looks for."""
    changes = {k: v for k, v in (("keys", keys), ("target", target)) if v is not None}
    return CreateState(**(state.model_dump() | changes))


COMMANDS: dict[str, Command] = {
    command.__name__: command
    for command in (
        open_survey, set_reading, answer, take_recipe, set_role, set_stage, move_stage,
        remove_stage, add_stage, set_rules, add_totals, set_totals, remove_totals, set_run,
        set_intruder,
    )
}  # fmt: skip
