"""The page a director reads: key figures and plain sentences."""

from __future__ import annotations

from typing import Any

from synthpop.evaluation.result import FitReport
from synthpop.microdata.language import said
from synthpop.microdata.page_facts import card
from synthpop.microdata.text import count, number
from synthpop.population.population import Population
from synthpop.report.stored import SurveySize

IN_HOUSEHOLDS = (
    "The population has {persons} synthetic persons in {households} households. It was made from a "
    "survey of {sample} persons in {sample_households} households that stands for {total} persons."
)
PERSONS_ONLY = (
    "The population has {persons} synthetic persons. It was made from a survey of {sample} persons "
    "that stands for {total} persons."
)


def key_figures(fit: FitReport, population: Any) -> list[dict[str, str]]:
    """Return the numbers at the head of the report."""
    cards = [
        card(
            "Persons",
            count(fit.n_population),
            said("from {n} in the survey", n=count(fit.n_sample)),
        )
    ]
    if isinstance(population, Population) and fit.size is not None:
        per_household = fit.n_population / max(population.n_households, 1)
        cards.append(
            card("Households", count(population.n_households),
                  said("{n} persons on average", n=number(per_household)))
        )  # fmt: skip
    return cards


def what_it_is(fit: FitReport, survey: SurveySize, population: Any) -> str:
    """Return what the population was made from, in one sentence or two."""
    values = {
        "persons": count(fit.n_population),
        "sample": count(fit.n_sample),
        "total": count(survey.total_weight),
    }
    if fit.size is not None and isinstance(population, Population):
        values |= {"households": count(population.n_households),
                   "sample_households": count(survey.n_households)}  # fmt: skip
        text = said(IN_HOUSEHOLDS, **values)
    else:
        text = said(PERSONS_ONLY, **values)
    if isinstance(population, Population) and population.manifest.identity.replicate is not None:
        replicate = population.manifest.identity.replicate
        text += f" It is replicate {replicate['number']}: {replicate['note']}."
    return text
