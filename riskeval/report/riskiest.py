"""The riskiest records of a file, for internal pages, and how pages mark limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number
from synthpop.microdata.pages.page_facts import limit_mark, table

if TYPE_CHECKING:
    from riskeval.measures.individual_result import IndividualRisk

MOST_ROWS = 10


def limit_cell(one: Measurement) -> Markup:
    """Return whether a limit is met: a word, a shape and a colour."""
    mark = limit_mark(one.within, one.applies)
    return Markup('<span class="limit-mark {kind}">{text}</span>').format(**mark)


def riskiest_records(risk: IndividualRisk | None) -> dict[str, Any] | None:
    """Return the records with the highest individual risk, one row per distinct key."""
    if risk is None or not len(risk.risk):
        return None
    keys = risk.counts.keys
    order = np.argsort(-risk.risk, kind="stable")
    _, first = np.unique(keys.cell[order], return_index=True)
    records = order[np.sort(first)][:MOST_ROWS]
    levels = keys.frame()
    rows = []
    for record in records:
        cell = keys.cell[record]
        values = [str(value) if value == value else "missing" for value in levels.iloc[cell]]
        numbers = [number(risk.risk[record]), number(risk.f[record]), number(risk.F[record])]
        if risk.household_risk is not None:
            numbers.append(number(risk.household_risk[record]))
        rows.append((str(record + 1), *values, *numbers))
    household = (message("Household risk"),) if risk.household_risk is not None else ()
    head = ("Record", *keys.names, "Risk", "f", "F", *household)
    return table(head, rows, text_columns=1 + len(keys.names))
