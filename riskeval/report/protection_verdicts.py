"""The first screen of a protection page: which risks are left, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from riskeval.measures.k_anonymity import VISIBLE
from riskeval.report.advice import advice
from riskeval.report.values import limit_text, shown, visible
from riskeval.report.verdict_row import verdict_row
from riskeval.shared.measurement import Measurement
from riskeval.shared.show import lower
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.suppression import rounded
from synthpop.microdata.messages.text import BLANK, change, count, formatted, join
from synthpop.microdata.pages.page_facts import finding, verdict
from synthpop.microdata.statistics.intervals import wilson

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession

MOST_FINDINGS = 5
NOTABLE_CHANGE = 0.1
"""Relative change of a risk below which two files count as alike."""
FEW_CELLS, MANY_CELLS = 0.05, 0.2
MOSTLY = 0.5
"""Share of distinct values from which a column of numbers tells most records apart."""
ATTRIBUTES = (
    "Records whose key leaves fewer than two sensitive values of {name}: {a} before, {b} now."
)
AMOUNTS = {
    "interval_disclosure": "Records whose true amounts all lie near the released ones: {a} before, "
    "{b} now.",
    "record_linkage": "Records that the true amounts link, or have as the second nearest: {a} "
    "before, {b} now.",
}
UNNAMED = "Unchanged and not named as keys, though nearly every record has its own value: {names}."
RISK_LIMITS = ("global_risk", "household_risk", "record_risk", "largest_household_risk")
"""Risks of persons and of households that identity disclosure is judged by."""


def verdict_rows(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    """Return the rows: the verdict, identity, rare keys, attributes, amounts, and the cost.

    Expected re-identifications, records that are not diverse, amounts near the truth and records
    that amounts link are compared: "lower" from a tenth less. A row is green only where the risk
    is lower and what is left is within the limits of `Limits` (mean and highest risks of records
    and households), where nothing is left, or no more is linked than by chance. Rare keys asks
    whether records below 3-anonymity are left. Values changed reads their share: "few" below 5 %,
    "many" from 20 % on.
    """
    if not session.steps:
        none = message("No step is in effect: the file is the original.")
        return [
            verdict_row(session.verdict(), external, "#risk"),
            verdict("Identity disclosure", "unchanged", "look", none, "#risk"),
        ]
    by_keys = (_identity, _rare_keys) if session.roles.keys else ()
    rows = [
        verdict_row(session.verdict(), external, "#risk"),
        *(row(session, external) for row in by_keys),
        *_attributes(session, external), *_amounts(session, external),
    ]  # fmt: skip
    share = session.cells_changed / max(session.original_frame.size, 1)
    word = "few" if share < FEW_CELLS else "some" if share < MANY_CELLS else "many"
    level = {"few": "good", "some": "look", "many": "bad"}[word]
    cells = rounded(session.cells_changed) if external else count(session.cells_changed)
    reason = message(
        "{a} of {b} values differ from the original.", a=cells, b=count(session.original_frame.size)
    )
    rows.append(verdict("Values changed", word, level, reason, "#utility"))
    return rows


def _direction(before: float, after: float, is_safe: bool) -> tuple[str, str]:
    """Return the direction as a word, and its level; an unchanged risk is never green."""
    if after > (1 + NOTABLE_CHANGE) * before:
        return "higher", "bad"
    if before == after:
        return ("unchanged", "look") if before else ("none", "good" if is_safe else "look")
    if after >= (1 - NOTABLE_CHANGE) * before:
        return message("hardly changed"), "look"
    return "lower", "good" if is_safe else "look"


def _identity(session: ProtectionSession, external: bool) -> dict[str, str]:
    name = "expected_reidentifications"
    risks = session.risk().table
    before, after = (float(risks[file][name]) for file in ("original", "current"))
    over = [
        (
            "; "
            + message(
                "the {risk} is above {limit}",
                risk=lower(one.title),
                limit=formatted(one.limit, "g"),
            )
        )
        for one in session.risk().measurements["current"].values()
        if one.info.name in RISK_LIMITS and one.within is False
    ]
    word, level = _direction(before, after, not over)
    texts = before_and_now(session, name, external)
    reason = message("Expected re-identifications went from {a} to {b}", a=texts[0], b=texts[1])
    if before and not external:
        reason += f" ({change(after / before - 1, 0)})"
    reason = joined_by("", [reason, *over])
    return verdict("Identity disclosure", word, level, f"{reason}.", "#risk")


def _rare_keys(session: ProtectionSession, external: bool) -> dict[str, str]:
    risks = session.risk().table
    n_rare = float(risks["current"].get("below_3_after_recovery", risks["current"]["below_3"]))
    texts = before_and_now(session, "below_3", external)
    reason = message(
        "Records whose key fewer than 3 records share: {texts} before, {texts_2} now",
        texts=texts[0],
        texts_2=texts[1],
    )
    again = before_and_now(session, "below_3_after_recovery", external)[1]
    if again not in (BLANK, texts[1]):
        reason += ", " + message(
            "{again} once values that follow from the file are filled in", again=again
        )
    again = before_and_now(session, "below_3_visible", external)[1]
    if again != BLANK:
        reason += "; " + message("{n} match fewer than 3 on the values that they show", n=again)
    n_visible = float(risks["current"].get("below_3_visible", n_rare))
    limit = VISIBLE * len(session.original_frame)
    word, level = (message("none left"), "good") if n_rare == 0 else (message("some left"), "look")
    if n_rare == 0 and n_visible > limit:
        word, level = "visible alone", "look"
    return verdict("Rare keys", word, level, f"{reason}.", "#risk")


def _attributes(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    rows = []
    for before, now in _measured_twice(session, "l_diversity"):
        word, level = _direction(before.value, now.value, now.value == 0)
        texts = [shown(one, external) for one in (before, now)]
        reason = message(ATTRIBUTES, name=now.target, a=texts[0], b=texts[1])
        rows.append(verdict("Attribute disclosure", word, level, reason, "#risk"))
    return rows


def _amounts(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    """Return the row of the amounts: the worse of being near the truth and of being linked."""
    judged, reasons = [], []
    for name, text in AMOUNTS.items():
        for before, now in _measured_twice(session, name):
            hits = round(now.value * now.records)
            chance = now.baseline if now.baseline == now.baseline else 0.0
            is_safe = wilson(hits, now.records)[0] <= chance
            judged.append(_direction(before.value, now.value, is_safe))
            texts = [shown(one, external) for one in (before, now)]
            reasons.append(message(text, a=texts[0], b=texts[1]))
    if unnamed := _columns_that_identify(session):
        judged.append((message("not assessed"), "look"))
        reasons.append(message(UNNAMED, names=join(unnamed)))
    if not judged:
        return []
    word, level = max(judged, key=lambda one: ("good", "look", "bad").index(one[1]))
    return [verdict("Amounts", word, level, joined_by(" ", reasons), "#risk")]


def _measured_twice(
    session: ProtectionSession, name: str
) -> Iterator[tuple[Measurement, Measurement]]:
    """Yield each number of this name that both files have."""
    both = session.risk().measurements
    for key, one in both["current"].items():
        if one.info.name == name and one.value == one.value and key in both["original"]:
            yield both["original"][key], one


def _columns_that_identify(session: ProtectionSession) -> list[str]:
    """Return released numbers in no role that differ in most records and were not changed."""
    roles = session.roles
    named = {*roles.keys, *roles.numeric, *roles.pram, *roles.drop, roles.weights, roles.household}
    original, current = session.original_of_current(), session.current_frame()
    return [
        str(name) for name in current
        if name not in named and is_number(current[name])
        and current[name].nunique() > MOSTLY * len(current)
        and current[name].equals(original[name])
    ]  # fmt: skip


def before_and_now(session: ProtectionSession, name: str, external: bool) -> list[str]:
    """A number of the risk before and after; a dash where a file does not have it."""
    both = session.risk().measurements
    return [
        shown(both[file][name], external) if name in both[file] else BLANK
        for file in ("original", "current")
    ]


def worst_rows(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    """Return the limits that the current file exceeds, and risks that went up."""
    both = session.risk().measurements
    current = list(both["current"].values())
    findings = [
        finding(
            message(
                "{title}: {value}, {limit} accepted",
                title=one.title,
                value=shown(one, external),
                limit=limit_text(one),
            ),
            "#risk",
            advice(one),
        )
        for one in current
        if one.within is False
    ]
    for one in current if session.steps else ():
        first = both["original"].get(one.key)
        if first is None or one.within is False or not one.applies or not visible([one], external):
            continue
        if one.info.direction == "low" and one.value > first.value * (1 + NOTABLE_CHANGE) + 1e-12:
            texts = message(
                "from {first} to {last}", first=shown(first, external), last=shown(one, external)
            )
            findings.append(
                finding(
                    message("{title} went up, {texts}", title=one.title, texts=texts),
                    "#risk",
                    advice(one),
                )
            )
    return findings[:MOST_FINDINGS]
