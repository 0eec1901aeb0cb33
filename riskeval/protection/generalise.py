"""Full-domain generalisation: every minimal node of the lattice of hierarchies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.hierarchies import Hierarchy, plain_levels, read_hierarchy
from riskeval.protection.household.layer import Households, read_household_keys, read_households
from riskeval.protection.household.tables import make_up_of
from riskeval.protection.lattice import LatticeSearch, Node
from riskeval.protection.read_back import known_codes, read_back, records_below
from riskeval.protection.result import (
    Protected,
    categorical_column,
    own_frame,
    protected,
    suppress_cells,
)
from riskeval.protection.targets import read_constraints
from riskeval.recovery.result import Recovery
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import cell_ids, encode_keys
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import as_file

PARAMETERS = {"k": Whole(1), "suppression_limit": Whole(0)}
MOST_ATTACKED = 10
"""Nodes of which the suppressed records are attacked."""


@same_library
def minimal_generalization(
    data: Any,
    hierarchies: Mapping[str, Any],
    *,
    k: int,
    suppression_limit: int = 0,
    node: Mapping[str, int] | None = None,
    household: str | None = None,
    household_keys: Sequence[str] = (),
    targets: Mapping[str, float] | None = None,
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
        (Sweeney 2002: 1 - mean of level / top level), then the smallest sum of squared groups,
        whose suppressed records stay hidden: where records are below k once what they lost is
        read back, the next node is taken, at last one that suppresses nobody.
    household : str, optional
        Column of household ids: k counts households, not persons, and where a member is left in a
        smaller group, all members lose these keys (each counts for `suppression_limit`), since
        the others would tell what the household has in common.
    household_keys : sequence of str
        What an intruder knows of a whole household, among the keys: the values of all members (as
        a set in which equal members count). Every household must then have that of at least k.
    targets : mapping, optional
        What every group must hold beside k, as in `local_suppression`: ``{"distinct_l: ill": 2}``.
        Records of groups that fail count for `suppression_limit`; the records that lost their keys
        are a group too when the result is counted.

    Returns
    -------
    Protected
        Columns at level 0 are untouched; others are categorical. Missing values are a category of
        their own and stay missing, except under "*". ``details``: ``node`` (column -> level),
        ``minimal_nodes`` (all of them), ``suppressed`` (records), ``precision``, ``counted``
        (nodes whose groups were counted), ``recovery`` (what `riskeval.recover` reads back of the
        suppressed records; None where there are none), ``targets`` (records that fail each after
        what is read back is filled in; those missed are `unmet`, with which the summary begins).
        Nothing is drawn at random.

    Raises
    ------
    InputError
        A level lacks a value, is not coarser than the one below, k or the limit is not a number.
    GuaranteeError
        Even the top of the lattice, or the node that was asked for, leaves more than
        `suppression_limit` records in small groups.

    Notes
    -----
    A node is minimal if it satisfies k-anonymity with at most `suppression_limit` records in
    smaller groups and no node below it does (Samarati 2001, doi:10.1109/69.971193). The search is
    that of Incognito (LeFevre et al. 2005, doi:10.1145/1066157.1066164): nodes over few keys
    first, since what fails there fails with more keys; bottom up, since everything above a node
    that holds, holds. With `suppression_limit` or households this is not so of targets of entropy,
    closeness and likeness: every node is counted then, and a minimal one holds while none directly
    below it does.

    Examples
    --------
    >>> people = pd.DataFrame({"zip": ["4310", "4310", "4109", "4101"], "sex": [*"MMFF"]})
    >>> levels = {"zip": [{"4310": "43", "4109": "41", "4101": "41"}, "*"], "sex": ["*"]}
    >>> result = minimal_generalization(people, levels, k=2)
    >>> result.details["node"], result.data["zip"].tolist()
    ({'zip': 1, 'sex': 0}, ['43', '43', '41', '41'])
    """
    faults = Faults("minimal_generalization")
    file = as_file(data, faults, household=household)
    frame, household = file.indexed, file.roles.household
    sequences = _prepared(frame, hierarchies, k, suppression_limit)
    _check_node(faults, sequences, node)
    homes = read_households(faults, file)
    names = [sequence.name for sequence in sequences]
    household_names = read_household_keys(faults, household_keys, names, household)
    constraints = read_constraints(faults, file, names, targets)
    faults.raise_if_any()
    by_household = tuple(names.index(name) for name in household_names)
    search = LatticeSearch(
        sequences, k, suppression_limit, homes.clusters, by_household, constraints
    )
    minimal = search.minimal_nodes()
    attempts = _attempts(frame, search, _candidates(search, minimal, names, node), homes)
    attempt = _withstanding(attempts, k)
    levels, small, released = attempt.node, attempt.small, attempt.data
    _verify(released, names, k, small, homes, household_names)
    level_of = dict(zip(names, levels, strict=True))
    kind = (
        message("one of {n} minimal nodes", n=len(minimal))
        if levels in minimal
        else message("no minimal node")
    )
    result = protected(
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
            "household_keys": household_names,
        },
        notes=[
            (
                message(
                    "Levels {level_of}, {kind}; recounted, every group has at least {k} records, "
                    "{n} lost all keys (at most {suppression_limit} allowed)."
                    if household is None
                    else "Levels {level_of}, {kind}; recounted, every group has at least {k} "
                    "households, {n} lost all keys (at most {suppression_limit} allowed).",
                    level_of=level_of,
                    kind=kind,
                    k=k,
                    n=plural(int(small.sum()), "record"),
                    suppression_limit=suppression_limit,
                )
            ),
            *attempt.notes,
        ],
        details={
            "node": level_of,
            "minimal_nodes": [dict(zip(names, item, strict=True)) for item in minimal],
            "suppressed": int(small.sum()),
            "precision": _precision(sequences, levels),
            "recovery": attempt.recovery,
            "counted": search.counted,
        },
    )
    before = file.coded(names).codes
    return constraints.verified(result, before, known_codes(released, names, attempt.recovery))


@same_library
def generalization_lattice(data: Any, hierarchies: Mapping[str, Any], *, k: int) -> pd.DataFrame:
    """Return every node of the lattice with the records that it leaves in groups below k.

    Parameters
    ----------
    data, hierarchies, k : as in `minimal_generalization`

    Returns
    -------
    DataFrame
        One row per node: a column of levels for each key, ``height`` (sum of levels), ``below_k``.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": [*"MMF"]})
    >>> generalization_lattice(people, {"sex": ["*"]}, k=2)["below_k"].tolist()
    [1, 0]
    """
    sequences = _prepared(own_frame(data), hierarchies, k, 0)
    search = LatticeSearch(sequences, k, 0)
    all_keys = tuple(range(len(sequences)))
    rows = [
        (*node, sum(node), search.below(all_keys, node))
        for node in product(*(range(sequence.top + 1) for sequence in sequences))
    ]
    names = [sequence.name for sequence in sequences]
    return pd.DataFrame(rows, columns=[*names, "height", "below_k"])


def _precision(sequences: list[Hierarchy], node: Node) -> float:
    shares = [h / sequence.top for sequence, h in zip(sequences, node, strict=True) if sequence.top]
    return 1.0 - float(np.mean(shares)) if shares else 1.0


def _check_node(faults: Faults, sequences: list[Hierarchy], node: Mapping[str, int] | None) -> None:
    if node is None:
        return
    for name in set(node) ^ {sequence.name for sequence in sequences}:
        faults.add("node", f"{name!r} is not a key or has no level")
    for sequence in sequences:
        level = node.get(sequence.name, 0)
        if isinstance(level, bool) or level not in range(sequence.top + 1):
            faults.add("node", f"{sequence.name!r}: {level!r}", hint=f"Give 0 to {sequence.top}.")


def _candidates(
    search: LatticeSearch, minimal: list[Node], names: list[str], node: Mapping[str, int] | None
) -> Iterator[Node]:
    """Nodes to try, the most precise first; at last those that suppress nobody."""
    everything = tuple(range(len(names)))
    if node is not None:
        levels = tuple(int(node[name]) for name in names)
        below = search.below(everything, levels)
        if below > search.limit:
            raise GuaranteeError(
                f"minimal_generalization: node {dict(node)} leaves {plural(below, 'record')} in "
                f"groups below {search.k}, {search.limit} are allowed; minimal nodes are {minimal}"
            )
        yield levels
        return
    if not minimal:
        top = tuple(sequence.top for sequence in search.sequences)
        below = search.below(everything, top)
        raise GuaranteeError(
            f"minimal_generalization: even the top of the lattice leaves {plural(below, 'record')} "
            f"in groups below {search.k}; add coarser levels or raise suppression_limit above "
            f"{search.limit}"
        )

    def order(one: Node) -> tuple[float, float, Node]:
        return -_precision(search.sequences, one), search.squares(one), one

    yield from sorted(minimal, key=order)[:MOST_ATTACKED]
    search.limit = 0
    yield from sorted(search.minimal_nodes(), key=order)[:1]


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What a node gives."""

    node: Node
    small: np.ndarray  # bool array, shape (n,): records that lost their keys
    data: pd.DataFrame
    recovery: Recovery | None
    notes: list[str]
    below: int  # records below k, or that fail a target, once what they lost is read back


def _withstanding(attempts: Iterator[_Attempt], k: int) -> _Attempt:
    """Return the first node whose suppressed records stay hidden, else the first of all."""
    first = attempt = next(attempts)
    n_passed = 0
    while attempt.below and (later := next(attempts, None)) is not None:
        attempt, n_passed = later, n_passed + 1
    if attempt.below or not n_passed:
        return first
    note = message(
        "{n_passed} of higher precision would leave records below {k}, or targets missed, once "
        "what they suppress is recovered.",
        n_passed=plural(n_passed, "node"),
        k=k,
    )
    return replace(attempt, notes=[*attempt.notes, note])


def _attempts(
    frame: pd.DataFrame, search: LatticeSearch, nodes: Iterator[Node], homes: Households
) -> Iterator[_Attempt]:
    """Recode the file by one node after the other, and attack what was suppressed."""
    names = [sequence.name for sequence in search.sequences]
    for node in nodes:
        small = search.small_records(node)
        released = frame.copy(deep=False)
        for sequence, level in zip(search.sequences, node, strict=True):
            column = _at_level(frame[sequence.name], sequence, level)
            released[sequence.name] = suppress_cells(column, small)
        if not small.any():
            yield _Attempt(node, small, released, None, [], 0)
            continue
        recovery, notes = read_back(frame, released, names, homes, search.k)
        below = records_below(recovery) if recovery.n_right else 0
        if search.constraints is not None:
            known = known_codes(released, names, recovery)
            below = max(below, int(search.constraints.any_failing(known).sum()))
        yield _Attempt(node, small, released, recovery, notes, below)


def _prepared(
    frame: pd.DataFrame, hierarchies: Mapping[str, Any], k: int, limit: int
) -> list[Hierarchy]:
    faults = Faults("minimal_generalization")
    if not hierarchies:
        faults.add("hierarchies", "no column is given")
    check(faults, PARAMETERS, {"k": k, "suppression_limit": limit})
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
    released: pd.DataFrame, names: Sequence[str], k: int, small: np.ndarray,
    homes: Households, known: Sequence[str],
) -> None:  # fmt: skip
    """Count the groups anew, and the households with the same members."""
    number = pd.Series(homes.number)[~small]
    large = released[~small]
    cells = large.groupby(list(names), dropna=False, observed=True).ngroup().to_numpy()
    sizes = number.groupby(cells).nunique()
    smallest = int(sizes.min()) if len(sizes) else k
    if known and len(large):
        ids = cell_ids(encode_keys(large, list(known)).codes)[0]
        make_up = make_up_of(pd.factorize(number)[0], ids)
        smallest = min(smallest, int(np.bincount(make_up).min()))
    if smallest < k:
        raise GuaranteeError(f"minimal_generalization: a group of {smallest} is left")


METHOD = ProtectionMethod(
    run=minimal_generalization,
    rank=60,
    title="Minimal generalisation",
    question="How coarse must whole columns become so that every key is shared by k records?",
    blind_spots=(
        "sensitive values that all records of a group share; intruders who know more than the"
        " columns of the hierarchies"
    ),
    example={
        "hierarchies": {
            "rb090": ["*"],
            "pb220a": [{"national": "national", "EU": "foreign", "other": "foreign"}, "*"],
        },
        "k": 20,
    },
    roles=roles_named("household", "household_keys"),
    new_types=True,
)
