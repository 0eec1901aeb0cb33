"""What a release shows about a household or person: five statistics, larger for members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.auditing.plant import TargetGroup
from riskeval.auditing.space import AuditSpace, CodedPersons
from synthpop.microdata.roles.survey import Survey

STATISTICS = ("copies", "close values", "nearest", "density", "neighbours")
NEAREST, NEIGHBOURS = 5, 20
CLOSE = 0.001  # relative difference of close values
AGREES = 0.05  # distance up to which a value of neighbours agrees
FAR = 2.0


def statistics_of(
    release: pd.DataFrame,
    household: str | None,
    groups: Sequence[TargetGroup],
    targets: Sequence[CodedPersons],
    survey: Survey,
    space: AuditSpace,
) -> list[np.ndarray]:
    """Return for each group the statistics of its targets, float64, shape (m, 5).

    targets: members of the households looked for, side by side, or the planted persons; one for
        each group
    """
    coded = space.coded(release)
    by_size = _by_size(release, household)
    found = []
    for group, target in zip(groups, targets, strict=True):
        if group.kind == "planted":
            every = np.arange(len(coded.values))[:, None]
            found.append(_compared(coded, every, target, _one_each(len(target.values)),
                                   group, space))  # fmt: skip
            continue
        sizes = survey.household_sizes[group.households]
        starts = np.cumsum(sizes) - sizes
        result = np.full((group.size, len(STATISTICS)), np.nan)
        for size in np.unique(sizes):
            which = np.flatnonzero(sizes == size)
            members = starts[which][:, None] + np.arange(size)
            rows = by_size.get(int(size), np.empty((0, size), dtype=np.int64))
            result[which] = _compared(coded, rows, target, members, group, space)
        found.append(result)
    return found


def _one_each(n: int) -> np.ndarray:
    return np.arange(n)[:, None]


def _by_size(release: pd.DataFrame, household: str | None) -> dict[int, np.ndarray]:
    """Return the rows of the households of each size, int, shape (households, size)."""
    if household is None:
        return {1: np.arange(len(release))[:, None]}
    ids = pd.factorize(release[household])[0]
    order = np.argsort(ids, kind="stable")
    sizes = np.bincount(ids)
    starts = np.cumsum(sizes) - sizes
    return {
        int(size): order[starts[sizes == size][:, None] + np.arange(size)]
        for size in np.unique(sizes)
    }


def _compared(
    release: CodedPersons,
    rows: np.ndarray,
    target: CodedPersons,
    members: np.ndarray,
    group: TargetGroup,
    space: AuditSpace,
) -> np.ndarray:
    """Compare m targets of s members each with n units of the release, of s persons each.

    rows (n, s), members (m, s): rows of `release` and of `target`
    """
    m, n = len(members), len(rows)
    own, context = group.own, group.context
    result = np.zeros((m, len(STATISTICS)))
    if n == 0:
        result[:, 2:4] = -FAR
        return result
    known = np.zeros((m, n), dtype=np.float32)
    unknown = np.zeros((m, n), dtype=np.float32)
    equal, close = np.ones((m, n), dtype=bool), np.ones((m, n), dtype=bool)
    n_members = rows.shape[1]
    for s in range(n_members):
        there, here = rows[:, s], members[:, s]
        for j in context:
            known += space.difference(
                int(j), release.places[there, j][None, :], target.places[here, j][:, None]
            )
        for j in own:
            theirs, ours = release.values[there, j][None, :], target.values[here, j][:, None]
            equal &= theirs == ours
            if space.levels[j] is None:
                close &= np.abs(theirs - ours) <= CLOSE * np.abs(ours)
            else:
                close &= theirs == ours
            unknown += space.difference(
                int(j), release.places[there, j][None, :], target.places[here, j][:, None]
            )
    known /= max(len(context) * n_members, 1)
    unknown /= max(len(own) * n_members, 1)
    if group.kind != "planted" or not space.numeric[own].any():
        equal &= known < 1e-6  # a level alone is no copy of anybody
        close &= known < 0.1
    both = (known + unknown) / 2 if len(context) else unknown
    k = min(NEAREST, n)
    nearest = np.partition(both, k - 1, axis=1)[:, :k]
    result[:, 0] = np.log1p(equal.sum(axis=1))
    result[:, 1] = np.log1p(close.sum(axis=1))
    result[:, 2] = -nearest.min(axis=1)
    result[:, 3] = -nearest.mean(axis=1)
    if len(context) and len(own):
        radius = np.partition(known, min(NEIGHBOURS, n) - 1, axis=1)[:, min(NEIGHBOURS, n) - 1]
        around = known <= radius[:, None]
        agree = np.where(unknown <= AGREES, 1.0, 0.0) if group.kind == "planted" else 1 - unknown
        result[:, 4] = (agree * around).sum(axis=1) / around.sum(axis=1)
    return result
