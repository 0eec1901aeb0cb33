"""How much a clustered and stratified sample knows of a distribution: its effective size."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import InputError, SparseDataWarning
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.design_variance import SampledUnits
from synthpop.microdata.statistics.distances import effective_size

Ratios = Mapping[tuple[str, ...], float]


def design_ratios(
    survey: Survey, codes: Mapping[str, np.ndarray], pairs: Iterable[tuple[str, str]]
) -> Ratios:
    """Return effective sizes of variables and pairs over Kish's; nothing without a named design.

    codes: level of each row by variable, shape (n,); pairs: of these variables
    Warns SparseDataWarning: a unit lies in two strata, or there is one unit only.
    """
    if survey.roles.psu is None and survey.roles.design_strata is None:
        return {}
    try:
        units = survey.sampled_units
    except InputError as problem:
        what = "sampling errors are those of a simple random sample, as the design cannot be used: "
        warnings.warn(what + " ".join(str(problem).split()), SparseDataWarning, stacklevel=2)
        return {}
    weights = survey.weights
    kish = effective_size(weights)
    ratios: dict[tuple[str, ...], float] = {
        (name,): design_effective_size(column, weights, units) / kish
        for name, column in codes.items()
    }
    for a, b in pairs:
        crossed = codes[a].astype(np.int64) * (int(codes[b].max(initial=0)) + 1) + codes[b]
        ratios[a, b] = design_effective_size(crossed, weights, units) / kish
    return ratios


def quantile_classes(values: pd.Series) -> np.ndarray:
    """Return the tenth of the values that each row lies in; missing values are a class."""
    x = as_numbers(pd.to_numeric(values, errors="coerce"))
    finite = np.isfinite(x)
    limits = np.quantile(x[finite], np.arange(0.1, 1, 0.1)) if finite.any() else np.empty(0)
    return np.where(finite, np.searchsorted(limits, np.where(finite, x, 0.0)), len(limits) + 1)


def design_effective_size(codes: np.ndarray, weights: np.ndarray, units: SampledUnits) -> float:
    """Return the size of a simple random sample that would know a distribution as well.

    sum p (1 - p) over the sum of the design variances of the shares p, so the size over the mean
    design effect of Rao and Scott (1981), doi:10.1080/01621459.1981.10477633. Of the first stage
    alone. A stratum of one unit is compared with the whole sample; Kish's size without variation.
    """
    level = np.unique(codes, return_inverse=True)[1].reshape(-1)
    n_levels = int(level.max(initial=-1)) + 1
    unit = np.arange(len(weights)) if units.unit is None else units.unit
    share = np.bincount(level, weights, n_levels) / weights.sum()
    stratum = units.stratum
    count = np.bincount(stratum)
    # sums over the levels of squares of u = (weight of the level - p times weight) of each unit,
    # and of each stratum
    of_units = _squares(unit, level, weights, share, len(stratum))
    of_strata = _squares(stratum[unit], level, weights, share, len(count))
    single = count == 1
    between = np.bincount(stratum, of_units, len(count)) - np.where(
        single, 0.0, of_strata / np.maximum(count, 1)
    )
    factor = np.where(single, 1.0, count / np.maximum(count - 1, 1)) * (1 - units.fraction)
    variance = float(np.dot(factor, between)) / weights.sum() ** 2
    spread = float(np.sum(share * (1 - share)))
    if spread <= 0 or variance <= 0:
        return effective_size(weights)
    return spread / variance


def _squares(
    group: np.ndarray, level: np.ndarray, weights: np.ndarray, share: np.ndarray, n_groups: int
) -> np.ndarray:
    """Sum over levels of (weight of the level in the group - share times weight of it)^2."""
    cell, position = np.unique(group.astype(np.int64) * len(share) + level, return_inverse=True)
    weight = np.bincount(position.reshape(-1), weights, len(cell))
    owner, of_level = cell // len(share), cell % len(share)
    sums = np.bincount(group, weights, n_groups)
    squares = np.bincount(owner, weight**2, n_groups)
    crossed = np.bincount(owner, weight * share[of_level], n_groups)
    return np.asarray(squares - 2 * sums * crossed + sums**2 * np.sum(share**2))
