"""Bars of the shares of one variable, survey and population side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import percent_axis, side_legend, wrapped
from synthpop.microdata.pictures import HALF, POPULATION, SAMPLE, new_figure, styled

MOST = 24


@styled
def share_bars(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the rows of one variable of the table ``one_way``; the 24 largest levels at most."""
    name = str(table["variable"].iloc[0])
    if len(table) > MOST:
        table = table.nlargest(MOST, "population")
    figure = new_figure(HALF, 1.1 + 0.36 * len(table))
    axes = figure.subplots()
    at = np.arange(len(table))
    axes.barh(at - 0.19, table["sample"], height=0.36, color=SAMPLE)
    axes.barh(at + 0.19, table["population"], height=0.36, color=POPULATION)
    axes.set_yticks(at, [wrapped(level) for level in table["level"]])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="x")
    percent_axis(axes.xaxis)
    axes.set_xlabel(f"Share of persons by {names.short(name).lower()}" if name in names.labels
                    else f"Share of persons by {name}")  # fmt: skip
    side_legend(figure)
    return figure
