"""The household file: taken out of the file of persons, protected by itself, and merged back."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from htmltools import Tag, tags

from synthpop.app.elements import ask, button, command
from synthpop.app.jobs import BackgroundJob, Commands
from synthpop.app.protect.session import original, recorded_step, session_of
from synthpop.app.view import View
from synthpop.app.workspace import Workspace
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Listener

if TYPE_CHECKING:
    from synthpop.app.project import Project

SUFFIX = ".parquet"


def render(view: View) -> Tag | None:
    """Return the way to the household file, or back from it; None without a household role."""
    t, state = view.t, view.project.protect
    if state.persons is not None:
        return tags.section(
            tags.h2(t("Household file")),
            tags.p(t("You work on one row a household.")),
            button(t("Merge into the persons"), ask("protect.merge_households"), kind="first",
                   key="merge-households", disabled=state.position == 0),
            button(t("Back without merging"), command("protect.leave_households"),
                   key="leave-households"),
        )  # fmt: skip
    if state.roles.household is None or not state.roles.keys:
        return None
    return tags.section(
        tags.h2(t("Household file")),
        tags.p(t("Protect what members share in one row a household; all of them get the result."),
               class_="help"),
        button(t("Work on the households"), ask("protect.split_households"),
               key="split-households"),
    )  # fmt: skip


def split(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the variables that members share, one row a household, beside the file of persons."""
    from riskeval.protect import household_file
    from synthpop.microdata.files import write_table

    state = project.protect
    assert state.source is not None
    table = household_file(session_of(workspace, state).data, str(state.roles.household))
    if len(table.columns) < 2:
        faults = Faults("household file")
        faults.add("columns", "no variable has one value in each household")
        faults.raise_if_any()
    name = f"data-{secrets.token_hex(8)}{SUFFIX}"
    write_table(table, workspace.folder / name)
    return {"file": name, "name": f"households of {state.source.name}{SUFFIX}",
            "columns": [str(column) for column in table.columns]}  # fmt: skip


def merge(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Give the members of each household its protected values; returns the step."""
    state = project.protect
    if state.persons is None:
        faults = Faults("household file")
        faults.add("file", "is not open", remedy="Take it out of the file of persons first.")
        faults.raise_if_any()
    assert state.persons is not None
    household = str(state.persons.roles.household)
    before, table = original(workspace, state), session_of(workspace, state).data
    changed = [one for one in table if one != household and not table[one].equals(before[one])]
    persons = session_of(workspace, state.persons)
    result = persons.apply(
        "merge_household_file", households=table[[household, *changed]], household=household
    )
    return recorded_step(persons, result)


def _open(value: Any) -> Commands:
    return [("protect.split_households", value)]


def _add(value: Any) -> Commands:
    return [("protect.merge_households", {"step": value})]


JOBS: dict[str, BackgroundJob] = {
    "split_households": BackgroundJob(split, "Taking out the households", _open),
    "merge_households": BackgroundJob(merge, "Merging the households", _add),
}
