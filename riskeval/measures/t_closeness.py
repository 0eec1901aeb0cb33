"""t-closeness: how far the sensitive values of a group are from those of the whole file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import check_treatment, key_table
from riskeval.measures.entry import Measure, missing_note, person_risk, run_on
from riskeval.measures.request import AssessRequest
from riskeval.measures.sensitive_groups import (
    MOST_CODES,
    Segments,
    category_notes,
    check_sensitive,
    household_note,
    once_a_household,
    per_cell,
)
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.frames import is_number, n_columns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, plural
from synthpop.microdata.roles.microdata import as_file

Hierarchy = Mapping[Any, Sequence[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class TCloseness(Result):
    """Distance between the sensitive values of each group and those of the file.

    Attributes
    ----------
    t : float
        Largest distance over the groups, from 0 (same distribution) to 1: the file is t-close.
    per_record : DataFrame, n rows
        For each sensitive variable, the distance of the group of each record.
    distance : dict of str to str
        For each variable "equal", "ordered" or "hierarchical".
    keys : tuple of str
    missing : str
    notes : tuple of str
        What to check before the numbers are used.
    """

    t: float
    per_record: pd.DataFrame
    distance: dict[str, str]
    keys: tuple[str, ...]
    missing: str
    notes: tuple[str, ...] = ()

    def violations(self, t: float) -> dict[str, int]:
        """Number of records whose group is further than `t`, for each sensitive variable."""
        limit = t + 1e-12
        return {str(name): int((self.per_record[name] > limit).sum()) for name in self.per_record}

    def to_frame(self) -> pd.DataFrame:
        """`per_record`."""
        return self.per_record

    def summary(self) -> str:
        """Return the largest distance and what it means."""
        largest = [
            message(
                "{name} ({kind} distance): at most {max}",
                name=name,
                kind=message(kind),
                max=number(self.per_record[name].max()),
            )
            for name, kind in self.distance.items()
            if len(self.per_record)
        ]
        text = message(
            "The file satisfies t-closeness with t = {t}: within any group of records that "
            "share the keys, the distribution of the sensitive value differs from that of "
            "the file by at most this earth mover's distance (0: nothing is learned; 1: "
            "everything). By variable: {largest}. There is no agreed limit: it is a "
            "decision of the office (Li et al. 2007).",
            t=number(self.t),
            largest=joined_by("; ", largest),
        )
        return joined_by(" ", [text, *self.notes])


@same_library
def t_closeness(
    data: Any,
    keys: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    *,
    distance: str | Hierarchy | Mapping[str, str | Hierarchy] | None = None,
    missing: str = "own-category",
    household: str | None = None,
) -> TCloseness:
    """Measure the earth mover's distance between each group and the file (Li et al. 2007).

    Parameters
    ----------
    data, keys, sensitive
        The file and its roles: see `Microdata`.
    distance : {"equal", "ordered"}, hierarchy, or dict of variable to one of these, optional
        "equal": all values are equally far apart. "ordered": values are equally spaced in their
        order. A hierarchy maps each value to its ancestors, nearest first, all of the same
        number; two values are as far apart as the height of their lowest common ancestor (the
        root, above all, need not be named). None: "ordered" for numbers and ordered
        categories, "equal" for others.
    missing : str, default "own-category"
        Treatment of missing keys: see `frequency_counts`. By default a group are the records with
        the same key pattern, where missing is a category, as in sdcMicro.
    household : str, optional
        Column of household ids: in a group a household counts once with each value.

    Returns
    -------
    TCloseness
        Missing sensitive values are left out, of the groups and of the file; a group without any
        value has distance 0. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, a distance that does not fit the variable, values without ancestors.

    Notes
    -----
    Li, Li and Venkatasubramanian (2007), doi:10.1109/ICDE.2007.367856. Equal: half the sum of
    absolute differences. Ordered with m values: sum of absolute differences of the cumulative
    distributions, divided by m - 1. Hierarchical with heights 0 ... H: the cost of the paper
    equals 1/(2H) times the sum over all nodes below the root of their absolute differences.

    Examples
    --------
    The two groups of the paper:

    >>> import pandas as pd
    >>> salary = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    >>> data = pd.DataFrame({"zip": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": salary})
    >>> result = t_closeness(data, ["zip"], "salary")
    >>> result.per_record["salary"].round(3).tolist()[:4]
    [0.375, 0.375, 0.375, 0.167]
    """
    faults = Faults("t-closeness")
    file = as_file(data, faults, keys=keys, sensitive=sensitive, household=household, columns=())
    check_treatment(faults, missing)
    variables = check_sensitive(faults, file)
    kinds_asked = _distances(faults, file.frame, variables, distance)
    faults.raise_if_any()
    table = key_table(file)
    homes = None if file.roles.household is None else file.household_index
    columns, kinds = {}, {}
    for name in variables:
        codes, levels = file.codes(name)
        kind = kinds_asked[name]
        kinds[name] = kind if isinstance(kind, str) else "hierarchical"
        measured = distance_of(codes.astype(np.int64), levels, kind)
        values = once_a_household(table, measured.codes, homes)
        cells = per_cell(table, values, measured.n_values, missing, measured, 1)
        columns[name] = cells[table.cell, 0]
    per_record = pd.DataFrame(columns)
    largest = float(per_record.to_numpy().max()) if len(per_record) else 0.0
    notes = (*_scale_notes(file.frame, kinds, distance), *household_note(homes))
    return TCloseness(largest, per_record, kinds, file.roles.keys, missing, notes)


def _scale_notes(frame: pd.DataFrame, kinds: Mapping[str, str], distance: Any) -> tuple[str, ...]:
    """Say which few-valued numbers were taken as amounts, and which amounts as categories."""
    notes = []
    for name, kind in kinds.items():
        n_values = frame[name].nunique()
        guessed = distance is None and kind == "ordered" and is_number(frame[name])
        if guessed and 2 < n_values <= MOST_CODES:
            notes.append(
                message(
                    "{name} holds {n} distinct numbers and was taken as an amount (ordered "
                    'distance). If they are codes of categories, give distance="equal" or make the '
                    "column categorical.",
                    name=name,
                    n=n_values,
                )
            )
    unordered = [name for name, kind in kinds.items() if kind == "equal"]
    return (*notes, *category_notes(frame, unordered))


@dataclass(frozen=True, slots=True, eq=False)
class GroupDistance:
    """Distance of groups from the file, for one variable and one kind of distance."""

    codes: np.ndarray
    n_values: int
    q: np.ndarray
    node_of: np.ndarray | None

    def __call__(self, segments: Segments) -> np.ndarray:
        """Return the distance of each group."""
        from riskeval.kernels.diversity import group_ordered_distance, group_tree_distance

        distances = np.zeros(len(segments.cells))
        if self.node_of is None:
            below = np.cumsum(self.q)
            summed = np.concatenate([[0.0], np.cumsum(below)])
            group_ordered_distance(*segments.arrays, below, summed, distances)
            return distances
        n_nodes = int(self.node_of.max()) + 1
        q = np.stack([np.bincount(row, weights=self.q, minlength=n_nodes) for row in self.node_of])
        group_tree_distance(*segments.arrays, self.node_of, q, distances)
        return distances


def distance_of(codes: np.ndarray, levels: tuple[Any, ...], kind: str | Hierarchy) -> GroupDistance:
    """Drop levels that no record has, then set up the distance."""
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    present = np.flatnonzero(counts)
    position = np.full(len(levels) + 1, MISSING)
    position[present] = np.arange(len(present))
    q = counts[present] / max(counts.sum(), 1)
    n = max(len(present), 1)
    q = q if len(present) else np.ones(1)
    if kind == "ordered":
        node_of = None
    elif kind == "equal":
        node_of = np.arange(n)[None, :]
    else:
        paths = [[levels[v], *kind[levels[v]]] for v in present]
        depth = len(next(iter(kind.values()))) + 1  # type: ignore[union-attr]
        if depth > 1 and len({path[-1] for path in kind.values()}) == 1:  # type: ignore[union-attr]
            depth -= 1  # the root is named
        node_of = np.zeros((depth, n), dtype=np.int64)
        for h in range(depth):
            above = [tuple(path[h:]) for path in paths]  # a node is its way to the root
            numbers = {node: i for i, node in enumerate(dict.fromkeys(above))}
            node_of[h, : len(above)] = [numbers[node] for node in above]
    return GroupDistance(position[codes], n, q, node_of)


def _distances(
    faults: Faults,
    frame: pd.DataFrame,
    variables: tuple[str, ...],
    distance: str | Hierarchy | Mapping[str, str | Hierarchy] | None,
) -> dict[str, str | Hierarchy]:
    by_variable: dict[str, str | Hierarchy] = {}
    named = isinstance(distance, Mapping) and bool(distance) and set(distance) <= set(variables)
    by_name: Any = distance if named else None
    for name in variables:
        if n_columns(frame.columns, name) != 1:
            continue
        kind: Any = distance if by_name is None else by_name.get(name)
        if kind is None:
            kind = kind_of(frame[name])
        if isinstance(kind, Mapping):
            _check_hierarchy(faults, frame[name], name, kind)
        elif kind not in ("equal", "ordered"):
            hint = did_you_mean(kind, ["equal", "ordered", "a hierarchy"])
            faults.add("distance", message("{value} is not allowed", value=repr(kind)), hint=hint)
        by_variable[name] = kind
    return by_variable


def kind_of(values: pd.Series) -> str:
    """Return the distance of a variable for which none is named."""
    by_type = isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered
    ordered = by_type or is_number(values)
    return "ordered" if ordered else "equal"


def _check_hierarchy(faults: Faults, values: pd.Series, name: str, hierarchy: Hierarchy) -> None:
    present = [value for value in values.dropna().unique().tolist() if value not in hierarchy]
    if present:
        faults.add(
            "distance",
            f"no ancestors for {plural(len(present), 'value')} of {name!r}: {present[:5]}",
            hint="Give every value its ancestors, nearest first.",
        )
    lengths = {len(path) for path in hierarchy.values() if not isinstance(path, str)}
    if len(lengths) != 1 or any(isinstance(path, str) for path in hierarchy.values()):
        faults.add(
            "distance",
            f"the values of {name!r} have different numbers of ancestors",
            hint="Give each value a tuple of the same length; repeat a level that is missing.",
        )


T = person_risk(
    "t_closeness", "t", "value",
    "distance of the group that differs most from the file, from 0 to 1",
    "Li, Li and Venkatasubramanian 2007", single=True,
)  # fmt: skip


def of_closeness(result: TCloseness, request: AssessRequest) -> list[Measurement]:
    """Largest distance of each sensitive variable."""
    note = missing_note(request, result.missing)
    return [
        request.measured(
            T,
            float(result.per_record[name].max()) if len(result.per_record) else 0.0,
            target=name,
            limit=request.limits.t,
            limit_source=message("as asked"),
            note=message("{kind} distance", kind=message(kind)),
        ).noted(note, *result.notes)
        for name, kind in result.distance.items()
    ]


MEASURE = Measure(
    name="t_closeness",
    rank=110,
    title="t-closeness",
    question="How much does the key tell about a sensitive value?",
    blind_spots=(
        "gains that the distance hides: a rare value may become many times likelier and move "
        "it little"
    ),
    source="Li, Li and Venkatasubramanian 2007",
    function=t_closeness,
    run=run_on("t_closeness", t_closeness),
    measurements=of_closeness,
    needs=("sensitive",),
    options=("distance", "missing"),
    infos=(T,),
)
