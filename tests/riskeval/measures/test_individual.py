"""Individual risk against the integral of the paper, the reference package and hand values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from riskeval.kernels import counts as kernels
from riskeval.measures.individual import individual_risk, risk_of_cells
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

GRID_F = (1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 20.0, 29.0, 30.0, 50.0, 200.0, 1.3, 2.5, 17.9)
GRID_P = (1e-6, 1e-4, 0.001, 0.01, 0.1, 0.3, 0.49, 0.5, 0.51, 0.7, 0.9, 0.99, 0.9999, 1 - 1e-9)


def integral(f, p):
    """Equation 4 after y = 1 + (q/p) s: p times the integral of s^(f-1) / (p + q s) over (0, 1)."""
    q = 1 - p
    points = [x for x in (p, 10 * p, 100 * p) if x < 1]
    value, _ = quad(
        lambda s: s ** (f - 1) / (p + q * s), 0, 1, points=points, epsabs=0, epsrel=1e-13, limit=400
    )
    return p * value


def literal_integral(f, p):
    """Equation 4 as printed."""
    value, _ = quad(lambda y: (y - 1) ** (f - 1) / y, 1, 1 / p, epsabs=0, epsrel=1e-12, limit=400)
    return (p / (1 - p)) ** f * value


def direct_sum(f, p):
    """Equation 2: sum of 1/h times the negative binomial probability of h."""
    h, probability, total, reached = f, p**f, 0.0, 0.0
    while reached < 1 - 1e-13:
        total += probability / h
        reached += probability
        probability *= h / (h - f + 1) * (1 - p)
        h += 1
    return total


@pytest.mark.parametrize("p", GRID_P)
def test_equals_the_integral_on_a_grid(p):
    f = np.array(GRID_F)
    risk = risk_of_cells(f, f / p)
    np.testing.assert_allclose(risk, [integral(x, p) for x in GRID_F], rtol=1e-10)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("p", [0.01, 0.2, 0.6])
def test_equals_the_equations_as_printed(f, p):
    risk = risk_of_cells(np.array([float(f)]), np.array([f / p]))[0]
    assert risk == pytest.approx(literal_integral(f, p), rel=1e-9)
    assert risk == pytest.approx(direct_sum(f, p), rel=1e-9)


def test_closed_forms_of_one_and_two():
    p = np.array([0.001, 0.2, 0.7, 0.999])
    odds = p / (1 - p)
    np.testing.assert_allclose(risk_of_cells(np.ones(4), 1 / p), -odds * np.log(p), rtol=1e-10)
    np.testing.assert_allclose(
        risk_of_cells(np.full(4, 2.0), 2 / p), odds + odds**2 * np.log(p), rtol=1e-8
    )


def test_grid_of_the_reference_and_where_its_series_fails():
    grid = golden("sdc", "b2_indivrisk_formula_grid.parquet")
    f, big_f = grid["fk"].to_numpy(), grid["Fk"].to_numpy()
    risk = risk_of_cells(f, big_f)
    np.testing.assert_allclose(risk, grid["rk_series"], rtol=1e-8)
    np.testing.assert_allclose(
        risk_of_cells(f, big_f, "approximation"), grid["rk_approx"], rtol=1e-8
    )
    hopeless = (grid["rk_exact"] < 0) | (grid["rk_exact"] > 1)
    assert hopeless.sum() > 5  # the alternating sum loses all digits there
    assert ((risk > 0) & (risk <= 1)).all()
    inside = (f >= 3) & (big_f > f)
    assert (grid["rk_approx"][inside] > risk[inside]).all()  # the approximation overstates


def test_compiled_and_plain_kernel_agree(monkeypatch):
    f = np.array([1.0, 1.0, 2.4, 3.0, 40.0, 2.0])
    p = np.array([1.0, 0.01, 0.02, 0.3, 0.01, 0.8])
    fast, plain = np.empty(6), np.empty(6)
    kernels.cell_risks(f, p, fast)
    for name in ("_series", "_integral", "cell_risk"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    kernels.cell_risks.py_func(f, p, plain)
    np.testing.assert_allclose(fast, plain, rtol=1e-13)


@settings(max_examples=30, deadline=None)
@given(f=st.floats(1, 80), ratio=st.floats(1.0001, 1e6), more=st.floats(1.001, 3))
def test_falls_with_f_and_with_the_population(f, ratio, more):
    one, rarer_sample, larger = risk_of_cells(
        np.array([f, f * more, f]), np.array([f * ratio, f * more * ratio, f * ratio * more])
    )
    assert 1 / (f * ratio) <= one <= 1 / f  # Jensen, and F cannot be below f
    assert rarer_sample < one
    assert larger < one


CASES = [
    "b3_risk_testdata4_hh",
    "b4_risk_testdata5_hh",
    "b5_risk_eusilc5_hh",
    "b6_risk_eusilc3_hh",
    "b7_risk_eusilc6_hh",
    "b8_risk_eusilc5b",
    "b9_risk_ten",
    "b10_risk_ses4",
]


def case_data(info):
    name = info["data"].removesuffix(".parquet")
    return golden("sdc", info["data"]) if name.startswith("data_") else survey_data(name)


@pytest.mark.parametrize("case", CASES)
def test_survey_files(case):
    info, reference = golden("sdc", f"{case}.json"), golden("sdc", f"{case}.parquet")
    risk = individual_risk(
        case_data(info),
        info["keyVars"],
        weights=info["weight"],
        household=info["hhId"],
        formula="approximation",
    )
    np.testing.assert_allclose(risk.f, reference["fk"], rtol=1e-8)
    np.testing.assert_allclose(risk.F, reference["Fk"], rtol=1e-8)
    np.testing.assert_allclose(risk.risk, reference["risk"], rtol=1e-8)
    expected = info["global"]
    assert risk.expected_reidentifications == pytest.approx(expected["risk_ER"], rel=1e-8)
    assert risk.global_risk == pytest.approx(expected["risk"], rel=1e-8)
    assert risk.above_main_part == info["n_high_risk_print"]
    if info["hhId"]:
        np.testing.assert_allclose(risk.household_risk, reference["hier_risk"], rtol=1e-8)
        assert risk.expected_household_reidentifications == pytest.approx(
            expected["hier_risk_ER"], rel=1e-8
        )
        assert risk.household_global_risk == pytest.approx(expected["hier_risk"], rel=1e-8)
    if expected["threshold"] is None:
        assert risk.threshold_for(expected["max_risk"]) == math.inf
    else:
        assert risk.threshold_for(expected["max_risk"]) == pytest.approx(
            expected["threshold"], rel=1e-8
        )


def test_exact_risk_of_a_survey_file_is_below_the_approximation():
    info = golden("sdc", "b3_risk_testdata4_hh.json")
    reference = golden("sdc", "b3_risk_testdata4_hh.parquet")
    risk = individual_risk(survey_data("testdata"), info["keyVars"], weights="sampling_weight")
    small = reference["fk"] <= 5
    np.testing.assert_allclose(risk.risk[small], reference["risk_exact"][small], rtol=1e-8)
    assert (risk.risk <= reference["risk"] * (1 + 1e-12)).all()
    assert risk.expected_reidentifications < info["global"]["risk_ER"]


def test_small_file_of_the_paper_and_the_quality_factor():
    case = golden("sdc", "b1_indivrisk_francdat.json")
    data = survey_data("francdat")
    risk = individual_risk(data, case["keyVars"], weights="w")
    np.testing.assert_allclose(risk.risk, case["rk_exact"], rtol=1e-8)
    lowered = individual_risk(data, case["keyVars"], weights="w", quality=0.9)
    np.testing.assert_allclose(lowered.risk, case["rk_approx_qual0.9"], rtol=1e-8)
    np.testing.assert_allclose(lowered.base_risk, risk.risk)
    census = individual_risk(data, case["keyVars"], weights=None)
    np.testing.assert_allclose(census.risk, case["rk_no_survey"])


def test_census_case():
    case = golden("sdc", "b13_risk_testdata_noweights.json")
    risk = individual_risk(
        survey_data("testdata"),
        ["urbrur", "water", "sex", "age"],
        weights=None,
        household="ori_hid",
    )
    assert risk.expected_reidentifications == pytest.approx(case["global_risk_ER"])
    assert risk.expected_household_reidentifications == pytest.approx(case["hier_risk_ER"])
    assert "whole population" in risk.summary()


DATA = pd.DataFrame(
    {
        "age": [30, 30, 71, 40, np.nan],
        "hh": ["a", "b", "b", None, "c"],
        "w": [60.0, 40.0, 50.0, 10.0, 20.0],
        "d": [1.0, 0.5, 1.0, 0.0, 1.0],
    }
)


def test_factors_multiply_and_reach_the_household():
    plain = individual_risk(DATA, ["age"], weights="w", household="hh")
    factors = individual_risk(
        DATA,
        ["age"],
        weights="w",
        household="hh",
        quality="d",
        coverage=0.5,
        attempt=np.full(5, 0.25),
    )
    np.testing.assert_allclose(factors.risk, plain.risk * DATA["d"] * 0.125)
    b = factors.risk[1:3]
    assert factors.household_risk[1] == pytest.approx(1 - (1 - b[0]) * (1 - b[1]))


def test_household_without_identifier_is_a_household_of_one():
    risk = individual_risk(DATA, ["age"], weights="w", household="hh")
    assert risk.n_without_household == 1
    assert risk.household_risk[3] == pytest.approx(risk.risk[3])
    assert risk.expected_households == pytest.approx(
        risk.household_risk[[0, 1, 3, 4]].sum(), rel=1e-12
    )


def test_certain_link_makes_a_certain_household():
    risk = individual_risk(DATA.dropna(), ["age"], weights=None, household="hh")
    assert risk.household_risk.tolist() == [0.5, 1.0, 1.0]


def test_treatment_of_missing_keys_is_used():
    wild = individual_risk(DATA, ["age"], weights="w")
    half = individual_risk(DATA, ["age"], weights="w", alpha=0.5)
    own = individual_risk(DATA, ["age"], weights="w", missing="own-category")
    assert wild.f.tolist() == [3, 3, 2, 2, 5]
    assert half.f.tolist() == [2.5, 2.5, 1.5, 1.5, 5]
    assert own.f.tolist() == [2, 2, 1, 1, 1]
    assert wild.risk[2] < half.risk[2] < own.risk[2]


def test_weights_below_one_are_capped_and_told():
    data = pd.DataFrame({"age": [1, 1, 2], "w": [0.5, 0.6, 3.0]})
    risk = individual_risk(data, ["age"], weights="w")
    assert risk.n_capped == 2
    assert risk.risk[:2].tolist() == [0.5, 0.5]
    assert "fewer persons than records" in risk.summary()


def test_benchmark_rule_by_hand():
    data = pd.DataFrame({"age": [*range(2), *[9] * 200], "w": [1.2, 1.5, *[50.0] * 200]})
    risk = individual_risk(data, ["age"], weights="w")
    limit = 2 * (risk.risk.mean() + 2 * 1.4826 * np.median(abs(risk.risk - np.median(risk.risk))))
    assert risk.benchmark == max(0.1, limit)
    assert risk.above_benchmark == 2
    assert risk.count_above(0.85) == 1
    assert risk.count_above(0.0) == 202


def test_threshold_lowers_the_global_risk_to_the_wanted_one():
    data = survey_data("testdata")
    risk = individual_risk(
        data, ["urbrur", "water", "sex", "age", "relat"], weights="sampling_weight"
    )
    for wanted in (0.001, 0.002, 0.005):
        threshold = risk.threshold_for(wanted)
        assert np.minimum(risk.risk, threshold).mean() <= wanted * (1 + 1e-9)
        above = risk.risk[risk.risk > threshold].min()
        assert np.minimum(risk.risk, above).mean() > wanted
    assert risk.threshold_for(risk.risk.min() / 2) == risk.risk.min() / 2
    with pytest.raises(InputError, match="global_risk"):
        risk.threshold_for(0)


def test_thresholds_of_four_records_by_hand():
    """Capped at 1/4, 1/2 and 1 the risks 1/4, 1/2, 1, 1 have the means 1/4, 7/16 and 11/16."""
    risk = individual_risk(DATA.iloc[:4], ["age"], weights="w")
    risk = replace(risk, risk=np.array([1.0, 0.25, 1.0, 0.5]))
    expected = {0.2: 0.2, 0.25: 0.25, 0.4: 0.25, 0.4375: 0.5, 0.68: 0.5, 0.6875: np.inf}
    assert {wanted: risk.threshold_for(wanted) for wanted in expected} == expected
    assert risk.threshold_for(1.0) == np.inf
    with pytest.raises(InputError, match="global_risk"):
        risk.threshold_for(1.01)


def test_frame_and_summary():
    risk = individual_risk(DATA, ["age"], weights="w", household="hh")
    assert list(risk.to_frame().columns) == ["risk", "f", "F", "household_risk"]
    assert "households" in risk.summary()
    assert "equation 3.5" in risk.summary()
    assert list(individual_risk(DATA, ["age"], weights="w").to_frame().columns) == [
        "risk",
        "f",
        "F",
    ]


def test_empty_file_has_no_risk():
    risk = individual_risk(DATA.iloc[:0], ["age"], weights="w", household="hh")
    assert (risk.global_risk, risk.above_benchmark, risk.expected_households) == (0.0, 0, 0.0)
    assert (risk.above_main_part, risk.count_above(0.0)) == (0, 0)
    assert "0 records" in risk.summary()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quality": 1.2}, "quality: is not a number from 0 to 1"),
        ({"coverage": "cover"}, "cover"),
        ({"attempt": [0.1, 0.2]}, "2 values for 5 records"),
        ({"household": "hhh"}, "Did you mean 'hh'"),
        ({"formula": "series"}, "series"),
    ],
)
def test_faults(arguments, message):
    with pytest.raises(InputError, match=message):
        individual_risk(DATA, ["age"], weights="w", **arguments)
