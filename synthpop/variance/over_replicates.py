"""Estimates over replicates of a population: standard errors, intervals, parts of the variance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import number, plural, short_percent
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.design_variance import t_quantile
from synthpop.variance.bootstrap import bootstrap
from synthpop.variance.bootstrap_plan import numbers_of_indicator
from synthpop.variance.combine import combine
from synthpop.variance.freedom import joint_degrees_of_freedom, sample_degrees_of_freedom

PARTS = ("sampling", "modelling", "simulation")


@dataclass(frozen=True, slots=True)
class ReplicateEstimates(TableResult):
    """Estimates over replicates, one row per estimate (or domain).

    Attributes
    ----------
    table : DataFrame
        Index: name of the estimate ("value" where there is one). Columns: estimate,
        standard_error, lower, upper, degrees_of_freedom, and the variances sampling, modelling
        and simulation, which add up to the square of the standard error (NaN where they are not
        known).
    values : DataFrame
        The estimates, one row per replicate.
    n_replicates : int
    level : float
    notes : tuple of str
        Parts that were estimated as negative and are reported as zero.
    """

    table: pd.DataFrame
    values: pd.DataFrame
    n_replicates: int
    level: float
    notes: tuple[str, ...] = ()

    def _shaped(self, column: str) -> Any:
        if len(self.table) == 1:
            return float(self.table[column].iloc[0])
        return self.table[column]

    @property
    def estimate(self) -> Any:
        """Mean over the replicates: float, or Series where there are several."""
        return self._shaped("estimate")

    @property
    def standard_error(self) -> Any:
        """Float, or Series where there are several."""
        return self._shaped("standard_error")

    @property
    def interval(self) -> Any:
        """(lower, upper), or a frame with these columns."""
        if len(self.table) == 1:
            return (self._shaped("lower"), self._shaped("upper"))
        return self.table[["lower", "upper"]]

    @property
    def shares(self) -> pd.DataFrame:
        """Sampling, modelling and simulation as shares of the variance."""
        parts = self.table[list(PARTS)]
        return parts.div(self.table["standard_error"] ** 2, axis=0)

    def summary(self) -> str:
        """Return the first estimate with its interval and its parts, in sentences."""
        row = self.table.iloc[0]
        text = (
            f"Estimate {number(row['estimate'], 5)}, standard error "
            f"{number(row['standard_error'])}, {short_percent(self.level)} interval "
            f"{number(row['lower'], 5)} to {number(row['upper'], 5)}, from "
            f"{plural(self.n_replicates, 'population')} of bootstrap samples."
        )
        known = self.shares.iloc[0].dropna()
        if len(known):
            parts = [f"{short_percent(share)} {name}" for name, share in known.items()]
            text += f" Of its variance {', '.join(parts)}."
        return " ".join([text, *self.notes])


def estimate_over_replicates(
    function: Callable[[pd.DataFrame, np.ndarray], Any],
    replicates: Iterable[Any],
    *,
    simulations: Iterable[Any] | None = None,
    survey: Survey | None = None,
    columns: Iterable[str] | None = None,
    level: float = 0.95,
    bootstrap_samples: int = 200,
    seed: int | None = None,
) -> ReplicateEstimates:
    """Estimate something from replicates of a population, with its uncertainty.

    Parameters
    ----------
    function : function (data, weights) -> number, Indicator, mapping or Series
        Of the persons of a population and their weights, which are 1/scale (one at full size and
        for a frame); of the survey and its weights with `survey`.
    replicates : iterable of Population (or DataFrame)
        Of ``fitted.replicates(n, refit="bootstrap")``, each looked at once.
    simulations : iterable of Population (or DataFrame), optional
        Of ``fitted.replicates(n)``, without refit: their variance is the part of the simulation.
    survey : Survey, optional
        The survey that the populations were learned from: the rescaled bootstrap variance of the
        same function of it is the part of the sampling, and its degrees of freedom widen the
        interval. Give it wherever it is at hand: without it the intervals of means of skewed
        variables are too short.
    columns : list of str, optional
        Columns that the function needs: populations on disk are read faster.
    level : float
        Confidence level.
    bootstrap_samples : int
        Of the survey.
    seed : int, optional
        Of the bootstrap samples of the survey.

    Returns
    -------
    ReplicateEstimates

    Raises
    ------
    InputError
        Fewer than two populations, populations of one fit as replicates, another function value.

    Notes
    -----
    The total variance is (1 + 1/m) b with the variance b between the m replicates and m - 1 degrees
    of freedom (Dong, Elliott and Raghunathan 2014; see `combine`). With `survey` the degrees of
    freedom are those of both steps, 1 / (1/(m - 1) + 1/d), where d are those that the survey leaves
    for the variance of this estimate (Satterthwaite; few where one household decides).

    Parts of the variance: sampling, the bootstrap variance of the weighted estimate of the survey;
    simulation, the variance between populations of one fit; modelling, what is left. They are
    estimated each with its own error, so that the rest can come out negative: it is reported as
    zero then, the others are scaled to the total, and a note says so. A replicate without a number
    for an estimate (an empty domain) is left out there.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> made = [pd.DataFrame({"x": rng.normal(rng.normal(5, 1), 1, 200)}) for _ in range(20)]
    >>> result = estimate_over_replicates(lambda data, w: np.average(data["x"], weights=w), made)
    >>> 0.5 < result.standard_error < 2.0
    True
    """
    names = None if columns is None else list(listed_names(columns))
    values = _values(function, replicates, names, "replicates")
    noise = None if simulations is None else _values(function, simulations, names, "simulations")
    sampling, freedom = None, pd.Series(dtype=np.float64)
    if survey is not None:
        freedom = sample_degrees_of_freedom(function, survey)
        result = bootstrap(function, survey, replicates=bootstrap_samples, seed=seed)
        sampling = pd.Series(result.variances, index=list(result.labels))
    rows, notes = {}, []
    for name in values.columns:
        column = values[name].dropna()
        if len(column) < 2:
            rows[name] = {"estimate": float(column.mean()) if len(column) else float("nan")}
            continue
        total = combine(column, kind="bootstrap", level=level)
        sampled = float(freedom.get(name, np.inf))
        joint = joint_degrees_of_freedom(total.degrees_of_freedom, sampled)
        half = t_quantile((1 + level) / 2, joint) * total.standard_error
        parts, note = _parts(name, total.variance, noise, sampling)
        notes += note
        rows[name] = {
            "estimate": total.estimate,
            "standard_error": total.standard_error,
            "lower": total.estimate - half,
            "upper": total.estimate + half,
            "degrees_of_freedom": joint,
            **parts,
        }
    order = ["estimate", "standard_error", "lower", "upper", "degrees_of_freedom", *PARTS]
    table = pd.DataFrame.from_dict(rows, orient="index").reindex(columns=order)
    return ReplicateEstimates(table, values, len(values), level, tuple(notes))


def _values(
    function: Callable[[pd.DataFrame, np.ndarray], Any],
    populations: Iterable[Any],
    columns: list[str] | None,
    argument: str,
) -> pd.DataFrame:
    rows = []
    for population in populations:
        manifest = getattr(population, "manifest", None)
        if argument == "replicates" and manifest is not None and not _is_refit(manifest):
            what = "are populations of one fit: they show the noise of the simulation only"
            hint = 'Make them with fitted.replicates(n, refit="bootstrap").'
            raise InputError.of("estimate over replicates", argument, what, hint)
        frame = population if manifest is None else population.frame(columns)
        scale = 1.0 if manifest is None else manifest.identity.scale
        rows.append(numbers_of_indicator(function(frame, np.full(len(frame), 1.0 / scale))))
    if len(rows) < 2:
        what = plural(len(rows), "population")
        raise InputError.of("estimate over replicates", argument, what, "Give two or more.")
    return pd.DataFrame(rows)


def _is_refit(manifest: Any) -> bool:
    return (manifest.identity.replicate or {}).get("refit") is not None


def _parts(
    name: Any, total: float, noise: pd.DataFrame | None, sampling: pd.Series | None
) -> tuple[dict[str, float], list[str]]:
    nan = float("nan")
    simulation = nan if noise is None or name not in noise else float(noise[name].var(ddof=1))
    sample = nan if sampling is None or name not in sampling.index else float(sampling[name])
    if np.isnan(simulation) or np.isnan(sample):
        return {"sampling": sample, "modelling": nan, "simulation": simulation}, []
    model = total - sample - simulation
    if model >= 0:
        return {"sampling": sample, "modelling": model, "simulation": simulation}, []
    scale = total / (sample + simulation)
    note = f"The part of the models in the variance of {name} is not distinguishable from zero."
    parts = {"sampling": sample * scale, "modelling": 0.0, "simulation": simulation * scale}
    return parts, [note]
