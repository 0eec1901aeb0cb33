"""The household file: taken out of the file of persons, protected by itself, and merged back."""

from __future__ import annotations

import secrets
from typing import Any

from htmltools import Tag, tags

from synthpop.app.elements import ask, button, command
from synthpop.app.jobs import BackgroundJob, JobRequest
from synthpop.app.protect.session import original, recorded_step, session_of
from synthpop.app.state import opened
from synthpop.app.view import View
from synthpop.microdata.messages.errors import InputError

SUFFIX = ".parquet"


def render(view: View) -> Tag | None:
    """Return the way to the household file, or back from it; None without a household role."""
    t, state = view.t, view.project.protect
    if state.persons is not None:
        return tags.section(
            tags.h2(t("Household file")),
            tags.p(t("You work on one row per household.")),
            button(t("Merge into the persons"), ask("protect.merge_households"), kind="first",
                   key="merge-households", disabled=state.position == 0),
            button(t("Back without merging"), command("protect.leave_households"),
                   key="leave-households"),
        )  # fmt: skip
    if state.roles.household is None or not state.roles.keys:
        return None
    return tags.section(
        tags.h2(t("Household file")),
        tags.p(
            t("Protect what members share in one row per household; all of them get the result."),
            class_="help",
        ),
        button(t("Work on the households"), ask("protect.split_households"),
               key="split-households"),
    )  # fmt: skip


def split(request: JobRequest) -> Any:
    """Write the variables that members share, one row per household, beside the file of persons."""
    from riskeval.protect import household_file
    from synthpop.microdata.formats.files import write_table

    state = request.project.protect
    source = opened(state.source, "file")
    table = household_file(session_of(request.workspace, state).data, str(state.roles.household))
    if len(table.columns) < 2:
        what = "no variable has one value in each household"
        raise InputError.of("household file", "columns", what)
    name = f"data-{secrets.token_hex(8)}{SUFFIX}"
    write_table(table, request.workspace.folder / name)
    return {"file": name, "name": f"households of {source.name}{SUFFIX}",
            "columns": [str(column) for column in table.columns]}  # fmt: skip


def merge(request: JobRequest) -> Any:
    """Give the members of each household its protected values; returns the step."""
    state = request.project.protect
    if state.persons is None:
        hint = "Take it out of the file of persons first."
        raise InputError.of("household file", "file", "is not open", hint)
    household = str(state.persons.roles.household)
    before, table = original(request.workspace, state), session_of(request.workspace, state).data
    changed = [name for name in table if name != household and not table[name].equals(before[name])]
    persons = session_of(request.workspace, state.persons)
    result = persons.apply(
        "merge_household_file", households=table[[household, *changed]], household=household
    )
    return recorded_step(persons, result)


JOBS: dict[str, BackgroundJob] = {
    "split_households": BackgroundJob(
        split, "Taking out the households", lambda file: [("protect.split_households", file)]
    ),
    "merge_households": BackgroundJob(
        merge, "Merging the households", lambda step: [("protect.merge_households", {"step": step})]
    ),
}
