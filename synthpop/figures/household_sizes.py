"""Households by size and by stratum: estimated from the survey, and in the population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import number_axis, side_legend, wrapped
from synthpop.microdata.pictures import POPULATION, SAMPLE, WIDE, new_figure, styled

MOST_STRATA = 40


@styled
def household_sizes(
    by_size: pd.DataFrame, by_stratum: pd.DataFrame, strata: str | None, names: FigureNames
) -> Figure:
    """Draw the tables ``households_by_size`` and, where there are strata, ``..._by_stratum``."""
    by_stratum = by_stratum.head(MOST_STRATA)
    n_panels = 2 if strata is not None else 1
    rows = max(len(by_size), len(by_stratum) if n_panels == 2 else 0)
    figure = new_figure(WIDE, 1.3 + 0.34 * rows)
    panels = figure.subplots(1, n_panels, squeeze=False)[0]
    _bars(panels[0], by_size, "size", "Household size, persons")
    if strata is not None:
        _bars(panels[1], by_stratum, "stratum", names.short(strata))
    side_legend(figure, ("Survey, estimated number", "Population"))
    return figure


def _bars(axes: Any, table: pd.DataFrame, column: str, title: str) -> None:
    at = np.arange(len(table))
    axes.barh(at - 0.19, table["estimate"], height=0.36, color=SAMPLE)
    axes.barh(at + 0.19, table["population"], height=0.36, color=POPULATION)
    axes.set_yticks(at, [wrapped(level) for level in table[column]])
    axes.invert_yaxis()
    axes.set_title(title)
    axes.set_xlabel("Households")
    axes.grid(axis="x")
    number_axis(axes.xaxis, 5)
