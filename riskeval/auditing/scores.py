"""Attacks: one score for each target and refit, from what half of the refits have shown."""

from __future__ import annotations

import numpy as np

from riskeval.auditing.statistics import STATISTICS

PRIOR = 5.0
"""Refits that the common variance counts for in that of one target."""
LEAST_DEVIATION = 1e-3


def attack_scores(
    statistics: np.ndarray, present: np.ndarray, training: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Return the scores of every attack on the refits that are measured, shape (refits, m).

    statistics (refits, m, 5); present (refits, m); training bool, shape (refits,). The last two
    attacks are learned from the refits in training, where it is known who was in; all others use
    nothing but the release.
    """
    usable = [q for q in range(len(STATISTICS)) if np.ptp(statistics[:, :, q]) > 0]
    scores = {STATISTICS[q]: statistics[~training][:, :, q] for q in usable}
    if not usable:
        return scores
    learned = statistics[training][:, :, usable]
    shown = statistics[~training][:, :, usable]
    ratios, standard = _likelihood_ratios(learned, present[training], shown)
    scores["likelihood ratio"] = ratios
    scores["shadow models"] = _shadow(learned, present[training], shown, standard, seed)
    return scores


def _likelihood_ratios(
    learned: np.ndarray, present: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return log-likelihood ratios of being in, (refits, m); mean and deviation of being out.

    Each statistic of each target is normal, in and out, with means and variances of its own
    (Carlini et al. 2022, equation 4), the variance shrunk towards that of all targets; the one
    statistic is taken that tells best in training.
    """
    inside, outside = present[:, :, None], ~present[:, :, None]
    moments = []
    for which in (inside, outside):
        n = which.sum(axis=0)
        mean = (learned * which).sum(axis=0) / np.maximum(n, 1)
        squares = (((learned - mean) ** 2) * which).sum(axis=0)
        common = squares.sum(axis=0) / np.maximum(n.sum(axis=0), 1)
        deviation = np.sqrt((squares + PRIOR * common) / (n + PRIOR))
        moments.append((mean, np.maximum(deviation, LEAST_DEVIATION)))

    def ratios(values: np.ndarray) -> np.ndarray:
        logs = [-0.5 * ((values - mean) / sd) ** 2 - np.log(sd) for mean, sd in moments]
        difference: np.ndarray = logs[0] - logs[1]
        return difference

    of_learned = ratios(learned)
    right = (of_learned > 0) == inside
    best = int(np.argmax(right.mean(axis=(0, 1))))
    return ratios(shown)[:, :, best], moments[1]


def _shadow(
    learned: np.ndarray,
    present: np.ndarray,
    shown: np.ndarray,
    standard: tuple[np.ndarray, np.ndarray],
    seed: int,
) -> np.ndarray:
    """Return the log-odds of a classifier of all statistics, learned from refits in training."""
    from sklearn.linear_model import LogisticRegression

    mean, deviation = standard

    def features(values: np.ndarray) -> np.ndarray:
        scaled = np.clip((values - mean) / deviation, -8.0, 8.0)
        return np.concatenate([scaled, values], axis=2).reshape(-1, 2 * values.shape[2])

    x = features(learned)
    spread = np.maximum(x.std(axis=0), 1e-9)
    model = LogisticRegression(max_iter=500, random_state=seed % 2**31)
    model.fit((x - x.mean(axis=0)) / spread, present.reshape(-1))
    odds = model.decision_function((features(shown) - x.mean(axis=0)) / spread)
    answer: np.ndarray = odds.reshape(shown.shape[:2])
    return answer
