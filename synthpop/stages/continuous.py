"""A (semi-)continuous variable by classes: draw the class, then a value in it (book 6.2.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.microdata.block import Block, Fallback, Sample
from synthpop.microdata.checks import check_choice
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import Fault, Faults, InputError
from synthpop.models.breaks import breaks as quantile_breaks
from synthpop.models.breaks import class_bounds, classify
from synthpop.models.cells import DECILES_AND_TAILS
from synthpop.models.ladder import Ladder, fit_ladder
from synthpop.models.tails import GpdTail, fit_gpd
from synthpop.stages.base import Outlook, check_in_survey, check_numeric_field
from synthpop.stages.categorical import SMALLEST_STRATUM, fit_fallbacks
from synthpop.stages.predictors import (
    Coding,
    Predictors,
    check_predictors,
    distribution_table,
    make_coding,
    make_design,
    resolve_terms,
    usable,
)

FEWEST_IN_TAIL = 20
ZERO_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Continuous:
    """Simulate a continuous or semi-continuous variable by classes.

    The variable is cut into classes, its class is drawn from a multinomial model given the
    predictors, and a value is drawn uniformly inside the class; the top class can follow a
    generalised Pareto distribution (book eq. 6.4 to 6.7).

    Parameters
    ----------
    name : str
        Numeric column of the survey. Missing values are a class of their own and missing again
        in the population.
    method : "binned"
    predictors : "basic", "all", list of names, or formula text
        See `Categorical`.
    zeros : bool, optional
        Zero is a class of its own. Default: where more than 0.5 % of the values are zero.
    breaks : sequence of numbers, optional
        Class limits; must enclose the values of the sample. Default: weighted quantiles in steps
        of 10 % and at 1, 5, 95, 97.5 and 99 % (of the positive values, with zeros; deciles of the
        negative ones), and the extremes.
    tail : None or "gpd"
        Draw the values of the top class from a generalised Pareto distribution fitted to the
        weighted sample values in it (maximum likelihood), pooled over strata. With the default
        limits the top classes are joined until the highest has 20 sample values.
    upper : float, optional
        Largest value that may be drawn; not below the second largest class limit.
    intervals : (str, str), optional
        Names of two further columns that hold the bounds of the class each value was drawn from
        (what an intruder who knows the generating process would know).
    smallest_stratum : int
        Strata with fewer sample persons use the model pooled over strata.

    Notes
    -----
    Two uniform numbers per person from the stream (stage, variable, stratum, block), and one for
    each value of the tail. With fewer than 20 sample values in the top class even so, the tail
    falls back to uniform draws; this is recorded.

    Examples
    --------
    >>> Continuous("netIncome", tail="gpd", upper=200_000).provides
    ('netIncome',)
    """

    name: str
    method: str = "binned"
    predictors: Predictors = "all"
    zeros: bool | None = None
    breaks: Sequence[float] | None = None
    tail: str | None = None
    upper: float | None = None
    intervals: tuple[str, str] | None = None
    smallest_stratum: int = SMALLEST_STRATUM

    @property
    def label(self) -> str:
        """Name for messages, progress and random streams."""
        return f"continuous {self.name}"

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the stage makes."""
        return (self.name, *(self.intervals or ()))

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return (self.name,)

    def check(self, faults: Faults, outlook: Outlook) -> None:
        """Note everything in the options that cannot work."""
        check_in_survey(faults, self.label, [self.name], outlook, "variable")
        check_numeric_field(faults, self.label, self.name, outlook)
        check_predictors(faults, self.label, self.predictors, outlook)
        check_choice(faults, f"{self.label}: method", self.method, ["binned"])
        check_choice(faults, f"{self.label}: tail", self.tail, [None, "gpd"])
        if self.breaks is not None and (
            len(self.breaks) < 2 or not np.all(np.diff(np.asarray(self.breaks, float)) > 0)
        ):
            faults.add(self.label, "breaks do not increase", remedy="Give two or more limits.")
        if self.intervals is not None and len(set(self.intervals)) != 2:
            faults.add(self.label, "intervals needs two names", remedy="Give (lower, upper).")
        if self.smallest_stratum < 0:
            faults.add(self.label, f"smallest_stratum is {self.smallest_stratum}, below zero")

    def makes(self, name: str, outlook: Outlook) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        return Field.number(name) if name == self.name else None

    def fit(self, sample: Sample, rng: np.random.Generator) -> ContinuousModel:
        """Learn classes, their distribution and the tail; nothing is drawn."""
        values = sample.columns[self.name].astype(np.float64)
        limits, zeros = self._limits(values, sample.weights)
        codes = classify(values, limits, zeros=zeros)
        self._check_enclosed(values, codes, limits)
        low, high = class_bounds(limits, zeros=zeros)
        names, basic = usable(sample.available, sample), usable(sample.basic, sample)
        coding = make_coding(sample, resolve_terms(self.predictors, names, basic))
        classes = codes.astype(np.int64) + 1
        ladder = fit_ladder(
            "multinomial",
            make_design(sample, coding, classes, len(low) + 1),
            smallest_stratum=self.smallest_stratum,
        )
        tail, note = self._fit_tail(values, sample.weights, float(low[-1]))
        return ContinuousModel(
            fields=tuple(Field.number(name) for name in self.provides),
            coding=coding,
            ladder=ladder,
            low=np.concatenate([[np.nan], low]),
            high=np.concatenate([[np.nan], high]),
            tail=tail,
            strata_levels=sample.strata_levels,
            fallbacks=(*fit_fallbacks(self.label, ladder, classes, sample), *note),
        )

    def _limits(self, values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, bool]:
        there = ~np.isnan(values)
        if not there.any():
            return np.array([0.0, 1.0]), False
        share = weights[there & (values == 0)].sum() / weights[there].sum()
        zeros = share > ZERO_SHARE if self.zeros is None else self.zeros
        if self.breaks is not None:
            limits = np.asarray(self.breaks, dtype=np.float64)
        else:
            limits = quantile_breaks(values, weights, zeros=zeros, probs=DECILES_AND_TAILS)
            if self.tail is not None:
                limits = _with_full_top(values, limits)
        if self.upper is not None:
            inner = limits[:-1]
            limits = np.append(inner[inner < self.upper], self.upper)
        return limits, zeros

    def _check_enclosed(self, values: np.ndarray, codes: np.ndarray, limits: np.ndarray) -> None:
        outside = (codes < 0) & ~np.isnan(values)
        if outside.any():
            what = (
                f"{int(outside.sum())} sample values lie outside {limits[0]:g} ... {limits[-1]:g}"
            )
            rows = tuple(int(row) for row in np.flatnonzero(outside)[:5])
            remedy = "Widen breaks or upper."
            raise InputError("recipe", [Fault(self.label, what, rows, int(outside.sum()), remedy)])

    def _fit_tail(
        self, values: np.ndarray, weights: np.ndarray, threshold: float
    ) -> tuple[GpdTail | None, tuple[Fallback, ...]]:
        if self.tail is None:
            return None, ()
        above = values > threshold
        if above.sum() < FEWEST_IN_TAIL:
            what = f"only {int(above.sum())} sample values in the top class: uniform, no tail"
            return None, (Fallback(self.label, "all", what),)
        return fit_gpd(values[above], threshold, weights=weights[above], method="mle"), ()

    def observed(self, model: ContinuousModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns."""
        return {self.name: sample.columns[self.name].astype(np.float64)}

    def simulate(
        self, model: ContinuousModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw a class and a value for each person of the block."""
        from synthpop.kernels.draws import draw_classes, draw_in_classes

        cells, row_of_cell, table = distribution_table(
            model.coding,
            model.ladder,
            block,
            label=self.label,
            stratum_name=str(model.strata_levels[block.stratum]),
        )
        n = block.n_persons
        classes = np.empty(n, dtype=np.int16)
        draw_classes(cells, row_of_cell, table, rng.random(n), 0, classes)
        out = np.empty(n)
        first, last = _drawing_bounds(model.low, model.high)
        draw_in_classes(classes, first, last, rng.random(n), out)
        if model.tail is not None:
            top = np.flatnonzero(classes == len(model.low) - 1)
            out[top] = model.tail.draw(rng, len(top), upper=self.upper)
        columns = {self.name: out}
        if self.intervals is not None:
            high = model.high
            if model.tail is not None and self.upper is None:
                high = np.append(high[:-1], np.inf)
            columns[self.intervals[0]] = model.low[classes]
            columns[self.intervals[1]] = high[classes]
        return columns


@dataclass(frozen=True, slots=True)
class ContinuousModel:
    """What `Continuous` learned: classes (the first is missing), their distribution, the tail."""

    fields: tuple[Field, ...]
    coding: Coding
    ladder: Ladder
    low: np.ndarray
    high: np.ndarray
    tail: GpdTail | None
    strata_levels: tuple[Any, ...]
    fallbacks: tuple[Fallback, ...]


def _with_full_top(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Join the top classes until there are enough values for a tail in the highest."""
    while len(limits) > 2 and limits[-3] > 0 and (values > limits[-2]).sum() < FEWEST_IN_TAIL:
        limits = np.delete(limits, -2)
    return limits


def _drawing_bounds(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds such that high - u (high - low) is in (low, high], or [low, high) below zero."""
    negative = low < 0
    return np.where(negative, high, low), np.where(negative, low, high)
