"""A teaching population in five questions."""

from __future__ import annotations

from synthpop.app.create.recipe import recipe_stamp
from synthpop.app.guide import GuideQuestion
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.text import join, number


def _survey(view: View) -> str:
    source = view.project.create.survey
    return source.name if source else ""


def _recipe(view: View) -> str:
    n = len(view.project.create.stages)
    return view.t("{n} stages", n=n) if n else ""


def _size(view: View) -> str:
    described = view.value("create.run", recipe_stamp(view.project.create))
    scale = view.t("scale {x}", x=number(view.project.create.scale))
    return f"{scale}. {said_here(described['texts'][0])}" if described else ""


QUESTIONS = (
    GuideQuestion(
        "Which survey is the model?",
        "One row per person. Its columns are read, and a first recipe is written: look at the "
        "suggested roles, then take roles and recipe.",
        "survey", _survey,
    ),
    GuideQuestion(
        "Which variables does the population need?",
        "A class needs few: remove the stages of others. Each stage may use what the stages "
        "before it have made.",
        "recipe", _recipe,
    ),
    GuideQuestion(
        "How many persons?",
        "Scale 1 makes as many as the weights say; 0.1 is enough for exercises. The fit says how "
        "near the population is to the survey.",
        "population", _size,
    ),
    GuideQuestion(
        "What would somebody learn about a person of the survey?",
        "Synthetic persons are nobody, yet a model may repeat rare ones: five intruders try.",
        "risk", lambda view: str(join(view.project.create.keys)),
    ),
    GuideQuestion(
        "Which file do the students get?",
        "The population in the format of their program; the run file repeats it.",
        "release", lambda view: "",
    ),
)  # fmt: skip
