"""Microaggregation: groups of at least k similar records share their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from riskeval.protection.aggregating import group_levels, group_sizes, group_values, squares_lost
from riskeval.protection.amount_targets import AMOUNT_TARGETS, Strength, read_amount_targets
from riskeval.protection.entry import OF_NUMBERS, ProtectionMethod, roles_named
from riskeval.protection.household.groups import household_note, joined_until, with_households
from riskeval.protection.household.once import ONE_BY_ONE, NumbersLayer, read_layer, with_known
from riskeval.protection.methods import (
    AGGREGATES,
    GROUPINGS,
    Aggregate,
    GowerGroups,
    GroupingMethod,
    MdavGroups,
    MeanValue,
    SingleAxisGroups,
    TrimmedMean,
)
from riskeval.protection.numeric import (
    INTEGERS,
    check_strata,
    numeric_names,
    put_numbers,
    read_numbers,
    strata_of,
    type_notes,
    with_signs,
)
from riskeval.protection.partition import Job, group_all, group_each, is_ordered, one_column
from riskeval.protection.result import Protected, categorical_column, protected
from riskeval.recovery.columns import names_of
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.checks import check_columns, check_weights
from synthpop.microdata.frame.codes import encode, encode_keys
from synthpop.microdata.frame.frames import as_names, as_numbers, is_number, numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import read_method
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.roles.microdata import Microdata, as_file

if TYPE_CHECKING:
    from riskeval.protection.targets import Constraints

DRAWING = ("robust-pca", "mahalanobis", "cluster", "gower")
PARAMETERS = {"k": Whole(1), "integers": INTEGERS}


@same_library
def microaggregate(
    data: Any,
    variables: Sequence[str] | None = None,
    *,
    k: int = 3,
    method: Literal[
        "mdav",
        "single",
        "individual",
        "univariate-optimal",
        "pca",
        "robust-pca",
        "mahalanobis",
        "cluster",
        "gower",
    ]
    | GroupingMethod
    | Mapping[str, Any] = "mdav",
    strata: str | Sequence[str] | None = None,
    aggregate: Literal["mean", "median", "trimmed"] | Aggregate | Mapping[str, Any] = "mean",
    weights: str | None = None,
    integers: Literal["real", "round"] = "real",
    household: str | None = None,
    household_variables: Sequence[str] = (),
    household_keys: Sequence[str] = (),
    components: Mapping[str, Sequence[str]] | None = None,
    keep_signs: Sequence[str] = (),
    targets: Mapping[str, float] | None = None,
    seed: int | None = None,
) -> Protected:
    """Put similar records into groups of at least k and give each group one value per variable.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    variables : names of numeric columns
        "gower" takes any columns; a column of numbers counts as numbers there, so make codes
        categorical first.
    k : int
        Smallest group, at least 1.
    method : str or GroupingMethod
        Groups over all variables at once: "mdav" (maximum distance to average vector, on
        standardised values), "mahalanobis" (MDAV with robust Mahalanobis distances), "single"
        (neighbours in the order of one column), "pca", "robust-pca" (neighbours along the first
        principal component), "cluster" (k-means, then groups inside the clusters), "gower" (MDAV
        for numbers and levels side by side). Each variable for itself: "individual" (ranking),
        "univariate-optimal" (least information loss, exactly).

        Options of one method are those of its object: ``MdavGroups`` and ``MahalanobisGroups``
        (`block`, for millions of records), ``SingleAxisGroups`` (`axis`), ``ClusterGroups``
        (`clusters`, `within`), ``GowerGroups`` (`distance`, `zeros`); or a table as
        ``{"type": "cluster", "clusters": 4}``, which run files have.
    strata : column or columns, optional
        Groups do not span strata, and values are standardised within them. Strata with fewer
        than k complete records are pooled; this is noted.
    aggregate : {"mean", "median", "trimmed"} or TrimmedMean
        What a group of numbers gets; "trimmed" drops a fifth at each end, ``TrimmedMean(share)``
        another share. Ordered levels get their lower median, other levels the most frequent one
        ("gower").
    weights : column, optional
        Weighted means, which keep weighted totals.
    integers : {"real", "round"}
        Columns of whole numbers become reals when a group value is not whole, or it is rounded.
    household : str, optional
        Column of household ids. A variable that is the same for all members (found, or declared
        as `household_variables`) is masked once a household and copied to all members, so that it
        cannot be averaged; the other variables are masked person by person afterwards. `k` then
        counts households: a group with members of fewer joins the nearest one.
    household_variables : sequence of str, optional
        Variables that must have one value in each household.
    household_keys : sequence of str, optional
        Variables that an intruder knows of all members: at least k households of the same size
        share all these values. Households of a size that fewer than k have take the values of the
        nearest persons; this is noted.
    components : mapping, optional
        Total -> its parts. Where they add up before they add up afterwards: the total follows
        its parts, or, if the parts are not variables here, they change in proportion to it.
    keep_signs : sequence of str, optional
        Variables of which negative, zero and positive values never share a group, so that zeros
        stay zero; signs that too few records share are pooled, and their number is noted.
    targets : mapping, optional
        What the result must hold beside k. Of records with equal values, as in `local_suppression`
        (``{"distinct_l: ill": 2}``): groups that fail are joined. Of amounts, as in `add_noise`
        (``{"record_linkage": 0.1}``): the smallest size from `k` on at which the file holds them.
    seed : int, optional
        Of robust estimates, clusters and ties between levels; recorded if anything is drawn.

    Returns
    -------
    Protected
        ``details``: ``groups`` (group of each record, -1 for none; one column per variable for the
        methods that take each for itself), ``group_sizes`` (number of groups by size),
        ``information_loss`` (100 SSE / SST on standardised variables, records without missing
        values), ``targets`` (records that fail each, counted on the released values).

    Raises
    ------
    InputError
        Faulty columns or options, an option that the method does not have, fewer than k complete
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
    faults = Faults("microaggregate")
    grouping = read_method(faults, "method", method, GROUPINGS)
    file = _file_for(data, faults, household, grouping)
    frame, names = file.indexed, numeric_names(faults, file, variables)
    average = read_method(faults, "aggregate", aggregate, AGGREGATES)
    check(faults, PARAMETERS, {"k": k, "integers": integers})
    _check_options(faults, k, grouping, average, weights)
    streams = read_secret(faults, seed)
    layer = read_layer(
        faults, file, names, household_variables=household_variables,
        components=components, strata=strata, keep_signs=keep_signs,
    )  # fmt: skip
    layer = with_known(faults, layer, household_keys, k, grouping)
    check_strata(faults, frame, strata)
    _check_columns(faults, frame, names, grouping, weights)
    of_amounts = {name: x for name, x in (targets or {}).items() if name in AMOUNT_TARGETS}
    of_groups = {name: x for name, x in (targets or {}).items() if name not in AMOUNT_TARGETS}
    constraints = _read_targets(faults, file, names, of_groups, layer, grouping)
    wanted = read_amount_targets(faults, frame, names, of_amounts)
    if of_amounts and any(name in frame and not is_number(frame[name]) for name in names):
        faults.add("targets", f"{', '.join(of_amounts)}: of numbers only", hint="Leave them out.")
    if isinstance(grouping, GowerGroups) and layer.asks:
        faults.add("household, components, keep_signs", "are not for method 'gower'")
    faults.raise_if_any()
    assert grouping is not None
    assert average is not None
    drawn = streams.seed if grouping.type in DRAWING else None
    parameters = {
        "method": grouping.plain(), "strata": strata, "aggregate": average.plain(),
        "weights": weights, "integers": integers, "keep_signs": list(layer.keep_signs),
        "seed": drawn,
    }  # fmt: skip

    def at(size: float) -> Protected:
        k = int(size)

        def run(table: pd.DataFrame, some: list[str], members: np.ndarray | None) -> Protected:
            job = Job(tuple(some), k, grouping, average, streams)
            if constraints:
                once = members is None and layer.homes.column is not None  # a row per household
                job.fails = partial(_fails, constraints, layer.homes.number if once else None)
            return _grouped(table, members, {"variables": some, "k": k, **parameters}, job)

        result = replace(layer, k=k).run(run)
        before, after = (encode_keys(one, list(names)).codes for one in (frame, result.data))
        return constraints.verified(result, before, after)

    if not wanted:
        return at(k)
    return wanted.weakest(at, Strength("k", k, max(len(frame) // 2, k + 1), whole=True))


def _read_targets(
    faults: Faults,
    file: Microdata,
    names: Sequence[str],
    targets: Mapping[str, float] | None,
    layer: NumbersLayer,
    grouping: GroupingMethod | None,
) -> Constraints:
    """Return what must hold for records that share their values, as far as they have them."""
    from riskeval.protection.targets import read_constraints

    constraints = read_constraints(faults, file, names, targets)
    if constraints and grouping is not None and grouping.type in ONE_BY_ONE:
        what = f"need groups of all variables, which {grouping.type!r} does not make"
        faults.add("targets", what, hint="Take method='mdav'.")
    if constraints and layer.household_keys:
        faults.add("targets", "are not for household_keys", hint="Give one of the two.")
    return replace(constraints, missing="visible")


def _fails(constraints: Constraints, number: np.ndarray | None, groups: np.ndarray) -> np.ndarray:
    """Rows in a group that fails a target; number: household of each record, of a row each."""
    if number is None:
        return constraints.groups_fail(groups)
    return np.bincount(number[constraints.groups_fail(groups[number])], minlength=len(groups)) > 0


def _file_for(
    data: Any, faults: Faults, household: str | None, grouping: GroupingMethod | None
) -> Microdata:
    """Return the file; Gower's distance, which knows no households, leaves those of roles aside."""
    file = as_file(data, faults, household=household)
    by_gower = isinstance(grouping, GowerGroups) and household is None
    return file.with_roles(household=None) if by_gower else file


def _check_options(
    faults: Faults, k: int, grouping: GroupingMethod | None, average: Aggregate | None,
    weights: str | None,
) -> None:  # fmt: skip
    """Note options that do not go together."""
    block = grouping.block if isinstance(grouping, MdavGroups) else None
    if block is not None and Whole(1).allows(k) and block < 2 * k:
        faults.add("method: block", f"is {block}", hint=f"Give at least 2 k = {2 * k}.")
    if weights is not None and average is not None and not isinstance(average, MeanValue):
        faults.add("weights", f"are not used by aggregate {average.type!r}")


def _check_columns(
    faults: Faults, frame: pd.DataFrame, names: Sequence[str], grouping: GroupingMethod | None,
    weights: str | None,
) -> None:  # fmt: skip
    """Note columns that cannot be grouped, compared, sorted by or used as weights."""
    if isinstance(grouping, GowerGroups):
        _check_mixed(faults, frame, names, grouping)
    else:
        read_numbers(faults, frame, names, "variable")
    if isinstance(grouping, SingleAxisGroups) and grouping.axis is not None:
        read_numbers(faults, frame, [grouping.axis], "column to sort by")
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        check_weights(faults, frame[weights], weights)


def _check_mixed(
    faults: Faults, frame: pd.DataFrame, names: Sequence[str], grouping: GowerGroups
) -> None:
    """Note columns that cannot be grouped by their levels and numbers, or compared."""
    near = names
    if grouping.distance is not None:
        near = as_names(faults, grouping.distance, "distance")
    fine = check_columns(faults, frame, names, "variable")
    fine = check_columns(faults, frame, near, "variable of the distance") and fine
    for name in names_of(grouping.zeros):
        if name not in near:
            faults.add("zeros", f"{name!r} is not among the columns of the distance")
        elif fine and not is_number(frame[name]):
            faults.add("zeros", f"{name!r} is not numeric")
    for name in dict.fromkeys([*names, *near]) if fine else ():
        if is_number(frame[name]):
            read_numbers(faults, frame, [name], "variable")


def _grouped(
    frame: pd.DataFrame, members: np.ndarray | None, parameters: dict[str, Any], job: Job
) -> Protected:
    """Group the records (of at least k households, where members are given) and fill values in."""
    names, weights = job.names, parameters["weights"]
    ids, job.strata = strata_of(frame, parameters["strata"])
    signed = [name for name in parameters["keep_signs"] if name in names]
    if signed:
        ids, job.strata = with_signs(ids, job.strata, numbers(frame, signed))
    if isinstance(job.grouping, SingleAxisGroups) and job.grouping.axis is not None:
        job.axis = as_numbers(frame[job.grouping.axis])
    if weights is not None:
        job.weights = as_numbers(frame[weights])
    values = np.column_stack([one_column(frame[name]) for name in names])
    released = frame.copy(deep=False)
    if job.method in ONE_BY_ONE:
        groups = group_each(values, ids, job)
        if members is not None:
            columns = zip(values.T, groups.T, strict=True)
            groups = np.column_stack(
                [with_households(x[:, None], of, members, ids, job.k) for x, of in columns]
            )
        shown: Any = pd.DataFrame(groups, columns=list(names), index=frame.index)
    else:
        joined = group_all(frame, values, ids, job)
        if members is not None:
            joined = with_households(values, joined, members, ids, job.k)
        if job.fails is not None:
            joined = joined_until(_places(frame, values, job), joined, ids, job.fails)
        shown, groups = joined, joined[:, None]
    loss = _filled(frame, released, values, groups, job, parameters["integers"])
    in_households = [] if members is None else [household_note(groups, members, job.k)]
    return protected(
        frame,
        released,
        names,
        method="microaggregate",
        parameters=parameters,
        seed=parameters["seed"],
        notes=[
            *_verified(job, frame, released, groups),
            *in_households,
            f"Information loss {loss:.4g} % of the variance.",
            *dict.fromkeys(job.notes),
            *type_notes(frame, released, names),
        ],
        details={"groups": shown, "group_sizes": group_sizes(groups), "information_loss": loss},
    )


def _places(frame: pd.DataFrame, values: np.ndarray, job: Job) -> np.ndarray:
    """Numbers and ordered codes, and for each level of other columns whether it is there."""
    columns = []
    for j, name in enumerate(job.names):
        nominal = job.method == "gower" and not (is_number(frame[name]) or is_ordered(frame[name]))
        levels = np.unique(values[:, j]) if nominal else ()
        columns += [values[:, j] == level for level in levels] if nominal else [values[:, j]]
    return np.column_stack(columns).astype(np.float64)


def _filled(
    frame: pd.DataFrame, released: pd.DataFrame, values: np.ndarray, groups: np.ndarray,
    job: Job, integers: str,
) -> float:  # fmt: skip
    """Put group values in place, groups of shape (n, p); return the loss of the numbers."""
    loss_sum = total = 0.0
    filled = (groups >= 0) & ~np.isnan(values)
    compared = filled
    if job.method not in ONE_BY_ONE:  # the loss is that of complete records
        compared = np.broadcast_to(filled.all(axis=1)[:, None], values.shape)
    for j, name in enumerate(job.names):
        group = np.broadcast_to(groups, values.shape)[:, j]
        if job.method == "gower" and not is_number(frame[name]):
            released[name] = _levels(frame[name], group, filled[:, j], job)
            continue
        new = _aggregated(values[:, j], group, filled[:, j], job)
        released[name] = put_numbers(frame[name], new, filled[:, j], integers=integers)
        rows = compared[:, j]
        loss = squares_lost(values[rows, j], new[rows])
        loss_sum, total = loss_sum + loss[0], total + loss[1]
    return 100.0 * loss_sum / total if total else 0.0


def _aggregated(values: np.ndarray, groups: np.ndarray, filled: np.ndarray, job: Job) -> np.ndarray:
    """Group values at filled cells, float64, shape (n,)."""
    new = np.full(len(values), np.nan)
    if filled.any():
        weights = None if job.weights is None else job.weights[filled]
        by_group = group_values(
            values[filled],
            groups[filled],
            aggregate=job.average.type,
            trim=job.average.share if isinstance(job.average, TrimmedMean) else 0.0,
            weights=weights,
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
    column = values.copy()
    column.iloc[np.flatnonzero(filled)] = [levels[code] for code in new[filled]]
    return column


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
        complete = (groups[:, 0] >= 0) & frame[list(job.names)].notna().all(axis=1).to_numpy()
        if complete.any():
            combinations = released.loc[complete].groupby(
                list(job.names), observed=True, sort=False
            )
            least.append(int(combinations.size().min()))
        what = "each released combination of values is shared by at least {} records."
    if not least:
        return [message("There was nothing to group.")]
    smallest = min(least)
    if smallest < job.k:  # nothing is claimed that does not hold
        raise AssertionError(f"a group of {smallest} records was released, k is {job.k}")
    return ["Counted afterwards: " + what.format(smallest)]


METHOD = ProtectionMethod(
    run=microaggregate,
    rank=120,
    title="Microaggregation",
    question="Which groups of k similar records share one value for each number?",
    blind_spots=(
        "numbers that are not named; records whose group is narrow, so that its value is near"
        " to their own"
    ),
    example={"variables": ["hincome", "eqIncome"], "k": 4},
    roles=OF_NUMBERS | roles_named("strata"),
)
