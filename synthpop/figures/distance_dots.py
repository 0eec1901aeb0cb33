"""Distances of all variables beside their yardsticks: chance, and the survey's own error."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import percent_axis, wrapped
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import LINE, POPULATION, SOFT, WIDE, new_figure, styled


@styled
def distance_dots(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw distances over all persons, total variation left, Kolmogorov-Smirnov right."""
    groups = [(title, table[table["measure"] == measure]) for measure, title in (
        ("tvd", message("Categorical variables: total variation")),
        ("ks", message("Numbers: Kolmogorov-Smirnov")),
    )]  # fmt: skip
    groups = [(title, rows) for title, rows in groups if len(rows)]
    figure = new_figure(WIDE, 1.4 + 0.3 * max(len(rows) for _, rows in groups))
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for axes, (title, rows) in zip(panels, groups, strict=True):
        at = np.arange(len(rows))
        sampling, simulation = (rows[f"expected_{k}_error"] for k in ("sampling", "simulation"))
        axes.barh(at, sampling, height=0.62, color="#e8ebef")
        axes.vlines(simulation, at - 0.31, at + 0.31, color=SOFT, linewidth=1.4)
        axes.hlines(at, 0, rows["value"], color=LINE, linewidth=1.2)
        axes.scatter(rows["value"], at, s=34, color=POPULATION, zorder=4)
        axes.set_yticks(at, [wrapped(names.short(name), 28) for name in rows["variable"]])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set_title(title)
        axes.grid(axis="x")
        percent_axis(axes.xaxis)
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Line2D([], [], linestyle="", marker="o", markersize=6, color=POPULATION,
               label=message("Population against survey")),
        Line2D([], [], linestyle="", marker="|", markersize=10, markeredgewidth=1.6, color=SOFT,
               label=message("Expected of independent draws")),
        Patch(facecolor="#e8ebef", label=message("Sampling error of the survey itself")),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
