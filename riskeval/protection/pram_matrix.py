"""Transition matrices of PRAM, and frequencies estimated through them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.methods import MATRICES, InvariantMatrix, RandomMatrix
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.methods import TYPE, Method, read_method
from synthpop.microdata.messages.text import plural

Pairs = Iterable[tuple[Any, Any]]


def estimate_counts(released: Any, matrix: pd.DataFrame) -> pd.DataFrame:
    """Estimate the original frequencies from a perturbed column and its transition matrix.

    Parameters
    ----------
    released : Series, array or column of another library, shape (n,)
        A perturbed column (of one stratum, if there were strata); missing values are left out.
    matrix : DataFrame, shape (L, L)
        Transition probabilities, rows from, columns to.

    Returns
    -------
    DataFrame
        One row per category: ``observed``, ``estimate`` (unbiased, may be negative), ``error`` (its
        estimated standard error given the original file).

    Raises
    ------
    InputError
        The matrix cannot be inverted, or lacks a category of the column.

    Notes
    -----
    With T* the observed frequencies and R the matrix, E(T*) = R' T, so (R')^-1 T* is unbiased;
    given the file, T* has covariance sum_k T_k (diag(R_k) - R_k R_k'). Gouweleeuw et al. (1998).

    Examples
    --------
    >>> matrix = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=[*"ab"], columns=[*"ab"])
    >>> table = estimate_counts(pd.Series(["a"] * 55 + ["b"] * 45), matrix)
    >>> table["estimate"].round(6).tolist()
    [50.0, 50.0]
    """
    faults = Faults("estimate_counts")
    if getattr(released, "ndim", 1) != 1:
        raise InputError.of("estimate_counts", "released", "is not a column", "Give one column.")
    released = pd.Series(released)
    check_columns(faults, released.to_frame("released"), ["released"], "released column")
    faults.raise_if_any()
    counts = released.value_counts()
    unknown = [item for item in counts.index[counts > 0] if item not in matrix.index]
    if unknown:
        faults.add("matrix", f"has no row for {unknown[:5]}")
    values = matrix.to_numpy(dtype=np.float64)
    if values.shape[0] != values.shape[1] or np.linalg.cond(values) > 1e12:
        faults.add("matrix", "cannot be inverted", hint="The file does not tell frequencies.")
    faults.raise_if_any()
    observed = counts.reindex(matrix.index).fillna(0).to_numpy(dtype=np.float64)
    back = np.linalg.inv(values.T)
    estimate = back @ observed
    spread = np.diag(estimate.clip(min=0) @ values) - (values.T * estimate.clip(min=0)) @ values
    error = np.sqrt(np.diag(back @ spread @ back.T).clip(min=0))
    return pd.DataFrame(
        {"observed": observed, "estimate": estimate, "error": error}, index=matrix.index
    )


def invariant_matrix(
    frequencies: np.ndarray, diagonal: np.ndarray, alpha: float, closed: np.ndarray
) -> np.ndarray:
    """Matrix R of two stages, mixed with the identity, that keeps the (positive) frequencies.

    `diagonal` is that of the first stage; what is closed is closed on the way back too.
    """
    first = random_matrix(diagonal, closed)
    flow = first * frequencies[:, None]
    second = (flow / flow.sum(axis=0, where=flow > 0, keepdims=True).clip(min=1e-300)).T
    both = first @ second
    both[closed | closed.T] = 0.0
    np.fill_diagonal(both, 0.0)
    both *= alpha
    np.fill_diagonal(both, 1.0 - both.sum(axis=1))
    return both


def random_matrix(diagonal: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Return the matrix with this diagonal and equal parts elsewhere, none where closed."""
    allowed = ~closed
    np.fill_diagonal(allowed, False)
    n_open = allowed.sum(axis=1)
    off_diagonal = np.where(n_open > 0, 1.0 - diagonal, 0.0)
    matrix = allowed * (off_diagonal / np.maximum(n_open, 1))[:, None]
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix


def with_options(faults: Faults, matrix: Any, options: Mapping[str, float | None]) -> Any:
    """Return a named matrix as a table with the options that stand beside it."""
    named = InvariantMatrix.type if matrix is None else matrix
    named_options = {name: value for name, value in options.items() if value is not None}
    if not named_options:
        return named
    if not isinstance(named, str):
        for name in named_options:
            hint = "Give it to the matrix itself."
            faults.add(name, "is for a matrix that is named", hint=hint)
        return named
    return {TYPE: named, **named_options}


def read_plan(
    faults: Faults,
    frame: pd.DataFrame,
    names: list[str],
    by: list[str],
    matrix: Any,
    forbidden: Mapping[str, Pairs] | Pairs,
) -> dict[str, tuple[Any, list[tuple[Any, Any]]]]:
    """Return matrix (or its options) and forbidden pairs of each column."""
    fine = check_columns(faults, frame, dict.fromkeys(names), "column to perturb")
    check_columns(faults, frame, by, "strata")
    for column in set(by) & set(names):
        faults.add(column, "is perturbed and a stratum", hint="Choose one of the two.")
    by_column = isinstance(matrix, Mapping) and (TYPE not in matrix or TYPE in names)
    of_column = matrix if by_column else dict.fromkeys(names, matrix)
    forbidden_pairs = (
        forbidden if isinstance(forbidden, Mapping) else {name: list(forbidden) for name in names}
    )
    for mapping, argument in ((of_column, "matrix"), (forbidden_pairs, "forbidden")):
        for name in mapping:
            if name not in names:
                faults.add(argument, f"{name!r} is not among the columns")
    if not fine:
        return {}
    plan = {}
    for name in names:
        levels = encode(frame[name])[1]
        pairs = [tuple(pair) for pair in forbidden_pairs.get(name, [])]
        for pair in pairs:
            if len(pair) != 2 or pair[0] not in levels or pair[-1] not in levels:
                faults.add(f"forbidden[{name!r}]", f"{pair} is not a pair of its categories")
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
            faults.add(where, "its labels are not the categories", hint=f"They are {levels}.")
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
        faults.add(where, "has entries that are not probabilities")
    elif np.abs(table.sum(axis=1) - 1).max() > 1e-6:
        faults.add(
            where,
            "has rows that do not sum to 1",
            rows=np.flatnonzero(np.abs(table.sum(axis=1) - 1) > 1e-6),
        )
    level_pairs = [pair for pair in pairs if len(pair) == 2 and {*pair} <= {*levels}]
    for start, end in level_pairs:
        if table[levels.index(start), levels.index(end)] > 0:
            faults.add(where, f"allows the forbidden transition {(start, end)}")
    return table


def keeps_frequencies(kind: Any) -> bool:
    """Whether a matrix keeps the frequencies of the file in expectation."""
    return isinstance(kind, InvariantMatrix) and not isinstance(kind, RandomMatrix)
