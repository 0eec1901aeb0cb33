"""Plots that help to choose where a Pareto tail begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthpop.microdata.statistics.weighted import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#1f4e79"
ACCENT = "#c0504d"


def mean_excess(values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> pd.DataFrame:
    """Mean excess over each value as a threshold.

    Parameters
    ----------
    values : array, shape (n,)
        NaN is left out.
    weights : array, shape (n,), optional

    Returns
    -------
    DataFrame
        Columns threshold and mean_excess: sum(w (x - u)) / sum(w) over x > u, for each distinct
        value but the largest. A Pareto tail shows as a rising straight line.

    Examples
    --------
    >>> mean_excess([1.0, 2.0, 4.0])["mean_excess"].tolist()
    [2.0, 2.0]
    """
    x, w = _sorted(values, weights)
    u, start = np.unique(x, return_index=True)
    next_value = start[1:]
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values have no excess
        above = np.cumsum(w[::-1])[::-1]
        worth = np.cumsum((w * x)[::-1])[::-1]
        excess = worth[next_value] / above[next_value] - u[:-1]
    return pd.DataFrame({"threshold": u[:-1], "mean_excess": excess})


def pareto_quantiles(values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> pd.DataFrame:
    """Points of the Pareto quantile plot.

    Parameters
    ----------
    values : array, shape (n,)
        NaN and values that are not positive are left out (they keep their place in the ranks).
    weights : array, shape (n,), optional

    Returns
    -------
    DataFrame
        Columns theoretical, -log(1 - S) with S the cumulated weight over the total weight plus
        the mean weight, and value. On a logarithmic value axis a Pareto tail is a straight line
        whose slope is 1 / shape.

    Examples
    --------
    >>> pareto_quantiles([10.0, 20.0, 40.0])["theoretical"].round(4).tolist()
    [0.2877, 0.6931, 1.3863]
    """
    x, w = _sorted(values, weights)
    share = np.cumsum(w) / (w.sum() + w.mean()) if len(w) else w
    keep = x > 0
    return pd.DataFrame({"theoretical": -np.log1p(-share[keep]), "value": x[keep]})


def _sorted(values: npt.ArrayLike, weights: npt.ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    x, w, _ = clean(values, weights)
    order = np.argsort(x)
    return x[order], np.ones(len(x)) if w is None else w[order]


def mean_excess_figure(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, threshold: float | None = None
) -> Figure:
    """Draw the mean-excess plot.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    threshold : float, optional
        Marked with a vertical line.

    Returns
    -------
    matplotlib Figure
        Not attached to any window; save it with ``figure.savefig``.
    """
    axes = _points(mean_excess(values, weights), "Mean excess over thresholds")
    if threshold is not None:
        axes.axvline(threshold, color=ACCENT, linewidth=1)
    axes.set(xlabel="threshold", ylabel="mean excess")
    return axes.figure


def pareto_quantile_figure(
    values: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, threshold: float | None = None
) -> Figure:
    """Draw the Pareto quantile plot.

    Parameters
    ----------
    values : array, shape (n,)
    weights : array, shape (n,), optional
    threshold : float, optional
        Marked with a horizontal line.

    Returns
    -------
    matplotlib Figure
    """
    axes = _points(pareto_quantiles(values, weights), "Pareto quantile plot")
    with np.errstate(over="ignore"):  # margins of the axis beyond the largest number
        axes.set_yscale("log")
    if threshold is not None:
        axes.axhline(threshold, color=ACCENT, linewidth=1)
    axes.set(xlabel="theoretical quantiles", ylabel="value")
    return axes.figure


def _points(table: pd.DataFrame, title: str) -> Any:
    """Draw the second column against the first; returns the axes."""
    from synthpop.microdata.messages.pictures import new_figure

    axes = new_figure(6.0, 4.0).subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.plot(*table.to_numpy().T, ".", color=INK, markersize=3)
    axes.set_title(title)
    return axes
