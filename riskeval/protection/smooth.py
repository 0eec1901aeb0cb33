"""Amounts of a synthetic file smoothed, so that it repeats no value of the original by copying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from riskeval.protection.household.once import read_layer
from riskeval.protection.numeric import numeric_names, read_numbers, with_numbers
from riskeval.protection.result import Protected, protected
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.frames import as_numbers, numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import OneOf, Whole, check
from synthpop.microdata.messages.text import percent
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.streams import Streams

PARAMETERS = {"method": OneOf("density", "running-mean"), "window": Whole(2)}
MOST_DECIMALS = 6


@same_library
def smooth_amounts(
    data: Any,
    original: Any,
    variables: Sequence[str] | None = None,
    *,
    method: Literal["density", "running-mean"] = "density",
    window: int = 5,
    household: str | None = None,
    components: Mapping[str, Sequence[str]] | None = None,
    seed: int | None = None,
) -> Protected:
    """Smooth amounts of a synthetic file that its generator copied from the original.

    Parameters
    ----------
    data : DataFrame or another table
        The synthetic file.
    original : DataFrame or another table
        The confidential file that it was made of.
    variables : names of numeric columns of both
    method : {"density", "running-mean"}
        "density": a draw from a normal kernel around each value, its bandwidth by Silverman's rule,
        0.9 min(s, IQR / 1.34) n^(-1/5). "running-mean": the mean of the `window` values that are
        nearest in rank.
    window : int, from 2
        For "running-mean".
    household : str, optional
        Column of household ids of the synthetic file: what all members share is smoothed once.
    components : mapping, optional
        Total -> its parts: where they add up they add up afterwards.
    seed : int, optional
        For "density"; recorded in the result.

    Returns
    -------
    Protected
        ``details["copied"]``: table with one row per variable, ``before`` and ``after``: share of
        the values (without those that stay) that the original has too.

    Raises
    ------
    InputError
        Columns that are absent or not numeric, an unknown method.

    Notes
    -----
    Zeros stay, and so does the largest value of the original where several records have it (a top
    code). Values keep their sign and have as many decimals as the original's, so that some are
    those of real persons by chance. Missing values stay missing. What is asked for is what the
    manual of R synthpop describes as smoothing of a synthetic file (Nowok, Raab and Dibben 2016,
    doi:10.18637/jss.v074.i11), which takes another bandwidth. Silverman (1986), equation 3.31.

    Examples
    --------
    >>> original = pd.DataFrame({"income": [1200.0, 1350.0, 2100.0, 2600.0, 9000.0]})
    >>> synthetic = pd.DataFrame({"income": [1200.0, 9000.0, 2100.0, 2100.0]})
    >>> result = smooth_amounts(synthetic, original, ["income"], seed=1)
    >>> result.details["copied"].to_dict("records")
    [{'variable': 'income', 'before': 1.0, 'after': 0.0}]
    """
    faults = Faults("smooth_amounts")
    file, truth = as_file(data, faults, household=household), as_file(original, faults)
    frame, names = file.indexed, numeric_names(faults, file, variables)
    check(faults, PARAMETERS, {"method": method, "window": window})
    streams = read_secret(faults, seed)
    read_numbers(faults, frame, names, "variable")
    read_numbers(faults, truth.frame, names, "variable of the original")
    layer = read_layer(faults, file, names, components=components)
    faults.raise_if_any()
    real = {name: as_numbers(truth.frame[name]) for name in names}
    width = window if method == "running-mean" else None
    parameters = {"method": method, "window": width}

    def run(table: pd.DataFrame, some: list[str], members: np.ndarray | None) -> Protected:
        values = numbers(table, some)
        new = np.column_stack(
            [
                _smoothed(x, real[name], width, streams, name)
                for x, name in zip(values.T, some, strict=True)
            ]
        )
        released = with_numbers(table, some, new, ~np.isnan(values) & (new != values), "real")
        return protected(
            table, released, some, method="smooth_amounts",
            parameters={"variables": some, **parameters}, seed=streams.seed,
        )  # fmt: skip

    result = layer.run(run)
    copied = pd.DataFrame(
        [
            (name, *(_copied(as_numbers(one[name]), real[name]) for one in (frame, result.data)))
            for name in names
        ],
        columns=["variable", "before", "after"],
    )
    note = [
        message(
            "{name}: {after} of the values are those of the original ({before} before).",
            name=row[0], after=percent(row[2], 1), before=percent(row[1], 1),
        )
        for row in copied.itertuples(index=False)
    ]  # fmt: skip
    drawn = streams.seed if method == "density" else None
    return replace(
        result,
        seed=drawn,
        notes=(*note, *result.notes),
        details={**result.details, "copied": copied},
    )


def _smoothed(
    values: np.ndarray, real: np.ndarray, window: int | None, streams: Streams, name: str
) -> np.ndarray:
    """Smoothed values of one variable, float64, shape (n,): by a running mean, or by a kernel."""
    moves = ~np.isnan(values) & ~_stays(values, real)
    x = values[moves]
    if len(x) < 2:
        return values
    if window is not None:
        # 1. the mean of the values around each rank, fewer at the ends
        order = np.argsort(x, kind="stable")
        sums = np.append(0.0, np.cumsum(x[order]))
        ranks = np.arange(len(x))
        low = np.maximum(ranks - (window - 1) // 2, 0)
        high = np.minimum(ranks + window // 2 + 1, len(x))
        new = np.empty(len(x))
        new[order] = (sums[high] - sums[low]) / (high - low)
    else:
        # 1. Silverman (1986), equation 3.31; without a middle half the deviation alone
        low_half, high_half = np.quantile(x, [0.25, 0.75])
        spread = float(np.std(x, ddof=1))
        middle = float(high_half - low_half) / 1.34
        width = 0.9 * (min(spread, middle) if middle > 0 else spread) * len(x) ** -0.2
        normal = streams.at("smooth_amounts", name).standard_normal(len(values))[moves]
        new = x + width * normal
    # 2. the decimals and the sign that amounts have
    unit = 10.0 ** -_decimals(real)
    new = np.round(np.abs(new) / unit) * unit
    smoothed = values.copy()
    smoothed[moves] = np.sign(x) * np.maximum(np.round(new, MOST_DECIMALS), unit)
    return smoothed


def _stays(values: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Zeros, and the largest value of the original where several records have it (a top code)."""
    filled = real[~np.isnan(real)]
    top = float(filled.max()) if len(filled) else np.nan
    coded = int((filled == top).sum()) > 1
    return np.asarray((values == 0) | ((values == top) & coded))


def _decimals(real: np.ndarray) -> int:
    """Fewest decimals with which the values of the original are exact, at most six."""
    filled = real[~np.isnan(real)]
    exact = (d for d in range(MOST_DECIMALS) if np.allclose(filled, np.round(filled, d), 0, 1e-9))
    return next(exact, MOST_DECIMALS)


def _copied(values: np.ndarray, real: np.ndarray) -> float:
    """Share of the values, without those that stay, that the original has too."""
    moves = ~np.isnan(values) & ~_stays(values, real)
    return float(np.isin(values[moves], real).mean()) if moves.any() else 0.0
