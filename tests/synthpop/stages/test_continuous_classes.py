"""The Pareto tail of the top class; other options of classes are tested with all stages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Binned, Continuous, Gpd, Pareto, Pipeline, Structure, Survey
from synthpop.kernels.draws import draw_in_classes
from synthpop.microdata.messages.errors import InputError, ModelWarning
from synthpop.stages.continuous.binned import (
    Classes,
    WithinClass,
    check_ends,
    class_steps,
    drawing_bounds,
)
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import income

pytestmark = pytest.mark.filterwarnings("ignore::synthpop.microdata.messages.errors.ModelWarning")


def heavy_frame(shape: float = 2.0) -> pd.DataFrame:
    frame = small_frame(2000)
    u = np.random.default_rng(0).random(len(frame))
    frame["x"] = 1000 * (1 - u) ** (-1 / shape)
    frame["of_house"] = frame.groupby("hid")["x"].transform("first")
    return frame


def test_a_pareto_tail_reaches_beyond_the_sample_and_upper_cuts_it() -> None:
    frame = heavy_frame()
    largest = frame["x"].max()
    free = income(frame, "x", tail="pareto", predictors=["sex"]).frame()["x"]
    cut = income(frame, "x", tail="pareto", upper=largest * 1.1, predictors=["sex"]).frame()["x"]
    assert free.max() > largest * 1.1
    assert cut.max() <= largest * 1.1
    q = np.quantile(frame["x"], 0.975)
    assert abs((free > 2 * q).mean() / (free > q).mean() - 0.25) < 0.06


def test_the_pareto_tail_begins_at_the_threshold_of_van_kerm() -> None:
    from synthpop.microdata.statistics.tails import van_kerm_threshold

    frame = heavy_frame()
    bounds = income(
        frame, "x", tail="pareto", predictors=["sex"], intervals=("low", "high")
    ).frame()
    top = bounds.loc[bounds["high"] == bounds["high"].max(), "low"].unique()
    assert top.tolist() == [van_kerm_threshold(frame["x"].to_numpy(), frame["w"].to_numpy())]


def test_the_pareto_tail_uses_weights() -> None:
    frame = heavy_frame()
    frame["x"] = frame["of_house"]
    q = frame["x"].quantile(0.95)
    limits = [0.0, 1500.0, q, 1e9]
    light = income(frame, "x", tail="pareto", breaks=limits, predictors=["sex"]).frame()["x"]
    frame["w"] = np.where(frame["x"] > 2 * q, 10 * frame["w"], frame["w"])
    heavy = income(frame, "x", tail="pareto", breaks=limits, predictors=["sex"]).frame()["x"]
    assert heavy[heavy > q].median() > 1.2 * light[light > q].median()


def test_a_pareto_tail_without_a_mean_has_an_end_and_keeps_the_mean() -> None:
    frame = heavy_frame(shape=0.9)
    with pytest.warns(ModelWarning, match="Pareto shape 1.* no variance"):
        free = income(frame, "x", tail="pareto", predictors=["sex"])
    assert any("heavy tail" in f.what for f in free.fallbacks)
    x = free.frame()["x"]
    assert x.max() <= 2 * frame["x"].max()
    assert x.mean() == pytest.approx(np.average(frame["x"], weights=frame["w"]), rel=0.02)
    bound = income(frame, "x", tail="pareto", upper=1e7, predictors=["sex"])
    assert not any("heavy" in f.what for f in bound.fallbacks)
    assert bound.frame()["x"].max() <= 1e7


@pytest.mark.parametrize(
    ("shape", "tail"), [(1.2, "gpd"), (1.2, "pareto"), (1.6, None), (3.0, "pareto")]
)
def test_the_top_class_keeps_the_mean_of_the_sample(tail: str | None, shape: float) -> None:
    frame = heavy_frame(shape)
    mean = np.average(frame["x"], weights=frame["w"])
    for seed in (1, 2, 3):
        x = income(frame, "x", seed=seed, tail=tail, predictors=["sex"]).frame()["x"]
        assert x.mean() == pytest.approx(mean, rel=0.015)
        assert x.max() <= (1 if tail is None else 2) * frame["x"].max()


def test_few_values_in_a_long_top_class_keep_its_mean() -> None:
    """300 households, the largest value far beyond the others."""
    frame = small_frame(100)
    rng = np.random.default_rng(3)
    frame["x"] = np.round(rng.lognormal(7, 1, len(frame)))
    frame.loc[frame.index[5], "x"] = 10 * frame["x"].max()
    mean = np.average(frame["x"], weights=frame["w"])
    x = income(frame, "x", predictors=["sex"]).frame()["x"]
    assert x.mean() == pytest.approx(mean, rel=0.06)
    uniform = income(frame, "x", predictors=["sex"], within_class="uniform").frame()["x"]
    assert abs(uniform.mean() - mean) > 0.06 * mean


def test_threshold_and_estimator_of_the_tail_are_used() -> None:
    frame = heavy_frame(3.0)
    steps = {}
    for estimator in ("mle", "pwm", "moments"):
        stage = Continuous("x", method=Binned(tail=Gpd(threshold=3000.0, estimator=estimator)))
        steps[estimator] = fitted(frame, stage)
        assert steps[estimator].tail.tail.location == 3000.0
        assert steps[estimator].tail.tail.method == estimator
    assert len({model.tail.tail.shape for model in steps.values()}) == 3
    hill = fitted(
        frame, Continuous("x", method=Binned(tail=Pareto(threshold=3000.0, estimator="hill")))
    )
    assert hill.tail.tail.method == "hill"
    assert hill.low[-1] == 3000.0


def test_upper_below_the_largest_sample_value_cuts_it_off() -> None:
    frame = heavy_frame(2.0)
    for tail in (None, "gpd"):
        population = income(frame, "x", tail=tail, upper=8000.0, predictors=["sex"])
        x = population.frame()["x"]
        assert 7000 < x.max() <= 8000
        mean = np.average(np.minimum(frame["x"], 8000), weights=frame["w"])
        assert x.mean() == pytest.approx(mean, rel=0.01)
        many = (frame["x"] > 8000).sum()
        assert any(f"{many} sample values above upper" in f.what for f in population.fallbacks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"upper": 1001.0}, "sample values are larger"),
        ({"tail": "gpd", "threshold": 1e9}, "no sample values lie on both sides"),
        ({"tail": "gpd", "estimator": "hill"}, "'hill' is not allowed"),
        ({"tail": "gpd", "threshold": 2000.0, "breaks": [0, 1e9]}, "both breaks and threshold"),
    ],
)
def test_tails_that_cannot_be_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        income(heavy_frame(), "x", predictors=["sex"], **options)


def test_values_at_the_upper_bound_are_not_counted_as_larger() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, np.nan])
    with pytest.raises(InputError, match="upper is 2, and 4 of 7 sample values are larger"):
        check_ends(values, None, 2.0, "x")
    check_ends(values[:-3], None, 2.0, "x")  # two of five
    check_ends(np.array([2.0, 2.0, 3.0, 4.0]), None, 2.0, "x")  # half of them are no majority


def fitted(frame: pd.DataFrame, stage: Continuous):
    return Pipeline([Structure(["sex"]), stage]).fit(Survey(frame, **ROLES), seed=1).models[1]


def test_the_threshold_is_that_of_the_positive_values() -> None:
    frame = heavy_frame()
    frame.loc[frame["hid"] % 2 == 0, "x"] = 0.0
    population = income(frame, "x", tail="pareto", predictors=["sex"], intervals=("low", "high"))
    top = population.frame().query("high == high.max()")
    positive = frame["x"] > 0
    assert top["low"].iloc[0] >= frame.loc[positive, "x"].quantile(0.965)


def test_a_pareto_tail_that_cannot_be_is_recorded() -> None:
    frame = small_frame(100)
    frame["x"] = -1.0 - np.random.default_rng(0).random(len(frame))
    population = income(frame, "x", tail="pareto", predictors=["sex"])
    assert any("no tail" in f.what for f in population.fallbacks)
    frame["x"] = 5.0
    assert np.allclose(income(frame, "x", tail="pareto", predictors=["sex"]).frame()["x"], 5.0)


@pytest.mark.parametrize("kind", ["steps", "exponential"])
def test_classes_keep_their_weighted_mean(kind: str) -> None:
    rng = np.random.default_rng(4)
    values = np.concatenate([10 * rng.random(4000) ** 4, -8 * rng.random(7) ** 3, [np.nan] * 50])
    weights = rng.random(4057) + 0.5
    codes = np.repeat([1, 2, 0], [4000, 7, 50])
    low, high = np.array([np.nan, 0.0, -8.0]), np.array([np.nan, 10.0, 0.0])
    classes = Classes(codes, low, high)
    law = WithinClass.fit(kind, values, weights, classes)
    u = (np.arange(200_000) + 0.5) / 200_000
    for r in (1, 2):
        out = np.empty(len(u))
        numbers = np.full(len(u), r, dtype=np.int16)
        draw_in_classes(numbers, *drawing_bounds(low, high), law.rate, law.steps, law.knots, u, out)
        mean = np.average(values[codes == r], weights=weights[codes == r])
        assert out.mean() == pytest.approx(mean, rel=1e-4)
    unweighted = WithinClass.fit(kind, values, np.ones(4057), classes)
    assert unweighted.rate[1] != law.rate[1]


def test_points_and_classes_without_values_or_end_are_uniform() -> None:
    low = np.array([np.nan, 0.0, 0.0, 1.0, 2.0])
    high = np.array([np.nan, 0.0, 1.0, 2.0, np.inf])
    codes = np.repeat([1, 2, 4], [50, 5, 50])
    values = np.repeat([0.0, 0.9, 5.0], [50, 5, 50])
    law = WithinClass.fit("steps", values, np.ones(105), Classes(codes, low, high))
    assert law.rate[[0, 1, 3, 4]].tolist() == [0] * 4
    assert law.rate[2] < 0  # a mean near the upper end


def test_values_inside_classes_keep_the_mean_unless_they_are_to_be_uniform() -> None:
    frame = small_frame(3000)
    frame["x"] = np.random.default_rng(5).lognormal(8, 1, len(frame))
    mean = np.average(frame["x"], weights=frame["w"])
    error = {
        kind: abs(
            income(frame, "x", within_class=kind, predictors=["sex"]).frame()["x"].mean() / mean - 1
        )
        for kind in ("steps", "exponential", "uniform")
    }
    assert error["exponential"] < 0.5 * error["uniform"]
    assert error["steps"] < 0.5 * error["uniform"]


def test_steps_are_weighted_quantiles_of_a_class() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([10 * rng.random(50), -5 * rng.random(30), 20 + rng.random(19)])
    weights = rng.random(99) + 0.2
    low = np.array([np.nan, 0.0, -5.0, 20.0, 30.0])
    high = np.array([np.nan, 10.0, 0.0, 21.0, np.inf])
    codes = np.repeat([1, 2, 3], [50, 30, 19])
    steps, knots = class_steps(values, weights, Classes(codes, low, high))
    assert steps.tolist() == [1, 5, 3, 1, 1]
    order = np.argsort(values[:50])
    share = np.cumsum(weights[:50][order]) / weights[:50].sum()
    naive = [values[:50][order][np.argmax(share >= j / 5)] for j in range(1, 5)]
    assert knots[1, :6].tolist() == [0.0, *naive, 10.0]
    falling = -np.sort(-values[50:80])
    assert knots[2, 0] == 0.0
    assert knots[2, 3] == -5.0
    assert (np.diff(knots[2, :4]) < 0).all()
    assert set(knots[2, 1:3]) < set(falling)
    unweighted, even = class_steps(values, np.ones(99), Classes(codes, low, high))
    assert unweighted.tolist() == steps.tolist()
    assert (even[1, 1:5] != knots[1, 1:5]).any()


def test_a_class_has_a_step_for_every_ten_values_up_to_32_and_one_without_weight() -> None:
    sizes = [9, 10, 19, 20, 319, 320, 400, 50]
    codes = np.repeat(np.arange(1, 9), sizes)
    low, high = (np.append(np.nan, np.arange(first, first + 8.0)) for first in (0, 1))
    values = codes - 1 + np.concatenate([(np.arange(n) + 0.5) / n for n in sizes])
    weights = np.where(codes == 8, 0.0, 1.0)
    steps, knots = class_steps(values, weights, Classes(codes, low, high))
    assert steps.tolist() == [1, 1, 1, 1, 2, 31, 32, 32, 1]
    assert knots.shape == (9, 33)
    assert knots[4, :3].tolist() == [3.0, 3.475, 4.0]  # the tenth of twenty values
    assert knots[8, :2].tolist() == [7.0, 8.0]
    assert np.isnan(knots[4, 3:]).all()
    assert np.isnan(knots[8, 2:]).all()
    law = WithinClass.fit("steps", values, weights, Classes(codes, low, high))
    assert np.abs(law.rate[[0, 1, 2, 3, 5]]).max() < 1e-6  # values that are evenly spread
    assert law.rate[8] == 0


def test_values_that_many_share_stay_and_the_distribution_is_nearer() -> None:
    """Rounded wages: the heaps of the sample are heaps of the population, its quantiles too."""
    frame = small_frame(1500)
    wages = np.random.default_rng(5).lognormal(8, 1, len(frame))
    rounded = np.random.default_rng(6).random(len(frame)) < 0.5
    frame["x"] = np.where(rounded, 1000 * np.ceil(wages / 1000), wages)
    grid = np.sort(frame["x"].to_numpy())
    cdf = [np.average(frame["x"] <= x, weights=frame["w"]) for x in grid[::10]]
    found = {}
    for kind in ("steps", "exponential", "uniform"):
        drawn = np.sort(income(frame, "x", within_class=kind, predictors=["sex"]).frame()["x"])
        place = np.searchsorted(drawn, grid[::10], side="right") / len(drawn)
        found[kind] = float(np.abs(place - cdf).max()), float(np.mean(drawn % 1000 == 0))
    assert found["steps"][0] < 0.4 * min(found["exponential"][0], found["uniform"][0])
    assert found["steps"][1] > 0.25
