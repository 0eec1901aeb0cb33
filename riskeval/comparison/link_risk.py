"""Risk of linked records: released numbers that are too near the true ones."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.numbers import Number, attempt, left_out
from riskeval.comparison.request import Request
from riskeval.measures.linkage.linkage import record_linkage
from riskeval.measures.numeric_disclosure import crowded, interval_disclosure, near_truth
from riskeval.measures.robust import Scatter, mcd
from riskeval.utility.pairs import numbers
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import plural

MEASURES = ("record_linkage", "interval_disclosure", "mahalanobis_disclosure")
RECORD = "record of the original"
NEAR, ALONE = 0.01, 0.05
"""k and k2 of `mahalanobis_disclosure`."""


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
    more = f"{plural(len(part), 'record')} drawn at random" if len(part) < len(y) else ""
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
    """RMDID2 with the defaults of `mahalanobis_disclosure`; the scatter is found once for all."""
    part = drawn(len(y), request.effort.outliers, streams, "outliers")
    one, two = (numbers(side, names)[part] for side in (x, y))
    complete = ~(np.isnan(one) | np.isnan(two)).any(axis=1)
    if complete.sum() < 2:
        return left_out("fewer than two complete records", MEASURES[2:])[0]
    zx, zy = (_standardised(side[complete]) for side in (one, two))
    seed = int(streams.at("compare", "outliers", "starts").integers(2**62))
    scatter = _scatter(zx.tobytes(), zx.shape, seed)
    _, hit = near_truth(zx, zy, scatter, NEAR, "any")
    alone = ~crowded(zy, hit, ALONE, 1)
    texts = [note, scatter.fallback]
    texts.append(f"{plural(len(part), 'record')} drawn at random" if len(part) < len(y) else "")
    return Number(
        "mahalanobis_disclosure",
        float((hit & alone).sum() / len(part)),
        note="; ".join(text for text in texts if text),
    )


@lru_cache(maxsize=8)
def _scatter(values: bytes, shape: tuple[int, int], seed: int) -> Scatter:
    """The robust scatter of the original: the same for every release without missing numbers."""
    points = np.frombuffer(values, dtype=np.float64).reshape(shape)
    return mcd(points, np.random.default_rng(seed))


def _standardised(values: np.ndarray) -> np.ndarray:
    spread = values.std(axis=0, ddof=1)
    scaled: np.ndarray = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.ascontiguousarray(scaled)
