"""What a notebook shows of an object: a sentence, a table, one figure, a diagram of steps."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.text import BLANK, count, number, yes_or_no

ROWS = 20
CELL = "text-align:{side};padding:2px 10px 2px 0;border-bottom:1px solid #d5dae0"
BOX = (
    "display:inline-block;border:1px solid #7b8794;border-radius:6px;padding:4px 10px;"
    "margin:2px;vertical-align:middle"
)
MOST_WORDS = 90


def view(sentence: str, table: pd.DataFrame | None = None, picture: Any = None) -> str:
    """Return the HTML of a sentence, the first rows of a table and a figure (also as SVG)."""
    lines = "<br>".join(escape(line) for line in sentence.splitlines())
    blocks = [f'<p style="max-width:60em">{lines}</p>']
    if table is not None and len(table.columns):
        blocks.append(html_table(table))
    if picture is not None:
        blocks.append(picture if isinstance(picture, str) else picture._repr_svg_())
    return f"<div>{''.join(blocks)}</div>"


def html_table(table: pd.DataFrame, rows: int = ROWS) -> str:
    """Return the first rows as an HTML table with numbers as the reports write them."""
    top = table.head(rows)
    if top.index.name or not _counted(top):
        top = top.reset_index()
    columns = (top.iloc[:, j] for j in range(top.shape[1]))
    sides = ["right" if _is_number(column.dtype) else "left" for column in columns]
    head = "".join(
        f'<th style="{CELL.format(side=side)}">{escape(str(name))}</th>'
        for name, side in zip(top.columns, sides, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{CELL.format(side=side)}">{escape(cell_text(value))}</td>'
            for value, side in zip(row, sides, strict=True)
        )
        + "</tr>"
        for row in top.itertuples(index=False)
    )
    more = len(table) - len(top)
    note = f"<p>{count(more)} more rows.</p>" if more > 0 else ""
    return (
        '<table style="border-collapse:collapse">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
    )


def _counted(table: pd.DataFrame) -> bool:
    """Whether the rows are only numbered."""
    return table.index.nlevels == 1 and table.index.equals(type(table.index)(range(len(table))))


def _is_number(dtype: Any) -> bool:
    """Whether a column is set to the right; True and False are words."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def cell_text(value: Any) -> str:
    """Return a cell as text: numbers as in reports, what is missing as a dash."""
    if isinstance(value, bool | np.bool_):
        return yes_or_no(value)
    if isinstance(value, int | np.integer):
        return count(value)
    if isinstance(value, float | np.floating):
        return number(value)
    if value is None or value is pd.NA or value is pd.NaT:
        return BLANK
    text = str(value)
    return text if len(text) <= MOST_WORDS else f"{text[: MOST_WORDS - 1]}…"


def diagram(steps: Sequence[tuple[str, str]]) -> str:
    """Return the steps of a pipeline, title and detail each, as boxes from left to right."""
    boxes = [
        f'<span style="{BOX}"><b>{escape(title)}</b><br>'
        f'<span style="color:#7b8794;font-size:90%">{escape(cell_text(detail))}</span></span>'
        for title, detail in steps
    ]
    return f'<div role="img" aria-label="Steps of the pipeline">{" → ".join(boxes)}</div>'


def step_text(step: Any) -> tuple[str, str]:
    """Return the kind of a step and what it makes, for the diagram of a recipe."""
    kind, _, variable = str(getattr(step, "label", type(step).__name__)).partition(" ")
    columns = getattr(step, "provides", ()) or ((variable,) if variable else ())
    return kind, ", ".join(map(str, columns))
