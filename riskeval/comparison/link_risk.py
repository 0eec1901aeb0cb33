"""Risk of linked records: released numbers that are too near the true ones."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pandas as pd

from riskeval.attacks.compared import drawn
from riskeval.comparison.alignment import Aligned
from riskeval.comparison.request import CompareRequest
from riskeval.measures.interval_disclosure import INTERVAL, interval_disclosure
from riskeval.measures.linkage.linkage import (
    LINKED,
    RecordLinkage,
    linkage_limit,
    record_linkage,
)
from riskeval.measures.mahalanobis_disclosure import (
    MAHALANOBIS,
    crowded,
    near_truth,
    scatter_of,
    standardised,
)
from riskeval.shared.measurement import Measurement, attempt, joined, not_measured
from synthpop.microdata.frame.frames import numbers
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, percent, plural
from synthpop.microdata.statistics.streams import Streams

INFOS = (LINKED, INTERVAL, MAHALANOBIS)
RECORD = "record of the original"
MOST_TRIED, MOST_SETS = 200, 12
"""Records on which sets of fewer variables are tried, and how many of these."""
NEAR, ALONE = 0.01, 0.05
"""k and k2 of `mahalanobis_disclosure`."""


def link_risk(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    """Measure linkage and interval disclosure of the numeric variables."""
    names = [name for name in request.numeric if name not in aligned.not_compared]
    rows = aligned.release.rows
    if rows is None:
        return not_measured(INFOS, message("records cannot be linked one to one"))
    if not names:
        why = aligned.has(request.numeric) or message("no numeric variable was specified")
        return not_measured(INFOS, why)
    absent = [name for name in request.numeric if name in aligned.not_compared]
    note = f"without {', '.join(absent)}" if absent else ""
    x, y = aligned.x[names], aligned.y[names]
    pair = x.iloc[rows].reset_index(drop=True)
    return [
        *attempt(INFOS[:1], "", lambda: [_linkage(request, x, y, rows, names, note)]),
        *attempt(INFOS[1:2], "", lambda: [_interval(pair, y, names, note)]),
        *attempt(INFOS[2:], "", lambda: [_outliers(request, pair, y, names, note)]),
    ]


def _interval(x: pd.DataFrame, y: pd.DataFrame, names: list[str], note: str) -> Measurement:
    risk = interval_disclosure(x, y, names)
    judged = _judged(risk.n_missing, risk.n_unjudged, len(y), risk.rate_judged)
    return Measurement(INTERVAL, risk.rate, records=len(y), note=joined(note, judged))


def _judged(n_missing: int, n_unjudged: int, n: int, rate_judged: float) -> str:
    """Say on how many records a rate rests; empty where on all, complete."""
    if not n_missing:
        return ""
    text = message(
        "{n_missing} judged by the values that both files have",
        n_missing=plural(n_missing, "record"),
    )
    if n_unjudged:
        text += "; " + message(
            "{n_unjudged} of {n} could not be judged and count as safe ({rate_judged} of "
            "the others)",
            n_unjudged=count(n_unjudged),
            n=count(n),
            rate_judged=percent(rate_judged, 1),
        )
    return text


def _linkage(
    request: CompareRequest,
    x: pd.DataFrame,
    y: pd.DataFrame,
    rows: np.ndarray,
    names: list[str],
    note: str,
) -> Measurement:
    sample = drawn(len(y), request.sample_sizes.linkage, Streams(request.seed), "linkage")
    first = x.assign(**{RECORD: np.arange(len(x))})
    second = y.iloc[sample].assign(**{RECORD: rows[sample]})
    linkage = record_linkage(first, second, names, identifier=RECORD)
    found, fewer = _by_fewer(request, first, second, names)
    if found is not None and found.expected_rate_two > linkage.expected_rate_two:
        second, linkage, names = second.iloc[len(second) // 2 :], found, fewer
        note = joined(note, message("by {names} alone", names=", ".join(fewer)))
    missing = int(second[names].isna().any(axis=1).sum())
    judged = _judged(missing, linkage.n_unjudged, len(second), linkage.rate_judged)
    return Measurement(
        LINKED,
        linkage.expected_rate_two,
        records=len(second),
        baseline=min(2 * linkage.chance, 1.0),
        against=message("linking at random"),
        note=joined(note, judged, _sampled(sample, y)),
        **linkage_limit(request.keys, request.limits.record_risk),
    )


def _by_fewer(
    request: CompareRequest, first: pd.DataFrame, second: pd.DataFrame, names: list[str]
) -> tuple[RecordLinkage | None, list[str]]:
    """Link by the variables that link best, where these are not all of them.

    All but one variable, and single ones, are tried on records of the first half. Those that are
    chosen link the second half, so that the choice has no part in the rate.
    """
    half = len(second) // 2
    tried = second.iloc[drawn(half, MOST_TRIED, Streams(request.seed), "fewer variables")]
    sets = [*([n for n in names if n != name] for name in names), *([name] for name in names)]
    sets = [names, *[subset for subset in sets if subset and len(subset) < len(names)]]
    if len(sets) == 1 or not half:
        return None, names
    rates = [record_linkage(first, tried, subset, identifier=RECORD).expected_rate_two
             for subset in sets[: MOST_SETS + 1]]  # fmt: skip
    best = sets[int(np.argmax(rates))]
    if best is names:
        return None, names
    return record_linkage(first, second.iloc[half:], best, identifier=RECORD), best


def _sampled(sample: np.ndarray, y: pd.DataFrame) -> str:
    return (
        message("{n} drawn at random", n=plural(len(sample), "record"))
        if len(sample) < len(y)
        else ""
    )


def _outliers(
    request: CompareRequest, x: pd.DataFrame, y: pd.DataFrame, names: list[str], note: str
) -> Measurement:
    """RMDID2 with the defaults of `mahalanobis_disclosure`."""
    sample = drawn(len(y), request.sample_sizes.outliers, Streams(request.seed), "outliers")
    one, two = (numbers(frame, names)[sample] for frame in (x, y))
    known = ~(np.isnan(one) | np.isnan(two))
    judged = known.any(axis=1)
    if judged.sum() < 2:
        return not_measured(
            INFOS[2:], message("fewer than two records have a value in both files")
        )[0]
    zx, zy = (standardised(values, np.where(known, values, np.nan)) for values in (one, two))
    digest = sha256(zx.tobytes()).hexdigest()
    if digest not in request.scatters:
        request.scatters[digest] = scatter_of(zx)
    scatter = request.scatters[digest]
    _, near = near_truth(zx, zy, scatter, NEAR, "any")
    alone = near & ~crowded(zy, near, ALONE, 1)
    rate_judged = float(alone.sum() / judged.sum())
    unjudged = int((~judged).sum())
    missing = int((~known).any(axis=1).sum())
    reading = _judged(missing, unjudged, len(sample), rate_judged)
    return Measurement(
        MAHALANOBIS,
        float(alone.sum() / len(sample)),
        records=len(sample),
        note=joined(note, scatter.fallback, reading, _sampled(sample, y)),
    )
