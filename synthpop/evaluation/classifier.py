"""How well boosted trees tell persons or households of a population from those of the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from synthpop.evaluation.factors import Factor
from synthpop.evaluation.household_rows import HouseholdRows
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.runs.environment import one_thread

MOST_PERSONS = 6_000
MOST_HOUSEHOLDS = 4_000
FOLDS = 2
BINS = 64
ITERATIONS = 60
COLUMNS = ["units", "auc", "expected_error", "n_sample", "n_population", "variables"]


def auc_of_groups(
    sample: pd.DataFrame,
    population: pd.DataFrame,
    weights: np.ndarray,
    sample_groups: np.ndarray,
    population_groups: np.ndarray,
    *,
    folds: int = FOLDS,
    iterations: int = ITERATIONS,
) -> float:
    """Return the cross-validated area under the ROC curve of a boosted classifier; NaN if too few.

    sample, population: the same numeric columns; missing values are NaN, on which trees can split
    weights: of the sample, shape (n,); rows of the population count 1, and both sides count alike
    sample_groups, population_groups: households; members are in fold number mod `folds`

    1/2 where the sides cannot be told apart, 1 where always. No randomness.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    joined = [np.concatenate([sample[name], population[name]]) for name in sample.columns]
    binned = [_binned(values) for values in joined if np.isfinite(values).any()]
    if not binned:
        return float("nan")
    features = np.column_stack(binned)
    member = np.repeat([0, 1], [len(sample), len(population)])
    w = np.concatenate([weights / weights.sum(), np.full(len(population), 1 / len(population))])
    w *= len(w) / 2
    fold = np.concatenate([sample_groups % folds, population_groups % folds])
    scores = np.full(len(member), np.nan)
    for k in range(folds):
        train = fold != k
        if min(np.bincount(member[train], minlength=2)) < 2 or train.all():
            return float("nan")
        model = HistGradientBoostingClassifier(
            max_iter=iterations, max_leaf_nodes=15, early_stopping=False, random_state=0
        )
        with one_thread("openmp"):  # two threads on busy cores are slower than one
            model.fit(features[train], member[train], sample_weight=w[train])
            scores[~train] = model.predict_proba(features[~train])[:, 1]
    return float(np.mean([_auc(scores[fold == k], member[fold == k], w[fold == k])
                          for k in range(folds)]))  # fmt: skip


def _binned(values: np.ndarray) -> np.ndarray:
    """Return a number in at most 64 classes of equal size; missing stays missing."""
    is_finite = np.isfinite(values)
    distinct = np.unique(values[is_finite])
    if len(distinct) <= BINS:
        return values
    limits = np.unique(np.quantile(values[is_finite], np.linspace(0, 1, BINS + 1)[1:-1]))
    codes = np.searchsorted(limits, values, side="right").astype(float)
    codes[~is_finite] = np.nan
    return codes


def _auc(scores: np.ndarray, member: np.ndarray, weights: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(member, scores, sample_weight=weights))


def thinned(side: HouseholdRows, most_persons: int) -> HouseholdRows:
    """Return evenly spaced households with at most about so many persons."""
    n = int(side.sizes.sum())
    if n <= most_persons:
        return side
    n_households = max(2, int(len(side.sizes) * most_persons / n))
    return side.take(np.linspace(0, len(side.sizes) - 1, n_households).astype(np.int64))


def household_features(
    side: HouseholdRows, factors: Mapping[str, Factor], numbers: Sequence[str]
) -> pd.DataFrame:
    """Return one row per household: its size, counts of levels, sums and extremes of numbers.

    numbers: columns whose sum, smallest, largest value and difference of the first two are features
    """
    columns: dict[str, np.ndarray] = {"size": side.sizes.astype(float)}
    for name, factor in factors.items():
        code = factor.code(side.frame[factor.name])
        for level in range(factor.n_codes):
            columns[f"{name} {level}"] = side.total((code == level).astype(float))
        columns[f"first {name}"] = code[side.starts].astype(float)
    for name in numbers:
        x = as_numbers(side.frame[name])
        filled = np.nan_to_num(x)
        low, high = (f.reduceat(filled, side.starts) for f in (np.minimum, np.maximum))
        columns |= {f"sum {name}": side.total(x), f"low {name}": low, f"high {name}": high}
        columns[f"first {name}"] = filled[side.starts]
        second = side.starts + np.minimum(1, side.sizes - 1)
        columns[f"gap {name}"] = filled[side.starts] - filled[second]
    return pd.DataFrame(columns)
