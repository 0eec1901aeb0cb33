"""What an intruder who knows the keys learns about original persons, by the registry of attacks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from riskeval.attacks.compared import STRANGERS, ComparedFiles
from riskeval.attacks.entry import AttackEntry, AttackInput
from riskeval.attacks.registry import ATTACKS
from riskeval.comparison.alignment import Aligned
from riskeval.comparison.request import CompareRequest
from riskeval.shared.measurement import MeasureInfo, Measurement, attempt, not_measured
from synthpop.microdata.messages.message import message

CHANCE, FEW = 4.0, 0.01
"""Standard errors, and share of the records, by which copies must exceed natural duplicates."""


def attribution_risk(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    """Run every attack of the registry: on the file, and on each sensitive variable."""
    targets = list(dict.fromkeys(n for n in request.sensitive if n not in request.keys))
    keys = [name for name in request.keys if name not in aligned.not_compared]
    missing = [name for name in request.keys if name in aligned.not_compared]
    others = dict.fromkeys([*targets, *request.numeric])
    sizes = request.sample_sizes
    files = ComparedFiles(
        original=aligned.x_keys,
        release=aligned.y,
        holdout=None
        if request.holdout is None or (request.keys and not keys)
        else aligned.translate(request.holdout),
        keys=keys,
        variables=[*keys, *(n for n in others if n not in aligned.not_compared and n not in keys)],
        n_predicted=sizes.prediction,
        n_screened=sizes.screen,
        model=sizes.model,
        seed=request.seed,
        note=f"without {', '.join(missing)}" if missing else "",
        amounts=request.numeric,
    )
    measured: list[Measurement] = []
    for name, target in _in_order(targets):
        measured += _attacked(name, ATTACKS[name], target, request, aligned, files)
    kind = aligned.release.kind
    if kind != "synthetic":  # a changed file is about its persons, and tells more of them
        measured = [replace(one, limit=None) if one.limit_source == STRANGERS else one
                    for one in measured]  # fmt: skip
    if kind == "synthetic" or (kind == "perturbed" and files.amounts):
        measured = [_limited(one, len(request.original)) for one in measured]
    return measured


def _limited(one: Measurement, n: int) -> Measurement:
    """Return the share of identical records with a limit: what duplicates by chance explain.

    Of changed records only those with amounts are judged: others may be alike by being frequent.
    """
    if one.info.name != "identical" or np.isnan(one.value):
        return one
    usual = one.baseline
    error = np.sqrt(usual * (1 - usual) * (1 / n + 1 / max(one.records, 1)))
    limit = min(usual + CHANCE * error + FEW, 1.0)
    return replace(one, limit=limit, limit_source="duplicates of real persons, and chance")


def _in_order(targets: list[str]) -> list[tuple[str, str]]:
    """Attacks by the keys alone, those on each sensitive variable, and the others."""
    entries = {name: one for name, one in ATTACKS.items() if one.compared is not False}
    alone = [(name, "") for name, one in entries.items() if one.target == "none"]
    about = [(name, x) for x in targets for name, one in entries.items() if one.target != "none"]
    first = [pair for pair in alone if entries[pair[0]].exact_keys]
    return [*first, *about, *(pair for pair in alone if pair not in first)]


def _attacked(
    name: str,
    attack: AttackEntry,
    target: str,
    request: CompareRequest,
    aligned: Aligned,
    files: ComparedFiles,
) -> list[Measurement]:
    """Numbers of one attack, or why there are none."""
    if attack.target == "categorical" and target in request.numeric:
        return []
    compared = attack.compared
    infos: tuple[MeasureInfo, ...] = () if isinstance(compared, bool) else compared.infos
    by_amounts = not request.keys and not attack.exact_keys and attack.target == "none"
    if not files.keys and not by_amounts:
        why = aligned.has(request.keys) or message("no key was specified")
        return not_measured(infos, why, [target])
    if target in aligned.not_compared:
        return not_measured(infos, f"{target} {aligned.not_compared[target]}", [target])
    if attack.needs_holdout and files.holdout is None:
        return not_measured(infos, message("needs a hold-out"))
    if isinstance(compared, bool):
        targets = tuple(
            n for n in request.sensitive if n not in (*files.keys, *aligned.not_compared)
        )
        return attempt(infos, target, partial(_registered, name, attack, target, files, targets))
    return attempt(infos, target, partial(compared.run, files, target))


def _registered(
    name: str, attack: AttackEntry, target: str, files: ComparedFiles, targets: tuple[str, ...]
) -> list[Measurement]:
    """Numbers of an attack that says nothing of comparisons, on a part of the original."""
    inputs = AttackInput(
        original=files.drawn_records(files.n_predicted, "attacks"), synthetic=files.release,
        keys=tuple(files.keys), targets=targets, holdout=files.holdout,
        seed=files.drawn_seed("attack", name),
    )  # fmt: skip
    return [number.measurement for number in attack.numbers(attack.run(inputs, target))]
