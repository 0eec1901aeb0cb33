"""Mosaics of a two-way table: survey, population, and the survey coloured by the difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.names import FigureNames
from synthpop.figures.style import level_colours, wrapped
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import DIVERGING, GREY, WIDE, new_figure, styled
from synthpop.microdata.statistics.distances import (
    LARGE_ERRORS,
    NOTABLE_ERRORS,
    standardised_differences,
)

GAP = 0.006
WITHIN = "#d5dae0"


@styled
def mosaic(table: pd.DataFrame, names: FigureNames, effective: float) -> Figure:
    """Draw the rows of one pair of the table ``two_way``.

    The variable with more levels goes along the bottom, with columns as wide as its shares; each
    column is stacked by the shares of the other variable inside it. The third mosaic has the tiles
    of the survey, coloured by (p - q) / se, the difference over the sampling error of the share
    in a sample of `effective` persons: grey within two errors, strong beyond four.
    """
    a, b = str(table["a"].iloc[0]), str(table["b"].iloc[0])
    sample = _matrix(table, "sample")
    population = _matrix(table, "population")
    if len(sample.columns) > len(sample.index):
        a, b, sample, population = b, a, sample.T, population.T
    figure = new_figure(WIDE, 4.3)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.05])
    colours = level_colours([str(level) for level in sample.columns])
    _tiles(left, sample, colours)
    _tiles(middle, population, colours)
    left.set_title(message("Survey, weighted"))
    middle.set_title("Population")
    _differences(figure, right, sample, population, effective)
    left.set_ylabel(message("Shares within columns"))
    for axes in (left, middle, right):
        axes.set_xlabel(names.short(a))
    _legend(figure, sample.columns, colours, names.short(b))
    return figure


def _matrix(table: pd.DataFrame, column: str) -> pd.DataFrame:
    matrix = table.pivot(index="level_a", columns="level_b", values=column).astype(float)
    rows, columns = dict.fromkeys(table["level_a"]), dict.fromkeys(table["level_b"])
    return matrix.loc[list(rows), list(columns)]


def _tiles(axes: Any, shares: pd.DataFrame, colours: Any) -> None:
    """Draw a mosaic; colours: one a level of the columns, or one a cell, shape (rows, columns)."""
    filled = np.nan_to_num(shares.to_numpy())
    filled = filled / max(filled.sum(), 1e-300)
    widths = filled.sum(axis=1)
    inner = max(1 - GAP * (len(widths) - 1), 0.5)
    starts = np.concatenate([[0], np.cumsum(widths * inner + GAP)[:-1]])
    for j in range(filled.shape[1]):
        below = np.divide(filled[:, :j].sum(axis=1), widths, out=np.zeros(len(widths)),
                          where=widths > 0)  # fmt: skip
        heights = np.divide(filled[:, j], widths, out=np.zeros(len(widths)), where=widths > 0)
        colour = colours[j] if isinstance(colours, list) else colours[:, j]
        edge = "white" if isinstance(colours, list) else GREY
        axes.bar(starts, heights, widths * inner, bottom=below, align="edge", color=colour,
                 edgecolor=edge, linewidth=0.4)  # fmt: skip
    _ticks_below(axes, starts + widths * inner / 2, widths, [str(level) for level in shares.index])
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _ticks_below(axes: Any, centres: np.ndarray, widths: np.ndarray, labels: list[str]) -> None:
    """Label the columns that leave room, the wide ones first."""
    ticks: list[int] = []
    for i in np.argsort(-widths):
        if widths[i] > 0 and all(abs(centres[i] - centres[k]) > 0.055 for k in ticks):
            ticks.append(int(i))
    ticks.sort()
    are_short = max((len(labels[i]) for i in ticks), default=0) <= 3
    texts = [wrapped(labels[i], 16) for i in ticks]
    axes.set_xticks(centres[ticks], texts, rotation=0 if are_short else 90)


def _differences(
    figure: Figure, axes: Any, sample: pd.DataFrame, population: pd.DataFrame, effective: float
) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    q, p = sample.to_numpy(dtype=float), population.to_numpy(dtype=float)
    errors = standardised_differences(q, p, effective)
    limits = [-2 * LARGE_ERRORS, -LARGE_ERRORS, -NOTABLE_ERRORS, NOTABLE_ERRORS, LARGE_ERRORS,
              2 * LARGE_ERRORS]  # fmt: skip
    colours = ListedColormap([DIVERGING[0], DIVERGING[1], WITHIN, DIVERGING[5], DIVERGING[6]])
    scale = ScalarMappable(BoundaryNorm(limits, colours.N), colours)
    inside = np.clip(np.nan_to_num(errors), limits[0], limits[-1] - 1e-9)
    _tiles(axes, sample, scale.to_rgba(inside))
    axes.set_yticks([])
    axes.set_title(message("Survey, coloured by difference"))
    bar = figure.colorbar(scale, ax=axes, shrink=0.85, aspect=22, pad=0.03)
    bar.set_ticks(limits[1:-1])
    bar.outline.set_visible(False)
    bar.set_label("(population - survey) / sampling error")


def _legend(figure: Figure, levels: Any, colours: list[Any], title: str) -> None:
    from matplotlib.patches import Patch

    texts = [str(level)[:24] for level in levels]
    texts = ["\u200b" + text if text.startswith("_") else text for text in texts]
    handles = [
        Patch(facecolor=colour, label=text) for text, colour in zip(texts, colours, strict=True)
    ]
    n_columns = max(1, min(len(texts), 120 // (max(map(len, texts)) + 6)))
    n_rows = -(-len(texts) // n_columns)  # legends fill columns first: make it read along rows
    n_columns = -(-len(texts) // n_rows)
    handles = [handle for column in range(n_columns) for handle in handles[column::n_columns]]
    legend = figure.legend(
        handles=handles, loc="outside upper left", ncols=n_columns, title=title,
        handlelength=1.0, columnspacing=1.2, alignment="left",
    )  # fmt: skip
    legend.get_title().set_fontsize(8.5)
    legend.get_title().set_fontweight("bold")
