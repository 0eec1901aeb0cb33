"""Weights that tell no stratum, and what that costs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import recover
from riskeval.protection.methods import NoisyWeights, RoundedWeights, SmoothWeights
from riskeval.protection.weights import share_shown, weights
from synthpop.microdata.messages.errors import InputError


def people(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    region = rng.choice([*"abcd"], n, p=[0.4, 0.3, 0.2, 0.1])
    home = np.repeat(np.arange(n // 2), 2)
    region = region[home]
    base = pd.Series(region).map({"a": 10.0, "b": 12.0, "c": 15.0, "d": 30.0}).to_numpy()
    income = rng.lognormal(9, 0.5, n) * np.where(region == "d", 1.5, 1.0)
    return pd.DataFrame(
        {"home": home, "region": region, "sex": rng.choice([*"fm"], n), "w": base, "income": income}
    )


def told_regions(frame: pd.DataFrame, original: pd.DataFrame) -> int:
    hidden = frame.assign(region=original["region"].mask(original["home"] % 10 == 0))
    columns = ["region", "w"]
    roles = {"weights": "w", "strata": "region", "columns": columns, "rules": ["weights"]}
    return recover(hidden, original=original, **roles).n_right


@pytest.mark.parametrize(
    ("method", "options", "most"),
    [("smooth", {}, 0.0), ("round", {}, 0.0), (NoisyWeights(0.5), {"seed": 1}, 0.35)],
)
def test_the_weight_no_longer_tells_the_region(method, options, most):
    data = people()
    assert told_regions(data, data) == 60
    result = weights(
        data, "w", strata="region", method=method, estimates="income", household="home", **options
    )
    assert result.details["told_before"] == 1.0
    assert result.details["told_after"] <= most
    assert told_regions(result.data, data) <= 60 * most
    assert result.data["w"].groupby(data["home"]).nunique().max() == 1
    design = result.details["design"].iloc[0]
    true = np.average(data["income"], weights=data["w"])
    assert design["mean_before"] == pytest.approx(true)
    now = np.average(data["income"], weights=result.data["w"])
    assert design["mean_after"] == pytest.approx(now)
    assert design["change_in_errors"] == pytest.approx((now - true) / design["error_before"])
    assert "standard errors" in result.summary()


def test_noise_keeps_the_total_of_every_stratum():
    data = people()
    result = weights(data, "w", strata="region", method="noise", seed=3)
    before, after = (frame.groupby("region")["w"].sum() for frame in (data, result.data))
    np.testing.assert_allclose(before, after)
    strong = weights(data, "w", strata="region", method=NoisyWeights(level=1.0), seed=3)
    assert strong.details["told_after"] < result.details["told_after"] + 0.05


def test_smoothing_follows_the_predictors():
    data = people().assign(w=lambda x: x["w"] * np.where(x["sex"] == "f", 2.0, 1.0))
    flat = weights(data, "w", strata="region")
    assert flat.data["w"].nunique() == 1
    by_sex = weights(data, "w", strata="region", method=SmoothWeights("sex"))
    means = by_sex.data.groupby("sex")["w"].first()
    assert by_sex.data["w"].nunique() == 2
    assert means["f"] / means["m"] == pytest.approx(2.0, rel=0.05)
    assert by_sex.data["w"].sum() == pytest.approx(data["w"].sum())


def test_the_base_of_rounding_is_honoured():
    result = weights(people(), "w", strata="region", method=RoundedWeights(10))
    assert sorted(result.data["w"].unique()) == [10.0, 20.0, 30.0]
    assert result.details["told_after"] > 0


def test_share_shown_looks_at_neighbours_of_single_weights():
    rng = np.random.default_rng(1)
    stratum = np.repeat([0, 1], 50)
    apart = np.where(stratum == 0, 10.0, 20.0) + rng.random(100)
    assert share_shown(apart, stratum) > 0.9
    assert share_shown(rng.random(100), stratum) < 0.3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"method": "hide"}, "method"),
        ({"strata": []}, "are not given"),
        ({"method": {"type": "smooth", "base": 5.0}}, "not an option of 'smooth'"),
        ({"method": SmoothWeights("region")}, "which the weights would tell again"),
        ({"column": "income2"}, "income2"),
        ({"method": {"type": "noise", "level": 9}}, "level"),
    ],
)
def test_faults_are_named(options, text):
    with pytest.raises(InputError, match=text):
        weights(people(), **{"column": "w", "strata": "region", **options})
