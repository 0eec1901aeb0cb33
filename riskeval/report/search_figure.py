"""The picture of a search for plans: risk against loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import (
    GREY,
    INK,
    POPULATION,
    SAMPLE,
    WIDE,
    new_figure,
    styled,
)
from synthpop.microdata.messages.text import percent_tick

if TYPE_CHECKING:
    from riskeval.session.plans import PlanSearch


@styled
def draw_search(search: PlanSearch) -> Figure:
    """Draw every plan, the front, and which plans are within the limits."""
    plans = search.plans
    figure = new_figure(WIDE, 4.6)
    axes = figure.subplots()
    front = plans[plans["front"]].sort_values("loss")
    others = plans[~plans["front"]]
    axes.scatter(others["loss"], others["risk"], s=14, color=GREY, label=message("other plans"))
    axes.step(front["loss"], front["risk"], where="post", color=INK, linewidth=0.8, zorder=1)
    for within, colour, marker, label in (
        (True, POPULATION, "o", message("front, within the limits")),
        (False, SAMPLE, "s", message("front, beyond a limit")),
    ):
        rows = front[front["within"] == within]
        axes.scatter(rows["loss"], rows["risk"], s=34, color=colour, marker=marker, label=label)
    for row in front.itertuples():
        axes.annotate(
            str(row.plan), (row.loss, row.risk), xytext=(4, 4), textcoords="offset points",
            fontsize=7.5,
        )  # fmt: skip
    axes.set_xlabel(message("loss: detail lost in the columns, on average"))
    axes.set_ylabel(message("risk, relative to that of the original"))
    axes.xaxis.set_major_formatter(percent_tick)
    axes.yaxis.set_major_formatter(percent_tick)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_title(message("Plans tried; numbers identify those on the front"))
    axes.legend(loc="upper right")
    return figure
