"""Classes of values and their top class: both sides of every limit."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.microdata.messages.errors import InputError, ModelWarning
from synthpop.microdata.statistics.tails import fit_gpd
from synthpop.stages.continuous import binned, tail
from synthpop.stages.continuous.binned import (
    Classes,
    classes_up_to_zero,
    drawing_bounds,
    kind_classes,
    with_zeros,
)
from synthpop.stages.continuous.binned_method import TAILS, Binned, Gpd, Pareto
from synthpop.stages.continuous.tail import FEWEST_IN_TAIL, TopClass
from synthpop.stages.continuous.values import ValueRule

NAN = np.nan


def classes(values: np.ndarray, weights: np.ndarray | None = None, **options) -> Classes:
    weights = np.ones(len(values)) if weights is None else weights
    method = Binned(zeros=False, **options)
    return method.classes(values, weights, np.arange(len(values)), "x")


def test_zero_is_a_class_from_half_a_percent_of_the_weight() -> None:
    values = np.append(np.zeros(1), np.arange(1.0, 200.0))
    assert not with_zeros(values, np.ones(200), None)  # one of 200 is half a percent
    assert with_zeros(values[:199], np.ones(199), None)
    missing = np.append(values[:199], NAN)
    assert with_zeros(missing, np.append(np.ones(199), 50.0), None)
    assert with_zeros(values, np.where(values == 0, 1.01, 1.0), None)
    for zeros in (True, False):
        assert with_zeros(values, np.ones(200), zeros) == zeros
    assert not with_zeros(np.array([NAN]), np.ones(1), None)


def test_half_of_the_values_may_exceed_the_upper_bound() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, NAN])
    half = classes(values, breaks=[0.0, 1.0, 9.0], upper=2.0)
    assert half.codes.tolist() == [1, 2, 2, 2, 0]
    assert half.high[1:].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"upper is 1\.5, and 3 of 4 sample values are larger"):
        classes(values, breaks=[0.0, 1.0, 9.0], upper=1.5)
    equal = classes(values, breaks=[0.0, 1.0, 2.0, 9.0], upper=2.0)  # a limit at the bound itself
    assert equal.high[1:].tolist() == [1, 2]
    outside = r"1 sample values lie outside 2 \.\.\. 9"
    with pytest.raises(InputError, match=outside):
        classes(values, breaks=[2.0, 9.0])


@pytest.mark.parametrize(("threshold", "fine"), [(1.0, False), (1.5, True), (4.0, False)])
def test_a_threshold_has_values_on_both_sides(threshold: float, fine: bool) -> None:
    options = Gpd(threshold=threshold)
    values = np.array([1.0, 2.0, 4.0])
    if fine:
        made = classes(values, tail=options)
        assert threshold in made.low
        assert made.high[-1] == 4
    else:
        with pytest.raises(InputError, match="no sample values lie on both sides"):
            classes(values, tail=options)


def test_limits_below_the_threshold_stay() -> None:
    values = np.arange(1.0, 101.0)
    made = classes(values, tail=Gpd(threshold=50.0))
    assert made.low[1:].tolist() == [1, 5, 10, 20, 30, 40, 50]
    assert made.high[1:].tolist() == [5, 10, 20, 30, 40, 50, 100]


@pytest.mark.parametrize(("n", "last"), [(400, 380.0), (399, 360.0)])
def test_the_last_class_has_twenty_values_for_a_tail(n: int, last: float) -> None:
    """Limits at 95, 97.5 and 99 percent are taken out until twenty values are above the last."""
    made = classes(np.arange(1.0, n + 1), tail=Gpd(threshold=None))
    assert made.low[-1] == last
    assert made.high[-1] == n
    without = classes(np.arange(1.0, n + 1))
    assert without.low[-1] == 396


def test_the_threshold_of_a_pareto_tail_needs_twenty_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.append(np.arange(1.0, 401.0), -np.arange(1.0, 11.0))
    options = Pareto(threshold=None)

    def given(values: np.ndarray, weights: np.ndarray) -> float:
        assert values.min() == 1
        assert len(weights) == len(values) == 400
        return threshold

    monkeypatch.setattr(binned, "van_kerm_threshold", given)
    threshold = 370.0
    made = classes(values, tail=options)
    assert made.low[-1] == 370
    assert made.low[-2] < 370
    threshold = 381.0  # nineteen are above: the last limit with twenty values above
    assert classes(values, tail=options).low[-1] == 380


def test_missing_zero_and_other_values() -> None:
    values = np.array([NAN, 0.0, -2.0, 3.0])
    two = kind_classes(values, zeros=False)
    assert two.codes.tolist() == [0, 1, 1, 1]
    three = kind_classes(values, zeros=True)
    assert three.codes.tolist() == [0, 1, 2, 2]
    assert (three.low[1:].tolist(), three.high[1:].tolist()) == ([0, -np.inf], [0, np.inf])
    none = classes_up_to_zero(np.array([NAN, 0.0, 3.0]), np.ones(3))
    assert none.codes.tolist() == [0, 1, 2]
    assert (none.low[1:].tolist(), none.high[1:].tolist()) == ([0, 0], [0, np.inf])
    some = classes_up_to_zero(np.array([-5.0, -5.0, -1.0, 0.0, 2.0]), np.ones(5))
    assert some.codes.tolist() == [1, 1, 2, 3, 4]
    assert some.low[1:].tolist() == [-5, -1, 0, 0]
    assert some.high[1:].tolist() == [-1, 0, 0, np.inf]


def test_draws_begin_at_the_end_nearer_to_zero() -> None:
    first, last = drawing_bounds(np.array([NAN, -5.0, 0.0, 2.0]), np.array([NAN, 0.0, 0.0, 3.0]))
    np.testing.assert_array_equal(first, [NAN, 0, 0, 2])
    np.testing.assert_array_equal(last, [NAN, -5, 0, 3])


def top_class(values: np.ndarray, threshold: float, kind: str = "gpd", **options):
    weights = np.ones(len(values))
    return Binned(tail=TAILS[kind](**options)).top_class(values, weights, threshold, "x")


def test_twenty_values_above_the_threshold_have_a_tail() -> None:
    values = np.arange(1.0, 101.0)
    assert FEWEST_IN_TAIL == 20
    top, notes = top_class(values, 80.0, estimator="pwm")
    assert top is not None
    assert notes == ()
    top, notes = top_class(values, 81.0)
    assert top is None
    assert "only 19 sample values in the top class" in notes[0].what
    assert Binned().top_class(values, np.ones(100), 80.0, "x") == (None, ())


def test_a_pareto_tail_begins_above_zero_and_a_tail_has_a_positive_value() -> None:
    values = np.arange(0.0, 40.0)
    top, notes = top_class(values, 0.0, "pareto")
    assert top is None
    assert "begins at 0, which is not above zero" in notes[0].what
    for threshold, why in (
        (-18.5, "only 19 sample values"),
        (-19.5, "no sample value is positive"),
    ):
        top, notes = top_class(values - 39.0, threshold)  # the largest is zero
        assert top is None
        assert why in notes[0].what


def test_the_end_of_the_draws() -> None:
    """Half a person is expected above it, but it is never beyond twice the largest value."""
    rng = np.random.default_rng(1)
    light = 100 + rng.uniform(0, 10, 200)
    top, _ = top_class(light, 100.0)
    rare = float(top.tail.quantile(1 - 0.5 / 200))
    assert top.upper == max(light.max(), rare)
    heavy = 100 * (1 - rng.random(200)) ** -1.5
    with pytest.warns(ModelWarning, match="no variance"):
        top, notes = top_class(heavy, 100.0)
    assert top.upper == 2 * heavy.max()
    assert "heavy tail" in notes[-1].what
    given, notes = top_class(heavy, 100.0, upper=5_000.0)
    assert given.upper == 5_000
    assert not any("heavy" in note.what for note in notes)
    drawn = given.draw(np.linspace(0.001, 0.999, 999), None)
    assert drawn.min() >= 100
    assert drawn.max() <= 5_000


def test_the_mean_of_the_top_class_is_that_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    values = 100 + rng.exponential(30, 300)
    weights = rng.uniform(1, 5, 300)
    method = Binned(tail=Gpd(upper=400.0))
    top, notes = method.top_class(values, weights, 100.0, "x")
    assert notes == ()
    mean = np.average(values, weights=weights)
    assert top.mean() == pytest.approx(mean, rel=1e-7)
    middles = (np.arange(20_000) + 0.5) / 20_000
    assert top.draw(middles, None).mean() == pytest.approx(mean, rel=1e-3)
    # a mean that differs by more than one percent is noted
    for share, is_noted in ((1.02, True), (1.005, False), (0.98, True), (0.995, False)):
        monkeypatch.setattr(TopClass, "mean", lambda self, share=share: mean * share)
        _, notes = method.top_class(values, weights, 100.0, "x")
        assert bool(notes) == is_noted
        assert not is_noted or f"mean of the tail {tail.number(mean * share, 6)}" in notes[0].what


def test_draws_of_groups_without_laws_are_those_of_all() -> None:
    law = fit_gpd(100 + np.arange(50.0), 100.0, method="pwm")
    top = TopClass(law, 200.0, 0.0)
    uniforms = np.array([0.1, 0.9])
    plain = top.draw(uniforms, None).tolist()
    assert top.draw(uniforms, np.array([0, 1])).tolist() == plain


def test_values_on_the_scale_of_the_model_and_back() -> None:
    rule = ValueRule("linear", "empirical", log=True, constant=0.5, lower=0.0, upper=9.0)
    values = np.array([-0.5, -0.25, 0.0, 0.5, 8.0])
    moved = rule.to_model(values)
    np.testing.assert_allclose(moved, [-np.inf, np.log(0.25), np.log(0.5), 0.0, np.log(8.5)])
    np.testing.assert_allclose(rule.from_model(moved), [0, 0, 0, 0.5, 8])
    assert rule.from_model(np.array([1e4])).tolist() == [9]
    counts = ValueRule("counts", "poisson", shift=1)
    assert counts.to_model(values).tolist() == [-1.5, -1.25, -1, -0.5, 7]
    assert counts.from_model(np.array([0.0, 3.0])).tolist() == [1, 4]
    plain = ValueRule("linear", "empirical", lower=-1.0)
    assert plain.to_model(values).tolist() == values.tolist()
    assert plain.from_model(np.array([-2.0, 5.0])).tolist() == [-1, 5]
