"""Members of the households: relation to the head, age and sex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.datasets.draws import Draws
from synthpop.datasets.households import COUPLE, FAMILY, LONE_PARENT, SHARED, SINGLE, DemoHouseholds
from synthpop.datasets.levels import CHILD, FEMALE, HEAD, MALE, OTHER, PARENT, PARTNER

OLDEST = 95  # of the parents of a head
PARENT_GAP = 17  # least number of years between a parent and a child
LAST_BIRTH = 45  # greatest age of a mother at a birth

# distribution functions of ages: (age, share that is younger)
AGE_SINGLE = (
    (18, 0), (22, 0.035), (30, 0.15), (40, 0.27), (50, 0.38), (60, 0.51), (70, 0.68),
    (80, 0.855), (84, 0.915), (88, 0.96), (92, 0.987), (99, 1),
)  # fmt: skip
AGE_COUPLE = (
    (19, 0), (24, 0.02), (30, 0.10), (36, 0.15), (45, 0.21), (52, 0.31), (60, 0.50), (70, 0.76),
    (80, 0.935), (84, 0.972), (88, 0.991), (95, 1),
)  # fmt: skip
AGE_SHARED = ((18, 0), (22, 0.18), (28, 0.50), (35, 0.70), (50, 0.87), (70, 0.97), (90, 1))
AGE_YOUNGEST_FAMILY = (
    (0, 0), (3, 0.195), (6, 0.35), (12, 0.58), (18, 0.77), (24, 0.93), (30, 0.99), (38, 1),
)  # fmt: skip
AGE_YOUNGEST_LONE = (
    (0, 0), (3, 0.12), (6, 0.23), (12, 0.45), (18, 0.65), (26, 0.85), (34, 0.96), (40, 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Persons:
    """Members of the households, sorted by household with the head first; (n_persons,) each."""

    household: np.ndarray  # int32: position of the household
    relation: np.ndarray  # int8
    age: np.ndarray  # int8
    sex: np.ndarray  # int8
    youngest: np.ndarray  # int8, shape (n_households,): youngest child of the head; -1 for none


def make_persons(households: DemoHouseholds, draws: Draws) -> Persons:
    """Draw age and sex of all members of `households`."""
    n = len(households.region)
    children = _child_ages(households, draws)
    oldest = np.where(households.children > 0, children.max(axis=1), -1)
    youngest = np.where(households.children > 0, children[:, 0], -1)
    head_age, partner_age, head_sex, partner_sex = _adults(households, oldest, youngest, draws)

    size = households.size.astype(np.int64)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    household = np.repeat(np.arange(n, dtype=np.int32), size)
    number = np.arange(len(household)) - first[household]  # 0 is the head
    relation = _relation(households, household, number)

    age = np.empty(len(household), dtype=np.int64)
    sex = (draws.uniform("sex", len(household)) < 0.487).astype(np.int8)
    for code, ages, sexes in ((HEAD, head_age, head_sex), (PARTNER, partner_age, partner_sex)):
        rows = relation == code
        age[rows] = ages[household[rows]]
        sex[rows] = sexes[household[rows]]
    rows = np.flatnonzero(relation == CHILD)
    order = number[rows] - 1 - households.partner[household[rows]]
    age[rows] = children[household[rows], households.children[household[rows]] - 1 - order]
    rows = np.flatnonzero(relation == PARENT)
    gap = np.clip(np.rint(29 + 5 * draws.normal("parent age", len(rows))), PARENT_GAP, LAST_BIRTH)
    parent = head_age[household[rows]] + gap
    parent = np.where(parent > OLDEST, OLDEST - (parent - OLDEST) % 12, parent)
    age[rows] = np.maximum(parent, head_age[household[rows]] + PARENT_GAP)
    sex[rows] = draws.chance("parent sex", np.full(len(rows), 0.72))
    rows = np.flatnonzero(relation == OTHER)
    gap = np.rint(5 * draws.normal("other age", len(rows)))
    age[rows] = np.clip(head_age[household[rows]] + gap, 17, 95)
    return Persons(household, relation, age.astype(np.int8), sex, youngest.astype(np.int8))


def _child_ages(households: DemoHouseholds, draws: Draws) -> np.ndarray:
    """Ages of the children, the youngest first, shape (n_households, 6); -1 where there is none."""
    n = len(households.region)
    ages = np.full((n, 6), -1, dtype=np.int64)
    lone = households.kind == LONE_PARENT
    youngest = np.where(
        lone,
        draws.curve("youngest lone", n, AGE_YOUNGEST_LONE),
        draws.curve("youngest family", n, AGE_YOUNGEST_FAMILY),
    )
    ages[:, 0] = np.where(households.children > 0, np.floor(youngest), -1)
    for order in range(1, 6):
        rows = np.flatnonzero(households.children > order)
        gap = np.clip(np.rint(2.7 + 1.4 * draws.normal(f"gap {order}", len(rows))), 0, 7)
        ages[rows, order] = ages[rows, order - 1] + gap
    return ages


def _adults(
    households: DemoHouseholds, oldest: np.ndarray, youngest: np.ndarray, draws: Draws
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Age of head and partner, sex of head and partner, each of shape (n_households,)."""
    n = len(oldest)
    kind = households.kind
    first_birth = np.rint(28.5 - 0.8 * households.children + 5.0 * draws.normal("birth", n))
    latest = np.maximum(LAST_BIRTH - (oldest - youngest), PARENT_GAP)
    mother = oldest + np.clip(first_birth, PARENT_GAP, latest)
    woman = np.select(
        [kind == SINGLE, kind == COUPLE, kind == SHARED],
        [
            np.floor(draws.curve("age single", n, AGE_SINGLE)),
            np.floor(draws.curve("age couple", n, AGE_COUPLE)),
            np.floor(draws.curve("age shared", n, AGE_SHARED)),
        ],
        default=mother,
    )
    man = np.clip(woman + np.rint(2.4 + 3.4 * draws.normal("age gap", n)), 18, 98)
    man = np.where(oldest >= 0, np.maximum(man, oldest + PARENT_GAP), man)

    alone = np.interp(woman, [30, 50, 65, 75, 85], [0.42, 0.44, 0.62, 0.74, 0.80])
    women_first = np.select(
        [kind == SINGLE, kind == LONE_PARENT, kind == SHARED], [alone, 0.86, 0.47], default=0.36
    )
    woman_heads = draws.chance("head sex", women_first)
    same_sex = draws.chance("same sex", np.where(kind == COUPLE, 0.015, 0.003))
    head_sex = np.where(woman_heads, FEMALE, MALE)
    partner_sex = np.where(same_sex, head_sex, 1 - head_sex)
    paired = np.isin(kind, (COUPLE, FAMILY))
    head_is_man = ~woman_heads & (paired | (kind == LONE_PARENT))
    head_age = np.where(head_is_man, man, woman).astype(np.int64)
    partner_age = np.where(head_is_man, woman, man).astype(np.int64)
    return head_age, partner_age, head_sex, partner_sex


def _relation(households: DemoHouseholds, household: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Relation by position in the household: head, partner, children, parent, others."""
    ends = np.cumsum(
        [np.ones_like(households.partner), households.partner, households.children,
         households.parents],
        axis=0,
    )  # fmt: skip
    relation = np.zeros(len(household), dtype=np.int8)
    for end in ends:
        relation += number >= end[household]
    return relation
