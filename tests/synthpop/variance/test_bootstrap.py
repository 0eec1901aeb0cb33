from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import indicators as ind
from synthpop.microdata.messages.errors import InputError, SparseDataWarning
from synthpop.microdata.statistics.design_variance import sampled_units
from synthpop.variance.resampling import rescaled_bootstrap, unit_multiplicities
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
    times = np.round(weights / data["w"].to_numpy() * 599 / 600).astype(int)
    assert times.sum() == len(frame) - 1
    long = data.loc[data.index.repeat(times)]
    assert got.replicates[0, 0] == pytest.approx(ind.gini(long["income"], long["w"]).value)
    fast = ind.bootstrap(ind.gini, frame["income"], weights=frame["w"], replicates=3, seed=5)
    np.testing.assert_allclose(fast.replicates, got.replicates, rtol=1e-12)


def test_strata_and_clusters_are_kept(frame: pd.DataFrame) -> None:
    sizes = []

    def spy(data: pd.DataFrame, weights: np.ndarray) -> float:
        factors = weights / data["w"]
        sizes.append(factors.groupby(data["region"]).sum().round().astype(int).to_dict())
        whole = factors.groupby(data["household"]).agg(["min", "max", "size"])
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
        times = unit_multiplicities(rng, stratum)
        assert times[[1, 3]].sum() == 1
        assert times[[0, 2, 4]].sum() == 2
        total += times
    np.testing.assert_allclose(total / 4000, np.array([2, 1.5, 2, 1.5, 2]) / 3, atol=0.06)


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
    assert "calibrated again" in calibrated.summary()
    assert "not calibrated again" in naive.summary()


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
    percentile = ind.bootstrap(ind.gini, frame["income"], seed=1, interval="percentile", **call)
    assert base.interval[1] - base.interval[0] > high - low  # t with 599 degrees of freedom
    basic = ind.bootstrap(ind.gini, frame["income"], seed=1, interval="basic", **call)
    assert basic.interval[0] == pytest.approx(2 * base.estimate - percentile.interval[1])
    even = ind.bootstrap(ind.gini, frame["income"], weights=np.ones(600), replicates=60, seed=1)
    assert even.estimate != base.estimate


def test_sparse_data() -> None:
    with pytest.warns(SparseDataWarning, match="1 stratum has one sampled unit: it adds nothing"):
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


def naive_factors(rng: np.random.Generator, stratum: np.ndarray, fraction: float) -> np.ndarray:
    """Rao and Wu (1988), one unit after the other."""
    factors = np.ones(len(stratum))
    for h in np.unique(stratum):
        inside = np.flatnonzero(stratum == h)
        n_h = len(inside)
        times = np.bincount(rng.integers(0, n_h, n_h - 1), minlength=n_h)
        s = np.sqrt(1 - fraction)
        factors[inside] = 1 - s + s * n_h / (n_h - 1) * times
    return factors


@pytest.mark.parametrize("fraction", [0.0, 0.4])
def test_variance_over_replicates_is_the_linearised_one(fraction: float) -> None:
    rng = np.random.default_rng(4)
    stratum, y = np.repeat([0, 1, 2], [2, 3, 6]), rng.normal(10, 3, 11)
    units = sampled_units(11, strata=stratum, fpc=fraction)
    draws = np.array([rescaled_bootstrap(rng, units) for _ in range(4_000)])
    assert (draws >= 0).all()
    np.testing.assert_allclose(draws.mean(axis=0), 1.0, atol=0.06)
    wanted = ind.design_variance(y, strata=stratum, fpc=fraction)
    assert (draws @ y).var() == pytest.approx(wanted, rel=0.08)
    naive = np.array([naive_factors(rng, stratum, fraction) for _ in range(4_000)])
    assert (naive @ y).var() == pytest.approx(wanted, rel=0.08)


def test_two_stages_with_corrections() -> None:
    rng = np.random.default_rng(5)
    psu = np.repeat(np.arange(6), 4)
    frame = pd.DataFrame(
        {
            "stratum": np.repeat([0, 1], 12),
            "psu": psu,
            "person": np.arange(24),
            "f1": np.repeat([0.5, 0.3], 12),
            "f2": np.repeat([0.2, 0.4, 0.8, 0.1, 0.5, 0.0], 4),
        }
    )
    y = rng.normal(0, 1, 6)[psu] + rng.normal(5, 2, 24)
    design = {"cluster": frame[["psu", "person"]], "fpc": frame[["f1", "f2"]]}
    wanted = ind.design_variance(y, strata=frame["stratum"], **design)
    first = ind.design_variance(y, strata=frame["stratum"], cluster=psu, fpc=frame["f1"])
    second = sum(
        frame["f1"][4 * k] * (1 - frame["f2"][4 * k]) * 4 * y[psu == k].var(ddof=1)
        for k in range(6)
    )
    assert wanted == pytest.approx(first + second)
    units = sampled_units(24, strata=frame["stratum"], **design)
    draws = np.array([rescaled_bootstrap(rng, units) for _ in range(4_000)])
    assert (draws >= 0).all()
    assert (draws @ y).var() == pytest.approx(wanted, rel=0.08)
    got = ind.bootstrap(
        lambda part, w: float(np.dot(w, part["y"])),
        frame.assign(y=y),
        weights=np.ones(24),
        strata="stratum",
        cluster=["psu", "person"],
        fpc=["f1", "f2"],
        replicates=500,
        seed=1,
    )
    assert got.variance == pytest.approx(wanted, rel=0.15)


def test_a_census_has_no_sampling_variance(frame: pd.DataFrame) -> None:
    got = ind.bootstrap(
        ind.gini, frame["income"], weights=frame["w"], fpc=1.0, replicates=5, seed=1
    )
    assert got.variance == pytest.approx(0.0, abs=1e-20)
    half = ind.bootstrap(
        ind.mean, frame["income"], weights=frame["w"], fpc=1200, replicates=400, seed=1
    )
    none = ind.bootstrap(ind.mean, frame["income"], weights=frame["w"], replicates=400, seed=1)
    assert half.variance / none.variance == pytest.approx(0.5, rel=0.02)


def few_units(seed: int, n_units: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    stratum, psu = np.repeat(np.arange(15), n_units), np.arange(15 * n_units)
    level = rng.normal(0, 1, 15 * n_units) + 0.5 * stratum
    rows = np.repeat(psu, 5)
    y = 20 + level[rows] + rng.normal(0, 1, len(rows))
    return pd.DataFrame({"stratum": stratum[rows], "psu": rows, "y": y})


def test_two_units_a_stratum_have_the_variance_of_the_linearisation() -> None:
    """Draws of two from two units had half of it."""
    data = few_units(1, 2)
    got = ind.bootstrap(
        ind.mean, data["y"], weights=np.ones(len(data)), strata=data["stratum"],
        cluster=data["psu"], replicates=1000, seed=1,
    )  # fmt: skip
    linear = ind.mean(data["y"]).with_variance(strata=data["stratum"], cluster=data["psu"])
    assert got.standard_error == pytest.approx(linear.standard_error, rel=0.08)
    assert got.degrees_of_freedom == 15
    half = (got.interval[1] - got.interval[0]) / 2
    assert half == pytest.approx(2.131449545559323 * got.standard_error)


@pytest.mark.slow
@pytest.mark.parametrize("n_units", [2, 3, 5, 20])
def test_coverage_with_few_units_a_stratum(n_units: int) -> None:
    truth, hits = 20 + 0.5 * np.mean(np.arange(15)), 0
    for seed in range(1000):
        data = few_units(1000 + seed, n_units)
        low, high = ind.bootstrap(
            ind.mean, data["y"], weights=np.ones(len(data)), strata=data["stratum"],
            cluster=data["psu"], replicates=200, seed=seed,
        ).interval  # fmt: skip
        hits += low <= truth <= high
    assert 0.93 <= hits / 1000 <= 0.97


def test_resampled_psus_leave_the_calibrated_estimate_as_it_is(frame: pd.DataFrame) -> None:
    """Members of a household keep one weight, members of a PSU do not."""
    from synthpop import Margin

    rng = np.random.default_rng(3)
    data = frame.assign(psu=frame["household"] // 8, w=np.repeat(rng.random(200) * 10 + 5, 3))
    margin = Margin(pd.DataFrame({"sex": [0, 1], "total": [3000.0, 3300.0]}))
    options = {"weights": "w", "cluster": "psu", "calibrate": [margin], "replicates": 5, "seed": 1}
    seen = []

    def mean(part: pd.DataFrame, weights: np.ndarray) -> float:
        seen.append(pd.Series(weights).groupby(part["household"].to_numpy()).std().max())
        return float(np.average(part["income"], weights=weights))

    free = ind.bootstrap(mean, data, **options)
    from synthpop import Survey, calibrate

    fitted = calibrate(Survey(data, weight="w"), [margin])
    assert free.estimate == pytest.approx(np.average(data["income"], weights=fitted.weights))
    assert max(seen) > 0.1
    seen.clear()
    tied = ind.bootstrap(mean, data, household="household", **options)
    assert max(seen) < 1e-9
    equal = calibrate(
        Survey(data, weight="w", household="household"), [margin], household_equal=True
    )
    assert tied.estimate == pytest.approx(np.average(data["income"], weights=equal.weights))
    assert tied.estimate != pytest.approx(free.estimate, rel=1e-9)


def test_failed_replicates_are_counted_with_their_reason(frame: pd.DataFrame) -> None:
    calls = []

    def sometimes(data: pd.DataFrame, weights: np.ndarray) -> float:
        calls.append(1)
        if len(calls) in (3, 5):
            raise ValueError("no convergence")
        return float(np.average(data["income"], weights=weights))

    got = ind.bootstrap(sometimes, frame, weights="w", replicates=10, seed=1)
    assert [replicate for replicate, _ in got.failures] == [1, 3]
    assert got.to_frame()["failed"].tolist() == [2]
    assert "2 replicates gave no number" in got.summary()
    assert "no convergence" in got.summary()
    assert np.isfinite(got.standard_error)
