"""Non-response: persons and values that are missing between a sample and its data.

Each object is a frozen record with ``apply(survey, rng) -> Survey`` and a name, under which a
simulation study gives it a random stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.sampling.affected import Rate, affected_rows, frame_to_change


@dataclass(frozen=True)
class MissingUnits:
    """Unit non-response: rows that do not answer leave the sample; weights stay as they are.

    Attributes
    ----------
    rate : float, mapping or function
        Probability of not answering: one number (completely at random); level -> number with `by`
        (dependent on a variable); or a function of the frame that returns one number per row.
    by : str or None
    whole : str or None
        Column of groups that answer or not together (households).
    name : str

    Examples
    --------
    >>> import pandas as pd
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
        keep = ~affected_rows(self, survey.frame, rng)
        if not keep.any():
            raise InputError.of(self.name, "rate", "nobody answered", "Lower it.")
        return survey.with_frame(survey.frame[keep])


@dataclass(frozen=True)
class MissingItems:
    """Item non-response: values of some columns become missing.

    Attributes
    ----------
    columns : tuple of str
    rate : float, mapping or function
        As in `MissingUnits`.
    by : str or None
        May be one of `columns`: whether its value is missing then depends on the value itself.
    whole : str or None
    together : bool
        All columns of a row are lost together, or each on its own.
    name : str

    Examples
    --------
    >>> import pandas as pd
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
        object.__setattr__(self, "columns", listed_names(self.columns))

    def apply(self, survey: Survey, rng: np.random.Generator) -> Survey:
        """Return the survey with holes."""
        frame = frame_to_change(self, survey)
        hit = None
        for column in self.columns:
            if hit is None or not self.together:
                hit = affected_rows(self, survey.frame, rng)
            frame[column] = frame[column].mask(hit)
        return survey.with_frame(frame)
