"""What pictures of a population share: names of variables, ticks, legends."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from synthpop.microdata.frame.codes import MISSING_LABEL
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import (
    GREY,
    INK,
    OKABE_ITO,
    POPULATION,
    SAMPLE,
    WRAP,
    any_letters,
)
from synthpop.microdata.messages.text import percent_tick, tick


def percent_axis(axis: Any) -> None:
    """Write the ticks of an axis of shares as percent."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(percent_tick))


def number_axis(axis: Any, most: int = 6) -> None:
    """Write the ticks of an axis of numbers with thousands separators."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(tick))


def wrapped(text: object, width: int = WRAP) -> str:
    """Return a label on at most two lines."""
    lines = textwrap.wrap(str(text), width) or [""]
    return "\n".join(lines if len(lines) <= 2 else [lines[0], lines[1][: width - 1] + "…"])


def level_colours(levels: Sequence[str]) -> list[Any]:
    """Return distinct colours for levels, or a sequence where there are many; grey for missing."""
    present = [level for level in levels if level != MISSING_LABEL]
    if len(present) <= len(OKABE_ITO):
        colours: list[Any] = list(OKABE_ITO[: len(present)])
    else:
        colours = list(mpl.colormaps["cividis"](np.linspace(0.0, 1.0, len(present))))
    return [GREY if level == MISSING_LABEL else colours.pop(0) for level in levels]


TITLE_INCHES = 0.34


def put_title(figure: Figure, text: str) -> None:
    """Write a title above a finished picture, which grows by as much as it needs."""
    width, height = (float(x) for x in figure.get_size_inches())
    lines = textwrap.wrap(text, int(width * 11))
    extra = TITLE_INCHES + 0.18 * (len(lines) - 1)
    taller = height + extra
    figure.set_size_inches(width, taller)
    left, share = 0.1 / width, height / taller
    figure.text(
        left, 1 - 0.1 / taller, "\n".join(lines), va="top", ha="left", fontsize=11,
        fontweight="bold", color=INK,
    )  # fmt: skip
    engine = figure.get_layout_engine()
    for legend in figure.legends:
        box = legend.get_bbox_to_anchor().transformed(figure.transFigure.inverted())
        position = (box.x0, 0.0, box.width, box.y1 * share) if engine else (box.x0, box.y1 * share)
        legend.set_bbox_to_anchor(position, transform=figure.transFigure)
    if isinstance(engine, ConstrainedLayoutEngine):
        with any_letters():
            boxes = [legend.get_window_extent() for legend in figure.legends]
        heights = [box.height / figure.dpi for box in boxes]
        below = (max(heights, default=0.0) + 0.08) / taller  # legends count from the very top
        engine.set(rect=(0.0, 0.0, 1.0, share - below))
        return
    for axes in figure.axes:
        x, y, w, h = axes.get_position().bounds
        axes.set_position((x, y * share, w, h * share))


def side_legend(
    figure: Figure, sides: Sequence[str] = (message("Survey, weighted"), "Population")
) -> None:
    """Put the legend of the two sides above the picture."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=SAMPLE, label=sides[0]), Patch(facecolor=POPULATION, label=sides[1])]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, handlelength=1.2)
