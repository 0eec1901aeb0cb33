"""The first screen of a comparison: verdicts, risk left, the trade-off, what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riskeval.report.advice import advice_on
from riskeval.report.comparison_tables import values_text
from riskeval.report.judgement import NO_STRANGERS
from riskeval.report.verdict_row import COLOURS
from riskeval.shared.show import ORIGINAL
from riskeval.verdict.verdict import CLEAR, LEVELS, ReleaseVerdict
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.pages.page_facts import finding, verdict

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap
    from riskeval.comparison.result import Comparison

MOST_FINDINGS = 5
NEARLY_ALL = 0.9
"""Part of the risk of the original from which a release counts as risky as the original itself."""
RISK_LEFT = "Of what the original tells, the worst of all intruders finds: {parts}."


def verdict_rows(
    comparison: Comparison, first: RiskUtilityMap, external: bool
) -> list[dict[str, str]]:
    """Return the rows: verdicts, risk left, trade-off of the first map, what could be measured."""
    names = [str(name) for name in comparison.table.index if name != ORIGINAL]
    verdicts = comparison.verdicts
    worst = min((LEVELS.index(verdicts[name].level) for name in names), default=len(LEVELS) - 1)
    by_level = {level: [n for n in names if verdicts[n].level == level] for level in LEVELS}
    parts = [
        message("{level}: {names}", level=gettext(level), names=join(of_level))
        for level, of_level in by_level.items() if of_level
    ]  # fmt: skip
    texts = [message("{name}: {reasons}", name=name, reasons=_reasons(verdicts[name], external))
             for name in names if verdicts[name].evidence]  # fmt: skip
    limits = verdict(
        "Verdict", LEVELS[worst], COLOURS[LEVELS[worst]] if not by_level[CLEAR] else "look"
        if worst < len(LEVELS) - 1 else "good",
        joined_by(". ", [joined_by("; ", parts), *texts[:MOST_FINDINGS]]) + ".", "#limits",
    )  # fmt: skip
    front = int(first.frame["pareto"].sum())
    word, level = (message("a choice"), "look") if front > 1 else ("clear", "none")
    word = word if front else message("not measured")
    trade = verdict("Risk and utility", word, level, first.summary(), "#map")
    absent = comparison.measures["value"].isna().sum()
    grey = (~comparison.measures["applies"].astype(bool)).sum()
    what = (
        message("could not be measured or may not be shown")
        if external
        else message("could not be measured")
    )
    text = f"{plural(int(absent), 'number')} {what}"
    if grey:
        text += "; " + message(
            "{n} not apply to a kind of release", n=plural(int(grey), "number does", "numbers do")
        )
    text += (" " + message("and are never judged.")) if grey else "."
    word, level = ("complete", "good") if not absent else ("partly", "look")
    measured = verdict("Measured", word, level, text, "#shared")
    rows = [limits, _risk_left(comparison), trade, measured]
    if comparison.no_strangers:
        why = NO_STRANGERS if external else f"{comparison.no_strangers}."
        rows.insert(0, verdict("Participants and strangers", "no verdict", "look", why))
    return rows


def clean_releases(comparison: Comparison) -> list[str]:
    """Return the releases to which no objection was found."""
    return [name for name, one in comparison.verdicts.items() if one.level == CLEAR]


def _reasons(judged: ReleaseVerdict, external: bool) -> str:
    """Return why a release is objected to; without numbers for external readers."""
    if external:
        return join(
            list(dict.fromkeys(gettext(one.name) for one in judged.evidence if not one.single))
        )
    return judged.reasons(2)


def _risk_left(comparison: Comparison) -> dict[str, str]:
    """Say how much of what the original tells the worst intruder finds in each release.

    Never green: the number has no published threshold.
    """
    worst = comparison.values("worst_risk").drop(ORIGINAL)
    if worst.isna().all():
        return verdict("Risk left", "not measured", "none", "No intruder could be measured.")
    parts = [f"{name} {values_text(comparison, 'worst_risk', str(name))}" for name in worst.index]
    word, level = (
        (message("as the original"), "bad")
        if worst.max() >= NEARLY_ALL
        else (message("a part"), "look")
    )
    return verdict("Risk left", word, level, message(RISK_LEFT, parts=join(parts)), "#risk")


def worst_rows(comparison: Comparison) -> list[dict[str, str]]:
    """Return the limits that releases exceed, those of most releases first."""
    rows = comparison.measures[[within is False for within in comparison.measures["within"]]]
    rows = rows[rows["release"] != ORIGINAL]
    by_number = [exceeded for _, exceeded in rows.groupby("name", sort=False)]
    findings = []
    for exceeded in sorted(by_number, key=len, reverse=True)[:MOST_FINDINGS]:
        title, measure = exceeded.iloc[0][["title", "measure"]]
        text = message(
            "{title} exceeds its limit in {names}",
            title=title,
            names=join(exceeded["release"].astype(str)),
        )
        findings.append(finding(text, "#risk", advice_on(measure)))
    return findings
