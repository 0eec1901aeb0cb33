"""What an intruder who knows the keys learns about original persons from a release of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.registry import ATTACKS, N_GROUPS, AttackEntry, AttackInput
from riskeval.attacks.shares import Excess
from riskeval.comparison.alignment import Aligned
from riskeval.comparison.link_risk import drawn
from riskeval.comparison.request import CompareRequest
from riskeval.measurement import MeasureInfo, Measurement, attempt, joined, not_measured
from synthpop.microdata.codes import cell_ids, encode, recode_to
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import count, plural

UNIQUES = MeasureInfo(
    "replicated_uniques", "attribution risk", "low", "share",
    "share of the original records that are unique on the keys in both files (repU)",
    "Raab, Nowok and Dibben 2024", "Replicated uniques",
)  # fmt: skip
DISCO = MeasureInfo(
    "disco", "attribution risk", "low", "share",
    "share of the original records whose keys lead to their own value, and no other, in the "
    "release",
    "Raab, Nowok and Dibben 2024", "DiSCO",
)  # fmt: skip
TCAP = MeasureInfo(
    "tcap", "attribution risk", "low", "share",
    "share of right values among the original records whose keys lead to one released value",
    "Taub et al. 2018", "Correct attribution (TCAP)",
)  # fmt: skip
RAPID = MeasureInfo(
    "rapid", "attribution risk", "low", "share",
    "share of the original records whose value a model trained on the release predicts",
    "Templ, Thees and Müller 2026", "Prediction (RAPID)",
)  # fmt: skip
IDENTICAL = MeasureInfo(
    "identical", "attribution risk", "low", "share",
    "share of the released records equal to an original one in all variables",
    "a screen, never proof of safety (arXiv:2505.01524)", "Identical records",
)  # fmt: skip
CLOSE = MeasureInfo(
    "close", "attribution risk", "low", "share",
    "share of the released records nearer to an original one than the nearest 5 % of other "
    "persons are (of the hold-out, else of the original itself)",
    "a screen, never proof of safety (arXiv:2505.01524)", "Nearer than chance",
)  # fmt: skip
MEMBERSHIP = MeasureInfo(
    "membership", "attribution risk", "low", "probability",
    "probability that an intruder tells a member of the original from another person; 0.5 is "
    "guessing",
    "van Breugel et al. 2023", "Membership",
)  # fmt: skip
OWN = (
    "replicated_uniques", "disco", "tcap", "rapid", "membership", "distance_screen", "scenarios",
)  # fmt: skip
"""Attacks that are run here with the sample sizes of a comparison (scenarios: by themselves)."""
PERMUTATIONS = 1
TRAINED = 5
"""Records to learn from, for each record that is predicted: a copy is seen only if it is drawn."""
BASE = 4
"""Nearness is judged for some records, against so many times as many of the other file."""


def attribution_risk(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    """Measure uniques, attribution, prediction, nearness and membership."""
    keys = [name for name in request.keys if name not in aligned.lost]
    gone = [name for name in request.keys if name in aligned.lost]
    targets = [name for name in request.sensitive if name not in request.keys]
    if not keys:
        return _nothing(request, targets, aligned.has(request.keys))
    note = f"without {', '.join(gone)}" if gone else ""
    x, y = aligned.x_keys, aligned.y
    held = None if request.holdout is None else aligned.translate(request.holdout)
    found = attempt([UNIQUES], "", lambda: [_uniques(x, y, held, keys, note)])
    for name in dict.fromkeys(targets):
        if name in aligned.lost:
            found += not_measured(_about(request, name), f"{name} {aligned.lost[name]}", [name])
            continue
        if name not in request.numeric:
            for info, run in ((DISCO, _disco), (TCAP, _tcap)):
                found += attempt([info], name, _later(run, x, y, held, keys, name, note))
        found += attempt([RAPID], name, _later(_rapid, request, x, y, held, keys, name, note))
    others = dict.fromkeys([*targets, *request.numeric])
    names = [*keys, *[name for name in others if name not in aligned.lost and name not in keys]]
    return found + _near(request, aligned, held, names) + _others(request, aligned, held, keys)


def _others(
    request: CompareRequest, aligned: Aligned, held: pd.DataFrame | None, keys: list[str]
) -> list[Measurement]:
    """Attacks that joined the registry later than those above, on a part of the original."""
    streams = Streams(request.seed)
    targets = [name for name in request.sensitive if name not in (*keys, *aligned.lost)]
    part = drawn(len(aligned.x), request.sample_sizes.prediction, streams, "attacks")
    measured: list[Measurement] = []
    for name, attack in ATTACKS.items():
        if name in OWN or (attack.needs_holdout and held is None):
            continue
        given = AttackInput(
            original=aligned.x_keys.iloc[part].reset_index(drop=True),
            synthetic=aligned.y,
            keys=tuple(keys),
            targets=tuple(targets),
            holdout=held,
            seed=int(streams.at("compare", "attack", name).integers(2**62)),
        )
        wanted = [
            target for target in targets if attack.target == "any" or target not in request.numeric
        ]
        for target in [""] if attack.target == "none" else wanted:
            measured += attempt([], target, _later(_registered, attack, given, target))
    return measured


def _registered(attack: AttackEntry, given: AttackInput, target: str) -> list[Measurement]:
    return [number.measurement for number in attack.numbers(attack.run(given, target))]


def _about(request: CompareRequest, target: str) -> list[MeasureInfo]:
    """Measures about one sensitive variable: numbers are predicted only."""
    return [RAPID] if target in request.numeric else [DISCO, TCAP, RAPID]


def _nothing(request: CompareRequest, targets: list[str], why: str) -> list[Measurement]:
    found = not_measured([UNIQUES, IDENTICAL, CLOSE, MEMBERSHIP], why)
    for name in targets:
        found += not_measured(_about(request, name), why, [name])
    return found


def _later(run: Callable[..., list[Measurement]], *values: Any) -> Callable[[], list[Measurement]]:
    return lambda: run(*values)


def _uniques(
    x: pd.DataFrame, y: pd.DataFrame, held: pd.DataFrame | None, keys: list[str], note: str
) -> Measurement:
    found = replicated_uniques(x, y, keys, holdout=held, draws=0)
    return Measurement(
        UNIQUES,
        found.rate,
        records=len(x),
        baseline=found.unique_original,
        against="uniques of the original",
        note=joined(note, _beyond(found.excess), *found.notes),
    )


def _beyond(one: Excess | None) -> str:
    """Say how much more is found about the original than about strangers; empty without them."""
    if one is None:
        return ""
    return (
        f"{100 * one.difference:+.1f} points against strangers ({100 * one.lower:+.1f} to "
        f"{100 * one.upper:+.1f})"
    )


def _disco(
    x: pd.DataFrame,
    y: pd.DataFrame,
    held: pd.DataFrame | None,
    keys: list[str],
    target: str,
    note: str,
) -> list[Measurement]:
    found = disco(x, y, keys, target, holdout=held, n_groups=N_GROUPS, draws=0)
    original = found.disclosive_original
    return [
        Measurement(
            DISCO,
            found.rate,
            target,
            records=len(x),
            baseline=original,
            against="the original",
            note=joined(note, _beyond(found.excess), *found.notes),
        )
    ]


def _tcap(
    x: pd.DataFrame,
    y: pd.DataFrame,
    held: pd.DataFrame | None,
    keys: list[str],
    target: str,
    note: str,
) -> list[Measurement]:
    found = tcap(x, y, keys, target, holdout=held, n_groups=N_GROUPS, draws=0)
    value = found.value("TCAP_original")
    targeted = found.table.loc[found.table["measure"] == "TCAP_original", "n"]
    if np.isnan(value):
        note = joined(note, "no released group has one value")
    return [
        Measurement(
            TCAP,
            value,
            target,
            records=int(targeted.iloc[0]),
            baseline=found.baseline,
            against="drawing without keys",
            note=joined(note, _beyond(found.excess.get("TCAP_original")), *found.notes),
        )
    ]


def _rapid(
    request: CompareRequest,
    x: pd.DataFrame,
    y: pd.DataFrame,
    held: pd.DataFrame | None,
    keys: list[str],
    target: str,
    note: str,
) -> list[Measurement]:
    streams = Streams(request.seed)
    part = drawn(len(x), request.sample_sizes.prediction, streams, "prediction")
    judged = x.iloc[part].reset_index(drop=True)
    found = rapid(
        judged,
        y,
        keys,
        target,
        holdout=held,
        model=request.sample_sizes.model,
        permutations=PERMUTATIONS,
        train_rows=TRAINED * request.sample_sizes.prediction,
        seed=int(streams.at("compare", "prediction", target).integers(2**62)),
    )
    more = f"{plural(len(part), 'record')} drawn at random" if len(part) < len(x) else ""
    outside = not np.isnan(found.holdout_rate)
    return [
        Measurement(
            RAPID,
            found.rate,
            target,
            records=len(part),
            baseline=found.holdout_rate if outside else found.permuted_rate,
            against="persons outside the original" if outside else "shuffled target",
            lower=found.interval[0],
            upper=found.interval[1],
            note=joined(note, more, f"strongest: {found.model}", _beyond(found.excess)),
        )
    ]


def _near(
    request: CompareRequest, aligned: Aligned, held: pd.DataFrame | None, names: list[str]
) -> list[Measurement]:
    """Distance screen, and membership where there is a hold-out, on all shared variables."""
    streams = Streams(request.seed)
    part = drawn(len(aligned.x), BASE * request.sample_sizes.screen, streams, "screen")
    x = aligned.x_keys.iloc[part].reset_index(drop=True)
    y = aligned.y
    seed = int(streams.at("compare", "screen").integers(2**62))

    def screened() -> list[Measurement]:
        most = request.sample_sizes.screen
        found = distance_screen(x, y, names, holdout=held, most_records=most, seed=seed)
        cut = max(len(aligned.x), len(y)) > most
        more = f"{plural(most, 'record')} against {count(len(x))}, drawn at random" if cut else ""
        return [
            Measurement(
                IDENTICAL,
                identical(aligned.x_keys, y, names),
                records=len(y),
                baseline=_repeated(aligned.x_keys, held, names),
                against="persons outside the original" if held is not None else "the original",
            ),
            Measurement(
                CLOSE,
                found.close,
                records=min(most, len(y)),
                baseline=found.close_baseline,
                against=f"records of the {found.baseline}",
                lower=found.close_interval[0],
                upper=found.close_interval[1],
                note=joined(more, _beyond(found.excess.get("close"))),
            ),
        ]

    found = attempt([IDENTICAL, CLOSE], "", screened)
    if held is None:
        return found + not_measured([MEMBERSHIP], "needs a hold-out")

    def judged() -> list[Measurement]:
        some = drawn(len(x), request.sample_sizes.screen, streams, "members")
        members, most = x.iloc[some], BASE * request.sample_sizes.screen
        result = membership(members, y, names, holdout=held, most_records=most, seed=seed)
        note = f"{count(len(some))} members, drawn at random" if len(some) < len(aligned.x) else ""
        return [
            Measurement(
                MEMBERSHIP,
                result.auc,
                records=len(some),
                baseline=0.5,
                against="guessing",
                lower=result.interval[0],
                upper=result.interval[1],
                note=joined(note, f"strongest: {result.method}"),
            )
        ]

    return found + attempt([MEMBERSHIP], "", judged)


def _repeated(x: pd.DataFrame, held: pd.DataFrame | None, names: list[str]) -> float:
    """Share of the hold-out that equals an original record, or of the original that has a twin."""
    if held is not None:
        return identical(x, held, names)
    return float(x.duplicated(names, keep=False).mean())


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
