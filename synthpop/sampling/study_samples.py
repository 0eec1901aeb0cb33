"""Where the samples of a simulation study come from: one population, or one for each repetition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams
from synthpop.sampling.draw import prepare
from synthpop.sampling.repetition import Sample, census_of
from synthpop.sampling.setup import SampleSetup
from synthpop.sampling.source import FrameSource, PopulationSource

ROWS = 1_000_000  # drawn rows of a population in a folder that are in memory together


class DrawnSamples:
    """Samples drawn from one population, by a design or as a `SampleSetup` has them.

    Of a population in a folder the design's columns are held. The drawn rows are read for as many
    repetitions together as have about `ROWS` of them.
    """

    def __init__(
        self, population: Any, design: Any, household: str | None, columns: Sequence[str] | None
    ) -> None:
        self.setup = design if isinstance(design, SampleSetup) else None
        if self.setup is not None:
            self.sampler = self.setup.sampler(population, columns)
        else:
            self.sampler = prepare(population, design, household=household, columns=columns)

    def census(self) -> Survey:
        """Return the whole population as a survey."""
        frame = self.sampler.source.take(np.arange(self.sampler.source.n))
        return census_of(frame, self.sampler.household)

    def groups(
        self, repetitions: Sequence[int], streams: Streams
    ) -> Iterator[tuple[Sequence[int], Sample]]:
        """Yield repetitions that are in memory together, and what draws each of them."""
        if not isinstance(self.sampler.source, PopulationSource):
            yield repetitions, self._sample
            return
        draws: dict[int, tuple[np.ndarray, np.ndarray] | Exception] = {}
        n_rows = 0
        for number in repetitions:
            try:
                draw = self._positions(number, streams.at("study", number, "sample"))
            except Exception as problem:  # noqa: BLE001  (the repetition fails with it)
                draws[number] = problem
                continue
            draws[number] = draw
            n_rows += len(draw[0])
            if n_rows >= ROWS:
                yield list(draws), self._read(draws)
                draws, n_rows = {}, 0
        if draws:
            yield list(draws), self._read(draws)

    def _sample(self, number: int, rng: np.random.Generator) -> tuple[Survey, None]:
        return self.sampler.survey(*self._positions(number, rng)), None

    def _positions(self, number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.setup is not None:
            return self.setup.positions(number)
        return self.sampler.positions(rng)

    def _read(self, draws: dict[int, tuple[np.ndarray, np.ndarray] | Exception]) -> Sample:
        """Read the rows of some draws once; returns what takes each sample from them."""
        drawn = [draw[0] for draw in draws.values() if not isinstance(draw, Exception)]
        rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *drawn]))
        source = FrameSource(self.sampler.source.take(rows))
        sampler = replace(self.sampler, source=source, plan=None)  # the plan holds all persons

        def sample(number: int, rng: np.random.Generator) -> tuple[Survey, None]:
            draw = draws[number]
            if isinstance(draw, Exception):
                raise draw
            return sampler.survey(np.searchsorted(rows, draw[0]), draw[1]), None

        return sample


class GeneratedSamples:
    """A population that a function generates for each repetition; without a design the sample."""

    def __init__(
        self,
        generate: Callable[[np.random.Generator], Any],
        design: Any,
        household: str | None,
        columns: Sequence[str] | None,
    ) -> None:
        self.generate, self.design = generate, design
        self.household, self.columns = household, columns

    def groups(
        self, repetitions: Sequence[int], streams: Streams
    ) -> Iterator[tuple[Sequence[int], Sample]]:
        """Yield all repetitions at once, and what generates each of them."""
        yield repetitions, self._sample

    def _sample(self, number: int, rng: np.random.Generator) -> tuple[Survey, Survey | None]:
        people = self.generate(rng)
        if self.design is None:
            survey = people if isinstance(people, Survey) else census_of(people, self.household)
            return survey, None
        sampler = prepare(people, self.design, household=self.household, columns=self.columns)
        frame = sampler.source.take(np.arange(sampler.source.n))
        return sampler.draw(rng), census_of(frame, sampler.household)
