"""Replicate weights against formulas worked by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from synthpop import Margin, Survey, indicators
from synthpop.microdata.messages.errors import InputError
from synthpop.variance.replicate_weights import (
    ReplicateWeights,
    replicate_weights,
    replicate_weights_from,
)

# Survival of cardiac arrest by ambulance area (Levy and Lemeshow 1999, section 9.8): two
# ambulance units a stratum, the example of balanced repeated replication in R's survey. The
# numbers below are worked by hand from these data.
ARRESTS = pd.DataFrame(
    {
        "area": [1, 1, 2, 2, 3, 3],
        "unit": [1, 2, 3, 4, 5, 6],
        "arrests": [120.0, 78.0, 185.0, 228.0, 670.0, 530.0],
        "alive": [25.0, 24.0, 30.0, 49.0, 80.0, 70.0],
        "w": 1.0,
    }
)


def arrests(**roles: str) -> Survey:
    return Survey(ARRESTS, weight="w", strata="area", psu="unit", **roles)


def ratio(data: pd.DataFrame, weights: np.ndarray) -> float:
    return float(np.dot(weights, data["alive"]) / np.dot(weights, data["arrests"]))


def total(data: pd.DataFrame, weights: np.ndarray) -> float:
    return float(np.dot(weights, data["alive"]))


def test_balanced_replication_of_a_ratio_is_the_mean_over_half_samples() -> None:
    halves = [ratio(ARRESTS.iloc[list(rows)], np.ones(3))
              for rows in itertools.product((0, 1), (2, 3), (4, 5))]  # fmt: skip
    full = replicate_weights(arrests(), method="brr")
    assert full.n_replicates == 4
    table = full.estimate(ratio, arrests())
    assert table.loc["value", "estimate"] == pytest.approx(278 / 1811)
    chosen = [ratio(ARRESTS[column > 0], column[column > 0]) for column in full.weights.T]
    assert all(min(abs(one - half) for half in halves) < 1e-12 for one in chosen)
    error = table.loc["value", "standard_error"]
    assert error == pytest.approx(np.std(chosen))
    assert error == pytest.approx(np.std(halves), rel=0.1)
    linear = indicators.design_variance(
        (ARRESTS["alive"] - 278 / 1811 * ARRESTS["arrests"]) / 1811,
        strata=ARRESTS["area"],
        cluster=ARRESTS["unit"],
    )
    assert error == pytest.approx(np.sqrt(linear), rel=0.1)


@pytest.mark.parametrize("options", [{"method": "brr"}, {"method": "brr", "fay": 0.3},
                                     {"method": "jackknife"}])  # fmt: skip
def test_variance_of_a_total_is_the_textbook_one(options: dict[str, object]) -> None:
    wanted = 1.0**2 + 19.0**2 + 10.0**2  # squared differences within strata
    made = replicate_weights(arrests(), **options)
    table = made.estimate(total, arrests())
    assert table.loc["value", "standard_error"] ** 2 == pytest.approx(wanted)
    half = (table["upper"] - table["lower"])["value"] / 2
    assert half == pytest.approx(3.182446305 * np.sqrt(wanted))  # three degrees of freedom
    corrected = Survey(
        ARRESTS.assign(share=np.repeat([0.5, 0.2, 0.0], 2)), weight="w", strata="area",
        psu="unit", fpc="share",
    )  # fmt: skip
    smaller = replicate_weights(corrected, **options).estimate(total, corrected)
    expected = 0.5 * 1 + 0.8 * 361 + 100
    assert smaller.loc["value", "standard_error"] ** 2 == pytest.approx(expected)


def test_bootstrap_weights_are_those_of_the_bootstrap() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"w": rng.random(60) + 1, "h": np.repeat([1, 2, 3], 20),
                          "y": rng.normal(5, 2, 60)})  # fmt: skip
    survey = Survey(frame, weight="w", strata="h")

    def mean(data: pd.DataFrame, weights: np.ndarray) -> float:
        return float(np.average(data["y"], weights=weights))

    made = replicate_weights(survey, replicates=50, seed=4)
    direct = indicators.bootstrap(mean, survey, replicates=50, seed=4)
    table = made.estimate(mean, survey)
    assert table.loc["value", "standard_error"] == pytest.approx(direct.standard_error)
    kept = survey.frame.join(made.to_frame("rw_"))
    again = replicate_weights_from(kept, "rw_", method="bootstrap", degrees_of_freedom=57)
    pd.testing.assert_frame_equal(again.estimate(mean, survey), table)
    assert "50 replicate weights of 60 rows (bootstrap)" in made.summary()


def test_jackknife_of_one_stratum_is_the_classical_one() -> None:
    y = np.array([3.0, 5.0, 11.0, 2.0])
    survey = Survey(pd.DataFrame({"w": np.ones(4), "y": y}), weight="w")

    def mean(data: pd.DataFrame, weights: np.ndarray) -> dict[str, float]:
        return {"mean": float(np.average(data["y"], weights=weights)), "n": float(weights.sum())}

    made = replicate_weights(survey, method="jackknife")
    table = made.estimate(mean, survey)
    assert table.loc["mean", "standard_error"] == pytest.approx(y.std(ddof=1) / 2)
    assert table.loc["n", "standard_error"] == pytest.approx(0, abs=1e-12)
    read = replicate_weights_from(made.to_frame("jk"), "jk", method="jackknife")
    assert read.estimate(mean, survey).loc["mean", "standard_error"] == pytest.approx(
        y.std(ddof=1) / 2
    )
    wide = made.estimate(mean, survey, level=0.99)
    assert wide.loc["mean", "lower"] < table.loc["mean", "lower"]


def test_centre_and_scales_are_honoured() -> None:
    weights = pd.DataFrame({"a": [2.0, 0.0], "b": [0.0, 2.0], "c": [2.0, 2.0]})
    survey = Survey(pd.DataFrame({"w": [1.0, 1.0], "y": [1.0, 4.0]}), weight="w")

    def sums(data: pd.DataFrame, w: np.ndarray) -> float:
        return float(np.dot(w, data["y"]))

    values, names = np.array([2.0, 8.0, 10.0]), ["a", "b", "c"]
    options = {"method": "bootstrap", "scales": [1.0, 2.0, 3.0], "scale": 0.5}
    by_mean = replicate_weights_from(weights, names, **options).estimate(sums, survey)
    spread = 0.5 * np.dot([1, 2, 3], (values - values.mean()) ** 2)
    assert by_mean.loc["value", "standard_error"] ** 2 == pytest.approx(spread)
    by_estimate = replicate_weights_from(weights, names, centre="estimate", **options)
    spread = 0.5 * np.dot([1, 2, 3], (values - 5) ** 2)
    got = by_estimate.estimate(sums, survey).loc["value", "standard_error"] ** 2
    assert got == pytest.approx(spread)
    fay = replicate_weights_from(weights, names, method="brr", fay=0.5)
    assert fay.scale == pytest.approx(1 / (3 * 0.25))


def test_calibrated_replicates_meet_the_totals() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"w": rng.random(90) + 1, "hid": np.arange(90) // 3,
                          "sex": rng.choice(["f", "m"], 90)})  # fmt: skip
    frame["w"] = frame.groupby("hid")["w"].transform("first")
    survey = Survey(frame, weight="w", household="hid")
    margin = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [80.0, 60.0]}))
    made = replicate_weights(survey, method="jackknife", calibrate=[margin])
    women = (frame["sex"] == "f").to_numpy()
    np.testing.assert_allclose(made.weights[women].sum(axis=0), 80, rtol=1e-5)
    spread = pd.DataFrame(made.weights).groupby(frame["hid"]).agg(np.ptp)
    assert spread.to_numpy().max() < 1e-9


def test_faults() -> None:
    three = Survey(ARRESTS.iloc[:5], weight="w", psu="unit")
    with pytest.raises(InputError, match="1 stratum has not two units"):
        replicate_weights(three, method="brr")
    with pytest.raises(InputError) as caught:
        replicate_weights(arrests(), method="half", replicates=1, fay=2.0)
    assert len(caught.value.faults) >= 3
    with pytest.raises(InputError, match="'brr' only"):
        replicate_weights(arrests(), fay=0.5)
    with pytest.raises(InputError, match="missing or negative"):
        replicate_weights_from(pd.DataFrame({"a": [1.0, -1.0], "b": [1.0, 1.0]}), ["a", "b"],
                               method="brr")  # fmt: skip
    with pytest.raises(InputError, match="Name two or more"):
        replicate_weights_from(ARRESTS, "none", method="brr")
    made: ReplicateWeights = replicate_weights(arrests(), method="brr")
    with pytest.raises(InputError, match="same rows"):
        made.estimate(total, Survey(ARRESTS.iloc[:4], weight="w"))
