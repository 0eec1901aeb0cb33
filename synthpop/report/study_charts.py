"""Charts of a simulation study: estimates, zipper plot, and curves over levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import percent, plural, tick
from synthpop.microdata.pages.page_facts import Svg
from synthpop.microdata.pages.plane import Axis, Plane
from synthpop.microdata.statistics.indicators.results import OVERALL
from synthpop.sampling.study_result import Study

MOST_INTERVALS, CLASSES = 200, 24
MEASURES = {
    "truth": message("True value"),
    "mean": message("Mean of the estimates"),
    "bias": "Bias",
    "relative_bias": message("Relative bias"),
    "variance": "Variance",
    "rmse": message("Root mean squared error"),
    "coverage": message("Coverage of the intervals"),
    "length": message("Mean length of the intervals"),
    "standard_error_ratio": message("Mean standard error over the real one"),
    "repetitions": message("Repetitions with a number"),
    "failed": message("Repetitions that failed"),
}
SHARES = ("relative_bias", "coverage")


def estimates_chart(rows: pd.DataFrame, truth: float, title: str, unit: str) -> str:
    """Return the distribution of estimates with the true value."""
    values = rows["estimate"].dropna().to_numpy(dtype=float)
    if len(values) < 2 or not np.ptp(values) > 0:
        return ""
    low, high = float(values.min()), float(values.max())
    if np.isfinite(truth):
        low, high = min(low, truth), max(high, truth)
    margin = 0.03 * (high - low)
    counts, edges = np.histogram(values, CLASSES)
    plane = Plane(
        Axis(message("Estimate") + (f", {unit}" if unit else ""), low - margin, high + margin),
        Axis("Repetitions", 0, float(counts.max()) * 1.08, text=tick),
    )
    for left, right, n in zip(edges[:-1], edges[1:], counts, strict=True):
        if n:
            plane.bar(float(left), float(right), float(n))
    if np.isfinite(truth):
        plane.rule(x=truth, label="truth")
    return plane.render(
        message("{title}: estimates of {n}", title=title, n=plural(len(values), "repetition"))
    )


def zipper_chart(rows: pd.DataFrame, truth: float, level: float, title: str, unit: str) -> str:
    """Return intervals in the order of their standardised distance from the truth."""
    rows = rows.dropna(subset=["estimate", "lower", "upper"])
    true = rows["truth"].to_numpy(dtype=float) if "truth" in rows else np.full(len(rows), truth)
    x, low, high = (rows[c].to_numpy(dtype=float) - true for c in ("estimate", "lower", "upper"))
    is_finite = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    x, low, high = x[is_finite], low[is_finite], high[is_finite]
    if not len(x):
        return ""
    order = np.argsort(np.abs(x) / np.maximum(high - low, 1e-300), kind="stable")
    rank = (np.arange(len(order)) + 1) / len(order)
    places = np.unique(np.linspace(0, len(order) - 1, MOST_INTERVALS).astype(int))
    low, high, rank = low[order][places], high[order][places], rank[places]
    inside = (low <= 0) & (high >= 0)
    reach = float(max(np.abs(low).max(), np.abs(high).max()))
    plane = Plane(
        Axis(
            message("Interval minus true value{unit}", unit=f", {unit}" if unit else ""),
            -reach,
            reach,
        ),
        Axis(message("Share of the intervals"), 0, 1, text=lambda value: percent(value, 0)),
    )
    for hit, kind in ((inside, "mark"), (~inside, "far")):
        plane.intervals(low[hit].tolist(), high[hit].tolist(), rank[hit].tolist(), kind)
    plane.line([0.0, 0.0], [0.0, 1.0], "zero")
    plane.rule(y=level)
    covered = percent(float(inside.mean()), 1)
    return plane.render(
        message(
            "{title}: {covered} of the intervals that are shown cover the true value",
            title=title,
            covered=covered,
        )
    )


def level_curves(study: Study) -> list[dict[str, Any]]:
    """Return curves of bias, error and coverage over the levels of the study."""
    charts = []
    for over in study.grid:
        for measure in ("relative_bias", "rmse", "coverage"):
            chart = _curve(study, measure, over)
            if chart:
                caption = message(
                    "{measure} by level of {over}; one line per estimator",
                    measure=MEASURES[measure],
                    over=over,
                )
                charts.append({"chart": Svg(chart), "caption": f"{caption}."})
    return charts


def _curve(study: Study, measure: str, over: str) -> str:
    curves = study.curves(measure, over=over)
    domains = curves.columns.get_level_values("domain")
    if OVERALL in domains:
        curves = curves.loc[:, domains == OVERALL]
    values = curves.to_numpy(dtype=float)
    if len(curves) < 2 or not np.isfinite(values).any():
        return ""
    numeric = all(isinstance(level, (int, float)) for level in curves.index)
    at = [float(level) for level in curves.index] if numeric else list(range(len(curves)))
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = 0.06 * (high - low or abs(high) or 1.0)
    places = () if numeric else [(float(k), str(level)) for k, level in enumerate(curves.index)]
    plane = Plane(
        Axis(message("Level of {over}", over=over), min(at), max(at), places=places),
        Axis(MEASURES[measure], low - margin, high + margin,
             text=(lambda v: percent(v, 1)) if measure in SHARES else tick),
    )  # fmt: skip
    for place, name in enumerate(curves.columns):
        heights = curves[name].to_numpy(dtype=float)
        kind = f"c{place % 6 + 1}"
        is_finite = np.isfinite(heights)
        xs, ys = np.asarray(at)[is_finite].tolist(), heights[is_finite].tolist()
        plane.line(xs, ys, kind)
        label = str(dict(zip(curves.columns.names, np.atleast_1d(name), strict=False))["estimator"])
        for k, (x, y) in enumerate(zip(xs, ys, strict=True)):
            plane.point(x, y, kind, "circle", label if k == len(xs) - 1 else "")
    return plane.render(
        message("{measure} by level of {over}", measure=MEASURES[measure], over=over)
    )
