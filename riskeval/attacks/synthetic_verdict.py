"""The verdict on a synthetic file, from what the attacks on it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riskeval.attacks.counting.copies import CopiedValues
from riskeval.attacks.shares import Excess
from riskeval.verdict.verdict import EXCEEDED, STOP, UNKNOWN, Finding, ReleaseVerdict, verdict_of
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import percent

LARGE = 0.1
"""Part of the persons whom an attack finds beyond strangers at least, from which on a file must
not be published."""
FEW = 5
"""Copies from which on chance is asked."""
CONFIDENCE = 0.999
WHAT = {
    "amounts": "an amount that nobody else has",
    "shares": "shares of their amounts that nobody else has",
    "compositions": "characteristics that nobody else has",
}


def synthetic_verdict(risk: Any, file_evidence: Sequence[Finding]) -> ReleaseVerdict:
    """Return the verdict on a `SyntheticRisk`, and on what the file gives away by itself."""
    found = [*copy_evidence(risk), *file_evidence]
    together, above = risk.above_together, risk.above
    open_ends = [message(
"{name} is coded differently in both files: the attacks ran without it", name=name)
                 for name in risk.dropped]  # fmt: skip
    open_ends += [f"{risk.title(*job)}: {why}" for job, why in risk.skipped.items()]
    judged = ~risk.table["excess"].isna()
    if together:
        rows = risk.table[risk.table["above_among_all"]]
        lower = float(rows["excess_lower"].max())
        found.append(beyond_strangers_evidence(together, lower))
    elif above:
        open_ends.append(message(
            "whether weaker signs are chance, as one of {n} attacks may show: {attacks}",
            n=len(risk.results), attacks=joined_by("; ", above),
        ))  # fmt: skip
    if not risk.results:
        found.append(Finding("no attack", message("no attack could be run"), UNKNOWN))
    elif not judged.any():
        found.append(Finding("no hold-out", message(
            "without a hold-out nothing tells the risk of having taken part from what the keys "
            "tell about anybody"), UNKNOWN))  # fmt: skip
    if risk.no_strangers:
        found.append(Finding("no strangers", risk.no_strangers, UNKNOWN))
    met = [title for title in risk.titles(judged) if title not in above]
    return verdict_of(found, [], met=met if judged.any() else (), not_tried=open_ends)


def beyond_strangers_evidence(attacks: Sequence[str], most: float) -> Finding:
    """Return what attacks find about persons of the original and not about strangers.

    most: what the most striking of them finds at least beyond strangers
    """
    text = message(
        "it tells more about persons of the original than about strangers ({attacks})",
        attacks=joined_by("; ", attacks),
    )  # fmt: skip
    return Finding(
        "more than about strangers", text, STOP if most >= LARGE else EXCEEDED, most, 0.0,
        "what the same attacks find about strangers",
        assumed="an intruder knows the keys, and the hold-out holds strangers",
    )  # fmt: skip


def copy_evidence(risk: Any) -> list[Finding]:
    """Return what stands in the file to the letter, beyond chance and beyond strangers."""
    found = []
    if risk.copies:
        screen = risk.results["distance_screen", ""]
        found.append(Finding("copied records", risk.copies, value=screen.identical,
                              limit=screen.identical_baseline,
                              limit_source="duplicates among real persons"))  # fmt: skip
    copied = risk.results.get(("copies", ""))
    if copied is not None:
        found += copied_value_evidence(copied)
    if risk.near_copies and not found:
        level = STOP if risk.above_together else UNKNOWN
        found.append(Finding("nearly copied records", risk.near_copies, level))
    return found


def copied_value_evidence(copied: CopiedValues) -> list[Finding]:
    """Return amounts and shares that the release has to the letter, beyond what chance explains."""
    found = []
    for row in copied.table.to_dict("records"):
        if row["kind"] == "compositions" or row["copied"] < FEW:
            continue
        if not _is_clear(row["copied"], row["n"], row["by_chance"], copied.excess.get(row["kind"])):
            continue
        text = message(
            "of {n} {unit} of the original with {what}, {share} have it in the file to the letter, "
            "where chance explains {chance}",
            n=row["n"], unit=copied.unit, what=message(WHAT[row["kind"]]),
            share=percent(row["rate"], 1), chance=percent(row["by_chance"], 1),
        )  # fmt: skip
        found.append(
            Finding(f"copied {row['kind']}", text, value=row["rate"], limit=row["by_chance"],
                     limit_source="values close by that are nobody's", records=int(row["copied"]),
                     assumed="whoever knows the amount finds the record")
        )  # fmt: skip
    return found


def _is_clear(copied: int, n: int, by_chance: float, beyond: Excess | None) -> bool:
    """Whether neither chance nor strangers explain so many copies."""
    from synthpop.microdata.statistics.intervals import newcombe

    chance = 0.0 if np.isnan(by_chance) else by_chance
    rates = [chance] if beyond is None else [chance, beyond.holdout_rate]
    sizes = [n] if beyond is None else [n, beyond.n_holdout]
    return all(
        newcombe(float(copied), n, rate * size, size, CONFIDENCE)[0] > 0
        for rate, size in zip(rates, sizes, strict=True)
    )
