"""Figures of a comparison: the risk-utility map, and interval overlaps by domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from riskeval.comparison.catalogue import CATALOGUE, lower
from synthpop.microdata.pictures import GREY, INK, LINE, OKABE_ITO, RC, SOFT, WIDE, new_figure

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap

MARKERS = "osD^vP*X<>ph"
COLOURS = tuple(colour for colour in OKABE_ITO if colour != "#F0E442")


def draw_map(result: RiskUtilityMap) -> Figure:
    """Draw risk against utility, one point a release, paths of parameters, and the Pareto front.

    Parameters
    ----------
    result : RiskUtilityMap

    Returns
    -------
    matplotlib.figure.Figure
        Releases of one family are joined in the order of their parameter, which stands beside the
        point; the original is the grey cross; the front is the dashed line. Families differ in
        colour and marker.
    """
    with rc_context(RC):
        figure = new_figure(WIDE, 5.2)
        axes = figure.subplots()
        known = result.frame.dropna(subset=["risk", "utility"])
        released = known[known["kind"] != "original"]
        families = list(dict.fromkeys(released["family"]))
        _front(axes, released, result.better)
        for place, family in enumerate(families):
            rows = released[released["family"] == family].sort_values("parameter", kind="stable")
            _path(axes, rows, family, COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)])
        _original(axes, known)
        if np.isfinite(result.limit):
            axes.axvline(result.limit, color=INK, linewidth=0.9, linestyle=":",
                         label=f"accepted risk ({result.limit:g})")  # fmt: skip
        _frame(axes, known, result)
    return figure


def _path(axes: Axes, rows: pd.DataFrame, family: str, colour: str, marker: str) -> None:
    line = "-" if len(rows) > 1 and rows["parameter"].notna().all() else "none"
    synthetic = (rows["kind"] == "synthetic").all()
    axes.plot(
        rows["risk"], rows["utility"], linestyle=line, linewidth=1.2, color=colour, marker=marker,
        markersize=8, markerfacecolor="white" if synthetic else colour, markeredgewidth=1.6,
        label=family + (" (synthetic)" if synthetic else ""), zorder=3,
    )  # fmt: skip
    for row in rows.itertuples():
        text = _label(row, len(rows))
        if text:
            axes.annotate(
                text, (row.risk, row.utility), (6, 6), textcoords="offset points", fontsize=8,
                color=INK, zorder=4,
            )  # fmt: skip


def _label(row: object, members: int) -> str:
    parameter = float(getattr(row, "parameter", np.nan))
    if np.isfinite(parameter):
        return f"{parameter:g}"
    return str(getattr(row, "release", "")) if members > 1 else ""


def _original(axes: Axes, known: pd.DataFrame) -> None:
    rows = known[known["kind"] == "original"]
    axes.plot(
        rows["risk"], rows["utility"], linestyle="none", marker="X", markersize=10, color=SOFT,
        markeredgecolor="white", label="original, released as it is", zorder=3,
    )  # fmt: skip


def _front(axes: Axes, released: pd.DataFrame, better: str) -> None:
    """The steps below which no release lies, drawn behind the points."""
    front = released[released["pareto"]].sort_values(["risk", "utility"])
    if len(front) > 1:
        axes.step(
            front["risk"], front["utility"], where="post", color=GREY, linewidth=4, alpha=0.6,
            solid_joinstyle="round", label="Pareto front", zorder=1,
        )  # fmt: skip
    elif len(front):
        axes.plot(
            front["risk"], front["utility"], marker="o", markersize=16, color=GREY, alpha=0.6,
            linestyle="none", label="Pareto front", zorder=1,
        )  # fmt: skip


def _frame(axes: Axes, known: pd.DataFrame, result: RiskUtilityMap) -> None:
    risk, utility = (CATALOGUE[name.split(":")[0]] for name in (result.risk, result.utility))
    axes.set_title(f"{result.risk_title} against {lower(result.utility_title)}")
    axes.set_xlabel(f"Risk: {lower(result.risk_title)} ({risk.unit}); less is better")
    word = "Utility" if result.better == "high" else "Loss"
    end = "more" if result.better == "high" else "less"
    axes.set_ylabel(f"{word}: {lower(result.utility_title)} ({utility.unit}); {end} is better")
    axes.grid(color=LINE, linewidth=0.6)
    axes.margins(0.08)
    if len(known) and known["risk"].min() >= 0:
        axes.set_xlim(left=min(0.0, -0.03 * float(known["risk"].max() or 1.0)))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4)
