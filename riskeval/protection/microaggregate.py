"""Microaggregation: groups of at least k similar records share their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.aggregating import AGGREGATES, group_levels, group_values
from riskeval.protection.group_households import households_of, with_households
from riskeval.protection.grouping import WITHIN
from riskeval.protection.numeric import (
    check_integers,
    check_whole,
    put_numbers,
    read_numbers,
    read_seed,
    read_strata,
    type_notes,
)
from riskeval.protection.once import once_a_household, read_order
from riskeval.protection.partition import Job, group_all, group_each, is_ordered, one_column
from riskeval.protection.result import Protected, categorical_column, own_frame, protected
from riskeval.recovery.columns import names_of
from synthpop.microdata.checks import check_choice, check_columns, check_weights
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults
from synthpop.microdata.frames import as_names, is_number
from synthpop.microdata.streams import Streams

METHODS = (
    "mdav",
    "single",
    "individual",
    "univariate-optimal",
    "pca",
    "robust-pca",
    "mahalanobis",
    "cluster",
    "gower",
)
ONE_BY_ONE = ("individual", "univariate-optimal")
DRAWING = ("robust-pca", "mahalanobis", "cluster", "gower")
CLUSTERS = 8
TRIM = 0.2


def microaggregate(
    data: Any,
    variables: Sequence[str],
    *,
    k: int = 3,
    method: str = "mdav",
    strata: str | Sequence[str] | None = None,
    aggregate: str = "mean",
    trim: float | None = None,
    weights: str | None = None,
    axis: str | None = None,
    clusters: int | None = None,
    within: str | None = None,
    distance: Sequence[str] | None = None,
    zeros: Sequence[str] = (),
    block: int | None = None,
    integers: str = "real",
    household: str | None = None,
    household_variables: Sequence[str] = (),
    components: Mapping[str, Sequence[str]] | None = None,
    seed: int | None = None,
) -> Protected:
    """Put similar records into groups of at least k and give each group one value per variable.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row a record
    variables : names of numeric columns
        "gower" takes any columns; a column of numbers counts as numbers there, so make codes
        categorical first.
    k : int
        Smallest group, at least 1.
    method : str
        Groups over all variables at once: "mdav" (maximum distance to average vector, on
        standardised values), "mahalanobis" (MDAV with robust Mahalanobis distances), "single"
        (neighbours in the order of one column), "pca", "robust-pca" (neighbours along the first
        principal component), "cluster" (k-means, then groups inside the clusters), "gower" (MDAV
        for numbers and levels side by side). Each variable for itself: "individual" (ranking),
        "univariate-optimal" (least information loss, exactly).
    strata : column or columns, optional
        Groups do not span strata, and values are standardised within them. Strata with fewer
        than k complete records are pooled; this is noted.
    aggregate : {"mean", "median", "trimmed"}
        What a group of numbers gets. Ordered levels get their lower median, other levels the
        most frequent one ("gower").
    trim : float in (0, 0.5), optional
        Share dropped at each end by "trimmed". Default 0.2.
    weights : column, optional
        Weighted means, which keep weighted totals.
    axis : column, optional
        Numeric column to sort by ("single"). Default: the first variable.
    clusters : int, optional
        Number of clusters ("cluster"). Default 8; fewer if there are not so many groups.
    within : {"pca", "robust-pca", "mdav", "influence"}, optional
        How groups are made in a cluster ("cluster"); "influence" sorts by the variable that
        varies most in the cluster. Default "pca".
    distance : columns, optional
        Columns that decide which records are similar ("gower"). Default: `variables`.
    zeros : columns, optional
        Semi-continuous columns ("gower"): 0 is 0 away from 0 and 1 away from any other value.
    block : int, at least 2 k, optional
        For millions of records ("mdav", "mahalanobis"): cut the records into boxes of at most so
        many and make groups inside them, in almost linear time.
    integers : {"real", "round"}
        Columns of whole numbers become reals when a group value is not whole, or it is rounded.
    household : str, optional
        Column of household ids. A variable that is the same for all members (found, or declared
        as `household_variables`) is masked once a household and copied to all members, so that it
        cannot be averaged; the other variables are masked person by person afterwards. `k` then
        counts households: a group with members of fewer joins the nearest one.
    household_variables : sequence of str, optional
        Variables that must have one value in each household.
    components : mapping, optional
        Total -> its parts. Where they add up before they add up afterwards: the total follows
        its parts, or, if the parts are no variables here, they change in proportion to it.
    seed : int, optional
        Of robust estimates, clusters and ties between levels; recorded if anything is drawn.

    Returns
    -------
    Protected
        ``details``: ``groups`` (group of each record, -1 for none; one column a variable for the
        methods that take each for itself), ``group_sizes`` (number of groups by size),
        ``information_loss`` (100 SSE / SST on standardised variables, records without missing
        values).

    Raises
    ------
    InputError
        Faulty columns or options, an option that the method does not use, fewer than k complete
        records.

    Notes
    -----
    Missing values stay missing. Groups are made of complete records; a record with some missing
    values then joins the group of the complete record that is nearest by what it has, and its
    values become those of the group.
    Methods that take each variable for itself leave its missing values out.

    Groups of all variables make the released combinations k-anonymous; groups of single
    variables do not. The sizes are counted again on the released values.

    Source: Domingo-Ferrer and Mateo-Sanz (2002), doi:10.1109/69.979982; Domingo-Ferrer and Torra
    (2005), doi:10.1007/s10618-005-0007-5 (levels); Hansen and Mukherjee (2003),
    doi:10.1109/TKDE.2003.1209020; Templ and Meindl (2008), LNCS 5262, 113-126 (robust); Templ
    (2017), section 4.3.1.

    Examples
    --------
    >>> firms = pd.DataFrame({"sales": [1.0, 2.0, 50.0, 52.0], "staff": [1.0, 3.0, 20.0, 22.0]})
    >>> result = microaggregate(firms, ["sales", "staff"], k=2)
    >>> result.data["sales"].tolist(), result.data["staff"].tolist()
    ([1.5, 1.5, 51.0, 51.0], [2.0, 2.0, 21.0, 21.0])
    """
    frame = own_frame(data)
    faults = Faults("microaggregate")
    names = as_names(faults, variables, "variables")
    _check_options(
        faults, k, method, aggregate, trim, weights, axis, clusters, within, distance, zeros, block
    )
    check_integers(faults, integers)
    resolved = read_seed(faults, seed)
    order, homes = read_order(
        faults, frame, names, household=household, household_variables=household_variables,
        components=components, strata=strata,
    )  # fmt: skip
    read_strata(faults, frame, strata)
    if method != "gower":
        read_numbers(faults, frame, names, "variable")
    if axis is not None:
        read_numbers(faults, frame, [axis], "column to sort by")
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        check_weights(faults, frame[weights], weights)
    if method == "gower" and order.asks:
        faults.add("household, components", "are not for method 'gower'")
    faults.raise_if_any()
    parameters = {
        "variables": list(names), "k": int(k), "method": method, "strata": strata,
        "aggregate": aggregate, "trim": trim, "weights": weights, "axis": axis,
        "clusters": clusters, "within": within,
        "distance": None if distance is None else names_of(distance), "zeros": names_of(zeros),
        "block": block, "integers": integers, "seed": resolved if method in DRAWING else None,
    }  # fmt: skip

    def run(table: pd.DataFrame, some: list[str], members: np.ndarray | None) -> Protected:
        return _grouped(table, tuple(some), members, {**parameters, "variables": some}, resolved)

    return once_a_household(frame, names, order, homes, run)


def _grouped(
    frame: pd.DataFrame,
    names: tuple[str, ...],
    members: np.ndarray | None,
    parameters: dict[str, Any],
    resolved: int,
) -> Protected:
    """Group the records (of at least k households, where members are given) and fill values in."""
    faults = Faults("microaggregate")
    method, weights, axis = (parameters[name] for name in ("method", "weights", "axis"))
    trim, clusters = parameters["trim"], parameters["clusters"]
    ids, labels = read_strata(faults, frame, parameters["strata"])
    axes = None
    if axis is not None:
        axes = read_numbers(faults, frame, [axis], "column to sort by")
    weight = None
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        weight = check_weights(faults, frame[weights], weights)
    job = Job(
        names, parameters["k"], method, parameters["aggregate"], TRIM if trim is None else trim,
        weight, None if axes is None else axes[:, 0], CLUSTERS if clusters is None else clusters,
        parameters["within"] or "pca", tuple(parameters["zeros"]), parameters["block"], labels,
        Streams(resolved),
    )  # fmt: skip
    distance = parameters["distance"]
    near = names if distance is None else as_names(faults, distance, "distance")
    values = _read(faults, frame, names, near, job)
    faults.raise_if_any()
    released = frame.copy(deep=False)
    if method in ONE_BY_ONE:
        groups = group_each(faults, values, ids, job)
        if members is not None:
            columns = [
                with_households(values[:, [j]], groups[:, j], members, ids, job.k)
                for j in range(len(names))
            ]
            groups = np.column_stack(columns)
        loss = _fill_each(frame, released, values, groups, job, parameters["integers"])
        found: Any = pd.DataFrame(groups, columns=list(names), index=frame.index)
    else:
        joined = group_all(faults, frame, near, values, ids, job)
        if members is not None:
            joined = with_households(values, joined, members, ids, job.k)
        loss = _fill_all(frame, released, values, joined, job, parameters["integers"])
        found, groups = joined, joined[:, None]
    seed = parameters["seed"]
    in_households = [] if members is None else [_household_note(groups, members, job.k)]
    return protected(
        frame,
        released,
        names,
        method="microaggregate",
        parameters=parameters,
        seed=seed,
        notes=[
            *_verified(job, frame, released, groups),
            *in_households,
            f"Information loss {loss:.4g} % of the variance.",
            *dict.fromkeys(job.notes),
            *type_notes(frame, released, names),
        ],
        details={"groups": found, "group_sizes": _sizes(groups), "information_loss": loss},
    )


def _household_note(groups: np.ndarray, members: np.ndarray, k: int) -> str:
    least = min(
        int(households_of(column, members)[1].min(initial=len(column))) for column in groups.T
    )
    return f"Every group has members of at least {least} households (k = {k})."


def _check_options(
    faults: Faults, k: int, method: str, aggregate: str, trim: float | None, weights: str | None,
    axis: str | None, clusters: int | None, within: str | None, distance: Sequence[str] | None,
    zeros: Sequence[str], block: int | None,
) -> None:  # fmt: skip
    check_choice(faults, "method", method, METHODS)
    check_choice(faults, "aggregate", aggregate, AGGREGATES)
    fine = check_whole(faults, "k", k, 1)
    only = {
        "axis": (axis is not None, ("single",)),
        "clusters": (clusters is not None, ("cluster",)),
        "within": (within is not None, ("cluster",)),
        "distance": (distance is not None, ("gower",)),
        "zeros": (len(zeros) > 0, ("gower",)),
        "block": (block is not None, ("mdav", "mahalanobis")),
    }
    for name, (given, methods) in only.items():
        if given and method in METHODS and method not in methods:
            faults.add(name, f"is not used by method {method!r}", remedy=f"It is for {methods}.")
    if trim is not None and aggregate != "trimmed":
        faults.add("trim", f"is not used by aggregate {aggregate!r}")
    elif trim is not None and not 0 < trim < 0.5:
        faults.add("trim", f"{trim!r} is not between 0 and 0.5 (exclusive)")
    if weights is not None and aggregate != "mean":
        faults.add("weights", f"are not used by aggregate {aggregate!r}")
    if clusters is not None:
        check_whole(faults, "clusters", clusters, 1)
    if within is not None:
        check_choice(faults, "within", within, WITHIN)
    if block is not None and fine:
        check_whole(faults, "block", block, 2 * k)


def _read(
    faults: Faults, frame: pd.DataFrame, names: Sequence[str], near: Sequence[str], job: Job
) -> np.ndarray:
    """Numeric values, shape (n, p), NaN where missing; codes of levels for "gower"."""
    if job.method != "gower":
        values = read_numbers(faults, frame, names, "variable")
        return np.empty((len(frame), 0)) if values is None else values
    fine = check_columns(faults, frame, names, "variable")
    fine = check_columns(faults, frame, near, "variable of the distance") and fine
    for name in job.zeros:
        if name not in near:
            faults.add("zeros", f"{name!r} is not among the columns of the distance")
        elif fine and not is_number(frame[name]):
            faults.add("zeros", f"{name!r} is not numeric")
    faults.raise_if_any()
    return np.column_stack([one_column(faults, frame, name) for name in names])


def _fill_each(
    frame: pd.DataFrame, released: pd.DataFrame, values: np.ndarray, groups: np.ndarray,
    job: Job, integers: str,
) -> float:  # fmt: skip
    """Put the group values of each variable in place; return the information loss."""
    lost = kept = 0.0
    for j, name in enumerate(job.names):
        filled = groups[:, j] >= 0
        new = _aggregated(values[:, j], groups[:, j], filled, job)
        released[name] = put_numbers(frame[name], new, filled, integers=integers)
        loss = _lost(values[filled, j], new[filled])
        lost, kept = lost + loss[0], kept + loss[1]
    return 100.0 * lost / kept if kept else 0.0


def _fill_all(
    frame: pd.DataFrame, released: pd.DataFrame, values: np.ndarray, groups: np.ndarray,
    job: Job, integers: str,
) -> float:  # fmt: skip
    """Put group values in place; return the information loss of the numbers."""
    lost = kept = 0.0
    complete = (groups >= 0) & ~np.isnan(values).any(axis=1)
    for j, name in enumerate(job.names):
        filled = (groups >= 0) & ~np.isnan(values[:, j])
        if job.method == "gower" and not is_number(frame[name]):
            released[name] = _levels(frame[name], groups, filled, job)
            continue
        new = _aggregated(values[:, j], groups, filled, job)
        released[name] = put_numbers(frame[name], new, filled, integers=integers)
        loss = _lost(values[complete, j], new[complete])
        lost, kept = lost + loss[0], kept + loss[1]
    return 100.0 * lost / kept if kept else 0.0


def _aggregated(values: np.ndarray, groups: np.ndarray, filled: np.ndarray, job: Job) -> np.ndarray:
    """Group values at filled cells, float64, shape (n,)."""
    new = np.full(len(values), np.nan)
    if filled.any():
        weights = None if job.weights is None else job.weights[filled]
        by_group = group_values(
            values[filled], groups[filled], aggregate=job.aggregate, trim=job.trim, weights=weights
        )
        new[filled] = by_group[groups[filled]]
    return new


def _levels(values: pd.Series, groups: np.ndarray, filled: np.ndarray, job: Job) -> pd.Series:
    """A column of levels with those of the groups, of the same type."""
    codes, levels = encode(values)
    if not filled.any():
        return values
    rng = job.streams.at("microaggregate", "levels", str(values.name))
    by_group = group_levels(
        codes[filled].astype(np.int64), groups[filled], ordered=is_ordered(values), rng=rng
    )
    new = codes.astype(np.int64)
    new[filled] = by_group[groups[filled]]
    if isinstance(values.dtype, pd.CategoricalDtype):
        ordered = bool(values.dtype.ordered)
        return categorical_column(new, levels, ordered=ordered, index=values.index)
    taken = values.copy()
    taken.iloc[np.flatnonzero(filled)] = [levels[code] for code in new[filled]]
    return taken


def _lost(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """SSE and SST of a standardised variable; a constant one counts nothing."""
    total = float(np.square(before - before.mean()).sum()) if len(before) else 0.0
    if total == 0:
        return 0.0, 0.0
    return float(np.square(before - after).sum()) / total, 1.0


def _sizes(groups: np.ndarray) -> pd.Series:
    """Number of groups by their number of records."""
    sizes = [np.bincount(column[column >= 0]) for column in groups.T]
    counted = np.concatenate([size[size > 0] for size in sizes])
    return pd.Series(counted).value_counts().sort_index().rename("groups").rename_axis("size")


def _verified(
    job: Job, frame: pd.DataFrame, released: pd.DataFrame, groups: np.ndarray
) -> list[str]:
    """Count on the released values that nobody stands alone; sentences that say so."""
    least = []
    if job.method in ONE_BY_ONE:
        for j, name in enumerate(job.names):
            rows = groups[:, j] >= 0
            if rows.any():
                least.append(int(released[name][rows].value_counts().min()))
        what = "each released value of a variable stands for at least {} records; combinations of "
        what += "variables can still be unique."
    else:
        whole = (groups[:, 0] >= 0) & frame[list(job.names)].notna().all(axis=1).to_numpy()
        if whole.any():
            combinations = released.loc[whole].groupby(list(job.names), observed=True, sort=False)
            least.append(int(combinations.size().min()))
        what = "each released combination of values is shared by at least {} records."
    if not least:
        return ["There was nothing to group."]
    smallest = min(least)
    if smallest < job.k:  # nothing is claimed that does not hold
        raise AssertionError(f"a group of {smallest} records was released, k is {job.k}")
    return ["Counted afterwards: " + what.format(smallest)]
