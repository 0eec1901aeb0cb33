"""A small population that is simulated while a recipe is fitted, to see what later steps meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.rules.enforce import block_rows
from synthpop.microdata.frame.block import Block, Sample
from synthpop.microdata.statistics.streams import Streams
from synthpop.stages.blocks import make_plan
from synthpop.stages.id_columns import IdColumns, sized

TIMES, FEWEST, MOST = 2, 4_000, 40_000  # households of the sample, households
TIMES_FOR_MEANS, FEWEST_FOR_MEANS, MOST_FOR_MEANS = 16, 16_000, 120_000
TIMES_IN_REPLICATES = 3  # a bootstrap sample moves means by more than such a pilot does
ROWS = 10**9


@dataclass(frozen=True, slots=True)
class Pilot:
    """One block per stratum, and the columns of the steps so far."""

    blocks: tuple[Block, ...]
    streams: Streams
    levels: tuple[Any, ...]
    share: float  # of the households, which is enough for steps that do not calibrate means

    def calibrated(self, stage: Any, model: Any) -> Any:
        """Return the model of a step with its margins calibrated, where the step does that."""
        if not stage.needs_pilot:
            return model
        blocks: Sequence[Block] = self.blocks
        if not _calibrates_means(stage):
            blocks = [_thinned(block, self.share) for block in blocks]
        return stage.calibrate(model, blocks, self.streams.at("pilot", "hold", stage.label))

    def after(self, stage: Any, model: Any) -> Pilot:
        """Return the pilot with the columns of one more step."""
        blocks = []
        for block in self.blocks:
            rng = self.streams.at("pilot", stage.label, self.levels[block.stratum])
            new = stage.simulate(model, block, rng)
            columns = {**block.columns, **new}
            blocks.append(Block(block.stratum, block.number, block.offsets, columns))
        return replace(self, blocks=tuple(blocks))


def needs_pilot(stages: Sequence[Any]) -> bool:
    """Whether a step calibrates its margins in a pilot."""
    return any(stage.needs_pilot for stage in stages)


def _calibrates_means(stage: Any) -> bool:
    return getattr(stage, "means_by", None) is not None


def _thinned(block: Block, share: float) -> Block:
    """Return the block of a share of its households, spread evenly over it."""
    if share >= 1.0:
        return block
    kept = np.diff(np.floor(np.arange(block.n_households + 1) * share)) > 0
    return block_rows(block, np.flatnonzero(np.repeat(kept, np.diff(block.offsets))))


def pilot_size(
    stages: Sequence[Any], sample: Sample, times_for_means: int, households: int | None
) -> tuple[float, float]:
    """Return the households of a pilot, and the share of them that steps without means look at.

    That is twice the sample's households, 4,000 to 40,000; where a step calibrates means of groups,
    which may be small, `times_for_means` times as many, 16,000 to 120,000 in a first fit.

    households: of the whole pilot; None for as many as the sample asks for
    """
    n = len(sample.household_weights)
    few = float(np.clip(TIMES * n, FEWEST, MOST))
    all_of_them = few
    if any(_calibrates_means(stage) for stage in stages):
        fewest = FEWEST_FOR_MEANS if times_for_means == TIMES_FOR_MEANS else FEWEST
        all_of_them = max(few, float(np.clip(times_for_means * n, fewest, MOST_FOR_MEANS)))
    if households is not None:
        return float(households), 1.0
    return all_of_them, few / all_of_them


def make_pilot(
    stages: Sequence[Any],
    model: Any,
    sample: Sample,
    layout: IdColumns,
    streams: Streams,
    households: float,
    share: float,
) -> Pilot:
    """Return a pilot without columns yet; the first of the stages is the structure."""
    scale = households / float(model.totals.sum())
    plans = make_plan(model, stages[0].method, scale, streams, ROWS)
    ids = sized(layout, plans)
    blocks = [Block(p.stratum, p.number, p.offsets(), ids.columns(p)) for p in plans]
    return Pilot(tuple(blocks), streams, sample.strata_levels, share)
