"""The risk-utility map of a page: points with their names beside them, and the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskeval.shared.show import SHARES
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number, percent_tick, tick
from synthpop.microdata.pages.plane import SHAPES, Axis, Plane

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap

COLOURS = 6


def map_chart(result: RiskUtilityMap, text: str) -> str:
    """Return the map as SVG, as `draw_map` shows it; `text` says what it shows."""
    known = result.frame.dropna(subset=["risk", "utility"])
    if known.empty:
        return ""
    plane = Plane(_axis(result, "risk", known["risk"]), _axis(result, "utility", known["utility"]))
    released = known[known["kind"] != "original"]
    _front(plane, released)
    if np.isfinite(result.limit):
        plane.rule(x=float(result.limit), label=message("accepted {x}", x=number(result.limit)))
    named = result.frame.loc[result.frame["kind"] != "original", "family"]
    for place, family in enumerate(dict.fromkeys(named)):  # the same look in every map
        rows = released[released["family"] == family].sort_values("parameter", kind="stable")
        kind = f"c{place % COLOURS + 1}"
        if len(rows) > 1 and rows["parameter"].notna().all():
            plane.line(rows["risk"].tolist(), rows["utility"].tolist(), kind)
        for row in rows.to_dict("records"):
            shape = "ring" if row["kind"] == "synthetic" else SHAPES[place % 4]
            plane.point(row["risk"], row["utility"], kind, shape, str(row["release"]))
    for row in known[known["kind"] == "original"].to_dict("records"):
        plane.point(row["risk"], row["utility"], "c0", "cross", gettext("original"))
    return plane.render(text)


def _axis(result: RiskUtilityMap, name: str, values: pd.Series) -> Axis:
    unit, title = getattr(result, f"{name}_unit"), getattr(result, f"{name}_title")
    better = "low" if name == "risk" else result.better
    low, high = float(values.min()), float(values.max())
    if name == "risk" and np.isfinite(result.limit):
        high = max(high, float(result.limit))
    if name == "risk" or low < 0.4 * high:
        low = min(low, 0.0)
    margin = 0.06 * (high - low or abs(high) or 1.0)
    word = "less" if better == "low" else "more"
    return Axis(
        message("{title} ({word} is better)", title=message(title), word=message(word)),
        low - margin,
        high + margin,
        text=percent_tick if unit in SHARES else tick,
    )


def _front(plane: Plane, released: pd.DataFrame) -> None:
    """Draw the front as steps behind the points."""
    front = released[released["pareto"]].sort_values(["risk", "utility"])
    x, y = (front[name].to_numpy(dtype=float) for name in ("risk", "utility"))
    if len(front) > 1:
        plane.line(np.repeat(x, 2)[1:].tolist(), np.repeat(y, 2)[:-1].tolist(), "front")
