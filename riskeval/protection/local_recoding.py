"""Local recoding: rare records are matched with near ones, and lose what these do not share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.hierarchies import Hierarchy, read_hierarchy
from riskeval.protection.household.layer import Households, read_household_keys, read_households
from riskeval.protection.household.tables import make_up_of, widen
from riskeval.protection.near_records import joined_groups, matched_groups
from riskeval.protection.read_back import known_codes, read_back, withstanding
from riskeval.protection.result import Protected, categorical_column, protected, suppress_cells
from riskeval.protection.suppression.plan import read_ranks
from riskeval.protection.targets import Constraints, read_constraints
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import cell_ids, extremes
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.text import count, join, plural
from synthpop.microdata.roles.microdata import as_file


@same_library
def local_recoding(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    k: int = 2,
    hierarchies: Mapping[str, Any] | None = None,
    importance: Sequence[int] | Mapping[str, int] | None = None,
    household: str | None = None,
    household_variables: Sequence[str] = (),
    household_keys: Sequence[str] = (),
    targets: Mapping[str, float] | None = None,
) -> Protected:
    """Match rare records with near ones; a group gets the finest values that its records share.

    Other records keep their values: the recoding is local, where `minimal_generalization` recodes
    whole columns.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    keys : sequence of str
        Categorical key variables.
    k : int, from 2
        Records with the same values of all keys. With a household: records of k households.
    hierarchies : mapping, optional
        Key -> its coarser levels, as in `minimal_generalization`. A key without one becomes
        missing where the records of a group differ.
    importance : sequence or mapping of numbers from 1, optional
        Rank of each key, 1 the most important: a difference in it costs as many times more as
        there are keys of lower rank. Default: all alike.
    household : str, optional
        Column of household ids. Members of one household are never matched with one another, and
        a household variable is recoded for all members alike.
    household_variables : sequence of str
        Keys that must be the same for all members. Others that are (found in the file) count too.
    household_keys : sequence of str
        What an intruder knows of a whole household, among the keys: first rare households are
        matched with near ones of their size, so that each has the values of all members of at
        least k (as a set in which equal members count), then persons.
    targets : mapping, optional
        What every group must hold beside k, as in `local_suppression`: ``{"distinct_l: ill": 2}``.
        Groups that fail are matched with near records of others, as few as are needed.

    Returns
    -------
    Protected
        ``details``: ``group`` (int64, shape (n,), of records with the same recoded values; -1 where
        nothing was recoded),
        ``recoded_groups``, ``cost`` (differences, weighted by importance) and ``recovery`` (what
        ``riskeval.recover`` reads back). With a household, where records are below k once what
        became missing is read back, this is shown again and other keys become missing, as in
        `local_suppression`; the summary says so, and for how many records nothing helps.
        ``targets`` are the records that fail each after what can be read back is filled in.
        Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, a hierarchy that says nothing about a value, fewer than k records.
    GuaranteeError
        A group of fewer than k records is left (never expected).

    Notes
    -----
    Takemura (1999), Local recoding by maximum weight matching, ITME Discussion Paper 11. His
    matching of all records in pairs is exact; here each record without enough equals is matched
    with the nearest free one, those far from all others first, and pairs exchange partners as
    long as this lowers the number of differences. Equal records are never separated. Files with
    more than 2,000 rare records are matched in blocks. Missing is a value of its own.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": [*"mmff"], "age": ["20", "20", "20", "30"]})
    >>> local_recoding(people, ["sex", "age"]).data["age"].tolist()
    ['20', '20', nan, nan]
    """
    # 1. Check what was given, and code the keys at all levels
    faults = Faults("local_recoding")
    file = as_file(data, faults, keys=keys, household=household)
    frame, names, household = file.indexed, list(file.roles.keys), file.roles.household
    sequences = _sequences(faults, frame, names, k, hierarchies or {})
    ranks = np.ones(len(names), dtype=np.int64)
    if importance is not None:
        ranks = read_ranks(faults, names, importance)
    homes = read_households(faults, file, names, declared=household_variables)
    known = read_household_keys(faults, household_keys, names, household)
    constraints = read_constraints(faults, file, names, targets)
    faults.raise_if_any()
    weight = (1 + ranks.max(initial=1) - ranks).astype(np.float64)
    # 2. Match the records that have fewer than k equals, and recode each group
    columns = [names.index(name) for name in known]
    levels, cost = _recoded_levels(sequences, k, weight, homes, columns, constraints)
    released = frame.copy(deep=False)
    for j, sequence in enumerate(sequences):
        released[sequence.name] = _recoded(frame[sequence.name], sequence, levels[:, j])
    # 3. Count again
    cell = _verified(_coded(sequences, levels), homes.number, k)
    group = np.where((levels > 0).any(axis=1), cell, -1)
    groups = np.unique(group[group >= 0])
    notes = [
        (
            message(
                "{n} of {records} records was recoded; recounted, every combination of the "
                "keys is shared by at least {k} (missing is a value of its own)."
                if len(groups) == 1
                else "{n} of {records} records were recoded; recounted, every combination of the "
                "keys is shared by at least {k} (missing is a value of its own).",
                n=plural(len(groups), "group"),
                records=count(int((group >= 0).sum())),
                k=plural(k, homes.unit),
            )
        )
    ]
    if known:
        notes.append(_make_up_note(_coded(sequences, levels)[:, columns], homes, k, known))
    # 4. Attack what became missing, and repair what is told
    if household is None:
        recovery, sentences = read_back(frame, released, names, homes, int(k))
    else:
        recoded = released
        released, recovery, sentences = withstanding(
            frame, released, names, homes, int(k), constraints
        )
        if released is not recoded:  # with holes that others need not be like
            constraints = replace(constraints, missing="visible")
    notes += [*sentences, *homes.notes()]
    details: dict[str, object] = {
        "group": group, "recoded_groups": len(groups), "cost": cost, "recovery": recovery,
    }  # fmt: skip
    plain = None if importance is None else dict(zip(names, map(int, ranks), strict=True))
    result = protected(
        frame, released, names, method="local_recoding",
        parameters={
            "keys": names, "k": int(k), "hierarchies": dict(hierarchies or {}) or None,
            "importance": plain, "household": household,
            "household_variables": list(household_variables), "household_keys": known,
        },
        notes=notes, details=details,
    )  # fmt: skip
    before = file.coded(names).codes
    return constraints.verified(result, before, known_codes(released, names, recovery))


def _recoded_levels(
    sequences: Sequence[Hierarchy],
    k: int,
    weight: np.ndarray,
    homes: Households,
    known: Sequence[int],
    constraints: Constraints,
) -> tuple[np.ndarray, float]:
    """Level of each key of each record, int64, shape (n, m), and what the groups cost.

    Recoding all members of a household can make others rare, who are matched in turn; groups that
    fail a target are joined with records of others.
    """
    levels = np.zeros((len(homes.number), len(sequences)), dtype=np.int64)
    cost = 0.0
    while True:
        raised = levels
        if len(known):
            raised, price = _whole_households(sequences, levels, k, weight, homes, known)
            cost += price
        group, price = matched_groups(_coded(sequences, raised), homes.number, k, weight)
        cost += price
        raised = _levels(sequences, group, raised, homes)
        if constraints:
            coded = _coded(sequences, raised)
            group, price = joined_groups(coded, homes.number, k, weight, constraints)
            cost += price
            raised = _levels(sequences, group, raised, homes)
        if np.array_equal(raised, levels):
            return levels, cost
        levels = raised


def _whole_households(
    sequences: Sequence[Hierarchy], levels: np.ndarray, k: int, weight: np.ndarray,
    homes: Households, known: Sequence[int],
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Levels at which each household has the members of at least k of its size, and the cost."""
    levels, total = levels.copy(), 0.0
    codes = _coded(sequences, levels)[:, known]
    first = np.column_stack([sequences[j].codes[0] for j in known])
    shared = np.flatnonzero(homes.are_shared([sequences[j].name for j in known])).tolist()
    for table in widen(codes, homes, shared, first):
        if len(table.homes) < k:
            continue
        prices, each = table.prices(weight[list(known)]), np.arange(len(table.homes))
        group, cost = matched_groups(table.codes, each, k, prices)
        total += cost
        inside = group >= 0
        for keys, members in table.columns() if inside.any() else ():
            rows = members[inside]
            for j in (known[i] for i in keys):
                first_level = levels[rows[:, 0], j]
                new = _agreed(sequences[j], group[inside], first_level, rows[:, 0])
                levels[rows, j] = new[:, None]
    return levels, total


def _make_up_note(codes: np.ndarray, homes: Households, k: int, known: Sequence[str]) -> str:
    """Say how many households have the make-up of fewer than k."""
    ids, _ = cell_ids(codes)
    make_up = make_up_of(homes.number, ids)
    rare = int((np.bincount(make_up)[make_up] < k).sum())
    who = (
        message("all households but {rare}", rare=count(rare))
        if rare
        else message("every household")
    )
    exception = (" " + message("(too few have their size)")) if rare else ""
    verb = "have" if rare else "has"
    return message(
        "On {known} {who} {verb} the members of at least {k}{exception}.",
        known=join(known),
        who=who,
        verb=verb,
        k=count(k),
        exception=exception,
    )


def _sequences(
    faults: Faults, frame: pd.DataFrame, names: list[str], k: int, hierarchies: Mapping[str, Any]
) -> list[Hierarchy]:
    check(faults, {"k": Whole(2)}, {"k": k})
    if Whole(2).allows(k) and len(frame) < k:
        faults.add("data", f"have {plural(len(frame), 'record')}, fewer than k = {k}")
    for name in hierarchies:
        if name not in names:
            faults.add("hierarchies", f"{name!r} is not a key")
    check_columns(faults, frame, dict.fromkeys(names), "key")
    faults.raise_if_any()
    return [read_hierarchy(faults, frame[name], name, hierarchies.get(name, [])) for name in names]


def _levels(
    sequences: Sequence[Hierarchy], group: np.ndarray, levels: np.ndarray,
    homes: Households,
) -> np.ndarray:  # fmt: skip
    """Level of every key of every record: the lowest at which its group agrees, int64, (n, m).

    Levels never become lower than `levels`. A key without a hierarchy has the level 1 where it
    becomes missing. A household variable has the same level for all members.
    """
    levels = levels.copy()
    inside = group >= 0
    for j, sequence in enumerate(sequences):
        if inside.any():
            levels[inside, j] = _agreed(sequence, group[inside], levels[inside, j], inside)
        if sequence.name in homes.variables:
            levels[:, j] = extremes(levels[:, j], homes.number, len(homes))[1][homes.number]
    return levels


def _agreed(
    sequence: Hierarchy, group: np.ndarray, level: np.ndarray, inside: np.ndarray
) -> np.ndarray:
    """Level of the records of groups, at least `level`, at which the whole group agrees."""
    n = int(group.max()) + 1
    agreed = extremes(level, group, n)[1]
    for step, codes in enumerate(sequence.codes):
        low, high = extremes(codes[inside], group, n)
        agreed[(agreed == step) & (low != high)] = step + 1
    return agreed[group]


def _recoded(values: pd.Series, sequence: Hierarchy, level: np.ndarray) -> pd.Series:
    """Column with the labels of the levels; missing above the highest one."""
    suppressed = level > sequence.top
    if sequence.top == 0 or not ((level > 0) & ~suppressed).any():
        return suppress_cells(values, suppressed & values.notna().to_numpy())
    position: dict[str, int] = {}
    codes = np.full(len(values), -1, dtype=np.int64)
    for step, labels in enumerate(sequence.labels):
        table = np.full(len(labels), -1, dtype=np.int64)
        for code, label in enumerate(labels):
            if label is not None:
                table[code] = position.setdefault(str(label), len(position))
        rows = level == step
        codes[rows] = table[sequence.codes[step][rows]]
    return categorical_column(codes, list(position), ordered=False, index=values.index)


def _coded(sequences: Sequence[Hierarchy], levels: np.ndarray) -> np.ndarray:
    """Codes of the recoded keys, int64, shape (n, m); 0 is missing by recoding."""
    coded = np.zeros(levels.shape, dtype=np.int64)
    for j, sequence in enumerate(sequences):
        offset = 1
        for step, codes in enumerate(sequence.codes):
            rows = levels[:, j] == step
            coded[rows, j] = offset + codes[rows]
            offset += len(sequence.labels[step])
    return coded


def _verified(codes: np.ndarray, number: np.ndarray, k: int) -> np.ndarray:
    """Number of the combination of each record, after a count of the households of each."""
    cell, n_cells = cell_ids(codes)
    distinct = np.unique(np.column_stack([cell, number]), axis=0)
    smallest = int(np.bincount(distinct[:, 0], minlength=n_cells).min())
    if smallest < k:
        raise GuaranteeError(
            f"local_recoding: a combination of the keys is left with {smallest} of {k}; the file "
            "has too few households that could be matched"
        )
    return np.asarray(cell, dtype=np.int64)


METHOD = ProtectionMethod(
    run=local_recoding,
    rank=80,
    title="Local recoding",
    question="Which rare records take the coarser values that they share with their nearest ones?",
    blind_spots=(
        "sensitive values that all records of a group share; intruders who know more than the keys"
    ),
    example={"keys": ["db040", "rb090", "pb190"], "k": 4},
    roles=roles_named("keys", "household", "household_variables", "household_keys"),
)
