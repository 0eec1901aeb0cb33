"""Two-way tables: the farthest ones cell by cell, coloured by difference over its error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.result import FitReport
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number, percent, points, short_percent
from synthpop.microdata.pages.page_facts import table
from synthpop.microdata.statistics.distances import (
    LARGE_ERRORS,
    NOTABLE_ERRORS,
    standardised_differences,
)
from synthpop.report.sections import ratio_cell

MOST_SHOWN = 6
MOST_CELLS = 400


def all_pairs(fit: FitReport, names: FigureNames) -> dict[str, Any]:
    """Return the table of all pairs, the farthest for their sampling error first."""
    rows = fit.ranking[fit.ranking["kind"] == "two-way table"]
    reach = float(rows["ratio"].max()) if len(rows) else 1.0
    body = [
        [message("{variable} by {given}", variable=names.short(row["variable"]),
              given=names.short(row["given"])),
         short_percent(row["value"], 2), short_percent(row["expected_sampling_error"], 2),
         number(row["ratio"], 2), ratio_cell(row["ratio"], reach)]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    head = [
        message("Two-way table"),
        "TVD",
        message("Sampling error"),
        message("TVD over error"),
        "",
    ]
    return table(head, body)


def farthest_pairs(fit: FitReport, names: FigureNames) -> list[dict[str, Any]]:
    """Return title and cells of the pairs that are farthest for their sampling error."""
    rows = fit.ranking[fit.ranking["kind"] == "two-way table"].head(MOST_SHOWN)
    tables = []
    two_way = fit.tables["two_way"]
    for a, b in zip(rows["variable"], rows["given"], strict=True):
        cells = two_way[(two_way["a"] == a) & (two_way["b"] == b)]
        if 0 < len(cells) <= MOST_CELLS:
            title = message("{variable} by {given}", variable=names.title(a), given=names.title(b))
            tables.append({"title": title, "grid": _grid(cells, fit.effective_size)})
    return tables


def _grid(cells: pd.DataFrame, effective: float) -> dict[str, Any]:
    q, p = (_matrix(cells, side) for side in ("sample", "population"))
    if len(q.columns) > len(q.index):
        q, p = q.T, p.T
    levels, others = list(q.index), list(q.columns)
    sample, population = q.to_numpy(dtype=float), p.to_numpy(dtype=float)
    z = standardised_differences(sample, population, effective)
    rows = []
    for i, level in enumerate(levels):
        entries = [
            {
                "text": points(population[i, j] - sample[i, j]),
                "kind": _kind(z[i, j]),
                "title": message(
                    "{levels}: survey {survey}, population {population}",
                    levels=f"{level}, {other}",
                    survey=percent(sample[i, j]),
                    population=percent(population[i, j]),
                ),
            }
            for j, other in enumerate(others)
        ]
        rows.append({"level": str(level), "cells": entries})
    return {"columns": [str(column) for column in others], "rows": rows}


def _matrix(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    matrix = cells.pivot(index="level_a", columns="level_b", values=column).astype(float)
    rows, columns = dict.fromkeys(cells["level_a"]), dict.fromkeys(cells["level_b"])
    return matrix.loc[list(rows), list(columns)]


def _kind(z: float) -> str:
    if not np.isfinite(z) or abs(z) <= NOTABLE_ERRORS:
        return "within"
    size = "far" if abs(z) > LARGE_ERRORS else "off"
    return f"{size}-{'more' if z > 0 else 'fewer'}"
