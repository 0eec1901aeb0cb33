"""Every attack on one synthetic file, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from riskeval.attacks.compared import N_GROUPS
from riskeval.attacks.entry import AttackInput, AttackNumber
from riskeval.attacks.intervals import check_intervals
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.request import (
    AttackRequest,
    check_file,
    check_request,
    keys_and_targets,
    read_request,
)
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.strangers import overlap_of
from riskeval.attacks.synthetic_risk import SyntheticRisk, title_of
from riskeval.attacks.usable import unusable_columns
from riskeval.shared.measurement import joined
from riskeval.verdict.file import file_evidence
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import Whole, check, check_choice
from synthpop.microdata.runs.chunks import open_chunks
from synthpop.microdata.statistics.streams import resolve_seed


@same_library
def assess_synthetic(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str | None = None,
    targets: Sequence[str] | str | None = None,
    *,
    holdout: Any = None,
    household: str | None = None,
    members: str = "any",
    categorical: Sequence[str] | str = (),
    n_groups: int = N_GROUPS,
    replicates: Iterable[Any] = (),
    attacks: Sequence[str] | str = "all",
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> SyntheticRisk:
    """Run the attacks of the registry on a synthetic file, whichever generator made it.

    Parameters
    ----------
    original : DataFrame, n rows
        The real file that the synthetic one was made from.
    synthetic : DataFrame, object with ``iter_blocks()``, or list of frames
        Read once an attack, so not a generator.
    keys : names of columns that the intruder knows, or a Scenario
        A Scenario holds the targets and more. What an attack leaves aside of it is in `notes`.
    targets : names of columns that the intruder wants to know
        Each attack on targets is run on every one. DiSCO and attribution compare amounts in groups.
    holdout : DataFrame, optional
        Real persons who were not in the original. Only with them is there a verdict: whether the
        file tells more about its participants than about anybody. Membership inference needs it.
    household : str, optional
        Column of all files with the number of the household: the unit of every attack is then the
        household.
    members : {"any", "every"}
        Whose target must be found for a household to count.
    categorical : names of keys or targets, optional
        Numeric columns that are codes of categories. (A Scenario declares its targets itself.)
    n_groups : int
        Groups of about equal size in which DiSCO and attribution compare amounts.
    replicates : list of synthetic files
        Further files of the same fit: the counting measures give the interval of their mean. The
        other attacks are made on the first file alone.
    attacks : "all" or names in `riskeval.attacks.registry.ATTACKS`
    workers : int
        Threads of models and distances; results do not depend on it.
    on_event : callable, optional
        Listener of progress: one step an attack, and the steps of the single attacks.
    seed : int, optional
        Of the attacks that draw.

    Returns
    -------
    SyntheticRisk

    Raises
    ------
    InputError
        Missing columns, unknown attacks, a synthetic file that can be read only once.

    Notes
    -----
    Each attack runs with its defaults; call it by itself for its options. An attack that these
    files do not allow (too few records) is left out; the reason is in `skipped`. A column of which
    no value of the original stands in the synthetic file is left out of all attacks and named in
    `dropped`. Each interval
    holds with its confidence for the numbers of one attack on one target together.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def draw(n):
    ...     age = rng.integers(20, 25, n)
    ...     return pd.DataFrame({"age": age, "ill": np.where(rng.random(n) < 0.3, "y", "n")})
    >>> risk = assess_synthetic(draw(80), draw(90), "age", "ill", attacks=["disco", "membership"])
    >>> risk.table["measure"].tolist(), risk.skipped
    (['DiSCO'], {('membership', ''): 'it needs a hold-out'})
    """
    inputs, chosen = _read_input(
        original, synthetic, keys, targets, holdout=holdout, household=household, members=members,
        categorical=categorical, n_groups=n_groups, replicates=replicates, attacks=attacks,
        workers=workers, on_event=on_event, seed=seed,
    )  # fmt: skip
    named = inputs.keys
    inputs, dropped = _with_usable(inputs)
    jobs = [
        (name, target) for name in chosen
        for target in ([""] if ATTACKS[name].target == "none" else inputs.targets)
    ]  # fmt: skip
    results: dict[tuple[str, str], Any] = {}
    skipped: dict[tuple[str, str], str] = {}
    notes: dict[tuple[str, str], str] = {}
    rows: list[dict[str, object]] = []
    nearer: list[str] = []
    inputs.on_event(Event("start", SUBJECT, 0, len(jobs)))
    for done, (name, target) in enumerate(jobs):
        inputs.on_event(Event("progress", SUBJECT, done, len(jobs), title_of(name, target)))
        if why := _lacking(inputs, name):
            skipped[name, target] = why
            continue
        try:
            grouped, groups = inputs.with_groups() if ATTACKS[name].exact_keys else (inputs, ())
            result = ATTACKS[name].run(grouped, target)
        except InputError as error:
            skipped[name, target] = joined_by(
                "; ", (str(fault).rstrip(".") for fault in error.faults)
            )
            continue
        results[name, target] = result
        note = _note(name, inputs, result, groups)
        if note:
            notes[name, target] = note
        numbers = ATTACKS[name].numbers(result)
        rows += [_row(name, target, one, len(jobs)) for one in numbers]
        if any(one.excess is not None and one.excess.is_below_among(len(jobs)) for one in numbers):
            nearer.append(title_of(name, target))
    inputs.on_event(Event("end", SUBJECT, len(jobs), len(jobs)))
    story = "" if inputs.scenario is None else inputs.scenario.story()
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"above_among_all": bool})
    no_strangers = _no_strangers(inputs, nearer)
    first = next(iter(open_chunks(inputs.synthetic, "synthetic", ())))
    found = file_evidence(first, named, persons=False)
    return SyntheticRisk(
        table, results, skipped, notes, story, inputs.seed, no_strangers, dropped, tuple(found)
    )


def _lacking(inputs: AttackInput, name: str) -> str:
    """Return why an attack cannot run; empty where it can."""
    if ATTACKS[name].needs_holdout and inputs.holdout is None:
        return message("it needs a hold-out")
    if not inputs.keys and ATTACKS[name].exact_keys:
        return "both files code every key differently"
    return ""


def _with_usable(inputs: AttackInput) -> tuple[AttackInput, tuple[str, ...]]:
    """Leave out the columns that both files code differently, and say which."""
    names = (*inputs.keys, *inputs.targets)
    codes = inputs.categorical if inputs.scenario is None else inputs.scenario.categorical
    dropped = unusable_columns(inputs.original, inputs.synthetic, names, codes)
    if not dropped or len(dropped) == len(names):
        return inputs, ()
    keys, targets = (
        tuple(name for name in named if name not in dropped)
        for named in (inputs.keys, inputs.targets)
    )
    scenario = inputs.scenario
    if scenario is not None and keys:
        plain = scenario.to_dict() | {"keys": list(keys), "targets": list(targets)}
        if "key_errors" in plain:
            plain["key_errors"] = {k: v for k, v in scenario.errors.items() if k in keys}
        if "categorical" in plain:
            plain["categorical"] = [name for name in scenario.categorical if name in targets]
        scenario = Scenario.from_dict(plain)
    left = replace(
        inputs, keys=keys, targets=targets, scenario=scenario if keys else None,
        categorical=tuple(name for name in inputs.categorical if name not in dropped),
    )  # fmt: skip
    return left, tuple(dropped)


def _no_strangers(inputs: AttackInput, nearer: Sequence[str]) -> str:
    """Say why persons of the hold-out cannot stand for strangers; empty where nothing shows it."""
    names = (*inputs.keys, *inputs.targets)
    shared = overlap_of(inputs.original, inputs.holdout, names, inputs.categorical)
    about_holdout = message(
        "the synthetic file reveals more about the hold-out than about the original "
        "({nearer}), as would a file made from the hold-out, or one whose hold-out "
        "contains a different kind of persons",
        nearer=", ".join(nearer),
    )
    return joined(shared, about_holdout if nearer else "")


SUBJECT = "assess_synthetic"
COLUMNS = [
    "attack", "target", "measure", "value", "lower", "upper", "baseline", "against", "excess",
    "excess_lower", "excess_upper", "above_among_all", "reading", "detail",
]  # fmt: skip


def _row(attack: str, target: str, number: AttackNumber, n_attacks: int) -> dict[str, object]:
    one, beyond = number.measurement, number.excess
    values, is_clear = (np.nan, np.nan, np.nan), False
    if beyond is not None:
        values = (beyond.difference, beyond.lower, beyond.upper)
        is_clear = beyond.is_above_among(n_attacks)
    row = (
        attack, target, one.info.title, one.value, one.lower, one.upper, one.baseline, one.against,
        *values, is_clear, number.reading(), one.note,
    )  # fmt: skip
    return dict(zip(COLUMNS, row, strict=True))


def _check_releases(faults: Faults, releases: list[Any], request: AttackRequest) -> None:
    """Note releases that can be read once only, and columns that they lack."""
    once = [isinstance(file, Iterator) for file in releases]
    for i, file in enumerate(releases):
        role = "replicates" if i else "synthetic"
        if once[i]:
            hint = "Give a list of frames, or an object with iter_blocks()."
            faults.add(role, "can be read only once, every attack reads it", hint=hint)
        elif not any(once):
            first = next(open_chunks(file, role, request.needed))
            check_columns(faults, first, request.needed, f"key or target of the {role} file")


class _Options(TypedDict):
    holdout: Any
    household: str | None
    members: str
    categorical: Sequence[str] | str
    n_groups: int
    replicates: Iterable[Any]
    attacks: Sequence[str] | str
    workers: int
    on_event: Listener | None
    seed: int | None


def _read_input(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str | None,
    targets: Sequence[str] | str | None,
    **options: Unpack[_Options],
) -> tuple[AttackInput, Sequence[str]]:
    """Check the arguments, every fault together, and put them into one record."""
    faults = Faults(SUBJECT)
    household, holdout, attacks = options["household"], options["holdout"], options["attacks"]
    keys, targets = keys_and_targets(original, keys, targets)
    frame = as_frame(original, "original")
    others = None if holdout is None else as_frame(holdout, "holdout")
    chosen = list(ATTACKS) if attacks == "all" else listed_names(attacks)
    for name in chosen:
        check_choice(faults, "attacks", name, ATTACKS)
    check(faults, {"workers": Whole(1), "n_groups": Whole(2)}, options)
    further = check_intervals(faults, 0, 0.5, options["replicates"])
    request = read_request(
        SUBJECT, keys, targets, household=household, members=options["members"],
        categorical=options["categorical"],
    )  # fmt: skip
    check_request(faults, request, frame)
    for name in request.categorical:
        if name not in request.variables:
            faults.add("categorical", f"{name!r} is neither a key nor a target")
    if others is not None:
        check_file(faults, others, request, "hold-out")
    _check_releases(faults, [synthetic, *further], request)
    faults.raise_if_any()
    scenario = keys if isinstance(keys, Scenario) else None
    if household is not None:
        scenario = Scenario(
            request.keys, request.targets, unit="household", household=household,
            members=options["members"], who="everyone",
            categorical=[name for name in request.categorical if name in request.targets],
        )  # fmt: skip
    declared = () if scenario is not None else request.categorical
    inputs = AttackInput(
        frame, synthetic, request.keys, request.targets, others,
        resolve_seed(options["seed"]), scenario, further, declared, options["n_groups"],
        options["workers"], options["on_event"] or silent,
    )  # fmt: skip
    return inputs, chosen


def _note(name: str, inputs: AttackInput, result: Any, groups: Sequence[str]) -> str:
    """What an attack leaves aside, and the rules its numbers rest on; empty for nothing."""
    fields = inputs.left_out(ATTACKS[name].honours)
    only_first = inputs.replicates and not ATTACKS[name].replicates
    return joined(
        message("{fields} of the scenario ignored", fields=", ".join(fields)) if fields else "",
        message("the first synthetic file alone") if only_first else "",
        message(
            "{groups} compared in {n_groups} groups",
            groups=", ".join(groups),
            n_groups=inputs.n_groups,
        )
        if groups
        else "",
        *getattr(result, "notes", ()),
    )
