"""What an intruder who knows the keys learns about original persons from a release of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.link_risk import drawn
from riskeval.comparison.numbers import Number, attempt, left_out
from riskeval.comparison.request import Request
from riskeval.intruders.attribution import disco, replicated_uniques, tcap
from riskeval.intruders.nearness import distance_screen, membership
from riskeval.intruders.prediction import rapid
from synthpop.microdata.streams import Streams

PERMUTATIONS = 1


def attribution_risk(request: Request, aligned: Aligned) -> list[Number]:
    """Measure uniques, attribution, prediction, nearness and membership."""
    keys = [name for name in request.keys if name not in aligned.lost]
    gone = [name for name in request.keys if name in aligned.lost]
    targets = [name for name in (*request.sensitive, *request.numeric) if name not in request.keys]
    levels = ["disco", "tcap"]
    if not keys:
        why = aligned.has(request.keys)
        return (
            left_out(why, ["replicated_uniques"])
            + left_out(why, [*levels, "rapid"], targets)
            + left_out(why, ["identical", "close", "membership"])
        )
    note = f"without {', '.join(gone)}" if gone else ""
    x, y = aligned.x_keys, aligned.y
    held = None if request.holdout is None else aligned.translate(request.holdout)
    found = attempt(["replicated_uniques"], "", lambda: [_uniques(x, y, keys, note)])
    for name in dict.fromkeys(targets):
        if name in aligned.lost:
            measures = ["rapid"] if name in request.numeric else [*levels, "rapid"]
            found += left_out(f"{name} {aligned.lost[name]}", measures, [name])
            continue
        if name not in request.numeric:
            for measure, run in (("disco", _disco), ("tcap", _tcap)):
                found += attempt([measure], name, _later(run, x, y, keys, name, note))
        found += attempt(["rapid"], name, _later(_rapid, request, x, y, held, keys, name, note))
    names = [*keys, *[name for name in targets if name not in aligned.lost]]
    return found + _near(request, aligned, held, names)


def _later(run: Callable[..., list[Number]], *values: Any) -> Callable[[], list[Number]]:
    return lambda: run(*values)


def _uniques(x: pd.DataFrame, y: pd.DataFrame, keys: list[str], note: str) -> Number:
    found = replicated_uniques(x, y, keys)
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
    found = disco(x, y, keys, target)
    original = found.disclosive_original
    return [Number("disco", found.rate, target, original, "the original", note=note)]


def _tcap(
    x: pd.DataFrame, y: pd.DataFrame, keys: list[str], target: str, note: str
) -> list[Number]:
    found = tcap(x, y, keys, target)
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
    more = f"{len(part):,} records drawn at random" if len(part) < len(x) else ""
    return [
        Number(
            "rapid",
            found.rate,
            target,
            found.permuted_rate,
            "shuffled target",
            *found.interval,
            note="; ".join(text for text in (note, more) if text),
        )
    ]


def _near(
    request: Request, aligned: Aligned, held: pd.DataFrame | None, names: list[str]
) -> list[Number]:
    """Distance screen, and membership where there is a hold-out, on all shared variables."""
    streams = Streams(request.seed)
    part = drawn(len(aligned.x), request.effort.screen, streams, "screen")
    x = aligned.x_keys.iloc[part].reset_index(drop=True)
    y = aligned.y
    seed = int(streams.at("compare", "screen").integers(2**62))

    def screened() -> list[Number]:
        most = request.effort.screen
        found = distance_screen(x, y, names, most_records=most, seed=seed)
        cut = max(len(aligned.x), len(y)) > most
        more = f"at most {most:,} records of each file, drawn at random" if cut else ""
        return [
            Number("identical", found.identical, note=more),
            Number("close", found.close, "", 0.05, "real persons", *found.close_interval, more),
        ]

    found = attempt(["identical", "close"], "", screened)
    if held is None:
        return found + left_out("needs a hold-out", ["membership"])

    def judged() -> list[Number]:
        most = request.effort.screen
        result = membership(x, y, names, holdout=held, most_records=most, seed=seed)
        return [Number("membership", result.auc, "", 0.5, "guessing", *result.interval)]

    return found + attempt(["membership"], "", judged)
