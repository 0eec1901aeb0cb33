"""Regressions from both files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from riskeval.utility.predictions import prediction_quality
from riskeval.utility.regression_models import ALLOWED
from riskeval.utility.regressions import regression_comparison
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.statistics.formula import read_formula
from tests.reference_data import golden, survey_data

FORMULA = "log(pay) ~ sex + age + sex:age"


def earners(n: int = 300, seed: int = 1, effect: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.integers(20, 60, n)
    pay = np.exp(2 + effect * (sex == "m") + 0.01 * age + rng.normal(0, 0.3, n))
    frame = pd.DataFrame({"pay": pay, "sex": sex, "age": age, "w": rng.uniform(1, 4, n)})
    return frame.assign(high=pay > np.median(pay), house=np.arange(n) // 3, s=np.arange(n) % 2)


def test_coefficients_against_the_reference() -> None:
    facts = golden("sdc", "k1_ses_indicators.json")["lm"]
    ses = survey_data("laeken_ses")
    formula = "log(earningsHour) ~ location + size + sex + age + education"
    found = regression_comparison(ses, ses, formula)
    table = found.table.set_index(found.table["term"].str.replace("=", ""))
    common = set(table.index) & set(facts["coef"])
    assert len(common) == len(facts["coef"])
    for term in common:
        assert table.loc[term, "original"] == pytest.approx(facts["coef"][term], rel=1e-7)
    assert found.r_squared[0] == pytest.approx(facts["r2"], rel=1e-9)
    assert found.overlap == pytest.approx(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_sandwich_agrees_with_statsmodels(weighted: bool) -> None:
    import statsmodels.api as sm

    x, y = earners(), earners(seed=2)
    w = "w" if weighted else None
    found = regression_comparison(
        x, y, FORMULA, weights=w, released_weights=w, cluster="house"
    ).table
    m, age = (y["sex"] == "m").astype(float), y["age"].astype(float)
    z = np.column_stack([np.ones(300), m, age, m * age])
    fit = sm.WLS(np.log(y["pay"]), z, weights=y["w"] if weighted else np.ones(300)).fit(
        cov_type="cluster", cov_kwds={"groups": y["house"].to_numpy()}
    )
    assert found["released"].to_numpy() == pytest.approx(fit.params.to_numpy(), rel=1e-7)
    assert found["se_released"].to_numpy() == pytest.approx(fit.bse.to_numpy(), rel=1e-6)


def test_logistic_regression_agrees_with_statsmodels() -> None:
    import statsmodels.api as sm

    x = earners()
    found = regression_comparison(x, x, "high ~ sex + age", family="logistic")
    m, age = (x["sex"] == "m").astype(float), x["age"].astype(float)
    z = np.column_stack([np.ones(300), m, age])
    fit = sm.GLM(x["high"].astype(float), z, family=sm.families.Binomial()).fit()
    assert found.table["original"].to_numpy() == pytest.approx(fit.params.to_numpy(), rel=1e-5)
    assert found.table["se_original"].to_numpy() == pytest.approx(fit.bse.to_numpy(), rel=0.1)
    assert np.isnan(found.r_squared).all()


def test_every_option_counts() -> None:
    x, y = earners(), earners(seed=2)
    base = regression_comparison(x, y, FORMULA).table
    for options in (
        {"weights": "w"},
        {"released_weights": "w"},
        {"cluster": "house"},
        {"strata": "s"},
        {"level": 0.5},
    ):
        other = regression_comparison(x, y, FORMULA, **options).table  # type: ignore[arg-type]
        bounds = ["lower_original", "lower_released"]
        assert not np.allclose(other[bounds], base[bounds], atol=1e-9), options
    far = y.assign(pay=y["pay"] * 50)
    low = regression_comparison(x, far, "log(pay) ~ age", outside="negative")
    assert low.table["overlap"][0] < 0
    assert regression_comparison(x, far, "log(pay) ~ age").table["overlap"][0] == 0
    assert "standardised" in base
    assert base["relative"][0] == pytest.approx(
        100 * abs(base["released"][0] / base["original"][0] - 1)
    )


def test_conclusions_about_the_sign() -> None:
    x, y = earners(effect=0.5), earners(seed=2, effect=-0.5)
    table = regression_comparison(x, y, "log(pay) ~ sex + age").table.set_index("term")
    assert not table.loc["sex=m", "same_conclusion"]
    assert table.loc["(Intercept)", "same_conclusion"]
    assert "conclusion" in regression_comparison(x, y, "log(pay) ~ sex").summary()


def test_levels_that_one_file_lacks_and_columns_that_depend() -> None:
    x, y = earners(), earners(seed=2)
    x["area"], y["area"] = np.arange(300) % 3, np.arange(300) % 2
    x["area"], y["area"] = "p" + x["area"].astype(str), "p" + y["area"].astype(str)
    x["twice"], y["twice"] = 2 * x["age"], 2 * y["age"]
    found = regression_comparison(x, y, "pay ~ area + age + twice")
    assert set(found.dropped) == {"area=p2", "twice"}
    assert "Not estimable" in found.summary()
    plain = regression_comparison(x, y, "pay ~ area + age").table.set_index("term")
    for term in plain.index:
        row = found.table.set_index("term").loc[term]
        assert row["original"] == pytest.approx(plain.loc[term, "original"], nan_ok=True)
    x.loc[:10, "age"] = np.nan
    assert regression_comparison(x, y, "pay ~ age").used == (289, 300)
    alone = regression_comparison(x, y, "pay ~ 1").table
    assert alone["original"].tolist() == pytest.approx([x["pay"].mean()])


def test_prediction_quality() -> None:
    x, y = earners(), earners()
    y["pay"] = y["pay"] * 1.25
    quality = prediction_quality(x, y, "pay ~ sex + age")
    assert quality.mean == pytest.approx(0.25)
    assert quality.median == pytest.approx(0.25)
    other = earners(200, seed=5)
    with pytest.raises(InputError, match="at="):
        prediction_quality(x, other, "pay ~ age")
    moved = prediction_quality(x, other, "pay ~ age", at="original")
    fits = [np.polyfit(f["age"], f["pay"], 1) for f in (x, other)]
    a, b = (np.polyval(fit, x["age"]) for fit in fits)
    assert moved.per_record == pytest.approx(np.abs(a - b) / a)
    assert moved.mean == pytest.approx(moved.per_record.mean())
    weighted = prediction_quality(x, other, "pay ~ age", at="original", weights="w")
    assert weighted.mean != pytest.approx(moved.mean)
    third = prediction_quality(x, other, "pay ~ age", at="original", released_weights="w")
    assert third.mean != pytest.approx(moved.mean)
    x["area"] = np.where(np.arange(300) % 3, "a", "b")
    other["area"] = "a"
    gone = prediction_quality(x, other, "pay ~ area", at="original")
    assert np.isnan(gone.per_record).sum() == 100
    binary = prediction_quality(x, other, "high ~ age", family="logistic", at="original")
    assert 0 < binary.mean < 1
    assert "5.10" in binary.summary()


def test_formulas_are_read_not_evaluated() -> None:
    for text in ("pay", "pay ~ ", "pay ~ age + ", "f(pay) ~ age", "pay ~ a/b", "~ age", 3):
        faults = Faults("example")
        read_formula(faults, text, ALLOWED)
        assert faults, text
    x = earners(10)
    with pytest.raises(InputError) as error:
        regression_comparison(
            x, x, "zz ~ age", family="f", level=3, outside="o", strata="q", weights="v"
        )
    text = str(error.value)
    for word in ("'zz'", "family", "level", "outside", "'q'", "'v'"):
        assert word in text
    with pytest.raises(InputError, match="logarithm"):
        regression_comparison(x.assign(pay=0.0), x, "log(pay) ~ age")
    with pytest.raises(InputError, match="two"):
        regression_comparison(x, x, "age ~ pay", family="logistic")
    with pytest.raises(InputError, match="numeric"):
        regression_comparison(x, x, "sex ~ pay")


# families, beside statsmodels


def firms(n: int = 250, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size, area = rng.uniform(0, 2, n), rng.choice(["e", "n", "s"], n)
    mean = np.exp(0.3 + 0.8 * size + 0.4 * (area == "n"))
    score = 1.2 * size - 0.8 * (area == "s") + rng.logistic(0, 1, n)
    grade = np.array(["low", "mid", "high"])[np.digitize(score, [0.5, 1.8])]
    return pd.DataFrame({
        "size": size, "area": area, "w": rng.uniform(0.5, 3, n), "g": np.arange(n) // 5,
        "staff": rng.poisson(mean), "sales": rng.gamma(2, mean / 2) + 1e-3, "big": mean > 3,
        "grade": pd.Categorical(grade, ["low", "mid", "high"], ordered=True),
    })  # fmt: skip


RESPONSES = {"linear": "sales", "logistic": "big", "poisson": "staff", "gamma": "sales"}


@pytest.mark.parametrize("family", RESPONSES)
@pytest.mark.parametrize("clustered", [False, True])
def test_families_have_the_coefficients_and_errors_of_statsmodels(
    family: str, clustered: bool
) -> None:
    x = firms()
    if family == "logistic":
        x["big"] = (np.random.default_rng(2).random(len(x)) < 0.3) | (x["size"] > 1.7)
    if clustered and family != "linear":  # statsmodels has no clusters with weights
        x["w"] = 1.0
    found = regression_comparison(
        x, x, f"{RESPONSES[family]} ~ size + area", family=family, weights="w",
        released_weights="w", cluster="g" if clustered else None,
    )  # fmt: skip
    z = np.column_stack([np.ones(len(x)), x["size"], x["area"] == "n", x["area"] == "s"])
    y, z = x[RESPONSES[family]].to_numpy(float), z.astype(float)
    kind = {"cov_type": "cluster", "cov_kwds": {"groups": x["g"]}} if clustered else {
        "cov_type": "HC1"}  # fmt: skip
    if family == "linear":
        fit = sm.WLS(y, z, weights=x["w"]).fit(**kind)
    else:
        law = {"logistic": sm.families.Binomial(), "poisson": sm.families.Poisson(),
               "gamma": sm.families.Gamma(sm.families.links.Log())}[family]  # fmt: skip
        weights = {} if clustered else {"var_weights": x["w"]}
        fit = sm.GLM(y, z, family=law, **weights).fit(tol=1e-12, maxiter=300, **kind)
    np.testing.assert_allclose(found.table["original"], fit.params, rtol=1e-6, atol=1e-9)
    # statsmodels: HC1 of a GLM lacks n / (n - k); gamma has the observed information, not the
    # expected one (as here and in svyglm of R)
    factor = 1.0 if family == "linear" or clustered else np.sqrt(len(x) / (len(x) - 4))
    tolerance = 0.08 if family == "gamma" else 1e-6
    np.testing.assert_allclose(found.table["se_original"], fit.bse * factor, rtol=tolerance)


def test_ordered_responses_have_slopes_without_thresholds() -> None:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    x = firms(400)
    found = regression_comparison(x, x, "grade ~ size + area", family="ordered")
    assert found.table["term"].tolist() == ["size", "area=n", "area=s"]
    z = np.column_stack([x["size"], x["area"] == "n", x["area"] == "s"]).astype(float)
    fit = OrderedModel(x["grade"].cat.codes, z, distr="logit").fit(method="bfgs", disp=False)
    np.testing.assert_allclose(found.table["original"], fit.params[:3], atol=1e-4)
    np.testing.assert_allclose(found.table["se_original"], fit.bse[:3], rtol=0.2)
    reverse = x.assign(grade=x["grade"].cat.reorder_categories(["high", "mid", "low"]))
    other = regression_comparison(reverse, reverse, "grade ~ size + area", family="ordered")
    np.testing.assert_allclose(other.table["original"], -found.table["original"], atol=1e-4)
    spoilt = regression_comparison(x, x.assign(size=0.0), "grade ~ size + area", family="ordered")
    assert "size" in spoilt.dropped


def test_units_of_columns_do_not_matter() -> None:
    x = firms()
    for family, response in [*RESPONSES.items(), ("ordered", "grade")]:
        if family == "logistic":
            continue
        one = regression_comparison(x, x, f"{response} ~ size", family=family).table
        far = x.assign(size=x["size"] * 1e6)
        two = regression_comparison(far, far, f"{response} ~ size", family=family).table
        np.testing.assert_allclose(
            two["original"].iloc[-1] * 1e6, one["original"].iloc[-1], rtol=1e-4
        )


@pytest.mark.parametrize(
    ("family", "response", "fault"),
    [
        ("gamma", "loss", "values of 0 or less in the original"),
        ("poisson", "loss", "counts below 0 in the release"),
        ("ordered", "one", "an ordered response needs two or more"),
        ("logistic", "grade", "a logistic response needs two"),
        ("poison", "staff", "Did you mean 'poisson'"),
    ],
)
def test_responses_must_fit_their_family(family: str, response: str, fault: str) -> None:
    x = firms(30).assign(loss=lambda d: d["size"] - 1, one="a")
    with pytest.raises(InputError, match=fault):
        regression_comparison(x, x, f"{response} ~ size", family=family)
    with pytest.raises(InputError, match="an ordered regression has none"):
        regression_comparison(x, x, "grade ~ size", family="ordered", weights="w")


def test_predictions_of_counts_are_counts() -> None:
    x = firms()
    y = x.assign(staff=2 * x["staff"])
    change = prediction_quality(x, y, "staff ~ size + area", family="poisson", at="original")
    np.testing.assert_allclose(change.per_record, 1.0, rtol=1e-5)
