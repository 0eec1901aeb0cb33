"""Shares of each level inside each stratum: a panel a level, two dots a stratum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from synthpop.figures.names import FigureNames
from synthpop.figures.style import wrapped
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import (
    INK,
    LINE,
    POPULATION,
    SAMPLE,
    SOFT,
    WIDE,
    new_figure,
    styled,
)

COLUMNS, MOST_PANELS, MOST_STRATA = 4, 12, 40
GAP, ABOVE, BELOW = 0.16, 1.6, 1.5
INCH_PER_STRATUM, INCH_PER_LETTER = 0.19, 0.075


@styled
def strata_dots(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the rows of one variable of the table ``by_stratum``, the 12 largest levels at most.

    All panels lie in one pair of axes, each in its own unit square: that is several times faster
    than as many pairs of axes.
    """
    sample = table.pivot(index="level_a", columns="level_b", values="sample")
    population = table.pivot(index="level_a", columns="level_b", values="population")
    order = list(dict.fromkeys(table["level_b"]))
    if len(order) > MOST_PANELS:
        largest = population.sum().nlargest(MOST_PANELS).index
        order = [level for level in order if level in largest]
    strata = list(dict.fromkeys(table["level_a"]))[:MOST_STRATA]
    labels = [wrapped(stratum, 20).replace("\n", " ") for stratum in strata]
    n_columns = min(COLUMNS, len(order))
    n_rows = -(-len(order) // n_columns)
    height = 0.45 + n_rows * (len(strata) + ABOVE + BELOW) * INCH_PER_STRATUM
    left = 0.15 + INCH_PER_LETTER * max(map(len, labels))
    figure = new_figure(WIDE, height, constrained=False)
    axes = figure.add_axes(
        (left / WIDE, 0.0, 1 - (left + 0.12) / WIDE, 1 - 0.35 / height), frameon=False
    )
    axes.set_xlim(0, n_columns * (1 + GAP) - GAP)
    axes.set_ylim(n_rows * (len(strata) + ABOVE + BELOW), 0)
    axes.set_axis_off()
    for position, level in enumerate(order):
        row, column = divmod(position, n_columns)
        corner = (column * (1 + GAP), row * (len(strata) + ABOVE + BELOW) + ABOVE)
        _panel(axes, corner, str(level), sample.loc[strata, level], population.loc[strata, level])
        if column == 0:
            for number, label in enumerate(labels):
                axes.text(-0.03, corner[1] + number + 0.5, label, ha="right", va="center",
                          fontsize=8.5)  # fmt: skip
    _legend(figure, left)
    return figure


def _panel(axes: Any, corner: tuple[float, float], title: str, q: Any, p: Any) -> None:
    x, y = corner
    n = len(q)
    reach = float(np.nanmax(np.concatenate([q, p, [0.0]])))
    reach = 1.07 * reach if reach > 0 else 1.0
    ticks = np.asarray(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(0, reach))
    ticks = ticks[(ticks >= 0) & (ticks <= reach)]
    at = y + np.arange(n) + 0.5
    axes.vlines(x + ticks / reach, y, y + n, color="#e8ebef", linewidth=0.8, zorder=0)
    axes.vlines([x], y, y + n, color=LINE, linewidth=0.8, zorder=0)
    axes.hlines(at, x + np.fmin(q, p) / reach, x + np.fmax(q, p) / reach, color=LINE, linewidth=2)
    axes.scatter(x + q / reach, at, s=30, facecolor="white", edgecolor=SAMPLE, linewidth=1.6,
                 zorder=3)  # fmt: skip
    axes.scatter(x + p / reach, at, s=15, color=POPULATION, zorder=4)
    axes.text(x, y - 0.35, wrapped(title, 24).replace("\n", " "), fontweight="bold", color=INK,
              fontsize=9.5, va="bottom")  # fmt: skip
    for tick in ticks:
        axes.text(x + tick / reach, y + n + 0.2, f"{tick * 100:.3g} %", ha="center", va="top",
                  fontsize=8, color=SOFT)  # fmt: skip


def _legend(figure: Figure, left: float) -> None:
    from matplotlib.lines import Line2D

    common: dict[str, Any] = {"linestyle": "", "marker": "o"}
    handles = [
        Line2D(
            [],
            [],
            label=message("Survey, weighted"),
            markerfacecolor="white",
            markeredgecolor=SAMPLE,
            markeredgewidth=1.6,
            markersize=6,
            **common,
        ),
        Line2D([], [], label="Population", color=POPULATION, markersize=4.5, **common),
    ]
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(left / WIDE - 0.01, 1.0),
                  ncols=2, borderaxespad=0.2)  # fmt: skip
