"""Totals of the parts of a sum, survey and population."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import percent_axis, side_legend, wrapped
from synthpop.microdata.pictures import HALF, POPULATION, SAMPLE, new_figure, styled


@styled
def part_totals(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the shares of the parts of one total (table ``components`` without the total's row)."""
    total = str(table["total"].iloc[0])
    figure = new_figure(HALF, 1.2 + 0.42 * len(table))
    axes = figure.subplots()
    at = np.arange(len(table))
    axes.barh(at - 0.19, table["sample_share"], height=0.36, color=SAMPLE)
    axes.barh(at + 0.19, table["population_share"], height=0.36, color=POPULATION)
    axes.axvline(0, color="#9aa5b1", linewidth=0.8)
    axes.set_yticks(at, [wrapped(names.short(part), 30) for part in table["part"]])
    axes.invert_yaxis()
    axes.grid(axis="x")
    percent_axis(axes.xaxis)
    axes.set_xlabel(wrapped(f"Share of the sum of absolute values of {total}", 60))
    side_legend(figure)
    return figure
