"""Combining rules and estimates over replicates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import synthpop
from synthpop import Categorical, Pipeline, Structure, combine, estimate_over_replicates
from synthpop.microdata.messages.errors import InputError
from tests.small import small_survey

Q = [10.0, 12.0, 17.0, 13.0]  # mean 13, b = 26/3
U = [2.0, 3.0, 4.0, 3.0]  # mean 3


def test_fully_synthetic_by_hand() -> None:
    result = combine(Q, U, kind="fully")
    b = 26 / 3
    total = 1.25 * b - 3
    assert result.estimate == 13
    assert result.between == pytest.approx(b)
    assert result.within == 3
    assert result.variance == pytest.approx(total)
    freedom = 3 * (1 - 3 / (1.25 * b)) ** 2
    assert result.degrees_of_freedom == pytest.approx(freedom)
    assert freedom == pytest.approx(1.5685, abs=1e-4)
    assert not result.adjusted
    low, high = result.interval
    assert (low + high) / 2 == pytest.approx(13)
    assert (high - low) / 2 == pytest.approx(5.662006 * np.sqrt(total), rel=1e-5)


def test_negative_variances_are_replaced_as_published_and_told() -> None:
    result = combine([10.0, 10.1, 10.2], [4.0, 4.0, 4.0], kind="fully", synthetic_fraction=0.5)
    assert result.variance == 2.0
    assert result.degrees_of_freedom == 2
    assert result.adjusted
    assert "is negative here" in result.summary()


def test_partially_synthetic_by_hand() -> None:
    result = combine(Q, U, kind="partially")
    assert result.variance == pytest.approx(3 + 26 / 12)
    assert result.degrees_of_freedom == pytest.approx(3 * (1 + 3 / (26 / 12)) ** 2)
    same = combine([5.0, 5.0], [1.0, 1.0], kind="partially")
    assert same.degrees_of_freedom == np.inf
    assert same.interval[1] - 5 == pytest.approx(1.959964, abs=1e-5)


def test_bootstrap_populations_by_hand() -> None:
    result = combine(Q, kind="bootstrap")
    assert result.variance == pytest.approx(1.25 * 26 / 3)
    assert result.degrees_of_freedom == 3
    half = (result.interval[1] - result.interval[0]) / 2
    assert half == pytest.approx(3.182446 * result.standard_error, rel=1e-6)
    wide = combine(Q, kind="bootstrap", level=0.99)
    assert wide.interval[0] < result.interval[0]
    assert "4 data sets combined by the rules for bootstrap populations" in result.summary()


def test_coverage_of_the_rules_on_normal_data() -> None:
    """Data sets drawn as the rules assume; 2,000 surveys of 100 values, five data sets each."""
    rng = np.random.default_rng(1)
    n, m, hits = 100, 5, {"fully": 0, "partially": 0, "bootstrap": 0}
    for _ in range(2000):
        x = rng.normal(0, 1, n)
        s2 = x.var(ddof=1)
        mu = x.mean() + np.sqrt(s2 / n) * rng.normal(size=m)  # posterior draws of the mean
        samples = mu + np.sqrt(s2 / n) * rng.normal(size=m)
        replaced = x.mean() + np.sqrt(0.3 * s2 / n) * rng.normal(size=m)
        for kind, q in (("fully", samples), ("partially", replaced), ("bootstrap", mu)):
            variances = None if kind == "bootstrap" else np.full(m, s2 / n)
            low, high = combine(q, variances, kind=kind).interval
            hits[kind] += low <= 0 <= high
    assert 0.93 < hits["partially"] / 2000 < 0.97
    assert 0.93 < hits["bootstrap"] / 2000 < 0.97
    assert hits["fully"] / 2000 > 0.91


def test_faults() -> None:
    with pytest.raises(InputError) as caught:
        combine([1.0], [1.0, -2.0], kind="fuly", level=2.0, synthetic_fraction=0)
    assert len(caught.value.faults) == 5
    with pytest.raises(InputError, match="is not allowed"):
        combine(Q, U, kind=["fully"])
    with pytest.raises(InputError, match="are needed for partially"):
        combine(Q, kind="partially")
    with pytest.raises(InputError, match="are negative"):
        combine(Q, [1.0, -1.0, 1.0, 1.0], kind="fully")
    with pytest.raises(InputError, match="are missing or infinite"):
        combine([1.0, np.nan, 2.0], kind="bootstrap")


def share_of_women(data: pd.DataFrame, weights: np.ndarray) -> float:
    return float(np.average(data["sex"] == "f", weights=weights))


def test_estimate_over_replicates_of_a_fit() -> None:
    survey = small_survey(150)
    stages = [Structure(["age", "sex"]), Categorical("status", ["sex"], pooling="complete")]
    fitted = Pipeline(stages).fit(survey, seed=1)
    result = estimate_over_replicates(
        share_of_women,
        fitted.replicates(15, refit="bootstrap"),
        simulations=fitted.replicates(5),
        survey=survey,
        columns=["sex"],
        seed=1,
    )
    assert result.n_replicates == 15
    assert result.table.index.tolist() == ["value"]
    row = result.table.iloc[0]
    assert row[["sampling", "modelling", "simulation"]].sum() == pytest.approx(
        result.standard_error**2
    )
    values = result.values["value"]
    assert result.estimate == pytest.approx(values.mean())
    assert result.standard_error == pytest.approx(np.sqrt((1 + 1 / 15) * values.var(ddof=1)))
    linear = synthpop.indicators.mean((survey.frame["sex"] == "f").astype(float), survey.weights)
    expected = linear.with_variance(survey=survey).standard_error
    assert result.standard_error == pytest.approx(expected, rel=0.5)
    assert row["simulation"] < 0.3 * row["sampling"]
    assert result.shares.sum(axis=1).iloc[0] == pytest.approx(1)
    assert "15 populations of bootstrap samples" in result.summary()
    assert "sampling" in result.summary()
    with pytest.raises(InputError, match="noise of the simulation only"):
        estimate_over_replicates(share_of_women, fitted.replicates(3))


def test_several_estimates_and_unknown_parts() -> None:
    rng = np.random.default_rng(2)
    made = [pd.DataFrame({"x": rng.normal(rng.normal(5, 1), 1, 50)}) for _ in range(12)]

    def moments(data: pd.DataFrame, weights: np.ndarray) -> dict[str, float]:
        return {"mean": data["x"].mean(), "sd": data["x"].std()}

    result = estimate_over_replicates(moments, made, level=0.9)
    assert list(result.interval.columns) == ["lower", "upper"]
    assert result.estimate["mean"] == pytest.approx(5, abs=1)
    assert result.table[["sampling", "modelling", "simulation"]].isna().all().all()
    noisy = [pd.DataFrame({"x": rng.normal(5, 9, 9)}) for _ in range(9)]
    survey = synthpop.Survey(pd.DataFrame({"x": rng.normal(5, 9, 20)}), weight=None)
    negative = estimate_over_replicates(
        moments, made, simulations=noisy, survey=survey, bootstrap_samples=20, seed=1
    )
    assert negative.table["modelling"].tolist()[0] == 0
    assert "not distinguishable from zero" in negative.summary()
    total = negative.table[["sampling", "modelling", "simulation"]].sum(axis=1)
    np.testing.assert_allclose(total, negative.table["standard_error"] ** 2)
    with pytest.raises(InputError, match="Give two or more"):
        estimate_over_replicates(moments, made[:1])
