from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import indicators as ind
from synthpop.microdata.errors import InputError, SparseDataWarning
from synthpop.variance.bootstrap import _multiplicities
from tests.reference_data import golden, survey_data


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    n = 600
    return pd.DataFrame(
        {
            "income": rng.lognormal(9, 0.6, n),
            "w": rng.random(n) * 10 + 5,
            "region": np.repeat(["north", "south", "west"], [300, 200, 100]),
            "household": np.arange(n) // 3,
            "sex": rng.integers(0, 2, n),
        }
    )


@pytest.mark.parametrize("name", ["gini", "qsr", "arpr", "rmpg"])
def test_reference_standard_errors(name: str) -> None:
    data = survey_data("laeken_eusilc")
    case = golden("pop", "f_indicators.json")["bootstrap"][name]
    measure = {
        "gini": ind.gini,
        "qsr": ind.quintile_share_ratio,
        "arpr": ind.at_risk_of_poverty,
        "rmpg": ind.poverty_gap,
    }[name]
    got = ind.bootstrap(
        measure, data["eqIncome"], weights=data["rb050"], strata=data["db040"], seed=3
    )
    assert got.estimate == pytest.approx(case["value"], rel=1e-10)
    assert got.standard_error == pytest.approx(case["se"], rel=0.25)
    np.testing.assert_allclose(got.interval, case["ci"], rtol=0.02)


@pytest.mark.parametrize("name", ["gini", "arpr"])
def test_reference_standard_errors_by_region(name: str) -> None:
    data = survey_data("laeken_eusilc")
    case = golden("pop", "f_indicators.json")["bootstrap"][f"{name}_by_db040"]
    measure = {"gini": ind.gini, "arpr": ind.at_risk_of_poverty}[name]
    got = ind.bootstrap(
        measure,
        data["eqIncome"],
        weights=data["rb050"],
        strata=data["db040"],
        by=data["db040"],
        seed=3,
    )
    for region, wanted in case["value"].items():
        assert got.estimate[region] == pytest.approx(wanted, rel=1e-10)
        assert got.standard_error[region] == pytest.approx(case["se"][region], rel=0.25)


def test_replicates_are_the_resampled_rows(frame: pd.DataFrame) -> None:
    """A replicate equals the indicator of the rows drawn, each as often as it was drawn."""
    seen = []

    def spy(data: pd.DataFrame, weights: np.ndarray) -> float:
        seen.append((data, weights))
        return ind.gini(data["income"], weights).value

    got = ind.bootstrap(spy, frame, weights="w", replicates=3, seed=5)
    data, weights = seen[1]
    times = np.round(weights / data["w"].to_numpy()).astype(int)
    assert times.sum() == len(frame)
    long = data.loc[data.index.repeat(times)]
    assert got.replicates[0, 0] == pytest.approx(ind.gini(long["income"], long["w"]).value)
    fast = ind.bootstrap(ind.gini, frame["income"], weights=frame["w"], replicates=3, seed=5)
    np.testing.assert_allclose(fast.replicates, got.replicates, rtol=1e-12)


def test_strata_and_clusters_are_kept(frame: pd.DataFrame) -> None:
    sizes = []

    def spy(data: pd.DataFrame, weights: np.ndarray) -> float:
        times = weights / data["w"]
        sizes.append(times.groupby(data["region"]).sum().round().astype(int).to_dict())
        whole = times.groupby(data["household"]).agg(["min", "max", "size"])
        assert np.allclose(whole["min"], whole["max"])
        assert (whole["size"] == 3).all()
        return float(weights.sum())

    cut = frame.iloc[np.r_[0:300, 300:498, 501:600]].reset_index(drop=True)
    cut = cut.assign(region=np.repeat(["north", "south", "west"], [300, 198, 99]))
    got = ind.bootstrap(
        spy, cut, weights="w", strata="region", cluster="household", replicates=4, seed=1
    )
    assert all(one == {"north": 300, "south": 198, "west": 99} for one in sizes)
    assert got.n_units == 199
    free = ind.bootstrap(ind.mean, cut["income"], weights=cut["w"], replicates=50, seed=1)
    tied = ind.bootstrap(
        ind.mean, cut["income"], weights=cut["w"], cluster=cut["region"], replicates=50, seed=1
    )
    assert free.n_units == 597
    assert tied.n_units == 3


def test_multiplicities_are_uniform_within_strata() -> None:
    stratum = np.array([1, 0, 1, 0, 1])
    rng = np.random.default_rng(2)
    total = np.zeros(5)
    for _ in range(4000):
        times = _multiplicities(rng, stratum)
        assert times[[1, 3]].sum() == 2
        assert times[[0, 2, 4]].sum() == 3
        total += times
    np.testing.assert_allclose(total / 4000, 1.0, atol=0.06)


def test_calibrated_replicates(frame: pd.DataFrame) -> None:
    totals = frame.groupby("sex")["w"].sum()

    def to_totals(data: pd.DataFrame, weights: np.ndarray) -> np.ndarray:
        now = pd.Series(weights).groupby(data["sex"].to_numpy()).sum()
        return weights * (totals / now).reindex(data["sex"]).to_numpy()

    def share(data: pd.DataFrame, weights: np.ndarray) -> float:
        return float(np.average(data["sex"], weights=weights))

    naive = ind.bootstrap(share, frame, weights="w", replicates=60, seed=1)
    calibrated = ind.bootstrap(
        share, frame, weights="w", calibrate=to_totals, replicates=60, seed=1
    )
    assert naive.variance > 1e-5
    assert calibrated.variance < 1e-20
    assert calibrated.calibrated
    assert "calibrated anew" in calibrated.summary()
    assert "not calibrated anew" in naive.summary()


def test_reference_calibrated_households() -> None:
    data = survey_data("laeken_eusilc")
    case = golden("pop", "f_indicators.json")["bootstrap"]["gini_calibrated_cluster"]
    totals = data.groupby("db040", observed=True)["rb050"].sum()

    def to_regions(part: pd.DataFrame, weights: np.ndarray) -> np.ndarray:
        now = pd.Series(weights).groupby(part["db040"].to_numpy(), observed=True).sum()
        return weights * (totals / now).reindex(part["db040"]).to_numpy()

    got = ind.bootstrap(
        lambda part, w: ind.gini(part["eqIncome"], w),
        data[["eqIncome", "db040", "db030"]],
        weights=data["rb050"],
        strata="db040",
        cluster="db030",
        calibrate=to_regions,
        seed=3,
    )
    assert got.standard_error == pytest.approx(case["se"], rel=0.25)
    np.testing.assert_allclose(got.interval, case["ci"], rtol=0.02)


def test_domains_and_results(frame: pd.DataFrame) -> None:
    by = ind.bootstrap(
        ind.gini, frame["income"], weights=frame["w"], by=frame["region"], replicates=40, seed=2
    )
    assert by.labels == ("all", "north", "south", "west")
    assert by.standard_error["west"] > by.standard_error["all"]
    assert list(by.interval.columns) == ["lower", "upper"]
    assert by.replicates.shape == (40, 4)
    mapped = ind.bootstrap(
        lambda d, w: {"a": np.dot(w, d), "b": 1.0},
        frame["income"].to_numpy(),
        weights=frame["w"],
        replicates=5,
        seed=2,
    )
    assert mapped.variance["b"] == 0
    series = ind.bootstrap(
        lambda d, w: pd.Series({"a": float(np.dot(w, d))}),
        frame["income"],
        weights=frame["w"],
        replicates=5,
        seed=2,
    )
    assert series.labels == ("a",)


def test_arguments_are_honoured(frame: pd.DataFrame) -> None:
    call = {"weights": frame["w"], "replicates": 60}
    base = ind.bootstrap(ind.gini, frame["income"], seed=1, **call)
    assert base.seed == 1
    same = ind.bootstrap(ind.gini, frame["income"], seed=1, **call)
    np.testing.assert_array_equal(base.replicates, same.replicates)
    other = ind.bootstrap(ind.gini, frame["income"], seed=2, **call)
    assert not np.array_equal(base.replicates, other.replicates)
    fresh = ind.bootstrap(ind.gini, frame["income"], **call)
    again = ind.bootstrap(ind.gini, frame["income"], seed=fresh.seed, **call)
    np.testing.assert_array_equal(fresh.replicates, again.replicates)
    wide = ind.bootstrap(ind.gini, frame["income"], seed=1, level=0.99, **call)
    assert wide.interval[0] <= base.interval[0]
    normal = ind.bootstrap(ind.gini, frame["income"], seed=1, interval="normal", **call)
    low, high = normal.interval
    assert (low + high) / 2 == pytest.approx(base.estimate)
    basic = ind.bootstrap(ind.gini, frame["income"], seed=1, interval="basic", **call)
    assert basic.interval[0] == pytest.approx(2 * base.estimate - base.interval[1])
    even = ind.bootstrap(ind.gini, frame["income"], weights=np.ones(600), replicates=60, seed=1)
    assert even.estimate != base.estimate


def test_sparse_data() -> None:
    with pytest.warns(SparseDataWarning, match="1 stratum of one unit"):
        ind.bootstrap(
            ind.mean, [1.0, 2.0, 3.0], weights=np.ones(3), strata=["a", "a", "b"], replicates=3
        )
    lonely = ind.bootstrap(
        ind.mean,
        np.array([1.0, 2.0, 3.0, 4.0]),
        weights=np.ones(4),
        by=pd.Series(["a", "a", "a", "b"]),
        replicates=30,
        seed=1,
    )
    assert 0 < lonely.to_frame().loc["b", "failed"] < 30
    assert lonely.variance["b"] == 0


def test_faults() -> None:
    data = pd.DataFrame({"x": [1.0, 2.0], "w": [1.0, -1.0], "h": ["a", None]})
    with pytest.raises(InputError) as caught:
        ind.bootstrap(ind.gini, data, weights="v", replicates=1, level=2, interval="bca", by=["a"])
    assert len(caught.value.faults) == 5
    with pytest.raises(InputError) as caught:
        ind.bootstrap(ind.gini, data, weights="w", strata="h")
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="two strata"):
        ind.bootstrap(ind.gini, data["x"], weights=[1, 1], strata=["a", "b"], cluster=[1, 1])
