"""The page of a protection session: what was done, and risk and utility before and after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.report.protection_variables import safe_columns, variable_rows
from riskeval.report.protection_verdicts import before_and_now, verdict_rows, worst_rows
from riskeval.report.riskiest import limit_cell, riskiest_records
from riskeval.report.values import ROUNDING, visible
from riskeval.session.edited import EDITED
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.suppression import rounded
from synthpop.microdata.messages.text import count, number
from synthpop.microdata.pages.charts import part_bar
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import Svg, card, table

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession

ROLES = {
    "keys": "Keys",
    "numeric": message("Numeric keys"),
    "weights": "Weights",
    "household": "Household",
    "strata": "Strata",
    "sensitive": "Sensitive",
    "linked": message("Suppressed with a key"),
    "pram": "Post-randomised",
    "drop": message("Left out of the release"),
}
GROUPS = (
    (1, "1"),
    (2, "2"),
    (3, message("3 or 4")),
    (5, message("5 to 9")),
    (10, message("10 or more")),
)
RISK_BINS = (0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
RISK_LABELS = (
    message("below 0.0001"),
    message("0.0001 to 0.001"),
    message("0.001 to 0.01"),
    message("0.01 to 0.1"),
    message("0.1 or more"),
)
CAPTIONS = {
    "key_sizes": (
        message(
            "Records by the number of records that they share their keys with, themselves "
            "included. A missing value agrees with every value. Records below 3 stand out."
        )
    ),
    "risks": (
        message(
            "Records by the probability that an intruder who knows the keys links them to "
            "the right person. At 0.09 or more a record is above the limit of the European "
            "Medicines Agency (Policy 0070)."
        )
    ),
}
BY_HAND = message(
    "A step was edited elsewhere: its file and note are kept, and it cannot be repeated by itself."
)
OF_AMOUNTS = message(
    "Interval disclosure assumes that the intruder's values are exact and that records are "
    "compared one by one; it is not a probability of a correct link."
)
OF_RECORDS = message(
    "Means and deviations are those of the records, not estimates of the population. Judge the use "
    "of the file by the estimates that matter to its users."
)
OF_KEYS = ("below_3", "expected_reidentifications")
CARDS = (
    ("below_3", "Violations of 3-anonymity", "records, before and after"),
    ("expected_reidentifications", "Expected re-identifications",
     "among all records, before and after"),
    ("record_linkage", "Record linkage", message("of the records, before and after")),
    ("interval_disclosure", "Interval disclosure", message("of the records, before and after")),
)  # fmt: skip
NOT_SHOWN = message(
    "Means and deviations are not shown where a single value could be computed from them: fewer "
    "than ten values changed, or one of them dominates."
)


def write_protection(
    path: Place | str, session: ProtectionSession, audience: str, language: str = "en"
) -> Place:
    """Write the page of a session; see `ProtectionSession.report`."""
    facts = partial(protection_facts, session)
    return write_for(
        path, "riskeval", "protect.html.j2", facts, title=None, audience=audience,
        language=language,
    )  # fmt: skip


def protection_facts(session: ProtectionSession, external: bool) -> dict[str, Any]:
    """Return everything that the page says, as text ready to be set."""
    return {
        "title": message(
            "Protection of a file of {n} records", n=count(len(session.original_frame))
        ),
        "external": external,
        "rounding": f"{ROUNDING} {NOT_SHOWN}" if external else "",
        "cards": _cards(session, external),
        "verdicts": verdict_rows(session, external),
        "worst": worst_rows(session, external),
        "utility_text": "" if external else session.utility().summary(),
        "roles": [
            (title, _names(getattr(session.roles, role)))
            for role, title in ROLES.items()
            if getattr(session.roles, role)
        ],
        "steps": _steps(session, external),
        "risk": _risk(session, external),
        "classes": [] if external or not session.roles.keys else _classes(session),
        "riskiest": None
        if external or not session.roles.keys
        else riskiest_records(session.individual_risk()),
        "variables": variable_rows(session, external),
        "sorts": [] if external else [("changed", message("values changed"))],
        "losses": _losses(session, external),
        "caveats": _caveats(session),
    }


def _names(value: Any) -> str:
    if isinstance(value, str):
        return value
    parts = [f"{v[0]} -> {', '.join(v[1])}" if isinstance(v, tuple) else str(v) for v in value]
    return ", ".join(parts)


def _cards(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    cells, both = session.cells_changed, session.risk().measurements["original"]
    return [
        card("Steps", f"{len(session.history())}", "in effect"),
        card(
            "Values changed",
            rounded(cells) if external else count(cells),
            message("of {n} in the file", n=count(session.original_frame.size)),
        ),
        *(
            card(title, joined_by(" → ", before_and_now(session, name, external)), what)
            for name, title, what in CARDS
            if name in both and (name in OF_KEYS) == bool(session.roles.keys)
        ),
    ]


def _steps(session: ProtectionSession, external: bool) -> dict[str, Any]:
    head = ["Step", "Method", "Arguments", "Seed", "Cells", "Records"]
    rows = []
    for row, step in zip(session.history().to_dict("records"), session.steps, strict=True):
        hidden = gettext("secret") if step.seed is not None else "–"
        seed = hidden if pd.isna(row["seed"]) else str(row["seed"])
        inside = () if external else (row["arguments"], seed)
        changed = [None if pd.isna(row[name]) else row[name] for name in ("cells", "records")]
        counts = (rounded(x) if external else count(x) for x in changed)
        rows.append((row["step"], row["verb"], *inside, *counts))
    if external:
        head = [name for name in head if name not in ("Arguments", "Seed")]
    return table(head, rows, text_columns=2 if external else 3)


def _risk(session: ProtectionSession, external: bool) -> dict[str, Any]:
    both = session.risk().measurements
    known = {**both["original"], **both["current"]}
    rows = []
    for key, one in known.items():
        if one not in visible([one], external):
            continue
        met = limit_cell(both["current"].get(key, one))
        rows.append((one.title, one.info.meaning, *before_and_now(session, key, external), met))
    head = ["Number", message("What it means"), "Original", "Current", "Limit"]
    return table(head, rows, text_columns=2)


def _classes(session: ProtectionSession) -> list[dict[str, Any]]:
    """Return the records by size of their key and by risk: classes, counts and bars."""
    both = [session.individual_risk(original=True), session.individual_risk()]
    edges = np.array([least for least, _ in GROUPS] + [np.inf])
    sizes = [np.histogram(risk.f, edges)[0] for risk in both]
    risks = [np.histogram(risk.risk, RISK_BINS)[0] for risk in both]
    return [
        {"caption": CAPTIONS["key_sizes"],
         "table": _counted(message("Records that share the keys"), [t for _, t in GROUPS], sizes)},
        {"caption": CAPTIONS["risks"],
         "table": _counted(message("Probability of a correct link"), list(RISK_LABELS), risks)},
    ]  # fmt: skip


def _counted(head: str, labels: Sequence[str], counts: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return counts of classes before and after, with bars on one linear axis."""
    reach = float(max(*(int(values.max(initial=0)) for values in counts), 1))
    rows = []
    for label, before, after in zip(labels, *counts, strict=True):
        label = gettext(label)
        text = message(
            "{label}: {before} records before, {after} now",
            label=label,
            before=count(before),
            after=count(after),
        )
        bars = [Svg(part_bar([(float(n), kind)], reach, text))
                for n, kind in ((before, "band"), (after, "mark"))]  # fmt: skip
        rows.append([label, count(before), bars[0], count(after), bars[1]])
    return table([head, "Original", "", "Current", ""], rows)


def _losses(session: ProtectionSession, external: bool) -> dict[str, Any]:
    """Loss of utility by the registry; for external readers only where all numbers are safe."""
    measured = session.utility().measurements.get("current", {})
    if not measured or (external and not set(session.roles.numeric) <= safe_columns(session)):
        return table([], [])
    rows = [
        (
            label,
            message(
                "{meaning}; {perfect} is no loss",
                meaning=one.info.meaning,
                perfect=number(one.info.perfect),
            ),
            number(one.value, 4),
        )
        for (_, label), one in measured.items()
    ]
    return table(["Number", "What it means", "Value"], rows, text_columns=2, words=1)


def _caveats(session: ProtectionSession) -> list[str]:
    roles, verbs = session.roles, {step.verb for step in session.steps}
    by_hand = [BY_HAND] if EDITED in verbs else []
    if not roles.keys:
        return [*by_hand, message(
            "An intruder is thought to know the amounts and nothing else: region, industry or size "
            "of the units would tell more. Name them as keys where the file has them."
        ), OF_AMOUNTS, OF_RECORDS]  # fmt: skip
    sentences = [
        message(
            "Every number of the risk depends on the keys: they stand for what an intruder "
            "is thought to know. An intruder who knows more is not covered."
        ),
        message(
            "A missing value agrees with every value when records are counted. Key values "
            "that can be read back from household members, weights or other columns are "
            "counted apart."
        ),
    ]
    if roles.weights is None:
        sentences.append(
            message(
                "No weights were given: the file counts as the whole population, and a record "
                "that is unique in it has the risk 1."
            )
        )
    if roles.household is None:
        sentences.append(
            message("No household was declared: risk through other members is not counted.")
        )
    if verbs & {"pram", "record_swap"}:
        sentences.append(
            message(
                "Values were exchanged at random. Counts on the keys do not know that a match "
                "may be wrong: where keys were exchanged, the true risk is lower than the "
                "numbers say."
            )
        )
    if roles.numeric:
        sentences.append(OF_AMOUNTS)
    return [*by_hand, *sentences, OF_RECORDS]
