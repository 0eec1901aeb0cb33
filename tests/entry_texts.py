"""What the entries say on pages, and which of it has no German yet: pages show it in English."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from riskeval.attacks.registry import ATTACKS
from riskeval.measures.registry import MEASURES
from riskeval.protection.registry import VERBS
from riskeval.utility.registry import UTILITIES
from synthpop.app.texts import t
from synthpop.microdata.messages.language import gettext, use_language
from synthpop.stages.registry import STAGES

SAME = {"Mondrian", "DiSCO", "RAPID", "SUDA2"}
"""Names that are the same in German."""


def texts() -> Iterator[str]:
    """Yield the titles of all entries, and what else of them stands on a page."""
    yield from (method.title for method in VERBS.values())
    yield from (stage.entry.title for stage in STAGES.values())
    for measure in MEASURES.values():
        yield from (measure.title, measure.question)
    for attack in ATTACKS.values():
        yield from (attack.title, attack.story, attack.blind_spots)
    for measured in (*MEASURES.values(), *UTILITIES.values()):
        for info in measured.infos:
            yield info.meaning


@cache
def without_german() -> tuple[str, ...]:
    """Return what of it pages in German show in English."""
    with use_language("de"):
        german = {text: t(text) for text in {*texts()} - SAME}
        return tuple(sorted(text for text in german if german[text] == text == gettext(text)))
