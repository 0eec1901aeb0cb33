"""What a release has lost of the original, on what both share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.numbers import Number, attempt, left_out
from riskeval.comparison.request import Request
from riskeval.utility.distributions import hellinger
from riskeval.utility.information import eigenvalue_difference
from riskeval.utility.k_way_tables import table_distances
from riskeval.utility.pairs import is_number, numbers
from riskeval.utility.propensity_scores import propensity
from synthpop.microdata.robust import correlations
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import plural

FEW = 20
"""Numeric keys with at most so many levels count as categories in the propensity score."""


def loss(request: Request, aligned: Aligned) -> list[Number]:
    """Measure detail, suppression, numbers, tables and the propensity score."""
    return [
        *_kept(request, aligned),
        *_numbers(request, aligned),
        *_tables(request, aligned),
        *_propensity(request, aligned),
    ]


def _categories(request: Request, aligned: Aligned) -> list[str]:
    wanted = [*request.keys, *request.sensitive]
    return [
        name
        for name in dict.fromkeys(wanted)
        if name not in request.numeric and name not in aligned.lost
    ]


def _kept(request: Request, aligned: Aligned) -> list[Number]:
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
        Number("levels_kept", float(np.mean(shares)))
        if shares
        else left_out("no category was named", ["levels_kept"])[0],
        Number("missing", float(np.mean(more)), note=aligned.has(names)),
    ]


def _numbers(request: Request, aligned: Aligned) -> list[Number]:
    names = [name for name in request.numeric if name not in aligned.lost]
    measures = ["il1s", "eigenvalues", "correlations"]
    if not names:
        return left_out(aligned.has(request.numeric) or "no numeric variable was named", measures)
    gone = aligned.has(request.numeric)
    found = _moved(aligned, names, gone)
    return found + attempt(measures[1:], "", lambda: _structure(request, aligned, names, gone))


def _moved(aligned: Aligned, names: list[str], note: str) -> list[Number]:
    """IL1s of linked records: mean over the cells of |x - y| / (sqrt(2) S)."""
    rows = aligned.side.rows
    if rows is None:
        return left_out("records cannot be linked one to one", ["il1s"])
    x = numbers(aligned.x, names)
    spread = np.array([np.nanstd(column, ddof=1) if len(x) > 1 else 0.0 for column in x.T])
    moved = np.abs(x[rows] - numbers(aligned.y, names))
    kept = ~np.isnan(moved) & (spread > 0)
    if not kept.any():
        return left_out("no number can be compared", ["il1s"])
    value = float((moved / np.where(spread > 0, np.sqrt(2) * spread, 1.0))[kept].mean())
    return [Number("il1s", value, note=note)]


def _structure(request: Request, aligned: Aligned, names: list[str], note: str) -> list[Number]:
    """Change of the (weighted) correlation matrix of complete records."""
    if len(names) == 1:
        return left_out("one variable has no correlations", ["eigenvalues", "correlations"])
    matrices = []
    for frame, weights in ((aligned.x, request.weights), (aligned.y, aligned.side.weights)):
        values = numbers(frame, names)
        whole = ~np.isnan(values).any(axis=1)
        if whole.sum() < 2:
            return left_out("fewer than two complete records", ["eigenvalues", "correlations"])
        matrices.append(correlations(values[whole], None if weights is None else weights[whole]))
    one, two = matrices
    if np.isnan(one).any() or np.isnan(two).any():
        return left_out("a variable has no spread", ["eigenvalues", "correlations"])
    upper = np.triu_indices(len(names), 1)
    return [
        Number("eigenvalues", eigenvalue_difference(one, two), note=note),
        Number("correlations", float(np.abs(one - two)[upper].mean()), note=note),
    ]


def _tables(request: Request, aligned: Aligned) -> list[Number]:
    names = _categories(request, aligned)
    if not names:
        why = aligned.has([*request.keys, *request.sensitive]) or "no category was named"
        return left_out(why, ["hellinger", "tables"])
    note = aligned.has([*request.keys, *request.sensitive])
    x, y = aligned.x[names], aligned.y[names]
    both: dict[str, Any] = {"weights": request.weights, "released_weights": aligned.side.weights}

    def distances() -> list[Number]:
        one = hellinger(x, y, names, categorical=names, **both)
        return [Number("hellinger", float(one.mean), note=note)]

    def crossed() -> list[Number]:
        size = min(2, len(names))
        return [Number("tables", table_distances(x, y, names, size=size, **both).mean, note=note)]

    return attempt(["hellinger"], "", distances) + attempt(["tables"], "", crossed)


def _propensity(request: Request, aligned: Aligned) -> list[Number]:
    wanted = list(dict.fromkeys([*request.keys, *request.sensitive, *request.numeric]))
    names = [name for name in wanted if name not in aligned.lost]
    if not names:
        return left_out(aligned.has(wanted), ["pmse", "pmse_ratio"])
    few = [
        name
        for name in names
        if name not in request.numeric and _is_few(aligned.x, name) and _is_few(aligned.y, name)
    ]
    most = request.effort.propensity
    note = aligned.has(wanted)

    def measured() -> list[Number]:
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
        text = "; ".join(part for part in texts if part)
        return [
            Number("pmse", found.pmse, note=text),
            Number("pmse_ratio", found.pmse_ratio, note=text),
        ]

    return attempt(["pmse", "pmse_ratio"], "", measured)


def _is_few(frame: pd.DataFrame, name: str) -> bool:
    return is_number(frame, name) and frame[name].nunique() <= FEW
