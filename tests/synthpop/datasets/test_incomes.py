"""Truth of the incomes: wage effects, Pareto tail, inequality; and what the survey finds of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop.datasets.ages import make_persons
from synthpop.datasets.draws import Draws
from synthpop.datasets.households import make_households
from synthpop.datasets.incomes import log_wage
from synthpop.datasets.levels import FEMALE
from synthpop.datasets.population import make_population
from synthpop.datasets.tail import equivalence_scale, pareto_tail
from synthpop.datasets.traits import make_traits
from synthpop.datasets.truth import DEMO_TRUTH
from synthpop.microdata.statistics.streams import Streams


def _quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, share * reached[-1])])


def _hill(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    start = _quantile(values, weights, 1 - share)
    top = values > start
    return float(weights[top].sum() / (weights[top] * np.log(values[top] / start)).sum())


def _gini(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    x, w = np.maximum(values[order], 0), weights[order]
    return float((2 * (w * x * np.cumsum(w)).sum() - (w**2 * x).sum()) / (w.sum() * w @ x) - 1)


def _poverty(values: np.ndarray, weights: np.ndarray) -> float:
    line = 0.6 * _quantile(values, weights, 0.5)
    return float(np.average(values < line, weights=weights))


@pytest.mark.parametrize("share", [0.05, 0.02, 0.01])
def test_population_has_the_stated_pareto_tail(population: pd.DataFrame, share: float) -> None:
    values = population["eqIncome"].to_numpy()
    assert abs(_hill(values, np.ones(len(values)), share) - DEMO_TRUTH.pareto_shape) < 0.01


def test_tail_is_pareto_in_every_size_of_household(population: pd.DataFrame) -> None:
    """The tail does not live in one kind of household: each has persons above the threshold."""
    values = population["eqIncome"].to_numpy()
    start = _quantile(values, np.ones(len(values)), 1 - DEMO_TRUTH.tail_share)
    share = (population["eqIncome"] > start).groupby(population["hsize"]).mean()
    assert share.loc[[1, 2, 3, 4]].between(0.02, 0.10).all()


def test_survey_recovers_the_shape_within_its_error(survey: pd.DataFrame) -> None:
    values, weights = survey["eqIncome"].to_numpy(), survey["rb050"].to_numpy()
    shape = _hill(values, weights, DEMO_TRUTH.tail_share)
    start = _quantile(values, weights, 1 - DEMO_TRUTH.tail_share)
    heads = survey[(survey["relation"] == "head") & (survey["eqIncome"] > start)]
    size = (heads["rb050"] * heads["hsize"]).to_numpy()
    error = DEMO_TRUTH.pareto_shape * np.sqrt((size**2).sum()) / size.sum()
    assert error < 0.25
    assert abs(shape - DEMO_TRUTH.pareto_shape) < 2.5 * error


def test_inequality_is_that_of_a_real_country(
    population: pd.DataFrame, survey: pd.DataFrame
) -> None:
    truth = population["eqIncome"].to_numpy(), np.ones(len(population))
    found = survey["eqIncome"].to_numpy(), survey["rb050"].to_numpy()
    assert 0.25 < _gini(*truth) < 0.32
    assert 0.12 < _poverty(*truth) < 0.17
    assert abs(_gini(*found) - _gini(*truth)) < 0.02
    assert abs(_poverty(*found) - _poverty(*truth)) < 0.02


def test_truth_of_the_tail_is_honoured() -> None:
    for shape, share in ((2.0, 0.05), (3.5, 0.05), (2.8, 0.02)):
        frame = make_population(
            20_000, 3, replace(DEMO_TRUTH, pareto_shape=shape, tail_share=share)
        )
        values = frame["eqIncome"].to_numpy()
        assert abs(_hill(values, np.ones(len(values)), share) - shape) < 0.05


def test_density_has_no_break_at_the_threshold() -> None:
    income = np.exp(0.5 * np.sort(np.random.default_rng(1).normal(size=200_000)))
    new, start = pareto_tail(income, np.ones(len(income)), share=0.05, blend=0.15, shape=2.8)
    assert (np.diff(new) >= 0).all()
    assert (new[: int(0.84 * len(new))] == income[: int(0.84 * len(new))]).all()
    for edge in (start, _quantile(income, np.ones(len(income)), 0.85)):
        below = ((new > 0.97 * edge) & (new <= edge)).sum()
        above = ((new > edge) & (new <= 1.03 * edge)).sum()
        assert 0.80 < above / below < 1.10


def test_tail_leaves_incomes_that_are_too_few_or_not_positive() -> None:
    for income in (np.array([5.0]), np.zeros(100), np.arange(3.0)):
        new, start = pareto_tail(income, np.ones(len(income)), share=0.05, blend=0.15, shape=2.8)
        assert np.isnan(start)
        assert (new == income).all()


def test_equivalence_scale_counts_from_14() -> None:
    household, age = np.array([0, 0, 0, 0]), np.array([40, 14, 13, 0])
    assert equivalence_scale(household, age)[0] == pytest.approx(1 + 0.5 + 0.3 + 0.3)


def test_wage_effects_are_the_stated_ones() -> None:
    """Changing one parameter changes the log wage of those concerned by just that."""
    draws = Draws(Streams(5))
    households = make_households(3_000, draws)
    persons = make_persons(households, draws)
    traits = make_traits(households, persons, draws)
    base = log_wage(households, persons, traits, DEMO_TRUTH, draws)

    def moved(**changes: object) -> np.ndarray:
        truth = replace(DEMO_TRUTH, **changes)  # type: ignore[arg-type]
        return log_wage(households, persons, traits, truth, draws) - base

    np.testing.assert_allclose(moved(wage_women=-0.04), 0.10 * (persons.sex == FEMALE), atol=1e-12)
    np.testing.assert_allclose(
        moved(wage_education=(0.0, 0.0, 0.0, 0.0, 0.0)),
        -np.asarray(DEMO_TRUTH.wage_education)[traits.education],
        atol=1e-12,
    )
    np.testing.assert_allclose(
        moved(wage_citizenship=(0.0, 0.0, 0.0)),
        -np.asarray(DEMO_TRUTH.wage_citizenship)[traits.citizenship],
        atol=1e-12,
    )
    parents = moved(wage_parents=1.16)
    child_age = np.where(persons.youngest >= 0, persons.youngest, 99)
    concerned = (persons.relation <= 1) & (child_age[persons.household] < 19)
    np.testing.assert_allclose(parents, concerned, atol=1e-12)
    unshared = moved(wage_sd_household=0.0)
    assert unshared.std() == pytest.approx(DEMO_TRUTH.wage_sd_household, rel=0.05)
    assert (pd.Series(unshared).groupby(persons.household).std().fillna(0) < 1e-12).all()
    assert moved(wage_sd_person=0.0).std() == pytest.approx(DEMO_TRUTH.wage_sd_person, rel=0.05)
