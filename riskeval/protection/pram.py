"""Post-randomisation (PRAM): categories change at random by a known transition matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import Households, read_households
from riskeval.protection.methods import InvariantMatrix
from riskeval.protection.pram_matrix import (
    Pairs,
    invariant_matrix,
    keeps_frequencies,
    random_matrix,
    read_plan,
    with_options,
)
from riskeval.protection.result import Protected, categorical_column, protected
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.checks import check_columns, check_weights
from synthpop.microdata.frame.codes import cell_ids, encode, encode_keys, first_rows
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import Method
from synthpop.microdata.messages.text import formatted, plural
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.streams import Streams

TOLERANCE = 1e-9


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
    faults = Faults("pram")
    file = as_file(data, faults, household=household)
    frame, household = file.indexed, file.roles.household
    names = list(as_names(faults, columns, "columns"))
    by = [] if strata is None else list(as_names(faults, strata, "strata"))
    faults.raise_if_any()
    matrix = with_options(faults, matrix, {"min_diagonal": min_diagonal, "alpha": alpha})
    plan = read_plan(faults, frame, names, by, matrix, forbidden)
    weight = None
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        weight = check_weights(faults, frame[weights], weights)
        if not any(keeps_frequencies(kind) for kind, _ in plan.values()):
            faults.add("weights", "are used by invariant matrices only", hint="Leave them out.")
    streams = read_secret(faults, seed)
    homes = read_households(faults, file, names, declared=household_variables, strata=by)
    faults.raise_if_any()
    job = _Job(plan, _strata(frame, by), weight, homes, streams)
    released = frame.copy(deep=False)
    details: dict[str, Any] = {"matrices": {}, "transitions": {}, "expected_changes": {}}
    notes = homes.notes()
    for name in names:
        codes, levels = encode(frame[name])
        new, drawn = _perturbed(codes, levels, name, job, notes)
        released[name] = _recoded(frame[name], codes, new, levels)
        details["matrices"][name] = drawn.matrices
        details["transitions"][name] = _crossed(codes, new, levels)
        details["expected_changes"][name] = drawn.expected
    return protected(
        frame,
        released,
        names,
        method="pram",
        parameters={
            "columns": names, "matrix": {name: _plain(plan[name][0]) for name in names},
            "strata": by or None,
            "forbidden": {name: [list(pair) for pair in plan[name][1]] for name in names},
            "weights": weights, "household": household,
            "household_variables": list(household_variables),
        },
        seed=streams.seed,
        notes=notes,
        details=details,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Job:
    """What is asked: matrix and closed pairs by column, strata, weights, households, draws."""

    plan: Mapping[str, tuple[Any, list[tuple[Any, Any]]]]
    strata: tuple[list[str], np.ndarray]
    weight: np.ndarray | None
    homes: Households
    streams: Streams


@dataclass(frozen=True, eq=False)
class _Drawn:
    """New codes of a column, the matrices by stratum, expected changes, gap of the frequencies."""

    codes: np.ndarray
    matrices: dict[str, pd.DataFrame]
    expected: float
    gap: float


def _perturbed(
    codes: np.ndarray, levels: tuple[Any, ...], name: str, job: _Job, notes: list[str]
) -> tuple[np.ndarray, _Drawn]:
    """Return new codes of all records and what was drawn; add sentences about it to `notes`."""
    homes = job.homes
    if name in homes.variables:  # one row per household, then copied
        rows = homes.first_filled(codes >= 0)
        notes.append(
            message("{name}: once for each of {n}.", name=name, n=plural(len(homes), "household"))
        )
        drawn = _column(codes[rows], levels, rows, name, job)
        new = np.where(codes < 0, -1, drawn.codes[homes.number])
    else:
        drawn = _column(codes, levels, np.arange(len(codes)), name, job)
        new = drawn.codes
    notes.append(
        message(
            "{column}: {n} changes were expected.", column=name, n=formatted(drawn.expected, ".1f")
        )
    )
    if keeps_frequencies(job.plan[name][0]):
        what = "frequencies" if job.weight is None else message("weighted frequencies")
        notes.append(
            message(
                "Its {what} are kept in expectation (largest gap {gap}).",
                what=what,
                gap=formatted(drawn.gap, ".1g"),
            )
        )
    return new, drawn


def _column(
    codes: np.ndarray, levels: tuple[Any, ...], of_record: np.ndarray, name: str, job: _Job
) -> _Drawn:
    """Perturb a column, given by one row per record or a household (`of_record`)."""
    kind, pairs = job.plan[name]
    labels, groups = job.strata[0], job.strata[1][of_record]
    weight = None if job.weight is None else job.weight[of_record]
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
            rng = job.streams.at("pram", name, labels[group], "matrix")
            diagonal = rng.uniform(kind.min_diagonal, 1.0, len(used))
            closed_pairs = closed[np.ix_(used, used)]
            shares = masses[used] / max(masses.sum(), 1e-300)
            if keeps_frequencies(kind):
                table = invariant_matrix(shares, diagonal, kind.alpha, closed_pairs)
                gap = max(gap, float(np.abs(shares @ table - shares).max(initial=0.0)))
            else:
                table = kind.alpha * random_matrix(diagonal, closed_pairs)
                table += (1 - kind.alpha) * np.eye(len(used))
        else:
            used = np.arange(len(levels))
            table = kind
        if gap > TOLERANCE:
            raise GuaranteeError(f"pram: the matrix of {name!r} changes frequencies by {gap:.2g}")
        names = [levels[code] for code in used]
        matrices[labels[group]] = pd.DataFrame(table, index=names, columns=names)
        expected += float(counts[used] @ (1.0 - np.diag(table)))
        uniforms = job.streams.at("pram", name, labels[group], "draws").random(len(rows))
        limits = np.cumsum(table, axis=1)
        for position, code in enumerate(used):
            of_code = codes[rows] == code
            largest = np.flatnonzero(table[position] > 0)[-1]
            positions = np.searchsorted(limits[position], uniforms[of_code], side="right")
            new[rows[of_code]] = used[np.minimum(positions, largest)]
    return _Drawn(new, matrices, expected, gap)


def _strata(frame: pd.DataFrame, by: list[str]) -> tuple[list[str], np.ndarray]:
    if not by or not len(frame):
        return ["all"], np.zeros(len(frame), dtype=np.int64)
    coded = encode_keys(frame, by)
    groups, n_groups = cell_ids(coded.codes)
    labels = [
        ", ".join(
            "missing" if code < 0 else str(levels[code])
            for code, levels in zip(coded.codes[row], coded.levels, strict=True)
        )
        for row in first_rows(groups, n_groups)
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
    column = values.take(source)
    column.index = values.index
    return column


def _crossed(codes: np.ndarray, new: np.ndarray, levels: tuple[Any, ...]) -> pd.DataFrame:
    size = len(levels)
    filled = codes >= 0
    pairs = np.bincount(codes[filled].astype(np.int64) * size + new[filled], minlength=size * size)
    return pd.DataFrame(pairs.reshape(size, size), index=list(levels), columns=list(levels))


def _plain(kind: Any) -> Any:
    return kind.plain() if isinstance(kind, Method) else np.asarray(kind).tolist()


METHOD = ProtectionMethod(
    run=pram,
    rank=90,
    title="Post-randomisation (PRAM)",
    question="Which categories change at random, by probabilities that are published?",
    blind_spots=(
        "records whose category happens to stay; combinations that only the original person "
        "can have"
    ),
    example={"columns": ["pl030"]},
    roles={"columns": "pram"} | roles_named("strata", "household", "household_variables"),
)
