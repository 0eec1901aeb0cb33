"""Weights agree with calibrate/rake (survey), calib (sampling), calibSample and ipu (simPop)."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from synthpop.calibration import Margin, calibrate
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from tests.reference_data import golden, survey_data

AGE_BREAKS = [-2, 15, 30, 45, 60, 75, 100]
AGE_LABELS = ["0-15", "16-30", "31-45", "46-60", "61-75", "76+"]


@pytest.fixture(scope="module")
def survey() -> Survey:
    frame = survey_data("eusilcS")
    frame = frame.assign(agec=pd.cut(frame["age"], AGE_BREAKS, labels=AGE_LABELS))
    return Survey(frame, weight="rb050", household="db030", strata="db040")


@pytest.fixture(scope="module")
def ratios() -> pd.DataFrame:
    return golden("pop", "a_calib_g.parquet")


def tables(*names: str) -> list[Margin]:
    return [Margin(golden("pop", f"a_totals_{name}.parquet"), total="Freq") for name in names]


FULL, MILD = ("R", "AG"), ("R_mild", "AG_mild")
CASES = [
    # column, margins, method, bounds, one weight per household, tolerance of the reference
    ("sp_RGs_raking", ("RGs",), "raking", None, False, 1e-7),
    ("sp_RGs_linear", ("RGs",), "linear", None, False, 1e-7),
    ("sp_RGs_logit", ("RGs",), "logit", None, False, 1e-5),
    ("sp_AGR_raking", ("AGR",), "raking", None, False, 1e-7),
    ("sp_AGR_linear", ("AGR",), "linear", None, False, 1e-7),
    ("sp_AGR_logit", ("AGR",), "logit", (0, 10), False, 1e-5),
    ("spw_2m_logit_0_10", FULL, "logit", (0, 10), False, 1e-5),
    ("spw_2mm_linear_fullrank", MILD, "linear", None, False, 1e-8),
    ("sv_2m_linear", FULL, "linear", None, False, 1e-10),
    ("sv_2m_linear_hh", FULL, "linear", None, True, 1e-10),
    ("sv_2m_raking", FULL, "raking", None, False, 1e-10),
    ("sv_2m_raking", FULL, "exponential", None, False, 1e-10),
    ("sv_2m_raking_hh", FULL, "raking", None, True, 1e-10),
    ("sv_2m_rake", FULL, "raking", None, False, 1e-8),
    ("sv_2mm_raking", MILD, "raking", (0.5, 2.5), False, 1e-10),
    ("sv_2mm_linear_bnd_0.4_2.5", MILD, "linear", (0.4, 2.5), False, 1e-10),
    ("sv_2mm_linear_bnd_0.71_1.8", MILD, "linear", (0.71, 1.8), False, 1e-10),
    ("sv_2mm_logit_0.4_2.5", MILD, "logit", (0.4, 2.5), False, 1e-9),
    ("sv_2mm_logit_0.71_1.8", MILD, "logit", (0.71, 1.8), False, 1e-9),
    ("sv_RGs_poststrat", ("RGs",), "raking", None, False, 1e-12),
    ("sa_2mm_truncated_0.71_1.8", MILD, "linear", (0.71, 1.8), False, 1e-9),
]


@pytest.mark.parametrize(
    ("column", "margins", "method", "bounds", "equal", "rtol"),
    CASES,
    ids=[f"{case[0]}-{case[2]}" for case in CASES],
)
def test_ratios_agree(survey, ratios, column, margins, method, bounds, equal, rtol):
    result = calibrate(
        survey,
        tables(*margins),
        method=method,
        bounds=bounds,
        household_equal=equal,
        tolerance=1e-10,
    )
    assert result.converged
    np.testing.assert_allclose(result.g, ratios[column], rtol=rtol)
    kish = golden("pop", "a_calib.json")["cases"][column]["kish_deff"]
    assert result.design_effect == pytest.approx(kish, rel=1e-6)


def test_start_weights_are_used(survey, ratios):
    ones = survey.with_weights(np.ones(survey.n_persons))
    result = calibrate(ones, tables("RGs"), household_equal=False)
    weights = ratios["sp_RGs_raking_w1"] * survey.weights
    np.testing.assert_allclose(result.weights, weights, rtol=1e-7)


def test_totals_a_hundred_times_the_sample(survey, ratios):
    margin = Margin(survey_data("totalsRG"), total="Freq")
    for method, column in (("raking", "sp_RG_raking"), ("linear", "sp_RG_linear")):
        result = calibrate(survey, margin, method=method, household_equal=False)
        np.testing.assert_allclose(result.g, ratios[column], rtol=1e-7)
    with pytest.raises(InputError, match="out of reach"):
        calibrate(survey, margin, method="logit", household_equal=False)


@pytest.mark.parametrize(
    ("margins", "method", "bounds"),
    [
        (FULL, "linear", (0.4, 2.5)),
        (FULL, "linear", (0.75, 1.4)),
        (FULL, "logit", (0.7, 1.5)),
        (FULL, "logit", (0.9, 1.1)),
        (MILD, "logit", (0.75, 1.6)),
    ],
)
def test_infeasible_bounds_are_named(survey, margins, method, bounds):
    with pytest.raises(InputError, match=r"db040=\w+.*out of reach"):
        calibrate(survey, tables(*margins), method=method, bounds=bounds, household_equal=False)


def test_inconsistent_totals_are_named_or_balanced(survey):
    region = golden("pop", "a_totals_R.parquet")
    groups = golden("pop", "a_totals_AG.parquet")
    larger = groups.assign(Freq=groups["Freq"] * 1.05)
    with pytest.raises(InputError, match="81,820 against 85,911"):
        calibrate(survey, [Margin(region, total="Freq"), Margin(larger, total="Freq")])
    near = Margin(larger, total="Freq", importance=1000.0)
    result = calibrate(survey, [Margin(region, total="Freq"), near])
    errors = result.margins.set_index("margin")["relative_error"].abs()
    assert result.converged
    assert errors["persons by db040"].max() < 1e-6
    assert 0.03 < errors["persons by agec x rb090"].max() < 0.06


def example_of_ye() -> Survey:
    rows = golden("pop", "b_ipu.json")["ipu"]["ye_input"]
    people = [
        (row["hhid"], "hh1" if row["hh1"] else "hh2", kind, 1.0)
        for row in rows
        for kind in ("p1", "p2", "p3")
        for _ in range(row[kind])
    ]
    frame = pd.DataFrame(people, columns=["hid", "type", "kind", "w"])
    return Survey(frame, weight="w", household="hid")


def margins_of_ye(first: float = 91) -> list[Margin]:
    households = pd.DataFrame({"type": ["hh1", "hh2"], "total": [35, 65]})
    persons = pd.DataFrame({"kind": ["p1", "p2", "p3"], "total": [first, 65, 104]})
    return [Margin(households, level="household"), Margin(persons)]


@pytest.mark.parametrize("case", ["ye2009_eps0.001", "ye2009_eps1e-07", "ye2009_eps1e-10"])
def test_ipu_agrees_after_the_same_rounds(case):
    reference = golden("pop", "b_ipu.json")["ipu"][case]
    survey = example_of_ye()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = calibrate(
            survey,
            margins_of_ye(),
            method="ipu",
            tolerance=1e-15,
            max_iterations=reference["iterations"],
        )
    weights = pd.Series(result.weights).groupby(survey.household_index).first()
    np.testing.assert_allclose(weights, reference["weights"], rtol=1e-12)
    assert not result.converged


@pytest.mark.parametrize(
    ("case", "column", "person"),
    [
        ("eusilcS_region_hsize_gender", "w_region_hsize_gender", ("rb090",)),
        ("eusilcS_region_age_gender", "w_region_age_gender", ("agec", "rb090")),
    ],
)
def test_ipu_agrees_on_the_survey(survey, case, column, person):
    reference = golden("pop", "b_ipu.json")["ipu"][case]
    totals = pd.Series(reference["constraints"])
    weights = golden("pop", "b_ipu_eusilcS_weights.parquet").set_index("db030")[column]

    def margin(name: str, level: str, prefix: str) -> Margin:
        part = totals[totals.index.str.startswith(prefix)]
        values = part.index.str.removeprefix(prefix)
        return Margin(pd.DataFrame({name: values, "total": part.to_numpy()}), level=level)

    margins = [margin("db040", "household", "db040")]
    if "hsize" in case:
        margins.append(margin("hsize", "household", "hsize"))
    margins += [margin(name, "person", {"agec": "age", "rb090": "rb090"}[name]) for name in person]
    start = survey.with_weights(np.ones(survey.n_persons))
    result = calibrate(start, margins, method="ipu", tolerance=2e-7)
    expected = weights.loc[survey.frame["db030"]].to_numpy()
    assert result.converged
    # reference stops at a mean relative gap of 1e-7
    np.testing.assert_allclose(result.weights, expected, rtol=1e-5)


def test_infeasible_total_of_ye_is_told():
    from synthpop.microdata.messages.errors import ConvergenceWarning

    survey = example_of_ye()
    with pytest.warns(ConvergenceWarning, match="kind=p1"):
        result = calibrate(survey, margins_of_ye(300), method="ipu", max_iterations=24)
    reference = golden("pop", "b_ipu.json")["ipu"]["ye2009_infeasible"]["weights"]
    weights = pd.Series(result.weights).groupby(survey.household_index).first()
    np.testing.assert_allclose(weights, reference, rtol=1e-9)
    with pytest.warns(ConvergenceWarning, match="proved"):
        result = calibrate(survey, margins_of_ye(300))
    assert not result.converged
    assert any("kind=p1" in label for label in result.proof)


def test_numeric_totals_with_counts(survey):
    persons = Margin(golden("pop", "b_ipf_conP1.parquet"), total="Freq")
    income = Margin(golden("pop", "b_ipf_conP3.parquet"), total="Freq", variable="netIncome")
    result = calibrate(survey, [persons, income], tolerance=1e-9)
    assert result.converged
    frame = survey.frame.assign(x=result.weights * survey.frame["netIncome"].fillna(0))
    sums = frame.groupby("rb090", observed=True)["x"].sum()
    expected = income.frame.set_index("rb090")["Freq"]
    np.testing.assert_allclose(sums, expected.loc[sums.index], rtol=1e-8)


@pytest.mark.parametrize(
    ("column", "equal", "rtol"),
    [("P_only_no_meanHH", False, 1e-8), ("P_only_geometric", True, 2e-5)],
)
def test_raking_agrees_with_ipf(survey, column, equal, rtol):
    weights = golden("pop", "b_ipf_weights.parquet")
    order = np.argsort(survey.frame["db030"].to_numpy(), kind="stable")
    margins = [Margin(golden("pop", f"b_ipf_conP{i}.parquet"), total="Freq") for i in (1, 2)]
    result = calibrate(survey, margins, household_equal=equal, tolerance=1e-10)
    np.testing.assert_allclose(result.weights[order], weights[column], rtol=rtol)


def test_persons_and_households_with_limits_of_weights(survey):
    frame = survey.frame.assign(hs5=survey.frame["hsize"].clip(upper=5))
    people = Survey(frame, weight="rb050", household="db030")
    margins = [
        Margin(golden("pop", "b_ipf_conP1.parquet"), total="Freq"),
        Margin(golden("pop", "b_ipf_conP2.parquet"), total="Freq"),
        Margin(
            golden("pop", "b_ipf_conH1.parquet"), total="Freq", level="household", importance=1e3
        ),
    ]
    result = calibrate(people, margins, weight_bounds=(4.0, 12.0))
    assert result.converged
    assert result.weights.min() >= 4.0
    assert result.weights.max() <= 12.0
    assert people.with_weights(result.weights).household_weights.shape == (people.n_households,)
    free = calibrate(people, margins, weight_bounds=None)
    assert free.weights.max() > 12.0
