"""The verdict as the first row of a page."""

from __future__ import annotations

from riskeval.verdict.verdict import CLEAR, EXCEEDED, STOP, UNKNOWN, ReleaseVerdict
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.pages.page_facts import verdict

COLOURS = {STOP: "bad", EXCEEDED: "bad", UNKNOWN: "look", CLEAR: "good"}


def verdict_row(judged: ReleaseVerdict, external: bool, link: str = "") -> dict[str, str]:
    """Return the row: level, reasons, and how much was not tried.

    External readers see what was found without its numbers.
    """
    reason = judged.summary()
    if external and judged.evidence:
        names = dict.fromkeys(gettext(one.name) for one in judged.evidence if not one.single)
        reason = message("Reasons: {names}.", names=join(list(names))) if names else ""
        reason = reason or "Numbers of single records, which are not shown, exceed their limits."
    if judged.not_tried:
        reason += " " + message(
            "Not tried or not measured: {n}.", n=plural(len(judged.not_tried), "point")
        )
    return verdict("Verdict", judged.level, COLOURS[judged.level], reason, link)
