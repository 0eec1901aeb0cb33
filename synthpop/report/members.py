"""Households as a whole: members together, counts, sums and ages."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthpop.evaluation.ranking import KINDS, ratios
from synthpop.evaluation.result import FitReport
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.suppression import SMALLEST_COUNT
from synthpop.microdata.messages.text import BLANK, number, short_percent
from synthpop.microdata.pages.page_facts import table
from synthpop.report.sections import ratio_cell

MEASURES = {"tvd": "TVD", "ks": "KS", "agreement": "agreement", "correlation": "correlation",
            "indicator": "indicator"}  # fmt: skip
TITLES = {
    "members": message("Two members of a household"),
    "household counts": message("Members per household"),
    "household sums": message("Household sums"),
    "age gaps": message("Age gaps, years"),
}


def member_tables(fit: FitReport, names: FigureNames, external: bool) -> list[dict[str, Any]]:
    """Return a table for each kind of comparison, the farthest for its error first."""
    rows = fit.tables["households"]
    if rows.empty:
        return []
    if external:
        rows = rows[rows["n_sample"] >= SMALLEST_COUNT]
    ratio = ratios(rows, fit.effective_size)
    rows = rows.assign(kind=rows["scope"].map(KINDS), ratio=ratio)
    rows = rows.sort_values("ratio", ascending=False, kind="stable")
    reach = float(rows["ratio"].max()) if len(rows) else 1.0
    result = []
    for kind, title in TITLES.items():
        body = [_cells(row, names, reach) for row in rows[rows["kind"] == kind].to_dict("records")]
        if body:
            head = [
                "What",
                "Measure",
                "Survey",
                "Population",
                "Distance",
                message("Over error"),
                "",
            ]
            result.append({"title": gettext(title), "table": table(head, body, text_columns=2)})
    return result


def _cells(row: dict[Any, Any], names: FigureNames, reach: float) -> list[Any]:
    measure, what = row["measure"], names.short(row["variable"])
    if row["where"]:
        what = f"{what}: {message(row['where'])}"
    text = short_percent if measure in ("agreement", "indicator") else number
    values = [row["sample"], row["population"]]
    texts = [text(value, 3) if np.isfinite(value) else BLANK for value in values]
    distance = (number if measure == "correlation" else short_percent)(row["value"], 2)
    times, bar = number(row["ratio"], 2), ratio_cell(row["ratio"], reach)
    return [what, gettext(MEASURES[measure]), *texts, distance, times, bar]
