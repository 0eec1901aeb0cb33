"""Transition matrices as heat maps: the share of each level that would become another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from htmltools import Tag, tags

from synthpop.app.elements import framed_table
from synthpop.app.view import View
from synthpop.microdata.messages.text import BLANK, short_percent

MOST_LEVELS = 25


def transitions_of(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records by level before and after, for each column of a post-randomisation."""
    found = []
    for column, table in details.get("transitions", {}).items():
        if max(table.shape) <= MOST_LEVELS:
            found.append({
                "column": str(column), "levels": [str(level) for level in table.columns],
                "rows": [[str(level), [float(n) for n in row]] for level, row in
                         zip(table.index, table.to_numpy(), strict=True)],
            })  # fmt: skip
    return found


def render_transitions(view: View, found: Sequence[Mapping[str, Any]]) -> list[Tag]:
    """Return a heat map for each column; each cell holds its number too."""
    t, maps = view.t, []
    for one in found:
        rows = [
            tags.tr(tags.th(level, scope="row"), *[_cell(n, sum(counts)) for n in counts])
            for level, counts in one["rows"]
        ]
        title = t("{name}: share of each level (row) that becomes another one", name=one["column"])
        maps.append(framed_table(title, [t("Before"), *one["levels"]], rows, kind="scroll heat"))
    return maps


def _cell(n: float, total: float) -> Tag:
    share = n / total if total else 0.0
    text = short_percent(share, 2) if n else BLANK
    strength = round(100 * share**0.5) if n else 0
    return tags.td(text, class_="number", style=f"--share: {strength / 100}")
