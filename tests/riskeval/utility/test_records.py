"""Gower distance, missing values, entropy, and distances of single distributions."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from riskeval import utility
from riskeval.utility.categories import entropy, missing_loss
from riskeval.utility.distributions import hellinger, kolmogorov_smirnov
from riskeval.utility.gower_distance import gower
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data


def test_gower_against_the_reference_matrix() -> None:
    facts = golden("sdc", "i10_gower_testdata60.json")
    matrix = np.array(facts["gower_matrix_first10"]["D"])
    names = facts["gower_matrix_first10"]["variables"]
    found = 0
    for rows in (60, 10):
        x = survey_data("testdata").iloc[:rows].reset_index(drop=True)
        for shift in range(1, 10):
            order = np.r_[np.roll(np.arange(10), -shift), np.arange(10, rows)]
            types = {"sex": "nominal", "relat": "nominal"}
            distance = gower(x, x.iloc[order], names, types=types)
            want = matrix[np.arange(10), order[:10]]
            found += bool(np.allclose(distance.per_record[:10], want, atol=1e-9))
    assert found == 9


def test_arctan_scale_against_the_reference() -> None:
    facts = golden("sdc", "j3_il_mlodak.json")["mixed"]
    x, y = golden("sdc", "data_il_x.parquet"), golden("sdc", "data_il_xm.parquet")
    found = gower(x, y, ["v1", "v2", "v3", "v4"], scale="arctan")
    assert found.distance == pytest.approx(facts["IL_variables"], rel=1e-9)
    means = found.by_variable.set_index("variable")["distance"]
    for name, value in facts["by_variable"].items():
        assert means[name] == pytest.approx(value, rel=1e-9)


def test_gower_by_hand() -> None:
    grades = ["low", "mid", "high"]
    x = pd.DataFrame(
        {
            "a": [0.0, 10.0, 5.0, np.nan],
            "o": pd.Categorical(["low", "mid", "high", "low"], grades, ordered=True),
            "s": [0.0, 4.0, 0.0, 8.0],
            "n": ["p", "q", None, None],
        }
    )
    y = x.assign(
        a=[1.0, 30.0, np.nan, np.nan],
        o=pd.Categorical(["mid", "mid", "low", "low"], grades, ordered=True),
        s=[0.0, 6.0, 4.0, 0.0],
        n=["q", "q", None, "p"],
    )
    types = {"s": "semicontinuous"}
    found = gower(x, y, ["a", "o", "s", "n"], types=types)
    want = np.array([[0.1, 0.5, 0, 1], [1, 0, 0.5, 0], [1, 1, 1, 0], [0, 0, 1, 1]])
    assert found.per_record == pytest.approx(want.mean(axis=1))
    assert found.by_variable["capped"].tolist() == [1, 0, 0, 0]
    assert found.by_variable["one_missing"].tolist() == [1, 0, 0, 1]
    heavy = gower(x, y, ["a", "o"], importance={"a": 3})
    assert heavy.per_record[0] == pytest.approx((3 * 0.1 + 0.5) / 4)
    weighted = gower(x, y, ["a", "o", "s", "n"], types=types, weights=[1, 1, 1, 5])
    assert weighted.distance == pytest.approx(np.average(want.mean(axis=1), weights=[1, 1, 1, 5]))
    other = gower(x, y, ["s"], types=types, special={"s": 4.0})
    assert other.per_record.tolist() == [0.0, 1.0, 1.0, 1.0]
    assert gower(x, y, ["s"], types={"s": "nominal"}).distance == 0.75
    assert "did not change" in found.summary()


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 500))
def test_gower_is_bounded_and_zero_without_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"a": rng.normal(size=8), "b": rng.integers(0, 3, 8).astype(str)})
    y = x.sample(frac=1, random_state=seed).reset_index(drop=True)
    found = gower(x, y, ["a", "b"]).per_record
    assert ((found >= 0) & (found <= 1)).all()
    assert gower(x, x, ["a", "b"]).distance == 0


def test_missing_values() -> None:
    x = pd.DataFrame({"a": [1, None, 3, 4], "b": [None, None, "q", "r"], "c": 1})
    y = pd.DataFrame({"a": [None, None, 3, None], "b": ["p", None, "q", "r"]})
    found = missing_loss(x, y)
    assert found.table["variable"].tolist() == ["a", "b"]
    assert found.table["new"].tolist() == [2, 0]
    assert found.table["filled"].tolist() == [0, 1]
    assert found.total == 2
    weighted = missing_loss(x, y, "a", weights=[5, 1, 1, 1], released_weights=[1, 1, 1, 1])
    assert weighted.table["percent"].tolist() == [75.0]
    assert weighted.table["percent_released"].tolist() == [75.0]
    other = missing_loss(x, y, "a", released_weights=[1, 1, 5, 1]).table
    assert other["percent_released"].tolist() == [37.5]
    loose = missing_loss(x, y, "a", rows="unpaired")
    assert loose.total == -1
    assert loose.table["percent"].tolist() == [50.0]
    assert "not paired" in missing_loss(x, y.iloc[:3]).summary()
    assert "2 values" in found.summary()
    with pytest.raises(InputError, match="paired"):
        missing_loss(x, y.iloc[:2], rows="paired")


def test_entropy_against_the_book() -> None:
    eusilc = survey_data("eusilc")
    names = ["hsize", "age", "pb220a"]
    found = entropy(eusilc, eusilc, names, missing="total").table.set_index("variable")
    printed = {"hsize": -1.765339, "age": -4.440551, "pb220a": -0.4446661}
    facts = golden("sdc", "k2_eusilc_utility.json")["entropy_book_sign"]
    for name in names:
        assert -found.loc[name, "original"] == pytest.approx(printed[name], abs=1e-6)
        assert -found.loc[name, "released"] == pytest.approx(facts[name], rel=1e-9)


def test_entropy_options() -> None:
    x = pd.DataFrame({"a": ["p", "p", "q", None], "w": [1, 1, 2, 4]})
    y = pd.DataFrame({"a": ["p", "p", "p", "q"], "w": [1, 1, 1, 3]})
    level = entropy(x, y, "a").table
    assert level["original"][0] == pytest.approx(1.5 * np.log(2))
    drop = entropy(x, y, "a", missing="drop").table["original"][0]
    assert drop == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
    assert entropy(x, y, "a", weights="w", missing="drop").table["original"][0] == pytest.approx(
        np.log(2)
    )
    assert entropy(x, y, "a", released_weights="w").table["released"][0] == pytest.approx(np.log(2))
    assert level["relative"][0] < 0
    assert "largest loss" in entropy(x, y, "a").summary()


def test_kolmogorov_smirnov_against_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 30, 200).astype(float), rng.integers(5, 40, 150).astype(float)
    found = kolmogorov_smirnov(pd.DataFrame({"a": x}), pd.DataFrame({"a": y}), "a")
    want = ks_2samp(x, y)
    assert found.largest == pytest.approx(want.statistic)
    assert found.table["at"][0] == want.statistic_location
    w = rng.integers(1, 4, 200)
    repeated = kolmogorov_smirnov(pd.DataFrame({"a": x.repeat(w)}), pd.DataFrame({"a": y}), "a")
    weighted = kolmogorov_smirnov(pd.DataFrame({"a": x}), pd.DataFrame({"a": y}), "a", weights=w)
    assert weighted.largest == pytest.approx(repeated.largest)
    back = kolmogorov_smirnov(
        pd.DataFrame({"a": y}), pd.DataFrame({"a": x}), "a", released_weights=w
    )
    assert back.largest == pytest.approx(weighted.largest)
    empty = pd.DataFrame({"a": [np.nan, np.nan]})
    assert np.isnan(kolmogorov_smirnov(empty, empty, "a").largest)
    assert "nothing in common" in kolmogorov_smirnov(empty, empty, "a").summary()


def test_hellinger() -> None:
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"a": rng.normal(size=400), "b": rng.choice(["p", "q"], 400), "c": 1})
    y = pd.DataFrame({"a": rng.normal(size=300), "b": ["q"] * 300, "c": 2})
    found = hellinger(x, y, ["a", "b", "c"], categorical=["c"])
    share = (x["b"] == "q").mean()
    assert found.table["distance"][1] == pytest.approx(np.sqrt(1 - np.sqrt(share)))
    assert found.table["distance"][2] == 1
    assert found.table["distance"][0] < 0.25
    assert found.table["classes"].tolist() == [20, 2, 2]
    assert hellinger(x, y, "a", classes=4).table["classes"].tolist() == [4]
    assert hellinger(x, y, "c").largest == pytest.approx(1)
    w = np.where(x["b"] == "q", 9, 1)
    assert hellinger(x, y, "b", weights=w).largest < found.table["distance"][1]
    v = np.where(rng.random(300) < 0.1, 50, 1)
    assert hellinger(x, y, "a", released_weights=v).largest > found.table["distance"][0]
    assert hellinger(x, x, ["a", "b"]).largest == 0
    gap = x.assign(a=np.where(np.arange(400) < 200, np.nan, x["a"]))
    assert hellinger(x, gap, "a").largest > 0.4


def test_faults_are_reported_together() -> None:
    x = pd.DataFrame({"a": [1, 2], "b": ["p", "q"]})
    with pytest.raises(InputError) as error:
        gower(x, x.iloc[:1], ["a", "z"], types={"a": "t", "y": "nominal"}, scale="s",
              importance={"a": -1}, special={"v": 0})  # fmt: skip
    text = str(error.value)
    for word in ("'z'", "types['a']", "'y'", "scale", "importance", "'v'", "same unit"):
        assert word in text
    with pytest.raises(InputError) as error:
        hellinger(x, x, ["a", "z"], classes=1, categorical=["q"])
    assert len(error.value.faults) == 4
    with pytest.raises(InputError, match="numeric"):
        kolmogorov_smirnov(x, x, "b")
    with pytest.raises(InputError) as error:
        entropy(x, x, "z", missing="m")
    assert len(error.value.faults) == 3
    with pytest.raises(InputError):
        missing_loss(x, x, ["z"], rows="r")


def test_public_names() -> None:
    for name in utility.__all__:
        found = getattr(utility, name)
        assert callable(found), name
        assert found.__module__.startswith("riskeval.utility.")
    assert set(dir(utility)) >= {"information_loss", "gower", "entropy"}
    with pytest.raises(AttributeError):
        utility.nothing  # noqa: B018
    modules = {importlib.import_module(getattr(utility, n).__module__) for n in utility.__all__}
    assert not {m.__name__.rsplit(".", 1)[1] for m in modules} & set(utility.__all__)


def test_a_special_value_needs_a_semicontinuous_variable() -> None:
    x = pd.DataFrame({"inc": [0.0, 5.0, 9.0], "age": [1, 2, 3]})
    with pytest.raises(InputError, match="'inc' is numeric: a value with a mass of its own"):
        gower(x, x, ["inc", "age"], special={"inc": 0.0})
    types = {"inc": "semicontinuous"}
    y = x.assign(inc=[4.0, 5.0, 9.0])
    assert gower(x, y, ["inc"], types=types).distance == pytest.approx(1 / 3)
    five = gower(x, y, ["inc"], types=types, special={"inc": 5.0})
    assert five.distance == pytest.approx(4 / 9 / 3)
