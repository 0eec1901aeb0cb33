"""Pairs of bars, survey and population side by side: shares, parts of a sum, households."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import number_axis, percent_axis, side_legend, wrapped
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import HALF, POPULATION, SAMPLE, WIDE, new_figure, styled

MOST = 24
MOST_STRATA = 40


@styled
def share_bars(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the rows of one variable of the table ``one_way``; the 24 largest levels at most."""
    name = str(table["variable"].iloc[0])
    if len(table) > MOST:
        table = table.nlargest(MOST, "population")
    figure = new_figure(HALF, 1.1 + 0.36 * len(table))
    axes = figure.subplots()
    _pairs(axes, table["sample"], table["population"], map(wrapped, table["level"]))
    axes.set_xlim(left=0)
    percent_axis(axes.xaxis)
    title = names.short(name).lower() if name in names.labels else name
    axes.set_xlabel(message("Share of persons by {variable}", variable=title))
    side_legend(figure)
    return figure


@styled
def part_totals(table: pd.DataFrame, names: FigureNames) -> Figure:
    """Draw the shares of the parts of one total (table ``components`` without the total's row)."""
    figure = new_figure(HALF, 1.2 + 0.42 * len(table))
    axes = figure.subplots()
    labels = [wrapped(names.short(name), 30) for name in table["part"]]
    _pairs(axes, table["sample_share"], table["population_share"], labels)
    axes.axvline(0, color="#9aa5b1", linewidth=0.8)
    percent_axis(axes.xaxis)
    total = table["total"].iloc[0]
    axes.set_xlabel(
        wrapped(message("Share of the sum of absolute values of {total}", total=total), 60)
    )
    side_legend(figure)
    return figure


@styled
def household_sizes(
    by_size: pd.DataFrame, by_stratum: pd.DataFrame, strata: str | None, names: FigureNames
) -> Figure:
    """Draw the tables ``households_by_size`` and, where there are strata, ``..._by_stratum``."""
    tables = [(by_size, "size", message("Household size, persons"))]
    if strata is not None:
        tables.append((by_stratum.head(MOST_STRATA), "stratum", names.short(strata)))
    figure = new_figure(WIDE, 1.3 + 0.34 * max(len(table) for table, *_ in tables))
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, (table, column, title) in zip(panels, tables, strict=True):
        _pairs(axes, table["estimate"], table["population"], map(wrapped, table[column]))
        axes.set_title(title)
        axes.set_xlabel("Households")
        number_axis(axes.xaxis, 5)
    side_legend(figure, (message("Survey, estimated number"), "Population"))
    return figure


def _pairs(axes: Any, sample: pd.Series, population: pd.Series, labels: Iterable[str]) -> None:
    at = np.arange(len(sample))
    axes.barh(at - 0.19, sample, height=0.36, color=SAMPLE)
    axes.barh(at + 0.19, population, height=0.36, color=POPULATION)
    axes.set_yticks(at, list(labels))
    axes.invert_yaxis()
    axes.grid(axis="x")
