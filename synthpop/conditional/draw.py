"""Random numbers that give each group of persons its share of every outcome.

Independent uniform numbers u give a group of n persons np(1 - p) too many or too few cases of
variance of an outcome with probability p. Here each u is uniform on [0, 1) too, but those of a
group of persons, in random order, are consecutive terms of the sequence

    u_k = frac(u_0 + k phi),   phi = (sqrt(5) - 1) / 2,

whose discrepancy is of order log(n) / n (Niederreiter 1992, doi:10.1137/1.9781611970081): an
outcome comes as often as expected, give or take about one person. The sequence runs on from one
group to the next. This is systematic sampling of outcomes; each person's distribution is the same
as with independent draws.

Neighbouring groups are joined until there are 20 persons, whose order is random: persons in an
order that is the same for two variables would get numbers that differ by a constant, and variables
that are independent would go together.
"""

from __future__ import annotations

import numpy as np

FEWEST = 20  # persons in random order


def systematic_uniforms(groups: np.ndarray, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """Return a uniform number in [0, 1) for each person, spread evenly within groups.

    Groups of fewer than 20 persons are joined with their neighbours, which should be alike.

    rng: one number for each person and one for all

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> u = systematic_uniforms(np.repeat([0, 1], 500), 2, rng)
    >>> int((u[:500] < 0.3).sum()), int((u[500:] < 0.3).sum())
    (150, 150)
    """
    from synthpop.kernels.spreading import count_groups, join_groups, spread_uniforms

    uniforms, groups = rng.random(len(groups)), groups.astype(np.int32, copy=False)
    run, starts = np.zeros(n_groups, dtype=np.int64), np.zeros(1, dtype=np.int64)
    if n_groups != 1:
        counts = np.zeros(n_groups, dtype=np.int64)
        count_groups(groups, counts)
        join_groups(counts, FEWEST, run)
        persons = np.bincount(run, weights=counts).astype(np.int64)
        starts = np.cumsum(persons) - persons
    spread_uniforms(groups, run, starts, rng.random(), uniforms, uniforms)
    return uniforms
