"""Propensity scores of the release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import utility
from riskeval.utility.propensity_scores import propensity
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.logistic import fit_logistic

NAMES = ["income", "age", "sex"]


def people(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.normal(20 + shift, 5, n),
            "age": rng.integers(15, 80, n),
            "sex": rng.choice(["f", "m", "x"], n),
        }
    )


def test_logistic_fit_agrees_with_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    z = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
    y = (rng.random(200) < 1 / (1 + np.exp(-z @ [0.2, 1.0, -0.5]))).astype(float)
    w = rng.uniform(0.5, 2, 200)
    want = sm.GLM(y, z, family=sm.families.Binomial(), freq_weights=w).fit()
    fit = fit_logistic(z, y, w)
    assert fit.coefficients == pytest.approx(want.params, abs=1e-6)
    assert np.linalg.inv(fit.information) == pytest.approx(want.cov_params(), rel=1e-5)
    double = fit_logistic(np.column_stack([z, z[:, 1]]), y, w)
    assert double.probabilities == pytest.approx(fit.probabilities, abs=1e-6)
    assert double.rank == 3
    split = fit_logistic(z, (z[:, 1] > 0).astype(float), w)
    assert split.probabilities[z[:, 1] > 0.2].min() > 0.99


def test_the_same_file_twice_cannot_be_told_apart() -> None:
    x = people(200, 1)
    score = propensity(x, x, NAMES, seed=1)
    assert score.pmse == pytest.approx(0, abs=1e-20)
    assert score.specks == pytest.approx(0, abs=1e-9)
    assert score.share == 0.5
    assert score.coefficients == 5
    assert score.expected == pytest.approx(4 / (8 * 400))


def test_expectation_holds_over_independent_samples() -> None:
    ratios = []
    for r in range(60):
        x, y = people(300, 2 * r), people(200, 2 * r + 1)
        ratios.append(propensity(x, y, NAMES, null="samples", seed=1).pmse_ratio)
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 / np.sqrt(60 * 2))
    one = propensity(x, y, NAMES, null="samples", seed=1)
    other = propensity(x, y, NAMES, null="synthesis", seed=1)
    assert other.expected / one.expected == pytest.approx(1 - one.share)
    assert one.expected == pytest.approx(4 * 0.4 * 0.6 / 500)
    assert one.standardised_pmse == pytest.approx((one.pmse_ratio - 1) * np.sqrt(4 / 2))


def test_expectation_holds_for_releases_drawn_from_the_right_model() -> None:
    ratios = []
    for r in range(80):
        rng = np.random.default_rng(r)
        x = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
        drawn = rng.multivariate_normal(x.mean(), x.cov(), 600)
        y = pd.DataFrame(drawn, columns=["a", "b", "c"])
        ratios.append(propensity(x, y, ["a", "b", "c"], seed=1).pmse_ratio)
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 3 / 80))
    assert np.std(ratios) == pytest.approx(np.sqrt(2 / 3), rel=0.35)


def test_expectation_holds_with_weights_and_another_share() -> None:
    ratios = []
    for r in range(60):
        x, y = people(300, 2 * r), people(300, 2 * r + 1)
        w = np.random.default_rng(r).lognormal(0, 0.7, 300)
        options = {"null": "samples", "share": 0.3, "seed": 1}
        ratios.append(propensity(x, y, NAMES, released_weights=w, **options).pmse_ratio)
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 / np.sqrt(60 * 2))


def test_permutations_agree_with_the_formula() -> None:
    x, y = people(200, 1), people(200, 2)
    formula = propensity(x, y, NAMES, seed=1)
    permuted = propensity(x, y, NAMES, permutations=100, seed=1)
    assert permuted.permutations == 100
    assert permuted.pmse == formula.pmse
    assert permuted.expected == pytest.approx(formula.expected, rel=0.25)


def test_tree_and_other_learners() -> None:
    from sklearn.ensemble import RandomForestClassifier

    x, y, far = people(300, 1), people(300, 2), people(300, 3, shift=6.0)
    near = propensity(x, y, NAMES, model="tree", permutations=10, seed=1)
    bad = propensity(x, far, NAMES, model="tree", permutations=10, seed=1)
    assert near.pmse_ratio < 4 < bad.pmse_ratio
    assert bad.coefficients > 1
    forest = RandomForestClassifier(5, max_depth=2)
    found = propensity(x, far, NAMES, model=forest, permutations=0, seed=1)
    assert "RandomForest" in found.summary()
    assert np.isnan(found.pmse_ratio)
    assert found.specks > 0.3


def test_pairs_see_what_main_terms_miss() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=400)
    x, y = pd.DataFrame({"a": a, "b": a}), pd.DataFrame({"a": a, "b": -a})
    assert propensity(x, y, ["a", "b"], seed=1).pmse < 0.01
    assert propensity(x, y, ["a", "b"], terms="pairs", seed=1).pmse > 0.05


def test_weights_undo_an_unequal_sample() -> None:
    rng = np.random.default_rng(5)
    population = people(4000, 1)
    chance = np.where(population["sex"] == "m", 0.3, 0.05)
    taken = rng.random(4000) < chance
    sample, weights = population[taken], 1 / chance[taken]
    raw = propensity(sample, population, ["sex"], share=0.5, null="samples", seed=1)
    fair = propensity(sample, population, ["sex"], weights=weights, share=0.5, seed=1)
    assert raw.pmse_ratio > 20
    assert fair.pmse < raw.pmse / 20


def test_missing_values_levels_and_drawn_rows() -> None:
    x, y = people(300, 1), people(300, 2)
    y.loc[:150, "income"] = np.nan
    y["sex"] = y["sex"].replace("x", None)
    score = propensity(x, y, NAMES, seed=1)
    assert score.pmse > 0.1
    x, y = people(300, 1), people(300, 1).assign(age=lambda d: (d["age"] // 2) * 2)
    assert propensity(x, y, ["age"], categorical=["age"], seed=1).pmse > 0.05
    assert propensity(x, y, ["age"], seed=1).pmse < 0.01
    part = propensity(x, y, NAMES, max_rows=100, seed=1)
    assert part.drawn
    assert part.n_original == part.n_released == 100
    assert len(part.scores) == 200
    assert "drawn at random" in part.summary()
    assert part.pmse == propensity(x, y, NAMES, max_rows=100, seed=1).pmse
    assert part.pmse != propensity(x, y, NAMES, max_rows=100, seed=2).pmse
    flat = pd.DataFrame({"a": [1.0, 1.0]})
    assert np.isnan(propensity(flat, flat, "a", seed=1).pmse_ratio)
    assert utility.propensity is propensity


def test_faults_are_reported_together() -> None:
    x = people(5, 1)
    with pytest.raises(InputError) as error:
        propensity(
            x, x, ["age", "z"], weights=[1], model="m", terms="t", categorical=["sex"],
            share=2, null="n", permutations=-1, max_rows=0, seed="s",  # type: ignore[arg-type]
        )  # fmt: skip
    text = str(error.value)
    for word in ("'z'", "weights", "model", "terms", "categorical", "share", "null"):
        assert word in text
    for word in ("permutations", "max_rows", "seed"):
        assert word in text
    with pytest.raises(InputError, match="predict_proba"):
        propensity(x, x, ["age"], model=3)
