"""Exact probabilities of conditional Poisson and Sampford sampling, by Fourier inversion.

Units enter independently with probabilities p; S is their number. The probability of an event
together with S = n is an integral of its generating function over the circle. The integrand is
as good as zero outside an arc of width 1 / sd(S), and the sum over equidistant points is exact
up to the probability that S lies a whole period away from n, so that a few dozen points reach
the precision of the machine whatever the number of units (no recursion over N n terms).
"""

from __future__ import annotations

import warnings

import numpy as np

from synthpop.microdata.messages.errors import ConvergenceWarning

REACH = 9.0  # standard deviations: exp(-81 / 2) is below the precision of a double
NEWTON_UNITS = 30
FINE = 1e-9
NEGLIGIBLE = 42.0  # -log of what does not count


def nodes(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on the upper half circle with log generating functions of S there.

    Returns arrays of shape (m,): angles t from 0 upwards; 2 for each angle but 0, whose mirrored
    angle gives the conjugate number; sums over units of log(1 - p + p exp(i t)), complex.
    """
    from synthpop.kernels import sampling as kernels

    variance = float(np.sum(p * (1 - p)))
    period = min(len(p) + 1, int(np.ceil(2 * REACH * np.sqrt(variance))) + 24) | 1
    t = 2 * np.pi * np.arange(period // 2 + 1) / period
    t = t[variance * (1 - np.cos(t)) <= NEGLIGIBLE]  # bounds log |phi| from above
    log_phi = np.empty(len(t), dtype=np.complex128)
    kernels.log_generating(p, np.exp(1j * t), log_phi)
    return t, np.where(t == 0, 1.0, 2.0), log_phi


def inclusion(p: np.ndarray, n: int) -> np.ndarray:
    """Inclusion probabilities of conditional Poisson sampling with working probabilities p.

    p: array, shape (N,); inside (0, 1); best with sum n
    """
    from synthpop.kernels import sampling as kernels

    t, times, log_phi = nodes(p)
    mass = times * np.exp(log_phi - 1j * n * t)
    result = np.empty(len(p))
    kernels.inclusion_sums(p, np.exp(1j * t), mass, result)
    return p * result / mass.sum().real


def working_probabilities(target: np.ndarray, *, tolerance: float = 1e-11) -> np.ndarray:
    """Working probabilities whose conditional Poisson design has the target probabilities.

    target: array, shape (N,); inside (0, 1), with a whole sum n, which the result has too
    tolerance: largest difference that is aimed at; a `ConvergenceWarning` says when more than 1e-7
        is left

    The log odds maximise a concave function whose gradient is the difference to the target. Up to
    30 units: Newton's method with the exact joint probabilities. Above: the odds are multiplied by
    the ratio of target and reached odds (Deville 2000); when that does not halve the error, by the
    ratio of probabilities, which always converges (Chen, Dempster and Liu 1994).
    """
    n = round(float(target.sum()))
    # 1. Start from p = target, which is right for large samples (Hajek 1964).
    # 2. Change p until the inclusion probabilities given S = n are the target.
    if len(target) <= NEWTON_UNITS:
        p, error = _newton(target, n, tolerance)
    else:
        p, error = _scaling(target, n, tolerance)
    if error > 1e-7:
        warnings.warn(
            f"working probabilities of conditional Poisson sampling are off by {error:.2g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return p


def _newton(target: np.ndarray, n: int, tolerance: float) -> tuple[np.ndarray, float]:
    p, reached = target, inclusion(target, n)
    error = float(np.abs(reached - target).max())
    for _ in range(60):
        if error <= tolerance:
            break
        # 1. The Jacobian in the log odds is the covariance of the indicators (Chen et al. 1994).
        joint = _joint(p, n, np.zeros(len(p)))
        np.fill_diagonal(joint, reached)
        covariance = joint - np.outer(reached, reached)
        move = np.linalg.lstsq(covariance, target - reached, rcond=1e-13)[0]
        # 2. Halve the Newton step until the largest difference falls.
        logits, size = np.log(p / (1 - p)), 1.0
        while True:
            trial = _with_sum(logits + np.clip(size * move, -5, 5), n)
            trial_inclusion = inclusion(trial, n)
            gap = float(np.abs(trial_inclusion - target).max())
            if gap < error or size < 1e-3:
                break
            size /= 2
        if gap >= error:  # rounding: no better point
            break
        p, reached, error = trial, trial_inclusion, gap
    return p, error


def _scaling(target: np.ndarray, n: int, tolerance: float) -> tuple[np.ndarray, float]:
    p = best = target
    best_error, gentle, stalled = np.inf, False, 0
    for _ in range(500):
        # 1. Inclusion probabilities that p has now.
        reached = inclusion(p, n)
        error = float(np.abs(reached - target).max())
        # 2. From ratios of odds to ratios of probabilities where the error does not halve.
        if error > best_error / 2 and not gentle:
            gentle, p = error > FINE, best
            stalled += 1
            if not gentle or stalled > 1:
                break
            reached = inclusion(p, n)
        if error < best_error:
            best, best_error = p, error
        if error <= tolerance:
            break
        # 3. Multiply the odds, and scale them so that p sums to n again.
        ratio = target / reached
        if not gentle:
            ratio = ratio * (1 - reached) / (1 - target)
        p = _with_sum(np.log(p / (1 - p) * ratio), n)
    return best, best_error


def _with_sum(logits: np.ndarray, n: int) -> np.ndarray:
    """Probabilities with these log odds up to a constant, so that they sum to n (Newton)."""
    level = 0.0
    for _ in range(200):
        p = 1 / (1 + np.exp(-(logits + level)))
        gap = n - p.sum()
        if abs(gap) <= 1e-13 * len(p):
            break
        level += np.clip(gap / np.sum(p * (1 - p)), -1.0, 1.0)
    return p


def conditional_joint(target: np.ndarray) -> np.ndarray:
    """Joint probabilities of conditional Poisson sampling with these inclusion probabilities."""
    p = working_probabilities(target)
    return _joint(p, round(float(target.sum())), np.zeros(len(p)))


def sampford_joint(target: np.ndarray) -> np.ndarray:
    """Joint probabilities of Sampford sampling: conditional Poisson, weighted by sum of 1 - p."""
    return _joint(target, round(float(target.sum())), 1 - target)


def _joint(p: np.ndarray, n: int, extra: np.ndarray) -> np.ndarray:
    """P(k and l) when samples of size n have probability product(odds) (sum of extra, or 1)."""
    # 1. Points of the circle with log E exp(i t S).
    t, times, log_phi = nodes(p)
    weighted = bool(extra.any())
    joint = np.zeros((len(p), len(p)))
    total = 0.0
    for angle, count, value in zip(t, times, log_phi, strict=True):
        mass = count * np.exp(value - 1j * n * angle)
        turn = np.exp(1j * angle)
        # 2. h: chance of a unit given this point; pairs are products.
        h = p * turn / (1 - p + p * turn)
        pair = np.outer(h, h)
        # 3. Sampford: times the sum of extra over the sample, k and l being in it for certain.
        if weighted:
            a = extra * h
            level = a.sum()
            pair = pair * (level + (extra - a)[:, None] + (extra - a)[None, :])
            mass_total = mass * level
        else:
            mass_total = mass
        joint += (mass * pair).real
        total += float(mass_total.real)
    return joint / total
