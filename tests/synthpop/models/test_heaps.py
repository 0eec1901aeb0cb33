"""Amounts are rounded as respondents round them."""

import numpy as np
import pytest

from synthpop import Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.models.heaps import Heaps, is_multiple, units_of

pd = pytest.importorskip("pandas")


def survey(seed=3, n=1500):
    rng = np.random.default_rng(seed)
    job = np.where(rng.random(n) < 0.3, "own", "employed")
    income = np.exp(rng.normal(10, 0.6, n))
    own = rng.choice([1000, 5000, 10000], n, p=[0.3, 0.3, 0.4])
    unit = np.where(job == "own", own, rng.choice([1, 100, 1000], n, p=[0.4, 0.1, 0.5]))
    income = np.where(rng.random(n) < 0.2, 0, np.maximum(np.round(income / unit), 1) * unit)
    wage = 12 * np.round(np.exp(rng.normal(7.5, 0.5, n)))
    household = np.repeat(np.arange(n // 2), 2)
    frame = pd.DataFrame({"hid": household, "job": job, "income": income, "wage": wage, "w": 2.0})
    frame["age"] = rng.integers(18, 80, n)
    return Survey(frame.astype({"income": int, "wage": int}), household="hid", weight="w")


def simulated(method, **options):
    stages = [
        Structure(["age", "job"]),
        Continuous("income", method, ["age", "job"], **options),
        Continuous("wage", method, ["age"], **options),
    ]
    return Pipeline(stages).fit(survey(), seed=1).simulate(seed=2, scale=4).frame()


def shares(frame, column, unit):
    values = frame[frame[column] != 0]
    return (values[column] % unit == 0).groupby(values["job"].astype(str)).mean()


@pytest.mark.parametrize("method", ["binned", "regression", "forest"])
def test_multiples_are_as_frequent_as_in_the_survey_for_each_kind_of_person(method):
    population, sample = simulated(method), survey().frame
    for unit in (10, 100, 1000):
        gap = shares(population, "income", unit) - shares(sample, "income", unit)
        assert gap.abs().max() < 0.06
    assert (population["wage"] % 12 == 0).mean() > 0.97
    assert (population["income"] == 0).mean() == pytest.approx(0.2, abs=0.03)
    assert population["income"].mean() == pytest.approx(sample["income"].mean(), rel=0.05)


def test_without_heaps_values_are_not_rounded():
    population, sample = simulated("binned", heaps=None), survey().frame
    assert (shares(sample, "income", 1000) - shares(population, "income", 1000)).min() > 0.1
    assert (population["wage"] % 12 == 0).mean() < 0.3


def test_values_rounded_by_chance_only_have_no_heaps():
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(40):
        values, drawn = np.round(np.exp(rng.normal(9, 1, (2, 400))), 2)
        alarms += Heaps.fit(values, drawn, np.ones(400), 2) is not None
    assert alarms == 0


def test_latent_units_are_found():
    rng = np.random.default_rng(2)
    smooth, drawn = rng.uniform(1000, 99_000, (2, 20_000))
    unit = rng.choice([1.0, 10.0, 1000.0], 20_000, p=[0.5, 0.2, 0.3])
    values = np.round(smooth / unit) * unit
    heaps = Heaps.fit(values, drawn, np.ones(20_000), 0)
    found = dict(zip(heaps.units, heaps.shares[0].mean(axis=0), strict=True))
    assert [found[u] for u in (1.0, 10.0, 1000.0)] == pytest.approx([0.5, 0.2, 0.3], abs=0.03)


def test_no_value_leaves_its_class_and_zero_stays():
    heaps = Heaps(np.array([1.0, 10.0, 100.0]), np.array([]), None, np.array([[[0.0, 0.0, 1.0]]]))
    values = np.array([0.0, np.nan, 14.0, 149.0, 251.0, -149.0, 7.0])
    low = np.array([0.0, np.nan, 10.0, 100.0, 250.0, -100.0, np.nan])
    high = np.array([0.0, np.nan, 25.0, 200.0, 260.0, -200.0, np.nan])
    rounded = heaps.round(values, None, np.full(7, 0.5), low, high)
    expected = [0.0, np.nan, 20.0, 200.0, 260.0, -200.0, 100.0]
    np.testing.assert_array_equal(rounded, expected)


def test_units_and_multiples():
    assert units_of(np.array([60.0]), 1).tolist() == [0.1, 0.5, 1.0, 5.0, 10.0, 50.0]
    assert is_multiple(np.array([0.3, 0.35]), 0.1).tolist() == [True, False]


def test_a_wrong_word_is_a_fault():
    stages = [Structure(["age"]), Categorical("job"), Continuous("income", heaps="none")]
    with pytest.raises(ValueError, match="heaps"):
        Pipeline(stages).fit(survey(), seed=1)
