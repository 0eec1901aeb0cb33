"""A classification tree whose leaves are shrunk towards the branches that they grew from.

A leaf of five persons says "always" of whatever its five persons have in common, and a file drawn
from such leaves repeats them. So the shares of classes of a node are a mean of its own and those of
the node above it, from the root down to the leaf,

    p_node = (n f_node + amount p_above) / (n + amount),

where n counts households (sampling units), not persons, and f are weighted shares. Cross-validation
with whole households chooses the amount. Nodes of fewer than `FEWEST_UNITS` households say nothing
of their own. A class that no person of a node has stays absent there where this is no chance: where
its share above would leave out so many households less than once in 1,000 times.

Sources: shrinkage along the path, Buntine (1992), Learning classification trees, Statistics and
Computing 2, doi 10.1007/BF01889584; Agarwal et al. (2022), Hierarchical shrinkage, ICML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

AMOUNTS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
FEWEST_UNITS = 2
SMALLEST_LEAF = 5
LARGEST_CHANCE = 1e-3
LEAST_SHARE = 1e-6  # of a class that was not foreseen, in the log score
FEWEST_FOR_CHOICE = 100  # persons; with fewer the amount is `DEFAULT_AMOUNT`
DEFAULT_AMOUNT = 5.0


@dataclass(eq=False)
class ShrunkTree:
    """A classification tree with the methods of scikit-learn's."""

    # households by whose weight the node above counts; None: cross-validation chooses
    amount: float | None = None
    random_state: int | None = None
    chosen_: float | None = None  # the amount of the fit
    classes_: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    tree_: Any = None  # fitted scikit-learn tree
    shares_: np.ndarray | None = None  # float array, shape (nodes, R)

    def fit(
        self,
        x: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> ShrunkTree:
        """Grow the tree; `groups` are the households of the rows, by default each its own."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_, codes = np.unique(y, return_inverse=True)
        units = np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=True)[1]
        units, codes = units.reshape(-1), codes.reshape(-1)
        amount = self.amount
        if amount is None:
            amount = self._chosen(x, codes, weights, units)
        self.tree_, nodes = self._grown(x, codes, weights, units)
        self.chosen_, self.shares_ = amount, nodes.shares(amount)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of classes, shape (n, R)."""
        assert self.shares_ is not None, "fit comes first"
        shares: np.ndarray = self.shares_[self.tree_.apply(x)]
        return shares

    def _grown(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, units: np.ndarray
    ) -> tuple[Any, Nodes]:
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(
            min_samples_leaf=SMALLEST_LEAF, random_state=self.random_state
        ).fit(x, codes, sample_weight=weights)
        return tree, Nodes(tree, x, codes, weights, units, len(self.classes_))

    def _chosen(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, units: np.ndarray
    ) -> float:
        """Return the amount with the best log score in two halves of the households."""
        if len(codes) < FEWEST_FOR_CHOICE:
            return DEFAULT_AMOUNT
        half = np.random.default_rng(self.random_state).permutation(units.max() + 1)[units] % 2
        scores = np.zeros(len(AMOUNTS))
        for fold in (0, 1):
            seen, new = half != fold, half == fold
            if not seen.any() or not new.any():
                return DEFAULT_AMOUNT
            tree, nodes = self._grown(x[seen], codes[seen], weights[seen], units[seen])
            leaf = tree.apply(x[new])
            for i, amount in enumerate(AMOUNTS):
                share = nodes.shares(amount)[leaf, codes[new]]
                scores[i] += weights[new] @ np.log(np.maximum(share, LEAST_SHARE))
        return AMOUNTS[int(np.argmax(scores))]


class Nodes:
    """What a sample has in each node of a tree: weighted shares of classes, and households."""

    def __init__(
        self,
        tree: Any,
        x: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        units: np.ndarray,
        n_classes: int,
    ) -> None:
        from scipy import sparse

        path = tree.decision_path(x)
        n, rows = len(codes), np.arange(len(codes))
        classes = sparse.csr_array((weights, (rows, codes)), shape=(n, n_classes))
        totals = (path.T @ classes).toarray()
        self.frequencies = totals / totals.sum(axis=1, keepdims=True)
        members = sparse.csr_array((np.ones(n), (units, rows)), shape=(units.max() + 1, n))
        self.units = np.bincount((members @ path).tocoo().col, minlength=path.shape[1])
        grown = tree.tree_
        self.above = np.zeros(grown.node_count, dtype=np.int64)
        self.depth = np.zeros(grown.node_count, dtype=np.int64)
        for node in range(grown.node_count):  # a node comes before those that grew from it
            for child in (grown.children_left[node], grown.children_right[node]):
                if child > 0:
                    self.above[child], self.depth[child] = node, self.depth[node] + 1

    def shares(self, amount: float) -> np.ndarray:
        """Return the shares of classes in each node, shape (nodes, R), shrunk from the root."""
        shares = self.frequencies.copy()
        for depth in range(1, int(self.depth.max(initial=0)) + 1):
            nodes = np.flatnonzero(self.depth == depth)
            n, own = self.units[nodes][:, None], self.frequencies[nodes]
            above = shares[self.above[nodes]]
            is_absent = (own == 0) & ((1.0 - above) ** n < LARGEST_CHANCE)
            possible = np.where(is_absent, 0.0, above)
            possible /= possible.sum(axis=1, keepdims=True)
            shrunk = (n * own + amount * possible) / (n + amount)
            shares[nodes] = np.where(n < FEWEST_UNITS, possible, shrunk)
        return shares
