"""Full-domain generalisation: every minimal node of the lattice of hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.hierarchies import Hierarchy, plain_levels, read_hierarchy
from riskeval.protection.household import read_households
from riskeval.protection.read_back import read_back
from riskeval.protection.result import (
    Protected,
    categorical_column,
    own_frame,
    protected,
    suppress_cells,
)
from synthpop.microdata.checks import check_columns
from synthpop.microdata.codes import cell_ids
from synthpop.microdata.errors import Faults, GuaranteeError
from synthpop.microdata.native import same_library
from synthpop.microdata.text import plural

Node = tuple[int, ...]


@same_library
def minimal_generalization(
    data: Any,
    hierarchies: Mapping[str, Any],
    *,
    k: int,
    suppression_limit: int = 0,
    node: Mapping[str, int] | None = None,
    household: str | None = None,
) -> Protected:
    """Generalise columns along hierarchies, as little as k-anonymity allows.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    hierarchies : mapping
        Key column -> its levels above the column itself, from fine to coarse. A list whose items
        are mappings from each value of the level below to the new value, or "*" (all values become
        "*"; numbers may be given as text, as in a run file). Or a DataFrame whose first column
        holds the values of the data and each further column one level.
    k : int
        Records in each group of equal keys.
    suppression_limit : int
        Records that may be left in smaller groups; they lose all values of these keys (tuple
        suppression, Samarati 2001).
    node : mapping, optional
        Column -> level to use. Default: of all minimal nodes the one with the highest precision
        (Sweeney 2002: 1 - mean of level / top level), then the smallest sum of squared groups.
    household : str, optional
        Column of household ids: k counts households, not persons, and where a member is left in a
        smaller group, all members lose these keys (each counts for `suppression_limit`), since
        the others would tell what the household has in common.

    Returns
    -------
    Protected
        Columns at level 0 are untouched; others are categorical. Missing values are a category of
        their own and stay missing, except under "*". ``details``: ``node`` (column -> level),
        ``minimal_nodes`` (all of them), ``suppressed`` (records), ``precision``, ``counted``
        (nodes whose groups were counted), ``recovery`` (what `riskeval.recover` reads back of the
        suppressed records; None where there are none). Nothing is drawn at random.

    Raises
    ------
    InputError
        A level lacks a value, is not coarser than the one below, k or the limit is no number.
    GuaranteeError
        Even the top of the lattice, or the node that was asked for, leaves more than
        `suppression_limit` records in small groups.

    Notes
    -----
    A node is minimal if it satisfies k-anonymity with at most `suppression_limit` records in
    smaller groups and no node below it does (Samarati 2001, doi:10.1109/69.971193). The search is
    that of Incognito (LeFevre et al. 2005, doi:10.1145/1066157.1066164): nodes over few keys
    first, since what fails there fails with more keys; bottom up, since everything above a node
    that holds, holds.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["4310", "4310", "4109", "4101"], "sex": [*"MMFF"]})
    >>> levels = {"zip": [{"4310": "43", "4109": "41", "4101": "41"}, "*"], "sex": ["*"]}
    >>> result = minimal_generalization(people, levels, k=2)
    >>> result.details["node"], result.data["zip"].tolist()
    ({'zip': 1, 'sex': 0}, ['43', '43', '41', '41'])
    """
    frame = own_frame(data)
    sequences = _prepared(frame, hierarchies, k, suppression_limit)
    _check_node(sequences, node)
    faults = Faults("minimal_generalization")
    homes = None if household is None else read_households(faults, frame, household)
    faults.raise_if_any()
    search = _Search(sequences, k, suppression_limit, None if homes is None else homes.number)
    minimal = search.minimal_nodes()
    names = [sequence.name for sequence in sequences]
    chosen = _chosen(search, minimal, names, node)
    small = search.small_records(chosen)
    released = frame.copy(deep=False)
    for sequence, level in zip(sequences, chosen, strict=True):
        column = _at_level(frame[sequence.name], sequence, level)
        released[sequence.name] = suppress_cells(column, small)
    _verify(released, names, k, small, household)
    recovery, notes = read_back(frame, released, names, homes, k) if small.any() else (None, [])
    shown = dict(zip(names, chosen, strict=True))
    return protected(
        frame,
        released,
        names,
        method="minimal_generalization",
        parameters={
            "hierarchies": {name: plain_levels(hierarchies[name]) for name in names},
            "k": k,
            "suppression_limit": suppression_limit,
            "node": None if node is None else dict(node),
            "household": household,
        },
        notes=[
            f"Levels {shown}, one of {len(minimal)} minimal nodes; counted anew, every group has "
            f"at least {k} {'records' if homes is None else 'households'}, "
            f"{plural(int(small.sum()), 'record')} lost all keys (at most {suppression_limit} "
            "allowed).",
            *notes,
        ],
        details={
            "node": shown,
            "minimal_nodes": [dict(zip(names, item, strict=True)) for item in minimal],
            "suppressed": int(small.sum()),
            "precision": _precision(sequences, chosen),
            "recovery": recovery,
            "counted": search.counted,
        },
    )


@same_library
def generalization_lattice(data: Any, hierarchies: Mapping[str, Any], *, k: int) -> pd.DataFrame:
    """Return every node of the lattice with the records that it leaves in groups below k.

    Parameters
    ----------
    data, hierarchies, k : as in `minimal_generalization`

    Returns
    -------
    DataFrame
        One row a node: a column of levels for each key, ``height`` (sum of levels), ``below_k``.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": [*"MMF"]})
    >>> generalization_lattice(people, {"sex": ["*"]}, k=2)["below_k"].tolist()
    [1, 0]
    """
    sequences = _prepared(own_frame(data), hierarchies, k, 0)
    search = _Search(sequences, k, 0)
    every = tuple(range(len(sequences)))
    rows = [
        (*node, sum(node), search.below(every, node))
        for node in product(*(range(sequence.top + 1) for sequence in sequences))
    ]
    names = [sequence.name for sequence in sequences]
    return pd.DataFrame(rows, columns=[*names, "height", "below_k"])


class _Search:
    """Counts of the lattice, on the distinct rows of the file."""

    def __init__(
        self, sequences: list[Hierarchy], k: int, limit: int, home: np.ndarray | None = None
    ) -> None:
        self.sequences, self.k, self.limit, self.home = sequences, k, limit, home
        base = np.column_stack([sequence.codes[0] for sequence in sequences])
        self.cell, n_cells = cell_ids(base, [len(sequence.labels[0]) for sequence in sequences])
        self.sizes = np.bincount(self.cell, minlength=n_cells)
        first = np.zeros(n_cells, dtype=np.int64)
        first[self.cell] = np.arange(len(base))
        self.codes = [[codes[first] for codes in sequence.codes] for sequence in sequences]
        self.counted = 0

    def groups(self, keys: tuple[int, ...], node: Node) -> tuple[np.ndarray, np.ndarray]:
        """Group of each distinct row, and records of each group."""
        columns = np.column_stack([self.codes[j][h] for j, h in zip(keys, node, strict=True)])
        widths = [len(self.sequences[j].labels[h]) for j, h in zip(keys, node, strict=True)]
        ids, n_groups = cell_ids(columns, widths)
        return ids, np.bincount(ids, self.sizes, n_groups)

    def below(self, keys: tuple[int, ...], node: Node) -> int:
        """Records in groups smaller than k."""
        self.counted += 1
        if self.home is not None:
            return int(self._small_households(keys, node, self.home).sum())
        _, sizes = self.groups(keys, node)
        return int(sizes[sizes < self.k].sum())

    def minimal_nodes(self) -> list[Node]:
        """All minimal nodes, by the levels of the first key, the second, ..."""
        m = len(self.sequences)
        holds: dict[tuple[int, ...], dict[Node, bool]] = {}
        for size in range(1, m + 1):
            for keys in combinations(range(m), size):
                holds[keys] = self._subset(keys, holds)
        table = holds[tuple(range(m))]
        return [
            node
            for node, good in table.items()
            if good and not any(table.get(lower, False) for lower in _below(node))
        ]

    def _subset(
        self, keys: tuple[int, ...], holds: dict[tuple[int, ...], dict[Node, bool]]
    ) -> dict[Node, bool]:
        result: dict[Node, bool] = {}
        spans = [range(self.sequences[j].top + 1) for j in keys]
        for node in product(*spans):
            if any(result[lower] for lower in _below(node)):
                result[node] = True
            elif len(keys) > 1 and not all(
                holds[keys[:i] + keys[i + 1 :]][node[:i] + node[i + 1 :]] for i in range(len(keys))
            ):
                result[node] = False
            else:
                result[node] = self.below(keys, node) <= self.limit
        return result

    def small_records(self, node: Node) -> np.ndarray:
        """Records in groups smaller than k at a node, bool, shape (n,)."""
        keys = tuple(range(len(node)))
        if self.home is not None:
            return self._small_households(keys, node, self.home)
        ids, sizes = self.groups(keys, node)
        return np.asarray((sizes[ids] < self.k)[self.cell])

    def _small_households(self, keys: tuple[int, ...], node: Node, home: np.ndarray) -> np.ndarray:
        """Records of households that lose their keys, until all groups left have k households."""
        ids, sizes = self.groups(keys, node)
        group = ids[self.cell]
        pairs = np.unique(np.column_stack([group, home]), axis=0)
        gone = np.zeros(int(home.max(initial=-1)) + 1, dtype=bool)
        while True:
            left = pairs[~gone[pairs[:, 1]]]
            n_homes = np.bincount(left[:, 0], minlength=len(sizes))
            small = left[n_homes[left[:, 0]] < self.k, 1]
            if not len(small):
                return np.asarray(gone[home])
            gone[small] = True

    def squares(self, node: Node) -> float:
        """Sum of squared group sizes (discernibility)."""
        return float((self.groups(tuple(range(len(node))), node)[1] ** 2).sum())


def _below(node: Node) -> list[Node]:
    return [(*node[:j], h - 1, *node[j + 1 :]) for j, h in enumerate(node) if h > 0]


def _precision(sequences: list[Hierarchy], node: Node) -> float:
    shares = [h / sequence.top for sequence, h in zip(sequences, node, strict=True) if sequence.top]
    return 1.0 - float(np.mean(shares)) if shares else 1.0


def _check_node(sequences: list[Hierarchy], node: Mapping[str, int] | None) -> None:
    if node is None:
        return
    faults = Faults("minimal_generalization")
    for name in set(node) ^ {sequence.name for sequence in sequences}:
        faults.add("node", f"{name!r} is no key or has no level")
    for sequence in sequences:
        level = node.get(sequence.name, 0)
        if isinstance(level, bool) or level not in range(sequence.top + 1):
            faults.add("node", f"{sequence.name!r}: {level!r}", remedy=f"Give 0 to {sequence.top}.")
    faults.raise_if_any()


def _chosen(
    search: _Search, minimal: list[Node], names: list[str], node: Mapping[str, int] | None
) -> Node:
    if node is not None:
        levels = tuple(int(node[name]) for name in names)
        left = search.below(tuple(range(len(names))), levels)
        if left > search.limit:
            raise GuaranteeError(
                f"minimal_generalization: node {dict(node)} leaves {plural(left, 'record')} in "
                f"groups below {search.k}, {search.limit} are allowed; minimal nodes are {minimal}"
            )
        return levels
    if not minimal:
        top = tuple(sequence.top for sequence in search.sequences)
        left = search.below(tuple(range(len(names))), top)
        raise GuaranteeError(
            f"minimal_generalization: even the top of the lattice leaves {plural(left, 'record')} "
            f"in groups below {search.k}; add coarser levels or raise suppression_limit above "
            f"{search.limit}"
        )
    return min(minimal, key=lambda n: (-_precision(search.sequences, n), search.squares(n), n))


def _prepared(
    frame: pd.DataFrame, hierarchies: Mapping[str, Any], k: int, limit: int
) -> list[Hierarchy]:
    faults = Faults("minimal_generalization")
    if not hierarchies:
        faults.add("hierarchies", "no column is given")
    for name, value, least in (("k", k, 1), ("suppression_limit", limit, 0)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            faults.add(name, f"is {value!r}", remedy=f"Give a whole number from {least}.")
    check_columns(faults, frame, hierarchies, "key")
    faults.raise_if_any()
    sequences = [
        read_hierarchy(faults, frame[name], name, hierarchies[name]) for name in hierarchies
    ]
    faults.raise_if_any()
    return sequences


def _at_level(values: pd.Series, sequence: Hierarchy, level: int) -> pd.Series:
    if level == 0:
        return values
    names = sequence.labels[level][:-1]
    codes = np.where(sequence.codes[level] == len(names), -1, sequence.codes[level])
    ordered = isinstance(values.dtype, pd.CategoricalDtype) and bool(values.cat.ordered)
    return categorical_column(codes, names, ordered=ordered, index=values.index)


def _verify(
    released: pd.DataFrame, names: Sequence[str], k: int, small: np.ndarray, household: str | None
) -> None:
    groups = released[~small].groupby(list(names), dropna=False, observed=True)
    sizes = groups.size() if household is None else groups[household].nunique()
    if len(sizes) and int(sizes.min()) < k:
        raise GuaranteeError(f"minimal_generalization: a group of {int(sizes.min())} is left")
