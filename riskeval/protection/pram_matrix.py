"""Transition matrices of PRAM, and frequencies estimated through them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.microdata.errors import Faults


def estimate_counts(released: pd.Series, matrix: pd.DataFrame) -> pd.DataFrame:
    """Estimate the original frequencies from a perturbed column and its transition matrix.

    Parameters
    ----------
    released : Series, shape (n,)
        A perturbed column (of one stratum, if there were strata); missing values are left out.
    matrix : DataFrame, shape (L, L)
        Transition probabilities, rows from, columns to.

    Returns
    -------
    DataFrame
        One row a category: ``observed``, ``estimate`` (unbiased, may be negative), ``error`` (its
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
    counts = released.value_counts()
    unknown = [item for item in counts.index[counts > 0] if item not in matrix.index]
    if unknown:
        faults.add("matrix", f"has no row for {unknown[:5]}")
    values = matrix.to_numpy(dtype=np.float64)
    if values.shape[0] != values.shape[1] or np.linalg.cond(values) > 1e12:
        faults.add("matrix", "cannot be inverted", remedy="The file does not tell frequencies.")
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
    """Return the matrix R of two stages, mixed with the identity, that keeps the frequencies.

    Parameters
    ----------
    frequencies : float64 array, shape (L,), all positive
    diagonal : float64 array, shape (L,)
        Diagonal of the first stage.
    alpha : float
    closed : bool array, shape (L, L)
        Forbidden transitions; the way back is closed too.
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
    rest = np.where(n_open > 0, 1.0 - diagonal, 0.0)
    matrix = allowed * (rest / np.maximum(n_open, 1))[:, None]
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return matrix
