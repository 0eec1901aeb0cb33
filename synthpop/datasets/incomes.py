"""Personal incomes: the eight components, before the upper tail is set."""

from __future__ import annotations

import numpy as np

from synthpop.datasets.ages import Persons
from synthpop.datasets.draws import Draws
from synthpop.datasets.households import DemoHouseholds
from synthpop.datasets.levels import (
    ADULT_AGE,
    CHILD,
    DISABLED,
    FEMALE,
    IN_EDUCATION,
    PARTNER,
    RETIRED,
    UNEMPLOYED,
    WIDOWED,
)
from synthpop.datasets.traits import Traits
from synthpop.datasets.truth import REGIONS, DemoTruth

BASE_LOG_WAGE = np.log(21_500.0)  # full-time, upper secondary, national, man of 40

# by status: full-time, part-time, unemployed, education, retired, disabled, domestic
EMPLOYEE = np.array([0.895, 0.915, 0.42, 0.21, 0.045, 0.08, 0.07])  # share with wages
HOURS = np.array([1.0, 0.60, 0.36, 0.20, 0.22, 0.25, 0.22])  # share of a full-time wage
HOURS_ALONE = np.array([1.0, 0.74, 0.42, 0.42, 0.30, 0.30, 0.35])  # the same without a partner
HOURS_SD = np.array([0.05, 0.25, 0.50, 0.75, 0.60, 0.50, 0.65])
SELF_EMPLOYED = np.array([0.030, 0.025, 0.025, 0.012, 0.030, 0.010, 0.020])  # beside other income
BENEFIT = np.array([0.055, 0.070, 0.86, 0.015, 0.010, 0.03, 0.06])  # share with such a benefit
BENEFIT_ALONE = np.array([0.055, 0.070, 0.95, 0.03, 0.010, 0.10, 0.45])
BENEFIT_LEVEL = np.array([0.12, 0.13, 0.50, 0.12, 0.12, 0.20, 0.30])
LOSS_SHARE = 0.05  # of the self-employed


def log_wage(
    households: DemoHouseholds, persons: Persons, traits: Traits, truth: DemoTruth, draws: Draws
) -> np.ndarray:
    """Return the logarithm of the full-time net wage of each person, shape (n_persons,)."""
    age = persons.age.astype(float)
    value = BASE_LOG_WAGE + np.asarray(truth.wage_education)[traits.education]
    value += np.asarray(truth.wage_citizenship)[traits.citizenship]
    value += truth.wage_women * (persons.sex == FEMALE)
    parent = (persons.relation <= PARTNER) & (persons.youngest >= 0)[persons.household]
    parent &= (persons.youngest < 19)[persons.household]
    value += truth.wage_parents * parent
    value += np.interp(age, [16, 22, 30, 40, 52, 62], [-0.75, -0.32, -0.10, 0.0, 0.07, 0.08])
    value += np.array([r.pay for r in REGIONS])[households.region[persons.household]]
    shared = draws.normal("wage of the household", len(persons.youngest))
    value += truth.wage_sd_household * shared[persons.household]
    value += truth.wage_sd_person * draws.normal("wage", len(age))
    return value


def make_components(
    households: DemoHouseholds,
    persons: Persons,
    traits: Traits,
    status: np.ndarray,
    truth: DemoTruth,
    draws: Draws,
) -> np.ndarray:
    """Draw the `COMPONENTS`, euros a year, shape (n_persons, 8); zeros for persons under 16."""
    n = len(status)
    age = persons.age.astype(float)
    wage = np.exp(log_wage(households, persons, traits, truth, draws))

    def amount(name: str, level: np.ndarray | float, spread: np.ndarray | float) -> np.ndarray:
        return level * np.exp(spread * draws.normal(name, n))

    chance = draws.chance
    women = persons.sex == FEMALE
    working = status <= 1
    out = np.zeros((n, 8))
    away = persons.relation != CHILD
    alone = away & (households.partner[persons.household] == 0)
    own_home = (status == IN_EDUCATION) & away  # students who pay a rent
    employee = chance("employee", np.where(own_home, 0.82, EMPLOYEE[status]))
    hours = np.where(alone, HOURS_ALONE[status], HOURS[status])
    out[:, 0] = employee * wage * amount("hours", hours, np.where(own_home, 0.35, HOURS_SD[status]))
    has_business = (working & ~employee) | chance("own business", SELF_EMPLOYED[status])
    level = np.where(working & ~employee, 0.85 * HOURS[status], 0.16)
    result = wage * amount("profit", level, 0.62)
    loss = chance("loss", np.full(n, LOSS_SHARE))
    out[:, 1] = has_business * np.where(loss, -0.22 * result, result)
    benefit = chance("benefit", np.where(alone, BENEFIT_ALONE[status], BENEFIT[status]))
    spread = np.where(status == UNEMPLOYED, 0.30, 0.65)
    out[:, 2] = benefit * wage * amount("benefit level", BENEFIT_LEVEL[status], spread)

    pensioner = status == RETIRED
    invalid = (status == DISABLED) & chance("invalidity", np.where(alone, 0.96, 0.80))
    retired_early = pensioner & (age < 62) & chance("early pension", np.full(n, 0.28))
    has_pension = pensioner & ~retired_early & chance("pension", np.where(alone, 0.995, 0.975))
    career = np.where(women, 0.65, 0.80)  # pension as a share of the wage
    out[:, 3] = has_pension * wage * amount("pension level", career, np.where(women, 0.24, 0.18))
    survivor = (traits.marital == WIDOWED) & chance("survivor", np.where(women, 0.72, 0.22))
    out[:, 4] = survivor * wage * amount("survivor level", np.where(women, 0.42, 0.16), 0.30)
    sick = chance("sick", np.where(working, 0.035, np.where(status == UNEMPLOYED, 0.03, 0.004)))
    out[:, 5] = sick * wage * amount("sickness level", 0.09, 0.80)
    out[:, 6] = (invalid | retired_early) * wage * amount("disability level", 0.55, 0.30)
    student = status == IN_EDUCATION
    others = np.where(working & (age < 35), 0.012, 0.0)
    grant = chance("grant", np.where(student, np.where(own_home, 0.45, 0.08), others))
    out[:, 7] = grant * amount("grant level", np.where(own_home, 5_200.0, 2_300.0), 0.45)
    return np.where((age >= ADULT_AGE)[:, None] & (out != 0), out, 0.0)
