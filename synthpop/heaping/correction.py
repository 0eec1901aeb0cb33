"""Correction of age heaping: move what is too much at a heap to the ages around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.heaping.arguments import (
    heap_ages,
    predictor_matrix,
    read_ages,
    read_fixed,
    read_groups,
    read_weights,
    read_window,
)
from synthpop.heaping.index import whipple_index
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams, resolve_seed

METHODS = ("lognormal", "normal", "uniform")
SMALLEST_AGE = 0.01  # stands for age 0 in logarithms


@dataclass(frozen=True, slots=True)
class HeapCorrection(Result):
    """Ages without heaps.

    Attributes
    ----------
    ages : float64 array, shape (n,)
        In whole years; missing ages stay missing. ``np.asarray(result)`` gives the same.
    changed : bool array, shape (n,)
    heaps : DataFrame
        One row per heap (and group): age, persons, expected (mean of the two neighbouring ages),
        drawn (persons who got a new age, which may be the old one) and moved (to another age).
        With weights persons and expected are weighted.
    whipple_before, whipple_after : float
        Standard Whipple index, weighted where weights were given; 100 means no preference for 0
        and 5.
    method : str
    seed : int
    groups : DataFrame or None
        One row per group of `by`: persons, and the index before and after.
    """

    ages: np.ndarray = field(repr=False)
    changed: np.ndarray = field(repr=False)
    heaps: pd.DataFrame = field(repr=False)
    whipple_before: float
    whipple_after: float
    method: str
    seed: int
    groups: pd.DataFrame | None = field(default=None, repr=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.ages, dtype=dtype)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of heaps."""
        return self.heaps

    def summary(self) -> str:
        """Return what was changed, in sentences."""
        text = (
            f"{count_text(int(self.changed.sum()))} of {count_text(len(self.ages))} ages "
            "were changed at "
            f"{plural(int((self.heaps['moved'] > 0).sum()), 'heap')} ({self.method} draws, seed "
            f"{self.seed}). Whipple index {self.whipple_before:.1f} before, "
            f"{self.whipple_after:.1f} after; 100 means no preference for ages that end in 0 or "
            "5, and the United Nations call 105 and less very accurate."
        )
        if self.groups is not None:
            before, after = self.groups["whipple_before"], self.groups["whipple_after"]
            text += (
                f" By group it was {before.min():.1f} to {before.max():.1f} before and is "
                f"{after.min():.1f} to {after.max():.1f} after."
            )
        return text


def correct_heaps(
    ages: npt.ArrayLike,
    *,
    heaps: str | Sequence[float] = "5year",
    method: str = "lognormal",
    start: float = 0,
    window: tuple[float, float] | None = None,
    fixed: npt.ArrayLike | None = None,
    predictors: Any = None,
    model: Any = None,
    weights: npt.ArrayLike | None = None,
    by: Any = None,
    seed: int | None = None,
) -> HeapCorrection:
    """Give the surplus of persons at heaped ages new ages near by.

    Parameters
    ----------
    ages : array, shape (n,)
        Ages in years; missing ages stay missing.
    heaps : "5year", "10year" or a list of ages
        Ages start, start + 5, ...; start, start + 10, ...; or those of the list.
    method : {"lognormal", "normal", "uniform"}
        New ages are draws of this distribution cut to the window around the heap: log-normal with
        the mean and spread of the logarithms of all ages; normal around the heap with standard
        deviation 1; uniform.
    start : float
        First age that can be a heap ("5year" and "10year").
    window : (before, after), optional
        Years before and after the heap. Default: 2 (uniform 2.5) for "5year", 5 for "10year";
        needed for a list. With "uniform" and a list half a year is added on both sides, so that
        all whole ages are equally likely.
    fixed : array, optional
        Records that keep their age: positions, or a bool array of shape (n,).
    predictors : DataFrame, optional
        One row per person: the model-based variant. A regression of age on these columns, fitted
        where there is no heap, predicts an age for those drawn; the new ages are handed out in
        the order of the predictions, so that ages stay related to the other variables. Missing
        values are a category of their own, or the mean.
    model : scikit-learn regressor, optional
        Used for `predictors` instead of linear regression.
    weights : array, shape (n,), optional
        Survey weights, positive: the surplus is then one of weight, and persons are drawn until
        their weights reach it.
    by : array, shape (n,), optional
        Groups (regions) in which heaps are corrected each by itself. Where heaping differs, a
        common correction leaves heaps in one group and makes hollows in another. What is moved in
        a group is its net surplus over all heaps: where there is no heaping, surpluses are chance,
        and heaps with too few persons weigh against those with too many. Missing groups make a
        group of their own.
    seed : int, optional
        Recorded in the result.

    Returns
    -------
    HeapCorrection

    Raises
    ------
    InputError

    Notes
    -----
    The surplus of a heap is the number of persons less the mean number at the two neighbouring
    ages, rounded up; so many persons are drawn at random (without `fixed`) and get a new age,
    rounded to years. With weights the last person, whose weight would exceed the surplus, is taken
    with the probability that makes the moved weight right on average. An age with no younger
    person in the data is not a heap. Randomness: one stream for each heap ("correct_heaps", age),
    or ("correct_heaps", age, group) with `by`.

    Examples
    --------
    >>> reported = np.repeat([28, 29, 30, 31, 32], [20, 20, 120, 20, 20])
    >>> result = correct_heaps(reported, heaps="10year", method="uniform", seed=1)
    >>> result.heaps[["age", "persons", "expected", "drawn"]].values.tolist()
    [[30.0, 120.0, 20.0, 100.0]]
    """
    seed = resolve_seed(seed)
    faults = Faults("correct_heaps")
    values = read_ages(ages, faults)
    fixed_rows = read_fixed(fixed, len(values), faults)
    w = read_weights(weights, len(values), faults)
    codes, labels = read_groups(by, len(values), faults)
    check_choice(faults, "method", method, METHODS)
    positions = heap_ages(values, heaps, start, faults)
    limits = read_window(heaps, window, method, faults)
    if model is not None and predictors is None:
        faults.add("model", "needs predictors", hint="Give a table of predictors.")
    design = None if predictors is None else predictor_matrix(predictors, len(values), faults)
    faults.raise_if_any()
    predicted = None if design is None else _predict(design, values, positions, model)
    logs = np.log(np.maximum(values[np.isfinite(values)], SMALLEST_AGE))
    draw = _Draws(method, float(logs.mean()), max(float(logs.std()), 1e-6))
    people = _People(values, w, fixed_rows, predicted)
    streams, new, rows = Streams(seed), values.copy(), []
    for code, label in enumerate(labels):
        names = () if by is None else (label,)
        # 1. The surplus of each heap; by groups it is what is left of the sum over all heaps.
        surpluses = [_surplus(people, codes == code, heap) for heap in positions]
        share = 1.0 if by is None else _net_share(surpluses)
        for heap, surplus in zip(positions, surpluses, strict=True):
            rng = streams.at("correct_heaps", float(heap), *names)
            # 2. Persons who get a new age.
            chosen = replace(surplus, share=share).choose(fixed_rows, rng)
            # 3. New ages from a distribution around the heap, in the order of the predictions.
            ages = draw(heap, max(0.0, heap - limits[0]), heap + limits[1], rng, len(chosen))
            new[chosen] = people.in_order(ages, chosen)
            moved = int((ages != heap).sum())
            rows.append((*names, heap, surplus.persons, surplus.expected, len(chosen), moved))
    first = () if by is None else ("by",)
    columns = [*first, "age", "persons", "expected", "drawn", "moved"]
    return HeapCorrection(
        ages=new,
        changed=np.isfinite(values) & (np.floor(new) != np.floor(values)),
        heaps=pd.DataFrame(rows, columns=columns),
        whipple_before=whipple_index(values, w),
        whipple_after=whipple_index(new, w),
        method=method,
        seed=seed,
        groups=None if by is None else _by_group(values, new, w, codes, labels),
    )


@dataclass(frozen=True, slots=True)
class _People:
    """Ages, and what else is known of each person."""

    ages: np.ndarray
    weights: np.ndarray | None
    fixed: np.ndarray
    predicted: np.ndarray | None

    def in_order(self, ages: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Hand out new ages in the order of the predicted ones, where there are such."""
        if self.predicted is None:
            return ages
        ranks = np.argsort(np.argsort(self.predicted[rows], kind="stable"))
        return np.sort(ages)[ranks]


@dataclass(frozen=True, slots=True)
class _Surplus:
    """Persons at a heap, and how many should be there."""

    rows: np.ndarray
    weights: np.ndarray | None
    persons: float
    expected: float
    share: float = 1.0

    def choose(self, fixed: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the rows that get a new age."""
        free = self.rows[~fixed[self.rows]]
        if self.weights is None:
            number = max(0, int(np.ceil((self.persons - self.expected) * self.share)))
            return np.sort(rng.choice(free, min(number, len(free)), replace=False))
        order = rng.permutation(free)
        ends = np.cumsum(self.weights[order])
        excess = max(0.0, self.persons - self.expected) * self.share
        number = int(np.searchsorted(ends, excess, side="right"))
        if number < len(order):
            remainder = excess - (ends[number - 1] if number else 0.0)
            number += int(rng.random() * self.weights[order[number]] < remainder)
        return np.sort(order[:number])


def _net_share(surpluses: Sequence[_Surplus]) -> float:
    """Net surplus of all heaps over the positive ones, which are chance without heaping."""
    differences = np.array([surplus.persons - surplus.expected for surplus in surpluses])
    positive = float(differences[differences > 0].sum())
    return max(0.0, float(differences.sum())) / positive if positive > 0 else 0.0


def _surplus(people: _People, of_group: np.ndarray, heap: float) -> _Surplus:
    whole_ages = np.where(of_group, np.floor(people.ages), np.nan)

    def count(age: float) -> float:
        rows = whole_ages == age
        return float(rows.sum() if people.weights is None else people.weights[rows].sum())

    rows = np.flatnonzero(whole_ages == heap)
    persons = count(heap) if people.weights is not None else len(rows)
    return _Surplus(rows, people.weights, persons, (count(heap - 1) + count(heap + 1)) / 2.0)


def _by_group(
    before: np.ndarray,
    after: np.ndarray,
    w: np.ndarray | None,
    codes: np.ndarray,
    labels: Sequence[Any],
) -> pd.DataFrame:
    records = []
    for code in range(len(labels)):
        rows = codes == code
        weights = None if w is None else w[rows]
        indices = (whipple_index(ages[rows], weights) for ages in (before, after))
        records.append((int(rows.sum()), *indices))
    columns = ["persons", "whipple_before", "whipple_after"]
    return pd.DataFrame(records, columns=columns, index=pd.Index(list(labels), name="by"))


@dataclass(frozen=True, slots=True)
class _Draws:
    """Draws of new ages by inversion of a truncated distribution."""

    method: str
    log_mean: float
    log_sd: float

    def __call__(
        self, heap: float, low: float, high: float, rng: np.random.Generator, n: int
    ) -> np.ndarray:
        from scipy.special import ndtr, ndtri

        uniforms = rng.random(n)
        if self.method == "uniform":
            return np.floor(low + uniforms * (high - low) + 0.5)
        if self.method == "normal":
            ends = ndtr(np.array([low, high]) - heap)
            ages = heap + ndtri(ends[0] + uniforms * (ends[1] - ends[0]))
        else:
            logs = np.log(np.maximum([low, high], SMALLEST_AGE))
            ends = ndtr((logs - self.log_mean) / self.log_sd)
            z = ndtri(ends[0] + uniforms * (ends[1] - ends[0]))
            ages = np.exp(self.log_mean + self.log_sd * z)
        return np.floor(np.clip(ages, low, high) + 0.5)


def _predict(design: np.ndarray, ages: np.ndarray, heaps: np.ndarray, model: Any) -> np.ndarray:
    """Return the age that a regression predicts, fitted where there is no heap."""
    is_finite = np.isfinite(ages)
    off_heaps = is_finite & ~np.isin(np.floor(ages), heaps)
    train = off_heaps if off_heaps.sum() > design.shape[1] else is_finite
    if model is None:
        coefficients: np.ndarray = np.linalg.lstsq(design[train], ages[train], rcond=None)[0]
        return design @ coefficients
    from sklearn.base import clone

    return np.asarray(clone(model).fit(design[train], ages[train]).predict(design))
