"""The page a director reads: key figures and plain sentences."""

from __future__ import annotations

from typing import Any

from synthpop.evaluation.result import FitReport
from synthpop.microdata.text import count, number
from synthpop.population.population import Population
from synthpop.report.stored import SurveySize


def key_figures(fit: FitReport, population: Any) -> list[dict[str, str]]:
    """Return the numbers at the head of the report."""
    cards = [_card("Persons", count(fit.n_population), f"from {count(fit.n_sample)} in the survey")]
    if isinstance(population, Population) and fit.size is not None:
        per_household = fit.n_population / max(population.n_households, 1)
        cards.append(
            _card("Households", count(population.n_households),
                  f"{number(per_household)} persons on average")
        )  # fmt: skip
    return cards


def _card(title: str, value: str, note: str) -> dict[str, str]:
    return {"title": title, "value": value, "note": note}


def what_it_is(fit: FitReport, survey: SurveySize, population: Any) -> str:
    """Return what the population was made from, in one sentence or two."""
    stands = count(survey.total_weight)
    made, source = f"{count(fit.n_population)} synthetic persons", f"{count(fit.n_sample)} persons"
    if fit.size is not None and isinstance(population, Population):
        made += f" in {count(population.n_households)} households"
        source += f" in {count(survey.n_households)} households"
    text = (
        f"The population has {made}. It was made from a survey of {source} that stands for "
        f"{stands} persons."
    )
    if isinstance(population, Population) and population.manifest.identity.replicate is not None:
        replicate = population.manifest.identity.replicate
        text += f" It is replicate {replicate['number']}: {replicate['note']}."
    return text
