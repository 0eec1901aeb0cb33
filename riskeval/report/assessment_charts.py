"""Charts of an assessment for the page: keys by size, risks, frequencies and SUDA scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number, tick
from synthpop.microdata.pages.plane import Axis, Plane

MOST_POINTS = 4_000
MOST_STEPS = 400
RISK_CLASSES = 40
RARE = 3  # records below which a key counts as rare


def cell_sizes_chart(counts: Any, text: str) -> str:
    """Return the number of distinct keys by the records that share them."""
    table = counts.cell_sizes.query("size > 0")
    if table.empty:
        return ""
    sizes, cells = (table[name].to_numpy(dtype=float) for name in ("size", "cells"))
    largest = float(sizes.max())
    is_long = largest > 30
    edges = np.geomspace(0.5, largest * 1.1, 40) if is_long else np.arange(0.5, largest + 1)
    plane = Plane(
        Axis(message("Records that share a key (1: unique)"), float(edges[0]), float(edges[-1]),
             "log" if is_long else "linear"),
        Axis(message("Distinct keys"), 0, float(cells.max()) * 1.05),
    )  # fmt: skip
    totals = np.histogram(sizes, edges, weights=cells)[0]
    if is_long:  # classes hold several sizes
        plane = Plane(plane.x, Axis(message("Distinct keys"), 0, float(totals.max()) * 1.05))
    for left, right, total in zip(edges[:-1], edges[1:], totals, strict=True):
        if total > 0:
            plane.bar(float(left), float(right), float(total), "far" if left < RARE - 1e-9
                      and right <= RARE + 1e-9 else "mark")  # fmt: skip
    return plane.render(text)


def risk_chart(result: Any, text: str) -> str:
    """Return the number of records by their risk, and by that of their household."""
    sides = [("persons", result.risk, "mark line")]
    if result.household_risk is not None:
        sides.append(("households", result.household_risk, "far line"))
    positive = [np.asarray(values)[np.asarray(values) > 0] for _, values, _ in sides]
    low = min((float(values.min()) for values in positive if len(values)), default=1e-3)
    low = min(low, 0.5) * 0.999
    edges = np.geomspace(low, 1.001, RISK_CLASSES)
    counted = [np.histogram(values, edges)[0] for values in positive]
    top = max((float(values.max()) for values in counted if len(values)), default=1.0)
    plane = Plane(
        Axis(message("Probability of a correct link"), low, 1.0, "log", number),
        Axis("Records", 0, max(top, 1.0) * 1.2, "symlog", tick, linear_below=1.0),
    )
    for (_, _, kind), values in zip(sides, counted, strict=True):
        plane.line(np.repeat(edges, 2)[1:-1].tolist(), np.repeat(values, 2).tolist(), kind)
    if result.benchmark <= 1:
        plane.rule(
            x=float(result.benchmark), label=message("benchmark {x}", x=number(result.benchmark))
        )
    return plane.render(text)


def frequencies_chart(counts: Any, text: str) -> str:
    """Return estimated population frequency against sample frequency, a dot a distinct key."""
    order = np.argsort(counts.cell_F, kind="stable")
    rows = order[:: max(1, -(-len(order) // MOST_POINTS))]
    if not len(rows):
        return ""
    f, big = (np.asarray(values, dtype=float) for values in (counts.cell_f, counts.cell_F))
    low, high = float(min(f.min(), big.min())), float(big.max())
    plane = Plane(
        Axis(
            message("Records of the file with the key, f"),
            float(f.min()) * 0.9,
            float(f.max()) * 1.1,
            "log",
        ),
        Axis(message("Persons of the population, F"), low * 0.9, high * 1.1, "log"),
    )
    ends = [float(f.min()), float(min(f.max(), high))]
    plane.line(ends, ends, "zero")
    plane.dots(f[rows].tolist(), big[rows].tolist())
    return plane.render(text)


def suda_chart(result: Any, text: str) -> str:
    """Return the DIS-SUDA scores in descending order."""
    scores = np.sort(np.asarray(result.dis_score, dtype=float))[::-1]
    scores = scores[scores > 0]
    if not len(scores):
        return ""
    ranks = np.arange(1, len(scores) + 1)
    steps = np.unique(np.geomspace(1, len(scores), MOST_STEPS).astype(int)) - 1
    plane = Plane(
        Axis(
            message("Rank of the record, the most special first"),
            1,
            max(float(len(scores)), 2.0),
            "log",
        ),
        Axis(message("DIS-SUDA score"), 0, float(scores.max()) * 1.05),
    )
    plane.line(ranks[steps].tolist(), scores[steps].tolist())
    return plane.render(text)
