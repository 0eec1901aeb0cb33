"""How the survey was drawn, and that its weights reproduce the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop.datasets.calibrating import rake_households
from synthpop.datasets.sampling import control_counts, make_survey, response_probability
from synthpop.datasets.truth import DEMO_TRUTH
from synthpop.microdata.statistics.whole_shares import largest_remainder

AGES = [-1, 15, 24, 34, 49, 64, 79, 200]


def _margins(frame: pd.DataFrame, weights: np.ndarray) -> pd.Series:
    """The calibrated totals, counted plainly from a frame."""
    weighted = frame.assign(
        w=weights, group=pd.cut(frame["age"], AGES).astype(str), size=frame["hsize"].clip(upper=5)
    )
    heads = weighted[weighted["relation"] == "head"]
    return pd.concat(
        [
            weighted.groupby(["db040", "rb090"], observed=True)["w"].sum(),
            weighted.groupby("group")["w"].sum(),
            heads.groupby("size")["w"].sum(),
        ]
    )


def test_weights_reproduce_the_calibrated_margins(
    survey: pd.DataFrame, population: pd.DataFrame
) -> None:
    truth = _margins(population, np.ones(len(population)))
    found = _margins(survey, survey["rb050"].to_numpy())
    assert len(truth) == 18 + 7 + 5
    np.testing.assert_allclose(found.loc[truth.index], truth, rtol=1e-6)


def test_one_positive_weight_a_household(survey: pd.DataFrame) -> None:
    assert (survey["rb050"] == survey["db090"]).all()
    assert (survey.groupby("db030")["db090"].nunique() == 1).all()
    assert survey["db090"].between(5, 150).all()


def test_weights_differ_between_regions(survey: pd.DataFrame) -> None:
    mean = survey.groupby("db040", observed=True)["db090"].mean()
    assert mean.max() > 2.5 * mean.min()


def test_control_counts_agree_with_plain_counting(survey: pd.DataFrame) -> None:
    counts, names = control_counts(survey)
    assert counts.shape == (survey["db030"].nunique(), len(names))
    plain = _margins(survey, np.ones(len(survey)))
    assert sorted(counts.sum(axis=0)) == sorted(plain)
    assert (counts[:, :18].sum(axis=1) == survey.groupby("db030").size()).all()
    assert (counts[:, 25:].sum(axis=1) == 1).all()


def test_response_depends_on_region_size_and_age_of_the_head(population: pd.DataFrame) -> None:
    head = population[population["relation"] == "head"]
    chance = pd.Series(response_probability(head), index=head.index)
    assert 0.55 < chance.mean() < 0.75
    by_region = chance.groupby(head["db040"], observed=True).mean()
    assert by_region.idxmin() == "Capital"
    by_size = chance.groupby(head["hsize"].clip(upper=4)).mean()
    assert by_size.is_monotonic_increasing
    one = head[(head["hsize"] == 1) & (head["db040"] == "Capital")]
    by_age = chance[one.index].groupby(pd.cut(one["age"], [0, 30, 60, 75]), observed=True).mean()
    assert by_age.is_monotonic_increasing


def test_nonresponse_leaves_its_mark_before_calibration(
    survey: pd.DataFrame, population: pd.DataFrame
) -> None:
    """Without weights the survey has too few single persons."""
    of_one = population.loc[population["relation"] == "head", "hsize"].eq(1).mean()
    assert survey.loc[survey["relation"] == "head", "hsize"].eq(1).mean() < of_one - 0.03


@pytest.fixture(scope="module")
def small(population: pd.DataFrame) -> pd.DataFrame:
    return population[population["db030"] % 10 == 0].assign(
        db030=lambda frame: pd.factorize(frame["db030"])[0] + 1
    )


def test_parameters_of_the_sample_are_honoured(small: pd.DataFrame) -> None:
    base = make_survey(small, 1, replace(DEMO_TRUTH, gross_sample=5_000))
    fewer = make_survey(small, 1, replace(DEMO_TRUTH, gross_sample=4_000))
    assert 0.75 < fewer["db030"].nunique() / base["db030"].nunique() < 0.85
    even = make_survey(small, 1, replace(DEMO_TRUTH, gross_sample=5_000, allocation_power=1.0))
    spread = [f.groupby("db040", observed=True)["db090"].mean().std() for f in (base, even)]
    assert spread[1] < 0.5 * spread[0]
    complete = make_survey(small, 1, replace(DEMO_TRUTH, gross_sample=5_000, item_nonresponse=0.0))
    assert complete.loc[complete["age"] >= 16, "pe040"].notna().all()
    other = make_survey(small, 2, replace(DEMO_TRUTH, gross_sample=5_000))
    assert set(other["db030"]) != set(base["db030"])


def test_counts_of_shares_add_up() -> None:
    counts = largest_remainder(np.array([0.333, 0.333, 0.334]), 100)
    assert counts.tolist() == [33, 33, 34]


def test_raking_agrees_with_iterative_proportional_fitting() -> None:
    """Single persons and one-way controls: raking is the classical IPF."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 3, 400), rng.integers(0, 4, 400)
    start = rng.uniform(1, 3, 400)
    rows, columns = np.array([300.0, 200.0, 400.0]), np.array([250.0, 250.0, 200.0, 200.0])
    naive = start.copy()
    for _ in range(200):
        naive *= (rows / np.bincount(a, naive))[a]
        naive *= (columns / np.bincount(b, naive))[b]
    counts = np.concatenate([np.eye(3)[a], np.eye(4)[b]], axis=1)
    fast = rake_households(counts, np.concatenate([rows, columns]), start)
    np.testing.assert_allclose(fast, naive, rtol=1e-8)


def test_raking_says_when_totals_cannot_be_met() -> None:
    counts = np.array([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ArithmeticError, match="cannot be met"):
        rake_households(counts, np.array([10.0, 20.0]), np.ones(2))
    tight = rake_households(counts[:, :1], np.array([10.0]), np.ones(2), tolerance=1e-12)
    loose = rake_households(counts[:, :1], np.array([10.0]), np.ones(2), tolerance=0.9)
    assert tight.sum() == pytest.approx(10)
    assert loose.sum() != pytest.approx(10)
