"""RAPID: what a model trained on the synthetic file predicts about the persons of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.matching.blocks import draw_records
from riskeval.attacks.prediction.features import check_size, is_number
from riskeval.attacks.prediction.model import ROUNDING, Attack
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.unit_of_attack import (
    Ask,
    as_believed,
    check_ask,
    check_households,
    looked_for,
    read_ask,
)
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.intervals import newcombe, wilson
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed

MODELS = ("forest", "tree", "boosting", "linear")
HONOURED = (
    "key_errors", "coverage", "who", "rows", "unit", "household", "members", "accuracy",
    "categorical",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Rapid(Result):
    """Original records whose target a model of the synthetic file predicts too well.

    Attributes
    ----------
    rate : float
        Share of judged records at risk.
    interval : (float, float)
        Wilson interval of `rate` at `confidence`, units taken as independent; it covers which
        persons are in the original, not the draw of the synthetic file.
    permuted_rate : float
        Mean share at risk when the target of the synthetic file is shuffled before training: what
        the intruder reaches without any relation between keys and target. NaN for no permutations.
    holdout_rate, excess : float
        The share among persons who were not in the original, and `rate` minus it; NaN without
        hold-out.
    excess_interval : (float, float)
        Newcombe interval of `excess`.
    per_record : DataFrame
        ``at_risk`` (False where not judged), ``score`` (categorical: normalised gain; numeric:
        relative error), ``predicted``; in the order of the original.
    kind : {"categorical", "numeric"}
    limit : float
        Threshold of the score, or tolerance.
    by_tolerance : dict
        Rate within each tolerance; empty for a categorical target.
    n_judged, n_missing : int
        Units looked for with a true value, and records of the original without one.
    unit : {"records", "households"}
    target : str
    keys : tuple of str
    model : str
    warned : str
        Warnings of the model while training; empty when there were none.
    confidence : float
    seed : int
    """

    rate: float
    interval: tuple[float, float]
    permuted_rate: float
    holdout_rate: float
    excess: float
    excess_interval: tuple[float, float]
    by_tolerance: dict[float, float]
    per_record: pd.DataFrame
    kind: str
    limit: float
    n_judged: int
    n_missing: int
    unit: str
    target: str
    keys: tuple[str, ...]
    model: str
    warned: str
    confidence: float
    seed: int
    told: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return rates and baselines."""
        names = ["original", "permuted", "holdout", "excess"]
        values = [self.rate, self.permuted_rate, self.holdout_rate, self.excess]
        none = (np.nan, np.nan)
        ends = [self.interval, none, none, self.excess_interval]
        names += [f"original within {limit:g}" for limit in self.by_tolerance]
        values += list(self.by_tolerance.values())
        ends += [none] * len(self.by_tolerance)
        return pd.DataFrame(
            {
                "measure": names,
                "rate": values,
                "lower": [end[0] for end in ends],
                "upper": [end[1] for end in ends],
            }
        )

    def summary(self) -> str:
        """Say what the rate means and what to compare it with."""
        low, high = self.interval
        meaning = (
            f"within {self.limit:.3g} of its true value"
            if self.kind == "numeric"
            else f"with a gain above {self.limit:.3g} (0 is the share of the level in the "
            "original, 1 is certainty)"
        )
        text = (
            f"RAPID: a {self.model} model trained on the synthetic file predicts {self.target} "
            f"{meaning} for {self.rate:.2%} of {self.n_judged:,} original {self.unit} "
            f"({self.confidence:.0%} interval {low:.2%} to {high:.2%})."
        )
        if self.warned:
            text += f" The model warned: {self.warned}."
        if not np.isnan(self.permuted_rate):
            text += f" Without any relation to the keys it would be {self.permuted_rate:.2%}."
        if not np.isnan(self.holdout_rate):
            low, high = self.excess_interval
            text += (
                f" Of persons who were not in the original it finds {self.holdout_rate:.2%}: "
                f"being in the file costs {self.excess:+.2%} ({low:+.2%} to {high:+.2%}), the rest "
                "is what anybody's keys tell."
            )
        else:
            text += " Without a hold-out, what keys tell about anybody is counted as risk too."
        return f"{text} The limit is a choice of policy.{self.told}"


def rapid(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
    target: str | None = None,
    *,
    model: Any = "forest",
    threshold: float = 0.3,
    tolerance: Sequence[float] | float = 0.05,
    holdout: Any = None,
    household: str | None = None,
    members: str = "any",
    permutations: int = 3,
    train_rows: int = 100_000,
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
    model : {"forest", "tree", "boosting", "linear"} or scikit-learn estimator
        A given estimator is cloned.
    threshold, tolerance : float in (0, 1)
        See `target`. Choices of policy: no published norm. Of several tolerances the largest makes
        the rates; `by_tolerance` has them all.
    holdout : DataFrame, optional
        Real persons who were not in the original; their keys are known without error.
    household : str, optional
        Column of the original (and the hold-out) with the number of the household: the unit is then
        the household, whose members are predicted one by one from their own keys.
    members : {"any", "every"}
        A household is at risk when any or every member with a true value is.
    permutations : int
        How many times to train on a shuffled target.
    train_rows : int
        The model is trained on at most so many synthetic records, drawn at random.
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
        Missing columns, a target that is a number in one file only, values out of range, nothing to
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
    ask = read_ask(
        "rapid", keys, target, household=household, members=members, honoured=HONOURED, n_targets=1
    )
    frame = as_frame(original, "original")
    others = None if holdout is None else as_frame(holdout, "holdout")
    limits = _limits(faults, ask, tolerance, confidence, threshold)
    _check(faults, ask, model, permutations=permutations, train_rows=train_rows, workers=workers)
    check_ask(faults, ask, frame)
    columns = (*ask.keys, *ask.targets)
    check_size(faults, frame, columns, "original")
    if others is not None:
        _check_holdout(faults, others, ask)
    faults.raise_if_any()
    seed = resolve_seed(seed)
    train = draw_records(
        synthetic, "synthetic", columns, train_rows, Streams(seed).at("rapid", "train")
    )
    train = _trainable(faults, train, frame, others, ask)
    watched = on_event or silent
    attack = Attack(ask, model, threshold, limits, frame, train, workers)
    whom = looked_for(frame, ask)
    total = permutations + 1 + (others is not None)
    watched(Event("start", "rapid", 0, total, "training"))
    asked = as_believed(frame, ask, seed)
    per_record = attack.judge(asked, frame, Streams(seed).at("rapid", "model"))
    watched(Event("progress", "rapid", 1, total, "original"))
    permuted = []
    for i in range(permutations):
        rng = Streams(seed).at("rapid", i)
        shuffled = attack.judge(asked, frame, rng, order=rng.permutation(len(train)))
        permuted.append(attack.rate(shuffled, frame, whom))
        watched(Event("progress", "rapid", i + 2, total, "shuffled target"))
    rate, hits, n = attack.counted(per_record, frame, whom)
    excess, gap, held = float("nan"), (float("nan"), float("nan")), float("nan")
    if others is not None:
        found = attack.judge(others, others, Streams(seed).at("rapid", "model"))
        watched(Event("progress", "rapid", total, total, "hold-out"))
        held, their_hits, m = attack.counted(found, others, looked_for(others, ask))
        if n and m:
            excess = rate - held
            gap = newcombe(hits, n, their_hits, m, confidence)
    watched(Event("end", "rapid", total, total))
    share = ask.coverage
    return Rapid(
        rate=rate * share,
        interval=_times(wilson(hits, n, confidence), share),
        permuted_rate=float(np.mean(permuted)) * share if permuted else float("nan"),
        holdout_rate=held * share,
        excess=excess * share,
        excess_interval=_times(gap, share),
        by_tolerance=_by_tolerance(attack, per_record, frame, whom, limits),
        per_record=per_record,
        kind="numeric" if attack.numeric else "categorical",
        limit=max(limits) if attack.numeric else threshold,
        n_judged=n,
        n_missing=int(frame[ask.targets[0]].isna().sum()),
        unit=ask.unit,
        target=ask.targets[0],
        keys=ask.keys,
        model=model if isinstance(model, str) else type(model).__name__,
        warned=attack.warned(),
        confidence=confidence,
        seed=seed,
        told=ask.told(),
    )


def _times(ends: tuple[float, float], factor: float) -> tuple[float, float]:
    return ends[0] * factor, ends[1] * factor


def _limits(
    faults: Faults, ask: Ask, tolerance: Any, confidence: object, threshold: object
) -> tuple[float, ...]:
    """Tolerances, those of the Scenario where there is one."""
    given = ask.accuracy or (tuple(tolerance) if isinstance(tolerance, Sequence) else (tolerance,))
    named = [("tolerance", it) for it in given or (None,)]
    for name, value in [*named, ("threshold", threshold), ("confidence", confidence)]:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            faults.add(name, f"{value!r} is not a number between 0 and 1")
    return given


def _check(faults: Faults, ask: Ask, model: Any, **counts: Any) -> None:
    if len(ask.targets) != 1:
        what = f"{len(ask.targets)} targets are given, 1 wanted"
        faults.add("target", what, remedy="Name what the intruder looks for.")
    if isinstance(model, str):
        check_choice(faults, "model", model, MODELS)
    elif not (hasattr(model, "fit") and hasattr(model, "predict")):
        faults.add("model", f"{model!r} is not an estimator", remedy=f"There are: {MODELS}.")
    for name, count in counts.items():
        least = 0 if name == "permutations" else 1
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < least:
            faults.add(name, f"{count!r} is not a whole number of at least {least}")


def _check_holdout(faults: Faults, others: pd.DataFrame, ask: Ask) -> None:
    columns = (*ask.keys, *ask.targets)
    check_columns(faults, others, columns, "key or target of the holdout")
    check_size(faults, others, columns, "holdout")
    if ask.household is not None:
        check_households(faults, others, ask.household, "holdout")
    if ask.rows is not None:
        check_columns(faults, others, [ask.rows], "rows looked for of the holdout")
    if len(others) == 0:
        faults.add("holdout", "has no records")


def _trainable(
    faults: Faults,
    train: pd.DataFrame,
    frame: pd.DataFrame,
    others: pd.DataFrame | None,
    ask: Ask,
) -> pd.DataFrame:
    """Synthetic records with a target of the same type as the others'."""
    target = ask.targets[0]
    check_size(faults, train, (*ask.keys, target), "synthetic file")
    known = train[train[target].notna()].reset_index(drop=True)
    if len(known) == 0:
        faults.add("synthetic", "has no record with a value of the target")
    sides = [("synthetic", train), ("holdout", others)]
    for role, side in sides if target not in ask.categorical else ():
        if side is None or not (side[target].notna().any() and frame[target].notna().any()):
            continue
        if is_number(frame[target]) != is_number(side[target]):
            what = f"is {frame[target].dtype} in the original, {side[target].dtype} in the {role}"
            faults.add(target, what, remedy="Give both the same type.")
    faults.raise_if_any()
    return known


def _by_tolerance(
    attack: Attack,
    per_record: pd.DataFrame,
    frame: pd.DataFrame,
    whom: np.ndarray,
    limits: tuple[float, ...],
) -> dict[float, float]:
    """Rate within each tolerance; empty for a categorical target."""
    if not attack.numeric:
        return {}
    found = {}
    for limit in sorted(limits):
        near = per_record["score"].to_numpy() <= limit + ROUNDING
        rates = attack.counted(per_record.assign(at_risk=near), frame, whom)
        found[limit] = rates[0] * attack.ask.coverage
    return found
