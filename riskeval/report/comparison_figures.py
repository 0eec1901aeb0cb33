"""The risk-utility map of a comparison in print quality."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from riskeval.shared.show import lower
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import (
    GREY,
    INK,
    LINE,
    OKABE_ITO,
    SOFT,
    WIDE,
    new_figure,
    styled,
)
from synthpop.microdata.messages.text import formatted

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap
    from riskeval.comparison.result import Comparison

MARKERS = "osD^vP*X<>ph"
SAME_PLACE = 0.01
INNERMOST = 6.0
STEP = 7.0
MOST_RINGS = 5
UNITS = {
    "share": ", %", "overlap": ", %", "loss": ", 0 is none", "ratio": ", 1 is chance",
    "persons": ", records", "probability": "", "value": "",
}  # fmt: skip
COLOURS = tuple(colour for colour in OKABE_ITO if colour != "#F0E442")


def draw_comparison(comparison: Comparison) -> Figure | None:
    """Draw the map of a comparison; None where the releases have no risk or utility in common."""
    try:
        return draw_map(comparison.risk_utility_map())
    except InputError:
        return None


@styled
def draw_map(result: RiskUtilityMap) -> Figure:
    """Draw risk against utility, one point per release, paths of parameters, and the Pareto front.

    Releases of one family are joined in the order of their parameter, which stands beside the
    point; the original is the grey cross; the front is the broad grey line. Coinciding points are
    nested so that all remain visible.
    """
    figure = new_figure(WIDE, 5.2)
    axes = figure.subplots()
    known = result.frame.dropna(subset=["risk", "utility"])
    released = known[known["kind"] != "original"]
    named = result.frame[result.frame["kind"] != "original"]
    families = list(dict.fromkeys(named["family"]))  # the same look in every map
    _front(axes, released)
    order = known.sort_values("kind", key=lambda kind: kind == "original", kind="stable")
    nested = nested_sizes(order)
    for place, family in enumerate(families):
        rows = released[released["family"] == family].sort_values("parameter", kind="stable")
        if rows.empty:
            continue
        size = 11 - 5 * place / max(len(families), 5)  # points that overlap stay visible
        look = (COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)], size)
        _path(axes, rows, family, look, nested)
    line = {"linestyle": "none", "label": message("original, released as it is")}
    _points(
        axes, known[known["kind"] == "original"], nested, line, marker="X", markersize=10,
        color=SOFT, markeredgecolor="white",
    )  # fmt: skip
    _labels(axes, released, nested)
    if np.isfinite(result.limit):
        axes.axvline(
            result.limit,
            color=INK,
            linewidth=0.9,
            linestyle=":",
            label=message("accepted risk ({limit})", limit=formatted(result.limit, "g")),
        )
    _frame(axes, known, result)
    return figure


def nested_sizes(known: pd.DataFrame) -> dict[str, float]:
    """Marker size of releases that share their place (to 1 % of the range), in points."""
    spans = [float(np.ptp(known[name])) or 1.0 for name in ("risk", "utility")]
    places: list[tuple[np.ndarray, list[str]]] = []
    for release, risk, utility in known[["release", "risk", "utility"]].itertuples(index=False):
        point = np.array([risk, utility]) / spans
        for at, names in places:
            if np.abs(at - point).max() < SAME_PLACE:
                names.append(release)
                break
        else:
            places.append((point, [release]))
    return {
        name: INNERMOST + STEP * min(len(names) - 1 - i, MOST_RINGS)
        for _, names in places
        if len(names) > 1
        for i, name in enumerate(names)
    }


def _points(
    axes: Axes, rows: pd.DataFrame, sizes: dict[str, float], line: dict[str, Any],
    edge: Mapping[str, Any] = {}, **look: Any,
) -> None:  # fmt: skip
    """Draw releases; points that share their place in one another, the smaller above the larger."""
    is_nested = rows["release"].isin(list(sizes)).to_numpy()
    axes.plot(
        rows["risk"], rows["utility"], markevery=np.flatnonzero(~is_nested).tolist(), zorder=3,
        **line, **look,
    )  # fmt: skip
    for row in rows[is_nested].to_dict("records"):
        size = sizes[row["release"]]
        axes.plot(
            [row["risk"]], [row["utility"]], linestyle="none", label=f"_{row['release']}",
            clip_on=False, zorder=3.9 - size / 100, **{**look, **edge, "markersize": size},
        )  # fmt: skip


def _path(
    axes: Axes,
    rows: pd.DataFrame,
    family: str,
    look: tuple[str, str, float],
    nested: dict[str, float],
) -> None:
    colour, marker, size = look
    synthetic = (rows["kind"] == "synthetic").all()
    line = {
        "linestyle": "-" if len(rows) > 1 and rows["parameter"].notna().all() else "none",
        "linewidth": 1.2,
        "label": family + (" (synthetic)" if synthetic and "synthetic" not in family else ""),
    }
    edge = {} if synthetic else {"markeredgecolor": "white", "markeredgewidth": 1.0}
    _points(
        axes, rows, nested, line, edge, color=colour, marker=marker, markersize=size,
        markeredgewidth=1.6, markerfacecolor="white" if synthetic else colour,
    )  # fmt: skip


def _labels(axes: Axes, released: pd.DataFrame, nested: dict[str, float]) -> None:
    """Write parameters, or names within a family, beside the points; one text where they meet."""
    spans = [float(np.ptp(released[name])) or 1.0 for name in ("risk", "utility")]
    groups: list[tuple[float, float, list[str], float]] = []
    for row in released.to_dict("records"):
        text = _label(row, int((released["family"] == row["family"]).sum()))
        if not text:
            continue
        for x, y, texts, _ in groups:
            if abs(row["risk"] - x) < 0.02 * spans[0] and abs(row["utility"] - y) < 0.03 * spans[1]:
                texts.append(text)
                break
        else:
            away = max(7.0, nested.get(row["release"], 0.0) / 2)
            groups.append((row["risk"], row["utility"], [text], away))
    for x, y, texts, away in groups:
        axes.annotate(
            ", ".join(dict.fromkeys(texts)), (x, y), (away, away), textcoords="offset points",
            fontsize=8, color=INK, zorder=4,
        )  # fmt: skip


def _label(row: dict[Any, Any], members: int) -> str:
    if np.isfinite(float(row["parameter"])):
        return f"{row['parameter']:g}"
    return str(row["release"]) if members > 1 else ""


def _front(axes: Axes, released: pd.DataFrame) -> None:
    """The steps below which no release lies, drawn behind the points."""
    front = released[released["pareto"]].sort_values(["risk", "utility"])
    if len(front) > 1:
        axes.step(
            front["risk"], front["utility"], where="post", color=GREY, linewidth=4, alpha=0.6,
            solid_joinstyle="round", label=message("Pareto front"), zorder=1,
        )  # fmt: skip
    elif len(front):
        axes.plot(
            front["risk"], front["utility"], marker="o", markersize=16, color=GREY, alpha=0.6,
            linestyle="none", label=message("Pareto front"), zorder=1,
        )  # fmt: skip


def _frame(axes: Axes, known: pd.DataFrame, result: RiskUtilityMap) -> None:
    risk, utility = result.risk_unit, result.utility_unit
    axes.set_title(
        message(
            "{risk_title} against {utility_title}",
            risk_title=result.risk_title,
            utility_title=lower(result.utility_title),
        )
    )
    axes.set_xlabel(
        message(
            "Risk: {risk_title}{units}; less is better",
            risk_title=lower(result.risk_title),
            units=UNITS[risk],
        )
    )
    word = "Utility" if result.better == "high" else "Loss"
    end = "more" if result.better == "high" else "less"
    axes.set_ylabel(
        message(
            "{word}: {utility_title}{units}; {end} is better",
            word=word,
            utility_title=lower(result.utility_title),
            units=UNITS[utility],
            end=end,
        )
    )
    for axis, unit in ((axes.xaxis, risk), (axes.yaxis, utility)):
        if unit in ("share", "overlap"):
            axis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(color=LINE, linewidth=0.6)
    axes.margins(0.08)
    if len(known) and known["risk"].min() >= 0:
        axes.set_xlim(left=min(0.0, -0.03 * float(known["risk"].max() or 1.0)))
    largest = float(known["utility"].max()) if len(known) else 0.0
    if result.better == "low" and len(known) and known["utility"].min() >= 0:
        axes.set_ylim(-0.04 * (largest or 1.0), 1.08 * (largest or 1.0))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4)
