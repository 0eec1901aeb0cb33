"""Information loss of continuous variables: IL1, eigenvalues, correlations, distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import check_numbers, compares_rows, ones, read_files
from synthpop.microdata.frame.frames import as_names, numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message, sentence
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import formatted, percent
from synthpop.microdata.statistics.robust import classical, correlations, robust, squared_distances

NAN = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class InformationLoss(Result):
    """How far the continuous variables of a release are from the original; 0 is no loss.

    Attributes
    ----------
    variables : tuple of str, length p
    il1 : float
        Mean over cells of |x - y| / |x| (a share; cells with x = 0 are left out and counted in
        `zero_cells` of `by_variable`). NaN without paired rows.
    il1s : float
        Mean over cells of |x - y| / (sqrt(2) S), equation 5.9. NaN without paired rows.
    eigenvalues : float
        Sum over the p eigenvalues of the correlation matrices of |e_x - e_y| / e_x.
    robust_eigenvalues : float
        The same from robust covariance matrices of the variables, each file standardised.
    correlations : float
        Mean absolute difference of the correlations between two variables; NaN for one variable.
    inverse_correlations : float
        From 0 to 1: distance of the diagonals of the inverse correlation matrices, each scaled to
        length one, divided by sqrt(2).
    mahalanobis : float
        Mean over rows of |d_x - d_y| / d_x, d the robust Mahalanobis distance of the row in its
        own file. NaN without paired rows.
    by_variable : DataFrame, p rows
        `variable`, `il1`, `il1s`, `cells` (both values present), `zero_cells`.
    n_original, n_released : int
    paired : bool
        Whether rows were compared one by one.
    notes : tuple of str
        Fallbacks of the robust estimates, and what could not be computed.
    """

    variables: tuple[str, ...]
    il1: float
    il1s: float
    eigenvalues: float
    robust_eigenvalues: float
    correlations: float
    inverse_correlations: float
    mahalanobis: float
    by_variable: pd.DataFrame
    n_original: int
    n_released: int
    paired: bool
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per measure: `measure`, `value`."""
        names = ["il1", "il1s", "eigenvalues", "robust_eigenvalues", "correlations"]
        names += ["inverse_correlations", "mahalanobis"]
        return pd.DataFrame({"measure": names, "value": [getattr(self, name) for name in names]})

    def summary(self) -> str:
        """Return the losses in words."""
        text = message(
            "Information loss of {variables} (0 is none; there is no threshold: compare "
            "releases of the same file).",
            variables=", ".join(self.variables),
        )
        if np.isfinite(self.il1s):
            text += " " + message(
                "Values moved by {il1s} sqrt(2) standard deviations on average (IL1s, Templ "
                "2017, equation 5.9) and by {il1} of their size (IL1).",
                il1s=formatted(self.il1s, ".4g"),
                il1=percent(self.il1),
            )
        if np.isfinite(self.eigenvalues):
            text += " " + message(
                "The eigenvalues of the correlations changed by {eigenvalues} in total",
                eigenvalues=formatted(self.eigenvalues, ".4g"),
            )
            if np.isfinite(self.correlations):
                text += ", " + message(
                    "correlations by {correlations} on average",
                    correlations=formatted(self.correlations, ".4g"),
                )
            text += "."
        return joined_by(" ", [text, *map(sentence, self.notes)])


@same_library
def information_loss(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    weights: Any = None,
    released_weights: Any = None,
    rows: str = "auto",
) -> InformationLoss:
    """Measure the information loss of continuous variables.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str, length p
        Numeric columns of both files.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,); None: every record counts one. With weights the
        means over records, standard deviations and correlations are weighted (by `weights` where
        rows are compared); robust estimates are not.
    rows : {"auto", "paired", "unpaired"}
        Whether row i of both files is the same unit: "auto" says yes for files of equal length.
        A synthetic file of the same length has to be called "unpaired": its rows are other units.

    Returns
    -------
    InformationLoss
        A missing value leaves its cell out of IL1 and IL1s, and its row out of the other measures.

    Raises
    ------
    InputError
        Columns that are absent or not numeric, infinite values, bad weights, or files of
        different length that are called "paired".

    Notes
    -----
    Templ (2017), section 5.2; Yancey, Winkler and Creecy (2002) for IL1s; Domingo-Ferrer and Torra
    (2001) for IL1; Mlodak (2020) for the inverse correlations. The programs that report IL1 and
    IL1s as sums over all cells (the first in percent) have n p times these numbers.

    Examples
    --------
    >>> original = pd.DataFrame({"income": [10.0, 20.0, 30.0, 40.0]})
    >>> loss = information_loss(original, original + 1.0, "income")
    >>> round(loss.il1s, 4), round(loss.il1, 4)
    (0.0548, 0.0521)
    """
    faults = Faults("information loss")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    check_numbers(faults, files, names, "variable")
    paired = compares_rows(faults, files, rows)
    faults.raise_if_any()
    x, y = numbers(files.x, names), numbers(files.y, names)
    notes: list[str] = []
    if not paired:
        notes.append(
            message("rows are not paired: IL1, IL1s and Mahalanobis differences are not computed")
        )
    table = cells_moved(x, y if paired else np.full_like(x, NAN), files.wx, names)
    structure = correlation_losses(x, y, (files.wx, files.wy), notes)
    robust_eigen, mahalanobis = _robust(x, y, paired, files.wx, notes)
    return InformationLoss(
        variables=names,
        il1=pooled(table, "il1", "_relative"),
        il1s=pooled(table, "il1s", "_scaled"),
        robust_eigenvalues=robust_eigen,
        mahalanobis=mahalanobis,
        by_variable=table.drop(columns=["_relative", "_scaled"]),
        n_original=len(x),
        n_released=len(y),
        paired=paired,
        notes=tuple(dict.fromkeys(notes)),
        **structure,
    )


def cells_moved(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray | None, names: Sequence[str]
) -> pd.DataFrame:
    """IL1 and IL1s of each variable, with the weights of the cells that entered."""
    w = ones(len(x), weights)
    rows = []
    for j, name in enumerate(names):
        filled = ~np.isnan(x[:, j])
        both = filled & ~np.isnan(y[:, j])
        a, v = x[both, j], w[both]
        moved, nonzero = np.abs(a - y[both, j]), a != 0
        deviation = _deviation(x[filled, j], w[filled])
        scaled = NAN
        if both.any() and deviation > 0:
            scaled = float(v @ moved / (v.sum() * np.sqrt(2) * deviation))
        total = float(v[nonzero].sum())
        relative = v[nonzero] @ (moved[nonzero] / np.abs(a[nonzero]))
        rows.append({
            "variable": name, "il1": float(relative / total) if total else NAN, "il1s": scaled,
            "cells": int(both.sum()), "zero_cells": int((~nonzero).sum()), "_relative": total,
            "_scaled": float(v.sum()),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _deviation(values: np.ndarray, weights: np.ndarray) -> float:
    """Standard deviation (n - 1; with weights sum w - mean w, the same for equal weights)."""
    if len(values) < 2:
        return 0.0
    total = weights.sum()
    centred = values - weights @ values / total
    return float(np.sqrt(weights @ centred**2 / (total - total / len(values))))


def pooled(table: pd.DataFrame, column: str, weight: str) -> float:
    """Return the mean of a column of `cells_moved`, each variable by its cells; NaN without any."""
    known = table[column].notna() & (table[weight] > 0)
    if not known.any():
        return NAN
    return float(np.average(table.loc[known, column], weights=table.loc[known, weight]))


def correlation_losses(
    x: np.ndarray,
    y: np.ndarray,
    weights: tuple[np.ndarray | None, np.ndarray | None],
    notes: list[str],
) -> dict[str, float]:
    """Losses of the (weighted) correlation matrices of complete records; reasons go to `notes`."""
    complete = [~np.isnan(values).any(axis=1) for values in (x, y)]
    empty = {"eigenvalues": NAN, "correlations": NAN, "inverse_correlations": NAN}
    if min(rows.sum() for rows in complete) < 2:
        notes.append(message("fewer than two complete records: correlations are not compared"))
        return empty
    rx, ry = (
        correlations(values[rows], None if w is None else w[rows])
        for values, rows, w in zip((x, y), complete, weights, strict=True)
    )
    if np.isnan(rx).any() or np.isnan(ry).any():
        notes.append(message("a variable has no spread: correlations are not compared"))
        return empty
    upper = np.triu_indices(len(rx), 1)
    return {
        "eigenvalues": eigenvalue_difference(rx, ry),
        "correlations": float(np.abs(rx - ry)[upper].mean()) if len(rx) > 1 else NAN,
        "inverse_correlations": _inverse_difference(rx, ry, notes),
    }


def eigenvalue_difference(first: np.ndarray, second: np.ndarray) -> float:
    """Return the sum of |e1 - e2| / e1, shape (p, p) each; eigenvalues of zero are left out.

    Examples
    --------
    >>> eigenvalue_difference(np.diag([2.0, 1.0]), np.diag([1.0, 1.0]))
    0.5
    """
    e1, e2 = np.linalg.eigvalsh(first), np.linalg.eigvalsh(second)
    positive = e1 > 1e-12 * e1[-1]
    return float((np.abs(e1 - e2)[positive] / e1[positive]).sum())


def _inverse_difference(rx: np.ndarray, ry: np.ndarray, notes: list[str]) -> float:
    if min(np.linalg.eigvalsh(rx)[0], np.linalg.eigvalsh(ry)[0]) < 1e-12:
        notes.append(
            message("variables depend on each other: inverse correlations are not compared")
        )
        return NAN
    dx, dy = np.diag(np.linalg.inv(rx)), np.diag(np.linalg.inv(ry))
    dx, dy = dx / np.linalg.norm(dx), dy / np.linalg.norm(dy)
    return float(np.linalg.norm(dx - dy) / np.sqrt(2))


def _robust(
    x: np.ndarray, y: np.ndarray, paired: bool, weights: np.ndarray | None, notes: list[str]
) -> tuple[float, float]:
    """Robust eigenvalue difference, and mean relative difference of Mahalanobis distances."""
    complete_x, complete_y = ~np.isnan(x).any(axis=1), ~np.isnan(y).any(axis=1)
    if paired:
        complete_x = complete_y = complete_x & complete_y
    a, b = x[complete_x], y[complete_y]
    if len(a) < 2 or len(b) < 2:
        return NAN, NAN
    spread_a, spread_b = a.std(axis=0, ddof=1), b.std(axis=0, ddof=1)
    if not ((spread_a > 0).all() and (spread_b > 0).all()):
        return NAN, NAN
    za, zb = (a - a.mean(axis=0)) / spread_a, (b - b.mean(axis=0)) / spread_b
    first, second = robust(za), robust(zb)
    if why := first.fallback or second.fallback:
        notes.append(message("robust estimates fell back to classical ones: {why}", why=why))
        first, second = classical(za), classical(zb)
    eigen = eigenvalue_difference(first.covariance, second.covariance)
    if not paired:
        return eigen, NAN
    dx = np.sqrt(squared_distances(za, first))
    dy = np.sqrt(squared_distances(zb, second))
    known = dx > 0
    if not known.any():
        return eigen, NAN
    w = ones(len(x), weights)[complete_x][known]
    return eigen, float(np.average(np.abs(dx - dy)[known] / dx[known], weights=w))
