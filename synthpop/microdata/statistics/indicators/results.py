"""An estimated indicator, overall and by domain, with its variance where wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.results import Result
from synthpop.microdata.statistics.design_variance import SampledUnits, sampled_units, t_quantile

OVERALL = "all"


@dataclass(frozen=True, slots=True)
class Indicator(Result):
    """One indicator, overall and by domain.

    Attributes
    ----------
    name : str
    values : array, shape (1 + domains,)
        Overall first. NaN where a domain has too few rows.
    domains : tuple
        Levels of `by`; empty without it.
    counts : int array, shape (1 + domains,)
        Rows that entered.
    meaning : str
        A sentence with the definition; ``{value}`` stands for the overall value.
    threshold : float or None
        Poverty line in use, in units of the values.
    standard_errors : array, shape (1 + domains,), or None
        After `with_variance`.
    intervals : array, shape (1 + domains, 2), or None
    level : float
        Confidence level of the intervals.
    degrees_of_freedom : float
        Of the t distribution that the intervals use.

    Examples
    --------
    >>> from synthpop.indicators import gini
    >>> result = gini([10.0, 20.0, 40.0, 90.0], by=["a", "a", "b", "b"])
    >>> result.value, result.by.to_dict()
    (40.625, {'a': 16.666666666666675, 'b': 19.23076923076923})
    >>> float(result) == result.value
    True
    """

    name: str
    values: np.ndarray
    domains: tuple[Any, ...]
    counts: np.ndarray
    meaning: str
    threshold: float | None = None
    standard_errors: np.ndarray | None = None
    intervals: np.ndarray | None = None
    level: float = 0.95
    degrees_of_freedom: float = float("inf")
    _influence: Callable[[int], np.ndarray] | None = field(default=None, repr=False, compare=False)
    _weights: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> float:
        """Overall estimate."""
        return float(self.values[0])

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies that cross a process or a file leave the data behind."""
        names = [item.name for item in fields(self) if not item.name.startswith("_")]
        return type(self), tuple(getattr(self, name) for name in names)

    def __float__(self) -> float:
        return self.value

    @property
    def by(self) -> pd.Series:
        """Estimates by domain; empty without `by`."""
        return pd.Series(self.values[1:], index=pd.Index(list(self.domains)), name=self.name)

    @property
    def standard_error(self) -> float:
        """Standard error of the overall estimate; NaN before `with_variance`."""
        return float("nan") if self.standard_errors is None else float(self.standard_errors[0])

    @property
    def variance(self) -> float:
        """Variance of the overall estimate; NaN before `with_variance`."""
        return self.standard_error * self.standard_error

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the overall estimate; NaN before `with_variance`."""
        if self.intervals is None:
            return (float("nan"), float("nan"))
        return (float(self.intervals[0, 0]), float(self.intervals[0, 1]))

    def linearised(self, domain: Any = None) -> np.ndarray:
        """Linearised variable: derivative of the estimate with respect to each weight.

        Parameters
        ----------
        domain : level of `by`, optional
            Default: overall.

        Returns
        -------
        array, shape (n,)
            In the order of the input; 0 for rows that did not enter. All NaN where the estimate,
            or a density that the formula needs, is not known.
        """
        position = 0
        if domain is not None:
            if domain not in self.domains:
                what = f"{domain!r} is not among {list(self.domains)[:20]}"
                raise InputError.of(self.name, "domain", what)
            position = 1 + self.domains.index(domain)
        return self._column(position)

    def _column(self, position: int) -> np.ndarray:
        if self._influence is None:
            raise TypeError("this indicator was made without its data")
        return self._influence(position)

    def with_variance(
        self,
        *,
        strata: Any = None,
        cluster: Any = None,
        fpc: Any = None,
        survey: Any = None,
        level: float = 0.95,
    ) -> Indicator:
        """Add standard errors and confidence intervals by linearisation.

        Parameters
        ----------
        strata : array, shape (n,), optional
            Design strata; sampling is independent between them.
        cluster : array, shape (n,), optional
            Units that were drawn (households, primary sampling units). Default: rows.
        fpc : number or array, shape (n,), optional
            Finite population correction: sampling fractions, or numbers of units in the
            population. `strata`, `cluster` and `fpc` take an array of shape (n, stages) or a
            DataFrame for several stages.
        survey : Survey, optional
            Takes design strata, units and correction from the roles of a survey with the same
            rows, in place of `strata`, `cluster` and `fpc`.
        level : float
            Confidence level of the intervals, which use the t distribution with (first-stage
            units - strata) degrees of freedom.

        Returns
        -------
        Indicator

        Notes
        -----
        Variance of the weighted total of the linearised variable between clusters within strata
        (see `design_variance`); calibrated weights are taken as they are. Deville (1999), Survey
        Methodology 25; Osier (2009), Survey Research Methods 3(3).

        Examples
        --------
        >>> from synthpop.indicators import gini
        >>> result = gini(np.arange(1.0, 101.0)).with_variance()
        >>> round(result.value, 1), round(result.standard_error, 2)
        (33.0, 2.41)
        """
        if not 0 < level < 1:
            raise InputError.of(self.name, "level", f"is {level}", "Give a share such as 0.95.")
        first = self._column(0)
        units = self._units(len(first), survey, {"strata": strata, "cluster": cluster, "fpc": fpc})
        columns = (first if j == 0 else self._column(j) for j in range(len(self.values)))
        errors = np.sqrt([units.variance(z, self._weights) for z in columns])
        with_errors = replace(
            self, standard_errors=errors, degrees_of_freedom=float(units.degrees_of_freedom)
        )
        return replace(with_errors, intervals=with_errors.intervals_at(level), level=level)

    def _units(self, n: int, survey: Any, design: dict[str, Any]) -> SampledUnits:
        if survey is None:
            return sampled_units(n, **design)
        faults = Faults(self.name)
        for name, value in design.items():
            if value is not None:
                faults.add(name, "is given besides survey", hint="Give one of them.")
        if survey.n_persons != n:
            what = f"has {survey.n_persons} rows, the indicator has {n}"
            faults.add("survey", what, hint="Give the survey of the same rows.")
        faults.raise_if_any()
        return survey.sampled_units

    def intervals_at(self, level: float) -> np.ndarray:
        """Return the intervals at another confidence level, shape (1 + domains, 2).

        Raises
        ------
        InputError
            There are no standard errors yet.
        """
        if self.standard_errors is None:
            what = "there are no standard errors yet"
            raise InputError.of("indicator", "intervals_at", what, "Call with_variance first.")
        half = t_quantile((1 + level) / 2, self.degrees_of_freedom) * self.standard_errors
        return np.column_stack([self.values - half, self.values + half])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per domain: estimate, rows, and standard error and interval if known."""
        frame = pd.DataFrame(
            {"estimate": self.values, "n": self.counts},
            index=pd.Index([OVERALL, *self.domains], name="domain"),
        )
        if self.standard_errors is not None and self.intervals is not None:
            frame["standard_error"] = self.standard_errors
            frame["lower"], frame["upper"] = self.intervals[:, 0], self.intervals[:, 1]
        return frame

    def summary(self) -> str:
        """Return what the number means."""
        if np.isnan(self.value):
            return f"The {self.name.replace('_', ' ')} is not defined on these data."
        text = self.meaning.format(value=f"{self.value:.4g}", threshold=self.threshold)
        if self.standard_errors is not None:
            low, high = self.interval
            text += (
                f" {100 * self.level:g} % confidence interval {low:.4g} to {high:.4g}"
                " (linearisation)."
            )
        if self.domains and np.isfinite(self.values[1:]).any():
            text += f" Domains range from {np.nanmin(self.values[1:]):.4g}"
            text += f" to {np.nanmax(self.values[1:]):.4g}."
        return text
