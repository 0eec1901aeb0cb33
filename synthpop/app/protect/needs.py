"""Which results the pages of the journey show, and what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.app.jobs import Need
from synthpop.app.protect.session import file_stamp, release_stamp, steps_stamp

if TYPE_CHECKING:
    from synthpop.app.project import Project
    from synthpop.app.view import View


def has_file(project: Project) -> bool:
    """Whether a file is open."""
    return project.protect.source is not None


def has_keys(project: Project) -> bool:
    """Whether there is something to measure."""
    roles = project.protect.roles
    return has_file(project) and bool(roles.keys or roles.numeric)


def columns(view: View) -> list[Need]:
    """Return the need for the columns of the file."""
    if not has_file(view.project):
        return []
    return [Need("protect.columns", file_stamp(view.project.protect))]


def data(view: View) -> list[Need]:
    """Return the needs of the page of the file: the first rows, then all columns."""
    source = view.project.protect.source
    first_rows = [] if source is None else [Need("protect.preview", source.model_dump_json())]
    return [*first_rows, *columns(view)]


def roles(view: View) -> list[Need]:
    """Return the needs of the page of roles: the columns, and a suggested role of each."""
    return [*columns(view), *(Need("protect.suggest", need.stamp) for need in columns(view))]


def release(view: View) -> list[Need]:
    """Return the need of the page of the release: the verdict on the file."""
    if not has_keys(view.project):
        return []
    return [Need("protect.verdict", release_stamp(view.project.protect), kept=True)]


def standing(view: View) -> list[Need]:
    """Return the needs of every page: risk at once, then all of risk and utility."""
    if not has_keys(view.project):
        return []
    state = view.project.protect
    stamp = steps_stamp(state)
    limits = state.model_dump_json(include={"limits", "k"})
    return [
        Need("protect.quick_risk", stamp + limits, kept=True),
        Need("protect.measure", stamp, kept=True),
    ]
