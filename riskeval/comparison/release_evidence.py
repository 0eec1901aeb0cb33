"""What speaks against a release beside its numbers: copies, and what its columns give away."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from riskeval.attacks.compared import STRANGERS
from riskeval.attacks.counting.copies import copied_values
from riskeval.attacks.synthetic_verdict import beyond_strangers_evidence, copied_value_evidence
from riskeval.comparison.alignment import Aligned
from riskeval.comparison.request import CompareRequest
from riskeval.measures.recovery import RECOVERED
from riskeval.shared.measurement import Measurement
from riskeval.verdict.amounts import FEW_VALUES, amount_evidence, amounts_of
from riskeval.verdict.file import differing_amounts, file_evidence, read_back_evidence
from riskeval.verdict.verdict import UNKNOWN, Finding, ReleaseVerdict, verdict_of
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import percent


def release_evidence(request: CompareRequest, aligned: Aligned) -> list[Finding]:
    """Return amounts of the original that stand in the release, and what its columns give away."""
    release = aligned.release
    keys = [name for name in request.keys if name in release.frame]
    household = request.household if request.household in release.frame else None
    found = _amounts(request, aligned)
    if not (request.keys or request.holdout is not None or release.rows is not None):
        found.append(Finding("amounts not compared", message(
            "nothing tells how near its amounts come to true ones: give a hold-out or, where its "
            "records are those of the original, identifier or linkable"
        ), UNKNOWN))  # fmt: skip
    return found + file_evidence(
        release.frame, keys, roles=[*request.roles(), *([household] if household else [])],
        household=household, k=request.limits.k or 3, persons=release.kind == "perturbed",
    )  # fmt: skip


def _amounts_to_compare(request: CompareRequest, aligned: Aligned) -> list[str]:
    """Return the numeric keys; without keys, or where records are nobody's, all amounts.

    A synthetic record has no reason to hold a true amount, whatever its role; weights may stand.
    """
    release = aligned.release
    named = [
        name for name in request.numeric
        if name not in aligned.not_compared and request.original[name].nunique() > FEW_VALUES
    ]  # fmt: skip
    shared = request.original[[name for name in request.original if name in release.frame]]
    others = (*request.sensitive, request.household, request.strata)
    if release.rows is not None and not request.keys:
        names = amounts_of(shared, (), named, others)
    elif release.kind == "synthetic":
        more = [name for name in differing_amounts(shared) if name not in (*named, *others)]
        weights = request.weights
        names = named + [
            name for name in more
            if weights is None or not np.array_equal(as_numbers(shared[name]), weights)
        ]  # fmt: skip
    else:
        return named
    return [name for name in names if is_number(release.frame[name])]


def _amounts(request: CompareRequest, aligned: Aligned) -> list[Finding]:
    names = _amounts_to_compare(request, aligned)
    rows, file = aligned.release.rows, aligned.release.frame
    if not names:
        return []
    found: list[Finding] = []
    if rows is not None:
        found = amount_evidence(request.original.iloc[rows].reset_index(drop=True), file, names)
        if found or len(names) < 2:
            return found
    try:
        copied = copied_values(
            request.original, file, names, amounts=names, holdout=request.holdout
        )
    except InputError:  # amounts that are no numbers everywhere: they are not compared either
        return found
    kinds = copied_value_evidence(copied)  # records swap true amounts, but not how these divide
    return kinds if rows is None else [one for one in kinds if one.name == "copied shares"]


def release_verdict(
    kind: str, evidence: Iterable[Finding], measured: Iterable[Measurement]
) -> ReleaseVerdict:
    """Return the verdict on a release from its numbers and what else was found.

    Records that are repeated beyond natural duplicates are no matter of a limit; a loss of utility
    says nothing about publishing.
    """
    found, risks, beyond = list(evidence), [], []
    for one in measured:
        if one.info.name == "identical" and one.within is False:
            text = message(
                "{share} of the records equal a record of the original, where {usual} would by "
                "chance", share=percent(one.value, 1), usual=percent(one.baseline, 1),
            )  # fmt: skip
            found.insert(0, Finding("copied records", text, value=one.value, limit=one.limit,
                                     limit_source=one.limit_source,
                                     records=round(one.value * one.records)))  # fmt: skip
        elif one.info is RECOVERED and one.applies and one.value > 0:
            found += read_back_evidence(round(one.value), one.records, [])
        elif one.limit_source == STRANGERS and one.within is False:
            beyond.append(one)
        elif one.info.group != "utility":
            risks.append(one)
    if beyond:
        most = max(one.value - (one.limit or 0.0) for one in beyond)
        found.append(beyond_strangers_evidence([one.title for one in beyond], most))
    open_ends = [
        one.title + ": " + (one.note or message("could not be measured")) for one in risks
        if np.isnan(one.value) and one.limit is None and one.info.name in NEEDED
    ]  # fmt: skip
    return verdict_of(found, risks, not_tried=open_ends)


NEEDED = ("worst_risk", "membership", "identical", "record_linkage")
"""Numbers whose absence leaves a kind of intruder untried."""
