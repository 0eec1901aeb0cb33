"""What the journey consists of: pages, jobs and actions."""

from __future__ import annotations

from synthpop.app.create import guide, needs, population, recipe_page, survey, totals
from synthpop.app.create.jobs import JOBS
from synthpop.app.guide import GUIDE, guided
from synthpop.app.jobs import Journey, Page

PAGES: dict[str, Page] = {
    "survey": Page("Survey", survey.render, needs.survey),
    "totals": Page("Totals", totals.render, ready=needs.has_survey),
    "recipe": Page("Recipe", recipe_page.render, needs.recipe, needs.has_survey),
    "population": Page("Population", population.render, needs.population, needs.has_recipe),
    "risk": Page("Risk", population.render_risk, needs.intruders, needs.has_recipe),
    "release": Page("Release", population.render_out, ready=needs.has_recipe),
}
JOURNEY = Journey(
    title="Create a population",
    text="From a survey to a synthetic population of households and persons: recipe, known "
    "totals, fit and risk.",
    pages=PAGES
    | {GUIDE: guided("A teaching population in five questions", guide.QUESTIONS, PAGES)},
    jobs=JOBS,
    actions={
        "run": population.run,
        "attack": population.attack,
        "stage": recipe_page.set_stage,
        "rules": recipe_page.set_rules,
        "intruder": population.set_intruder,
    },
)
