"""Risk of linked records: released numbers that are too near the true ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.numbers import Number, attempt, left_out
from riskeval.comparison.request import Request
from riskeval.measures.continuous import interval_disclosure, mahalanobis_disclosure
from riskeval.measures.linkage import record_linkage
from synthpop.microdata.streams import Streams

MEASURES = ("record_linkage", "interval_disclosure", "mahalanobis_disclosure")
RECORD = "record of the original"


def link_risk(request: Request, aligned: Aligned) -> list[Number]:
    """Measure linkage and interval disclosure of the numeric variables."""
    names = [name for name in request.numeric if name not in aligned.lost]
    rows = aligned.side.rows
    if rows is None:
        return left_out("records cannot be linked one to one", MEASURES)
    if not names:
        why = aligned.has(request.numeric) or "no numeric variable was named"
        return left_out(why, MEASURES)
    gone = [name for name in request.numeric if name in aligned.lost]
    note = f"without {', '.join(gone)}" if gone else ""
    x, y = aligned.x[names], aligned.y[names]
    pair = x.iloc[rows].reset_index(drop=True)
    streams = Streams(request.seed)
    return [
        *attempt(MEASURES[:1], "", lambda: [_linkage(request, x, y, rows, names, note, streams)]),
        *attempt(
            MEASURES[1:2],
            "",
            lambda: [
                Number("interval_disclosure", interval_disclosure(pair, y, names).rate, note=note)
            ],
        ),
        *attempt(MEASURES[2:], "", lambda: [_outliers(request, pair, y, names, note, streams)]),
    ]


def drawn(n: int, most: int, streams: Streams, what: str) -> np.ndarray:
    """Positions of at most `most` of n records, in order; the same for every release of n."""
    if n <= most:
        return np.arange(n)
    return np.sort(streams.at("compare", what, n).choice(n, most, replace=False))


def _linkage(
    request: Request,
    x: pd.DataFrame,
    y: pd.DataFrame,
    rows: np.ndarray,
    names: list[str],
    note: str,
    streams: Streams,
) -> Number:
    part = drawn(len(y), request.effort.linkage, streams, "linkage")
    own = x.assign(**{RECORD: np.arange(len(x))})
    other = y.iloc[part].assign(**{RECORD: rows[part]})
    found = record_linkage(own, other, names, identifier=RECORD)
    more = f"{len(part):,} records drawn at random" if len(part) < len(y) else ""
    return Number(
        "record_linkage",
        found.expected_rate,
        baseline=found.chance,
        against="linking at random",
        note="; ".join(text for text in (note, more) if text),
    )


def _outliers(
    request: Request,
    x: pd.DataFrame,
    y: pd.DataFrame,
    names: list[str],
    note: str,
    streams: Streams,
) -> Number:
    part = drawn(len(y), request.effort.outliers, streams, "outliers")
    one, two = (side.iloc[part].reset_index(drop=True) for side in (x, y))
    seed = int(streams.at("compare", "outliers", "starts").integers(2**62))
    found = mahalanobis_disclosure(one, two, names, seed=seed)
    texts = [note, found.fallback]
    texts.append(f"{len(part):,} records drawn at random" if len(part) < len(y) else "")
    return Number(
        "mahalanobis_disclosure", found.rate2, note="; ".join(text for text in texts if text)
    )
