"""Whole-number weights that keep known totals: controlled random rounding."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.calibrate_survey import checked_survey, set_up
from synthpop.calibration.controls import controls_of
from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams, resolve_seed

TRIES = 200_000
BATCHES = 40
COOLING = 0.85
NEAR_ENOUGH = 0.75
NEAR_WHOLE = 1e-9


@dataclass(frozen=True)
class IntegerWeights(Result):
    """Whole-number weights.

    Attributes
    ----------
    base : Survey
        The survey with the weights that were rounded.
    weights : int64 array, shape (n_persons,)
        Each the whole number below or above the old weight; 0 is possible below 1.
    margins : DataFrame
        One row per control: margin, cell, level, target (total under the old weights), achieved,
        difference.
    changes : int
        Swaps made after the first draw.
    seed : int
    """

    base: Survey = field(repr=False)
    weights: np.ndarray = field(repr=False)
    margins: pd.DataFrame = field(repr=False)
    changes: int
    seed: int

    @cached_property
    def survey(self) -> Survey:
        """The survey with whole weights; persons of weight 0 are left out."""
        keep = self.weights > 0
        survey = self.base.with_frame(self.base.frame.loc[keep])
        return survey.with_weights(self.weights[keep])

    def to_frame(self) -> pd.DataFrame:
        """Return the table of controls (`margins`)."""
        return self.margins

    def summary(self) -> str:
        """Return how well the controls are kept, in sentences."""
        largest = float(self.margins["difference"].abs().max())
        return (
            f"Whole weights from {self.weights.min()} to {self.weights.max()}, sum "
            f"{count(self.weights.sum())}; {len(self.margins)} controls differ by at most "
            f"{largest:.4g} from their totals under the old weights. Whole numbers cannot do "
            "better than about 0.5 for persons, and than about half a household size for whole "
            f"households. Seed {self.seed}."
        )


@same_library
def integerise(
    survey: Survey,
    margins: Margin | list[Margin],
    *,
    household_equal: bool = True,
    seed: int | None = None,
) -> IntegerWeights:
    """Round weights up or down at random so that controls keep their totals.

    Parameters
    ----------
    survey : Survey
        For instance the ``survey`` of a `Calibration`.
    margins : Margin or list of Margin
        Which controls to keep; their totals are taken under the present weights, the numbers in
        the tables do not matter.
    household_equal : bool
        One weight for all members of a household (their mean is rounded).
    seed : int, optional
        Recorded in the result; a fresh one is drawn when none is given.

    Returns
    -------
    IntegerWeights

    Raises
    ------
    InputError
        Where margins do not match the survey.

    Notes
    -----
    A systematic draw with the fractional parts as probabilities, along units sorted by their
    controls, rounds without bias and keeps the sum. Then pairs of units, one rounded up and one
    rounded down, change places at random so that the sum of squared differences of the controls
    falls (simulated annealing), until every difference is below 0.75 (for sums of a variable:
    0.75 of the typical amount of a unit) or the steps are spent. The odds of each unit enter the
    acceptance, so that roundings stay nearly unbiased. Randomness: one stream ("integerise").

    Examples
    --------
    >>> survey = Survey(pd.DataFrame({"sex": list("ffmm"), "w": [1.5, 1.5, 2.5, 2.5]}), weight="w")
    >>> sex = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [3, 5]}))
    >>> rounded = integerise(survey, sex, seed=1)
    >>> rounded.margins["achieved"].tolist()
    [3.0, 5.0]
    """
    survey = checked_survey(survey, "integerise")
    seed = resolve_seed(seed)
    controls = controls_of(survey, margin_list(margins), "integerise")
    problem = set_up(
        controls,
        survey.weights,
        survey.household_index,
        household_equal=household_equal,
        bounds=(0.0, np.inf),
        weight_bounds=None,
        by_household=False,
    )
    rounded, changes = round_weights(problem.matrix, problem.start, Streams(seed).at("integerise"))
    unit = survey.household_index if household_equal else np.arange(survey.n_persons)
    target = problem.matrix.T @ problem.start
    achieved = problem.matrix.T @ rounded.astype(np.float64)
    return IntegerWeights(
        base=survey,
        weights=rounded[unit],
        margins=controls.table().assign(
            target=target, achieved=achieved, difference=achieved - target
        ),
        changes=changes,
        seed=seed,
    )


def round_weights(
    matrix: Any, weights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Round weights of units so that the sums over the columns of a sparse matrix are kept.

    Returns ``floor(weights)`` or one more, int64, shape (n_units,), and the number of exchanges
    after the first draw.
    """
    from synthpop.kernels.raking import repair_rounding

    base = np.floor(weights + NEAR_WHOLE)
    fraction = np.where(weights - base < NEAR_WHOLE, 0.0, weights - base)
    up = _systematic(matrix, fraction, rng)
    open_units = np.flatnonzero(fraction > 0)
    target = matrix.T @ weights
    scale = _scales(matrix)
    residual = matrix.T @ (base + up) - target
    odds = np.zeros(len(weights))
    odds[open_units] = np.log(fraction[open_units] / (1.0 - fraction[open_units]))
    changes = 0
    for batch in range(BATCHES if len(open_units) > 1 else 0):
        if np.abs(residual * np.sqrt(scale)).max() < NEAR_ENOUGH:
            break
        candidates, partners = _pairs(up, open_units, rng, single=batch % 4 == 3)
        is_last_batch = batch == BATCHES - 1
        changes += repair_rounding(
            matrix.indptr,
            matrix.indices,
            matrix.data,
            up,
            residual,
            scale,
            odds,
            candidates,
            partners,
            1.0 - rng.random(len(candidates)),
            0.0 if is_last_batch else COOLING**batch,
        )
    return (base + up).astype(np.int64), int(changes)


def _scales(matrix: Any) -> np.ndarray:
    """Weight of a squared difference: 1 for counts, for sums the typical amount as the unit."""
    squares, broken = matrix.copy(), matrix.copy()
    squares.data = squares.data**2
    broken.data = np.abs(broken.data - np.round(broken.data))
    entries = np.maximum(matrix.getnnz(axis=0), 1)
    typical = np.asarray(squares.sum(axis=0)).reshape(-1) / entries
    counts = np.asarray(broken.sum(axis=0)).reshape(-1) == 0
    return 1.0 / np.where(counts, 1.0, np.maximum(typical, 1e-300))


def _systematic(matrix: Any, fraction: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Round up along units sorted by their controls, probability = fraction, sum kept."""
    leading = min(matrix.shape[1], 50)
    key = matrix @ np.concatenate([2.0 ** -np.arange(leading), np.zeros(matrix.shape[1] - leading)])
    order = np.lexsort((rng.random(len(fraction)), key))
    passed = np.floor(np.cumsum(fraction[order]) + rng.random())
    up = np.zeros(len(fraction), dtype=bool)
    up[order] = np.diff(passed, prepend=0.0) > 0
    up[fraction == 0] = False
    return up


def _pairs(
    up: np.ndarray, units: np.ndarray, rng: np.random.Generator, *, single: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draw units to try: up against down at random, or one unit alone."""
    raised, lowered = units[up[units]], units[~up[units]]
    if single or len(raised) == 0 or len(lowered) == 0:
        candidates = rng.choice(units, TRIES)
        return candidates, candidates
    return rng.choice(raised, TRIES), rng.choice(lowered, TRIES)
