"""Which results the pages of the journey show, and what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.app.jobs import Need
from synthpop.app.judge.jobs import stamp_of

if TYPE_CHECKING:
    from synthpop.app.project import Project
    from synthpop.app.view import View


def has_files(project: Project) -> bool:
    """Whether there is something to compare."""
    return project.judge.original is not None and bool(project.judge.releases)


def has_keys(project: Project) -> bool:
    """Whether an intruder knows something."""
    roles = project.judge.roles
    return has_files(project) and bool(roles.keys or roles.numeric)


def is_attacked(project: Project) -> bool:
    """Whether releases are attacked as synthetic files are: by keys."""
    state = project.judge
    return bool(state.roles.keys) and any(one.kind != "perturbed" for one in state.releases)


def files_stamp(project: Project) -> str:
    """Return what the columns depend on."""
    return project.judge.model_dump_json(include={"original", "releases"})


def columns(view: View) -> list[Need]:
    """Return the need for the columns of all files."""
    if view.project.judge.original is None:
        return []
    return [Need("judge.columns", files_stamp(view.project))]


def roles(view: View) -> list[Need]:
    """Return the needs of the page of roles."""
    if view.project.judge.original is None:
        return []
    stamp = view.project.judge.model_dump_json(include={"original"})
    return [*columns(view), Need("judge.suggest", stamp)]


def judgement(view: View) -> list[Need]:
    """Return the needs of the page of the judgement: nothing before the user asks for it."""
    state = view.project.judge
    stamp = stamp_of(state)
    if not has_keys(view.project) or view.choice("judge-run") != stamp:
        return []
    needs = [Need("judge.compare", stamp)]
    if is_attacked(view.project):
        needs.append(Need("judge.attack", stamp))
    return needs
