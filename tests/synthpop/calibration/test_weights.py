"""Trimming, design effect, whole-number weights."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.calibration import (
    Margin,
    calibrate,
    design_effect,
    effective_sample_size,
    integerise,
    trim_weights,
)
from synthpop.kernels.raking import repair_rounding
from synthpop.microdata.messages.errors import InputError
from tests.synthpop.calibration.test_calibrating import make_survey, table


def test_kish():
    assert design_effect([2.0, 2.0]) == 1.0
    assert effective_sample_size([2.0, 2.0]) == 2.0


def test_trimming_keeps_sums_and_limits():
    rng = np.random.default_rng(1)
    w = rng.lognormal(2, 1, 500)
    groups = rng.integers(0, 4, 500)
    result = trim_weights(w, lower=3.0, upper=25.0, groups=groups)
    assert result.weights.min() >= 3.0
    assert result.weights.max() <= 25.0
    np.testing.assert_allclose(
        np.bincount(groups, result.weights), np.bincount(groups, w), rtol=1e-10
    )
    assert result.design_effect < result.design_effect_before
    assert result.n_lower == (result.weights == 3.0).sum()
    assert result.n_upper == (result.weights == 25.0).sum()
    assert "design effect" in result.summary().lower()
    overall = trim_weights(w, lower=3.0, upper=25.0)
    assert not np.allclose(np.bincount(groups, overall.weights), np.bincount(groups, w), rtol=1e-6)
    free = (result.weights > 3.0) & (result.weights < 25.0) & (groups == 0)
    assert np.ptp(result.weights[free] / w[free]) < 1e-9


def test_trimming_without_effect():
    np.testing.assert_allclose(trim_weights([1.0, 2.0]).weights, [1.0, 2.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, -2.0], {}), "positive"),
        (([1.0, 2.0], {"upper": 1.2}), "cannot lie"),
        (([1.0, 2.0], {"lower": 5.0, "upper": 2.0}), "limits"),
        (([1.0, 2.0], {"groups": [1]}), "groups"),
    ],
)
def test_trimming_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        trim_weights(arguments[0], **arguments[1])


@pytest.mark.parametrize("equal", [True, False])
def test_whole_weights_keep_margins(equal):
    survey = make_survey(n_households=400)
    margins = [Margin(table(survey, ["sex", "age"])), Margin(table(survey, ["region"]))]
    fitted = calibrate(survey, margins, household_equal=equal).survey
    result = integerise(fitted, margins, household_equal=equal, seed=4)
    assert np.abs(result.margins["difference"]).max() < 1.0
    assert np.abs(result.weights - fitted.weights).max() < 1.0
    assert result.survey.weights.sum() == result.weights.sum()
    again = integerise(fitted, margins, household_equal=equal, seed=4)
    np.testing.assert_array_equal(result.weights, again.weights)
    other = integerise(fitted, margins, household_equal=equal, seed=5)
    assert (result.weights != other.weights).any()
    assert "Seed 4" in result.summary()
    assert result.to_frame() is result.margins


def test_whole_weights_stay_and_zero_weights_leave():
    survey = make_survey(n_households=40)
    whole = survey.with_weights(np.full(survey.n_persons, 3.0))
    margin = Margin(table(survey, ["sex"]))
    np.testing.assert_array_equal(integerise(whole, margin, seed=1).weights, 3)
    small = survey.with_weights(np.full(survey.n_persons, 0.4))
    result = integerise(small, margin, household_equal=False, seed=1)
    assert set(result.weights) == {0, 1}
    assert result.survey.n_persons == result.weights.sum()
    with pytest.raises(InputError, match="colour"):
        integerise(survey, Margin(table(survey, ["sex"]).rename(columns={"sex": "colour"})))


@pytest.mark.slow
def test_rounding_is_nearly_unbiased():
    survey = make_survey(n_households=120)
    margins = [Margin(table(survey, ["sex"])), Margin(table(survey, ["region"]))]
    draws = [integerise(survey, margins, seed=seed).weights for seed in range(400)]
    error = np.mean(draws, axis=0) - survey.weights
    assert np.abs(error).max() < 5 * 0.5 / np.sqrt(400)


def test_repair_kernel_agrees_with_its_plain_form():
    rng = np.random.default_rng(1)
    indptr = np.arange(0, 41, 2, dtype=np.int32)
    indices = rng.integers(0, 4, 40).astype(np.int32)
    results = []
    for function in (repair_rounding, repair_rounding.py_func):
        draw = np.random.default_rng(2)
        up, residual = draw.random(20) < 0.5, draw.normal(0, 5, 4)
        pairs = draw.integers(0, 20, (2, 300))
        odds = draw.normal(0, 1, 20)
        made = function(
            indptr,
            indices,
            np.ones(40),
            up,
            residual,
            np.ones(4),
            odds,
            *pairs,
            draw.random(300),
            0.1,
        )
        results.append((made, up.tolist(), residual.round(9).tolist()))
    assert results[0] == results[1]
    assert results[0][0] > 0
