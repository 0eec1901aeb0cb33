"""Households as a whole: members together, counts, sums and ages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.ranking import KINDS
from synthpop.evaluation.result import FitReport
from synthpop.figures.names import FigureNames
from synthpop.microdata import charts as svg
from synthpop.microdata.language import gettext
from synthpop.microdata.page_facts import Svg, table
from synthpop.microdata.suppression import SMALLEST_COUNT
from synthpop.microdata.text import BLANK, number, short_percent

MEASURES = {"tvd": "TVD", "ks": "KS", "agreement": "agreement", "correlation": "correlation",
            "indicator": "indicator"}  # fmt: skip
TITLES = {
    "members": "Two members of a household",
    "household counts": "Members per household",
    "household sums": "Household sums",
    "age gaps": "Age gaps, years",
}


def member_tables(fit: FitReport, names: FigureNames, external: bool) -> list[dict[str, Any]]:
    """Return a table for each kind of comparison, the farthest for its error first."""
    rows = fit.tables["households"]
    if rows.empty:
        return []
    if external:
        rows = rows[rows["n_sample"] >= SMALLEST_COUNT]
    expected = rows[["expected_sampling_error", "expected_simulation_error"]].max(axis=1)
    least = 0.5 / max(fit.effective_size, 1.0)
    ratio: pd.Series = (rows["value"] / np.maximum(expected.fillna(least), least)).where(
        rows["value"] > 0, 0
    )
    rows = rows.assign(kind=rows["scope"].map(KINDS), ratio=ratio, given="")
    rows = rows.sort_values("ratio", ascending=False, kind="stable")
    reach = float(rows["ratio"].max()) if len(rows) else 1.0
    result = []
    for kind, title in TITLES.items():
        body = [_cells(row, names, reach) for row in rows[rows["kind"] == kind].to_dict("records")]
        if body:
            head = ["What", "Measure", "Survey", "Population", "Distance", "Over error", ""]
            result.append({"title": gettext(title), "table": table(head, body, text_columns=2)})
    return result


def _cells(row: dict[Any, Any], names: FigureNames, reach: float) -> list[Any]:
    share = row["measure"] in ("agreement", "indicator")
    text = short_percent if share else number
    values = [
        text(row[side], 3) if np.isfinite(row[side]) else BLANK for side in ("sample", "population")
    ]
    value = row["value"]
    distance = number(value, 2) if row["measure"] == "correlation" else short_percent(value, 2)
    times = number(row["ratio"], 2)
    bar = svg.ratio_bar(float(row["ratio"]), reach, f"{times} times the sampling error")
    what = (
        f"{names.short(row['variable'])}: {row['where']}"
        if row["where"]
        else names.short(row["variable"])
    )
    return [what, gettext(MEASURES[row["measure"]]), *values, distance, times, Svg(bar)]
