"""What goes wrong between a sample and its data: non-response and contamination.

Each object is a frozen record with ``apply(survey, rng) -> Survey`` and a name, under which a
simulation study gives it a random stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.checks import check_columns
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import plural

Rate = float | Mapping[Any, float] | Callable[[pd.DataFrame], Any]


def _rates(name: str, frame: pd.DataFrame, rate: Rate, by: str | None) -> np.ndarray:
    """Probability of each row, shape (n,)."""
    faults = Faults(name)
    n = len(frame)
    if callable(rate):
        p: np.ndarray = np.asarray(rate(frame), dtype=np.float64)
        if p.shape != (n,):
            faults.add("rate", f"gave {p.shape} numbers for {plural(n, 'row')}")
    elif isinstance(rate, Mapping):
        if by is None:
            faults.add("by", "is not given", remedy="Name the column of the levels in rate.")
            faults.raise_if_any()
        check_columns(faults, frame, [str(by)], "by")
        faults.raise_if_any()
        levels = list(pd.unique(frame[by].dropna()))
        for level in levels:
            if level not in rate:
                faults.add("rate", f"level {level!r} has none", remedy=did_you_mean(level, rate))
        faults.raise_if_any()
        p = frame[by].map(dict(rate)).astype(np.float64).fillna(0.0).to_numpy()
    else:
        p = np.full(n, float(rate))
    if not bool(np.all((p >= 0) & (p <= 1))):
        faults.add("rate", "is not between 0 and 1", remedy="Give shares, not percent.")
    faults.raise_if_any()
    return p


def _hit(
    name: str, frame: pd.DataFrame, rate: Rate, by: str | None, whole: str | None, rng: Any
) -> np.ndarray:
    """Which rows are affected, shape (n,); members of a group together, by their first row."""
    p = _rates(name, frame, rate, by)
    if whole is None:
        return rng.random(len(frame)) < p
    faults = Faults(name)
    check_columns(faults, frame, [whole], "whole")
    faults.raise_if_any()
    group = pd.factorize(frame[whole], use_na_sentinel=False)[0]
    first = np.unique(group, return_index=True)[1]
    return (rng.random(len(first)) < p[first])[group]


@dataclass(frozen=True)
class MissingUnits:
    """Unit non-response: rows that do not answer leave the sample; weights stay as they are.

    Attributes
    ----------
    rate : float, mapping or function
        Probability not to answer: one number (completely at random); level -> number with `by`
        (dependent on a variable); or a function of the frame that returns one number a row.
    by : str or None
    whole : str or None
        Column of groups that answer or not together (households).
    name : str

    Examples
    --------
    >>> people = pd.DataFrame({"w": np.ones(1000), "sex": ["m", "f"] * 500})
    >>> survey = Survey(people, weight="w")
    >>> loss = MissingUnits({"m": 0.5, "f": 0.0}, by="sex")
    >>> loss.apply(survey, np.random.default_rng(1)).frame["sex"].value_counts()["f"].item()
    500
    """

    rate: Rate
    by: str | None = None
    whole: str | None = None
    name: str = "missing units"

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the survey of those who answered."""
        keep = ~_hit(self.name, survey.frame, self.rate, self.by, self.whole, rng)
        if not keep.any():
            faults = Faults(self.name)
            faults.add("rate", "nobody answered", remedy="Lower it.")
            faults.raise_if_any()
        return Survey(survey.frame[keep], **survey.roles.named())


@dataclass(frozen=True)
class MissingItems:
    """Item non-response: values of some columns become missing.

    Attributes
    ----------
    columns : tuple of str
    rate : float, mapping or function
        As in `MissingUnits`.
    by : str or None
        May be one of `columns`: values are then missing depending on themselves.
    whole : str or None
    together : bool
        All columns of a row are lost together, or each on its own.
    name : str

    Examples
    --------
    >>> people = pd.DataFrame({"w": np.ones(1000), "income": np.arange(1000.0)})
    >>> survey = Survey(people, weight="w")
    >>> high = MissingItems(["income"], lambda frame: frame["income"] / 2000)
    >>> bool(high.apply(survey, np.random.default_rng(1)).frame["income"].mean() < 499.5)
    True
    """

    columns: Sequence[str]
    rate: Rate
    by: str | None = None
    whole: str | None = None
    together: bool = False
    name: str = "missing items"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _names(self.columns))

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the survey with holes."""
        frame = _copy(self.name, survey, self.columns)
        hit = None
        for column in self.columns:
            if hit is None or not self.together:
                hit = _hit(self.name, survey.frame, self.rate, self.by, self.whole, rng)
            frame[column] = frame[column].mask(hit)
        return Survey(frame, **survey.roles.named())


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
        object.__setattr__(self, "columns", _names(self.columns))
        if not self.sd >= 0:
            faults = Faults(self.name)
            faults.add("sd", f"is {self.sd}", remedy="Give a number that is not negative.")
            faults.raise_if_any()

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the contaminated survey."""
        frame = _copy(self.name, survey, self.columns)
        hit = _hit(self.name, survey.frame, self.rate, self.by, self.whole, rng)
        rows = np.flatnonzero(hit)
        group = np.arange(len(rows))
        if self.whole is not None:
            group = pd.factorize(frame[self.whole].iloc[rows], use_na_sentinel=False)[0]
        size = int(group.max()) + 1 if len(rows) else 0
        for column in self.columns:
            if self.draw is None:
                drawn = rng.normal(self.mean, self.sd, size)
            else:
                drawn = np.asarray(self.draw(rng, size), dtype=np.float64)
            values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan).copy()
            values[rows] = drawn[group]
            frame[column] = values
        return Survey(frame, **survey.roles.named())


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
        object.__setattr__(self, "columns", _names(self.columns))

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the contaminated survey."""
        frame = _copy(self.name, survey, self.columns)
        hit = _hit(self.name, survey.frame, self.rate, self.by, self.whole, rng)
        for column in self.columns:
            values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan).copy()
            if self.change is None:
                values[hit] = self.factor * values[hit] + self.shift
            else:
                values[hit] = self.change(values[hit], rng)
            frame[column] = values
        return Survey(frame, **survey.roles.named())


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _copy(name: str, survey: Survey, columns: Sequence[str]) -> pd.DataFrame:
    faults = Faults(name)
    check_columns(faults, survey.frame, columns, "columns")
    taken = [column for column in columns if column in survey.roles.named().values()]
    for column in taken:
        faults.add(column, "has a role in the survey", remedy="Leave it as it is.")
    faults.raise_if_any()
    return survey.frame.copy(deep=False)
