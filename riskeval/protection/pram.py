"""Post-randomisation (PRAM): categories change at random by a known transition matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from riskeval.protection.household import HouseholdRoles, read_households
from riskeval.protection.methods import MATRICES, InvariantMatrix, RandomMatrix
from riskeval.protection.pram_matrix import invariant_matrix, random_matrix
from riskeval.protection.result import (
    Protected,
    categorical_column,
    check_seed,
    own_frame,
    protected,
)
from synthpop.microdata.checks import check_choice, check_columns, check_weights
from synthpop.microdata.codes import cell_ids, encode, encode_keys
from synthpop.microdata.errors import Faults, GuaranteeError
from synthpop.microdata.frames import as_names
from synthpop.microdata.methods import TYPE, Method, read_method
from synthpop.microdata.native import same_library
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.text import plural

TOLERANCE = 1e-9
Pairs = Iterable[tuple[Any, Any]]


@same_library
def pram(
    data: Any,
    columns: str | Sequence[str],
    *,
    matrix: Literal["invariant", "random"] | InvariantMatrix | Any = "invariant",
    min_diagonal: float | None = None,
    alpha: float | None = None,
    strata: str | Sequence[str] | None = None,
    forbidden: Mapping[str, Pairs] | Pairs = (),
    weights: str | None = None,
    household: str | None = None,
    household_variables: Sequence[str] = (),
    seed: int | None = None,
) -> Protected:
    """Change categories at random, by transition probabilities that are known and published.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    columns : str or sequence of str
        Categorical columns; each is perturbed on its own.
    matrix : {"invariant", "random"}, InvariantMatrix, a matrix, or a mapping column -> one of these
        - "invariant": a matrix drawn so that the frequencies of the file are kept in expectation
          (see Notes); ``InvariantMatrix(min_diagonal, alpha)`` sets how much changes;
        - "random": the first stage of it alone; frequencies are not kept; with options
          ``RandomMatrix(min_diagonal, alpha)``;
        - a table as ``{"type": "invariant", "alpha": 0.3}``, which run files have;
        - a DataFrame (row and column labels are the categories) or an array of shape (L, L) in
          the order of the categories: row k has the probabilities of what category k becomes.

        Columns that a mapping does not name have "invariant".
    min_diagonal, alpha : float, 0 to 1, optional
        Options of a named matrix: ``pram(data, "sex", alpha=0.3)`` is
        ``matrix=InvariantMatrix(alpha=0.3)``.
    strata : str or sequence of str, optional
        Columns within whose combinations everything is done on its own; only categories that
        occur in a stratum are used there.
    forbidden : pairs (from, to), or a mapping column -> pairs
        Transitions that must not happen. In an invariant matrix the way back is closed too.
    weights : str, optional
        Column of weights: weighted frequencies are kept by the invariant matrix.
    household : str, optional
        Column of household ids. A column that is the same for all members (found, or declared as
        `household_variables`) is changed once a household, so that no member tells the value of
        another; its frequencies are then those of households (weight of the first member).
    household_variables : sequence of str, optional
        Columns that must have one value in each household.
    seed : int, optional
        Draws depend on the seed, the column and the stratum only.

    Returns
    -------
    Protected
        Types and order of categories stay; missing values stay missing. ``details``:
        ``matrices`` (column -> stratum -> DataFrame), ``transitions`` (column -> counts, from x
        to), ``expected_changes`` (column -> number).

    Raises
    ------
    InputError
        Unknown columns, a matrix that is not one of probabilities over all categories.
    GuaranteeError
        An invariant matrix does not keep the frequencies to 1e-9 (this is never expected).

    Notes
    -----
    Gouweleeuw, Kooiman, Willenborg and de Wolf (1998), Journal of Official Statistics 14, 463-478.
    First stage P: diagonal d_k uniform on [min_diagonal, 1], the rest of a row in equal parts.
    Second stage by Bayes, Q[j, k] = P[k, j] p_k / sum_l P[l, j] p_l, and R = alpha P Q +
    (1 - alpha) I, so that p R = p. As p_k R[k, l] = p_l R[l, k], a forbidden pair is taken out by
    moving both its probabilities to the diagonal, which leaves p R = p.

    Examples
    --------
    >>> people = pd.DataFrame({"walls": ["brick"] * 30 + ["wood"] * 10})
    >>> result = pram(people, "walls", seed=1)
    >>> matrix = result.details["matrices"]["walls"]["all"]
    >>> bool(np.allclose(np.array([30, 10]) @ matrix.to_numpy(), [30, 10]))
    True
    """
    frame = own_frame(data)
    faults = Faults("pram")
    names = list(as_names(faults, columns, "columns"))
    by = [] if strata is None else list(as_names(faults, strata, "strata"))
    faults.raise_if_any()
    matrix = _with_options(faults, matrix, {"min_diagonal": min_diagonal, "alpha": alpha})
    plan = _plan(faults, frame, names, by, matrix, forbidden)
    weight = None
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        weight = check_weights(faults, frame[weights], weights)
        if not any(_keeps_frequencies(kind) for kind, _ in plan.values()):
            faults.add("weights", "are used by invariant matrices only", remedy="Leave them out.")
    check_seed(faults, seed)
    homes = None
    for name in household_variables:
        check_choice(faults, "household_variables", name, names)
    if household_variables and household is None:
        faults.add("household_variables", "without a household", remedy="Give household.")
    if household is not None and not faults:
        homes = read_households(
            faults, frame, household, candidates=names, declared=list(household_variables),
            strata=by,
        )  # fmt: skip
    faults.raise_if_any()
    seed = resolve_seed(seed)
    labels, groups = _strata(frame, by)
    released = frame.copy(deep=False)
    matrices: dict[str, dict[str, pd.DataFrame]] = {}
    transitions, expected = {}, {}
    notes = [] if homes is None else homes.notes()
    for name in names:
        codes, levels = encode(frame[name])
        rows = np.arange(len(frame))
        if homes is not None and name in homes.variables:  # one row a household, then copied
            rows = _first_filled(codes, homes)
            notes.append(f"{name}: once for each of {plural(len(homes), 'household')}.")
        new, matrices[name], expected[name], gap = _column(
            codes[rows],
            levels,
            plan[name],
            groups[rows],
            labels,
            None if weight is None else weight[rows],
            Streams(seed),
            name,
        )
        if len(rows) < len(codes):
            assert homes is not None
            new = np.where(codes < 0, -1, new[homes.number])
        released[name] = _recoded(frame[name], codes, new, levels)
        transitions[name] = _crossed(codes, new, levels)
        notes.append(f"{name}: {expected[name]:.1f} changes were expected.")
        if _keeps_frequencies(plan[name][0]):
            what = "weighted frequencies" if weights is not None else "frequencies"
            notes.append(f"Its {what} are kept in expectation (largest gap {gap:.1g}).")
    return protected(
        frame,
        released,
        names,
        method="pram",
        parameters={
            "columns": names,
            "matrix": {name: _shown(plan[name][0]) for name in names},
            "strata": by or None,
            "forbidden": {name: [list(pair) for pair in plan[name][1]] for name in names},
            "weights": weights,
            "household": household,
            "household_variables": list(household_variables),
        },
        seed=seed,
        notes=notes,
        details={
            "matrices": matrices,
            "transitions": transitions,
            "expected_changes": expected,
        },
    )


def _with_options(faults: Faults, matrix: Any, options: Mapping[str, float | None]) -> Any:
    """Return a named matrix as a table with the options that stand beside it."""
    named = InvariantMatrix.type if matrix is None else matrix
    wanted = {name: value for name, value in options.items() if value is not None}
    if not wanted:
        return named
    if not isinstance(named, str):
        for name in wanted:
            remedy = "Give it to the matrix itself."
            faults.add(name, "is for a matrix that is named", remedy=remedy)
        return named
    return {TYPE: named, **wanted}


def _column(
    codes: np.ndarray,
    levels: tuple[Any, ...],
    plan: tuple[Any, list[tuple[Any, Any]]],
    groups: np.ndarray,
    labels: list[str],
    weight: np.ndarray | None,
    streams: Streams,
    name: str,
) -> tuple[np.ndarray, dict[str, pd.DataFrame], float, float]:
    kind, pairs = plan
    closed = np.zeros((len(levels), len(levels)), dtype=bool)
    for start, end in pairs:
        closed[levels.index(start), levels.index(end)] = True
    new = codes.astype(np.int64)
    matrices: dict[str, pd.DataFrame] = {}
    expected, gap = 0.0, 0.0
    order = np.argsort(groups, kind="stable")
    for group, rows in enumerate(np.split(order, np.cumsum(np.bincount(groups))[:-1])):
        rows = rows[codes[rows] >= 0]
        counts = np.bincount(codes[rows], minlength=len(levels)).astype(np.float64)
        masses = counts if weight is None else np.bincount(codes[rows], weight[rows], len(levels))
        used = np.flatnonzero(counts > 0)
        if isinstance(kind, InvariantMatrix):
            rng = streams.at("pram", name, labels[group], "matrix")
            diagonal = rng.uniform(kind.min_diagonal, 1.0, len(used))
            shut = closed[np.ix_(used, used)]
            shares = masses[used] / max(masses.sum(), 1e-300)
            if _keeps_frequencies(kind):
                table = invariant_matrix(shares, diagonal, kind.alpha, shut)
                gap = max(gap, float(np.abs(shares @ table - shares).max(initial=0.0)))
            else:
                table = kind.alpha * random_matrix(diagonal, shut)
                table += (1 - kind.alpha) * np.eye(len(used))
        else:
            used = np.arange(len(levels))
            table = kind
        if gap > TOLERANCE:
            raise GuaranteeError(f"pram: the matrix of {name!r} changes frequencies by {gap:.2g}")
        names = [levels[code] for code in used]
        matrices[labels[group]] = pd.DataFrame(table, index=names, columns=names)
        expected += float(counts[used] @ (1.0 - np.diag(table)))
        uniforms = streams.at("pram", name, labels[group], "draws").random(len(rows))
        limits = np.cumsum(table, axis=1)
        for place, code in enumerate(used):
            of_code = codes[rows] == code
            last = np.flatnonzero(table[place] > 0)[-1]
            drawn = np.searchsorted(limits[place], uniforms[of_code], side="right")
            new[rows[of_code]] = used[np.minimum(drawn, last)]
    return new, matrices, expected, gap


def _keeps_frequencies(kind: Any) -> bool:
    return isinstance(kind, InvariantMatrix) and not isinstance(kind, RandomMatrix)


def _first_filled(codes: np.ndarray, homes: HouseholdRoles) -> np.ndarray:
    """First record of each household that has a value; its first record where none has."""
    rows = homes.first.copy()
    filled = np.flatnonzero(codes >= 0)[::-1]
    rows[homes.number[filled]] = filled
    return rows


def _plan(
    faults: Faults,
    frame: pd.DataFrame,
    names: list[str],
    by: list[str],
    matrix: Any,
    forbidden: Mapping[str, Pairs] | Pairs,
) -> dict[str, tuple[Any, list[tuple[Any, Any]]]]:
    if not names or len(set(names)) < len(names):
        faults.add("columns", "are empty or name a column twice")
    fine = check_columns(faults, frame, dict.fromkeys(names), "column to perturb")
    check_columns(faults, frame, by, "strata")
    for column in set(by) & set(names):
        faults.add(column, "is perturbed and a stratum", remedy="Choose one of the two.")
    by_column = isinstance(matrix, Mapping) and (TYPE not in matrix or TYPE in names)
    of_column = matrix if by_column else dict.fromkeys(names, matrix)
    shut = (
        forbidden if isinstance(forbidden, Mapping) else {name: list(forbidden) for name in names}
    )
    for mapping, argument in ((of_column, "matrix"), (shut, "forbidden")):
        for name in mapping:
            if name not in names:
                faults.add(argument, f"{name!r} is not among the columns")
    if not fine:
        return {}
    plan = {}
    for name in names:
        levels = encode(frame[name])[1]
        pairs = [tuple(pair) for pair in shut.get(name, [])]
        for pair in pairs:
            if len(pair) != 2 or pair[0] not in levels or pair[-1] not in levels:
                faults.add(f"forbidden[{name!r}]", f"{pair} is no pair of its categories")
        kind = of_column.get(name, InvariantMatrix.type)
        if isinstance(kind, (str, Mapping, Method)):
            kind = read_method(faults, f"matrix[{name!r}]", kind, MATRICES)
        else:
            kind = _read_matrix(faults, name, kind, levels, pairs)
        plan[name] = (kind, [(pair[0], pair[-1]) for pair in pairs])
    return plan


def _read_matrix(
    faults: Faults, name: str, matrix: Any, levels: tuple[Any, ...], pairs: list[tuple[Any, ...]]
) -> np.ndarray:
    where = f"matrix[{name!r}]"
    size = len(levels)
    if isinstance(matrix, pd.DataFrame):
        if set(matrix.index) != set(levels) or set(matrix.columns) != set(levels):
            faults.add(where, "its labels are not the categories", remedy=f"They are {levels}.")
            return np.eye(size)
        matrix = matrix.loc[list(levels), list(levels)]
    try:
        table = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.zeros((0, 0))
    if table.shape != (size, size):
        faults.add(
            where,
            f"has shape {table.shape}, the column has {plural(size, 'category', 'categories')} "
            f"{levels}",
        )
        return np.eye(size)
    if not np.isfinite(table).all() or (table < 0).any():
        faults.add(where, "has entries that are no probabilities")
    elif np.abs(table.sum(axis=1) - 1).max() > 1e-6:
        faults.add(
            where,
            "has rows that do not sum to 1",
            rows=np.flatnonzero(np.abs(table.sum(axis=1) - 1) > 1e-6),
        )
    known = [pair for pair in pairs if len(pair) == 2 and {*pair} <= {*levels}]
    for start, end in known:
        if table[levels.index(start), levels.index(end)] > 0:
            faults.add(where, f"allows the forbidden transition {(start, end)}")
    return table


def _strata(frame: pd.DataFrame, by: list[str]) -> tuple[list[str], np.ndarray]:
    if not by or not len(frame):
        return ["all"], np.zeros(len(frame), dtype=np.int64)
    coded = encode_keys(frame, by)
    groups, n_groups = cell_ids(coded.codes, [len(levels) for levels in coded.levels])
    first = np.zeros(n_groups, dtype=np.int64)
    first[groups] = np.arange(len(groups))
    labels = [
        ", ".join(
            "missing" if code < 0 else str(levels[code])
            for code, levels in zip(coded.codes[row], coded.levels, strict=True)
        )
        for row in first
    ]
    often = Counter(labels)
    labels = [f"{text} ({j})" if often[text] > 1 else text for j, text in enumerate(labels)]
    return labels, groups


def _recoded(
    values: pd.Series, codes: np.ndarray, new: np.ndarray, levels: tuple[Any, ...]
) -> pd.Series:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return categorical_column(new, levels, ordered=bool(values.cat.ordered), index=values.index)
    first = np.zeros(len(levels) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    source = np.where(new == codes, np.arange(len(codes)), first[new])
    taken = values.take(source)
    taken.index = values.index
    return taken


def _crossed(codes: np.ndarray, new: np.ndarray, levels: tuple[Any, ...]) -> pd.DataFrame:
    size = len(levels)
    known = codes >= 0
    pairs = np.bincount(codes[known].astype(np.int64) * size + new[known], minlength=size * size)
    return pd.DataFrame(pairs.reshape(size, size), index=list(levels), columns=list(levels))


def _shown(kind: Any) -> Any:
    return kind.plain() if isinstance(kind, Method) else np.asarray(kind).tolist()
