"""Three intruders and the k-map against loops; delta-disclosure against its definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import assess, attacker_risk, delta_disclosure, individual_risk
from synthpop.microdata.messages.errors import InputError

KEYS = ["a", "b"]


def files() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(1)
    everybody = pd.DataFrame({"a": rng.integers(0, 6, 400), "b": rng.choice([*"xyzw"], 400)})
    sample = everybody.sample(60, random_state=1).reset_index(drop=True)
    sample["b"] = sample["b"].astype(object)
    sample.loc[:4, "b"] = None
    return sample, everybody


def test_population_counts_by_hand() -> None:
    sample, everybody = files()
    risk = attacker_risk(sample, KEYS, population=everybody, threshold=0.1)
    for i, row in sample.iterrows():
        alike = everybody["a"] == row["a"]
        if not pd.isna(row["b"]):
            alike &= everybody["b"] == row["b"]
        assert risk.F[i] == alike.sum()
        own = sample["a"] == row["a"]
        if not pd.isna(row["b"]):
            own &= sample["b"].isna() | (sample["b"] == row["b"])
        assert risk.f[i] == own.sum()
    assert attacker_risk(sample, KEYS, threshold=0.1).n_unmatched == 0
    table = risk.table.set_index("attacker")
    assert table.loc["prosecutor", "highest"] == (1 / risk.f).max()
    assert table.loc["journalist", "highest"] == pytest.approx(1 / risk.k_map)
    assert table.loc["marketer", "mean"] == pytest.approx((1 / risk.F).mean())
    assert table.loc["journalist", "above"] == (risk.F < 10).sum()
    assert risk.violations(risk.k_map) == 0 < risk.violations(risk.k_map + 1)
    assert "(k-map)" in risk.summary()


def test_weights_and_no_population() -> None:
    sample, _ = files()
    weights = np.full(60, 7.0)
    risk = attacker_risk(sample, KEYS, weights=weights)
    expected = individual_risk(sample, KEYS, weights=weights).risk
    np.testing.assert_array_equal(risk.journalist, expected)
    assert risk.source == "weights"
    alone = attacker_risk(sample, KEYS)
    np.testing.assert_array_equal(alone.journalist, alone.prosecutor)
    assert "file counts as the population" in alone.summary()


def test_records_that_nobody_of_the_population_has() -> None:
    sample, everybody = files()
    odd = pd.concat([sample, pd.DataFrame({"a": [99], "b": ["x"]})], ignore_index=True)
    risk = attacker_risk(odd, KEYS, population=everybody)
    assert risk.n_unmatched == 1
    assert risk.journalist[-1] == 1.0
    assert "match nobody" in risk.summary()


def test_the_only_one_of_the_population_is_certain_whatever_the_file_has() -> None:
    everybody = pd.DataFrame({"a": [1, 2, 2, 2], "b": ["x", "y", "y", "y"]})
    twice = everybody.iloc[[0, 0, 1, 1, 1]]
    table = attacker_risk(twice, KEYS, population=everybody).table.set_index("attacker")
    assert table.loc["journalist", "mean"] == pytest.approx((2 * 1 + 3 / 3) / 5)
    assert table.loc["prosecutor", "mean"] == pytest.approx(2 / 5)


def test_faults() -> None:
    sample, everybody = files()
    with pytest.raises(InputError) as caught:
        attacker_risk(sample, KEYS, population=everybody[["a"]], weights=np.ones(60), threshold=2)
    text = str(caught.value)
    assert all(part in text for part in ("beside a population", "threshold: is 2", "'b'"))


def test_delta_disclosure_is_the_largest_log_ratio() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"k": rng.integers(0, 4, 200), "ill": rng.choice([*"pqr"], 200)})
    frame.loc[:9, "ill"] = None
    result = delta_disclosure(frame, ["k"], "ill")
    known = frame.dropna()
    share = known["ill"].value_counts(normalize=True)
    groups = known.groupby("k")["ill"].value_counts(normalize=True)
    worst = max(abs(np.log(p / share[value])) for (_, value), p in groups.items())
    assert result.delta == pytest.approx(worst)
    assert result.n_absent == 0
    for k, rows in frame.groupby("k"):
        own = max(abs(np.log(p / share[value])) for value, p in groups.loc[k].items())
        np.testing.assert_allclose(result.distance[rows.index], own)
    gone = frame[(frame["k"] != 1) | (frame["ill"] == "p")].reset_index(drop=True)
    lacking = delta_disclosure(gone, ["k"], "ill")
    assert lacking.n_absent == (gone["k"] == 1).sum()
    assert "does not hold for any delta" in lacking.summary()


def test_assessments_show_the_three_intruders() -> None:
    sample, everybody = files()
    sample["ill"] = np.resize(["flu", "none", "HIV"], 60)
    names = ["attacker_risk", "delta_disclosure"]
    plain = assess(sample, keys=KEYS, sensitive="ill", measures=names)
    assert [one.key for one in plain.measurements] == ["prosecutor_risk", "delta_disclosure: ill"]
    weighted = assess(sample, keys=KEYS, weights=np.full(60, 7.0), measures=names)
    assert {one.info.name for one in weighted.measurements} == {
        "prosecutor_risk", "journalist_above", "k_map"
    }  # fmt: skip
    counted = assess(
        sample, keys=KEYS, weights=np.full(60, 7.0), measures=names,
        options={"attacker_risk": {"population": everybody, "threshold": 0.1}},
    )  # fmt: skip
    expected = attacker_risk(sample, KEYS, population=everybody, threshold=0.1)
    values = counted.table.set_index("name")["value"]
    assert values["k_map"] == expected.k_map
    assert values["journalist_above"] == (expected.journalist > 0.1).sum()
    assert values["marketer_risk"] == pytest.approx(expected.journalist.mean())
    blank = sample.assign(a=None, b=None)
    assert assess(blank, keys=KEYS, measures=names).table["value"].tolist() == [1 / 60]


def test_levels_that_nobody_has_are_lacked_by_nobody() -> None:
    ill = pd.Categorical(["p", "q", "p", "q", None], categories=["p", "q", "never"])
    frame = pd.DataFrame({"k": [1, 1, 2, 2, 3], "ill": ill})
    result = delta_disclosure(frame, ["k"], "ill")
    assert (result.n_absent, result.delta) == (0, 0)
    without = frame.assign(ill=ill.set_categories(["p", "q", "never"]).map({"p": "p", "q": "p"}))
    assert delta_disclosure(without, ["k"], "ill").delta == 0
