"""A small population that is simulated while a recipe is fitted, to see what later steps meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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

    def calibrated(self, stage: Any, model: Any) -> Any:
        """Return the model of a step with its margins calibrated, where the step does that."""
        if not stage.needs_pilot:
            return model
        return stage.calibrate(model, self.blocks, self.streams.at("pilot", "hold", stage.label))

    def after(self, stage: Any, model: Any) -> Pilot:
        """Return the pilot with the columns of one more step."""
        blocks = []
        for block in self.blocks:
            rng = self.streams.at("pilot", stage.label, self.levels[block.stratum])
            new = stage.simulate(model, block, rng)
            columns = {**block.columns, **new}
            blocks.append(Block(block.stratum, block.number, block.offsets, columns))
        return Pilot(tuple(blocks), self.streams, self.levels)


def needs_pilot(stages: Sequence[Any]) -> bool:
    """Whether a step calibrates its margins in a pilot."""
    return any(stage.needs_pilot for stage in stages)


def pilot_scale(
    stages: Sequence[Any], model: Any, sample: Sample, times_for_means: int, households: int | None
) -> float:
    """Return the scale of a pilot of so many households, or as many as the sample asks for.

    That is twice the sample's households, 4,000 to 40,000; where a step calibrates means of groups,
    which may be small, `times_for_means` times as many, 16,000 to 120,000.
    """
    times, fewest, most = TIMES, FEWEST, MOST
    if any(getattr(stage, "means_by", None) is not None for stage in stages):
        times, fewest, most = times_for_means, FEWEST_FOR_MEANS, MOST_FOR_MEANS
    n = float(np.clip(times * len(sample.household_weights), fewest, most))
    return (n if households is None else households) / float(model.totals.sum())


def make_pilot(
    stages: Sequence[Any],
    model: Any,
    sample: Sample,
    layout: IdColumns,
    streams: Streams,
    scale: float,
) -> Pilot:
    """Return a pilot without columns yet; the first of the stages is the structure."""
    plans = make_plan(model, stages[0].method, scale, streams, ROWS)
    ids = sized(layout, plans)
    blocks = [Block(p.stratum, p.number, p.offsets(), ids.columns(p)) for p in plans]
    return Pilot(tuple(blocks), streams, sample.strata_levels)
