"""Donors from the leaves of regression trees.

A cell takes the value of a sample person in its leaf, drawn by weight; of a forest, in its leaf of
a tree drawn at random, so that person i is the donor with probability

    p_i = (1 / T) sum_t w_i [i in leaf_t] / (sum of w in leaf_t),

the weights of a quantile regression forest (Meinshausen 2006, Journal of Machine Learning Research
7). With one tree this is the synthesis by classification and regression trees of Reiter (2005,
Journal of Official Statistics 21). The distribution of the values, with its tails, is that of the
sample, whatever the fitted means are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Leaves:
    """The sample persons of each leaf of each of T trees, side by side."""

    values: np.ndarray  # float array, shape (T * n,)
    # float array, shape (T * n,): number of the tree plus the cumulated share of weight within
    # it: increases throughout
    cumulative: np.ndarray
    # int array, shape (all nodes + T,): where the persons of each node start; each tree's last
    # entry is its end
    starts: np.ndarray
    nodes: np.ndarray  # int array, shape (T,): where the nodes of each tree begin in `starts`

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return len(self.nodes)

    def stretches(self, leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the donors of leaves start and stop; leaf ids of shape (c, T)."""
        node = leaf + self.nodes[None, :]
        return self.starts[node], self.starts[node + 1]

    def draw(self, start: np.ndarray, stop: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Draw the value of a donor by weight, from one stretch for each person; shape (n,)."""
        size = len(self.values) // self.n_trees
        tree = start // size
        low = np.where(start > tree * size, self.cumulative[start - 1], tree)
        level = low + uniforms * (self.cumulative[stop - 1] - low)
        position = np.searchsorted(self.cumulative, level, side="right")
        return self.values[np.clip(position, start, stop - 1)]


def has_leaves(estimator: Any) -> bool:
    """Whether a scikit-learn regressor is a tree or a forest, fitted or not."""
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
    from sklearn.tree import DecisionTreeRegressor

    return isinstance(
        estimator, (DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor)
    )


def leaves_of(estimator: Any, x: np.ndarray) -> np.ndarray:
    """Return the leaf of each row in each tree, shape (n, T)."""
    leaf: np.ndarray = estimator.apply(x).astype(np.int64)
    return leaf[:, None] if leaf.ndim == 1 else leaf


def fit_leaves(leaf: np.ndarray, values: np.ndarray, weights: np.ndarray) -> Leaves:
    """Sort persons by their leaves, shape (n, T).

    Examples
    --------
    >>> leaf = np.array([[1], [2], [1], [2]])
    >>> leaves = fit_leaves(leaf, np.array([10.0, 20, 11, 21]), np.array([1.0, 1, 3, 1]))
    >>> start, stop = leaves.stretches(np.array([[1], [2]]))
    >>> leaves.draw(start[[0, 0, 1], 0], stop[[0, 0, 1], 0], np.array([0.2, 0.3, 0.9])).tolist()
    [10.0, 11.0, 21.0]
    """
    n, n_trees = leaf.shape
    share = weights / weights.sum()
    tables, cumulative, starts, nodes, begin = [], [], [], [], 0
    for tree in range(n_trees):
        order = np.argsort(leaf[:, tree], kind="stable")
        ids = leaf[order, tree]
        first = np.searchsorted(ids, np.arange(ids[-1] + 2)) + tree * n
        tables.append(values[order])
        cumulative.append(tree + np.minimum(np.cumsum(share[order]), 1.0))
        starts.append(first)
        nodes.append(begin)
        begin += len(first)
    return Leaves(
        np.concatenate(tables), np.concatenate(cumulative), np.concatenate(starts), np.array(nodes)
    )
