"""The worst risk of a release over all declared intruders, in units of the original's own risk."""

from __future__ import annotations

from collections.abc import Mapping

from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number

WORST_RISK = MeasureInfo(
    "worst_risk", "attribution risk", "low", "share",
    "largest of the risks of linkage and attribution, each as a part of what the same intruder "
    "reaches with the original itself (0: no more than without the release, 1: as with the "
    "original)",
    "Duncan, Keller-McNulty and Stokes 2001", "Worst risk of all intruders",
)  # fmt: skip
CHANCE = (
    "linking at random", "drawing without keys", "shuffled target",
    "persons outside the original", "real persons", "the original", "guessing",
    "guessing the most frequent level",
)  # fmt: skip
"""Baselines that an intruder reaches without the release, which are taken off both risks."""
CONDITIONAL = ("tcap",)
"""Shares among the records that the intruder could judge, which say nothing of the others."""
LEAST = 0.01
"""Risks of the original below this are no yardstick."""


def worst_risk(
    release: Mapping[str, Measurement], original: Mapping[str, Measurement]
) -> Measurement:
    """Return the largest normalised risk, with the intruder who reaches it."""
    shares: dict[str, float] = {}
    for key, one in release.items():
        yardstick = original.get(key)
        if one.info.group not in ("link risk", "attribution risk") or yardstick is None:
            continue
        if one.info.name in CONDITIONAL or not one.applies:
            continue
        if one.value != one.value or yardstick.value != yardstick.value:
            continue
        if excess(yardstick) >= LEAST:
            shares[key] = min(max(excess(one), 0.0) / excess(yardstick), 1.0)
    if not shares:
        return Measurement(
            WORST_RISK, float("nan"), note=message("no risk could be measured on both files")
        )
    key = max(shares, key=lambda name: shares[name])
    one = release[key]
    note = message(
        "{title}: {value} against {value_2} of the original",
        title=one.title,
        value=number(one.value),
        value_2=number(original[key].value),
    )
    return Measurement(WORST_RISK, shares[key], records=one.records, note=note)


def excess(one: Measurement) -> float:
    """Return what an intruder reaches beyond chance."""
    return one.value - (one.baseline if one.against in CHANCE else 0.0)
