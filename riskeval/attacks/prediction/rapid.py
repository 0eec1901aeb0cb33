"""RAPID: what a model trained on the synthetic file predicts about the persons of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.compared import (
    PERMUTATIONS,
    TRAINED,
    ComparedAttack,
    ComparedFiles,
    beyond_strangers,
    shown,
)
from riskeval.attacks.entry import PREDICTED, AttackEntry, AttackInput
from riskeval.attacks.numbers import OUTSIDE, AttackNumber, beside
from riskeval.attacks.prediction.features import check_size
from riskeval.attacks.prediction.model import (
    MODELS,
    PANEL,
    ROUNDING,
    TREES,
    RapidTrial,
    TargetModel,
    UnitsAtRisk,
)
from riskeval.attacks.prediction.rapid_result import Rapid
from riskeval.attacks.request import (
    AttackRequest,
    check_file,
    check_request,
    keys_and_targets,
    read_request,
)
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, corrected, excess
from riskeval.attacks.strangers import overlap_of
from riskeval.attacks.targets import (
    attack_targets,
    clusters_among,
    level_coders,
    with_believed_keys,
)
from riskeval.attacks.values import codes_note, same_kind
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.budget import repeated
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import MOST_TIMES, SHARE, Whole, check, check_choice
from synthpop.microdata.messages.text import count, plural, short_percent
from synthpop.microdata.runs.chunks import draw_records
from synthpop.microdata.statistics.intervals import wilson
from synthpop.microdata.statistics.streams import Streams, resolve_seed

HONOURED = (
    "key_errors", "coverage", "who", "rows", "unit", "household", "members", "accuracy",
    "categorical",
)  # fmt: skip
PARAMETERS = {
    "threshold": SHARE, "confidence": SHARE, "permutations": Whole(0, MOST_TIMES),
    "train_rows": Whole(1), "trees": Whole(1), "workers": Whole(1),
}  # fmt: skip


@same_library
def rapid(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str | None = None,
    target: str | None = None,
    *,
    model: Any = "panel",
    threshold: float = 0.3,
    tolerance: Sequence[float] | float = 0.05,
    holdout: Any = None,
    household: str | None = None,
    members: str = "any",
    categorical: Sequence[str] | str = (),
    permutations: int = 3,
    train_rows: int = 100_000,
    most_records: int | None = None,
    trees: int = TREES,
    confidence: float = 0.95,
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> Rapid:
    """Risk of attribute prediction-induced disclosure.

    The intruder trains a model on the synthetic file only, and predicts the target of real persons
    from their keys.

    Parameters
    ----------
    original : DataFrame, n rows
    synthetic : DataFrame, object with ``iter_blocks()``, or iterable of frames
        Any generator's file.
    keys : names of columns of both, or a Scenario with one target
        Numbers enter as numbers (missing: NaN, for "linear" the mean), other columns as categories
        with missing as a category; for "linear" as dummies. A Scenario says who is looked for
        (uniqueness is of its keys), which keys are wrong, the tolerances (its accuracy) and the
        coverage, which multiplies every rate. Its success for categories does not apply: that is
        `threshold`.
    target : str
        Numeric: at risk when ``|prediction - y| <= tolerance |y|``. Otherwise: when the gain
        ``(g - b) / (1 - b)`` exceeds `threshold`, g being the predicted probability of the true
        level and b the share of that level in the original. Missing in the original: not judged;
        missing in the synthetic file: not trained on.
    model : {"panel", "nearest", "forest", "boosting", "tree", "linear"} or estimator
        "panel": the strongest of "nearest" (the released records whose keys are nearest, over the
        keys that both have), "forest" (leaves of single records) and "boosting". A given estimator
        of scikit-learn is cloned.
    threshold, tolerance : float in (0, 1)
        See `target`. Choices of policy: no published norm. Of several tolerances the largest makes
        the rates; `by_tolerance` has them all.
    holdout : DataFrame, optional
        Real persons who were not in the original; the intruder errs about their keys as often.
    household : str, optional
        Column of the original (and the hold-out) with the number of the household: the unit is then
        the household, whose members are predicted one by one from their own keys.
    members : {"any", "every"}
        A household is at risk when any or every member with a true value is.
    categorical : names of keys or of the target, optional
        Numeric columns that are codes of categories.
    permutations : int
        How many times to train the strongest model on a shuffled target.
    train_rows : int
        The model is trained on at most so many synthetic records, drawn at random.
    most_records : int, optional
        At most so many persons (households) of each file are predicted, drawn at random among those
        who are looked for.
    trees : int
        Of the forest; and of boosting, whose steps are the longer the fewer they are.
    confidence : float in (0, 1)
        Of the intervals.
    workers : int
        Threads of the forest, and of the predictions; the result does not depend on it.
    on_event : callable, optional
        Listener of progress: one step a trained model.
    seed : int, optional
        Of the draw of training records, the models, the permutations and wrong keys.

    Returns
    -------
    Rapid

    Raises
    ------
    InputError
        Missing columns, categories without any level in common, values out of range, nothing to
        train on.

    Notes
    -----
    Source: Templ, Thees and Müller (2026), arXiv:2602.09235.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age = rng.integers(0, 2, 400)
    >>> original = pd.DataFrame({"age": age, "ill": np.where(age == 1, "yes", "no")})
    >>> copy = rapid(original, original, ["age"], "ill", model="tree", seed=1)
    >>> noise = original.assign(ill=rng.permutation(original["ill"]))
    >>> copy.rate, rapid(original, noise, ["age"], "ill", model="tree", seed=1).rate
    (1.0, 0.0)
    """
    faults = Faults("rapid")
    keys, targets = keys_and_targets(original, keys, target)
    request = read_request(
        "rapid", keys, targets, household=household, members=members,
        categorical=categorical, honoured=HONOURED, n_targets=1,
    )  # fmt: skip
    tolerances = tuple(tolerance) if isinstance(tolerance, Sequence) else (tolerance,)
    limits = request.accuracy or tolerances
    for limit in limits or (None,):
        check(faults, {"tolerance": SHARE}, {"tolerance": limit})
    check(faults, PARAMETERS, {
        "threshold": threshold, "confidence": confidence, "permutations": permutations,
        "train_rows": train_rows, "trees": trees, "workers": workers,
    })  # fmt: skip
    if most_records is not None:
        check(faults, {"most_records": Whole(1)}, {"most_records": most_records})
    _check(faults, request, model)
    files = _files(faults, original, holdout, request)
    seed = resolve_seed(seed)
    streams = Streams(seed)
    names = request.variables
    train = draw_records(synthetic, "synthetic", names, train_rows, streams.at("rapid", "train"))
    same, numeric = _trainable(faults, files, train, request)
    people = {role: same[role] for role in files}
    coders = level_coders(people.values(), request.keys)
    believed = {role: with_believed_keys(one, request, seed, role) for role, one in people.items()}
    targeted = attack_targets(people, request, coders, seed)
    notes = []
    for role, one in targeted.items():
        rows, targeted[role] = one.at_most(most_records, streams.at("rapid", role))
        if len(rows) < len(people[role]):
            people[role], believed[role] = people[role].iloc[rows], believed[role].iloc[rows]
            notes = [message("at most {n} of each file are predicted, drawn at random",
                             n=count(most_records))]  # fmt: skip
    trial = RapidTrial(
        request=request, people=people, believed=believed, train=same["synthetic"],
        targets=targeted, numeric=numeric, limits=limits, trees=trees,
        threshold=threshold, confidence=confidence, workers=workers, streams=streams,
        overlap=overlap_of(files["original"], files.get("hold-out"), names, request.categorical),
    )  # fmt: skip
    models = PANEL if isinstance(model, str) and model == "panel" else (model,)
    attempts, best, permuted = _attack(trial, models, permutations, on_event or silent)
    rule = message(
        "within {limits} of the value, or near as a key", limits=short_percent(max(limits))
    )
    coded = codes_note(
        files["original"], [name for name in names if name in numeric], request.categorical, rule
    )
    return _result(trial, attempts, best, permuted, [*coded, *notes])


def _attack(
    trial: RapidTrial, models: Sequence[Any], permutations: int, on_event: Listener
) -> tuple[list[_Attempt], _Attempt, list[float]]:
    """What each model finds, the strongest, and its rates on shuffled targets."""
    total = permutations + len(models)
    on_event(Event("start", "rapid", 0, total, "training"))
    # 1. Every model of the panel predicts everybody
    attempts = []
    for done, one in enumerate(models, 1):
        trained = TargetModel(trial, one)
        attempts.append(_attempt(trial, trained, len(models)))
        on_event(Event("progress", "rapid", done, total, trained.name))
    # 2. The strongest one: beyond strangers where there are any, else by its rate
    best = max(attempts, key=_Attempt.strength)
    # 3. What it reaches when the keys tell nothing
    permuted = []
    for i in repeated(permutations, "permutations"):
        rng = trial.streams.at("rapid", i)
        order = rng.permutation(len(trial.train))
        permuted.append(trial.units(best.model.predict(["original"], rng, order)[0]).rate)
        on_event(Event("progress", "rapid", len(models) + i + 1, total, message("shuffled target")))
    on_event(Event("end", "rapid", total, total))
    return attempts, best, permuted


def _result(
    trial: RapidTrial, attempts: list[_Attempt], best: _Attempt, permuted: list[float],
    notes: Sequence[str],
) -> Rapid:  # fmt: skip
    request, share = trial.request, trial.request.coverage
    warned = [one.model.warned() for one in attempts]
    return Rapid(
        rate=best.units.rate * share,
        interval=best.interval,
        permuted_rate=float(np.mean(permuted)) * share if permuted else float("nan"),
        holdout_rate=best.holdout_rate,
        excess=best.excess,
        panel=pd.DataFrame([one.row(share) for one in attempts]),
        by_tolerance=_by_tolerance(trial, best) if trial.is_numeric else {},
        per_record=best.per_record,
        kind="numeric" if trial.is_numeric else "categorical",
        limit=max(trial.limits) if trial.is_numeric else trial.threshold,
        n_judged=best.units.n,
        n_missing=int(trial.people["original"][trial.target].isna().sum()),
        unit=request.unit,
        target=trial.target,
        keys=request.keys,
        model=best.model.name,
        warned=joined_by("; ", dict.fromkeys(text for text in warned if text)),
        confidence=trial.confidence,
        seed=trial.streams.seed,
        notes=tuple(notes),
        footnote=request.footnote,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """What one model of the panel predicts."""

    model: TargetModel
    per_record: pd.DataFrame
    units: UnitsAtRisk
    interval: tuple[float, float]
    holdout_rate: float
    excess: Excess | None

    def strength(self) -> float:
        if self.excess is not None:
            return self.excess.lower
        return self.units.rate if self.units.n else 0.0

    def row(self, coverage: float) -> dict[str, object]:
        row: dict[str, object] = {
            "model": self.model.name, "rate": self.units.rate * coverage,
            "lower": self.interval[0], "upper": self.interval[1],
        }  # fmt: skip
        if self.excess is not None:
            row |= {
                "holdout_rate": self.holdout_rate, "excess": self.excess.difference,
                "excess_lower": self.excess.lower, "excess_upper": self.excess.upper,
            }  # fmt: skip
        return row


def _attempt(trial: RapidTrial, model: TargetModel, n_models: int) -> _Attempt:
    predicted = model.predict(trial.people, trial.streams.at("rapid", "model"))
    share, units = trial.request.coverage, trial.units(predicted[0])
    low, high = wilson(units.hits, units.n, corrected(trial.confidence, n_models))
    holdout_rate, beyond = float("nan"), None
    if "hold-out" in trial.people:
        strangers = trial.units(predicted[1], "hold-out")
        holdout_rate = strangers.rate * share
        beyond = excess(
            units.at_risk[units.comparable], strangers.at_risk[strangers.comparable],
            trial.confidence, n_tests=n_models, coverage=share, overlap=trial.overlap,
            clusters=clusters_among(
                [trial.targets[role] for role in ("original", "hold-out")],
                [units.comparable, strangers.comparable],
            ),
        )  # fmt: skip
    return _Attempt(model, predicted[0], units, (low * share, high * share), holdout_rate, beyond)


def _check(faults: Faults, request: AttackRequest, model: Any) -> None:
    if len(request.targets) != 1:
        what = f"{len(request.targets)} targets are given, 1 wanted"
        faults.add("target", what, hint="Name what the intruder looks for.")
    for name in request.categorical:
        if name not in request.variables:
            faults.add("categorical", f"{name!r} is neither a key nor the target")
    if isinstance(model, str):
        check_choice(faults, "model", model, MODELS)
    elif not (hasattr(model, "fit") and hasattr(model, "predict")):
        faults.add("model", f"{model!r} is not an estimator", hint=f"There are: {MODELS}.")


def _files(
    faults: Faults, original: Any, holdout: Any, request: AttackRequest
) -> dict[str, pd.DataFrame]:
    """Files of real persons, with every fault of them noted and raised."""
    files = {"original": as_frame(original, "original")}
    check_request(faults, request, files["original"])
    if holdout is not None:
        files["hold-out"] = as_frame(holdout, "holdout")
        check_file(faults, files["hold-out"], request, "hold-out")
    for role, frame in files.items():
        check_size(faults, frame, request.variables, role)
    faults.raise_if_any()
    return files


def _trainable(
    faults: Faults, files: dict[str, pd.DataFrame], train: pd.DataFrame, request: AttackRequest
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """All files with columns of the same kind, synthetic records with a target only."""
    check_size(faults, train, request.variables, "synthetic file")
    train = train[train[request.targets[0]].notna()].reset_index(drop=True)
    if len(train) == 0:
        faults.add("synthetic", "has no record with a value of the target")
        faults.raise_if_any()
    frames = {"original": files["original"], "synthetic": train, **files}
    same, numeric = same_kind(faults, frames, request.variables, request.categorical)
    faults.raise_if_any()
    return same, numeric


def _by_tolerance(trial: RapidTrial, best: _Attempt) -> dict[float, float]:
    """Rate within each tolerance."""
    rates = {}
    for limit in sorted(trial.limits):
        near = best.per_record["score"].to_numpy() <= limit + ROUNDING
        rates[limit] = trial.units(pd.DataFrame({"at_risk": near})).rate * trial.request.coverage
    return rates


PREDICTED_VALUES = attribution(
    "rapid",
    "Prediction (RAPID)",
    "share of the original records whose value a model trained on the release predicts",
    "Templ, Thees and Müller 2026, arXiv:2602.09235",
)


def rapid_numbers(result: Any) -> list[AttackNumber]:
    """The strongest model beside strangers, or a shuffled target."""
    baseline, against = result.permuted_rate, message("shuffled target")
    if result.excess is not None:
        baseline, against = result.holdout_rate, OUTSIDE
    one = Measurement(
        beside(PREDICTED_VALUES, "predicted"), result.rate, result.target, records=result.n_judged,
        lower=result.interval[0], upper=result.interval[1], baseline=baseline, against=against,
        note=result.model,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


MOST_PREDICTED, MOST_TRAINED, FEWER_TREES = 1_000, 5_000, 20
"""Persons of each larger file that are predicted, released ones that a model learns from, and its
trees, where all attacks are run; nothing is shuffled then where there is a hold-out, which is the
baseline."""


def _run(inputs: AttackInput, target: str) -> Any:
    files = [file for file in (inputs.original, inputs.holdout) if file is not None]
    is_large = max(len(file) for file in files) > MOST_PREDICTED
    return rapid(
        inputs.original, inputs.synthetic, inputs.scenario_about(PREDICTED, [target]),
        inputs.named(target), holdout=inputs.holdout, most_records=MOST_PREDICTED,
        categorical=inputs.codes((*inputs.keys, target)), workers=inputs.workers,
        permutations=0 if is_large and inputs.holdout is not None else 3,
        train_rows=MOST_TRAINED if is_large else 100_000,
        trees=FEWER_TREES if is_large else TREES,
        on_event=inputs.on_event, seed=inputs.seed,
    )  # fmt: skip


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    predicted = files.drawn_records(files.n_predicted, "prediction")
    result = rapid(
        predicted, files.release, files.keys, target, holdout=files.holdout, model=files.model,
        permutations=PERMUTATIONS, train_rows=TRAINED * files.n_predicted,
        seed=files.drawn_seed("prediction", target),
    )  # fmt: skip
    number, cut = rapid_numbers(result)[0], len(predicted) < len(files.original)
    sampled = message("{n} drawn at random", n=plural(len(predicted), "record")) if cut else ""
    strongest, beyond = (
        message("strongest: {text}", text=result.model),
        beyond_strangers(result.excess),
    )
    return [shown(PREDICTED_VALUES, number, len(predicted), files.note, sampled, strongest, beyond)]


ATTACK = AttackEntry(
    name="rapid",
    rank=50,
    title="RAPID",
    question="How many values does a model that was trained on the release predict?",
    story="looks for the nearest keys, or trains a model, and predicts real persons",
    blind_spots="what a stronger model than those of the panel learns; anything but the target",
    function=rapid,
    target="any",
    honours=PREDICTED,
    run=_run,
    numbers=rapid_numbers,
    compared=ComparedAttack((PREDICTED_VALUES,), _compared),
)
