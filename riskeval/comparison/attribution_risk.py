"""What an intruder who knows the keys learns about original persons from a release of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.registry import N_GROUPS
from riskeval.comparison.alignment import Aligned
from riskeval.comparison.link_risk import drawn
from riskeval.comparison.numbers import Number, attempt, left_out
from riskeval.comparison.request import Request
from synthpop.microdata.codes import cell_ids, encode, recode_to
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import plural

PERMUTATIONS = 1
BASE = 4
"""Nearness is judged for some records, against so many times as many of the other file."""


def attribution_risk(request: Request, aligned: Aligned) -> list[Number]:
    """Measure uniques, attribution, prediction, nearness and membership."""
    keys = [name for name in request.keys if name not in aligned.lost]
    gone = [name for name in request.keys if name in aligned.lost]
    targets = [name for name in request.sensitive if name not in request.keys]
    if not keys:
        return _nothing(request, targets, aligned.has(request.keys))
    note = f"without {', '.join(gone)}" if gone else ""
    x, y = aligned.x_keys, aligned.y
    held = None if request.holdout is None else aligned.translate(request.holdout)
    found = attempt(["replicated_uniques"], "", lambda: [_uniques(x, y, keys, note)])
    for name in dict.fromkeys(targets):
        if name in aligned.lost:
            found += left_out(f"{name} {aligned.lost[name]}", _about(request, name), [name])
            continue
        if name not in request.numeric:
            for measure, run in (("disco", _disco), ("tcap", _tcap)):
                found += attempt([measure], name, _later(run, x, y, keys, name, note))
        found += attempt(["rapid"], name, _later(_rapid, request, x, y, held, keys, name, note))
    others = dict.fromkeys([*targets, *request.numeric])
    names = [*keys, *[name for name in others if name not in aligned.lost and name not in keys]]
    return found + _near(request, aligned, held, names)


def _about(request: Request, target: str) -> list[str]:
    """Measures about one sensitive variable: numbers are predicted only."""
    return ["rapid"] if target in request.numeric else ["disco", "tcap", "rapid"]


def _nothing(request: Request, targets: list[str], why: str) -> list[Number]:
    found = left_out(why, ["replicated_uniques", "identical", "close", "membership"])
    for name in targets:
        found += left_out(why, _about(request, name), [name])
    return found


def _later(run: Callable[..., list[Number]], *values: Any) -> Callable[[], list[Number]]:
    return lambda: run(*values)


def _uniques(x: pd.DataFrame, y: pd.DataFrame, keys: list[str], note: str) -> Number:
    found = replicated_uniques(x, y, keys, draws=0)
    return Number(
        "replicated_uniques",
        found.rate,
        baseline=found.unique_original,
        against="uniques of the original",
        note=note,
    )


def _disco(
    x: pd.DataFrame, y: pd.DataFrame, keys: list[str], target: str, note: str
) -> list[Number]:
    found = disco(x, y, keys, target, n_groups=N_GROUPS, draws=0)
    original = found.disclosive_original
    return [Number("disco", found.rate, target, original, "the original", note=note)]


def _tcap(
    x: pd.DataFrame, y: pd.DataFrame, keys: list[str], target: str, note: str
) -> list[Number]:
    found = tcap(x, y, keys, target, n_groups=N_GROUPS, draws=0)
    value = found.value("TCAP_original")
    if np.isnan(value):
        note = "; ".join(text for text in (note, "no released group has one value") if text)
    return [Number("tcap", value, target, found.baseline, "drawing without keys", note=note)]


def _rapid(
    request: Request,
    x: pd.DataFrame,
    y: pd.DataFrame,
    held: pd.DataFrame | None,
    keys: list[str],
    target: str,
    note: str,
) -> list[Number]:
    streams = Streams(request.seed)
    part = drawn(len(x), request.effort.prediction, streams, "prediction")
    judged = x.iloc[part].reset_index(drop=True)
    found = rapid(
        judged,
        y,
        keys,
        target,
        holdout=held,
        model=request.effort.model,
        permutations=PERMUTATIONS,
        train_rows=request.effort.prediction,
        seed=int(streams.at("compare", "prediction", target).integers(2**62)),
    )
    more = f"{plural(len(part), 'record')} drawn at random" if len(part) < len(x) else ""
    outside = not np.isnan(found.holdout_rate)
    return [
        Number(
            "rapid",
            found.rate,
            target,
            found.holdout_rate if outside else found.permuted_rate,
            "persons outside the original" if outside else "shuffled target",
            *found.interval,
            note="; ".join(text for text in (note, more) if text),
        )
    ]


def _near(
    request: Request, aligned: Aligned, held: pd.DataFrame | None, names: list[str]
) -> list[Number]:
    """Distance screen, and membership where there is a hold-out, on all shared variables."""
    streams = Streams(request.seed)
    part = drawn(len(aligned.x), BASE * request.effort.screen, streams, "screen")
    x = aligned.x_keys.iloc[part].reset_index(drop=True)
    y = aligned.y
    seed = int(streams.at("compare", "screen").integers(2**62))

    def screened() -> list[Number]:
        most = request.effort.screen
        found = distance_screen(x, y, names, most_records=most, seed=seed)
        cut = max(len(aligned.x), len(y)) > most
        more = f"{plural(most, 'record')} against {len(x):,}, drawn at random" if cut else ""
        return [
            Number("identical", identical(aligned.x_keys, y, names)),
            Number("close", found.close, "", 0.05, "real persons", *found.close_interval, more),
        ]

    found = attempt(["identical", "close"], "", screened)
    if held is None:
        return found + left_out("needs a hold-out", ["membership"])

    def judged() -> list[Number]:
        some = drawn(len(x), request.effort.screen, streams, "members")
        members, most = x.iloc[some], BASE * request.effort.screen
        result = membership(members, y, names, holdout=held, most_records=most, seed=seed)
        note = f"{len(some):,} members, drawn at random" if len(some) < len(aligned.x) else ""
        return [Number("membership", result.auc, "", 0.5, "guessing", *result.interval, note)]

    return found + attempt(["membership"], "", judged)


def identical(x: pd.DataFrame, y: pd.DataFrame, names: list[str]) -> float:
    """Share of the records of `y` that equal one of `x` in all columns; missing equals missing.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [30, 41, 41], "sex": list("fmf")})
    >>> identical(table, pd.DataFrame({"age": [41.0, 30.0], "sex": ["m", "m"]}), ["age", "sex"])
    0.5
    """
    columns, sizes = [], []
    for name in names:
        own, levels = encode(x[name])
        other, unknown = recode_to(y[name], levels)
        both = np.concatenate([own.astype(np.int64), other.astype(np.int64)])
        both[len(own) :][unknown] = len(levels)
        columns.append(both)
        sizes.append(len(levels) + 1)
    ids, n_cells = cell_ids(np.column_stack(columns), sizes)
    there = np.zeros(n_cells, dtype=bool)
    there[ids[: len(x)]] = True
    return float(there[ids[len(x) :]].mean())
