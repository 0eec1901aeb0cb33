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


def survey(view: View) -> list[Need]:
    """Return the needs of the page of the survey."""
    if not has_survey(view.project):
        return []
    stamp = survey_stamp(view)
    return [Need(f"create.{job}", stamp) for job in ("preview", "columns", "starter")]


def columns(view: View) -> list[Need]:
    """Return the need for the names of the columns."""
    if not has_survey(view.project):
        return []
    return [Need("create.columns", survey_stamp(view))]


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


def names(view: View) -> list[str]:
    """Return the names of the columns of the survey."""
    described = view.value("create.columns")
    return [] if described is None else [column["name"] for column in described["columns"]]


def numbers(view: View) -> list[str]:
    """Return the names of the columns that hold numbers."""
    described = view.value("create.columns")
    columns = [] if described is None else described["columns"]
    return [column["name"] for column in columns if column["type"] == "number"]
