"""Multivariate top coding: outliers reach the ellipsoid, nobody else moves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from riskeval.protection.top_coding import mv_top_code
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden

NAMES = ["x", "y", "z"]


def firms(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    cov = [[4, 2, 0], [2, 3, 1], [0, 1, 2]]
    values = rng.multivariate_normal([10, 20, 30], cov, n)
    values[:25] += [40, -30, 10]
    data = pd.DataFrame(values, columns=NAMES, index=range(50, 50 + n))
    return data.assign(name="f")


def test_classical_case_is_the_reference():
    reference = golden("sdc", "i8_mvtopcoding.json")
    table = golden("sdc", "i8_mvtopcoding.parquet")
    names = ["SALES", "LABOR.COSTS", "GROSS.PROFIT"]
    result = mv_top_code(table, names, alpha=0.025, covariance="classical")
    np.testing.assert_allclose(
        result.data[names], table[[f"{name}_tc" for name in names]], rtol=1e-10
    )
    np.testing.assert_allclose(result.details["distance"], table["maha"], rtol=1e-9)
    assert result.records_changed == reference["n_changed"] == 30
    assert result.details["limit"] == pytest.approx(reference["chi2"])


def test_robust_case_finds_the_outliers_of_the_reference():
    reference = golden("sdc", "i8_mvtopcoding.json")["robust_default_MCD"]
    table = golden("sdc", "i8_mvtopcoding.parquet")
    names = ["SALES", "LABOR.COSTS", "GROSS.PROFIT"]
    result = mv_top_code(table, names)
    assert result.records_changed == pytest.approx(reference["n_changed"][0], abs=5)
    np.testing.assert_allclose(result.data[names].mean(), reference["col_means"][0], rtol=0.01)


def naive(x, m, cov, limit):
    out = x.copy()
    for i, row in enumerate(x):
        d2 = (row - m) @ np.linalg.inv(cov) @ (row - m)
        if d2 > limit:
            a = np.sqrt(limit / d2)
            out[i] = a * row + (1 - a) * m
    return out


@pytest.mark.parametrize("covariance", ["robust", "classical"])
def test_plain_version_agrees(covariance):
    data = firms()
    before = data.copy(deep=True)
    result = mv_top_code(data, NAMES, covariance=covariance)
    pd.testing.assert_frame_equal(data, before)
    expected = naive(
        data[NAMES].to_numpy(),
        result.details["centre"],
        result.details["covariance"],
        chi2.ppf(0.975, 3),
    )
    np.testing.assert_allclose(result.data[NAMES], expected, rtol=1e-9)
    far = result.details["outliers"]
    unmoved = result.data[NAMES].to_numpy()[~far]
    assert np.array_equal(unmoved, data[NAMES].to_numpy()[~far])
    assert result.data["name"].equals(data["name"])
    assert far[:25].all() or covariance == "classical"


def test_arguments_count():
    data = firms()
    base = mv_top_code(data, NAMES)
    assert base.data.equals(mv_top_code(data, NAMES).data)
    assert base.records_changed > mv_top_code(data, NAMES, alpha=1e-6).records_changed
    classical = mv_top_code(data, NAMES, covariance="classical")
    assert not classical.data.equals(base.data)
    data["x"] = data["x"].round().astype(int)
    assert mv_top_code(data, NAMES).data["x"].dtype == np.float64
    assert mv_top_code(data, NAMES, integers="round").data["x"].dtype == np.int64


def test_missing_and_degenerate():
    data = firms()
    data.iloc[0, 0] = np.nan
    result = mv_top_code(data, NAMES)
    assert result.data.iloc[0].equals(data.iloc[0])
    assert not result.details["outliers"][0]
    assert "1 record with missing values stayed unchanged" in result.summary()
    zeros = pd.DataFrame({"x": np.r_[np.zeros(60), np.arange(40.0)], "y": np.arange(100.0)})
    assert "Classical covariance" in mv_top_code(zeros, ["x", "y"]).summary()
    constant = pd.DataFrame({"x": np.ones(30)})
    assert mv_top_code(constant, "x").cells_changed == 0
    assert mv_top_code(pd.DataFrame({"x": np.empty(0)}), "x").cells_changed == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"alpha": 0}, "between 0 and 1"),
        ({"alpha": 2.5}, "between 0 and 1"),
        ({"covariance": "mcd"}, "not allowed"),
        ({"integers": "cut"}, "not allowed"),
        ({"variables": ["name"]}, "must be numeric"),
        ({"variables": []}, "no column"),
    ],
)
def test_faults_are_named(options, text):
    with pytest.raises(InputError, match=text):
        mv_top_code(firms(20), **{"variables": NAMES, **options})
