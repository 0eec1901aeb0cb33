"""Households of the invented country: where they are and whom they consist of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.datasets.draws import Draws
from synthpop.datasets.truth import REGIONS
from synthpop.microdata.statistics.whole_shares import largest_remainder

SINGLE, COUPLE, FAMILY, LONE_PARENT, SHARED = range(5)

# odds of the kinds of household in a village and in a city
KINDS_VILLAGE = np.array([0.285, 0.285, 0.325, 0.075, 0.030])
KINDS_CITY = np.array([0.480, 0.225, 0.180, 0.070, 0.045])
CHILDREN_FAMILY = np.array([0.41, 0.405, 0.135, 0.034, 0.011, 0.005])
CHILDREN_LONE = np.array([0.63, 0.27, 0.075, 0.020, 0.005, 0.0])
OTHERS = np.array([0.72, 0.20, 0.08])


@dataclass(frozen=True, slots=True)
class DemoHouseholds:
    """Make-up of the households, arrays of shape (n_households,)."""

    region: np.ndarray  # int8, position in `REGIONS`
    kind: np.ndarray  # int8, SINGLE ... SHARED
    partner: np.ndarray  # int8, 0 or 1
    children: np.ndarray  # int8, how many
    parents: np.ndarray  # int8, 0 or 1
    others: np.ndarray  # int8, how many

    @property
    def size(self) -> np.ndarray:
        """Number of members, shape (n_households,)."""
        return 1 + self.partner + self.children + self.parents + self.others


def make_households(n: int, draws: Draws) -> DemoHouseholds:
    """Draw the make-up of `n` households, sorted by region."""
    counts = largest_remainder(np.array([region.share for region in REGIONS]), n)
    region = np.repeat(np.arange(len(REGIONS), dtype=np.int8), counts)
    urban = np.array([r.urban for r in REGIONS])[region]
    odds = (1 - urban)[:, None] * KINDS_VILLAGE + urban[:, None] * KINDS_CITY
    kind = draws.level("kind", odds)

    children = np.zeros(n, dtype=np.int8)
    for where, odds_children in ((FAMILY, CHILDREN_FAMILY), (LONE_PARENT, CHILDREN_LONE)):
        members = np.flatnonzero(kind == where)
        many = np.broadcast_to(odds_children, (len(members), len(odds_children)))
        children[members] = 1 + draws.level(f"children {where}", many)

    has_children = (kind == FAMILY) | (kind == LONE_PARENT)
    parents = draws.chance("parents", np.where(has_children, 0.075 - 0.055 * urban, 0.0))
    others = draws.chance("relative", np.where(has_children, 0.02, 0.0)).astype(np.int8)
    shared = np.flatnonzero(kind == SHARED)
    many = np.broadcast_to(OTHERS, (len(shared), len(OTHERS)))
    others[shared] = 1 + draws.level("others", many)
    partner = ((kind == COUPLE) | (kind == FAMILY)).astype(np.int8)
    return DemoHouseholds(region, kind, partner, children, parents.astype(np.int8), others)
