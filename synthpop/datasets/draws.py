"""Draws of the generator, all made from uniform numbers.

Uniform numbers come straight from the bit stream, which NumPy promises to keep between versions;
normal and other draws are their transforms, so that the invented country stays the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from synthpop.microdata.statistics.streams import Streams


@dataclass(frozen=True, slots=True)
class Draws:
    """Named draws under one seed; each name is used once."""

    streams: Streams

    def uniform(self, name: str, n: int) -> np.ndarray:
        """Return `n` numbers in [0, 1)."""
        return self.streams.at("demo", name).random(n)

    def normal(self, name: str, n: int) -> np.ndarray:
        """Return `n` standard normal numbers."""
        return np.asarray(ndtri(self.uniform(name, n) * (1 - 2e-12) + 1e-12))

    def chance(self, name: str, probability: np.ndarray) -> np.ndarray:
        """Return True with these probabilities, shape (n,)."""
        return self.uniform(name, len(probability)) < probability

    def level(self, name: str, odds: np.ndarray) -> np.ndarray:
        """Return one level per row of `odds`, shape (n, n_levels), which need not sum to one."""
        reached = np.cumsum(odds, axis=1)
        point = self.uniform(name, len(odds)) * reached[:, -1]
        return (point[:, None] >= reached[:, :-1]).sum(axis=1).astype(np.int8)

    def curve(self, name: str, n: int, knots: tuple[tuple[float, float], ...]) -> np.ndarray:
        """Return `n` numbers whose distribution function joins the knots (value, probability)."""
        values, reached = np.asarray(knots).T
        return np.interp(self.uniform(name, n), reached, values)
