"""Sampling weights that no longer tell the stratum they were made in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import Households, read_households
from riskeval.protection.methods import (
    WEIGHTINGS,
    NoisyWeights,
    RoundedWeights,
    SmoothWeights,
    WeightMethod,
)
from riskeval.protection.result import Protected, protected
from riskeval.recovery.columns import names_of
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.checks import check_columns, check_numeric, check_weights
from synthpop.microdata.frame.codes import cell_ids, encode_keys, extremes
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import read_method
from synthpop.microdata.messages.text import join, number, percent
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.design_variance import design_variance
from synthpop.microdata.statistics.streams import Streams

NEIGHBOURS = 5
STEPS = 30
ROUNDS = 100


@same_library
def weights(
    data: Any,
    column: str,
    *,
    strata: str | Sequence[str],
    method: Literal["smooth", "round", "noise"] | WeightMethod | Mapping[str, Any] = "smooth",
    estimates: str | Sequence[str] = (),
    household: str | None = None,
    seed: int | None = None,
) -> Protected:
    """Change sampling weights so that they tell less about the stratum of a record.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    column : str
        The weights.
    strata : str or sequence of str
        Columns that the weights must not tell: each combination is a stratum.
    method : {"smooth", "round", "noise"} or WeightMethod
        "smooth": the mean of the logarithm of the weights given predictors (least squares), scaled
        to the total (Beaumont 2008); "round": multiples of a base; "noise": multiplied by lognormal
        noise, then raked so that every stratum keeps its total. Options are those of the objects
        ``SmoothWeights`` (`predictors`, default none: one weight), ``RoundedWeights`` (`base`),
        ``NoisyWeights`` (`level`), or of a table as ``{"type": "round", "base": 5}``.
    estimates : str or sequence of str
        Numeric columns whose weighted means are compared before and after.
    household : str, optional
        Column of household ids: members that had one weight get one weight.
    seed : int, optional

    Returns
    -------
    Protected
        ``details``: ``told_before``, ``told_after`` (share of the records whose weight, or whose
        five nearest other weights, belong to one stratum only), ``design`` (table with mean,
        standard error by strata, and their change for each of `estimates`), ``design_effect``
        (Kish, before and after), ``base``.

    Raises
    ------
    InputError
        Faulty columns, options that the method does not have, weights that are not positive.

    Notes
    -----
    Weights that are the same for a whole stratum tell a suppressed region (de Waal and Willenborg
    1997, Journal of Official Statistics 13, 417-434). What is lost is design information: the
    table says how estimates and standard errors move. Missing values of `estimates` are left out.
    Beaumont (2008), A new approach to weighting and inference in sample surveys, Biometrika 95,
    539-553, doi:10.1093/biomet/asn028.

    Examples
    --------
    >>> people = pd.DataFrame({"region": ["a"] * 10 + ["b"] * 10, "w": [10.0] * 10 + [14.0] * 10})
    >>> result = weights(people, "w", strata="region")
    >>> result.details["told_before"], result.details["told_after"]
    (1.0, 0.0)
    """
    faults = Faults("weights")
    file = as_file(data, faults, household=household)
    frame, household = file.indexed, file.roles.household
    by, watched = names_of(strata), names_of(estimates)
    change = read_method(faults, "method", method, WEIGHTINGS)
    predictors = names_of(change.predictors) if isinstance(change, SmoothWeights) else []
    check_columns(faults, frame, dict.fromkeys([*by, *predictors]), "column")
    check_numeric(faults, frame, watched, "estimate")
    if not by:
        faults.add("strata", "are not given", hint="Name what the weights must not tell.")
    for name in {*by} & {*predictors}:
        faults.add("predictors", f"{name!r} is a stratum, which the weights would tell again")
    before = None
    if check_columns(faults, frame, [column], "weights"):
        before = check_weights(faults, frame[column], column)
    if len(frame) == 0:
        faults.add("data", "have no records")
    homes = read_households(faults, file)
    streams = read_secret(faults, seed)
    faults.raise_if_any()
    assert before is not None
    assert change is not None
    used_seed = streams.seed if isinstance(change, NoisyWeights) else None
    stratum, _ = cell_ids(encode_keys(frame, by).codes)
    # 1. new weights, one for members that had one
    after, used = _changed(frame, before, stratum, homes, change, streams)
    released = frame.copy(deep=False)
    kind = "float64" if isinstance(frame[column].dtype, np.dtype) else "Float64"
    released[column] = pd.Series(after, index=frame.index, dtype=kind)
    # 2. what they tell, and what is lost
    rows = homes.first  # members share a weight anyway
    shares = [share_shown(values[rows], stratum[rows]) for values in (before, after)]
    design = _design(frame, watched, (before, after), stratum, homes)
    effects = (_kish(before), _kish(after))
    return protected(
        frame,
        released,
        [column],
        method="weights",
        parameters={
            "column": column, "strata": by, "method": change.plain(), "estimates": watched,
            "household": household, "seed": used_seed,
        },
        seed=used_seed,
        notes=_notes(shares, design, effects, by, used),
        details={
            "told_before": shares[0], "told_after": shares[1], "design": design,
            "design_effect": effects, "base": used,
        },
    )  # fmt: skip


def share_shown(values: np.ndarray, stratum: np.ndarray) -> float:
    """Share of the records whose weight, or whose nearest other weights, are of one stratum.

    A weight that others have too is looked up among all of them; another among the five nearest.
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    lowest, highest = extremes(stratum, group, len(sizes))
    tells = (lowest == highest)[group] & (sizes[group] > 1)
    alone = np.flatnonzero(sizes[group] == 1)
    if len(alone) and len(values) > NEIGHBOURS:
        order = np.argsort(values, kind="stable")
        position = np.empty(len(values), dtype=np.int64)
        position[order] = np.arange(len(values))
        start = np.clip(position[alone] - NEIGHBOURS // 2, 0, len(values) - NEIGHBOURS)
        window = stratum[order[start[:, None] + np.arange(NEIGHBOURS)]]
        tells[alone] = (window == window[:, :1]).all(axis=1)
    return float(tells.mean()) if len(tells) else 0.0


def _changed(
    frame: pd.DataFrame,
    before: np.ndarray,
    stratum: np.ndarray,
    homes: Households,
    change: WeightMethod,
    streams: Streams,
) -> tuple[np.ndarray, float | None]:
    """New weights, and the base of rounding."""
    if isinstance(change, RoundedWeights):
        return _round(before, stratum, change.base)
    if isinstance(change, NoisyWeights):
        draws = streams.at("weights", "noise").standard_normal(len(homes))
        after = before * np.exp(change.level * draws[homes.number])
        sums = np.bincount(stratum, before) / np.bincount(stratum, after)
        after = after * sums[stratum]
    else:
        assert isinstance(change, SmoothWeights)
        after = _smooth(frame, before, names_of(change.predictors))
    after = _one_for_members(before, after, homes)
    total = after.sum()
    return (after * (before.sum() / total) if total > 0 else after), None


def _round(before: np.ndarray, stratum: np.ndarray, base: float | None) -> tuple[np.ndarray, float]:
    def rounded(step: float) -> np.ndarray:
        return np.asarray(np.maximum(np.rint(before / step), 1.0) * step)

    if base is not None:
        return rounded(base), base
    step = float(before.min())
    while step < 2 * before.max():
        if share_shown(rounded(step), stratum) == 0:
            break
        step *= 1.25
    return rounded(step), step


def _smooth(frame: pd.DataFrame, before: np.ndarray, predictors: Sequence[str]) -> np.ndarray:
    columns = [np.ones((len(before), 1))]
    for name in predictors:
        values = frame[name]
        if is_number(values):
            x = as_numbers(values)
            gap = np.isnan(x)
            columns += [np.where(gap, 0.0, x)[:, None], gap[:, None].astype(np.float64)]
        else:
            columns.append(pd.get_dummies(values, dummy_na=True, dtype=np.float64).to_numpy())
    matrix = np.hstack(columns)
    coefficients = np.linalg.lstsq(matrix, np.log(before), rcond=None)[0]
    return np.asarray(np.exp(matrix @ coefficients))


def _one_for_members(before: np.ndarray, after: np.ndarray, homes: Households) -> np.ndarray:
    """Give the members of households with one weight their mean new weight."""
    lowest, highest = extremes(before, homes.number, len(homes))
    alike = (lowest == highest)[homes.number]
    mean = (np.bincount(homes.number, after) / homes.size)[homes.number]
    return np.where(alike, mean, after)


def _design(
    frame: pd.DataFrame,
    watched: Sequence[str],
    before_and_after: tuple[np.ndarray, np.ndarray],
    stratum: np.ndarray,
    homes: Households,
) -> pd.DataFrame:
    rows = []
    for name in watched:
        y = as_numbers(frame[name])
        filled = ~np.isnan(y)
        row: list[Any] = [name]
        for w in before_and_after:
            mean = float(np.average(y[filled], weights=w[filled])) if filled.any() else np.nan
            linearised = np.where(filled, y - mean, 0.0) / w[filled].sum()
            variance = design_variance(linearised, w, strata=stratum, cluster=homes.clusters)
            row += [mean, float(np.sqrt(variance))]
        rows.append(row)
    names = ["variable", "mean_before", "error_before", "mean_after", "error_after"]
    table = pd.DataFrame(rows, columns=names)
    table["change"] = table["mean_after"] / table["mean_before"] - 1
    table["change_in_errors"] = (table["mean_after"] - table["mean_before"]) / table["error_before"]
    return table


def _kish(values: np.ndarray) -> float:
    total = float(values.sum())  # squares of shares cannot overflow
    return float(len(values) * np.square(values / total).sum()) if total > 0 else float("nan")


def _notes(
    shares: Sequence[float],
    design: pd.DataFrame,
    effects: tuple[float, ...],
    by: Sequence[str],
    used: float | None,
) -> list[str]:
    notes = [
        message(
            "The weight revealed {by} for {before} of the records, now for {after}.",
            by=join(by),
            before=percent(shares[0]),
            after=percent(shares[1]),
        ),
        message(
            "Design effect of the weights {before} before, {after} after.",
            before=number(effects[0]),
            after=number(effects[1]),
        ),
    ]
    if used is not None:
        notes.append(message("Weights are multiples of {used}.", used=number(used)))
    row: Any
    for row in design.itertuples():
        notes.append(
            message(
                "Mean of {variable}: {mean_before} (standard error {error_before}) became "
                "{mean_after} ({error_after}): {change_in_errors} standard errors.",
                variable=row.variable,
                mean_before=number(row.mean_before, 5),
                error_before=number(row.error_before),
                mean_after=number(row.mean_after, 5),
                error_after=number(row.error_after),
                change_in_errors=number(row.change_in_errors),
            )
        )
    return notes


METHOD = ProtectionMethod(
    run=weights,
    rank=180,
    title="Weights",
    question="Which weights no longer tell the stratum of a record?",
    blind_spots=(
        "strata that other columns tell; records with a weight that is still the only one of "
        "its size"
    ),
    example={"column": "rb050", "strata": ["db040"], "method": "noise"},
    roles={"column": "weights"} | roles_named("strata", "household"),
)
