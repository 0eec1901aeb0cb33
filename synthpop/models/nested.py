"""Class probabilities of codes with many levels: the group first, then the code within it.

Occupations, industries, fields of study and areas have hundreds of codes whose first digits are
groups. A classification tree tells the group from the predictors, and for each group another one
the code, so that codes of one group borrow from each other and none occurs that the sample lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synthpop.models.learners import make_estimator

FEWEST_GROUPS, MOST_GROUPS = 4, 60


def groups_of_levels(levels: Sequence[Any]) -> np.ndarray:
    """Return the group of each level: its first digits, as few as make four groups or more.

    Whole numbers have leading zeros. Texts without digits are one group.

    Examples
    --------
    >>> groups_of_levels([10, 120, 1350, 2410, 9920]).tolist()
    [0, 0, 1, 2, 3]
    >>> groups_of_levels(["A01", "A02", "B01"]).tolist()
    [0, 1, 2]
    """
    texts = [f"{level:.0f}" if isinstance(level, float) else str(level) for level in levels]
    if not any(sign.isdigit() for text in texts for sign in text):
        return np.zeros(len(texts), dtype=np.int64)
    width = max(map(len, texts))
    if all(text.isdigit() for text in texts):
        texts = [text.zfill(width) for text in texts]
    best = np.zeros(len(texts), dtype=np.int64)
    for n in range(1, width + 1):
        starts, groups = np.unique([text[:n] for text in texts], return_inverse=True)
        if len(starts) > MOST_GROUPS:
            break
        best = groups.reshape(-1)
        if len(starts) >= FEWEST_GROUPS:
            break
    return best


@dataclass(eq=False)
class NestedLevels:
    """A classifier of codes within groups, with the methods of scikit-learn's."""

    # int array, shape (R,): group of each class; class 0, a missing value, has its own
    groups: np.ndarray
    random_state: int | None = None
    classes_: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    tree: Any = None  # fitted scikit-learn tree of groups
    within: dict[int, Any] = field(default_factory=dict)  # those of the codes of each group

    @classmethod
    def of(cls, levels: Sequence[Any]) -> NestedLevels:
        """Return the classifier of classes that are a missing value and then these levels."""
        return cls(np.r_[-1, groups_of_levels(levels)])

    def __sklearn_clone__(self) -> NestedLevels:
        """Return a new one that is not fitted."""
        return NestedLevels(self.groups, self.random_state)

    def set_params(self, *, random_state: int) -> NestedLevels:
        """Set the seed, as scikit-learn does."""
        self.random_state = random_state
        return self

    def fit(self, x: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> NestedLevels:
        """Fit the tree of groups and that of each group."""
        seed = int(self.random_state or 0)
        group = self.groups[y]
        self.classes_ = np.unique(y)
        tree = make_estimator("tree", x.shape[1], seed)
        self.tree = tree.fit(x, group, sample_weight=sample_weight)
        self.within = {}
        for number in self.tree.classes_.tolist():
            rows = group == number
            tree = make_estimator("tree", x.shape[1], seed)
            self.within[number] = tree.fit(x[rows], y[rows], sample_weight=sample_weight[rows])
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the share of each class, shape (n, classes)."""
        shares = self.tree.predict_proba(x)
        probabilities = np.zeros((len(x), len(self.classes_)))
        for k, number in enumerate(self.tree.classes_.tolist()):
            tree = self.within[number]
            positions = np.searchsorted(self.classes_, tree.classes_)
            possible = np.flatnonzero(shares[:, k] > 0)
            if not len(possible):
                continue
            inner = tree.predict_proba(x[possible])
            probabilities[np.ix_(possible, positions)] = shares[possible, k, None] * inner
        return probabilities
