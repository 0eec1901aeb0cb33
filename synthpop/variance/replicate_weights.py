"""Replicate weights: made from the design, kept as columns, read from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_frame, check_columns, check_numeric
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import MOST_TIMES, Between, OneOf, Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.design_variance import SampledUnits, t_quantile
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.variance.bootstrap_plan import numbers_of_indicator
from synthpop.variance.resampling import rescaled_bootstrap

PARAMETERS = {
    "method": OneOf("bootstrap", "jackknife", "brr"),
    "replicates": Whole(2, MOST_TIMES),
    "fay": Between(0, 1, open="high"),
}
CENTRES = OneOf("replicates", "estimate")


@dataclass(frozen=True, slots=True)
class ReplicateWeights(Result):
    """Weights of a sample in each replicate.

    Attributes
    ----------
    weights : array, shape (n, R)
    scale : float
        Factor on the sum of squares.
    scales : array, shape (R,)
        Factor of each replicate.
    method : str
    degrees_of_freedom : float
        Of the t distribution of intervals.
    centre : {"replicates", "estimate"}
        Deviations are from the mean of the replicates, or from the estimate of the sample.

    Notes
    -----
    Variance: scale times the sum over replicates of scales_r (q_r - centre)^2, as in R's survey.
    """

    weights: np.ndarray = field(repr=False)
    scale: float
    scales: np.ndarray = field(repr=False)
    method: str
    degrees_of_freedom: float
    centre: str = "replicates"

    @property
    def n_replicates(self) -> int:
        """Number of replicates."""
        return int(self.weights.shape[1])

    def to_frame(self, prefix: str = "replicate_weight_") -> pd.DataFrame:
        """Return one column per replicate, to be kept with the file.

        Examples
        --------
        >>> survey = Survey(pd.DataFrame({"w": [1.0, 1.0, 2.0]}), weight="w")
        >>> replicate_weights(survey, method="jackknife").to_frame("jk").round(2).values.tolist()
        [[0.0, 1.5, 1.5], [1.5, 0.0, 1.5], [3.0, 3.0, 0.0]]
        """
        width = len(str(self.n_replicates))
        names = [f"{prefix}{r:0{width}d}" for r in range(1, self.n_replicates + 1)]
        return pd.DataFrame(self.weights, columns=names)

    def estimate(
        self,
        function: Callable[[pd.DataFrame, np.ndarray], Any],
        survey: Survey,
        *,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Return estimates with standard errors and intervals, one row per number.

        Parameters
        ----------
        function : function (data, weights) -> number, Indicator, mapping or Series
            Of the frame of the survey and weights; some of them are zero.
        survey : Survey
            With the rows of the weights.
        level : float

        Returns
        -------
        DataFrame
            Columns estimate, standard_error, lower, upper; index the names of the numbers
            ("value" where there is one). Replicates without a number are left out.
        """
        faults = Faults("replicate weights")
        check(faults, {"level": Between(0, 1, open="both")}, {"level": level})
        if survey.n_persons != len(self.weights):
            what = f"has {plural(survey.n_persons, 'row')}, the weights have {len(self.weights)}"
            faults.add("survey", what, hint="Give the survey of the same rows.")
        faults.raise_if_any()
        start = pd.Series(numbers_of_indicator(function(survey.frame, survey.weights)))
        rows = []
        for r in range(self.n_replicates):
            w = self.weights[:, r]
            is_used = w > 0
            rows.append(numbers_of_indicator(function(survey.frame[is_used], w[is_used])))
        values = pd.DataFrame(rows).reindex(columns=start.index)
        centre = values.mean() if self.centre == "replicates" else start
        squares = (values - centre) ** 2
        known = values.notna().to_numpy()
        spread = self.scale * np.nansum(squares.to_numpy() * self.scales[:, None], axis=0)
        spread = np.where(known.any(axis=0), spread, np.nan)
        error = np.sqrt(spread)
        half = t_quantile((1 + level) / 2, self.degrees_of_freedom) * error
        return pd.DataFrame(
            {"estimate": start, "standard_error": error, "lower": start - half,
             "upper": start + half}
        )  # fmt: skip

    def summary(self) -> str:
        """Return what the weights are, in a sentence."""
        return (
            f"{plural(self.n_replicates, 'replicate weight')} of {plural(len(self.weights), 'row')}"
            f" ({self.method})."
        )


@same_library
def replicate_weights(
    survey: Survey,
    *,
    method: str = "bootstrap",
    replicates: int = 200,
    fay: float = 0.0,
    calibrate: Sequence[Any] | None = None,
    seed: int | None = None,
) -> ReplicateWeights:
    """Make replicate weights of a survey from its design.

    Parameters
    ----------
    survey : Survey
        With its design in the roles psu (or household), design_strata (or strata) and fpc.
    method : {"bootstrap", "jackknife", "brr"}
        Rescaled bootstrap; jackknife that leaves out one unit (JK1, or JKn with strata); balanced
        repeated replication, for designs of two units a stratum.
    replicates : int
        Of the bootstrap.
    fay : float
        Fay's factor of balanced repeated replication: units left out keep this share of their
        weight.
    calibrate : list of Margin, optional
        Each replicate is calibrated to these totals; members of a household keep one weight.
    seed : int, optional
        Of the bootstrap; replicate r draws from the stream ("bootstrap", r).

    Returns
    -------
    ReplicateWeights

    Raises
    ------
    InputError
        As `Survey.sampled_units`; strata that have not two units each, with "brr".

    Notes
    -----
    Finite population corrections: bootstrap as `rescaled_bootstrap`; jackknife by factors
    (1 - f_h)(n_h - 1)/n_h of the replicates; balanced repeated replication by weights
    1 +- (1 - fay) sqrt(1 - f_h). Strata of one unit add nothing. Later stages are left out but in
    the bootstrap. Wolter (2007), Introduction to Variance Estimation, chapters 3 to 5; Judkins
    (1990), Journal of Official Statistics 6, for Fay's method.

    Examples
    --------
    >>> frame = pd.DataFrame({"w": np.ones(4), "h": [1, 1, 2, 2], "y": [1.0, 3.0, 5.0, 9.0]})
    >>> survey = Survey(frame, weight="w", strata="h")
    >>> brr = replicate_weights(survey, method="brr")
    >>> total = lambda data, w: float(np.dot(w, data["y"]))
    >>> round(float(brr.estimate(total, survey).loc["value", "standard_error"]) ** 2, 6)
    20.0
    """
    faults = Faults("replicate weights")
    check(faults, PARAMETERS, {"method": method, "replicates": replicates, "fay": fay})
    if fay and method != "brr":
        faults.add("fay", "has a meaning with method 'brr' only", hint="Leave it out.")
    faults.raise_if_any()
    units = survey.sampled_units
    if method == "bootstrap":
        streams = Streams(resolve_seed(seed))
        draws = [rescaled_bootstrap(streams.at("bootstrap", r), units) for r in range(replicates)]
        factors, scale = np.column_stack(draws), 1.0 / (replicates - 1)
        scales = np.ones(replicates)
    elif method == "jackknife":
        factors, scale, scales = _jackknife(units)
    else:
        factors, scale, scales = _balanced(units, fay)
    weights = survey.weights[:, None] * factors
    if calibrate is not None:
        columns = [_calibrated(survey, weights[:, r], calibrate) for r in range(weights.shape[1])]
        weights = np.column_stack(columns)
    freedom = float(units.degrees_of_freedom)
    return ReplicateWeights(weights, scale, scales, method, freedom)


def _rows_of(units: SampledUnits, per_unit: np.ndarray) -> np.ndarray:
    return per_unit if units.unit is None else per_unit[units.unit]


def _jackknife(units: SampledUnits) -> tuple[np.ndarray, float, np.ndarray]:
    """Leave out one unit, and raise the others of its stratum."""
    stratum = units.stratum
    sizes = np.bincount(stratum)
    deleted = np.flatnonzero(sizes[stratum] > 1)
    factors = np.ones((len(stratum), len(deleted)))
    for r, unit in enumerate(deleted):
        h = stratum[unit]
        factors[stratum == h, r] = sizes[h] / (sizes[h] - 1)
        factors[unit, r] = 0.0
    n_h = sizes[stratum[deleted]]
    scales = (1 - units.fraction[stratum[deleted]]) * (n_h - 1) / n_h
    return _rows_of(units, factors), 1.0, scales


def _balanced(units: SampledUnits, fay: float) -> tuple[np.ndarray, float, np.ndarray]:
    """Half samples by the columns of a Hadamard matrix."""
    from scipy.linalg import hadamard

    sizes = np.bincount(units.stratum)
    if (sizes != 2).any():
        what = f"{plural(int((sizes != 2).sum()), 'stratum has', 'strata have')} not two units"
        hint = "Use 'jackknife' or 'bootstrap', or join strata."
        raise InputError.of("replicate weights", "method", what, hint)
    n_replicates = 1 << len(sizes).bit_length()  # more than strata: the first column is 1
    signs = hadamard(n_replicates)[:, 1 : len(sizes) + 1].T
    order = np.argsort(units.stratum, kind="stable")
    side = np.empty(len(units.stratum))
    side[order] = np.tile([1.0, -1.0], len(sizes))
    step = (1 - fay) * np.sqrt(1 - units.fraction[units.stratum])
    factors = 1 + (step * side)[:, None] * signs[units.stratum]
    scale = 1.0 / (n_replicates * (1 - fay) ** 2)
    return _rows_of(units, factors), scale, np.ones(n_replicates)


def _calibrated(survey: Survey, weights: np.ndarray, margins: Sequence[Any]) -> np.ndarray:
    from synthpop.calibration import calibrate

    is_used = weights > 0
    roles = survey.roles
    frame = survey.frame[is_used].assign(**{roles.weight: weights[is_used]})
    part = survey.with_frame(frame)
    result = np.zeros(len(weights))
    equal = roles.household is not None
    result[is_used] = calibrate(part, list(margins), household_equal=equal).weights
    return result


@same_library
def replicate_weights_from(
    data: Any,
    columns: Sequence[str] | str,
    *,
    method: str,
    fay: float = 0.0,
    scale: float | None = None,
    scales: Sequence[float] | None = None,
    degrees_of_freedom: float | None = None,
    centre: str = "replicates",
) -> ReplicateWeights:
    """Take replicate weights from the columns of a file.

    Parameters
    ----------
    data : DataFrame, or a frame of another library
    columns : list of names, or the text with which they begin
    method : {"bootstrap", "jackknife", "brr"}
    fay : float
    scale : float, optional
        Factor on the sum of squares. Default: 1/(R - 1) for the bootstrap, (R - 1)/R for the
        jackknife (JK1), 1/(R (1 - fay)^2) for balanced repeated replication.
    scales : sequence of R floats, optional
        Factor of each replicate, as a stratified jackknife (JKn) needs. Default: ones.
    degrees_of_freedom : float, optional
        Default: R - 1.
    centre : {"replicates", "estimate"}

    Returns
    -------
    ReplicateWeights

    Raises
    ------
    InputError
        Absent columns, weights that are missing or negative.

    Examples
    --------
    >>> file = pd.DataFrame({"w1": [0.0, 2.0], "w2": [2.0, 0.0]})
    >>> replicate_weights_from(file, "w", method="jackknife").n_replicates
    2
    """
    faults = Faults("replicate weights")
    check(
        faults,
        {"method": PARAMETERS["method"], "fay": PARAMETERS["fay"], "centre": CENTRES},
        {"method": method, "fay": fay, "centre": centre},
    )
    data = as_frame(data)
    if isinstance(columns, str):
        columns = [name for name in data.columns if str(name).startswith(columns)]
    if len(columns) < 2:
        faults.add("columns", plural(len(columns), "column"), hint="Name two or more.")
    are_there = check_columns(faults, data, columns, "columns")
    are_there = are_there and check_numeric(faults, data, list(columns), "replicate weight")
    faults.raise_if_any()
    weights = data[list(columns)].to_numpy(dtype=np.float64)
    is_invalid = ~(np.isfinite(weights) & (weights >= 0))
    if is_invalid.any():
        rows = np.flatnonzero(is_invalid.any(axis=1))
        faults.add("columns", "weights are missing or negative", rows=rows)
    n_replicates = weights.shape[1]
    factor = np.ones(n_replicates) if scales is None else np.asarray(scales, dtype=np.float64)
    if factor.shape != (n_replicates,):
        what = f"{len(factor)} for {plural(n_replicates, 'replicate')}"
        faults.add("scales", what, hint="Give one a replicate.")
    faults.raise_if_any()
    usual = {
        "bootstrap": 1 / (n_replicates - 1),
        "jackknife": (n_replicates - 1) / n_replicates if scales is None else 1.0,
        "brr": 1 / (n_replicates * (1 - fay) ** 2),
    }
    freedom = n_replicates - 1 if degrees_of_freedom is None else degrees_of_freedom
    chosen_scale = usual[method] if scale is None else float(scale)
    return ReplicateWeights(weights, chosen_scale, factor, method, float(freedom), centre)
