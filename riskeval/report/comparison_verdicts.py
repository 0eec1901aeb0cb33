"""The first screen of a comparison: the verdict and its reasons; risk left and the trade-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riskeval.attacks.entry import AttackEntry
from riskeval.attacks.registry import ATTACKS
from riskeval.report.comparison_tables import values_text
from riskeval.report.judgement import NO_STRANGERS
from riskeval.report.verdict_row import COLOURS
from riskeval.shared.show import ORIGINAL
from riskeval.verdict.verdict import CLEAR, LEVELS, MOST_REASONS, UNKNOWN, Finding
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import capitalised, joined_by, message
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.pages.page_facts import finding, verdict

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap
    from riskeval.comparison.result import Comparison

NEARLY_ALL = 0.9
"""Part of the risk of the original from which a release counts as risky as the original itself."""
RISK_LEFT = "Of what the original tells, the worst of all intruders finds: {parts}."


def judged(comparison: Comparison) -> dict[str, str]:
    """Return the verdict in large: the worst level, and which releases have which."""
    names = [str(name) for name in comparison.table.index if name != ORIGINAL]
    verdicts = comparison.verdicts
    by_level = {level: [n for n in names if verdicts[n].level == level] for level in LEVELS}
    levels = [level for level in LEVELS if by_level[level]] or [UNKNOWN]
    parts = [
        message("{level}: {names}", level=gettext(level), names=join(by_level[level]))
        for level in levels if by_level[level]
    ]  # fmt: skip
    colour = COLOURS[levels[0]] if levels[-1] != CLEAR or len(levels) == 1 else "look"
    return verdict("Verdict", levels[0], colour, capitalised(joined_by("; ", parts)) + ".")


def verdict_rows(
    comparison: Comparison, first: RiskUtilityMap, external: bool
) -> list[dict[str, str]]:
    """Return the rows below: risk left, trade-off of the first map, what could be measured."""
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
    rows = [_risk_left(comparison), trade, measured]
    if comparison.no_strangers:
        why = NO_STRANGERS if external else f"{comparison.no_strangers}."
        rows.insert(0, verdict("Participants and strangers", "no verdict", "look", why))
    return rows


def left_out(comparison: Comparison) -> str:
    """Say which attacks on synthetic files did not run on perturbed ones, and why."""
    kinds = comparison.table["kind"]
    perturbed = [str(name) for name in kinds.index[kinds == "perturbed"]]
    if not perturbed:
        return ""
    measures = comparison.measures
    ran = set(
        measures.loc[measures["release"].isin(perturbed) & measures["value"].notna(), "measure"]
    )
    absent = [gettext(one.title) for one in ATTACKS.values() if not ran & _numbers_of(one)]
    return message(
        "Left out for {releases}: {attacks}. These attacks tell participants from strangers, and "
        "the records of a perturbed file are all of participants; it is matched with the original "
        "record by record instead.",
        attacks=join(absent),
        releases=join(perturbed),
    )


def _numbers_of(attack: AttackEntry) -> set[str]:
    """Names of the numbers of an attack in a comparison."""
    if isinstance(attack.compared, bool):
        return {attack.name} if attack.compared else set()
    return {info.name for info in attack.compared.infos}


def clean_releases(comparison: Comparison) -> list[str]:
    """Return the releases to which no objection was found."""
    return [name for name, one in comparison.verdicts.items() if one.level == CLEAR]


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


def reason_rows(comparison: Comparison, external: bool) -> list[dict[str, str]]:
    """Return the findings that weigh most, each with the releases that it concerns.

    External readers see what was found without its numbers.
    """
    found: dict[str, list[tuple[str, Finding]]] = {}
    for name, one in comparison.verdicts.items():
        for evidence in one.evidence:
            if name != ORIGINAL:
                found.setdefault(evidence.name, []).append((name, evidence))
    by_harm = sorted(
        found.values(), key=lambda group: (LEVELS.index(group[0][1].level), -len(group))
    )
    rows = []
    for group in by_harm[:MOST_REASONS]:
        names, first = [name for name, _ in group], group[0][1]
        if external:
            text = message("{name} in {names}", name=gettext(first.name), names=join(names))
        elif len(names) == 1:
            text = message("{name}: {reasons}", name=names[0], reasons=first.text)
        else:
            text = message(
                "{name}: {reasons}; also {names}",
                name=names[0], reasons=first.text, names=join(names[1:]),
            )  # fmt: skip
        rows.append(finding(text, "#risk"))
    return rows
