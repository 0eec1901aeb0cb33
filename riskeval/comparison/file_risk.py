"""Risk of a file by itself, on its own levels: keys that few records share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from riskeval.comparison.numbers import Number, attempt, left_out
from riskeval.comparison.request import Request
from riskeval.keys.table import tabulate
from riskeval.measures.frequencies import count_keys
from riskeval.measures.individual import risk_of_counts
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.suda import suda
from synthpop.microdata.text import plural

COUNTED = ("below_2", "below_3", "below_5", "global_risk", "expected_reidentifications")
OTHERS = ("household_risk", "special_uniques")
EMPTY = "every key of every record is missing: risk is low because nothing is told"


def file_risk(
    request: Request, frame: pd.DataFrame, weights: np.ndarray | None, kind: str
) -> list[Number]:
    """Measure k-anonymity, individual risk, SUDA and diversity of one file.

    Parameters
    ----------
    frame : DataFrame, m records
    weights : float64, shape (m,), or None
    kind : "original", "perturbed" or "synthetic"
    """
    keys = [name for name in request.keys if name in frame]
    gone = [name for name in request.keys if name not in frame]
    if not keys:
        why = "no key is in the release"
        targets = [name for name in request.sensitive if name not in request.numeric]
        return left_out(why, [*COUNTED, *OTHERS]) + left_out(why, ["l_diversity"], targets)
    notes = [f"without {', '.join(gone)}"] if gone else []
    if kind == "synthetic":
        notes.append("a match is with a synthetic record, not with a person")
    if weights is None and request.weights is not None:
        notes.append("no weights: the file counts as the whole population")
    blank = int(frame[keys].isna().all(axis=1).sum())
    if blank == len(frame):
        notes.append(EMPTY)
    elif blank:
        notes.append(f"{plural(blank, 'record has', 'records have')} every key missing")
    note = "; ".join(notes)
    found = _counted(request, frame, weights, keys, note)
    found += attempt(["special_uniques"], "", lambda: [_special(frame, keys, note)])
    for name in [name for name in request.sensitive if name not in request.numeric]:
        if name not in frame:
            found += left_out(f"{name} is not in the release", ["l_diversity"], [name])
        elif name in keys:
            found += left_out(f"{name} is also a key", ["l_diversity"], [name])
        else:
            found += _diverse(frame, keys, name, note)
    return found


def _counted(
    request: Request,
    frame: pd.DataFrame,
    weights: np.ndarray | None,
    keys: list[str],
    note: str,
) -> list[Number]:
    counts = count_keys(tabulate(frame, keys, weights), "wildcard", 1.0, weights is not None)
    name = request.household
    household = frame[name] if name is not None and name in frame else None
    risk = risk_of_counts(counts, household=household)
    n = len(frame)
    found = [Number(f"below_{k}", float((counts.f < k).sum() / n), note=note) for k in (2, 3, 5)]
    found.append(Number("global_risk", float(risk.global_risk), note=note))
    expected = float(risk.expected_reidentifications)
    found.append(Number("expected_reidentifications", expected, note=note))
    if name is None:
        return found + left_out("no household was named", ["household_risk"])
    if household is None:
        return found + left_out(f"{name} is not in the release", ["household_risk"])
    return [*found, Number("household_risk", float(risk.household_global_risk or 0.0), note=note)]


def _special(frame: pd.DataFrame, keys: list[str], note: str) -> Number:
    found = suda(frame, keys)
    return Number("special_uniques", float((found.n_msu > 0).mean()), note=note)


def _diverse(frame: pd.DataFrame, keys: list[str], name: str, note: str) -> list[Number]:
    def measured() -> list[Number]:
        found = l_diversity(frame, keys, [name])
        return [Number("l_diversity", found.violations(2)[name] / len(frame), name, note=note)]

    return attempt(["l_diversity"], name, measured)
