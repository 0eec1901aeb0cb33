"""Distribution functions, survey and population in one panel: overall, by group, or of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import number_axis, percent_axis, wrapped
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import HALF, POPULATION, SAMPLE, WIDE, new_figure, styled

COLUMNS, MOST_PANELS = 3, 12


@styled
def curve(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the distribution functions of one number, all persons."""
    name = str(table["variable"].iloc[0])
    figure = new_figure(HALF, 3.5)
    axes = figure.subplots()
    _lines(axes, table)
    axes.set_xlabel(wrapped(names.axis(name), 60))
    axes.set_ylabel(message("Share of persons at or below"))
    _legend(figure)
    return figure


@styled
def curves_by_group(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw one panel per group, the 12 with most sample persons at most."""
    name = str(table["variable"].iloc[0])
    size = table.groupby("level", sort=False)["n_sample"].first()
    levels = set(size.nlargest(MOST_PANELS).index)
    groups = [(str(level), rows) for level, rows in table.groupby("level", sort=False)
              if level in levels]  # fmt: skip
    return _panels(groups, names.axis(name))


@styled
def curves_of_parts(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw one panel per variable."""
    groups = [(names.short(str(name)), rows)
              for name, rows in table.groupby("variable", sort=False)]  # fmt: skip
    units = {names.units.get(str(name), "") for name in table["variable"].unique()}
    return _panels(groups, units.pop() if len(units) == 1 else "", own_x=True)


def _panels(
    groups: Sequence[tuple[str, pd.DataFrame]], xlabel: str, *, own_x: bool = False
) -> Figure:
    n_columns = min(COLUMNS, len(groups))
    n_rows = -(-len(groups) // n_columns)
    figure = new_figure(WIDE, 0.9 + 1.85 * n_rows)
    grid = figure.subplots(n_rows, n_columns, sharey=not own_x, sharex=not own_x, squeeze=False)
    for axes, (title, rows) in zip(grid.flat, groups, strict=False):
        _lines(axes, rows)
        axes.set_title(wrapped(title, 38))
        axes.xaxis.get_major_locator().set_params(nbins=4)
        if own_x:
            above = rows[rows["x"] >= 0]  # most are zero: the axis begins where zeros end
            low = float(above[["sample", "population"]].min().min())
            axes.set_ylim(max(0.0, low - 0.02 * (1 - low)), 1 + 0.02 * (1 - low))
    for axes in grid.flat[len(groups) :]:
        axes.set_visible(False)
    if not own_x:
        for column in range(n_columns):  # the last panel of a column may be above an empty place
            last_row = max(r for r in range(n_rows) if r * n_columns + column < len(groups))
            grid[last_row, column].tick_params(labelbottom=True)
    figure.supxlabel(wrapped(xlabel, 90), fontsize=9, color="#52606d")
    figure.supylabel(message("Share of persons at or below"), fontsize=9, color="#52606d")
    _legend(figure)
    return figure


def _lines(axes: Any, rows: pd.DataFrame) -> None:
    axes.step(rows["x"], rows["sample"], where="post", color=SAMPLE, linewidth=3.2, alpha=0.75)
    axes.step(rows["x"], rows["population"], where="post", color=POPULATION, linewidth=1.3)
    axes.set_ylim(-0.02, 1.02)
    axes.margins(x=0.01)
    axes.grid(axis="both")
    percent_axis(axes.yaxis)
    number_axis(axes.xaxis, 6)


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=SAMPLE, linewidth=3.2, alpha=0.75, label=message("Survey, weighted")),
        Line2D([], [], color=POPULATION, linewidth=1.3, label="Population"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
