"""Every method of `Continuous`, and each option of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from synthpop import (
    Categorical,
    Continuous,
    Pipeline,
    PoolingOptions,
    Regressed,
    Structure,
    Survey,
    weighted,
)
from synthpop.conditional.fallback import ModelDesign
from synthpop.stages.continuous.distributions import (
    Distributions,
    _errors_within,
    distributions_of_cells,
    draw_values,
)
from synthpop.stages.continuous.values import ValueRule, fit_values
from tests.continuous import continuous
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import (
    AGE_CLASS,
    COUNTS,
    EVERY,
    QUICK,
    VALUES,
    frame_with_income,
    income,
    simulate,
    variable_of,
)

# what every method keeps


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_weights_are_honoured_by_every_method(method) -> None:
    frame = frame_with_income()
    heavy = frame["hid"] % 2 == 0
    frame["x"] = np.where(heavy, 10, 20) + np.random.default_rng(0).integers(-3, 4, len(frame))
    frame["w"] = np.where(heavy, 9.0, 1.0)
    options = {"trim": (0.0, 0.0)} if method in VALUES else {}
    x = income(frame, "x", method=method, predictors=["sex"], **options).frame()["x"]
    assert abs(x.mean() - 11) < 0.6


@pytest.mark.parametrize("method", ["binned", *VALUES], ids=str)
def test_missing_and_zero_shares_and_means_by_group(method) -> None:
    sample, people = frame_with_income(), income(method=method).frame()
    child = people["age"] < 16
    assert people.loc[child, "income"].isna().all()
    assert people.loc[~child, "income"].notna().all()
    adults, known = people[~child], sample[sample["age"] >= 16]
    expected = np.average(known["income"] == 0, weights=known["w"])
    assert abs((adults["income"] == 0).mean() - expected) < 0.02
    for status in ("works", "retired"):
        there = known[known["status"] == status]
        mean = np.average(there["income"], weights=there["w"])
        assert abs(adults.loc[adults["status"] == status, "income"].mean() / mean - 1) < 0.12
    assert (adults.loc[adults["status"] == "idle", "income"] == 0).all()
    assert adults["income"].min() >= sample["income"].min()


@pytest.mark.parametrize("method", ["regression", "pmm"])
def test_predictors_choose_the_association(method: str) -> None:
    given, blind = income(method=method), income(method=method, predictors=["age_class"])

    def ratio(population) -> float:
        works = population.frame().query("status == 'works'")
        return float(works[works["income"] > 0].groupby("sex")["income"].mean().pipe(
            lambda m: m["f"] / m["m"]))  # fmt: skip

    assert abs(ratio(given) - 0.7) < 0.1
    assert abs(ratio(blind) - 1.0) < 0.1


@pytest.mark.parametrize("method", QUICK, ids=str)
def test_seeds_and_blocks(method) -> None:
    name = variable_of(method)
    a, b, c = (income(method=method, name=name, seed=s).frame()[name] for s in (1, 1, 2))
    assert a.equals(b)
    assert not a.equals(c)
    assert not a.dropna().reset_index(drop=True).equals(c.dropna().reset_index(drop=True))


@pytest.mark.parametrize("workers", [2, pytest.param("processes:2", marks=pytest.mark.slow)])
def test_workers_and_processes_draw_the_same(workers) -> None:
    frame = frame_with_income(300)
    stages = [
        AGE_CLASS,
        Categorical("status", predictors=["age_class", "sex"]),
        Continuous("income", method=Regressed(log=True), by_household="sum"),
        Continuous("wage", method="pmm", predictors=["status"]),
        Continuous("other", method=LinearRegression(), predictors=["status", "sex"]),
        Continuous("children", method="negative-binomial", predictors=["status", "sex"]),
    ]
    fitted = Pipeline([Structure(["age", "sex"]), *stages]).fit(Survey(frame, **ROLES), seed=1)
    one, two = (fitted.simulate(rows_per_block=300, workers=number) for number in (1, workers))
    assert_same_frame(one.frame(), two.frame())
    assert one.fallbacks == two.fallbacks


# regression


def positive_frame(noise: float = 1.0) -> pd.DataFrame:
    frame = small_frame(600)
    rng = np.random.default_rng(2)
    frame["x"] = np.where(frame["sex"] == "f", 100.0, 200.0) + noise * rng.gamma(1, 10, len(frame))
    return frame


def x_of(frame: pd.DataFrame, **options) -> pd.DataFrame:
    options = {"method": "regression", "predictors": ["sex"], "trim": (0.0, 0.0), **options}
    if options["method"] != "pmm":
        options = {"residuals": "empirical", **options}
    return income(frame, "x", **options).frame()


def test_residuals_of_the_sample_are_drawn_once_a_person() -> None:
    frame = positive_frame()
    drawn = x_of(frame)
    assert drawn["x"].nunique() > 1000
    for sex in ("f", "m"):
        a = drawn.loc[drawn["sex"] == sex, "x"]
        s = frame[frame["sex"] == sex]
        assert abs(a.mean() - np.average(s["x"], weights=s["w"])) < 1
        assert abs(a.std() / s["x"].std() - 1) < 0.1
        assert (a > 115).mean() == pytest.approx(np.average(s["x"] > 115, weights=s["w"]), abs=0.05)


def test_a_value_at_a_bound_is_inside_however_sums_are_rounded() -> None:
    rule = ValueRule("linear", "empirical", lower=-0.3, upper=0.3)
    centre = np.array([0.1, -0.1])
    least, most = _errors_within(rule, centre)
    assert (most > 0.3 - centre).all()
    assert (least < -0.3 - centre).all()
    np.testing.assert_allclose([least, most], [-0.3 - centre, 0.3 - centre], rtol=1e-8)


@pytest.mark.parametrize("upper", [np.inf, 205.0])
def test_draws_agree_with_the_formulas_person_by_person(upper: float) -> None:
    """Equations 6.10 to 6.12 read aloud, residuals outside of the bounds thrown away."""
    rng = np.random.default_rng(4)
    n = 80
    digits = np.column_stack([rng.integers(1, 4, n), rng.integers(1, 3, n)])
    y = 100 + 30.0 * digits[:, 0] - 20 * digits[:, 1] + rng.gamma(1, 10, n)
    w, trim = rng.uniform(1, 9, n), (0.05, 0.1)
    zeros = np.zeros(n, dtype=np.int64)
    design = ModelDesign(digits, zeros, w, zeros, (4, 3), (False, False), 1, 1)
    rule = ValueRule("linear", "empirical", trim, lower=float(y.min()), upper=upper)
    values, notes = fit_values(rule, design, y, smallest_stratum=1, seed=0)
    cells = np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])
    distributions = distributions_of_cells(values, 0, cells)
    assert not notes
    assert (distributions.step == 0).all()

    low, high = weighted.quantile(y, w, [trim[0], 1 - trim[1]])
    inside = (low < y) & (y < high)
    columns = [np.ones(n), digits[:, 0] == 2, digits[:, 0] == 3, digits[:, 1] == 2]
    x = np.column_stack(columns).astype(float)[inside]
    wi, yi = w[inside], y[inside]
    beta = np.linalg.solve(x.T @ (wi[:, None] * x), x.T @ (wi * yi))
    residuals = yi - x @ beta
    for c, (a, b) in enumerate(cells):
        centre = beta @ [1, a == 2, a == 3, b == 2]
        fine = (centre + residuals >= y.min() - 1e-6) & (centre + residuals <= upper + 1e-6)
        expected = centre + np.average(residuals[fine], weights=wi[fine])
        drawn = draw_values(rule, distributions, np.full(40_000, c), np.random.default_rng(c))
        support = np.unique(np.round(drawn, 6))
        assert np.isin(support, np.round(centre + residuals[fine], 6)).all()
        assert len(support) > 0.9 * len(np.unique(np.round(residuals[fine], 6)))
        assert abs(drawn.mean() - expected) < 5 * drawn.std() / 200


def test_normal_residuals_follow_median_and_mad() -> None:
    frame = positive_frame()
    empirical, normal = x_of(frame), x_of(frame, residuals="normal")
    a, b = (d.loc[d["sex"] == "f", "x"] for d in (empirical, normal))
    assert a.skew() > 1.2
    assert b.skew() < 0.7  # cut at the smallest sample value
    assert b.std() < a.std()


def test_trimming_leaves_out_both_ends() -> None:
    frame = positive_frame()
    frame.loc[frame.index[:20], "x"] = 1e5
    frame.loc[frame.index[-20:], "x"] = -1e5
    assert x_of(frame, trim=(0.02, 0.02))["x"].between(0, 1000).all()
    assert x_of(frame, trim=(0.02, 0.0))["x"].max() > 5e4
    assert x_of(frame, trim=(0.0, 0.02))["x"].min() < -5e4


def test_logarithm_keeps_values_positive_and_multiplies() -> None:
    rng = np.random.default_rng(3)
    frame = small_frame(600)
    factor = np.where(frame["sex"] == "f", 1.0, 20.0)
    frame["x"] = factor * rng.lognormal(3, 0.5, len(frame))
    linear, logs = x_of(frame), x_of(frame, log=True)
    women, truth = (d.loc[d["sex"] == "f", "x"] for d in (logs, frame))
    assert abs(women.std() / truth.std() - 1) < 0.15
    assert linear.loc[linear["sex"] == "f", "x"].std() > 3 * truth.std()


def test_constant_is_added_and_taken_away() -> None:
    frame = positive_frame()
    frame["x"] -= 150
    chosen, given = x_of(frame, log=True), x_of(frame, log=True, constant=1000.0)
    assert chosen["x"].min() < -40
    assert abs(chosen["x"].mean() - frame["x"].mean()) < 5
    assert abs(given["x"].mean() - frame["x"].mean()) < 3
    assert not np.allclose(np.sort(chosen["x"]), np.sort(given["x"]))


def test_values_cut_off_that_have_no_logarithm_are_recorded() -> None:
    frame = positive_frame()
    frame.loc[frame.index[:3], "x"] = -5000.0
    population = income(frame, "x", method="regression", log=True, predictors=["sex"])
    assert any("3 sample values have no logarithm" in f.what for f in population.fallbacks)
    assert population.frame()["x"].min() > 0


def test_bounds_cut_the_distribution_without_a_heap() -> None:
    frame = positive_frame()
    for options in ({}, {"residuals": "normal"}, {"residuals": "local"}, {"log": True}):
        drawn = x_of(frame, upper=215.0, **options)["x"]
        assert drawn.max() <= 215
        assert drawn.min() >= frame["x"].min()
        assert drawn.max() > 213
        assert (drawn == 215).mean() < 0.01
        assert (drawn == frame["x"].min()).mean() < 0.01


def test_a_centre_beyond_a_bound_goes_to_the_bound() -> None:
    frame = positive_frame(noise=0.1)
    drawn = x_of(frame, upper=110.0)
    assert (drawn.loc[drawn["sex"] == "m", "x"] == 110).all()
    drawn = x_of(frame, upper=110.0, residuals="normal")
    assert (drawn.loc[drawn["sex"] == "m", "x"] == 110).all()


def test_negative_values_and_zeros_as_values() -> None:
    frame = positive_frame()
    frame["x"] = frame["x"] - 150
    frame.loc[frame.index % 4 == 0, "x"] = 0.0
    split, joint = x_of(frame), x_of(frame, zeros=False)
    share = np.average(frame["x"] == 0, weights=frame["w"])
    assert abs((split["x"] == 0).mean() - share) < 0.02
    assert (joint["x"] == 0).mean() < 0.8 * share
    assert (split["x"] < 0).mean() > 0.2


def test_aliased_and_unseen_combinations_give_no_missing_value() -> None:
    frame = small_frame(400)
    frame["copy"] = frame["sex"].map({"f": "one", "m": "two"})
    frame["x"] = np.where(frame["sex"] == "f", 10.0, 20.0)
    copy = Categorical("copy", predictors=["age_class"])  # torn from sex in the population
    stage = Continuous("x", method=Regressed(trim=(0.0, 0.0)), predictors=["sex", "copy"])
    population = simulate(AGE_CLASS, copy, stage, survey=Survey(frame, **ROLES))
    people = population.frame()
    assert people["x"].notna().all()
    both = people[(people["sex"] == "f") == (people["copy"] == "one")]
    assert np.allclose(both["x"], np.where(both["sex"] == "f", 10.0, 20.0))
    what = "not observed in the sample: the weighted marginal"
    assert any(what in f.what for f in population.fallbacks)


def test_what_a_stratum_cannot_tell_is_told_by_all_strata() -> None:
    frame = small_frame(600)
    rng = np.random.default_rng(0)
    copy = rng.choice(["one", "two"], len(frame))
    north = frame["region"] == "north"
    frame["copy"] = np.where(north, frame["sex"].map({"f": "one", "m": "two"}), copy)
    frame["x"] = 10.0 * (frame["sex"] == "f") + 100.0 * (frame["copy"] == "one") + 5
    torn = Categorical("copy", predictors=["age_class"])
    options = {"predictors": ["sex", "copy"], "trim": (0.0, 0.0), "pooling": "none"}
    stage = continuous("x", method="regression", **options)
    population = simulate(AGE_CLASS, torn, stage, survey=Survey(frame, **ROLES))
    people = population.frame()
    rule = 10.0 * (people["sex"] == "f") + 100.0 * (people["copy"] == "one") + 5
    assert np.allclose(people["x"], rule, atol=1e-6)
    note = next(f for f in population.fallbacks if "not observed in the sample" in f.what)
    differs = (people["sex"] == "f") != (people["copy"] == "one")
    assert note.stratum == "north"
    assert "the model pooled over strata" in note.what
    assert note.n_persons == (differs & (people["region"] == "north")).sum()


@pytest.mark.parametrize("method", QUICK, ids=str)
def test_a_group_without_any_value_stays_without(method) -> None:
    name = variable_of(method)
    frame = frame_with_income()
    frame.loc[frame["status"] == "retired", name] = np.nan
    people = income(frame, name, method=method).frame()
    retired = people["status"] == "retired"
    assert people.loc[retired, name].isna().all()
    assert people.loc[people["status"] == "works", name].notna().all()


def test_a_predictor_that_is_missing_for_everybody() -> None:
    frame = frame_with_income()
    frame["nothing"] = np.nan
    nothing = Categorical("nothing", predictors=["sex"])
    for method in ("regression", "pmm"):
        stage = Continuous("income", method=method, predictors=["nothing", "age"])
        people = simulate(AGE_CLASS, nothing, stage, survey=Survey(frame, **ROLES)).frame()
        assert people.loc[people["age"] >= 18, "income"].notna().mean() > 0.9


def test_strata_have_their_own_model_where_they_are_large_enough() -> None:
    frame = small_frame(600)
    rng = np.random.default_rng(0)
    slope = np.where(frame["region"] == "north", 50.0, -50.0)
    frame["x"] = 100 + slope * (frame["sex"] == "f") + rng.normal(0, 1, len(frame))

    def gap(population) -> float:
        north = population.frame().query("region == 'north'").groupby("sex")["x"].mean()
        return float(north["f"] - north["m"])

    options = {"method": "regression", "predictors": ["sex"], "residuals": "empirical"}
    own = income(frame, "x", **options)
    pooled = income(frame, "x", **options, pooling=PoolingOptions(smallest_stratum=10**6))
    assert abs(gap(own) - 50) < 1
    assert abs(gap(pooled)) < 25
    assert sum("values from the model pooled" in f.what for f in pooled.fallbacks) == 3
    north = pooled.frame().query("region == 'north'")["x"].mean()
    south = pooled.frame().query("region == 'south'")["x"].mean()
    assert north > south + 20  # the stratum is a predictor of the pooled model


def test_few_values_for_many_coefficients_are_pooled() -> None:
    frame = small_frame(60)
    frame["x"] = frame["age"] + 1.0
    options = {"predictors": ["age", "size", "sex"], "pooling": PoolingOptions("none", 1)}
    population = income(frame, "x", method="regression", **options)
    assert any("coefficients: values from the model pooled" in f.what for f in population.fallbacks)
    assert population.frame()["x"].notna().all()


def test_regression_is_evaluated_per_distinct_combination(monkeypatch) -> None:
    from synthpop.stages.continuous import model

    asked: list[int] = []
    real = model.distributions_of_cells

    def counted(values, stratum, digits):
        asked.append(len(digits))
        assert len(np.unique(digits, axis=0)) == len(digits)
        return real(values, stratum, digits)

    monkeypatch.setattr(model, "distributions_of_cells", counted)
    income(method="regression")
    assert asked
    assert max(asked) <= 8


# binned and regression


def test_classes_for_losses_and_a_log_linear_model_above_zero() -> None:
    frame = frame_with_income(1500)
    people = income(frame, method="binned+regression").frame()
    known = frame[frame["income"].notna()]
    lost, loss = people["income"][people["income"] < 0], known[known["income"] < 0]
    share = np.average(known["income"] < 0, weights=known["w"])
    adults = people["income"].notna()
    assert abs((people.loc[adults, "income"] < 0).mean() - share) < 0.01
    assert lost.min() >= loss["income"].min()
    assert lost.mean() == pytest.approx(np.average(loss["income"], weights=loss["w"]), rel=0.25)
    positive = people["income"][people["income"] > 0]
    assert positive.min() >= known.loc[known["income"] > 0, "income"].min()
    assert positive.nunique() > 2 * known["income"].nunique()


def test_without_negative_values() -> None:
    frame = frame_with_income()
    frame["income"] = frame["income"].clip(lower=0)
    x = income(frame, method="binned+regression", upper=80_000.0).frame()["income"].dropna()
    assert (x >= 0).all()
    assert x.max() <= 80_000
    assert abs((x == 0).mean() - (frame["income"].dropna() == 0).mean()) < 0.03


# counts


@pytest.mark.parametrize("method", COUNTS)
def test_counts_are_drawn_not_rounded_means(method: str) -> None:
    frame = frame_with_income(1500)
    people = income(frame, "children", method=method).frame()
    x = people["children"]
    assert (x == x.round()).all()
    assert (x >= 0).all()
    works, idle = (people.loc[people["status"] == s, "children"] for s in ("works", "idle"))
    assert abs(works.mean() - 2.0) < 0.1
    assert abs(works.var() - 2.0) < 0.25
    assert abs(idle.mean() - 0.5) < 0.1
    assert abs((works == 0).mean() - np.exp(-2)) < 0.03


def test_negative_binomial_counts_vary_more() -> None:
    frame = frame_with_income(1500)
    rng = np.random.default_rng(0)
    frame["x"] = rng.poisson(rng.gamma(0.8, 5.0, len(frame)))
    poisson = income(frame, "x", method="poisson", predictors=["sex"]).frame()["x"]
    mixed = income(frame, "x", method="negative-binomial", predictors=["sex"]).frame()["x"]
    assert poisson.var() < 6
    assert abs(mixed.var() / frame["x"].var() - 1) < 0.15
    assert abs(mixed.mean() / frame["x"].mean() - 1) < 0.06
    assert abs((mixed == 0).mean() - (frame["x"] == 0).mean()) < 0.03


@pytest.mark.parametrize("method", COUNTS)
def test_zeros_of_counts_as_a_class(method: str) -> None:
    frame = frame_with_income(1500)
    rng = np.random.default_rng(0)
    frame["x"] = np.where(rng.random(len(frame)) < 0.7, 0, 1 + rng.poisson(4, len(frame)))
    split = income(frame, "x", method=method, zeros=True, predictors=["sex"]).frame()["x"]
    joint = income(frame, "x", method="poisson", predictors=["sex"]).frame()["x"]
    assert abs((split == 0).mean() - 0.7) < 0.03
    assert (joint == 0).mean() < 0.4
    assert abs(split[split > 0].mean() - 5) < 0.25
    assert abs(split[split > 0].var() - 4) < 0.6


@pytest.mark.parametrize("method", COUNTS)
def test_counts_respect_upper_as_a_truncated_distribution(method: str) -> None:
    frame = frame_with_income(1500)
    free = income(frame, "children", method=method).frame()["children"]
    cut = income(frame, "children", method=method, upper=3).frame()["children"]
    assert cut.max() == 3
    expected = (free == 3).mean() / (free <= 3).mean()
    assert abs((cut == 3).mean() - expected) < 0.02


@pytest.mark.parametrize(("size", "shift"), [(np.inf, 0), (2.0, 0), (np.inf, 1)])
def test_counts_beyond_upper_are_drawn_again(size: float, shift: int) -> None:
    cell = np.array([0])
    one, zero = np.ones(1), np.zeros(1)
    bounds, rest = (-np.inf * one, np.inf * one), (zero, zero, zero)
    distributions = Distributions(
        4 * one, cell, cell, cell + 1, zero, one, *bounds, *rest, size * one, zero, one
    )  # fmt: skip
    rng, rows = np.random.default_rng(0), np.zeros(20_000, dtype=np.int64)
    rule = ValueRule("counts", "poisson", shift=shift)
    free = draw_values(rule, distributions, rows, rng)
    cut = draw_values(replace(rule, upper=5.0), distributions, rows, rng)
    assert cut.min() == shift
    for k in range(6):
        assert abs((cut == k).mean() - (free == k).sum() / (free <= 5).sum()) < 0.015


# matching and learners


def test_matching_gives_values_of_the_sample() -> None:
    frame = frame_with_income()
    people = income(frame, method="pmm").frame()
    assert np.isin(people["income"].dropna(), frame["income"].dropna()).all()
    works = people.loc[(people["status"] == "works") & (people["income"] > 0), "income"]
    assert works.nunique() > 50


def test_matching_follows_the_order_of_fitted_values() -> None:
    frame = small_frame(600)
    frame["x"] = frame["age"] ** 2 + 1.0
    exact = income(frame, "x", method="pmm", predictors=["age"], trim=(0.0, 0.0)).frame()
    cuts = np.quantile(frame["age"], np.arange(1, 10) / 10)
    same = np.digitize(exact["age"], cuts, right=True)
    drawn = np.digitize(np.sqrt(exact["x"] - 1), cuts, right=True)
    assert (np.abs(same - drawn) <= 1).mean() > 0.98


@pytest.mark.parametrize("option", [{"log": True}, {"trim": (0.2, 0.2)}])
def test_options_of_matching_change_the_match(option) -> None:
    frame = positive_frame(noise=20.0).query("hid < 1060")
    given = ["age", "sex", "size", "age_class"]
    plain = x_of(frame, method="pmm", predictors=given, trim=(0.01, 0.01))
    other = x_of(frame, **{"method": "pmm", "predictors": given, "trim": (0.01, 0.01), **option})
    assert not plain["x"].equals(other["x"])
    assert abs(plain["x"].mean() / other["x"].mean() - 1) < 0.2


def test_a_learner_finds_interactions_that_a_sum_cannot() -> None:
    frame = small_frame(800)
    old = frame["age"] > 40
    frame["x"] = np.where(old == (frame["sex"] == "f"), 100.0, 10.0)
    tree = DecisionTreeRegressor(min_samples_leaf=5)
    options = {"predictors": ["age_class", "sex"], "trim": (0.0, 0.0), "residuals": "empirical"}

    def spread(method) -> float:
        people = income(frame, "x", method=method, **options).frame()
        part = people[(people["age"] > 64) & (people["sex"] == "f")]
        return float(part["x"].mean())

    assert spread(tree) > 97
    assert spread("forest") > 90
    assert spread("regression") < 80


@pytest.mark.parametrize(
    "options", [{"log": True}, {"residuals": "normal"}, {"trim": (0.1, 0.1)}, {"upper": 210.0}]
)
def test_options_of_learners(options) -> None:
    frame = positive_frame()
    plain = x_of(frame, method=LinearRegression())
    other = x_of(frame, **{"method": LinearRegression(), **options})
    assert not plain["x"].equals(other["x"])
    assert abs(plain["x"].mean() / other["x"].mean() - 1) < 0.1
    if "upper" in options:
        assert other["x"].max() <= 210


# difficult variables


def difficult(kind: str) -> pd.DataFrame:
    frame = small_frame(150)
    rng = np.random.default_rng(1)
    x = rng.poisson(3, len(frame)).astype(float) + 1
    if kind == "all missing":
        x[:] = np.nan
    elif kind == "all zero":
        x[:] = 0
    elif kind == "constant":
        x[:] = 7
    elif kind == "one value":
        x[1:] = np.nan
    elif kind == "one stratum has none":
        x[frame["region"] == "south"] = 0
    elif kind == "extreme weights":
        frame["w"] = 10.0 ** rng.uniform(-3, 3, 150)[frame["hid"] - 1000]
        frame["w"] *= 2000 / frame["w"].sum()
    frame["x"] = x
    return frame


KINDS = ["all missing", "all zero", "constant", "one value", "one stratum has none",
         "extreme weights"]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "kind"),
    [  # each method with some kinds, each kind with some methods; the rest is slow
        pytest.param(method, kind, marks=[pytest.mark.slow] * ((m + k) % 3 > 0))
        for m, method in enumerate(QUICK)
        for k, kind in enumerate(KINDS)
    ],
    ids=str,
)
def test_difficult_variables_pass(method, kind: str) -> None:
    frame = difficult(kind)
    population = income(frame, "x", method=method, predictors=["sex", "age", "size"])
    x = population.frame()["x"].to_numpy()
    there = frame["x"].dropna()
    if kind == "all missing":
        assert np.isnan(x).all()
    else:
        assert not np.isinf(x).any()
        assert np.nanmin(x) >= min(there.min(), 0 if method in COUNTS else there.min())
    if kind in ("all zero", "constant") and method not in COUNTS:
        assert np.allclose(x, there.iloc[0])
    if kind == "one stratum has none" and method not in COUNTS:
        assert (population.frame().query("region == 'south'")["x"] == 0).all()
