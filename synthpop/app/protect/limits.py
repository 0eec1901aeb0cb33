"""Class limits set on a histogram: by a click, by sliders, or by one of the proposals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagChild, svg, tags

from synthpop.app.forms import read_value
from synthpop.app.jobs import JobRequest, Need
from synthpop.app.protect.session import session_of, steps_stamp
from synthpop.app.view import View
from synthpop.microdata.messages.text import count, number

VERB, ENTRY = "global_recode", "global_recode-breaks"
BARS, WIDTH, HEIGHT = 60, 600.0, 120.0


def column_of(view: View) -> str:
    """Return the column that the form names; "" without one."""
    tried = view.choice("try", {})
    return str(tried.get("entries", {}).get("column", "")) if tried.get("verb") == VERB else ""


def needs(view: View) -> list[Need]:
    """Return the need for the histogram of the column."""
    column = column_of(view)
    if not column:
        return []
    stamp = steps_stamp(view.project.protect) + json.dumps(column)
    return [Need("protect.histogram", stamp, {"column": column}, kept=True)]


def histogram(request: JobRequest) -> Any:
    """Return records by class of equal width, and proposed limits; None for no number."""
    import numpy as np

    from riskeval.session.candidates import key_recodings
    from synthpop.microdata.frame.frames import as_numbers, is_number

    values = session_of(request.workspace, request.project.protect).data[
        request.arguments["column"]
    ]
    if not is_number(values):
        return None
    numbers = as_numbers(values)
    numbers = numbers[np.isfinite(numbers)]
    if len(numbers) == 0 or numbers.min() == numbers.max():
        return None
    is_whole = bool(np.all(numbers == np.round(numbers)))
    low, high = float(numbers.min()), float(numbers.max())
    bins = min(BARS, int(high - low) + 1) if is_whole else BARS
    counts, _ = np.histogram(numbers, bins, range=(low, high))
    proposals = [arguments["breaks"] for verb, arguments in key_recodings(values) if verb == VERB]
    return {
        "low": low, "high": high, "whole": is_whole, "counts": [int(n) for n in counts],
        "proposals": [", ".join(f"{limit:.12g}" for limit in one) for one in proposals],
    }  # fmt: skip


def limits_in(entries: Mapping[str, Any]) -> list[float]:
    """Return the finite limits that an entry holds; none while it is no list of numbers."""
    found = read_value(str(entries.get("breaks", "")) or "-")
    listed = found if isinstance(found, list) else [found]
    return [float(one) for one in listed if isinstance(one, (int, float)) and math.isfinite(one)]


def render(view: View) -> Tag | None:
    """Return the histogram with the present limits; None where the column has none."""
    t, wanted = view.t, needs(view)
    shape = view.value("protect.histogram", wanted[0].stamp) if wanted else None
    if not shape:
        return None
    limits = limits_in(view.choice("try", {}).get("entries", {}))
    low, high = shape["low"], shape["high"]
    inside = [limit for limit in limits if low <= limit <= high]
    sliders: list[TagChild] = [
        tags.label(
            t("Limit {n}", n=place + 1),
            tags.input(
                type="range", min=str(low), max=str(high), value=f"{limit:.12g}",
                step="1" if shape["whole"] else "any", data_limit=f"{limit:.12g}", data_entry=ENTRY,
                id=f"limit-{place}",
            ),
            tags.span(number(limit, 6)),
        )
        for place, limit in enumerate(inside)
    ]  # fmt: skip
    proposals = [
        tags.button(
            t("{n} classes", n=count(text.count(","))), type="button", class_="button small",
            data_proposal=text, data_entry=ENTRY, title=text,
        )
        for text in shape["proposals"]
    ]  # fmt: skip
    return tags.div(
        tags.p(t("Click into the histogram to set a limit or to take one away; the sliders and the "
                 "entry above do the same."), class_="help"),
        _bars(shape, inside, t("Records by value of the column")),
        tags.div(tags.span(number(low, 6)), tags.span(number(high, 6)), class_="ends"),
        tags.div(t("Proposals: "), *proposals, class_="pair") if proposals else None,
        tags.div(*sliders, class_="sliders") if sliders else None,
        class_="limits",
    )  # fmt: skip


def _bars(shape: Mapping[str, Any], limits: list[float], title: str) -> Tag:
    counts, low = shape["counts"], shape["low"]
    step, top, span = WIDTH / len(counts), max(counts), shape["high"] - shape["low"]
    bars = [
        svg.rect(
            x=f"{place * step:.1f}", y=f"{HEIGHT * (1 - n / top):.1f}", width=f"{step * 0.9:.1f}",
            height=f"{HEIGHT * n / top:.1f}",
        )
        for place, n in enumerate(counts)
    ]  # fmt: skip
    places = [WIDTH * (limit - low) / span for limit in limits]
    lines = [svg.line(x1=f"{x:.1f}", x2=f"{x:.1f}", y1="0", y2=str(HEIGHT)) for x in places]
    return svg.svg(
        *bars, *lines, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", preserveAspectRatio="none",
        class_="histogram", role="img", aria_label=title, data_histogram=ENTRY,
        data_low=str(low), data_high=str(shape["high"]), data_whole=str(shape["whole"]).lower(),
    )  # fmt: skip
