"""The page a director reads: key figures and plain sentences."""

from __future__ import annotations

from typing import Any

from synthpop.evaluation.result import FitReport
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, number
from synthpop.microdata.pages.page_facts import card
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
    note = message("from {n} in the survey", n=count(fit.n_sample))
    cards = [card("Persons", count(fit.n_population), note)]
    if isinstance(population, Population) and fit.size is not None:
        per_household = fit.n_population / max(population.n_households, 1)
        note = message("{n} persons on average", n=number(per_household))
        cards.append(card("Households", count(population.n_households), note))
    return cards


def what_it_is(fit: FitReport, survey: SurveySize, population: Any) -> str:
    """Return what the population was made from, in one sentence or two."""
    numbers = {"persons": fit.n_population, "sample": fit.n_sample, "total": survey.total_weight}
    known = population if isinstance(population, Population) else None
    sentence = PERSONS_ONLY
    if fit.size is not None and known is not None:
        numbers |= {"households": known.n_households, "sample_households": survey.n_households}
        sentence = IN_HOUSEHOLDS
    text = message(sentence, **{name: count(value) for name, value in numbers.items()})
    replicate = None if known is None else known.manifest.identity.replicate
    if replicate is not None:
        text += " " + message(
            "It is replicate {number}: {note}.", number=replicate["number"], note=replicate["note"]
        )
    return text
