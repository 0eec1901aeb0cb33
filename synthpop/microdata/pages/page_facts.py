"""What pages are made of: tables, verdict rows and folding rows, as text ready to be set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.text import BLANK

LEVELS = ("good", "look", "bad", "none")


class Svg(str):
    """Text that a page shows as it is: a chart made here, never something of the data."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "",
          text_columns: int = 1, words: int = 0) -> dict[str, object]:  # fmt: skip
    """Return what the template needs for a table; columns after the first ones are numbers.

    The first `words` columns hold words of the page, never names or levels of the data.
    """
    return {
        "head": [gettext(text) for text in head],
        "rows": [[*map(gettext, row[:words]), *row[words:]] for row in rows],
        "caption": caption,
        "text_columns": text_columns,
    }


def card(title: str, value: str, note: str = "") -> dict[str, str]:
    """Return a key figure for the head of a page."""
    return {"title": gettext(title), "value": value, "note": gettext(note)}


def verdict(what: str, word: str, level: str, reason: str, link: str = "") -> dict[str, str]:
    """Return a verdict row: what is judged, one word, its level and the reason.

    level: colour and shape of the row, one of `LEVELS`; "none" where nothing is judged
    link: where the page says more, such as ``"#risk"``
    """
    return {
        "what": gettext(what),
        "word": gettext(word),
        "level": level,
        "reason": gettext(reason),
        "link": link,
    }


def finding(sentence: str, link: str, advice: str = "") -> dict[str, str]:
    """Return something that needs a look: a sentence, where it is shown, and what to do."""
    return {"sentence": sentence, "link": link, "advice": gettext(advice)}


def folding_row(
    key: str,
    title: str,
    kind: str,
    plot: str,
    cells: Sequence[str],
    order: Mapping[str, float],
    *,
    flagged: bool = False,
    **body: Any,
) -> dict[str, object]:
    """Return a row of a list that can be searched, sorted and folded out.

    key: unique on the page; its id is `row_id` of it
    plot: small chart (SVG), or empty
    cells: three texts at most, to the right of the plot
    order: numbers by which the list can be sorted
    flagged: whether the row needs a look: the filter keeps it, and its last cell stands out
    body: what the row shows when it is open: `sentences`, `tables` (title and table each), `charts`
        (chart and caption each)
    """
    return {
        "id": row_id(key),
        "name": key,
        "title": title,
        "kind": gettext(kind),
        "plot": Svg(plot),
        "cells": list(cells),
        "order": {name: round(float(value), 6) if value == value else -1.0
                  for name, value in order.items()},
        "flagged": flagged,
        "sentences": [text for text in body.pop("sentences", ()) if text],
        "tables": list(body.pop("tables", ())),
        "charts": [{"chart": Svg(chart["chart"]), "caption": gettext(chart["caption"])}
                   for chart in body.pop("charts", ()) if chart["chart"]],
        **body,
    }  # fmt: skip


def row_id(name: str) -> str:
    """Return the id of a row on the page: letters, digits and a number for the rest."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "-", name)
    if plain == name:
        return f"v-{name}"
    mark = sum((k + 1) * ord(c) for k, c in enumerate(name)) % 4096
    return f"v-{plain}-{mark:x}"


def limit_mark(within: bool | None, applies: bool = True) -> dict[str, str]:
    """Return how a limit is marked: by a word, a shape and a colour."""
    if not applies:
        return {"text": gettext("does not apply"), "kind": "grey"}
    if within is None:
        return {"text": BLANK, "kind": "none"}
    if within:
        return {"text": gettext("met"), "kind": "good"}
    return {"text": gettext("exceeded"), "kind": "bad"}
