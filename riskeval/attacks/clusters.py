"""Persons of one household are no independent draws: variances of means over clusters."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.microdata.reading.lexicon import columns_named_for

MOST_LAGS = 8
"""Records before and after that may belong to one household, where no column says so."""
LARGEST_HOUSEHOLD = 30
ALIKE = 3.0
"""Standard errors by which neighbouring records must agree more than others."""


def clusters_of(frame: pd.DataFrame) -> np.ndarray | None:
    """Return the number of the household of each record, found by the usual names; None for none.

    Examples
    --------
    >>> clusters_of(pd.DataFrame({"hid": [7, 7, 9], "age": [30, 31, 60]})).tolist()
    [0, 0, 1]
    """
    for name in columns_named_for("household", frame.columns):
        column = frame[name]
        n_values = column.nunique()
        if column.notna().all() and len(column) / LARGEST_HOUSEHOLD <= n_values < len(column):
            codes: np.ndarray = pd.factorize(column)[0]
            return codes
    return None


def variance_of_mean(values: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return the variance of the mean of values in the order of their file.

    With clusters that of the sums over clusters (Obuchowski 1997, doi:10.2307/2533958, for areas
    under curves); without, values of neighbouring records may be correlated (Newey and West 1987,
    doi:10.2307/1913610). Never less than that of independent values.

    Examples
    --------
    >>> pairs = np.repeat([0.0, 1.0, 0.0, 1.0], 2)
    >>> float(variance_of_mean(pairs, np.repeat(range(4), 2)) / variance_of_mean(pairs[::2]))
    1.0
    """
    n = len(values)
    if n < 2:
        return float("nan")
    centred = values - values.mean()
    independent = float(centred @ centred) / (n - 1) / n
    if clusters is not None:
        sums = np.bincount(clusters, weights=centred)
        present = int((np.bincount(clusters) > 0).sum())
        if present < 2:
            return independent
        together = present / (present - 1) * float(sums @ sums) / n**2
    else:
        lags = min(MOST_LAGS, n - 1)
        tail = sum(
            (1 - lag / (lags + 1)) * float(centred[lag:] @ centred[:-lag])
            for lag in range(1, lags + 1)
        )
        together = independent + 2 * tail / n**2
    return max(independent, together)


def design_effect(values: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return by how much the variance of a mean exceeds that of independent values, from 1 on.

    Examples
    --------
    >>> round(design_effect(np.repeat([0.0, 1.0, 0.0, 1.0], 2), np.repeat(range(4), 2)), 2)
    2.33
    """
    values = np.asarray(values, dtype=np.float64)
    n = len(values)
    centred = values - values.mean() if n else values
    independent = float(centred @ centred) / max(n - 1, 1) / max(n, 1)
    return variance_of_mean(values, clusters) / independent if independent > 0 else 1.0


def are_neighbours_alike(codes: np.ndarray) -> bool:
    """Whether records that follow each other agree in more categories than chance explains."""
    n = len(codes)
    if n < 4 * MOST_LAGS or not codes.shape[1]:
        return False
    agreements = (codes[1:] == codes[:-1]).mean(axis=1)
    other = codes[np.random.default_rng(n).permutation(n)]
    by_chance = (other[1:] == other[:-1]).mean(axis=1)
    error = float(np.sqrt((agreements.var() + by_chance.var()) / n))
    return bool(agreements.mean() - by_chance.mean() > ALIKE * error)
