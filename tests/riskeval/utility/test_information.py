"""Information loss of continuous variables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval import utility
from riskeval.utility.information import information_loss
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

CASES = [
    ("f1_cont_testdata_mdav3", "f1_testdata_mdav3"),
    pytest.param("f2_cont_testdata_additive10", "f2_testdata_additive10", marks=pytest.mark.slow),
    pytest.param("f3_cont_testdata_shuffle", "f3_testdata_shuffle", marks=pytest.mark.slow),
    pytest.param("f4_cont_testdata_correlated2", "f4_testdata_correlated2", marks=pytest.mark.slow),
    ("f5_cont_tarragona_additive150", "f5_tarragona_additive150"),
]


def pair(n: int = 60, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    a = rng.normal(50, 10, n)
    x = pd.DataFrame({"a": a, "b": a + rng.normal(0, 5, n), "c": rng.normal(5, 1, n)})
    return x, x + rng.normal(0, 0.5, x.shape)


@pytest.fixture(autouse=True)
def _one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthpop.microdata.statistics.robust.SEARCHES", 1)


def naive_il1s(x: pd.DataFrame, y: pd.DataFrame) -> float:
    total = 0.0
    for name in x:
        for i in range(len(x)):
            total += abs(x[name][i] - y[name][i]) / (2**0.5 * x[name].std())
    return total / x.size


@pytest.mark.parametrize(("case", "perturbed"), CASES)
def test_reference_values(case: str, perturbed: str) -> None:
    facts = golden("sdc", f"{case}.json")
    original = survey_data(facts["original"].removesuffix(".parquet"))
    released = golden("sdc", f"{perturbed}.parquet")
    names = facts["variables"]
    loss = information_loss(original, released, names)
    want = facts["dUtility"]
    assert loss.il1s == pytest.approx(want["IL1old"], rel=1e-9)
    cells = loss.by_variable
    relative = float((cells["il1"] * (cells["cells"] - cells["zero_cells"])).sum())
    assert 100 * relative == pytest.approx(want["IL1"], rel=1e-9)
    assert loss.eigenvalues == pytest.approx(want["eigen"], rel=1e-6, abs=1e-12)
    assert loss.inverse_correlations == pytest.approx(facts["IL_correl"], rel=1e-5)
    robust = facts["dUtility_robeigen"]
    if case.startswith("f5"):
        assert 0.5 * robust["min"] < loss.robust_eigenvalues < 2 * robust["max"]
    else:
        assert loss.robust_eigenvalues < robust["max"] + 0.1


def test_against_the_formula() -> None:
    x, y = pair()
    loss = information_loss(x, y, ["a", "b", "c"])
    assert loss.il1s == pytest.approx(naive_il1s(x, y))
    assert loss.il1 == pytest.approx(float((abs(x - y) / abs(x)).to_numpy().mean()))
    difference = (x.corr() - y.corr()).abs().to_numpy()[np.triu_indices(3, 1)].mean()
    assert loss.correlations == pytest.approx(difference)
    assert loss.il1s == pytest.approx(loss.by_variable["il1s"].mean())
    assert set(loss.to_frame()["measure"]) >= {"il1", "il1s", "eigenvalues", "mahalanobis"}
    assert "equation 5.9" in loss.summary()
    assert utility.information_loss is information_loss


@settings(max_examples=2, deadline=None)
@given(st.integers(1, 1000), st.floats(0.1, 100))
def test_no_change_no_loss_and_scale_free(seed: int, factor: float) -> None:
    x, y = pair(30, seed)
    same = information_loss(x, x, ["a", "b"])
    assert same.il1 == same.il1s == same.eigenvalues == same.mahalanobis == 0
    one = information_loss(x, y, ["a", "b"])
    other = information_loss(x * factor, y * factor, ["a", "b"])
    assert other.il1s == pytest.approx(one.il1s)
    assert other.mahalanobis == pytest.approx(one.mahalanobis, rel=1e-3)


def test_other_length_and_unpaired_rows() -> None:
    x, y = pair()
    shorter = information_loss(x, y.iloc[:40], ["a", "b"])
    assert np.isnan([shorter.il1, shorter.il1s, shorter.mahalanobis]).all()
    assert shorter.eigenvalues > 0
    assert "not paired" in shorter.summary()
    unpaired = information_loss(x, y, ["a", "b"], rows="unpaired")
    assert np.isnan(unpaired.il1s)
    assert not unpaired.paired
    with pytest.raises(InputError, match="cannot be paired"):
        information_loss(x, y.iloc[:40], ["a"], rows="paired")


def test_weights_count() -> None:
    x, y = pair(20)
    w = np.r_[np.full(10, 3), np.ones(10)]
    long_x, long_y = x.loc[x.index.repeat(w)], y.loc[y.index.repeat(w)]
    weighted = information_loss(x, y, ["a", "b"], weights=w, released_weights=w)
    repeated = information_loss(long_x, long_y, ["a", "b"])
    assert weighted.eigenvalues == pytest.approx(repeated.eigenvalues)
    assert weighted.il1 == pytest.approx(repeated.il1)
    assert weighted.correlations == pytest.approx(repeated.correlations)
    one_side = information_loss(x, y, ["a", "b"], weights=w)
    assert one_side.correlations != pytest.approx(weighted.correlations)


def test_missing_and_degenerate_values() -> None:
    x, y = pair(20)
    x.loc[0, "a"] = np.nan
    y.loc[1, "b"] = np.nan
    loss = information_loss(x, y, ["a", "b"])
    assert loss.by_variable["cells"].tolist() == [19, 19]
    assert np.isfinite([loss.il1, loss.eigenvalues, loss.mahalanobis]).all()
    flat = x.assign(a=0.0)
    none = information_loss(flat, flat, ["a", "b"])
    assert np.isnan(none.eigenvalues)
    assert "no spread" in none.summary()
    assert "nan" not in none.summary()
    assert none.by_variable["zero_cells"].tolist() == [20, 0]
    mostly = x.assign(a=np.r_[np.zeros(18), 1.0, 2.0])
    assert "fell back" in information_loss(mostly, mostly, ["a", "b"]).summary()
    single = information_loss(x, y, "b")
    assert np.isnan(single.correlations)
    assert single.eigenvalues == 0
    gone = information_loss(x, y.assign(a=np.nan), ["a", "b"])
    assert np.isnan(gone.by_variable["il1s"][0])
    assert gone.il1s == pytest.approx(gone.by_variable["il1s"][1])
    with pytest.raises(InputError, match="too large"):
        information_loss(x.assign(a=1e300), y, ["a", "b"])
    tiny = information_loss(x.iloc[2:3], y.iloc[2:3], ["a", "b"])
    assert tiny.notes


def test_result_depends_on_neither_chance_nor_the_order_of_rows() -> None:
    x, y = pair(160)
    first = information_loss(x, y, ["a", "b"])
    order = np.random.default_rng(3).permutation(len(x))
    again = information_loss(x.iloc[order], y.iloc[order], ["a", "b"])
    assert again.robust_eigenvalues == pytest.approx(first.robust_eigenvalues, rel=1e-12)
    assert again.mahalanobis == pytest.approx(first.mahalanobis, rel=1e-12)


def test_faults_are_reported_together() -> None:
    x, y = pair(5)
    y = y.assign(b="text")
    x.loc[0, "a"] = np.inf
    with pytest.raises(InputError) as error:
        information_loss(x, y, ["a", "b", "zz"], weights="w", rows="maybe")
    text = str(error.value)
    for word in ("infinite", "numeric", "'zz'", "'w'", "rows"):
        assert word in text
