"""What a release has lost of the original, on what both share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.numbers import attempt, joined
from riskeval.comparison.request import CompareRequest
from riskeval.measurement import MeasureInfo, Measurement, not_measured
from riskeval.utility.distributions import hellinger
from riskeval.utility.information import eigenvalue_difference
from riskeval.utility.k_way_tables import table_distances
from riskeval.utility.propensity_scores import propensity
from synthpop.microdata.frames import is_number, numbers
from synthpop.microdata.robust import correlations
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import plural

LEVELS_KEPT = MeasureInfo(
    "levels_kept", "utility", "high", "overlap",
    "mean over the categories of the share of the original's levels that the release "
    "distinguishes",
    "counts", "Detail kept", perfect=1.0,
)  # fmt: skip
MISSING = MeasureInfo(
    "missing", "utility", "low", "overlap",
    "share of the cells of the variables that are missing more often",
    "Templ 2017, equation 5.3", "Cells suppressed", perfect=0.0,
)  # fmt: skip
IL1S = MeasureInfo(
    "il1s", "utility", "low", "loss",
    "mean distance of a number from its original in sqrt(2) standard deviations",
    "Yancey et al. 2002; Templ 2017, equation 5.9", "IL1s", perfect=0.0,
)  # fmt: skip
EIGENVALUES = MeasureInfo(
    "eigenvalues", "utility", "low", "loss",
    "summed relative change of the eigenvalues of the correlations",
    "Templ 2017, section 5.2", "Eigenvalues", perfect=0.0,
)  # fmt: skip
CORRELATIONS = MeasureInfo(
    "correlations", "utility", "low", "loss",
    "mean absolute change of the correlations",
    "Domingo-Ferrer and Torra 2001", "Correlations", perfect=0.0,
)  # fmt: skip
HELLINGER = MeasureInfo(
    "hellinger", "utility", "low", "loss",
    "mean over the categories of the distance of their distributions",
    "Templ 2017, section 5.4", "Hellinger distance", perfect=0.0,
)  # fmt: skip
TABLES = MeasureInfo(
    "tables", "utility", "low", "loss",
    "mean share of the records that would have to move to make a table equal",
    "total variation", "Two-way tables", perfect=0.0,
)  # fmt: skip
PMSE = MeasureInfo(
    "pmse", "utility", "low", "loss",
    "how well a model distinguishes the two files; 0 not at all, 0.25 completely",
    "Woo et al. 2009", "pMSE", perfect=0.0,
)  # fmt: skip
PMSE_RATIO = MeasureInfo(
    "pmse_ratio", "utility", "low", "ratio",
    "pMSE in relation to chance; near 1 is the best of a synthetic file, up to 3 good, above 10 "
    "a model that misses something",
    "Snoke et al. 2018; Raab, Nowok and Dibben 2021", "pMSE ratio", perfect=0.0,
)  # fmt: skip
FEW = 20
"""Numeric keys with at most so many levels count as categories in the propensity score."""


def loss(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    """Measure detail, suppression, numbers, tables and the propensity score."""
    return [
        *_kept(request, aligned),
        *_numbers(request, aligned),
        *_tables(request, aligned),
        *_propensity(request, aligned),
    ]


def _categories(request: CompareRequest, aligned: Aligned) -> list[str]:
    wanted = [*request.keys, *request.sensitive]
    return [
        name
        for name in dict.fromkeys(wanted)
        if name not in request.numeric and name not in aligned.lost
    ]


def _kept(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    wanted = {*request.keys, *request.sensitive} - set(request.numeric)
    rows = [row for row in aligned.shared if row["variable"] in wanted]
    shares = [
        min(1.0, row["levels_shared"] / row["levels_original"]) if row["compared"] else 0.0
        for row in rows
        if row["levels_original"]
    ]
    names = [*dict.fromkeys([*request.keys, *request.sensitive, *request.numeric])]
    x, y = request.original, aligned.side.frame
    more = [
        max(0.0, float(y[name].isna().mean() - x[name].isna().mean())) if name in y else 1.0
        for name in names
    ]
    return [
        Measurement(LEVELS_KEPT, float(np.mean(shares)))
        if shares
        else not_measured([LEVELS_KEPT], "no category was named")[0],
        Measurement(MISSING, float(np.mean(more)), note=aligned.has(names)),
    ]


def _numbers(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    names = [name for name in request.numeric if name not in aligned.lost]
    infos = [IL1S, EIGENVALUES, CORRELATIONS]
    if not names:
        return not_measured(infos, aligned.has(request.numeric) or "no numeric variable was named")
    gone = aligned.has(request.numeric)
    found = _moved(aligned, names, gone)
    return found + attempt(infos[1:], "", lambda: _structure(request, aligned, names, gone))


def _moved(aligned: Aligned, names: list[str], note: str) -> list[Measurement]:
    """IL1s of linked records: mean over the cells of |x - y| / (sqrt(2) S)."""
    rows = aligned.side.rows
    if rows is None:
        return not_measured([IL1S], "records cannot be linked one to one")
    x = numbers(aligned.x, names)
    spread = np.array([np.nanstd(column, ddof=1) if len(x) > 1 else 0.0 for column in x.T])
    moved = np.abs(x[rows] - numbers(aligned.y, names))
    kept = ~np.isnan(moved) & (spread > 0)
    if not kept.any():
        return not_measured([IL1S], "no number can be compared")
    value = float((moved / np.where(spread > 0, np.sqrt(2) * spread, 1.0))[kept].mean())
    return [Measurement(IL1S, value, note=note)]


def _structure(
    request: CompareRequest, aligned: Aligned, names: list[str], note: str
) -> list[Measurement]:
    """Change of the (weighted) correlation matrix of complete records."""
    if len(names) == 1:
        return not_measured([EIGENVALUES, CORRELATIONS], "one variable has no correlations")
    matrices = []
    for frame, weights in ((aligned.x, request.weights), (aligned.y, aligned.side.weights)):
        values = numbers(frame, names)
        whole = ~np.isnan(values).any(axis=1)
        if whole.sum() < 2:
            return not_measured([EIGENVALUES, CORRELATIONS], "fewer than two complete records")
        matrices.append(correlations(values[whole], None if weights is None else weights[whole]))
    one, two = matrices
    if np.isnan(one).any() or np.isnan(two).any():
        return not_measured([EIGENVALUES, CORRELATIONS], "a variable has no spread")
    upper = np.triu_indices(len(names), 1)
    return [
        Measurement(EIGENVALUES, eigenvalue_difference(one, two), note=note),
        Measurement(CORRELATIONS, float(np.abs(one - two)[upper].mean()), note=note),
    ]


def _tables(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    names = _categories(request, aligned)
    if not names:
        why = aligned.has([*request.keys, *request.sensitive]) or "no category was named"
        return not_measured([HELLINGER, TABLES], why)
    note = aligned.has([*request.keys, *request.sensitive])
    x, y = aligned.x[names], aligned.y[names]
    both: dict[str, Any] = {"weights": request.weights, "released_weights": aligned.side.weights}

    def distances() -> list[Measurement]:
        one = hellinger(x, y, names, categorical=names, **both)
        return [Measurement(HELLINGER, float(one.mean), note=note)]

    def crossed() -> list[Measurement]:
        size = min(2, len(names))
        return [
            Measurement(TABLES, table_distances(x, y, names, size=size, **both).mean, note=note)
        ]

    return attempt([HELLINGER], "", distances) + attempt([TABLES], "", crossed)


def _propensity(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    wanted = list(dict.fromkeys([*request.keys, *request.sensitive, *request.numeric]))
    names = [name for name in wanted if name not in aligned.lost]
    if not names:
        return not_measured([PMSE, PMSE_RATIO], aligned.has(wanted))
    few = [
        name
        for name in names
        if name not in request.numeric and _is_few(aligned.x, name) and _is_few(aligned.y, name)
    ]
    most = request.sample_sizes.propensity
    note = aligned.has(wanted)

    def measured() -> list[Measurement]:
        found = propensity(
            aligned.x,
            aligned.y,
            names,
            weights=request.weights,
            released_weights=aligned.side.weights,
            categorical=few,
            share=0.5,
            max_rows=most,
            seed=int(Streams(request.seed).at("compare", "propensity").integers(2**62)),
        )
        texts = [note, "" if found.converged else "the fit stopped before it converged"]
        texts.append(
            f"at most {plural(most, 'record')} of each file, drawn at random" if found.drawn else ""
        )
        text = joined(*texts)
        return [
            Measurement(PMSE, found.pmse, note=text),
            Measurement(
                PMSE_RATIO,
                found.pmse_ratio,
                limit=10.0,
                limit_source="rule of thumb of Raab, Nowok and Dibben (2021)",
                note=text,
            ),
        ]

    return attempt([PMSE, PMSE_RATIO], "", measured)


def _is_few(frame: pd.DataFrame, name: str) -> bool:
    return is_number(frame[name]) and frame[name].nunique() <= FEW
