"""Rank swapping: values change places with values of nearby rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.numeric import as_names, read_numbers, read_seed, read_strata
from riskeval.protection.result import Protected, own_frame, protected
from synthpop.microdata.errors import Faults
from synthpop.microdata.streams import Streams


def rank_swap(
    data: Any,
    variables: Sequence[str],
    *,
    p: float = 0.05,
    strata: str | Sequence[str] | None = None,
    seed: int | None = None,
) -> Protected:
    """Swap each value with one whose rank differs by at most a share p of the records.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row a record
    variables : names of numeric columns, each swapped for itself
    p : float, between 0 and 1
        Largest difference in rank as a share of the records with a value: 0.05 is 5 percent.
        Numbers of 1 and more are refused, since they look like percentages. At least one rank.
    strata : column or columns, optional
        Swap within strata only; p is then a share of the stratum.
    seed : int, optional
        Recorded in the result.

    Returns
    -------
    Protected
        ``details``: table ``ranks`` with one row a variable: ``reach`` (largest difference allowed,
        in the largest stratum), ``not_swapped`` (records that found nobody), ``correlation`` (of
        the released with the original values).

    Raises
    ------
    InputError
        Faulty columns, p not a share.

    Notes
    -----
    Every value stays in the file, the extreme ones too: margins are kept exactly, relations
    between variables are weakened as p grows. Missing values stay where they are and are not
    counted. Equal values take their ranks in random order. Margins and differences in rank are
    checked on the released values.

    Source: Moore (1996), Controlled data-swapping techniques for masking public use microdata
    sets; Hundepool et al. (2012), section 3.6.3.

    Examples
    --------
    >>> people = pd.DataFrame({"income": [10.0, 40.0, 20.0, 30.0]})
    >>> swapped = rank_swap(people, ["income"], p=0.25, seed=1)
    >>> swapped.data["income"].tolist()
    [20.0, 30.0, 10.0, 40.0]
    """
    frame = own_frame(data)
    faults = Faults("rank_swap")
    names = as_names(faults, variables, "variables")
    number = isinstance(p, (int, float, np.number)) and not isinstance(p, bool)
    if not number or not 0 < p < 1:
        remedy = "It is a share of the records, not a percentage"
        remedy += f": for {p:g} percent give {p / 100:g}." if number and p >= 1 else "."
        faults.add("p", f"{p!r} is not between 0 and 1 (exclusive)", remedy=remedy)
    resolved = read_seed(faults, seed)
    values = read_numbers(faults, frame, names, "variable")
    ids, labels = read_strata(faults, frame, strata)
    faults.raise_if_any()
    assert values is not None
    streams = Streams(resolved)
    released, rows = frame.copy(deep=False), []
    for j, name in enumerate(names):
        source, reach, idle = _sources(values[:, j], ids, labels, p, name, streams)
        released[name] = taken(frame[name], source)
        _verify(name, values[:, j], values[source, j], ids, p)
        rows.append((name, reach, idle, _correlation(values[:, j], values[source, j])))
    ranks = pd.DataFrame(rows, columns=["variable", "reach", "not_swapped", "correlation"])
    kept = ", ".join(f"{row.variable} {row.correlation:.4f}" for row in ranks.itertuples())
    return protected(
        frame,
        released,
        names,
        method="rank_swap",
        parameters={"variables": list(names), "p": float(p), "strata": strata, "seed": resolved},
        seed=resolved,
        notes=[
            f"Ranks differ by at most {p:.4g} of the records (checked afterwards), every value "
            "is still in the file.",
            f"Correlation with the original: {kept}.",
        ],
        details={"ranks": ranks},
    )


def taken(values: pd.Series, source: np.ndarray) -> pd.Series:
    """Return the values of other rows, of the same type and under the old index.

    Examples
    --------
    >>> taken(pd.Series([1, 2], index=[8, 9]), np.array([1, 0])).to_dict()
    {8: 2, 9: 1}
    """
    return pd.Series(values.array.take(source), index=values.index, name=values.name)


def _sources(
    values: np.ndarray, ids: np.ndarray, labels: list[str], p: float, name: str, streams: Streams
) -> tuple[np.ndarray, int, int]:
    """Row that each row takes its value from, the largest reach, and rows that found nobody."""
    from riskeval.kernels.rank_swapping import pair_ranks

    source = np.arange(len(values))
    widest = idle = 0
    for rows in _filled_strata(values, ids):
        rng = streams.at("rank_swap", name, labels[ids[rows[0]]])
        ordered = rows[np.lexsort((rng.random(len(rows)), values[rows]))]
        reach = _reach(p, len(rows))
        partner = pair_ranks(len(rows), reach, rng)
        source[ordered] = ordered[partner]
        widest, idle = max(widest, reach), idle + int((partner == np.arange(len(rows))).sum())
    return source, widest, idle


def _filled_strata(values: np.ndarray, ids: np.ndarray) -> list[np.ndarray]:
    filled = np.flatnonzero(~np.isnan(values))
    order = filled[np.argsort(ids[filled], kind="stable")]
    return [rows for rows in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1) if len(rows)]


def _reach(p: float, n: int) -> int:
    return max(1, int(p * n + 1e-9))


def _verify(name: str, before: np.ndarray, after: np.ndarray, ids: np.ndarray, p: float) -> None:
    """Check on values alone that margins are kept and ranks are near."""
    for rows in _filled_strata(before, ids):
        ordered, reach = np.sort(before[rows]), _reach(p, len(rows))
        low = np.searchsorted(ordered, before[rows], side="left") - reach
        high = np.searchsorted(ordered, before[rows], side="right") - 1 + reach
        inside = after[rows] >= ordered[np.maximum(low, 0)]
        inside &= after[rows] <= ordered[np.minimum(high, len(rows) - 1)]
        if not inside.all() or not np.array_equal(ordered, np.sort(after[rows])):
            raise AssertionError(f"swapping {name!r} broke its promise")


def _correlation(before: np.ndarray, after: np.ndarray) -> float:
    filled = ~np.isnan(before)
    x, y = before[filled], after[filled]
    if len(x) < 2 or x.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
