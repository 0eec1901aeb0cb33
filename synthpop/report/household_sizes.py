"""Households by size: the figure of a survey and of a population."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import Picture, bars
from synthpop.microdata.messages.text import count

if TYPE_CHECKING:
    from synthpop.microdata.roles.survey import Survey
    from synthpop.population.population import Population


def draw_survey(survey: Survey) -> Picture:
    """Draw the households of a survey, unweighted."""
    return draw_sizes(*np.unique(survey.household_sizes, return_counts=True))


def draw_population(population: Population) -> Picture | None:
    """Draw the households of a population; None where it has none, or sizes that are text."""
    size = population.roles.size
    if size is None or population.roles.household is None:
        return None
    persons = pd.concat([block[size].value_counts() for block in population.iter_blocks([size])])
    table = persons.groupby(level=0).sum()
    sizes = pd.to_numeric(pd.Series(table.index.astype(str)), errors="coerce").to_numpy()
    if np.isnan(sizes).any():
        return None
    order = np.argsort(sizes)
    return draw_sizes(sizes[order], table.to_numpy()[order] / sizes[order])


def draw_sizes(sizes: np.ndarray, households: np.ndarray) -> Picture:
    """Draw the number of households of each size."""
    names = [count(size) for size in sizes]
    return bars(names, households.tolist(), message("Households by size"), "households")
