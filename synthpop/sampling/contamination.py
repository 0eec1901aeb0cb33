"""Contamination: values that are changed between a sample and its data.

Each object is a frozen record with ``apply(survey, rng) -> Survey`` and a name, under which a
simulation study gives it a random stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import as_numbers, listed_names
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.sampling.affected import Rate, affected_rows, frame_to_change


@dataclass(frozen=True)
class ContaminateAtRandom:
    """Some values are replaced by draws that have nothing to do with them.

    Attributes
    ----------
    columns : tuple of str
    rate : float, mapping or function
        Share of contaminated rows, as in `MissingUnits`.
    mean, sd : float
        Contaminated values are drawn from this normal distribution.
    draw : function (rng, size) -> array, or None
        Another distribution instead.
    by, whole : str or None
        As in `MissingUnits`; members of a group then share one drawn value.
    name : str

    Examples
    --------
    >>> survey = Survey(pd.DataFrame({"w": np.ones(100), "x": np.zeros(100)}), weight="w")
    >>> dirty = ContaminateAtRandom(["x"], 0.1, mean=1000.0, sd=1.0)
    >>> bool((dirty.apply(survey, np.random.default_rng(1)).frame["x"] > 900).mean() < 0.25)
    True
    """

    columns: Sequence[str]
    rate: Rate
    mean: float = 0.0
    sd: float = 1.0
    draw: Callable[[np.random.Generator, int], np.ndarray] | None = None
    by: str | None = None
    whole: str | None = None
    name: str = "contamination"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed_names(self.columns))
        if not self.sd >= 0:
            hint = "Give a number that is not negative."
            raise InputError.of(self.name, "sd", f"is {self.sd}", hint)

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the contaminated survey."""
        frame = frame_to_change(self, survey)
        hit = affected_rows(self, survey.frame, rng)
        rows = np.flatnonzero(hit)
        group = np.arange(len(rows))
        if self.whole is not None:
            group = pd.factorize(frame[self.whole].iloc[rows], use_na_sentinel=False)[0]
        size = int(group.max()) + 1 if len(rows) else 0
        for column in self.columns:
            draws = (
                rng.normal(self.mean, self.sd, size) if self.draw is None else self.draw(rng, size)
            )
            values = as_numbers(frame[column]).copy()
            values[rows] = np.asarray(draws, dtype=np.float64)[group]
            frame[column] = values
        return survey.with_frame(frame)


@dataclass(frozen=True)
class ContaminateDependent:
    """Some values are changed, depending on what they are: x becomes factor x + shift.

    Attributes
    ----------
    columns : tuple of str
    rate : float, mapping or function
        Share of contaminated rows, as in `MissingUnits`.
    factor, shift : float
    change : function (values, rng) -> values, or None
        Another change instead.
    by, whole : str or None
    name : str

    Examples
    --------
    >>> survey = Survey(pd.DataFrame({"w": np.ones(4), "x": [1.0, 2.0, 3.0, 4.0]}), weight="w")
    >>> monthly = ContaminateDependent(["x"], 1.0, factor=12.0)
    >>> monthly.apply(survey, np.random.default_rng(1)).frame["x"].tolist()
    [12.0, 24.0, 36.0, 48.0]
    """

    columns: Sequence[str]
    rate: Rate
    factor: float = 1.0
    shift: float = 0.0
    change: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None
    by: str | None = None
    whole: str | None = None
    name: str = "contamination"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed_names(self.columns))

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the contaminated survey."""
        frame = frame_to_change(self, survey)
        hit = affected_rows(self, survey.frame, rng)
        for column in self.columns:
            values = as_numbers(frame[column]).copy()
            if self.change is None:
                values[hit] = self.factor * values[hit] + self.shift
            else:
                values[hit] = self.change(values[hit], rng)
            frame[column] = values
        return survey.with_frame(frame)
