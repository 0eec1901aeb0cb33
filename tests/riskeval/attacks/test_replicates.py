from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from riskeval.attacks.matching.replicates import scenario_replicates
from riskeval.attacks.matching.scenarios import CAVEAT, intruder_scenarios
from synthpop.microdata.messages.errors import InputError


def sample() -> pd.DataFrame:
    return pd.DataFrame(
        {"k": list("ABCDE"), "y": [10.0, 20.0, 30.0, 0.0, 50.0], "w": [2.0, 4.0, 5.0, 2.0, 10.0]}
    )


def draws(m: int) -> list[pd.DataFrame]:
    rng = np.random.default_rng(4)
    return [
        sample().assign(y=lambda f: f["y"] * rng.normal(1, 0.1, 5), low=0.0, high=60.0)
        for _ in range(m)
    ]


def test_means_and_intervals_of_single_runs() -> None:
    asked = {"accuracy": (0.05, 0.1), "intervals": ("low", "high"), "weights": "w"}
    risk = scenario_replicates(sample(), iter(draws(4)), "k", "y", **asked)
    single = [intruder_scenarios(sample(), each, "k", "y", **asked).table for each in draws(4)]
    tau = np.array([table["tau"] for table in single])
    np.testing.assert_allclose(risk.table["tau"], tau.mean(axis=0))
    np.testing.assert_allclose(risk.table["rate"], tau.mean(axis=0) / 5)
    half = 3.182446 * tau.std(axis=0, ddof=1) / 2  # t quantile with three degrees of freedom
    np.testing.assert_allclose(risk.table["upper"], tau.mean(axis=0) + half, rtol=1e-6)
    lower = np.maximum(tau.mean(axis=0) - half, 0)
    assert (lower > 0).any()
    np.testing.assert_allclose(risk.table["lower"], lower, rtol=1e-6)
    np.testing.assert_allclose(risk.table["largest"], tau.max(axis=0))
    np.testing.assert_allclose(risk.table["smallest"], tau.min(axis=0))
    np.testing.assert_allclose(risk.table["sd"], tau.std(axis=0, ddof=1))
    found = np.array([table["tau_expected"] for table in single])
    expected, half = found.mean(axis=0), 3.182446 * found.std(axis=0, ddof=1) / 2
    np.testing.assert_allclose(risk.table["tau_expected"], expected)
    ends = risk.table[["expected_lower", "expected_upper"]].to_numpy().T
    np.testing.assert_allclose(ends, [np.maximum(expected - half, 0), expected + half], rtol=1e-6)
    assert (risk.n_populations, len(risk.replicates)) == (4, 40)


def test_options_reach_every_run() -> None:
    asked = {"accuracy": 0.5, "scenarios": (3,), "intervals": ("low", "high")}
    open_ended = [each.assign(high=math.inf) for each in draws(3)]
    value = scenario_replicates(sample(), open_ended, "k", "y", **asked)
    zero = scenario_replicates(sample(), open_ended, "k", "y", open_interval="zero", **asked)
    assert value.table["tau"].iloc[0] > zero.table["tau"].iloc[0] == 0
    held = scenario_replicates(sample(), draws(3), "k", "y", holdout=sample(), accuracy=0.05)
    np.testing.assert_allclose(held.table["rate_holdout"], held.table["rate"])
    missing = [each.assign(k=each["k"].where(each["k"] != "A")) for each in draws(2)]
    own = sample().assign(k=lambda f: f["k"].where(f["k"] != "A"))
    plain = scenario_replicates(own, missing, "k", "y", scenarios=(2,), accuracy=0.5)
    unmatched = scenario_replicates(
        own, missing, "k", "y", scenarios=(2,), accuracy=0.5, missing="unmatched"
    )
    assert plain.table["tau"].iloc[0] == unmatched.table["tau"].iloc[0] + 1


def test_confidence_and_words() -> None:
    wide = scenario_replicates(sample(), draws(5), "k", "y", accuracy=0.1, confidence=0.99)
    narrow = scenario_replicates(sample(), draws(5), "k", "y", accuracy=0.1, confidence=0.8)
    row = wide.table["scenario"] == 2
    assert (wide.table.loc[row, "upper"] > narrow.table.loc[row, "upper"]).all()
    assert CAVEAT in wide.summary()
    told = "Mean over 5 synthetic populations of the number of the 5 sample records whose y an"
    assert told in wide.summary()
    assert "with the 99 % interval of that mean" in wide.summary()
    assert "generating interval known): not computed" in wide.summary()
    two = scenario_replicates(sample(), draws(2), "k", "y", accuracy=0.1)
    tau = np.array([
        intruder_scenarios(sample(), each, "k", "y", accuracy=0.1).table["tau"] for each in draws(2)
    ])  # fmt: skip
    half = 12.706205 * np.abs(tau[0] - tau[1]) / 2  # t quantile with one degree of freedom
    np.testing.assert_allclose(two.table["upper"], tau.mean(axis=0) + half, rtol=1e-6)
    alone = scenario_replicates(sample(), draws(1), "k", "y", accuracy=0.1)
    assert alone.table["lower"].isna().all()


def test_faults() -> None:
    with pytest.raises(InputError, match="holds no population"):
        scenario_replicates(sample(), [], "k", "y")
    with pytest.raises(InputError, match="collection of populations"):
        scenario_replicates(sample(), sample(), "k", "y", confidence=0.9)
    with pytest.raises(InputError, match="between 0 and 1"):
        scenario_replicates(sample(), draws(2), "k", "y", confidence=1.0)
