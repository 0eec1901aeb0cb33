"""Which results the pages of the journey show, and what they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.app.create.recipe import recipe_stamp
from synthpop.app.jobs import Need

if TYPE_CHECKING:
    from synthpop.app.project import Project
    from synthpop.app.view import View


def has_survey(project: Project) -> bool:
    """Whether a survey is open."""
    return project.create.survey is not None


def has_recipe(project: Project) -> bool:
    """Whether there are stages to run."""
    return has_survey(project) and bool(project.create.stages)


def survey_stamp(view: View) -> str:
    """Return what the columns depend on."""
    return view.project.create.model_dump_json(include={"survey"})


def starter_stamp(view: View) -> str:
    """Return what the suggested recipe depends on."""
    return view.project.create.model_dump_json(include={"survey", "answers"})


def survey(view: View) -> list[Need]:
    """Return the needs of the page of the survey."""
    if not has_survey(view.project):
        return []
    return [*_of_survey(view, "preview", "columns"), Need("create.starter", starter_stamp(view))]


def columns(view: View) -> list[Need]:
    """Return the need for the names of the columns."""
    return _of_survey(view, "columns")


def _of_survey(view: View, *jobs: str) -> list[Need]:
    stamp = survey_stamp(view)
    return [Need(f"create.{job}", stamp) for job in jobs if has_survey(view.project)]


def recipe(view: View) -> list[Need]:
    """Return the needs of the page of the recipe."""
    if not has_recipe(view.project):
        return columns(view)
    return [*columns(view), Need("create.check", recipe_stamp(view.project.create))]


def population(view: View) -> list[Need]:
    """Return the population once the user has asked for it."""
    state = view.project.create
    stamp = recipe_stamp(state)
    if not has_recipe(view.project) or view.choice("create-run") != stamp:
        return []
    return [Need("create.run", stamp)]


def intruders(view: View) -> list[Need]:
    """Return the scenarios once the user has asked for them."""
    stamp = view.project.create.model_dump_json()
    if not has_recipe(view.project) or view.choice("create-scenarios") != stamp:
        return columns(view)
    return [*columns(view), Need("create.scenarios", stamp)]
