"""Groups of rare records that are near to one another, for local recoding."""

from __future__ import annotations

import numpy as np
import pandas as pd

from riskeval.protection.targets import Constraints
from synthpop.microdata.frame.codes import cell_ids

BLOCK = 2000
"""Rare records that are matched with one another at once; neighbours in the order of the keys."""
NEAREST = 8
"""Classes that are tried for one that fails a target."""


def matched_groups(
    codes: np.ndarray, number: np.ndarray, k: int, weight: np.ndarray
) -> tuple[np.ndarray, float]:
    """Group of each record (-1: has k equals already), and the cost of the differences."""
    cell, n_cells = cell_ids(codes)
    homes_of = pd.DataFrame({"cell": cell, "home": number}).drop_duplicates()
    n_homes = np.bincount(homes_of["cell"], minlength=n_cells)
    rare = np.flatnonzero(n_homes[cell] < k)
    # records of large classes that these can spare: one for each home above k
    first = homes_of.index.to_numpy()
    position = homes_of.groupby("cell").cumcount().to_numpy()
    spare = first[(position >= k) & (n_homes[homes_of["cell"]] > k)]
    group = np.full(len(codes), -1, dtype=np.int64)
    order = rare[np.lexsort(codes[rare].T[::-1])]
    total, n_groups = 0.0, 0
    n_blocks = max(1, -(-len(order) // BLOCK))
    for block in np.array_split(order, n_blocks):
        if len(block):
            chosen = _near(codes, block, spare)
            members, cost = _block_groups(codes, number, block, chosen, k, weight)
            for rows in members:
                group[rows] = n_groups
                n_groups += 1
                if len(rows) < k:
                    cost += _join_class(codes, cell, number, group, rows, weight)
            total += cost
            spare = np.setdiff1d(spare, np.concatenate(members))
    return group, total


def joined_groups(
    codes: np.ndarray, number: np.ndarray, k: int, weight: np.ndarray, constraints: Constraints
) -> tuple[np.ndarray, float]:
    """Group of records that fail a target, with near ones of another class (-1: none), and cost.

    Of the nearest classes that with the fewest differences per record is taken, of its records as
    few as the target needs, where those that are left still hold it and are k households.
    """
    cell, n_cells = cell_ids(codes)
    order = np.argsort(cell, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(cell, minlength=n_cells))[:-1])
    patterns = codes[[rows[0] for rows in members]]
    failing = np.unique(cell[constraints.groups_fail(cell)])
    fails = np.isin(np.arange(n_cells), failing)
    sizes = np.array([len(rows) for rows in members])
    free, group, total = np.ones(n_cells, dtype=bool), np.full(len(codes), -1, dtype=np.int64), 0.0
    for n_groups, one in enumerate(failing[np.argsort(sizes[failing], kind="stable")]):
        gap = (patterns != patterns[one]) @ weight
        gap[one], gap[~free] = np.inf, np.inf
        best, taken = (np.inf, np.inf), None
        for other in np.argsort(gap, kind="stable")[:NEAREST] if free[one] else ():
            if not np.isfinite(gap[other]):
                break
            rows = members[other]
            some = _fewest(members[one], rows, number, k, constraints)
            chosen = rows if some is None else some
            cost = float(gap[other]) * (len(chosen) + sizes[one])
            worth = (float(some is None), cost / (sizes[one] + fails[other] * sizes[other]))
            if worth < best:
                best, taken = worth, (other, chosen, cost)
        if taken is not None:
            other, chosen, cost = taken
            group[members[one]] = group[chosen] = n_groups
            free[[one, other]], total = False, total + cost
    return group, total


def _fewest(
    rows: np.ndarray, others: np.ndarray, number: np.ndarray, k: int, constraints: Constraints
) -> np.ndarray | None:
    """The fewest of other records (1, 2, 4, ... or all) with which some rows hold the targets."""
    ordered = others
    for name in [one.column for one in constraints.targets if one.column][:1]:
        codes = constraints.file.codes(name)[0]
        turn = pd.Series(codes[others]).groupby(codes[others]).cumcount().to_numpy()
        ordered = others[np.lexsort((turn, np.isin(codes[others], codes[rows])))]
    size = 1
    while size < 2 * len(ordered):
        some, rest = ordered[:size], ordered[size:]
        if not len(rest) or len(np.unique(number[rest])) >= k:
            part = np.repeat([0, 1], [len(rows) + len(some), len(rest)])
            if not constraints.groups_fail(part, np.concatenate([rows, some, rest])).any():
                return some
        size *= 2
    return None


def _join_class(
    codes: np.ndarray, cell: np.ndarray, number: np.ndarray, group: np.ndarray, rows: np.ndarray,
    weight: np.ndarray,
) -> float:  # fmt: skip
    """Join a record that found no free one to the nearest class, all of it; return the cost."""
    group_of_first = group[rows[0]]
    gap = (codes != codes[rows[0]]) @ weight
    gap[np.isin(number, number[group == group_of_first])] = np.inf
    nearest = int(np.argmin(gap))
    if not np.isfinite(gap[nearest]):
        return 0.0
    others = cell == cell[nearest]
    joined = np.unique(group[others])
    group[others | np.isin(group, joined[joined >= 0])] = group_of_first
    return float(gap[nearest]) * int(others.sum())


def _near(codes: np.ndarray, block: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """Spare records, at most two for each rare one: those that agree with most of the block."""
    most = 2 * len(block)
    if len(spare) <= most:
        return spare
    gap = np.full(len(spare), np.inf)
    for row in block[:: max(1, len(block) // 200)]:
        gap = np.minimum(gap, (codes[spare] != codes[row]).sum(axis=1))
    return np.sort(spare[np.argsort(gap, kind="stable")[:most]])


def _block_groups(
    codes: np.ndarray, number: np.ndarray, block: np.ndarray, spare: np.ndarray, k: int,
    weight: np.ndarray,
) -> tuple[list[np.ndarray], float]:  # fmt: skip
    """Groups of at least k records for a whole block, with spare records where these are near."""
    pool = np.concatenate([block, spare])
    needs = np.arange(len(pool)) < len(block)
    gap = np.zeros((len(pool), len(pool)))
    for j, price in enumerate(weight):
        gap += price * (codes[pool, j][:, None] != codes[pool, j][None])
    gap[number[pool][:, None] == number[pool][None]] = np.inf
    free = np.ones(len(pool), dtype=bool)
    groups: list[list[int]] = []
    # 1. those far from all others first: nearest free records, a spare one counting twice
    far = np.argsort(-gap[: len(block)].min(axis=1), kind="stable")
    for i in far:
        if not free[i]:
            continue
        members = [int(i)]
        price = np.where(needs, 1.0, 2.0) * gap[i]
        for j in np.argsort(price, kind="stable"):
            if len(members) == k or not np.isfinite(price[j]):
                break
            if free[j] and all(np.isfinite(gap[j, m]) for m in members):
                members.append(int(j))
        if len(members) == k:
            free[members] = False
            groups.append(members)
    # 2. pairs exchange partners as long as there are fewer differences
    if k == 2 and groups:
        from riskeval.kernels.matching import improve_pairs

        pairs = np.array(groups, dtype=np.int64)
        improve_pairs(pairs, gap, needs)
        groups = [pair.tolist() for pair in pairs if needs[pair].any()]
    # 3. who found too few joins the nearest group
    in_group = np.zeros(len(pool), dtype=bool)
    in_group[[i for members in groups for i in members]] = True
    for i in np.flatnonzero(needs & ~in_group):
        costs = [float(gap[i, members].max()) for members in groups]
        if groups and np.isfinite(min(costs)):
            groups[int(np.argmin(costs))].append(int(i))
        else:
            groups.append([int(i)])
    cost = sum(float(gap[members[0], other]) for members in groups for other in members[1:])
    return [pool[members] for members in groups], cost
