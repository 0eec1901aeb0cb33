"""What every system of the contest is measured beside: a plain CART, independent margins."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.k_marginal import as_ordered

SMALLEST_LEAF = 5
MOST_CLASSES = 60  # a column with more levels is grown as a number


def independent(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return each column drawn by itself: the margins and nothing else."""
    rng = np.random.default_rng(seed)
    n = len(frame)
    return pd.DataFrame({name: frame[name].to_numpy()[rng.integers(n, size=n)] for name in frame})


def plain_cart(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a file drawn column by column from the leaves of trees on all columns before.

    Source: Reiter (2005), Using CART to generate partially synthetic, public use microdata, Journal
    of Official Statistics 21. The first column is drawn by itself; a donor of the leaf gives his
    value. One tree a column for the whole file, leaves of five, no pruning.
    """
    rng = np.random.default_rng(seed)
    first, *rest = frame.columns
    drawn = {first: frame[first].to_numpy()[rng.integers(len(frame), size=len(frame))]}
    known, made = [_columns(frame[first])], [_columns(pd.Series(drawn[first]), like=frame[first])]
    for name in rest:
        x, y = np.hstack(known), frame[name].to_numpy()
        leaf, leaf_of_made = _leaves(x, frame[name], np.hstack(made), seed)
        order = np.argsort(leaf, kind="stable")
        starts, stops = (np.searchsorted(leaf[order], leaf_of_made, s) for s in ("left", "right"))
        position = starts + np.floor(rng.random(len(frame)) * (stops - starts)).astype(int)
        drawn[name] = y[order[position]]
        known.append(_columns(frame[name]))
        made.append(_columns(pd.Series(drawn[name]), like=frame[name]))
    return pd.DataFrame(drawn)


def _leaves(
    x: np.ndarray, column: pd.Series, new: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    codes = pd.factorize(column)[0]
    options = {"min_samples_leaf": SMALLEST_LEAF, "random_state": seed}
    if codes.max() < MOST_CLASSES:
        tree = DecisionTreeClassifier(**options).fit(x, codes)
    else:
        tree = DecisionTreeRegressor(**options).fit(x, _columns(column)[:, 0])
    return tree.apply(x), tree.apply(new)


def _columns(column: pd.Series, *, like: pd.Series | None = None) -> np.ndarray:
    return as_ordered(column if like is None else like, column)[0][:, None]
