"""Checks before anything is computed: margins against each other, the sample and the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthpop.calibration.controls import Controls
from synthpop.calibration.problem import Problem
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import number

SHOWN = 8
NULL_SPACE_CONTROLS = 800
LSQR_STEPS = 400
LEAST_SQUARES = 2  # LSQR's word for: solved, but not exactly solvable


def check_sums(controls: Controls, tolerance: float, faults: Faults) -> None:
    """Note margins whose totals differ over the same persons.

    Two margins of one level that must both be met are compared in every combination of the
    categories they share (without any: as a whole) in which they cover the same persons of the
    sample. Sums whose relative difference is within `tolerance` are the same number.
    """
    n_margins = len(controls.names)
    covers = [bool((cell >= 0).all()) for cell in controls.cells]
    for i in range(n_margins):
        for j in range(i + 1, n_margins):
            if _comparable(controls, i, j):
                _compare(controls, i, j, covers, tolerance, faults)


def _comparable(controls: Controls, i: int, j: int) -> bool:
    importances = [controls.importance[controls.margin == m] for m in (i, j)]
    return (
        controls.household_level[i] == controls.household_level[j]
        and controls.variables[i] == controls.variables[j]
        and all(len(part) > 0 and bool(np.isinf(part).all()) for part in importances)
    )


def _shared_keys(controls: Controls, i: int, j: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Number the combinations of shared categories: one array over the cells of each margin."""
    shared = [name for name in controls.columns[i] if name in controls.columns[j]]
    parts = [
        controls.keys[m][:, [controls.columns[m].index(name) for name in shared]] for m in (i, j)
    ]
    _, ids = np.unique(np.vstack(parts), axis=0, return_inverse=True)
    ids = ids.reshape(-1) if shared else np.zeros(sum(len(p) for p in parts), dtype=np.int64)
    return ids[: len(parts[0])], ids[len(parts[0]) :], int(ids.max(initial=-1)) + 1


def _compare(
    controls: Controls, i: int, j: int, covers: list[bool], tolerance: float, faults: Faults
) -> None:
    keys_i, keys_j, n_keys = _shared_keys(controls, i, j)
    start = [int(np.searchsorted(controls.margin, m)) for m in (i, j)]
    same_persons = np.ones(n_keys, dtype=bool)
    if not (covers[i] and covers[j]):
        inside = [
            np.where(controls.cells[m] >= 0, keys[np.maximum(controls.cells[m] - first, 0)], -1)
            for m, keys, first in zip((i, j), (keys_i, keys_j), start, strict=True)
        ]
        differs = inside[0] != inside[1]
        for part in inside:
            same_persons[np.unique(part[differs & (part >= 0)])] = False
    sums = [
        np.bincount(keys, controls.targets[first : first + len(keys)], minlength=n_keys)
        for keys, first in ((keys_i, start[0]), (keys_j, start[1]))
    ]
    gap = np.abs(sums[0] - sums[1]) / np.maximum(np.abs(sums[0]), 1e-300)
    cells = np.flatnonzero(same_persons & (gap > tolerance))
    shared = [name for name in controls.columns[i] if name in controls.columns[j]]
    for key in cells[:SHOWN]:
        first_cell = int(np.flatnonzero(keys_i == key)[0])
        parts = controls.labels[start[0] + first_cell].split(", ")
        parts = [part for part in parts if part.split("=")[0] in shared]
        where = f" for {', '.join(parts)}" if parts else ""
        faults.add(
            f"{controls.names[i]} and {controls.names[j]}",
            f"totals do not add up{where}: {number(sums[0][key], 10)} against "
            f"{number(sums[1][key], 10)} (relative difference {gap[key]:.3g})",
            hint="Scale one table to the other, give one of them an importance, or allow a "
            "larger tolerance.",
        )
    if len(cells) > SHOWN:
        what = f"{len(cells) - SHOWN} more categories do not add up"
        faults.add(f"{controls.names[i]} and {controls.names[j]}", what)


def check_bounds(problem: Problem, controls: Controls, tolerance: float, faults: Faults) -> None:
    """Note controls that no ratio g within the bounds can reach, one control at a time."""
    positive = problem.matrix.maximum(0)
    negative = problem.matrix.minimum(0)
    with np.errstate(invalid="ignore"):
        low, high = problem.start * problem.low, problem.start * problem.high
        least = _total(positive, low) + _total(negative, high)
        most = _total(positive, high) + _total(negative, low)
    slack = tolerance * np.abs(problem.targets)
    out_of_reach = problem.hard & (
        (problem.targets > most + slack) | (problem.targets < least - slack)
    )
    unreachable = np.flatnonzero(out_of_reach)
    start_totals = problem.matrix.T @ problem.start
    for k in unreachable[:SHOWN]:
        faults.add(
            controls.label(int(k)),
            f"total {number(problem.targets[k], 8)} is out of reach: the sample has "
            f"{number(start_totals[k], 8)}, and the bounds allow {number(least[k], 8)} to "
            f"{number(most[k], 8)}",
            hint=f"Widen the bounds to hold {problem.targets[k] / start_totals[k]:.4g}, or give "
            "the margin an importance.",
        )
    if len(unreachable) > SHOWN:
        faults.add("bounds", f"{len(unreachable) - SHOWN} more controls are out of reach")


def _total(matrix: Any, weights: np.ndarray) -> np.ndarray:
    """Column sums weighted; infinite weights count only where the matrix has an entry."""
    finite = np.where(np.isfinite(weights), weights, 0.0)
    total = matrix.T @ finite
    if np.isfinite(weights).all():
        return np.asarray(total)
    endless = matrix.T @ np.where(np.isinf(weights), np.sign(weights), 0.0)
    return np.where(endless != 0, np.copysign(np.inf, endless), total)


def _contradiction_exact(matrix: Any, weights: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Part of the gap that no weights can close, from the eigenvectors of the Gram matrix."""
    from scipy.linalg import eigh

    from synthpop.kernels.raking import weighted_gram

    gram = np.zeros((matrix.shape[1], matrix.shape[1]))
    weighted_gram(matrix.indptr, matrix.indices, matrix.data, weights, gram)
    gram += np.triu(gram, 1).T
    unit = 1.0 / np.sqrt(np.maximum(gram.diagonal(), 1e-300))
    values, vectors = eigh(gram * unit[:, None] * unit[None, :])
    null = vectors[:, values < 1e-11 * values[-1]]
    return np.asarray((null @ (null.T @ (gap * unit))) / unit)


def _contradiction_iterative(matrix: Any, weights: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The same for many controls by LSQR; zero unless a contradiction is certain."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import lsqr

    squares = matrix.copy()
    squares.data = squares.data**2
    unit = 1.0 / np.sqrt(np.maximum(squares.T @ weights, 1e-300))
    system = (diags(np.sqrt(weights)) @ matrix @ diags(unit)).T.tocsr()
    solution, reason, *_ = lsqr(system, gap * unit, atol=1e-8, btol=1e-10, iter_lim=LSQR_STEPS)
    if reason != LEAST_SQUARES:
        return np.zeros(len(gap))
    return np.asarray((gap * unit - system @ solution) / unit)


def check_linked(problem: Problem, controls: Controls, tolerance: float, faults: Faults) -> None:
    """Note controls that contradict each other through the sample itself.

    Controls can be tied by the data, such as households by size and the number of persons. Any
    combination r of controls that is zero for every unit must be zero for the targets too; the
    part of the targets along such combinations is the contradiction.
    """
    hard = np.flatnonzero(problem.hard)
    if len(hard) < 2:
        return
    matrix = problem.matrix if problem.hard.all() else problem.matrix[:, hard]
    targets = problem.targets[hard]
    gap = targets - matrix.T @ problem.start
    weights = problem.start / problem.size
    if len(hard) <= NULL_SPACE_CONTROLS:
        apart = _contradiction_exact(matrix, weights, gap)
    else:
        apart = _contradiction_iterative(matrix, weights, gap)
    relative = np.abs(apart) / problem.scale()[hard]
    if relative.max() <= tolerance:
        return
    order = np.argsort(-relative, kind="stable")
    order = order[relative[order] > max(tolerance, 0.05 * relative.max())]
    pairs = "; ".join(
        f"{controls.label(int(hard[k]))} {number(targets[k], 8)} (off by {number(apart[k], 5)})"
        for k in order[:SHOWN]
    )
    rest_of_list = f"; and {len(order) - SHOWN} more" if len(order) > SHOWN else ""
    faults.add(
        "margins",
        f"these totals contradict each other in any sample like this one: {pairs}{rest_of_list}",
        hint="Correct them, leave one margin out, give one an importance, or allow a larger "
        "tolerance.",
    )
