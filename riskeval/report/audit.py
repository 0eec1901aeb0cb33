"""The page on an audit: which stage of a generator gives respondents away."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from riskeval.auditing.result import WHO, AttackResult, Audit, GroupResult, finding_text, stage_text
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import capitalised, message
from synthpop.microdata.messages.text import BLANK, formatted, join, percent, plural, short_percent
from synthpop.microdata.pages.charts import interval_dot, roc_curve
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import card, finding, folding_row, row_id, table, verdict

ADVICE = {
    "planted": "Pool this stage more, or give it a method that does not draw values of donors.",
    "unique": "Keep fewer variables in the structure, or draw their numbers again (jitter).",
    "outlier": "Look at the stages that are named, and at the largest households and amounts.",
    "random": "Look at the stages that are named.",
}
ATTACKS = {
    "copies": "counts released persons or households that are equal to the one looked for",
    "close values": "counts those whose amounts are within a thousandth",
    "nearest": "takes the distance to the nearest one",
    "density": "takes the mean distance to the five nearest ones",
    "neighbours": "reconstructs: of those nearest in the known columns, how many have the value",
    "likelihood ratio": "learns from half of the refits how the best of these is distributed for "
    "each household, with it and without it",
    "shadow models": "learns from half of the refits a classifier of all of these together",
}


def write_audit(
    path: Place | str, audit: Audit, *, title: str | None = None, language: str = "en"
) -> Place:
    """Write what an audit found as one self-contained HTML file, for the office.

    Parameters
    ----------
    path : path
    audit : Audit
        Result of `audit`.
    title : str, optional
    language : {"en", "de"}

    Raises
    ------
    InputError
        An unknown language.
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from riskeval import audit
    >>> from synthpop import Survey
    >>> survey = Survey(pd.DataFrame({"w": 1.0, "income": np.arange(100.0)}), weight="w")
    >>> result = audit(lambda frame, seed: frame, survey, n_refits=20, seed=1)
    >>> page = write_audit(tempfile.mkdtemp() + "/audit.html", result)
    >>> "income" in page.read_text(encoding="utf-8")
    True
    """
    facts = partial(_facts, audit)
    return write_for(
        path, "riskeval", "audit.html.j2", facts, title=title, audience="internal",
        language=language,
    )  # fmt: skip


def _facts(audit: Audit, external: bool) -> dict[str, Any]:
    """Return everything that the page says; there is no external one."""
    found = [one for one in audit.groups if audit.gives_away(one)]
    rows = [_row(audit, one) for one in audit.groups]
    rows.sort(key=lambda row: not row["flagged"])
    return {
        "title": gettext("Audit of a generator"),
        "external": external,
        "cards": [
            card("Refits", str(audit.n_refits), "half of them for training"),
            card("Stages named", str(len(audit.leaking)), "the release as a whole included"),
            card("Epsilon, at least", formatted(audit.epsilon, ".2f"), "a lower bound"),
        ],
        "verdicts": _verdicts(audit, found),
        "worst": [
            finding(finding_text(one), f"#{row_id(_key(one))}", ADVICE[one.kind]) for one in found
        ],
        "nothing": message("No attack recognises clearly more than the limit."),
        "rows": rows,
        "sorts": [("recognised", message("recognised")), ("epsilon", "epsilon")],
        "attacks": table(
            ["Attack", "What it does"],
            [[capitalised(gettext(name)), gettext(text)] for name, text in ATTACKS.items()],
            text_columns=2,
        ),
        "how": _how(audit),
        "seed": str(audit.seed),
    }


def _verdicts(audit: Audit, found: list[GroupResult]) -> list[dict[str, str]]:
    """Return the rows: who is recognised, and the bound of epsilon."""
    limit = percent(audit.limit, 0)
    if found:
        reason = message("Named: {names}.", names=join(map(stage_text, audit.leaking)))
        first = verdict("Respondents", "recognised", "bad", reason, "#stages")
    else:
        reason = message(
            "No more than {limit} clearly recognised at one false alarm in a hundred, by what was "
            "tried.",
            limit=limit,
        )
        first = verdict("Respondents", "not recognised", "look", reason, "#stages")
    level = "bad" if found else "look"
    return [first, verdict("Epsilon", "lower bound", level, audit.bound_text(), "#reading")]


def _how(audit: Audit) -> str:
    """Say what was done."""
    text = message(
        "In each of {refits} every household looked for was there with probability one half; "
        "of all others {share} were, drawn anew. The populations have {scale} of the size of the "
        "country.",
        refits=plural(audit.n_refits, "refit"),
        share=percent(audit.share, 0),
        scale=short_percent(audit.scale),
    )
    if audit.n_failed:
        text += " " + message(
            "{n} of households could not be learned from, and were drawn again.",
            n=plural(audit.n_failed, "draw"),
        )
    return text


def _key(group: GroupResult) -> str:
    return f"{group.stage} {group.kind}"


def _row(audit: Audit, group: GroupResult) -> dict[str, Any]:
    best = group.strongest
    who = capitalised(message(WHO[group.kind]))
    if best is None:
        text = message("No column that can be compared.")
        cells = [BLANK, BLANK, BLANK]
        return folding_row(_key(group), group.stage, who, "", cells, {}, sentences=[text])
    rate = best.at_one_percent
    title = message("{stage}: {who}", stage=stage_text(group.stage), who=message(WHO[group.kind]))
    sentences = [finding_text(group)]
    if not np.isnan(group.reconstructed):
        sentences.append(
            message(
                "Of the released persons nearest in the known columns {inside} have the value "
                "looked for with the household in the survey, {outside} without it.",
                inside=short_percent(group.reconstructed),
                outside=short_percent(group.reconstructed_without),
            )
        )
    curve = roc_curve(best.roc, title)
    caption = "Share recognised by false alarms, strongest attack; the straight line is guessing."
    return folding_row(
        _key(group),
        stage_text(group.stage),
        who,
        interval_dot(*rate, audit.limit, (0.0, 1.0), title, is_far=audit.gives_away(group)),
        [
            short_percent(rate.value),
            formatted(best.auc, ".2f"),
            formatted(group.epsilon, ".2f"),
        ],
        {"recognised": rate.lower, "epsilon": group.epsilon},
        flagged=audit.gives_away(group),
        sentences=sentences,
        tables=[{"title": message("All attacks"), "table": _attacks(group.attacks)}],
        charts=[{"chart": curve, "caption": caption}],
    )


def _attacks(attacks: tuple[AttackResult, ...]) -> dict[str, Any]:
    head = ["Attack", "AUC", "at 1 % false alarms", "at 10 % false alarms", "epsilon at least"]
    rows = []
    for one in attacks:
        area = [formatted(x, ".2f") for x in (one.auc, one.auc_lower, one.auc_upper)]
        rates = [[short_percent(x) for x in rate] for rate in (one.at_one_percent,
                                                              one.at_ten_percent)]  # fmt: skip
        texts = [
            message("{value} ({low} to {high})", value=v, low=low, high=high)
            for v, low, high in (area, *rates)
        ]
        rows.append([capitalised(gettext(one.attack)), *texts, formatted(one.epsilon, ".2f")])
    return table(head, rows)
