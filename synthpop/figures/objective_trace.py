"""The objective of annealing, batch by batch."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.style import number_axis
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import HALF, OKABE_ITO, SOFT, new_figure, styled
from synthpop.microdata.messages.text import tick

NAMED = len(OKABE_ITO)


@styled
def objective_trace(trace: pd.DataFrame) -> Figure:
    """Draw the sum of absolute differences against the proposals, one line per region."""
    figure = new_figure(HALF, 2.6)
    axes = figure.subplots()
    regions = list(trace.groupby("region", sort=False))
    for number, (region, rows) in enumerate(regions):
        colour = OKABE_ITO[number] if len(regions) <= NAMED else SOFT
        x = rows["proposals"].to_numpy(dtype=np.float64)
        y = rows["objective"].to_numpy(dtype=np.float64)
        axes.plot(x, y, color=colour, linewidth=1.3, label=str(region))
        axes.plot(x[-1:], y[-1:], "o", color=colour, markersize=3.5)
    axes.set_yscale("symlog", linthresh=1.0)
    axes.yaxis.set_major_formatter(tick)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    number_axis(axes.xaxis, 4)
    axes.set_xlabel(message("Exchanges that were tried"))
    axes.set_ylabel("Objective")
    if 1 < len(regions) <= NAMED:
        figure.legend(loc="outside upper left", ncols=4, handlelength=1.2)
    return figure
