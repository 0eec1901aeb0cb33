"""The first screen of a comparison: limits, risk left, the trade-off, what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riskeval.report.advice import advice_on
from riskeval.report.comparison_tables import values_text
from riskeval.report.judgement import NO_STRANGERS
from riskeval.shared.show import ORIGINAL
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.pages.page_facts import finding, verdict

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap
    from riskeval.comparison.result import Comparison

MOST_FINDINGS = 5
NEARLY_ALL = 0.9
"""Part of the risk of the original from which a release counts as risky as the original itself."""
MET = "Every limit that applies is met by {names}."
NO_RISK_LIMIT = "No limit of risk applies to {names}."
RISK_LEFT = "Of what the original tells, the worst of all intruders finds: {parts}."


def verdict_rows(
    comparison: Comparison, first: RiskUtilityMap, external: bool
) -> list[dict[str, str]]:
    """Return the rows: limits, risk left, trade-off of the first map, what could be measured."""
    names = [str(name) for name in comparison.table.index if name != ORIGINAL]
    limited = comparison.measures[comparison.measures["within"].notna()]
    by_release = {name: limited[limited["release"] == name] for name in names}
    asked = {name: rows for name, rows in by_release.items() if len(rows)}
    clean = clean_releases(comparison)
    if not asked:
        limits = verdict(
            "Limits", message("none set"), "none", message("No limit was set, or none applies.")
        )
    elif clean:
        word, level = (
            ("met", "good") if len(clean) == len(names) else (message("met by some"), "look")
        )
        text = message(MET, names=join(clean))
        limits = verdict("Limits", word, level, text, "#limits")
    else:
        text = message("No release meets every limit; the table below says which are exceeded.")
        limits = verdict("Limits", "exceeded", "bad", text, "#limits")
    without = [name for name in asked if not (asked[name]["group"] == "risk").any()]
    if without:
        limits["reason"] += " " + message(NO_RISK_LIMIT, names=join(without))
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
    """Return the releases that meet all limits that apply, one of risk among them."""
    limited = comparison.measures[comparison.measures["within"].notna()]
    by_release = limited.groupby("release", sort=False)
    return [
        str(name) for name, rows in by_release if name != ORIGINAL
        and rows["within"].astype(bool).all() and (rows["group"] == "risk").any()
    ]  # fmt: skip


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
