"""Citizenship, marital status and education of the persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthpop.datasets.ages import Persons
from synthpop.datasets.draws import Draws
from synthpop.datasets.households import DemoHouseholds
from synthpop.datasets.levels import (
    CHILD,
    DIVORCED,
    FEMALE,
    HEAD,
    MARRIED,
    NEVER_MARRIED,
    PARENT,
    PARTNER,
    SEPARATED,
    WIDOWED,
)
from synthpop.datasets.truth import REGIONS

EU_SHARE = 0.42  # of those who are not nationals
SAME_CITIZENSHIP = 0.80  # members who take the citizenship of the head without a draw of their own
# ability that must be exceeded to reach education 1, 2, 3, 4, and the ages of which it takes
EDUCATION_STEPS = (-2.05, -0.95, 0.62, 0.92)
EDUCATION_AGES = (16, 16, 18, 20, 22)


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of the persons, int8 arrays of shape (n_persons,); without meaning under 16."""

    citizenship: np.ndarray
    marital: np.ndarray
    education: np.ndarray


def make_traits(households: DemoHouseholds, persons: Persons, draws: Draws) -> Traits:
    """Draw the traits; members of a household resemble each other."""
    return Traits(
        _citizenship(households, persons, draws),
        _marital(persons, draws),
        _education(households, persons, draws),
    )


def _citizenship(households: DemoHouseholds, persons: Persons, draws: Draws) -> np.ndarray:
    n = len(persons.age)
    foreign = np.array([region.foreign for region in REGIONS])[households.region]
    chance = foreign[persons.household] * np.interp(persons.age, [45, 60, 75], [1.0, 0.55, 0.25])
    is_foreign = draws.chance("foreign", chance)
    eu = draws.uniform("eu", n) < EU_SHARE
    code = np.where(is_foreign, np.where(eu, 1, 2), 0).astype(np.int8)
    head = code[persons.relation == HEAD][persons.household]
    same = draws.uniform("same citizenship", n) < SAME_CITIZENSHIP
    return np.where(same, head, code)


def _marital(persons: Persons, draws: Draws) -> np.ndarray:
    """Head and partner are both married or both not; others may have been married."""
    n, age = len(persons.age), persons.age.astype(float)
    n_households = len(persons.youngest)
    female = persons.sex == FEMALE
    paired = np.zeros(n_households, dtype=bool)
    partners = persons.relation == PARTNER
    paired[persons.household[partners]] = True
    head_age = age[persons.relation == HEAD]
    wed = np.interp(head_age, [20, 26, 32, 42, 60, 75], [0.06, 0.24, 0.52, 0.74, 0.90, 0.96])
    wed = np.minimum(wed + np.where(persons.youngest >= 0, 0.12, 0.0), 0.97)
    married = draws.chance("married", wed) & paired

    ever = np.interp(age, [18, 22, 30, 40, 50, 60, 75], [0, 0.01, 0.10, 0.34, 0.56, 0.76, 0.90])
    ever = np.where(persons.relation == CHILD, ever * 0.35, ever)
    ever = np.where(persons.relation == PARENT, 0.97, ever)
    share_widowed = np.interp(age, [30, 50, 60, 70, 80, 90], [0.01, 0.07, 0.20, 0.52, 0.82, 0.94])
    share_widowed = np.where(female, share_widowed, share_widowed * 0.55)
    core = persons.relation <= PARTNER
    share_widowed = np.where(core & paired[persons.household], share_widowed * 0.08, share_widowed)
    was_married = draws.chance("ever married", ever)
    widowed = draws.chance("widowed", share_widowed)
    separated = draws.uniform("separated", n) < 0.10
    ended = np.where(widowed, WIDOWED, np.where(separated, SEPARATED, DIVORCED))
    code = np.where(was_married, ended, NEVER_MARRIED)
    return np.where(core & married[persons.household], MARRIED, code).astype(np.int8)


def _education(households: DemoHouseholds, persons: Persons, draws: Draws) -> np.ndarray:
    """Highest level that the age allows of the level that ability, cohort and sex lead to."""
    n, age = len(persons.age), persons.age.astype(float)
    family = draws.normal("education of the family", len(persons.youngest))[persons.household]
    ability = 0.60 * family + 0.80 * draws.normal("education", n)
    ability += np.interp(age, [28, 45, 60, 75, 90], [0.18, 0.08, -0.22, -0.62, -0.95])
    women_behind = np.interp(age, [25, 40, 60, 80], [-0.12, -0.02, 0.30, 0.62])
    ability -= np.where(persons.sex == FEMALE, women_behind, 0.0)
    urban = np.array([region.urban for region in REGIONS])[households.region]
    ability += 0.30 * (urban - 0.4)[persons.household]
    level = np.searchsorted(EDUCATION_STEPS, ability)
    possible = np.searchsorted(EDUCATION_AGES, age, side="right") - 1
    return np.minimum(level, np.maximum(possible, 1)).astype(np.int8)
