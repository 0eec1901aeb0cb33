"""The super-population: all steps of the generator, put together to a frame."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.datasets import levels
from synthpop.datasets.ages import Persons, make_persons
from synthpop.datasets.draws import Draws
from synthpop.datasets.households import DemoHouseholds, make_households
from synthpop.datasets.incomes import make_components
from synthpop.datasets.status import make_status
from synthpop.datasets.tail import equivalence_scale, pareto_tail
from synthpop.datasets.traits import Traits, make_traits
from synthpop.datasets.truth import DEMO_TRUTH, DemoTruth
from synthpop.microdata.statistics.streams import Streams


def make_population(n_households: int, seed: int, truth: DemoTruth = DEMO_TRUTH) -> pd.DataFrame:
    """Generate `n_households` households; one row per person, sorted by household."""
    draws = Draws(Streams(seed))
    households = make_households(n_households, draws)
    persons = make_persons(households, draws)
    traits = make_traits(households, persons, draws)
    status = make_status(households, persons, traits, draws)
    components = make_components(households, persons, traits, status, truth, draws)
    components = np.rint(components * _tail_factor(components, persons, truth)[:, None])
    return _frame(households, persons, traits, status, components)


def _tail_factor(parts: np.ndarray, persons: Persons, truth: DemoTruth) -> np.ndarray:
    """Factor on the income of each person that makes the upper tail Pareto, shape (n_persons,)."""
    scale = equivalence_scale(persons.household, persons.age)
    income = np.bincount(persons.household, weights=parts.sum(axis=1)) / scale
    size = np.bincount(persons.household).astype(float)
    target, _ = pareto_tail(
        income, size, share=truth.tail_share, blend=truth.tail_blend, shape=truth.pareto_shape
    )
    factor = np.divide(target, income, out=np.ones_like(income), where=target != income)
    return factor[persons.household]


def _frame(
    households: DemoHouseholds,
    persons: Persons,
    traits: Traits,
    status: np.ndarray,
    parts: np.ndarray,
) -> pd.DataFrame:
    household, age = persons.household, persons.age
    child = age < levels.ADULT_AGE
    total = parts.sum(axis=1)
    hincome = np.bincount(household, weights=total)
    equivalised = np.round(hincome / equivalence_scale(household, age), 2)
    size = np.bincount(household)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    number = np.arange(len(household)) - first[household] + 1
    hid = household.astype(np.int32) + np.int32(1)

    def adults_only(codes: np.ndarray) -> np.ndarray:
        return np.where(child, -1, codes)

    def category(
        codes: np.ndarray, names: tuple[str, ...], ordered: bool = False
    ) -> pd.Categorical:
        dtype = pd.CategoricalDtype(list(names), ordered=ordered)
        return pd.Categorical.from_codes(codes, dtype=dtype)

    incomes = {"netIncome": total, **dict(zip(levels.COMPONENTS, parts.T, strict=True))}
    return pd.DataFrame(
        {
            "db030": hid,
            "hsize": size[household].astype(np.int32),
            "db040": category(households.region[household], levels.REGION),
            "pid": hid * np.int32(100) + number.astype(np.int32),
            "relation": category(persons.relation, levels.RELATION),
            "age": age.astype(np.int32),
            "rb090": category(persons.sex, levels.SEX),
            "pb220a": category(adults_only(traits.citizenship), levels.CITIZENSHIP),
            "pl030": category(adults_only(status), levels.STATUS),
            "pe040": category(adults_only(traits.education), levels.EDUCATION, ordered=True),
            "pb190": category(adults_only(traits.marital), levels.MARITAL),
            **{name: np.where(child, np.nan, values) for name, values in incomes.items()},
            "hincome": hincome[household],
            "eqIncome": equivalised[household],
        }
    )
