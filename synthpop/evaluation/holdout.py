"""A stage scored on households that it has not seen: folds, and scores of what it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.distribution import distribution_table
from synthpop.conditional.household_values import first_members_of_block
from synthpop.conditional.members_before import GIVEN_MEMBERS
from synthpop.evaluation.scores import brier_scores, crps_of_draws, log_scores, pinball_of_draws
from synthpop.microdata.frame.block import Block, Sample
from synthpop.microdata.statistics.streams import Streams
from synthpop.microdata.statistics.weighted import quantile
from synthpop.stages.categorical import Categorical
from synthpop.stages.continuous.stage import Continuous

PINBALLS = (0.1, 0.5, 0.9)
MOST_VALUES = 4_000_000  # drawn at a time


def assign_households(sample: Sample, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Deal the sampling units of each stratum to folds like cards; shape (n_households,).

    Units are primary sampling units, or households where the survey names none. A unit that lies
    in several strata is dealt with those of its first household.
    """
    strata = sample.strata[sample.offsets[:-1]]
    unit = np.arange(len(strata))
    if sample.units is not None:
        _, first, unit = np.unique(sample.units, return_index=True, return_inverse=True)
        strata, unit = strata[first], unit.reshape(-1)
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(len(strata), dtype=np.int64)
    fold[order] = np.arange(len(strata)) % folds
    return fold[unit]


def subsample(sample: Sample, keep: np.ndarray) -> Sample:
    """Return the sample of some households."""
    sizes = np.diff(sample.offsets)
    rows = np.repeat(keep, sizes)
    return replace(
        sample,
        columns={name: values[rows] for name, values in sample.columns.items()},
        weights=sample.weights[rows],
        strata=sample.strata[rows],
        offsets=np.concatenate([[0], np.cumsum(sizes[keep])]),
        household_weights=sample.household_weights[keep],
        rows=sample.rows[rows],
        units=None if sample.units is None else sample.units[keep],
    )


def blocks_of(sample: Sample, copies: int) -> Iterator[tuple[np.ndarray, Block]]:
    """Yield rows of the sample and the block of their households, `copies` times over."""
    household_strata = sample.strata[sample.offsets[:-1]]
    sizes, first = np.diff(sample.offsets), sample.offsets[:-1]
    for stratum in range(len(sample.strata_levels)):
        households = np.flatnonzero(household_strata == stratum)
        persons = int(sizes[households].sum())
        pieces = max(1, -(-persons * copies // MOST_VALUES))
        for number, households_of_block in enumerate(np.array_split(households, pieces)):
            if len(households_of_block) == 0:
                continue
            n = sizes[households_of_block]
            starts = np.cumsum(n) - n
            rows = np.repeat(first[households_of_block] - starts, n) + np.arange(n.sum())
            columns = {
                name: np.tile(sample.columns[name][rows], copies) for name in sample.available
            }
            offsets = np.concatenate([[0], np.cumsum(np.tile(n, copies))])
            yield rows, Block(stratum, number, offsets, columns)


@dataclass(frozen=True, slots=True)
class FoldScores:
    """Scores of a candidate on one fold: fitted to `trained`, judged on `held_out`."""

    name: str
    trained: Sample
    held_out: Sample
    draws: int
    smallest: float
    streams: Streams
    fold: int

    def scores(self, stage: Any) -> dict[str, float]:
        """Fit the stage and return its weighted mean scores."""
        model = stage.fit(self.trained, self.streams.at("fit", stage.label, self.fold))
        score = self._numbers if isinstance(stage, Continuous) else self._classes
        return {"n": self.held_out.n_persons, **score(stage, model)}

    def _classes(self, stage: Any, model: Any) -> dict[str, float]:
        truth = self.held_out.columns[self.name].astype(np.int64) + 1
        n_classes = len(model.fields[0].levels) + 1
        probabilities = np.empty((len(truth), n_classes))
        lower = 0.0
        drawn = not isinstance(stage, Categorical) or stage.by_household in GIVEN_MEMBERS
        for rows, block in blocks_of(self.held_out, self.draws if drawn else 1):
            if drawn:
                probabilities[rows] = self._shares(stage, model, block, len(rows), n_classes)
                lower += sum(note.n_persons for note in block.fallbacks) / self.draws
                continue
            shared = stage.by_household == "shared"
            cells, row_of_cell, table = distribution_table(
                model,
                first_members_of_block(block) if shared else block,
                label=stage.label,
                stratum_name=str(model.strata_levels[block.stratum]),
            )
            shares = np.diff(table, axis=1, prepend=0.0)[row_of_cell[cells]]
            sizes = np.diff(block.offsets)
            probabilities[rows] = np.repeat(shares, sizes, axis=0) if shared else shares
            lower += sum(note.n_persons for note in block.fallbacks)
        w = self.held_out.weights
        scores = {
            "log_score": log_scores(probabilities, truth, self.smallest),
            "brier": brier_scores(probabilities, truth),
            "zero": probabilities[np.arange(len(truth)), truth] <= 0,
        }
        means = {label: float(np.average(values, weights=w)) for label, values in scores.items()}
        return {"weight": float(w.sum()), **means, "fallbacks": lower / len(truth)}

    def _shares(self, stage: Any, model: Any, block: Block, n: int, n_classes: int) -> np.ndarray:
        """Shares of the levels among the draws of each person, none of them quite zero."""
        drawn = self._drawn(stage, model, block, n).astype(np.int64) + 1
        cells = drawn + n_classes * np.arange(n)
        count = np.bincount(cells.ravel(), minlength=n * n_classes).reshape(n, n_classes)
        return (count + 1 / n_classes) / (self.draws + 1)

    def _drawn(self, stage: Any, model: Any, block: Block, n: int) -> np.ndarray:
        """Draws of each person, shape (draws, n)."""
        rng = self.streams.at("draw", self.name, self.fold, block.stratum, block.number)
        values: np.ndarray = stage.simulate(model, block, rng)[self.name]
        return values.reshape(self.draws, n)

    def _numbers(self, stage: Continuous, model: Any) -> dict[str, float]:
        observed = stage.observed(model, self.held_out)[self.name]
        scores: dict[str, np.ndarray] = {
            label: np.full(len(observed), np.nan)
            for label in ("crps", *(f"pinball_{round(100 * p)}" for p in PINBALLS), "missing")
        }
        without = np.zeros(len(observed), dtype=bool)
        lower = 0.0
        spare = self._spare(stage, model)
        for rows, block in blocks_of(self.held_out, self.draws):
            drawn, truth = self._drawn(stage, model, block, len(rows)), observed[rows]
            is_missing = np.isnan(drawn)
            scores["missing"][rows] = (is_missing.mean(axis=0) - np.isnan(truth)) ** 2
            none = (~is_missing).sum(axis=0) < 2
            without[rows] = none & ~np.isnan(truth)
            drawn = np.where(none, spare[:, None], drawn)
            scores["crps"][rows] = crps_of_draws(drawn, truth)
            for p in PINBALLS:
                scores[f"pinball_{round(100 * p)}"][rows] = pinball_of_draws(drawn, truth, p)
            lower += sum(note.n_persons for note in block.fallbacks) / self.draws
        w, has_value = self.held_out.weights, ~np.isnan(observed)
        brier = float(np.average(scores.pop("missing"), weights=w))
        sums = {"weight": float(w.sum()), "weight_values": float(w[has_value].sum())} | {
            label: float(np.average(values[has_value], weights=w[has_value]))
            if has_value.any()
            else np.nan
            for label, values in scores.items()
        }
        zero = float(np.average(without, weights=w))
        rate = lower / len(observed)
        return {**sums, "brier_missing": brier, "zero": zero, "fallbacks": rate}

    def _spare(self, stage: Continuous, model: Any) -> np.ndarray:
        """Evenly spaced weighted quantiles of the training sample, shape (draws,)."""
        values = stage.observed(model, self.trained)[self.name]
        has_value = ~np.isnan(values)
        if not has_value.any():
            return np.full(self.draws, np.nan)
        shares = (np.arange(self.draws) + 0.5) / self.draws
        return quantile(values[has_value], self.trained.weights[has_value], shares)
