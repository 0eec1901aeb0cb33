"""Samples that are drawn once and used by several studies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.budget import repeated
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import MOST_TIMES, Whole, check
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.sampling.draw import Sampler, prepare


@dataclass(frozen=True, slots=True)
class SampleSetup(Result):
    """Samples of one design, as positions in the population with inclusion probabilities.

    Attributes
    ----------
    samples : DataFrame
        Columns repetition, row (position in the population) and probability.
    n_samples : int
    n_population : int
        Rows of the population that the samples belong to.
    seed : int
    roles : dict
        Household, strata and psu of the samples.
    strata_names : tuple of str
        Columns that make the strata.
    replace : tuple of str
        Roles of units that were drawn with replacement.
    """

    samples: pd.DataFrame = field(repr=False)
    n_samples: int
    n_population: int
    seed: int
    roles: dict[str, str | None]
    strata_names: tuple[str, ...] = ()
    replace: tuple[str, ...] = ()
    _starts: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64), repr=False)

    def __post_init__(self) -> None:
        counts = np.bincount(self.samples["repetition"], minlength=self.n_samples)
        starts = np.concatenate([[0], np.cumsum(counts)])
        object.__setattr__(self, "_starts", starts)

    def positions(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of one sample and their inclusion probabilities."""
        if not 0 <= number < self.n_samples:
            what = f"is {number}, there are {self.n_samples}"
            raise InputError.of("sample set-up", "number", what)
        sample = self.samples.iloc[self._starts[number] : self._starts[number + 1]]
        return sample["row"].to_numpy(), sample["probability"].to_numpy()

    def sampler(self, population: Any, columns: Sequence[str] | None = None) -> Sampler:
        """Return a sampler for the population that the samples were drawn from.

        Parameters
        ----------
        population : DataFrame, Survey or Population
        columns : sequence of str, optional
            Columns that the samples have. Default: all.

        Raises
        ------
        InputError
            The population has another number of rows.
        """
        from synthpop.sampling.source import open_source

        source = open_source(population, columns)
        if source.n != self.n_population:
            what = f"has {plural(source.n, 'row')}, the samples were drawn from {self.n_population}"
            hint = "Give the population of the set-up."
            raise InputError.of("sample set-up", "population", what, hint)
        return Sampler(
            source, None, **self.roles, strata_names=self.strata_names, replace=self.replace
        )

    def surveys(self, population: Any) -> Iterator[Survey]:
        """Yield the samples as surveys of a population."""
        sampler = self.sampler(population)
        for number in range(self.n_samples):
            yield sampler.survey(*self.positions(number))

    def write(self, path: Path | str) -> None:
        """Write the set-up to one Parquet file, whole or not at all."""
        presenter("SampleSetup.write")(self, path)

    def summary(self) -> str:
        """Return what there is, in a sentence."""
        return (
            f"{plural(self.n_samples, 'sample')} of "
            f"{count(len(self.samples) / self.n_samples)} rows "
            f"on average from {plural(self.n_population, 'row')} (seed {self.seed})."
        )


def draw_setup(
    population: Any,
    design: Any,
    *,
    n_samples: int,
    seed: int | None = None,
    household: str | None = None,
) -> SampleSetup:
    """Draw the samples of several studies once.

    Parameters
    ----------
    population : DataFrame, Survey or Population
    design : as in `draw_sample`
    n_samples : int
    seed : int, optional
        Sample r is drawn from the stream ("study", r, "sample"): those of `simulate_study` with
        this seed.
    household : str, optional
        As in `draw_sample`.

    Returns
    -------
    SampleSetup
        Give it to `simulate_study` in place of the design, or write it to a file.

    Examples
    --------
    >>> from synthpop.sampling import SimpleRandom
    >>> people = pd.DataFrame({"age": range(100)})
    >>> setup = draw_setup(people, SimpleRandom(10), n_samples=3, seed=1)
    >>> [survey.n_persons for survey in setup.surveys(people)]
    [10, 10, 10]
    """
    faults = Faults("sample set-up")
    check(faults, {"n_samples": Whole(1, MOST_TIMES)}, {"n_samples": n_samples})
    faults.raise_if_any()
    seed = resolve_seed(seed)
    sampler, streams = prepare(population, design, household=household), Streams(seed)
    parts = []
    for r in repeated(n_samples, "n_samples"):
        rows, p = sampler.positions(streams.at("study", r, "sample"))
        parts.append(pd.DataFrame({"repetition": r, "row": rows, "probability": p}))
    roles = {"household": sampler.household, "strata": sampler.strata, "psu": sampler.psu}
    samples = pd.concat(parts, ignore_index=True)
    names, replace = sampler.strata_names, sampler.replace
    return SampleSetup(samples, int(n_samples), sampler.source.n, seed, roles, names, replace)
