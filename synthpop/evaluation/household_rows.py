"""Whole households of a sample or a population as plain arrays, members in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.source import PopulationChunks, is_drawn
from synthpop.microdata.frame.codes import run_starts
from synthpop.microdata.roles.survey import Survey, unit_of_households
from synthpop.microdata.runs.chunks import NumberedFrames
from synthpop.microdata.statistics.distances import effective_size

MOST_HOUSEHOLDS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdRows:
    """Persons sorted by household.

    starts, sizes: int arrays, shape (households,); first row and number of members
    """

    frame: pd.DataFrame  # one row per person; the members of a household stand together
    starts: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray  # float array, shape (households,)
    person_weights: np.ndarray  # float array, shape (persons,)
    # int array, shape (households,), or None: primary sampling unit of each household, where the
    # survey names some
    units: np.ndarray | None = None

    @property
    def index(self) -> np.ndarray:
        """Number of the household of each person, shape (persons,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over the members of each household, missing values left out."""
        return np.bincount(self.index, np.nan_to_num(values), minlength=len(self.sizes))

    def effective(self, households: np.ndarray | None = None) -> float:
        """Return the effective number of households, of all or of those marked."""
        return effective_size(self.weights if households is None else self.weights[households])

    def take(self, households: np.ndarray) -> HouseholdRows:
        """Return some of the households, in the order given; one may be taken twice."""
        sizes = self.sizes[households]
        ends = np.cumsum(sizes)
        within = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
        rows = np.repeat(self.starts[households], sizes) + within
        return HouseholdRows(
            self.frame.iloc[rows].reset_index(drop=True),
            ends - sizes,
            sizes,
            self.weights[households],
            self.person_weights[rows],
            None if self.units is None else self.units[households],
        )


def rows_of_survey(survey: Survey, frame: pd.DataFrame, columns: Sequence[str]) -> HouseholdRows:
    """Return the households of the sample with some columns of `frame` (its rows in order)."""
    order, offsets = survey.household_order, survey.household_offsets
    return HouseholdRows(
        frame[list(columns)].iloc[order].reset_index(drop=True),
        offsets[:-1],
        np.diff(offsets),
        survey.household_weights,
        survey.weights[order],
        unit_of_households(survey),
    )


def rows_of_population(
    source: PopulationChunks, columns: Sequence[str], household: str, n_sample: int
) -> HouseholdRows | None:
    """Return evenly spaced households, as many as the sample has or 50,000; None without ids."""
    if household not in source.columns:
        return None
    data: Any = source.data
    is_table = isinstance(data, pd.DataFrame)
    names = list(dict.fromkeys([household, *columns]))
    total = data[household].nunique(dropna=False) if is_table else data.n_households
    step = min(1.0, max(n_sample, MOST_HOUSEHOLDS) / max(int(total), 1))
    if is_table:
        order = np.argsort(pd.factorize(data[household])[0], kind="stable")
        frames = iter([(0, data[names].iloc[order])])
        rows = _drawn_households(names, household, {0: 0}, step, frames)
    else:
        draw = partial(_drawn_households, names, household, _households_before(data), step)
        rows = pd.concat(list(source.map(draw, names, rows=None)), ignore_index=True)
    ids = rows[household].to_numpy()
    starts = np.flatnonzero(run_starts(ids))
    sizes = np.diff(np.append(starts, len(ids)))
    return HouseholdRows(rows, starts, sizes, np.ones(len(sizes)), np.ones(len(rows)))


def _drawn_households(
    names: list[str],
    household: str,
    households_before: Mapping[int, int],
    step: float,
    frames: NumberedFrames,
) -> pd.DataFrame:
    """Return evenly spaced households of consecutive frames."""
    drawn: list[pd.DataFrame] = []
    n_before, last_id = 0, None
    for start, frame in frames:
        ids = frame[household].to_numpy()
        new = run_starts(ids)
        if not drawn:
            n_before = households_before[start]
        elif len(ids):
            new[0] = ids[0] != last_id
        drawn.append(frame.loc[is_drawn(n_before + np.cumsum(new) - 1, step), names])
        n_before, last_id = n_before + int(new.sum()), ids[-1] if len(ids) else last_id
    return pd.concat(drawn, ignore_index=True)


def _households_before(population: Any) -> dict[int, int]:
    """Return how many households stand before each block, by the number of its first row."""
    households = np.cumsum([0, *(block.n_households for block in population.manifest.blocks)])
    return dict(zip(population.block_starts, households.tolist(), strict=True))
