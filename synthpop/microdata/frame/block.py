"""What stages see: the coded sample while fitting, one block of people while simulating."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synthpop.microdata.frame.dataset import Field


@dataclass(frozen=True, slots=True)
class Fallback:
    """One step down a declared sequence, recorded instead of a crash."""

    stage: str  # stage and variable
    stratum: str
    what: str  # what was missing and what was used instead
    n_persons: int = 0  # persons of the population concerned; 0 where it is about the fit


@dataclass(frozen=True, slots=True)
class Sample:
    """The survey as coded columns, shape (n_persons,) each, households side by side."""

    columns: Mapping[str, np.ndarray]
    fields: Mapping[str, Field]
    weights: np.ndarray
    strata: np.ndarray  # stratum of each person, 0 ... n_strata - 1
    strata_levels: tuple[Any, ...]
    offsets: np.ndarray  # int array, shape (n_households + 1,): where each household starts
    household_weights: np.ndarray  # float array, shape (n_households,)
    rows: np.ndarray  # row of the survey's frame of each person, for messages
    available: tuple[
        str, ...
    ] = ()  # variables that the population will have at this step, in order
    basic: tuple[str, ...] = ()  # those of the household structure among them
    # "all" does not mean the column of strata, as models are fitted per stratum anyway
    strata_name: str | None = None
    # int array, shape (n_households,): primary sampling units, where the survey names some
    units: np.ndarray | None = None
    # variable -> what it cannot be, for those that earlier steps simulated with rules
    rules: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return len(self.weights)

    @property
    def unit_of_persons(self) -> np.ndarray:
        """Sampling unit of each person, the household where there are no others; (n_persons,)."""
        units = np.arange(len(self.offsets) - 1) if self.units is None else self.units
        return np.repeat(units, np.diff(self.offsets))

    def with_columns(
        self, fields: Mapping[str, Field], columns: Mapping[str, np.ndarray]
    ) -> Sample:
        """Return the sample with these columns, which the population has from now on."""
        return replace(
            self,
            columns={**self.columns, **columns},
            fields={**self.fields, **fields},
            available=(*self.available, *(name for name in fields if name not in self.available)),
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Whole households of one stratum of the population."""

    stratum: int  # position of the stratum
    number: int  # number of the block within its stratum
    offsets: np.ndarray  # int array, shape (n_households + 1,): where each household starts
    columns: Mapping[str, np.ndarray]  # dict of read-only arrays, each shape (n_persons,)
    # steps down a sequence that stages took in this block
    fallbacks: list[Fallback] = field(default_factory=list)
    # generator of the population by names, for draws that blocks share
    shared: Callable[..., np.random.Generator] | None = None

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return int(self.offsets[-1])

    @property
    def n_households(self) -> int:
        """Number of households."""
        return len(self.offsets) - 1

    def with_columns(self, columns: Mapping[str, np.ndarray]) -> Block:
        """Return the block with further columns, or others of these names."""
        return replace(self, columns={**self.columns, **columns})
