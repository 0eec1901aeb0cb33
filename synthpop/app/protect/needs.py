"""Which results the pages of the journey show, and what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.app.jobs import Need
from synthpop.app.protect.session import file_stamp, steps_stamp

if TYPE_CHECKING:
    from synthpop.app.project import Project
    from synthpop.app.view import View


def has_file(project: Project) -> bool:
    """Whether a file is open."""
    return project.protect.source is not None


def has_keys(project: Project) -> bool:
    """Whether there is something to measure."""
    return has_file(project) and bool(project.protect.roles.keys)


def preview(view: View) -> list[Need]:
    """Return the need for the first rows."""
    source = view.project.protect.source
    return [] if source is None else [Need("protect.preview", source.model_dump_json())]


def columns(view: View) -> list[Need]:
    """Return the need for the columns of the file."""
    if not has_file(view.project):
        return []
    return [Need("protect.columns", file_stamp(view.project.protect))]


def suggestions(view: View) -> list[Need]:
    """Return the need for suggested roles."""
    if not has_file(view.project):
        return []
    return [Need("protect.suggest", file_stamp(view.project.protect))]


def standing(view: View) -> list[Need]:
    """Return the needs of every page: risk at once, then all of risk and utility."""
    if not has_keys(view.project):
        return []
    state = view.project.protect
    stamp = steps_stamp(state)
    limits = state.model_dump_json(include={"limits", "k"})
    return [Need("protect.quick_risk", stamp + limits), Need("protect.measure", stamp)]


def names(view: View) -> list[str]:
    """Return the names of the columns; empty while the file is read."""
    described = view.value("protect.columns")
    return [] if described is None else [column["name"] for column in described["columns"]]
