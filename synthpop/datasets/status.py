"""Economic status: what a person does, given age, sex, family, education and citizenship."""

from __future__ import annotations

import numpy as np

from synthpop.datasets.ages import Persons
from synthpop.datasets.draws import Draws
from synthpop.datasets.households import DemoHouseholds
from synthpop.datasets.levels import CHILD, FEMALE, PARTNER
from synthpop.datasets.traits import Traits
from synthpop.datasets.truth import REGIONS

LAST_STUDENT_AGE = 40  # nobody older is in education
FIRST_PENSION_AGE = 50  # nobody younger is retired


def make_status(
    households: DemoHouseholds, persons: Persons, traits: Traits, draws: Draws
) -> np.ndarray:
    """Draw the status of every person, int8, shape (n_persons,); without meaning under 16."""
    return draws.level("status", status_odds(households, persons, traits))


def status_odds(households: DemoHouseholds, persons: Persons, traits: Traits) -> np.ndarray:
    """Return the probabilities of the seven levels, shape (n_persons, 7)."""
    age = persons.age.astype(float)
    woman = persons.sex == FEMALE
    youngest = np.where(persons.relation <= PARTNER, persons.youngest[persons.household], -1)
    small, pupil = (youngest >= 0) & (youngest < 4), (youngest >= 0) & (youngest < 16)

    student = np.interp(age, [16, 18, 20, 24, 28, 34, 40], [0.86, 0.66, 0.42, 0.25, 0.08, 0.02, 0])
    student *= np.where(persons.relation <= PARTNER, 0.75, 1.0)
    student *= np.where((persons.relation == CHILD) & (traits.education >= 2), 1.15, 1.0)
    student = np.where(age >= LAST_STUDENT_AGE, 0.0, np.minimum(student, 0.95))
    pension_age = 61.6 - 1.6 * woman + 0.5 * (traits.education - 2)
    retired = 1 / (1 + np.exp(-(age - pension_age) / 1.7))
    retired = np.where(age < FIRST_PENSION_AGE, 0.0, retired)
    housewife = retired * np.where(woman, 0.15, 0.0)  # women who never had a pension of their own
    retired = retired - housewife
    alone = households.partner[persons.household] == 0

    base = np.interp(age, [16, 30, 45, 55, 64], [0.006, 0.010, 0.020, 0.040, 0.05])
    disabled = base * np.array([2.2, 1.6, 0.9, 0.6, 0.4])[traits.education]
    base = np.interp(age, [16, 22, 35, 55, 64], [0.085, 0.065, 0.048, 0.055, 0.06])
    unemployed = base * np.array([1.9, 1.5, 0.9, 0.7, 0.5])[traits.education]
    unemployed *= np.array([1.0, 1.1, 1.7])[traits.citizenship]
    region = households.region[persons.household]
    unemployed *= np.array([r.unemployment for r in REGIONS])[region]
    home = np.select([small, pupil], [0.40, 0.18], default=np.interp(age, [20, 60], [0.04, 0.34]))
    home = np.where(alone, 0.25 * home, home)
    domestic = np.where(woman, home * np.array([1.0, 1.0, 1.5])[traits.citizenship], 0.008)
    part_time = np.where(woman, np.where(pupil, 0.36, 0.19), 0.05)

    rest = np.maximum(1 - disabled - unemployed - domestic - part_time, 0.05)
    active = np.maximum(1 - student - retired - housewife, 0.0)
    working = np.column_stack([rest, part_time, unemployed])
    out = np.empty((len(age), 7))
    out[:, :3] = active[:, None] * working
    out[:, 3], out[:, 4] = student, retired
    out[:, 5], out[:, 6] = active * disabled, active * domestic + housewife
    return out
