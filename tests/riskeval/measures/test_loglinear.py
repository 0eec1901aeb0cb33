from __future__ import annotations

import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from riskeval import assess
from riskeval.kernels.loglinear import error_sums, error_terms, slope_and_bend
from riskeval.measures.loglinear import fit as fitting
from riskeval.measures.loglinear import select as choice_module
from riskeval.measures.loglinear.fit import connected_keys, fit_margins
from riskeval.measures.loglinear.mixing import (
    estimated_dispersion,
    log_transform,
    match_risks,
    unique_probabilities,
)
from riskeval.measures.loglinear.model import loglinear_risk, unique_risks
from riskeval.measures.loglinear.newton import fit_newton
from riskeval.measures.loglinear.select import choose_model, estimated_error
from riskeval.measures.loglinear.table import count_cells, program_measures
from riskeval.measures.loglinear.terms import format_formula, read_terms
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults, InputError
from synthpop.microdata.messages.text import number
from synthpop.microdata.roles.microdata import Microdata
from tests.reference_data import golden, survey_data

METHOD_OF = {
    "default": "poisson",
    "CE": "clogg-eliason",
    "PML": "pseudo-ml",
    "weightedLLM": "weighted",
    "IPF": "ipf",
}


def people(n: int = 300, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    area = rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "area": area,
            "job": rng.choice(list("abcde"), n, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "age": np.minimum(rng.poisson(2 + area), 8),
            "w": rng.uniform(5, 40, n),
        }
    )


KEYS = ["area", "job", "age"]
FRAME = people()


# ------------------------------------------------------------------------------ reference values


def reference_data(called: dict[str, object]) -> pd.DataFrame:
    data = survey_data(str(called["data"]).removesuffix(".parquet"))
    if "rows" in called:  # the first 500 persons, weights brought up
        data = data.head(500)
        data = data.assign(rb050_2=data["rb050"] * 14827 / 500)
    return data


@pytest.mark.parametrize(
    "case", ["e1_modrisk_eusilc", "e2_modrisk_testdata", "e3_modrisk_eusilc500"]
)
def test_reference_values(case: str) -> None:
    called = golden("sdc", f"{case}.json")
    vectors = golden("sdc", f"{case}.parquet")
    data = reference_data(called)
    for result in called["results"]:
        if case == "e1_modrisk_eusilc" and result["method"] == "IPF":
            continue  # see the test of IPF below
        keys = list(dict.fromkeys(re.findall(r"[A-Za-z]\w*", result["formula"])))
        bound = np.inf if result["bound"] == "Inf" else result["bound"]
        call = {
            "weights": called["weight"],
            "formula": result["formula"],
            "method": METHOD_OF[result["method"]],
            "bound": bound,
        }
        risk = loglinear_risk(data, keys, **call)
        # what the R function returns, under a name that says so
        assert risk.program_cells == result["n_cells_used"]
        if result["gr1"] is not None:  # null: 0/0 at a weight of 1
            assert risk.program_gr1 == pytest.approx(result["gr1"], rel=1e-6)
            assert risk.program_gr2 == pytest.approx(result["gr2"], rel=1e-6)
        if "deviance" in result:
            assert risk.deviance == pytest.approx(result["deviance"], rel=1e-9)
            assert risk.n_cells == result["n_fit"]
            assert risk.n_cells - risk.n_parameters == result["df_residual"]
        if "reference_skinner_shlomo" not in result:
            continue
        # the published measures; R stops its fit at 1e-8, which exp() of large means magnifies
        reference = result["reference_skinner_shlomo"]
        for inclusion in ("global", "cell"):
            risk = loglinear_risk(data, keys, inclusion=inclusion, **call)
            assert risk.tau1 == pytest.approx(reference[f"tau1_pi_{inclusion}"], rel=1e-4)
            assert risk.tau2 == pytest.approx(reference[f"tau2_pi_{inclusion}"], rel=1e-6)
        both = vectors.dropna(subset=keys).merge(risk.cells, on=keys)
        assert len(both) == len(risk.cells)
        fitted = f"lambda_{result['method']}"
        np.testing.assert_allclose(both["sample_mean"], both[fitted], rtol=1e-6)


def test_ipf_in_the_reference_program_loses_cells() -> None:
    # 4,014 of the 4,381 observed complete cells have a fit there; ours is the independence model
    # over all of them, whose fitted values have the same sum and maximum
    called = golden("sdc", "e1_modrisk_eusilc.json")
    data = survey_data("eusilc")
    keys = ["db040", "hsize", "rb090", "age", "pb220a"]
    risk = loglinear_risk(data, keys, weights="rb050", method="ipf")
    assert risk.program_cells == 4381
    results = [r for r in called["results"] if r["method"] == "IPF" and r["bound"] == "Inf"]
    assert results[0]["n_cells_used"] == 4014
    complete = data.dropna(subset=keys)
    shares = [complete[key].value_counts(normalize=True).max() for key in keys]
    largest = len(complete) * np.prod(shares)
    assert results[0]["fitted"]["max"] == pytest.approx(largest, rel=1e-9)
    assert results[0]["fitted"]["sum"] == len(complete)


# --------------------------------------------------------------- against a fit of the whole table


def whole_table_fit(
    frame: pd.DataFrame,
    formula: str,
    *,
    counts: np.ndarray,
    offset: np.ndarray | None = None,
    extra: np.ndarray | None = None,
) -> np.ndarray:
    """Means of all cells by iteratively reweighted least squares on the whole design."""
    from formulaic import model_matrix

    design = model_matrix(formula, frame).to_numpy(dtype=float)
    if extra is not None:
        design = np.column_stack([design, extra])
    model = sm.GLM(counts, design, family=sm.families.Poisson(), offset=offset)
    return np.asarray(model.fit(tol=1e-12, maxiter=200).fittedvalues)


@pytest.mark.parametrize(
    ("formula", "method", "fit"),
    [  # each method in both fits, each formula with half of them
        (formula, method, fit)
        for n, (method, fit) in enumerate(
            product(["poisson", "clogg-eliason", "pseudo-ml", "weighted"], ["book", "exact"])
        )
        for formula in (
            ["~ area + job + age", "~ C(area):job + C(age)"]
            if n % 2
            else ["~ job * C(area) + age", "~ age:job + area"]
        )
    ],
)
def test_all_methods_agree_with_a_fit_of_the_whole_table(
    formula: str, method: str, fit: str
) -> None:
    grid = pd.DataFrame(
        list(product(range(4), "abcde", sorted(FRAME["age"].unique()))), columns=KEYS
    )
    sums = FRAME.groupby(KEYS)["w"].agg(f="size", F="sum").reset_index()
    grid = grid.merge(sums, how="left", on=KEYS).fillna({"f": 0.0, "F": 0.0})
    f, F = grid["f"].to_numpy(), grid["F"].to_numpy()
    pi = len(FRAME) / FRAME["w"].sum()
    counts, offset, extra = f, None, None
    if method == "pseudo-ml":
        counts = np.rint(F * pi) if fit == "book" else F * pi
    elif method == "clogg-eliason":
        ratio = np.divide(f, F, out=np.zeros_like(f), where=F > 0)
        exact = np.log(np.where(f > 0, ratio, pi))
        offset = np.log(ratio + 0.1) if fit == "book" else exact
    elif method == "weighted":
        extra = F / 10
    text = formula
    if method == "poisson" and fit == "exact":  # one case through the margins: all categories
        text = formula.replace("C(", "(").replace("area", "C(area)").replace("age", "C(age)")
    expected = whole_table_fit(grid, text, counts=counts, offset=offset, extra=extra)
    risk = loglinear_risk(FRAME, KEYS, weights="w", formula=text, method=method, fit=fit)
    assert risk.converged
    both = grid.assign(expected=expected).merge(risk.cells, on=KEYS)
    np.testing.assert_allclose(both["sample_mean"], both["expected"], rtol=2e-5)
    assert risk.n_cells == len(grid)


def test_main_effects_have_a_closed_form() -> None:
    risk = loglinear_risk(FRAME, KEYS, weights="w")
    n = len(FRAME)
    expected = np.full(n, float(n))
    for key in KEYS:
        expected *= FRAME[key].map(FRAME[key].value_counts(normalize=True))
    pi = n / FRAME["w"].sum()
    np.testing.assert_allclose(risk.lambda_, expected / pi)
    assert risk.iterations == 0
    np.testing.assert_allclose(
        loglinear_risk(FRAME, KEYS, weights="w", method="ipf").lambda_, risk.lambda_
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_fitted_margins_are_the_observed_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 3, (12, 3)), axis=0)
    counts = rng.integers(1, 9, len(codes)).astype(float)
    terms = [frozenset(t) for t in ([0], [1], [2], [0, 1], [1, 2], [0, 2])]
    fit = fit_margins(codes, counts, [3, 3, 3], terms, max_iterations=3000, tolerance=1e-3)
    table = fit.parts[0].values.reshape(3, 3, 3)
    observed = np.zeros((3, 3, 3))
    observed[tuple(codes.T)] = counts
    for axis in range(3):
        np.testing.assert_allclose(table.sum(axis), observed.sum(axis), rtol=2e-3, atol=1e-9)
    np.testing.assert_allclose(fit.mean, table[tuple(codes.T)])


def test_newton_and_margins_agree() -> None:
    table = count_cells(Microdata(FRAME, keys=KEYS, weight="w"))
    terms, _ = read_terms(Faults("test"), "~ (area + job)^2 + age", KEYS)
    a = fit_margins(table.codes, table.counts, table.sizes, terms)
    b = fit_newton(table.codes, table.counts, table.sizes, terms, [None] * 3)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-6)
    assert a.deviance == pytest.approx(b.deviance)
    assert a.n_parameters == b.n_parameters == 1 + 3 + 4 + 12 + len(table.levels[2]) - 1


def test_a_key_in_no_term_has_equal_means_on_all_its_levels() -> None:
    """Margins 10 and 20 of the first key, over the three levels of the second."""
    codes = np.array([[0, 0], [0, 2], [1, 1]])
    counts = np.array([4.0, 6.0, 20.0])
    fit = fit_margins(codes, counts, [2, 3], [frozenset([0])])
    np.testing.assert_allclose(fit.mean, [10 / 3, 10 / 3, 20 / 3])
    newton = fit_newton(codes, counts, [2, 3], [frozenset([0])], [None] * 2)
    np.testing.assert_allclose(newton.mean, fit.mean, rtol=1e-6)
    # 2 sum n log(n / m) over the cells, the means of the empty ones cancelling
    assert fit.deviance == pytest.approx(2 * (counts * np.log(counts / fit.mean)).sum())
    assert fit.n_parameters == newton.n_parameters == 2


def test_a_known_part_of_every_cell_changes_no_mean() -> None:
    table = count_cells(Microdata(FRAME, keys=KEYS, weight="w"))
    terms, _ = read_terms(Faults("test"), "~ (area + job)^2 + age", KEYS)
    cells = table.codes, table.counts, table.sizes, terms, [None] * 3
    plain, known = (
        fit_newton(*cells, offset=np.full(len(table.counts), part), empty_offset=part)
        for part in (0.0, 0.7)
    )
    np.testing.assert_allclose(known.mean, plain.mean, rtol=1e-6)
    for a, b in zip(known.parts, plain.parts, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-6)


def test_a_key_of_one_level_adds_nothing() -> None:
    codes = count_cells(Microdata(FRAME, keys=KEYS, weight="w")).codes[:, :2]
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    levels = tuple(cells.max(axis=0) + 1)
    plain = fit_newton(cells, counts, levels, [frozenset({0}), frozenset({1})], [None] * 2)
    terms = [frozenset({0}), frozenset({1}), frozenset({0, 2}), frozenset({2})]
    wide = np.column_stack([cells, np.zeros(len(cells), dtype=cells.dtype)])
    crossed = fit_newton(wide, counts, (*levels, 1), terms, [None] * 3)
    np.testing.assert_allclose(crossed.mean, plain.mean, rtol=1e-6)
    assert crossed.n_parameters == plain.n_parameters


def test_a_fit_that_stops_short_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    original = fitting.fit_margins
    monkeypatch.setattr(
        fitting, "fit_margins", lambda *a, **k: original(*a, **{**k, "max_iterations": 1})
    )
    with pytest.warns(ConvergenceWarning, match="after 1 iteration"):
        risk = loglinear_risk(FRAME, KEYS, weights="w", formula="~ (C(area) + job + C(age))^2")
    assert not risk.converged
    assert "did not converge" in risk.summary()


# ------------------------------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~ a + b", "a b"),
        ("a*b", "a b ab"),
        ("~ a:b + c", "c ab"),
        ("~ (a + b + c)^2", "a b c ab ac bc"),
        ("~ (a + b + c)**3", "a b c ab ac bc abc"),
        ("~ . - c", "a b"),
        ("~ a*b*c - a:b:c", "a b c ab ac bc"),
        ("~ (a + b):c", "ac bc"),
        ("~ 1", ""),
        ("~ 1 + a", "a"),
        ("~ `a` + C(b)", "a b"),
    ],
)
def test_formulas(text: str, expected: str) -> None:
    terms, categorical = read_terms(Faults("test"), text, list("abc"))
    assert [{"abc"[j] for j in term} for term in terms] == [set(t) for t in expected.split()]
    assert categorical == ({1} if "C(" in text else set())
    again, _ = read_terms(Faults("test"), format_formula(terms, list("abc")), list("abc"))
    assert again == terms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("~ a + d", "'d' is not a key"),
        ("~ a +", "missing beside '\\+'"),
        ("~ (a + b", "parenthesis is not closed"),
        ("~ a b", "Missing operator between"),
        ("~ a ^ b", "not a power"),
        ("~ a ^ 0", "missing beside '\\^'"),
        ("~ __import__('os')", "__import__\\(\\) is not available"),
        ("~ a + 0", "constant cannot be taken out"),
        ("", "no terms"),
    ],
)
def test_formulas_that_cannot_be_read(text: str, message: str) -> None:
    faults = Faults("test")
    assert read_terms(faults, text, list("abc")) is None
    with pytest.raises(InputError, match=message):
        faults.raise_if_any()


def test_odd_names_need_backticks() -> None:
    frame = FRAME.rename(columns={"job": "my job"})
    risk = loglinear_risk(frame, ["area", "my job"], weights="w", formula="~ area + `my job`")
    assert risk.formula == "~ area + `my job`"
    assert risk.as_numbers == ("area",)


def test_numbers_are_trends_unless_marked() -> None:
    trend = loglinear_risk(FRAME, KEYS, weights="w", formula="~ area + job + age")
    assert trend.as_numbers == ("area", "age")
    assert "Treated as numbers: area, age" in trend.summary()
    assert trend.n_parameters == 1 + 1 + 4 + 1
    marked = loglinear_risk(FRAME, KEYS, weights="w", formula="~ C(area) + job + C(age)")
    assert marked.as_numbers == ()
    plain = loglinear_risk(FRAME, KEYS, weights="w")
    np.testing.assert_allclose(marked.lambda_, plain.lambda_)
    assert plain.formula == marked.formula == "~ C(area) + job + C(age)"
    ipf = loglinear_risk(FRAME, KEYS, weights="w", formula="~ area + job + age", method="ipf")
    np.testing.assert_allclose(ipf.lambda_, plain.lambda_)


def test_terms_tie_keys_together() -> None:
    terms = [frozenset(t) for t in ([0], [1], [2], [3], [0, 2], [2, 3])]
    assert connected_keys(terms, 5) == [(0, 2, 3), (1,), (4,)]


def test_a_key_outside_the_formula_is_uniform() -> None:
    risk = loglinear_risk(FRAME, KEYS, weights="w", formula="~ C(area)")
    cells = risk.cells.groupby("area")["sample_mean"].nunique()
    assert (cells == 1).all()
    trend = loglinear_risk(FRAME, KEYS, weights="w", formula="~ area")
    assert trend.cells.groupby("area")["sample_mean"].apply(np.ptp).max() < 1e-12


# ------------------------------------------------------------------------------------- measures


def test_equations_3_21_to_3_23() -> None:
    mean, pi = np.array([0.5, 3.0, 0.0]), np.array([0.2, 0.1, 0.3])
    unique, match = unique_risks(mean, pi)
    np.testing.assert_allclose(unique, np.exp(-(1 - pi) * mean))
    # E(1/F | f = 1) with F - 1 Poisson of mean (1 - pi) lambda
    k = np.arange(80)
    for j in range(3):
        v = (1 - pi[j]) * mean[j]
        from scipy.stats import poisson

        assert match[j] == pytest.approx((poisson.pmf(k, v) / (k + 1)).sum())


def test_the_measures_are_sums_over_sample_uniques() -> None:
    risk = loglinear_risk(FRAME, KEYS, weights="w")
    alone = FRAME.groupby(KEYS)["w"].transform("size").to_numpy() == 1
    assert risk.n_uniques == alone.sum() > 5
    v = (1 - risk.inclusion_probability) * risk.lambda_
    assert risk.tau1 == pytest.approx(np.exp(-v[alone]).sum())
    assert risk.tau2 == pytest.approx(((1 - np.exp(-v)) / v)[alone].sum())
    assert (risk.risk_unique[~alone] == 0).all()
    assert np.isnan(risk.risk_match[~alone]).all()
    assert np.nansum(risk.risk_match) == pytest.approx(risk.tau2)
    frame = risk.to_frame()
    assert list(frame.columns) == ["lambda", "pi", "risk_unique", "risk_match", "risk"]
    assert len(frame) == len(FRAME)


def test_inclusion_probability_of_the_file_or_of_the_cell() -> None:
    overall = loglinear_risk(FRAME, KEYS, weights="w")
    np.testing.assert_allclose(overall.inclusion_probability, len(FRAME) / FRAME["w"].sum())
    own = loglinear_risk(FRAME, KEYS, weights="w", inclusion="cell")
    alone = own.risk_unique > 0
    np.testing.assert_allclose(own.inclusion_probability[alone], 1 / FRAME["w"][alone])
    assert own.tau2 != pytest.approx(overall.tau2, rel=1e-3)


def test_exact_fits_have_their_own_scale() -> None:
    offset = loglinear_risk(FRAME, KEYS, weights="w", method="clogg-eliason", fit="exact")
    ratio = offset.cells["f"] / offset.cells["F"]
    np.testing.assert_allclose(offset.cells["lambda"], offset.cells["sample_mean"] / ratio)
    pseudo = loglinear_risk(
        FRAME, KEYS, weights="w", method="pseudo-ml", fit="exact", inclusion="cell"
    )
    assert pseudo.cells["lambda"].sum() < FRAME["w"].sum()
    scale = len(FRAME) / FRAME["w"].sum()
    np.testing.assert_allclose(pseudo.cells["lambda"], pseudo.cells["sample_mean"] / scale)


def test_missing_keys_are_left_out_and_counted() -> None:
    gaps = FRAME.assign(job=FRAME["job"].where(FRAME.index % 10 > 0))
    risk = loglinear_risk(gaps, KEYS, weights="w")
    assert risk.n_left_out == 30
    assert np.isnan(risk.lambda_[::10]).all()
    assert not np.isnan(risk.lambda_[1]).any()
    assert risk.cells["f"].sum() == 270
    np.testing.assert_allclose(risk.cells["pi"], 300 / FRAME["w"].sum())
    assert "30 records are left out because a key is missing" in risk.summary()


def test_bound_moves_the_program_numbers_only() -> None:
    some = loglinear_risk(FRAME, KEYS, weights="w", bound=1)
    every = loglinear_risk(FRAME, KEYS, weights="w")
    assert some.program_cells == some.n_uniques < every.program_cells
    assert some.program_gr1 > every.program_gr1
    assert (some.tau1, some.tau2) == (every.tau1, every.tau2)


def test_program_numbers_stay_finite_at_weights_of_one() -> None:
    table = count_cells(Microdata(FRAME, keys=KEYS, weight=np.ones(len(FRAME))))
    gr1, gr2, n = program_measures(table, table.counts, np.inf)
    assert gr1 == gr2 == pytest.approx((table.counts == 1).sum() / n)
    empty = program_measures(table, table.counts, 0)
    assert np.isnan(empty[0])
    assert empty[2] == 0


def test_a_census_is_known() -> None:
    risk = loglinear_risk(FRAME, KEYS, weights=np.ones(len(FRAME)))
    assert risk.tau1 == risk.tau2 == risk.n_uniques


def test_tables_beyond_memory() -> None:
    rng = np.random.default_rng(2)
    keys = [f"k{j}" for j in range(10)]
    frame = pd.DataFrame({key: rng.integers(0, 50, 2000) for key in keys}).astype(str)
    frame = frame.assign(w=9.0)
    risk = loglinear_risk(frame, keys, weights="w", formula="~ (k0 + k1)^2 + .")
    assert risk.n_cells == 50**10
    assert risk.n_uniques == 2000
    assert risk.tau1 == pytest.approx(2000)
    call = {"weights": "w", "method": "ipf"}
    with pytest.raises(InputError, match="97,656,250,000,000,000 cells, at most 20,000,000"):
        loglinear_risk(frame, keys, formula="~ .^2", **call)
    with pytest.raises(InputError, match="at most 2,000 can be fitted"):
        loglinear_risk(frame, keys, formula="~ k0*k1 + k2*k3", weights="w", method="weighted")


def test_numbers_of_any_size_fit() -> None:
    years = FRAME.assign(age=FRAME["age"] + 1990)
    a = loglinear_risk(FRAME, KEYS, weights="w", formula="~ area*age + job")
    b = loglinear_risk(years, KEYS, weights="w", formula="~ area*age + job")
    np.testing.assert_allclose(a.lambda_, b.lambda_, rtol=1e-6)


def test_a_file_without_uniques() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "w": 2.0})
    risk = loglinear_risk(frame, ["a"], weights="w")
    assert risk.tau1 == risk.tau2 == 0
    assert "no record is unique" in risk.summary()


def test_one_level_and_unused_levels_do_no_harm() -> None:
    frame = FRAME.assign(one="same", job=pd.Categorical(FRAME["job"], categories=list("abcdexyz")))
    for method in METHOD_OF.values():
        risk = loglinear_risk(
            frame, ["one", "job", "age"], weights="w", formula="~ one*job + age", method=method
        )
        assert risk.n_cells == 5 * FRAME["age"].nunique()
        assert np.isfinite(risk.tau2)


def test_sparse_interactions_fit_with_offsets() -> None:
    # empty margins drive parameters to minus infinity; the means must stay right
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"a": rng.integers(0, 12, 60), "b": rng.integers(0, 12, 60)})
    frame = frame.assign(c=rng.integers(0, 2, 60), w=4.0).astype({"a": str, "b": str})
    weighted = loglinear_risk(
        frame, ["a", "b", "c"], weights="w", formula="~ a*b + C(c)", method="clogg-eliason",
        fit="exact",
    )  # fmt: skip
    plain = loglinear_risk(frame, ["a", "b", "c"], weights="w", formula="~ a*b + C(c)")
    np.testing.assert_allclose(weighted.lambda_, plain.lambda_, rtol=1e-4)


def test_data_stay_as_they_were_and_results_repeat() -> None:
    before = FRAME.copy()
    a = loglinear_risk(FRAME, KEYS, weights="w")
    b = loglinear_risk(FRAME, KEYS, weights=FRAME["w"].to_numpy())
    pd.testing.assert_frame_equal(before, FRAME)
    assert (a.tau1, a.tau2) == (b.tau1, b.tau2)
    assert "<table" in a._repr_html_()


def test_every_fault_is_reported_at_once() -> None:
    with pytest.raises(InputError) as error:
        loglinear_risk(
            FRAME, ["area", "jobb"], weights="ww", formula="~ area + x", method="glm", bound=0,
            inclusion="own", fit="best",
        )  # fmt: skip
    where = {fault.where for fault in error.value.faults}
    assert where == {"'jobb'", "'ww'", "formula", "method", "bound", "inclusion", "fit"}
    with pytest.raises(InputError, match="no record with all keys"):
        loglinear_risk(FRAME.assign(job=None), KEYS, weights="w")
    with pytest.raises(InputError, match="no rows"):
        loglinear_risk(FRAME.iloc[:0], KEYS, weights="w")
    with pytest.raises(InputError, match="at least one"):
        loglinear_risk(FRAME, [], weights="w")
    with pytest.raises(InputError, match="are needed"):
        loglinear_risk(FRAME, KEYS, weights=None)


# --------------------------------------------------------------------------------- model choice


def h(mean: np.ndarray, c: float, measure: int) -> np.ndarray:
    return np.exp(-c * mean) if measure == 1 else -np.expm1(-c * mean) / (c * mean)


@pytest.mark.parametrize("mean", [1e-4, 0.015, 0.0201, 0.5, 4.0, 30.0])
def test_slope_and_bend_are_derivatives(mean: float) -> None:
    c, step = 0.9, 1e-4 * max(mean, 0.1)
    # integral form of h: its derivatives are moments of a uniform variable
    u = (np.arange(20_000) + 0.5) / 20_000
    slope = np.mean(-c * u * np.exp(-c * mean * u))
    bend = np.mean(c * c * u * u * np.exp(-c * mean * u))
    for function in (slope_and_bend, slope_and_bend.py_func):
        np.testing.assert_allclose(function(mean, c), [slope, bend], rtol=2e-6)
    assert step > 0


def naive_error(table: np.ndarray, counts: np.ndarray, pi: float, measure: int) -> list[float]:
    """B and its variance over all cells, as printed, with numerical derivatives."""
    c, total, variance = 1 - pi, 0.0, 0.0
    for x, f in zip(table, counts, strict=True):
        d = 1e-3 * x
        slope = (h(x + d, c, measure) - h(x - d, c, measure)) / (2 * d)
        bend = (h(x + d, c, measure) - 2 * h(x, c, measure) + h(x - d, c, measure)) / d**2
        m = pi * x
        weight = x * np.exp(-m)
        total += weight * (-slope * (f - m) + bend * ((f - m) ** 2 - f) / (2 * pi))
        variance += weight**2 * (slope**2 * m + bend**2 * m**2 / (2 * pi**2))
    return [float(total), float(variance)]


def test_error_sums_over_the_whole_table() -> None:
    rng = np.random.default_rng(3)
    first, second, pi = rng.uniform(0.1, 3, 7), np.append(rng.uniform(0.1, 3, 5), 0.0), 0.2
    table = np.outer(first, second)
    counts = rng.poisson(pi * table)
    held = counts > 0
    out = error_sums(first, second, counts[held].astype(float), table[held], pi)
    plain = error_sums.py_func(first, second, counts[held].astype(float), table[held], pi)
    np.testing.assert_allclose(out, plain, rtol=1e-12)
    inside = table.ravel() > 0
    for measure in (1, 2):
        b, v = naive_error(table.ravel()[inside], counts.ravel()[inside], pi, measure)
        np.testing.assert_allclose(out[[measure - 1, measure + 1]], [b, v], rtol=1e-4)
    one = np.zeros(4)
    error_terms.py_func(2.0, 1.5, pi, one, 1.0)
    assert (one != 0).all()


def test_the_error_estimate_is_centred_with_the_stated_variance() -> None:
    rng = np.random.default_rng(11)
    mean, pi = rng.uniform(0.5, 20, 150), 0.1
    draws = []
    for _ in range(3000):
        counts = rng.poisson(pi * mean).astype(float)
        held = counts > 0
        draws.append(error_sums(mean, np.ones(1), counts[held], mean[held], pi))
    drawn = np.array(draws)
    for measure in (0, 1):
        values, variance = drawn[:, measure], drawn[0, measure + 2]
        assert abs(values.mean()) < 4 * np.sqrt(variance / 3000)
        assert values.var() == pytest.approx(variance, rel=0.12)


def dependent(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, n)
    return pd.DataFrame(
        {
            "a": a,
            "b": (a + rng.integers(0, 4, n)) % 12,
            "c": rng.integers(0, 10, n),
            "d": rng.integers(0, 6, n),
        }
    )


def test_the_search_finds_the_interaction_that_is_there() -> None:
    population = dependent(20_000, 1)
    sample = population.sample(1000, random_state=2).assign(w=20.0)
    choice = choose_model(sample, list("abcd"), weights="w", max_interactions=1)
    assert choice.path["added"].tolist() == ["", "a:b"]
    assert choice.path["z2"][0] > 3 > abs(choice.path["z2"][1])
    assert choice.formula == "~ C(a) + C(b) + C(c) + C(d) + C(a):C(b)"
    counts = population.groupby(list("abcd")).size()
    alone = sample.groupby(list("abcd")).size()
    truth = (1 / counts[alone[alone == 1].index]).sum()
    assert abs(choice.risk.tau2 - truth) < 0.1 * truth
    assert choice.path["tau2"][0] > 1.2 * truth
    assert choice.path["tau2"].iloc[-1] == pytest.approx(choice.risk.tau2, rel=1e-3)
    assert "Model choice: 1 interactions were added" in choice.summary()
    first, last = choice.path["z2"]
    assert f"went from {number(first)} to {number(last)} standard errors" in choice.summary()
    pd.testing.assert_frame_equal(choice.to_frame(), choice.path)


def test_arguments_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = dependent(600, 4).assign(w=15.0)
    none = choose_model(sample, list("abcd"), weights="w", max_interactions=0)
    assert none.path["added"].tolist() == [""]
    first = choose_model(sample, list("abcd"), weights="w", criterion="tau1", max_interactions=2)
    z = first.path["z1"].abs().to_numpy()
    assert (np.diff(z) < 0).all()
    assert "error of tau1" in first.summary()
    heavier = choose_model(sample.assign(w=60.0), list("abcd"), weights="w", max_interactions=0)
    assert heavier.path["tau2"][0] < none.path["tau2"][0]
    monkeypatch.setattr(fitting, "MOST_CELLS", 130)
    some = choose_model(sample, list("abcd"), weights="w", max_interactions=1)
    assert set(some.skipped) == {"a:b"}
    assert "Too large to try: a:b" in some.summary()
    monkeypatch.setattr(fitting, "MOST_CELLS", 20)
    assert len(choose_model(sample, list("abcd"), weights="w").skipped) == 6


def test_faults_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = dependent(100, 4).assign(w=15.0)
    with pytest.raises(InputError) as error:
        choose_model(sample, ["a", "e"], weights="v", criterion="tau3", max_interactions=-1)
    assert len(error.value.faults) == 4
    with pytest.raises(InputError, match="at least two"):
        choose_model(sample, ["a"], weights="w")
    with pytest.raises(InputError, match="are needed"):
        choose_model(sample, ["a", "b"], weights=None)
    with pytest.raises(InputError, match="nothing to estimate"):
        choose_model(sample.assign(w=1.0), ["a", "b"], weights="w")
    with pytest.raises(InputError, match="no record with all keys"):
        choose_model(sample.assign(b=np.nan), ["a", "b"], weights="w")
    monkeypatch.setattr(choice_module, "MOST_CELLS", 10)
    with pytest.raises(InputError, match="144 cells"):
        choose_model(sample, ["a", "b"], weights="w")


def test_the_error_is_small_for_the_true_model() -> None:
    sample = dependent(800, 6)
    table = count_cells(Microdata(sample, keys=list("abcd"), weight=np.full(800, 10.0)))
    terms = [frozenset(t) for t in ([0], [1], [2], [3], [0, 1])]
    right = estimated_error(table, fit_margins(table.codes, table.counts, table.sizes, terms), 0.1)
    short = fit_margins(table.codes, table.counts, table.sizes, terms[:4])
    assert abs(right.z2) < 2.5 < estimated_error(table, short, 0.1).z2


@pytest.mark.slow
def test_measures_are_near_the_truth_under_the_right_model() -> None:
    right, short = "~ C(a)*C(b) + C(c) + C(d)", "~ C(a) + C(b) + C(c) + C(d)"
    truths, found = [], []
    for seed in range(60):
        population = dependent(6000, 100 + seed)
        sample = population.sample(frac=0.2, random_state=seed).assign(w=5.0)
        counts = population.groupby(list("abcd")).size()
        alone = sample.groupby(list("abcd")).size()
        held = counts[alone[alone == 1].index]
        truths.append([(held == 1).sum(), (1 / held).sum()])
        risks = [
            loglinear_risk(sample, list("abcd"), weights="w", formula=f) for f in (right, short)
        ]
        found.append([[risk.tau1, risk.tau2] for risk in risks])
    truth, estimate = np.mean(truths, axis=0), np.mean(found, axis=0)
    np.testing.assert_allclose(estimate[0], truth, rtol=0.05)
    assert (estimate[1] > 1.5 * truth).all()  # without the interaction: far too high


# --- distributions beyond Poisson, and households ------------------------------------------------


def drawn_factor(distribution: str, dispersion: float, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if distribution == "negative-binomial":
        return rng.gamma(1 / dispersion, dispersion, n)
    return rng.wald(1.0, 1 / dispersion, n)


@pytest.mark.parametrize("distribution", ["negative-binomial", "poisson-inverse-gaussian"])
def test_risks_of_cells_are_those_of_simulated_ones(distribution: str) -> None:
    n, mean, pi, dispersion = 400_000, 12.0, 0.2, 1.5
    factor = drawn_factor(distribution, dispersion, n, 1)
    rng = np.random.default_rng(2)
    sample = rng.poisson(pi * mean * factor)
    rest = rng.poisson((1 - pi) * mean * factor)
    one = np.array([mean]), np.array([pi])
    for f in (1, 2, 4):
        simulated = 1 / (f + rest[sample == f])
        risk = match_risks(distribution, dispersion, np.array([float(f)]), *one)[0]
        assert risk == pytest.approx(
            simulated.mean(), abs=4 * simulated.std() / len(simulated) ** 0.5
        )
    alone = (rest[sample == 1] == 0).mean()
    assert unique_probabilities(distribution, dispersion, *one)[0] == pytest.approx(
        alone, abs=0.004
    )


@pytest.mark.parametrize("distribution", ["negative-binomial", "poisson-inverse-gaussian"])
def test_the_dispersion_is_estimated_and_no_dispersion_is_poisson(distribution: str) -> None:
    rng = np.random.default_rng(3)
    mean = rng.lognormal(-1.5, 1, 8000)
    counts = rng.poisson(mean * drawn_factor(distribution, 1.5, 8000, 4)).astype(float)
    seen = counts > 0
    assert estimated_dispersion(distribution, counts[seen], mean[seen]) == pytest.approx(
        1.5, rel=0.2
    )
    one, f = np.full(3, 9.0), np.array([1.0, 2.0, 30.0])
    nearly = match_risks(distribution, 1e-6, f, one, np.full(3, 0.1))
    np.testing.assert_allclose(nearly, match_risks("poisson", 0.0, f, one, np.full(3, 0.1)), 1e-4)


@pytest.mark.parametrize("f", [1.0, 3.0, 60.0, 150.0, 400.0])
def test_many_records_in_a_cell_of_a_tiny_mean_have_the_transform_of_the_closed_form(f) -> None:
    """Bessel functions of half orders are finite sums, beyond the largest float too."""
    dispersion, s = 20.0, 0.5
    root = np.sqrt(1 + 2 * dispersion * s)
    order, z = f - 0.5, root / dispersion
    k = np.arange(int(f))
    terms = gammaln(f + k) - gammaln(k + 1) - gammaln(f - k) - k * np.log(2 * z)
    bessel = 0.5 * np.log(np.pi / (2 * z)) - z + logsumexp(terms)
    wanted = 0.5 * np.log(2 / (np.pi * dispersion)) + 1 / dispersion + bessel
    got = log_transform("poisson-inverse-gaussian", dispersion, np.array([f]), np.array([s]))
    assert got[0] == pytest.approx(wanted - order * np.log(root), rel=1e-4, abs=1e-9)


def test_overdispersed_files_have_more_risk_than_poisson_says() -> None:
    """A population whose cells vary around main effects: how many matches are right in truth."""
    rng = np.random.default_rng(5)
    cells = 3000
    level = np.stack(np.unravel_index(np.arange(cells), (15, 10, 20)), axis=1)
    size = rng.poisson(8 * rng.gamma(0.25, 4.0, cells))
    people = np.repeat(np.arange(cells), size)
    taken = rng.random(len(people)) < 0.1
    f = np.bincount(people[taken], minlength=cells)
    truth = (1 / size[f == 1]).sum()
    frame = pd.DataFrame(level[people[taken]], columns=["a", "b", "c"]).assign(w=10.0)
    plain = loglinear_risk(frame, ["a", "b", "c"], weights="w").tau2
    mixed = loglinear_risk(frame, ["a", "b", "c"], weights="w", distribution="negative-binomial")
    assert abs(mixed.tau2 - truth) < 0.3 * truth
    assert abs(plain - truth) > abs(mixed.tau2 - truth)
    assert mixed.dispersion > 1
    fixed = loglinear_risk(
        frame, ["a", "b", "c"], weights="w", distribution="negative-binomial", dispersion=0.5
    )
    assert fixed.dispersion == 0.5
    assert "negative binomial" in mixed.summary()


def test_household_risk() -> None:
    frame = people().assign(h=np.arange(300) // 3)
    frame["h"] = frame["h"].astype(float).where(np.arange(300) > 0)
    keys = list(frame.columns[:3])
    weights = np.full(300, 20.0)
    alone = loglinear_risk(frame, keys, weights=weights)
    assert alone.household_risk is None
    risk = loglinear_risk(frame, keys, weights=weights, household="h")
    np.testing.assert_array_equal(risk.risk, alone.risk)
    one = np.nan_to_num(risk.risk)
    assert risk.household_risk[0] == pytest.approx(one[0])  # no household: one of its own
    assert risk.household_risk[4] == pytest.approx(1 - np.prod(1 - one[3:6]))
    unique = ~np.isnan(risk.risk_match)
    np.testing.assert_array_equal(risk.risk[unique], risk.risk_match[unique])
    assert (risk.risk[~unique & ~np.isnan(risk.risk)] <= 0.5).all()
    assert "live in a household" in risk.summary()
    page = assess(frame.assign(w=weights), keys=keys, weights="w", household="h")
    value = page.results["loglinear"].expected_household_reidentifications
    assert value == pytest.approx(risk.household_risk.sum())
    assert "loglinear_households" in set(page.to_frame()["name"])


def test_faults_of_distributions() -> None:
    frame, keys = people(), list(people().columns[:2])
    for more, text in (
        ({"distribution": "gamma"}, "distribution"),
        ({"dispersion": 1.0}, "no meaning for Poisson"),
        ({"distribution": "negative-binomial", "dispersion": -1}, "is -1"),
        ({"household": "nobody"}, "household"),
    ):
        with pytest.raises(InputError, match=text):
            loglinear_risk(frame, keys, weights=np.full(300, 2.0), **more)


def test_measures_of_the_program_by_hand() -> None:
    """Cells of 1, 1, 2 and 9 records; v = (1 - p) mu is 0 and 1 in the first two."""
    table = SimpleNamespace(counts=np.array([1.0, 1, 2, 9]), inverse=np.array([1.0, 0.5, 0.5, 0.5]))
    mean = np.array([3.0, 2.0, 1.0, 1.0])
    match = 1 - np.exp(-1)
    for bound, n in ((1, 2), (2, 3), (8, 3), (9, 4)):
        gr1, gr2, used = program_measures(table, mean, bound)
        assert used == n
        assert gr1 == pytest.approx((1 + np.exp(-1)) / n)
        assert gr2 == pytest.approx((1 + match) / n)
    double = SimpleNamespace(counts=table.counts, inverse=np.array([0.0, 0.0, 0, 0]))
    gr2 = program_measures(double, mean, 2)[1]
    assert gr2 == pytest.approx(((1 - np.exp(-3)) / 3 + (1 - np.exp(-2)) / 2) / 3)
    nothing = SimpleNamespace(counts=np.array([5.0]), inverse=np.array([0.5]))
    gr1, gr2, used = program_measures(nothing, np.ones(1), 2)
    assert np.isnan(gr1)
    assert np.isnan(gr2)
    assert used == 0
