"""Noise: stated covariances hold, and each method adds what it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.protection.methods import (
    NOISE,
    AdditiveNoise,
    Correlated2Noise,
    CorrelatedNoise,
    OutlierNoise,
    RommNoise,
)
from riskeval.protection.noise import add_noise
from riskeval.protection.rotation import rotated
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

NAMES = ["a", "b", "c"]
COVARIANCE = np.array([[4.0, 3.0, 0.5], [3.0, 9.0, -1.0], [0.5, -1.0, 1.0]])


def people(n: int = 2000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    values = rng.multivariate_normal([10.0, -5.0, 100.0], COVARIANCE, n)
    return pd.DataFrame(values, columns=NAMES, index=range(5, 5 + n)).assign(name="x")


def stated(method: str, level: float, before: np.ndarray, n: int) -> np.ndarray:
    """The covariances of the docstring, written out."""
    if method == "additive":
        return before + level * np.diag(np.diag(before))
    if method == "correlated":
        return (1 + level) * before
    if method == "restricted":
        return (n - 1) / (n * (1 + level) - 1) * (1 + level) * before
    return before


@pytest.mark.parametrize("method", ["additive", "correlated", "correlated2", "restricted"])
@pytest.mark.parametrize("level", [0.05, 1.5])
def test_exact_moments_are_the_stated_ones(method, level):
    data = people(400)
    result = add_noise(
        data, NAMES, method={"type": method, "moments": "exact"}, level=level, seed=3
    )
    expected = stated(method, level, data[NAMES].cov().to_numpy(), 400)
    np.testing.assert_allclose(result.data[NAMES].cov(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.data[NAMES].mean(), data[NAMES].mean(), rtol=1e-9)
    np.testing.assert_allclose(result.details["covariance_stated"], expected)
    np.testing.assert_allclose(result.details["covariance_after"], expected, rtol=1e-9, atol=1e-9)
    assert "millionth" in result.summary()
    assert (result.data["a"] != data["a"]).all()
    if method == "additive":
        assert result.details["covariance_factor"] is None
    else:
        scaled = result.details["covariance_factor"] * data[NAMES].cov()
        np.testing.assert_allclose(result.data[NAMES].cov(), scaled, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["additive", "correlated", "correlated2", "restricted"])
def test_expected_moments_hold_on_average(method):
    data = people(300)
    covariances = [
        add_noise(data, NAMES, method=method, level=0.5, seed=seed).data[NAMES].cov().to_numpy()
        for seed in range(100)
    ]
    expected = stated(method, 0.5, data[NAMES].cov().to_numpy(), 300)
    error = np.std(covariances, axis=0) / np.sqrt(100)
    assert (np.abs(np.mean(covariances, axis=0) - expected) < 4.5 * error).all()


def test_restricted_noise_counts_that_the_mean_is_estimated():
    """Var(z_i) about the true mean is that of x_i, over samples and noise; n is small."""
    released, shrunk = [], []
    for seed in range(80):
        data = people(6, seed)[NAMES]
        for method, kept in (("restricted", released), ("correlated2", shrunk)):
            noisy = add_noise(data, NAMES, method=method, level=2.0, seed=seed)
            kept.append((noisy.data["b"] + 5.0) ** 2)
    values = np.concatenate(released)
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - 9.0) < 4.5 * error
    assert np.concatenate(shrunk).mean() > values.mean()


@pytest.mark.parametrize(("method", "theirs"), [("additive", "additive"), ("correlated",) * 2])
def test_levels_against_the_reference(method, theirs):
    """There `noise` scales the standard deviation for one method, the variance for the other."""
    reference = golden("sdc", "i2_addnoise.json")["results"][0]
    data = survey_data("testdata")
    names = reference["variables"]
    for run in reference["runs"]:
        if run["method"] != theirs:
            continue
        share = run["noise"] / 100
        level = share**2 if method == "additive" else share
        result = add_noise(data, names, method=method, level=level, seed=1)
        ratio = result.data[names].std() / data[names].std()
        np.testing.assert_allclose(ratio, run["mean_of_runs"]["sd_ratio"], rtol=0.03)


def test_correlated_noise_with_transformation_keeps_correlations_where_the_reference_does_not():
    reference = golden("sdc", "i2_addnoise.json")["results"][1]
    data = survey_data("Tarragona")
    names = reference["variables"]
    theirs = next(run for run in reference["runs"] if run["args"] == {"delta": 0.5})
    level = 0.25 / 0.75  # delta^2 = level / (1 + level)
    found = np.mean(
        [
            add_noise(data, names, method="correlated2", level=level, seed=s).data[names].corr()
            for s in range(5)
        ],
        axis=0,
    )
    before = data[names].corr().to_numpy()
    assert np.abs(found - before).max() < 0.06
    assert abs(theirs["mean_of_runs"]["cor"][0] - before[0, 1]) > 0.15


def test_orthogonal_mixing_keeps_mean_and_covariance_exactly():
    data = people(1234)
    for level in (0.05, 0.5, 1.8):
        result = add_noise(data, NAMES, method="romm", level=level, seed=1)
        np.testing.assert_allclose(result.data[NAMES].mean(), data[NAMES].mean(), rtol=1e-10)
        np.testing.assert_allclose(result.data[NAMES].cov(), data[NAMES].cov(), rtol=1e-9)
        change = ((result.data[NAMES] - data[NAMES]) ** 2).mean() / data[NAMES].var()
        np.testing.assert_allclose(change, level, rtol=0.2)
        assert (result.data["a"] != data["a"]).all()


@pytest.mark.parametrize("n", [3, 4, 7, 100, 101, 250])
def test_rotation_of_any_number_of_records(n):
    x = np.random.default_rng(n).normal(size=(n, 2))
    z = rotated(x, 0.3, 50, np.random.default_rng(1))
    np.testing.assert_allclose(z.sum(axis=0), x.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(z.T @ z, x.T @ x, atol=1e-9)
    assert not np.allclose(z, x)


def test_noise_for_outliers_only():
    data = people(500)
    data.iloc[:20, 0] += 40
    data.iloc[30, 1] = np.nan
    result = add_noise(data, NAMES, method="outlier", level=0.5, seed=2)
    changed = (result.data[NAMES] != data[NAMES]) & data[NAMES].notna()
    touched = changed.any(axis=1).to_numpy()
    assert touched[:20].all()
    assert 20 <= touched.sum() < 60
    assert (changed.all(axis=1).to_numpy() == touched).all()
    assert not touched[30]
    assert result.details["records_with_noise"].tolist() == touched.tolist()
    assert f"{touched.sum()} outlying records of 499 received noise" in result.summary()
    assert "1 record with missing values stayed unchanged" in result.summary()
    fewer = add_noise(data, NAMES, method=OutlierNoise(cutoff=0.9999), level=0.5, seed=2)
    assert fewer.records_changed < result.records_changed


def test_robust_noise_is_not_inflated_by_outliers():
    data = people(1000)
    data.iloc[:100, 2] += 1000
    loud = add_noise(data, NAMES, method="correlated", level=0.5, seed=1)
    calm = add_noise(data, NAMES, method=CorrelatedNoise("robust"), level=0.5, seed=1)
    assert (loud.data["c"] - data["c"]).std() > 100
    assert (calm.data["c"] - data["c"]).std() == pytest.approx(np.sqrt(0.5), rel=0.3)
    exact = add_noise(data, NAMES, method=Correlated2Noise("robust", "exact"), seed=1)
    assert "millionth" in exact.summary()


@pytest.mark.parametrize("method", list(NOISE))
def test_what_every_method_leaves_alone(method):
    data = people(300)
    data["d"] = np.arange(300)
    data.iloc[7, 0] = np.nan
    before = data.copy(deep=True)
    names = ["a", "b", "d"]
    result = add_noise(data, names, method=method, seed=11)
    again = add_noise(data, names, method=method, seed=11)
    other = add_noise(data, names, method=method, seed=12)
    pd.testing.assert_frame_equal(data, before)
    pd.testing.assert_frame_equal(result.data, again.data)
    assert method == "outlier" or not result.data.equals(other.data)
    pd.testing.assert_frame_equal(result.data[["c", "name"]], data[["c", "name"]])
    assert result.data["a"].isna().tolist() == data["a"].isna().tolist()
    assert result.seed == 11
    rounded = add_noise(data, names, method=method, seed=11, integers="round")
    assert rounded.data["d"].dtype == np.int64
    if method in ("romm", "outlier"):
        assert result.data["b"].iloc[7] == data["b"].iloc[7]
    else:
        assert result.data["b"].iloc[7] != data["b"].iloc[7]


def test_draws_are_named_by_variable():
    data = people(50)
    both = add_noise(data, ["a", "b"], seed=1)
    alone = add_noise(data, ["b"], seed=1)
    assert both.data["b"].equals(alone.data["b"])


def test_zeros_can_stay():
    data = people(100)
    data.iloc[:40, 0] = 0.0
    kept = add_noise(data, ["a", "b"], keep_zeros=["a"], seed=1)
    assert (kept.data["a"].iloc[:40] == 0).all()
    assert (kept.data["a"].iloc[40:] != data["a"].iloc[40:]).all()
    assert (kept.data["b"] != data["b"]).all()
    assert "Zeros of a stayed zero" in kept.summary()
    assert kept.data.equals(add_noise(data, ["a", "b"], keep_zeros="a", seed=1).data)
    assert (add_noise(data, ["a"], seed=1).data["a"].iloc[:40] != 0).all()


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        ({}, {"method": "correlated"}),
        ({}, {"level": 0.2}),
        ({"method": "correlated"}, {"method": CorrelatedNoise(covariance="robust")}),
        ({}, {"method": AdditiveNoise(moments="exact")}),
        ({}, {"keep_zeros": ["b"]}),
        ({"method": "outlier"}, {"method": OutlierNoise(cutoff=0.5)}),
        ({"method": "outlier"}, {"method": OutlierNoise(covariance="robust")}),
        ({"method": "romm"}, {"method": RommNoise(rows_together=30)}),
        ({"method": "romm"}, {"level": 0.2}),
        ({}, {"integers": "round"}),
        ({}, {"seed": 2}),
    ],
)
def test_every_argument_is_honoured(base, changed):
    data = people(200)
    data["b"] = np.where(data["b"] > -3, 0, data["b"])
    data["c"] = data["c"].round().astype(int)
    options = {"seed": 1, **base}
    first = add_noise(data, NAMES, **options).data
    assert not first.equals(add_noise(data, NAMES, **{**options, **changed}).data)


def test_degenerate_files():
    constant = pd.DataFrame({"x": np.ones(30), "y": np.arange(30.0)})
    for method in NOISE:
        result = add_noise(constant, ["x", "y"], method=method, seed=1)
        assert (result.data["x"] - 1).abs().max() < 1e-12
    line = pd.DataFrame({"x": np.arange(30.0), "y": 2 * np.arange(30.0)})
    noisy = add_noise(line, ["x", "y"], method="correlated", level=1.0, seed=1).data
    np.testing.assert_allclose(noisy["y"], 2 * noisy["x"], atol=1e-6)
    empty = add_noise(pd.DataFrame({"x": np.empty(0)}), "x", seed=1)
    assert "nothing to add noise to" in empty.summary()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "restr"}, "Did you mean 'restricted'"),
        ({"level": 10}, "share of the variance, not a percentage"),
        ({"level": 0}, "not above 0"),
        ({"level": "0.1"}, "not above 0"),
        ({"level": 2, "method": "romm"}, "not below 2"),
        ({"method": {"type": "additive", "covariance": "robust"}}, "not an option of 'additive'"),
        ({"method": {"type": "correlated", "covariance": "mcd"}}, "not allowed"),
        ({"method": {"type": "romm", "moments": "exact"}}, "It has 'rows_together'"),
        ({"method": {"type": "additive", "moments": "sample"}}, "not allowed"),
        ({"method": {"type": "outlier", "cutoff": 1.0}}, "between 0 and 1"),
        ({"method": {"type": "romm", "rows_together": 2}}, "at least 3"),
        ({"keep_zeros": ["z"]}, "not among the variables"),
        ({"variables": ["a", "name"]}, "must be numeric"),
        ({"seed": 1.5}, "whole number"),
        ({"integers": "up"}, "not allowed"),
    ],
)
def test_faults_are_named(options, text):
    with pytest.raises(InputError, match=text):
        add_noise(people(20), **{"variables": NAMES, **options})


def test_too_few_complete_records():
    data = pd.DataFrame({"x": [1.0, np.nan, 3.0], "y": [np.nan, 2.0, 3.0]})
    with pytest.raises(InputError, match="1 record has no missing value, at least 2"):
        add_noise(data, ["x", "y"])
