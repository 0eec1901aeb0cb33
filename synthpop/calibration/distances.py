"""Distances between old and new weights, in the form that dual methods use.

Calibration minimises ``sum_u q_u d_u G(g_u)`` over the ratios g of new to old weight under the
controls ``sum_u d_u g_u a_u = t``. The solution is ``g_u = F(a_u' lambda / q_u)`` with F the
inverse of the derivative of G (Deville, Sarndal and Sautory 1993, section 2). A distance here is
the triple F, F' and the integral of F from 0, each on an array of arguments s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Distance(Protocol):
    """What the dual Newton method needs of a distance."""

    def ratio(self, s: np.ndarray) -> np.ndarray:
        """Return g = F(s)."""

    def slope(self, s: np.ndarray) -> np.ndarray:
        """Return F'(s)."""

    def integral(self, s: np.ndarray) -> np.ndarray:
        """Return the integral of F from 0 to s."""


@dataclass(frozen=True, slots=True)
class Linear:
    """G(g) = (g - 1)^2 / 2, so F(s) = 1 + s, cut at the bounds (cases 1 and 7 of the paper)."""

    low: np.ndarray | float = -np.inf
    high: np.ndarray | float = np.inf

    def ratio(self, s: np.ndarray) -> np.ndarray:
        """Return g = F(s)."""
        return np.clip(1.0 + s, self.low, self.high)

    def slope(self, s: np.ndarray) -> np.ndarray:
        """Return F'(s): one inside the bounds, zero at them."""
        return ((1.0 + s > self.low) & (1.0 + s < self.high)).astype(np.float64)

    def integral(self, s: np.ndarray) -> np.ndarray:
        """Return the integral of F from 0 to s, up to a constant."""
        inner = np.clip(s, self.low - 1.0, self.high - 1.0)
        return inner + inner**2 / 2.0 + (1.0 + inner) * (s - inner)


@dataclass(frozen=True, slots=True)
class Exponential:
    """G(g) = g log g - g + 1, so F(s) = exp(s), cut at the bounds (case 2): raking."""

    low: np.ndarray | float = 0.0
    high: np.ndarray | float = np.inf

    def _inner(self, s: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.clip(s, np.log(np.maximum(self.low, 0.0)), np.log(self.high))

    def ratio(self, s: np.ndarray) -> np.ndarray:
        """Return g = F(s)."""
        with np.errstate(over="ignore"):
            return np.exp(self._inner(s))

    def slope(self, s: np.ndarray) -> np.ndarray:
        """Return F'(s): F(s) inside the bounds, zero at them."""
        inner = self._inner(s)
        with np.errstate(over="ignore"):
            return np.where(inner == s, np.exp(inner), 0.0)

    def integral(self, s: np.ndarray) -> np.ndarray:
        """Return the integral of F from 0 to s, up to a constant."""
        inner = self._inner(s)
        with np.errstate(over="ignore"):
            value = np.exp(inner)
            beyond = s - inner
            return value - 1.0 + np.where(beyond != 0, value, 0.0) * beyond


@dataclass(frozen=True, slots=True)
class Logit:
    """F runs smoothly from the lower to the upper bound (case 6): low < 1 < high.

    ``F(s) = (L (U - 1) + U (1 - L) exp(A s)) / (U - 1 + (1 - L) exp(A s))`` with
    ``A = (U - L) / ((1 - L) (U - 1))``, so that F(0) = 1 and F'(0) = 1.
    """

    low: np.ndarray | float = 0.0
    high: np.ndarray | float = 10.0

    def _exponent(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
        low, high = self.low, self.high
        steepness = (high - low) / ((1.0 - low) * (high - 1.0))
        return steepness * s + np.log((1.0 - low) / (high - 1.0)), steepness

    def ratio(self, s: np.ndarray) -> np.ndarray:
        """Return g = F(s)."""
        from scipy.special import expit

        return self.low + (self.high - self.low) * expit(self._exponent(s)[0])

    def slope(self, s: np.ndarray) -> np.ndarray:
        """Return F'(s)."""
        from scipy.special import expit

        z, steepness = self._exponent(s)
        return (self.high - self.low) * steepness * expit(z) * expit(-z)

    def integral(self, s: np.ndarray) -> np.ndarray:
        """Return the integral of F from 0 to s, up to a constant."""
        z, steepness = self._exponent(s)
        return self.low * s + (self.high - self.low) / steepness * np.logaddexp(0.0, z)
