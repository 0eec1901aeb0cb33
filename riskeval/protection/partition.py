"""Who shares a group: strata, complete records first, then those with missing values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from riskeval.protection.grouping import (
    cluster_groups,
    column_ranges,
    gower_groups,
    mahalanobis_groups,
    mdav_groups,
    pca_groups,
)
from riskeval.protection.methods import (
    Aggregate,
    ClusterGroups,
    GowerGroups,
    GroupingMethod,
    MahalanobisGroups,
    MdavGroups,
    SingleAxisGroups,
)
from riskeval.protection.numeric import nearest_rows, standardised
from riskeval.protection.univariate import consecutive, optimal_groups, ranked_groups
from riskeval.recovery.columns import names_of
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams


@dataclass(slots=True)
class Job:
    """What one call asks for, checked."""

    names: tuple[str, ...]
    k: int
    grouping: GroupingMethod
    average: Aggregate
    streams: Streams
    weights: np.ndarray | None = None
    axis: np.ndarray | None = None
    strata: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # rows in a group that fails a target, of the group of each row
    fails: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def method(self) -> str:
        """Short name of the grouping."""
        return self.grouping.type


def _strata_rows(
    ids: np.ndarray, usable: np.ndarray, filled: np.ndarray, job: Job, where: str
) -> list[np.ndarray]:
    """Rows of each stratum; those with fewer than k usable records are pooled."""
    n_usable = int(usable.sum())
    if filled.any() and n_usable < job.k:
        records = plural(n_usable, "record has", "records have")
        what = f"{records} no missing value, k is {job.k}"
        hint = "Choose fewer variables or a smaller k."
        raise InputError.of("microaggregate", where, what, hint)
    counts = np.bincount(ids[usable], minlength=int(ids.max(initial=0)) + 1)
    small = counts < job.k
    target = np.where(small, -1, np.arange(len(counts)))
    pooled = int(counts[small].sum())
    if pooled < job.k and small.any() and not small.all():  # they join the smallest other one
        target[small] = np.flatnonzero(~small)[np.argmin(counts[~small])]
    if pooled:
        job.notes.append(
            f"{plural(int((small & (counts > 0)).sum()), 'stratum', 'strata')} with fewer than "
            f"{job.k} complete records "
            "were pooled" + (" with the smallest other one." if pooled < job.k else ".")
        )
    cell = target[ids]
    order = np.argsort(cell, kind="stable")
    cuts = np.flatnonzero(np.diff(cell[order])) + 1
    return [rows for rows in np.split(order, cuts) if len(rows)]


def group_each(values: np.ndarray, ids: np.ndarray, job: Job) -> np.ndarray:
    """Groups of each variable for itself: int64, shape (n, p), -1 where missing."""
    former: Callable[[np.ndarray, int], np.ndarray]
    former = ranked_groups if job.method == "individual" else optimal_groups
    groups = np.full(values.shape, -1, dtype=np.int64)
    for j, name in enumerate(job.names):
        filled, first = ~np.isnan(values[:, j]), 0
        for rows in _strata_rows(ids, filled, filled, job, name):
            inside = rows[filled[rows]]
            if len(inside):
                groups[inside, j] = former(values[inside, j], job.k) + first
                first = int(groups[inside, j].max()) + 1
    return groups


def group_all(frame: pd.DataFrame, values: np.ndarray, ids: np.ndarray, job: Job) -> np.ndarray:
    """Groups over all variables: int64, shape (n,), -1 for records with nothing filled."""
    mixed = _mixed(frame, job) if job.method == "gower" else None
    similar = values if mixed is None else np.column_stack([mixed[0], mixed[2]])
    complete = ~(np.isnan(values).any(axis=1) | np.isnan(similar).any(axis=1))
    if job.axis is not None:
        complete &= ~np.isnan(job.axis)
    groups = np.full(len(values), -1, dtype=np.int64)
    first = late = 0
    filled = ~np.isnan(values).all(axis=1)
    for rows in _strata_rows(ids, complete, filled, job, "variables"):
        inside = rows[complete[rows]]
        if len(inside) == 0:
            continue
        rng = job.streams.at("microaggregate", job.method, job.strata[ids[rows].min()])
        groups[inside] = _former(values, mixed, inside, job, rng) + first
        first = int(groups[inside].max()) + 1
        others = rows[~complete[rows] & filled[rows]]
        groups[others] = _join(similar, inside, groups[inside], others, mixed)
        late += len(others)
    if late:
        job.notes.append(
            message(
                "{late} with missing values joined the nearest group.", late=plural(late, "record")
            )
        )
    return groups


def _former(
    values: np.ndarray, mixed: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
    inside: np.ndarray, job: Job, rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Groups of the complete records of one stratum, from 0."""
    x, k, note, grouping = values[inside], job.k, "", job.grouping
    if mixed is not None:
        groups = gower_groups(mixed[0][inside], mixed[1][inside], mixed[2][inside], k)
    elif isinstance(grouping, MahalanobisGroups):
        groups, note = mahalanobis_groups(x, k, block=grouping.block)
    elif isinstance(grouping, MdavGroups):
        groups = mdav_groups(standardised(x), k, block=grouping.block)
    elif isinstance(grouping, SingleAxisGroups):
        key = x[:, 0] if job.axis is None else job.axis[inside]
        groups = consecutive(np.argsort(key, kind="stable"), k)
    elif isinstance(grouping, ClusterGroups):
        groups, note = cluster_groups(x, k, grouping.clusters, grouping.within, rng)
    else:
        kind = "robust" if job.method == "robust-pca" else "classical"
        groups, note = pca_groups(x, k, kind)
    job.notes += [message("Classical covariance: {note}.", note=note)] if note else []
    return groups


def _mixed(frame: pd.DataFrame, job: Job) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers and ordered codes, constants of semi-continuous columns, codes of levels."""
    numeric, special, nominal = [], [], []
    assert isinstance(job.grouping, GowerGroups)
    zeros = names_of(job.grouping.zeros)
    for name in names_of(job.grouping.distance) or job.names:
        column = one_column(frame[name])
        if is_number(frame[name]) or is_ordered(frame[name]):
            numeric.append(column)
            special.append((column == 0) if name in zeros else np.zeros(len(frame), bool))
        else:
            nominal.append(column)
    empty = np.empty((len(frame), 0))
    return (
        np.column_stack([empty, *numeric]),
        np.column_stack([empty.astype(bool), *special]),
        np.column_stack([empty, *nominal]),
    )


def _join(
    similar: np.ndarray, inside: np.ndarray, groups: np.ndarray, others: np.ndarray,
    mixed: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
) -> np.ndarray:  # fmt: skip
    """Group of the nearest complete record, by the columns that are filled, int64, shape (m,)."""
    if mixed is not None:
        return _join_mixed(inside, groups, others, mixed)
    joined = np.full(len(others), groups[0], dtype=np.int64)
    patterns, which = np.unique(np.isnan(similar[others]), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        of_pattern, filled = which.reshape(-1) == number, np.flatnonzero(~pattern)
        x = similar[np.ix_(inside, filled)]
        asked = similar[np.ix_(others[of_pattern], filled)]
        joined[of_pattern] = groups[nearest_rows(x, asked, x.std(axis=0))]
    return joined


def _join_mixed(
    inside: np.ndarray, groups: np.ndarray, others: np.ndarray,
    mixed: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> np.ndarray:  # fmt: skip
    """The same with Gower distances over what both records have."""
    from riskeval.kernels.gower import nearest_mixed

    numeric, special, nominal = mixed
    coded = np.where(special, np.inf, numeric / column_ranges(numeric[inside], special[inside]))
    codes = np.ascontiguousarray(np.nan_to_num(nominal, nan=-1.0), dtype=np.int32)
    return groups[nearest_mixed(coded[inside], codes[inside], coded[others], codes[others])]


def one_column(values: pd.Series) -> np.ndarray:
    """A column as float64, shape (n,): numbers, or codes of levels; NaN where missing."""
    if is_number(values):
        return as_numbers(values)
    codes = encode(values)[0].astype(np.float64)
    return np.where(codes < 0, np.nan, codes)


def is_ordered(values: pd.Series) -> bool:
    """Whether a column is an ordered categorical."""
    return isinstance(values.dtype, pd.CategoricalDtype) and bool(values.dtype.ordered)
