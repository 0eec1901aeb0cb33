"""From what refits have shown to numbers: half of them choose, the other half measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riskeval.attacks.shares import auc, corrected
from riskeval.auditing.bounds import (
    GUESSED,
    bound_of_rates,
    guesses,
    lower_bound_of_epsilon,
    success_at,
)
from riskeval.auditing.plant import TargetGroup
from riskeval.auditing.refit import Observed
from riskeval.auditing.result import AttackResult, GroupResult, Rate
from riskeval.auditing.scores import attack_scores
from riskeval.auditing.statistics import STATISTICS
from synthpop.microdata.statistics.intervals import clopper_pearson
from synthpop.microdata.statistics.streams import Streams

FALSE_ALARMS = (0.01, 0.1)
POINTS = 101
"""Points of a ROC curve."""


def measured(
    groups: Sequence[TargetGroup], observed: Sequence[Observed], confidence: float, streams: Streams
) -> tuple[GroupResult, ...]:
    """Return what every attack finds about every group.

    Every second refit is training. Intervals hold together for all attacks on all groups
    (Bonferroni), each of the bounds of epsilon is one of six more.
    """
    training = np.arange(len(observed)) % 2 == 0
    scored = []
    for place, group in enumerate(groups):
        present = np.array([one.present[place] for one in observed])
        statistics = np.array([one.statistics[place] for one in observed])
        seed = streams.number("audit", "shadow models", place)
        scores = attack_scores(statistics, present, training, seed)
        scored.append((group, present[~training], statistics[~training], scores))
    n_tests = sum(len(scores) for *_, scores in scored)
    each = corrected(confidence, n_tests)
    results = []
    for place, (group, present, statistics, scores) in enumerate(scored):
        rng = streams.at("audit", "equal scores", place)
        attacks = tuple(_attack(name, one, present, each, rng) for name, one in scores.items())
        inside, outside = np.nan, np.nan
        if "neighbours" in scores:
            values = statistics[:, :, STATISTICS.index("neighbours")]
            inside, outside = float(values[present].mean()), float(values[~present].mean())
        results.append(GroupResult(group.label, group.kind, group.size, attacks, inside, outside))
    return tuple(results)


def _attack(
    name: str, scores: np.ndarray, present: np.ndarray, confidence: float, rng: np.random.Generator
) -> AttackResult:
    refits = np.broadcast_to(np.arange(len(scores))[:, None], scores.shape)
    flat, is_in = scores.reshape(-1), present.reshape(-1)
    of_refit = refits.reshape(-1)
    area, low, high = auc(
        flat[is_in], flat[~is_in], confidence, (of_refit[is_in], of_refit[~is_in])
    )
    bounds_at = corrected(confidence, len(GUESSED) + len(FALSE_ALARMS))
    bounds = [
        lower_bound_of_epsilon(*guesses(flat, is_in, share, rng), bounds_at) for share in GUESSED
    ]
    rates = []
    for false_alarms in FALSE_ALARMS:
        true, n_in, false, n_out = success_at(flat, is_in, false_alarms)
        rates.append(Rate(true / n_in, *clopper_pearson(true, n_in, confidence)))
        bounds.append(bound_of_rates(true, n_in, false, n_out, bounds_at))
    return AttackResult(name, area, low, high, rates[0], rates[1], max(bounds), _roc(flat, is_in))


def _roc(scores: np.ndarray, present: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return points of the ROC curve: false alarms and true ones."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    ends = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    true = np.cumsum(present[order])[ends] / max(present.sum(), 1)
    false = np.cumsum(~present[order])[ends] / max((~present).sum(), 1)
    grid = np.linspace(0.0, 1.0, POINTS)
    curve = np.interp(grid, np.append(0.0, false), np.append(0.0, true))
    return tuple(zip(grid.tolist(), curve.tolist(), strict=True))
