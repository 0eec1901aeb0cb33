"""Which results the pages of the journey show, and what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.app.jobs import Need
from synthpop.app.ledger.jobs import stamp_of

if TYPE_CHECKING:
    from synthpop.app.project import Project
    from synthpop.app.view import View


def has_file(project: Project) -> bool:
    """Whether there is a file that is to go out."""
    return project.ledger.release is not None


def has_both(project: Project) -> bool:
    """Whether there are a file and a register to lay it beside."""
    return has_file(project) and bool(project.ledger.folder)


def is_recorded(project: Project) -> bool:
    """Whether the file is in the register."""
    release = project.ledger.release
    return release is not None and project.ledger.last == release.file


def ledger_stamp(project: Project) -> str:
    """Return what the list of releases depends on."""
    return project.ledger.model_dump_json(include={"folder", "recorded"})


def files(view: View) -> list[Need]:
    """Return the need for what went out so far."""
    if not view.project.ledger.folder:
        return []
    return [Need("ledger.releases", ledger_stamp(view.project))]


def roles(view: View) -> list[Need]:
    """Return the needs of the page of roles."""
    if not has_file(view.project):
        return []
    stamp = view.project.ledger.model_dump_json(include={"release"})
    return [Need("ledger.columns", stamp), Need("ledger.suggest", stamp)]


def verdict(view: View) -> list[Need]:
    """Return the needs of the page of the verdict."""
    if not has_both(view.project):
        return []
    if is_recorded(view.project):
        return files(view)
    return [Need("ledger.check", stamp_of(view.project.ledger)), *files(view)]
