"""Records nearest to others by Gower distance, found without looking at all pairs."""

from __future__ import annotations

import numpy as np

LEAF = 8
"""Groups of so many records are looked through."""


class Neighbours:
    """Records as numbers and codes, halved into groups that lie near each other (a k-d tree).

    Whole groups are passed over whose values lie too far off; distances are those of all pairs, to
    the last digit. Friedman, Bentley and Finkel (1977), doi:10.1145/355744.355745.

    numbers : float64, shape (n, p); NaN is missing
    codes : int, shape (n, q); -1 is missing
    ranges, weights : of the numbers, shape (p,); of numbers and of codes, shapes (p,) and (q,)
    """

    def __init__(
        self, numbers: np.ndarray, codes: np.ndarray, ranges: np.ndarray,
        weights: tuple[np.ndarray, np.ndarray],
    ) -> None:  # fmt: skip
        from riskeval.kernels.gower import gower_tree

        self.ranges, self.weights = ranges, weights
        numbers, codes = _as_compiled(numbers, codes)
        self.tree = gower_tree(numbers, codes, ranges, *weights, LEAF)
        order = self.tree[0]
        self.records = numbers[order], codes[order]

    def nearest(
        self, numbers: np.ndarray, codes: np.ndarray, k: int, skip: np.ndarray | None = None
    ) -> np.ndarray:
        """Distances of other records to the k nearest, shape (m, k); `skip`: rows to leave out."""
        from riskeval.kernels.gower import gower_nearest

        numbers, codes = _as_compiled(numbers, codes)
        left_out = np.full(len(numbers), -1, dtype=np.int64) if skip is None else skip
        found = gower_nearest(
            self.tree, self.records, numbers, self.ranges, self.weights[0], codes,
            self.weights[1], left_out, k,
        )  # fmt: skip
        return np.asarray(found)

    def ties(
        self, numbers: np.ndarray, codes: np.ndarray, slack: float, hole: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of one of other records and one of those that are nearest to it, in order.

        slack: distances that are as near are equal
        hole: is added for each variable that one of both lacks, and pairs with less than half of
            the variables in common are left out; with 0 they are not
        """
        from riskeval.kernels.gower import gower_ties

        numbers, codes = _as_compiled(numbers, codes)
        starts, rows = gower_ties(
            self.tree, self.records, numbers, self.ranges, self.weights[0], codes,
            self.weights[1], slack, hole,
        )  # fmt: skip
        asked = np.repeat(np.arange(len(numbers)), np.diff(starts))
        order = np.lexsort((rows, asked))
        return asked[order], rows[order]


def _as_compiled(numbers: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays in the one form that the kernels are compiled for."""
    return np.ascontiguousarray(numbers), np.ascontiguousarray(codes, dtype=np.int32)
