"""Samples with unequal probabilities on arrays: positions in, positions out.

Every function takes inclusion probabilities, shape (N,), and a Generator. Units with probability
0 never and those with 1 always come in; the rest is drawn by the method. Except for Poisson
sampling the probabilities must add up to a whole number, the size of the sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from synthpop.microdata.messages.errors import Faults, SparseDataWarning
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.statistics.weighted import as_numbers
from synthpop.sampling.conditional_poisson import (
    conditional_joint,
    sampford_joint,
    working_probabilities,
)

EDGE = 1e-9
MOST_TRIES = 100_000_000
SAMPFORD_TRIES = 200
MOST_CELLS = 5_000_000


def inclusion_probabilities(size: npt.ArrayLike, n: int) -> np.ndarray:
    """Probabilities proportional to size, capped at one.

    Parameters
    ----------
    size : array, shape (N,)
        Not negative; units of size 0 get probability 0.
    n : int
        Size of the sample.

    Returns
    -------
    array, shape (N,)
        Sums to n. Units whose share would exceed one are certain, and the others share the rest.

    Raises
    ------
    InputError
        Negative or missing sizes, or fewer than n positive ones.

    Examples
    --------
    >>> inclusion_probabilities([1.0, 2.0, 3.0, 10.0], 2).round(4).tolist()
    [0.1667, 0.3333, 0.5, 1.0]
    """
    faults = Faults("inclusion probabilities")
    x = as_numbers(faults, size, "size")
    faults.raise_if_any()
    is_invalid = ~(np.isfinite(x) & (x >= 0))
    n_positive = int((x > 0).sum())
    if is_invalid.any():
        faults.add("size", "missing, infinite or negative", rows=np.flatnonzero(is_invalid))
    elif not 0 <= n <= n_positive:
        what = f"is {n}, {plural(n_positive, 'unit has', 'units have')} a positive size"
        faults.add("n", what)
    faults.raise_if_any()
    if n == 0:
        return np.zeros(len(x))
    order = np.argsort(-x, kind="stable")
    tail = np.cumsum(x[order][::-1])[::-1]
    left = n - np.arange(len(x))
    certain = (left > 0) & (left * x[order] >= tail * (1 - 1e-12))
    n_certain = int(np.argmin(certain)) if not certain.all() else len(x)
    p = np.ones(len(x))
    uncertain = order[n_certain:]
    if len(uncertain):
        p[uncertain] = 0.0  # also where only units of size 0 are left
        if tail[n_certain] > 0:
            p[uncertain] = (n - n_certain) * x[uncertain] / tail[n_certain]
    return p


def _inside(faults: Faults, probabilities: npt.ArrayLike, fixed: bool) -> tuple[np.ndarray, int]:
    p = as_numbers(faults, probabilities, "probabilities")
    is_invalid = ~((p >= 0) & (p <= 1 + EDGE))
    if is_invalid.any():
        faults.add("probabilities", "are not between 0 and 1", rows=np.flatnonzero(is_invalid))
    total = float(p[~is_invalid].sum())
    if fixed and not faults and not is_invalid.any() and abs(total - round(total)) > 1e-6:
        hint = "A sample of fixed size needs a whole number."
        faults.add("probabilities", f"sum to {total:.6g}", hint=hint)
    faults.raise_if_any()
    return np.clip(p, 0.0, 1.0), round(total)


def draw_unequal(
    probabilities: npt.ArrayLike, rng: np.random.Generator, *, method: str = "conditional-poisson"
) -> np.ndarray:
    """Draw a sample with given inclusion probabilities.

    Parameters
    ----------
    probabilities : array, shape (N,)
    rng : Generator
    method : str
        "systematic": one random start, in the order given. "random-systematic": the same in random
        order. "poisson": units independently (the size varies). "conditional-poisson": maximum
        entropy among designs of fixed size. "sampford", "brewer": fixed size, near to maximum
        entropy. "tille": elimination. "pivotal": duels of units in random order.

    Returns
    -------
    int array, shape (n,)
        Positions of the chosen units, increasing.

    Raises
    ------
    InputError
        Probabilities outside 0 and 1, or a sum that is not whole where the size is fixed.

    Notes
    -----
    The inclusion probabilities are met exactly by every method (those of "conditional-poisson" up
    to 1e-10, the tolerance of the equations for its working probabilities). Sources: Tillé (2006),
    Sampling Algorithms, chapters 5 to 8; Madow (1949); Brewer (1975); Sampford (1967); Deville and
    Tillé (1998); Chen, Dempster and Liu (1994), doi:10.1093/biomet/81.3.457; Sampford's samples are
    drawn from conditional Poisson ones by acceptance with the sum of 1 - p (Bondesson, Traat and
    Lundqvist 2006).

    Examples
    --------
    >>> p = inclusion_probabilities(np.arange(1.0, 11.0), 4)
    >>> len(draw_unequal(p, np.random.default_rng(1), method="sampford"))
    4
    """
    faults = Faults("sample")
    check_choice(faults, "method", method, METHODS)
    faults.raise_if_any()
    fixed = method not in ("poisson", "systematic", "random-systematic")
    p, n = _inside(faults, probabilities, fixed)
    unsure = np.flatnonzero((p > EDGE) & (p < 1 - EDGE))
    sure = np.flatnonzero(p >= 1 - EDGE)
    if len(unsure) == 0:
        return sure
    q = p[unsure]
    if fixed:
        m = n - len(sure)
        if m <= 0 or m >= len(unsure):
            return np.sort(np.concatenate([sure, unsure[:m] if m <= 0 else unsure]))
        q = q * (m / q.sum()) if abs(q.sum() - m) > 1e-12 else q
    chosen = METHODS[method](q, rng)
    return np.sort(np.concatenate([sure, unsure[chosen]]))


def systematic(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions where the cumulated probabilities pass u, u + 1, u + 2 ..."""
    # a sum that is whole but for rounding must not lose or gain a unit
    cumulated = np.cumsum(p)
    if abs(cumulated[-1] - round(cumulated[-1])) < 1e-6:
        cumulated[-1] = round(cumulated[-1])
    marks = np.floor(cumulated - rng.random()) + 1
    return np.flatnonzero(np.diff(marks, prepend=0.0) > 0)


def random_systematic(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """`systematic` after a random permutation."""
    order = rng.permutation(len(p))
    return order[systematic(p[order], rng)]


def poisson(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each unit on its own."""
    return np.flatnonzero(rng.random(len(p)) < p)


def pivotal(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Duels in random order."""
    from synthpop.kernels import sampling as kernels

    order = rng.permutation(len(p))
    out = np.zeros(len(p), dtype=np.int8)
    kernels.pivotal(p[order].copy(), rng, out)
    return order[out == 1]


def brewer(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Brewer's n draws, cost N n."""
    from synthpop.kernels import sampling as kernels

    out = np.zeros(len(p), dtype=np.int8)
    kernels.brewer(p, round(p.sum()), rng, out)
    return np.flatnonzero(out)


def tille(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Tillé's elimination, cost N log N."""
    from synthpop.kernels import sampling as kernels

    order = np.argsort(-p, kind="stable")
    out = np.ones(len(p), dtype=np.int8)
    kernels.eliminate(p[order], round(p.sum()), rng, out)
    return order[out == 1]


def conditional_poisson(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Poisson samples with the working probabilities, until the size is right."""
    return rejective(working_probabilities(p), round(p.sum()), rng)


def rejective(p: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Poisson samples with probabilities p, until one has n units."""
    from synthpop.kernels import sampling as kernels

    out = np.zeros(len(p), dtype=np.int8)
    if kernels.rejective(p, n, rng, out, MOST_TRIES) < 0:
        raise RuntimeError("no sample of the right size was found")  # chance below 1e-1000
    return np.flatnonzero(out)


def sampford(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sampford's design: probability of s proportional to sum_s (1 - p) times the odds of s.

    Conditional Poisson samples with odds p / (1 - p) are accepted by their sum of 1 - p. Where
    that fails `SAMPFORD_TRIES` times (sizes of very different magnitude), the same design is drawn
    directly.
    """
    n = round(p.sum())
    # 1. Largest possible sum of 1 - p over a sample.
    bound = float(np.sort(1 - p)[-n:].sum())
    for _ in range(SAMPFORD_TRIES):
        # 2. A conditional Poisson sample with odds p / (1 - p), accepted by its sum of 1 - p.
        chosen = rejective(p, n, rng)
        if rng.random() * bound <= float((1 - p[chosen]).sum()):
            return chosen
    # 3. Rarely accepted: draw the same design directly.
    if len(p) * n <= MOST_CELLS:
        return sampford_direct(p, rng)
    warnings.warn(
        f"Sampford samples of {count(n)} from {count(len(p))} units with such sizes are too rare "
        "to be drawn: the pivotal method was used, which has the same inclusion probabilities but "
        "other joint ones",
        SparseDataWarning,
        stacklevel=2,
    )
    return pivotal(p, rng)


def sampford_direct(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw Sampford's design without rejection, cost N n.

    sum_{k in s} (1 - p_k) prod_{l in s} w_l with odds w = p / (1 - p) equals sum_{k in s} p_k
    prod_{l in s, l != k} w_l: a first unit k is drawn with probability proportional to p_k times
    the n - 1 elementary symmetric function of the odds of the others, and the other n - 1 units
    are a conditional Poisson sample of the rest.
    """
    n = round(p.sum())
    log_odds = np.log(p) - np.log1p(-p)
    # 1. Symmetric functions of the first i and of the last N - i units, in logarithms.
    forward = log_symmetric(log_odds, n)
    backward = log_symmetric(log_odds[::-1], n)[::-1]
    # 2. Those without unit k: units before k and after k share the n - 1 others.
    before, after = forward[:-1, :n], backward[1:, :n]
    without = np.logaddexp.reduce(before + after[:, ::-1], axis=1)
    chance = np.log(p) + without
    chance = np.exp(chance - chance.max())
    first = int(np.searchsorted(np.cumsum(chance), rng.random() * chance.sum(), side="right"))
    # 3. The rest one unit after the other, given how many are still to come.
    others = np.delete(np.arange(len(p)), first)
    tails = log_symmetric(log_odds[others][::-1], n - 1)[::-1]
    chosen, left = [first], n - 1
    for i, unit in enumerate(others.tolist()):
        if left == 0:
            break
        log_share = log_odds[unit] + tails[i + 1, left - 1] - tails[i, left]
        if np.log(rng.random()) < log_share:
            chosen.append(unit)
            left -= 1
    return np.sort(np.array(chosen))


def log_symmetric(log_odds: np.ndarray, n: int) -> np.ndarray:
    """Return logarithms of the elementary symmetric functions of orders 0 to n.

    log_odds: array, shape (N,)
    Returns array, shape (N + 1, n + 1): row i: of the first i units.
    """
    table = np.full((len(log_odds) + 1, n + 1), -np.inf)
    table[0, 0] = 0.0
    for i, value in enumerate(log_odds):
        table[i + 1] = table[i]
        table[i + 1, 1:] = np.logaddexp(table[i, 1:], table[i, :-1] + value)
    return table


METHODS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "systematic": systematic, "random-systematic": random_systematic, "poisson": poisson,
    "conditional-poisson": conditional_poisson, "sampford": sampford, "brewer": brewer,
    "tille": tille, "pivotal": pivotal,
}  # fmt: skip


def joint_probabilities(probabilities: npt.ArrayLike, *, method: str) -> np.ndarray:
    """Second-order inclusion probabilities, where the method has known ones.

    Parameters
    ----------
    probabilities : array, shape (N,)
    method : {"poisson", "conditional-poisson", "sampford", "tille", "systematic"}

    Returns
    -------
    array, shape (N, N)
        Probability that both units are chosen; the diagonal holds the probabilities themselves.

    Raises
    ------
    InputError
        A method without known joint probabilities (random-systematic, brewer, pivotal).

    Examples
    --------
    >>> joint_probabilities([0.5, 0.5, 0.5, 0.5], method="sampford").round(4)[0].tolist()
    [0.5, 0.1667, 0.1667, 0.1667]
    """
    faults = Faults("joint probabilities")
    check_choice(faults, "method", method, JOINT)
    faults.raise_if_any()
    p, _ = _inside(faults, probabilities, method not in ("poisson", "systematic"))
    joint = np.outer(p, p)
    unsure = np.flatnonzero((p > EDGE) & (p < 1 - EDGE))
    if len(unsure):
        q = p[unsure]
        block = JOINT[method](q)
        np.fill_diagonal(block, q)
        joint[np.ix_(unsure, unsure)] = block
    np.fill_diagonal(joint, p)
    return joint


def poisson_joint(p: np.ndarray) -> np.ndarray:
    """Independence."""
    return np.outer(p, p)


def systematic_joint(p: np.ndarray) -> np.ndarray:
    """Length of the starts u for which both units are hit."""
    if len(p) == 0:
        return np.zeros((0, 0))
    ends = np.cumsum(p)
    if abs(ends[-1] - round(ends[-1])) < 1e-6:
        ends[-1] = round(ends[-1])
    starts = np.concatenate([[0.0], ends[:-1]])
    cuts = np.unique(np.concatenate([[0.0, 1.0], starts % 1, ends % 1]))
    middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    hit = np.floor(ends[:, None] - middle) > np.floor(starts[:, None] - middle)
    return (hit * length) @ hit.T


def tille_joint(p: np.ndarray) -> np.ndarray:
    """Product over the steps of 1 - r_k - r_l, r the chances to leave."""
    n_units, n = len(p), round(p.sum())
    joint = np.ones((n_units, n_units))
    before = np.ones(n_units)
    for i in range(n_units - 1, n - 1, -1):
        now = inclusion_probabilities(p, i)
        leave = 1 - now / before
        joint *= 1 - leave[:, None] - leave[None, :]
        before = now
    return joint


JOINT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "poisson": poisson_joint, "conditional-poisson": conditional_joint,
    "sampford": sampford_joint, "tille": tille_joint, "systematic": systematic_joint,
}  # fmt: skip
