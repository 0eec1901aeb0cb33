"""What a simulation study gives: estimates, performance, curves, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.statistics.indicators.results import OVERALL
from synthpop.sampling.performance import MEASURES, performance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID = ("contamination", "missing")
FAILURES = ("repetition", *GRID, "estimator", "reason")


@dataclass(frozen=True, slots=True)
class Study(Result):
    """Results of a simulation study.

    Attributes
    ----------
    estimates : DataFrame
        One row per repetition, estimator and domain: estimate, standard_error, lower and upper
        (NaN where the estimator gives none); with levels of contamination or of missing values
        also these; truth, where every repetition has a population of its own.
    truth : Series
        True values, index (estimator, domain).
    repetitions : int
    seed : int
    level : float
        Confidence level of intervals that are made from standard errors.
    failures : DataFrame
        One row for each repetition (estimator empty) or estimator that failed: repetition,
        contamination, missing, estimator, reason.
    """

    estimates: pd.DataFrame
    truth: pd.Series
    repetitions: int
    seed: int
    level: float
    failures: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(FAILURES)))

    @property
    def grid(self) -> tuple[str, ...]:
        """Those of "contamination" and "missing" that have several levels."""
        return tuple(name for name in GRID if name in self.estimates)

    @property
    def table(self) -> pd.DataFrame:
        """One row per estimator and domain (and level of contamination and missing values).

        Columns: truth, mean, bias, relative_bias, variance, rmse, coverage and length of the
        intervals, standard_error_ratio (mean estimated standard error over the real one), the
        number of repetitions that gave a number, of those that failed, and the Monte Carlo
        standard errors of bias, relative bias, variance, rmse, coverage and length, in columns
        that end in ``_mc``. Morris, White and Crowther (2019), doi:10.1002/sim.8086; that of the
        variance has no normal distribution as its premise: var(s^2) = (m4 - s^4 (n - 3) /
        (n - 1)) / n with the fourth central moment m4. A coverage of exactly 0 or 1 has the error
        0, which only says that there are too few repetitions.
        """
        names = [*self.grid, "estimator", "domain"]
        rows: dict[Any, dict[str, float]] = {}
        for key, estimates in self.estimates.groupby(names, sort=False, observed=True):
            row = performance(estimates, float(self.truth.get(key[-2:], np.nan)))
            rows[key] = {**row, "failed": self._n_failed(dict(zip(names, key, strict=True)))}
        index = pd.MultiIndex.from_tuples(list(rows), names=names)
        return pd.DataFrame(list(rows.values()), index=index)

    def _n_failed(self, key: Mapping[str, Any]) -> int:
        failures = self.failures
        matches = failures["estimator"].isin(["", key["estimator"]])
        for name in self.grid:
            matches &= failures[name].isna() | (failures[name] == key[name])
        return int(failures.loc[matches, "repetition"].nunique())

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def curves(self, measure: str = "rmse", *, over: str = "contamination") -> pd.DataFrame:
        """Return a measure by level: one row per level, one column per estimator and domain.

        Parameters
        ----------
        measure : {"bias", "relative_bias", "variance", "rmse", "coverage", "length", \
"standard_error_ratio"}
        over : {"contamination", "missing"}
            The levels of the rows; those of the other are columns where it has several.
        """
        faults = Faults("curves")
        if measure not in MEASURES:
            faults.add("measure", f"{measure!r} is none", hint=f"Choose of {MEASURES}.")
        if over not in self.grid:
            hint = f"Give simulate_study a mapping of levels as {over}."
            faults.add("over", f"the study has no levels of {over!r}", hint=hint)
        faults.raise_if_any()
        column = self.table[measure]
        other_names = [name for name in column.index.names if name != over]
        order = list(dict.fromkeys(column.index.get_level_values(over)))
        return column.unstack(other_names, sort=False).reindex(order)

    def at(self, *, contamination: Any = None, missing: Any = None) -> Study:
        """Return the study at one level of contamination and of missing values."""
        faults, estimates, failures = Faults("study"), self.estimates, self.failures
        for name, label in (("contamination", contamination), ("missing", missing)):
            if label is None:
                continue
            levels = list(dict.fromkeys(estimates[name])) if name in self.grid else []
            if label not in levels:
                faults.add(name, f"{label!r} is not a level", hint=f"There are {levels}.")
                continue
            estimates = estimates[estimates[name] == label].drop(columns=name)
            failures = failures[failures[name].isna() | (failures[name] == label)]
        faults.raise_if_any()
        return replace(
            self,
            estimates=estimates.reset_index(drop=True),
            failures=failures.reset_index(drop=True),
        )

    def summary(self) -> str:
        """Return, for each estimator, bias and error in a sentence."""
        lines = [f"{plural(self.repetitions, 'sample')} (seed {self.seed})."]
        table = self.table
        for key, row in zip(table.index, table.to_dict("records"), strict=True):
            *levels, name, domain = key
            if domain != OVERALL:
                continue
            where = ", ".join(f"{g} {v}" for g, v in zip(self.grid, levels, strict=True))
            text = (
                f"{name}{f' ({where})' if where else ''}: true value {row['truth']:.5g}, bias "
                f"{row['bias']:.3g} (Monte Carlo error {row['bias_mc']:.1g}), root mean squared "
                f"error {row['rmse']:.3g}"
            )
            if np.isfinite(row["coverage"]):
                text += f", {percent(row['coverage'], 1)} of the intervals cover it"
            lines.append(text + ".")
        if len(self.failures):
            first = self.failures.iloc[0]
            who = f"estimator {first['estimator']}" if first["estimator"] else "the sample"
            lines.append(
                f"{plural(len(self.failures), 'failure was', 'failures were')} left out; the first "
                f"in repetition {first['repetition']}, {who}: {first['reason']}"
            )
        return "\n".join(lines)

    def figure(
        self,
        *,
        kind: str = "box",
        domains: Sequence[Any] | None = None,
        measure: str = "rmse",
        over: str | None = None,
        unit: str = "",
    ) -> Figure:
        """Draw the study.

        Parameters
        ----------
        kind : {"box", "density", "bias", "coverage", "zipper", "curve"}
            Distributions of the estimates; relative bias or coverage with Monte Carlo errors; all
            intervals in the order of their distance from the truth (zipper plot); a measure over
            the levels of contamination or missing values.
        domains : sequence, optional
            Default: the overall estimates, or all where there are none.
        measure : str
            Of a curve, see `curves`.
        over : {"contamination", "missing"}, optional
            Levels of a curve. Default: the first that the study has.
        unit : str
            Unit of the estimates, for the axis.

        Returns
        -------
        matplotlib Figure
            One panel per estimator.
        """
        return presenter("Study.figure")(self, kind, domains, measure, over, unit)
