"""The Pareto tail of the top class; other options of classes are tested with all stages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.stages.continuous.binned import (
    FEWEST_IN_TAIL,
    Classes,
    class_slopes,
    class_steps,
)
from tests.small import small_frame
from tests.synthpop.stages.continuous_cases import income


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
    from synthpop.microdata.tails import van_kerm_threshold

    frame = heavy_frame()
    bounds = income(
        frame, "x", tail="pareto", predictors=["sex"], intervals=("low", "high")
    ).frame()
    top = bounds.loc[np.isinf(bounds["high"]), "low"].unique()
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


def test_a_pareto_tail_without_a_mean_needs_a_bound() -> None:
    frame = heavy_frame(shape=0.5)
    free = income(frame, "x", tail="pareto", predictors=["sex"])
    assert any("no Pareto tail that has a mean" in f.what for f in free.fallbacks)
    assert free.frame()["x"].max() <= frame["x"].max()
    bound = income(frame, "x", tail="pareto", upper=1e12, predictors=["sex"])
    assert not bound.fallbacks
    assert bound.frame()["x"].max() <= 1e12


def test_hill_stands_in_where_the_robust_estimate_has_no_mean() -> None:
    frame = small_frame(2000)
    rng = np.random.default_rng(0)
    frame["x"] = np.exp(rng.uniform(-20, 1.2, len(frame)))
    limits = [0.0, 0.5, 1.0, 1e6]
    free = income(frame, "x", tail="pareto", breaks=limits, predictors=["sex"])
    assert any("hill was used" in f.what for f in free.fallbacks)
    x = free.frame()["x"]
    assert abs((x > 2).sum() / (x > 1).sum() - 2**-1.65) < 0.06  # 2^-0.6 without


def test_the_threshold_is_that_of_the_positive_values() -> None:
    frame = heavy_frame()
    frame.loc[frame["hid"] % 2 == 0, "x"] = 0.0
    population = income(frame, "x", tail="pareto", predictors=["sex"], intervals=("low", "high"))
    top = population.frame().query("high == inf")
    positive = frame["x"] > 0
    assert top["low"].iloc[0] >= frame.loc[positive, "x"].quantile(0.965)


def test_a_pareto_tail_that_cannot_be_is_recorded() -> None:
    frame = small_frame(100)
    frame["x"] = -1.0 - np.random.default_rng(0).random(len(frame))
    population = income(frame, "x", tail="pareto", predictors=["sex"])
    assert any("no tail" in f.what for f in population.fallbacks)
    frame["x"] = 5.0
    assert np.allclose(income(frame, "x", tail="pareto", predictors=["sex"]).frame()["x"], 5.0)


def test_slopes_keep_the_weighted_mean_of_a_class() -> None:
    rng = np.random.default_rng(4)
    values = np.concatenate([10 * rng.random(4000) ** 1.5, np.full(50, np.nan)])
    weights = rng.random(4050) + 0.5
    classes = Classes(
        np.where(np.isnan(values), 0, 1), np.array([np.nan, 0.0]), np.array([np.nan, 10.0])
    )
    slope = class_slopes(values, weights, classes)
    mean = np.average(values[:4000], weights=weights[:4000])
    assert slope[0] == 0
    assert 10 * (0.5 + slope[1] / 6) == pytest.approx(mean)
    unweighted = class_slopes(values, np.ones(4050), classes)
    assert slope[1] != unweighted[1]


def test_slopes_of_negative_classes_and_of_steep_ones() -> None:
    values = np.repeat([-1.0, -9.9, 0.1], [100, 50, 200])  # place 0 is the end nearer to zero
    low, high = np.array([np.nan, -10.0, 0.0]), np.array([np.nan, 0.0, 10.0])
    classes = Classes(np.repeat([1, 1, 2], [100, 50, 200]), low, high)
    slope = class_slopes(values, np.ones(350), classes)
    place = np.average([0.1, 0.99], weights=[100, 50])
    assert slope[1] == pytest.approx(6 * (place - 0.5))
    assert slope[2] == -1.0


def test_points_open_classes_and_few_values_are_uniform() -> None:
    low, high = np.array([np.nan, 0.0, 0.0, 1.0]), np.array([np.nan, 0.0, 1.0, np.inf])
    codes = np.repeat([1, 2, 3], [50, FEWEST_IN_TAIL - 1, 50])
    values = np.repeat([0.0, 0.9, 5.0], [50, FEWEST_IN_TAIL - 1, 50])
    assert class_slopes(values, np.ones(len(codes)), Classes(codes, low, high)).tolist() == [0] * 4


def test_values_inside_classes_keep_the_mean_unless_they_are_to_be_uniform() -> None:
    frame = small_frame(3000)
    frame["x"] = np.random.default_rng(5).lognormal(8, 1, len(frame))
    mean = np.average(frame["x"], weights=frame["w"])
    error = {
        inside: abs(
            income(frame, "x", inside=inside, predictors=["sex"]).frame()["x"].mean() / mean - 1
        )
        for inside in ("steps", "linear", "uniform")
    }
    assert error["linear"] < 0.5 * error["uniform"]
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


def test_values_that_many_share_stay_and_the_distribution_is_nearer() -> None:
    """Rounded wages: the heaps of the sample are heaps of the population, its quantiles too."""
    frame = small_frame(3000)
    wages = np.random.default_rng(5).lognormal(8, 1, len(frame))
    rounded = np.random.default_rng(6).random(len(frame)) < 0.5
    frame["x"] = np.where(rounded, 1000 * np.ceil(wages / 1000), wages)
    grid = np.sort(frame["x"].to_numpy())
    cdf = [np.average(frame["x"] <= x, weights=frame["w"]) for x in grid[::10]]
    found = {}
    for inside in ("steps", "linear", "uniform"):
        drawn = np.sort(income(frame, "x", inside=inside, predictors=["sex"]).frame()["x"])
        place = np.searchsorted(drawn, grid[::10], side="right") / len(drawn)
        found[inside] = float(np.abs(place - cdf).max()), float(np.mean(drawn % 1000 == 0))
    assert found["steps"][0] < 0.4 * min(found["linear"][0], found["uniform"][0])
    assert found["steps"][1] > 0.25
