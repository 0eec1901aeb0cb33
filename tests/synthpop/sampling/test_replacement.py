"""Drawing with replacement, and collecting whole groups of drawn persons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.sampling import (
    Cluster,
    ProbabilityProportionalToSize,
    SimpleRandom,
    Stratified,
    TwoStage,
    draw_sample,
    draw_setup,
    inclusion_probabilities_of,
    joint_probabilities_of,
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 5, 40)
    household = np.repeat(np.arange(40), sizes)
    return pd.DataFrame(
        {"hid": household, "region": np.where(household < 20, "a", "b"),
         "x": rng.lognormal(0, 1, len(household))}
    )  # fmt: skip


def total(survey) -> float:  # type: ignore[no-untyped-def]
    return float(np.dot(survey.weights, survey.frame["x"]))


def test_simple_random_with_replacement(people: pd.DataFrame) -> None:
    n = len(people)
    survey = draw_sample(people, SimpleRandom(3 * n, replace=True), seed=1)
    assert survey.n_persons == 3 * n
    np.testing.assert_allclose(survey.weights, 1 / 3)
    assert survey.frame["draw"].max() > 1
    again = survey.frame.groupby("x")["draw"].agg(["size", "max"])
    assert (again["size"] == again["max"]).all()
    few = SimpleRandom(10, replace=True)
    p = inclusion_probabilities_of(people, few)
    np.testing.assert_allclose(p, 1 - (1 - 1 / n) ** 10)
    joint = joint_probabilities_of(people, few)
    assert joint[0, 1] == pytest.approx(1 - 2 * (1 - 1 / n) ** 10 + (1 - 2 / n) ** 10)


@pytest.mark.parametrize("repetitions", [150, pytest.param(1200, marks=pytest.mark.slow)])
def test_totals_with_replacement_have_their_variance(
    people: pd.DataFrame, repetitions: int
) -> None:
    few, size = SimpleRandom(10, replace=True), len(people)
    totals = [total(draw_sample(people, few, seed=k)) for k in range(repetitions)]
    error = np.sqrt(1 / repetitions)
    assert np.mean(totals) == pytest.approx(people["x"].sum(), rel=1.04 * error)
    variance = size**2 * people["x"].var(ddof=0) / 10
    assert np.var(totals) == pytest.approx(variance, rel=5.2 * error)


def test_size_with_replacement_is_hansen_and_hurwitz(people: pd.DataFrame) -> None:
    design = ProbabilityProportionalToSize(8, "x", replace=True)
    for seed in range(5):
        assert total(draw_sample(people, design, seed=seed)) == pytest.approx(people["x"].sum())


def test_a_household_that_is_drawn_twice_is_two_households(people: pd.DataFrame) -> None:
    design = Stratified(30, by="region", within=Cluster("hid", SimpleRandom(1, replace=True)))
    survey = draw_sample(people, design, seed=2)
    assert survey.n_households == 60
    assert survey.roles.household == "drawn_household"
    assert len(survey.sampled_units.stratum) == 60
    sizes = people.groupby("hid").size()
    drawn = survey.frame.groupby("drawn_household")["hid"].agg(["size", "first"])
    assert (drawn["size"] == sizes[drawn["first"]].to_numpy()).all()
    setup = draw_setup(people, design, n_samples=2, seed=2)
    stored = next(setup.surveys(people))
    assert (stored.n_households, stored.roles) == (60, survey.roles)
    counts = [draw_sample(people, design, seed=k).weights.sum() for k in range(30)]
    assert np.mean(counts) == pytest.approx(len(people), rel=0.025)


@pytest.mark.parametrize("repetitions", [50, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "design",
    [
        SimpleRandom(12),
        SimpleRandom(12, replace=True),
        ProbabilityProportionalToSize(12, "x", method="poisson"),
        ProbabilityProportionalToSize(12, "x", replace=True),
    ],
)
def test_households_of_drawn_persons_come_whole(  # type: ignore[no-untyped-def]
    people: pd.DataFrame, design, repetitions: int
) -> None:
    collected = Cluster("hid", design, collect=True)
    survey = draw_sample(people, collected, seed=1)
    sizes = people.groupby("hid").size()
    drawn = survey.frame.groupby("hid").size()
    assert (drawn == sizes[drawn.index]).all()
    p = inclusion_probabilities_of(people, collected)
    hits = np.zeros(40)
    totals = []
    for seed in range(repetitions):
        one = draw_sample(people, collected, seed=seed)
        hits[one.frame["hid"].unique()] += 1 / repetitions
        totals.append(total(one))
    first = people.drop_duplicates("hid").index
    np.testing.assert_allclose(hits, p[first], atol=1.8 / np.sqrt(repetitions))
    assert np.mean(totals) == pytest.approx(people["x"].sum(), rel=1.1 / np.sqrt(repetitions))


def test_collecting_within_strata(people: pd.DataFrame) -> None:
    design = Stratified(5, by="region", within=Cluster("hid", SimpleRandom(1), collect=True))
    totals = [draw_sample(people, design, seed=k).weights.sum() for k in range(100)]
    assert np.mean(totals) == pytest.approx(len(people), rel=0.035)


def test_designs_that_cannot_be_combined(people: pd.DataFrame) -> None:
    sampford = ProbabilityProportionalToSize(5, "x", method="sampford")
    with pytest.raises(InputError, match="no known probability of drawing any member"):
        draw_sample(people, Cluster("hid", sampford, collect=True), seed=1)
    with pytest.raises(InputError, match="draws with replacement"):
        TwoStage(Cluster("region", SimpleRandom(2, replace=True)), SimpleRandom(3))
    zero = people.assign(x=0.0)
    with pytest.raises(InputError, match="Give positive sizes"):
        draw_sample(zero, ProbabilityProportionalToSize(2, "x", replace=True), seed=1)
