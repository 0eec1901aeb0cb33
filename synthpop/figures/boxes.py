"""Box plots by group from weighted quantiles; no single value is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import number_axis, side_legend, wrapped
from synthpop.microdata.messages.pictures import POPULATION, SAMPLE, WIDE, new_figure, styled

MOST = 20


@styled
def boxes(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the rows of one number and one factor of the table ``boxes``.

    The box holds the middle half of the persons, the line in it is the median, the whiskers end at
    the 5 % and 95 % quantiles, the diamond is the mean.
    """
    name, by = str(table["variable"].iloc[0]), str(table["by"].iloc[0])
    levels = list(dict.fromkeys(table["level"]))[:MOST]
    figure = new_figure(WIDE, 1.1 + 0.46 * len(levels))
    axes = figure.subplots()
    for side, colour, shift in (("sample", SAMPLE, -0.19), ("population", POPULATION, 0.19)):
        rows = table[table["side"] == side].set_index("level").reindex(levels)
        at = np.arange(len(levels)) + shift
        axes.hlines(at, rows["p05"], rows["p95"], color=colour, linewidth=1.2)
        axes.barh(
            at, rows["p75"] - rows["p25"], left=rows["p25"], height=0.3, color=colour, alpha=0.55,
            edgecolor=colour, linewidth=1.0,
        )  # fmt: skip
        axes.vlines(rows["p50"], at - 0.15, at + 0.15, color="#1f2933", linewidth=1.6)
        axes.scatter(rows["mean"], at, marker="D", s=14, color="white", edgecolor="#1f2933",
                     linewidth=0.8, zorder=4)  # fmt: skip
    axes.set_yticks(np.arange(len(levels)), [wrapped(level) for level in levels])
    axes.set_ylim(len(levels) - 0.5, -0.5)
    axes.set_xlabel(names.axis(name))
    axes.set_ylabel(names.short(by))
    axes.grid(axis="x")
    number_axis(axes.xaxis, 8)
    side_legend(figure)
    return figure
