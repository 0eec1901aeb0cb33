"""Correction of heaps: who moves, how far, and what stays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.heaping import correct_heaps, whipple_index
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden

SHORT = {"lnorm": "lognormal", "norm": "normal", "unif": "uniform"}


@pytest.mark.parametrize("case", [f"{h}year_{m}" for h in (5, 10) for m in SHORT])
def test_agrees_with_the_reference(case):
    reference = golden("pop", "e_age.json")["correctHeaps"][case]
    step, short = case.split("year_")
    ages = golden("pop", f"e_heap_age{step}.parquet").iloc[:, 0].to_numpy()
    runs = [
        correct_heaps(ages, heaps=f"{step}year", method=SHORT[short], seed=seed)
        for seed in range(10)
    ]
    drawn = runs[0].heaps.set_index("age")["drawn"]
    expected = dict(zip(reference["heaps"], reference["n_moved_per_heap"], strict=True))
    assert all(drawn.get(float(heap), 0) == n for heap, n in expected.items())
    assert max(np.abs(run.ages - ages).max() for run in runs) <= reference["max_shift"] + (
        1 if case == "10year_norm" else 0
    )
    moved = [run.changed.sum() for run in runs]
    spread = reference["n_changed_sd"]
    assert np.mean(moved) == pytest.approx(reference["n_changed_mean"], abs=spread)
    n_ages = len(reference["counts_after_mean"])
    counts = [np.bincount(run.ages.astype(int), minlength=120)[:n_ages] for run in runs]
    after = np.mean(counts, axis=0)
    limit = 4 * np.sqrt(np.square(reference["counts_after_sd"]) / 7) + 1.5
    apart = np.abs(after - reference["counts_after_mean"])
    if step == "10":  # the ends of the windows, shared by two heaps, get fewer there
        apart[5::10] = 0.0
    assert (apart < limit).all()
    whipple = np.mean([run.whipple_after for run in runs])
    assert whipple == pytest.approx(reference["whipple_after_mean"], abs=2.5)
    assert runs[0].whipple_before == pytest.approx(reference["whipple_before"])
    heaps = np.array(reference["heaps"])
    assert np.isin(ages[runs[0].changed], heaps).all()


@pytest.mark.parametrize("case", ["lnorm_2_3", "lnorm_5_5", "norm_2_3", "norm_5_5", "unif_2_3"])
def test_single_heap_agrees_with_the_reference(case):
    reference = golden("pop", "e_age.json")["correctSingleHeap"][case]
    ages = golden("pop", "e_heap_age23.parquet").iloc[:, 0].to_numpy()
    window = (reference["before"], reference["after"])
    method = SHORT[case.split("_")[0]]
    runs = [
        correct_heaps(ages, heaps=[23], window=window, method=method, seed=seed)
        for seed in range(20)
    ]
    assert runs[0].heaps["drawn"].tolist() == [reference["n_moved"]]
    n_ages = len(reference["counts_after_mean"])
    counts = [np.bincount(run.ages.astype(int), minlength=120)[:n_ages] for run in runs]
    after = np.mean(counts, axis=0)
    assert np.abs(after - reference["counts_after_mean"]).max() < 4.5


def heaped(seed: int = 0, n: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    ages = rng.integers(1, 90, n).astype(float)
    heap = rng.random(n) < 0.25
    ages[heap] = np.clip(5 * np.round(ages[heap] / 5), 5, 85)
    return ages


def test_heaps_vanish_and_the_rest_stays():
    ages = heaped()
    result = correct_heaps(ages, seed=1)
    assert result.whipple_before > 120
    assert result.whipple_after < 110
    np.testing.assert_array_equal(result.ages[~result.changed], ages[~result.changed])
    assert (result.ages == np.floor(result.ages)).all()
    np.testing.assert_array_equal(np.asarray(result), result.ages)
    assert "Whipple" in result.summary()
    assert result.to_frame()["moved"].sum() == result.changed.sum()


def test_seed():
    ages = heaped()
    one = correct_heaps(ages, seed=1).ages
    np.testing.assert_array_equal(one, correct_heaps(ages, seed=1).ages)
    assert (one != correct_heaps(ages, seed=2).ages).any()


def test_start_step_window_and_list():
    ages = heaped()
    late = correct_heaps(ages, start=40, seed=1)
    assert (ages[late.changed] >= 40).all()
    ten = correct_heaps(ages, heaps="10year", seed=1)
    assert (ages[ten.changed] % 10 == 0).all()
    narrow = correct_heaps(ages, window=(0, 1), method="uniform", seed=1)
    assert set((narrow.ages - ages)[narrow.changed]) == {1.0}
    single = correct_heaps(ages, heaps=[35], window=(1, 1), method="uniform", seed=1)
    assert set(ages[single.changed]) == {35.0}


def test_fixed_records_and_missing_ages():
    ages = heaped()
    ages[:50] = np.nan
    fixed = np.arange(50, 2000)
    mask = np.zeros(len(ages), dtype=bool)
    mask[fixed] = True
    for given in (fixed, mask):
        result = correct_heaps(ages, fixed=given, seed=1)
        assert not result.changed[fixed].any()
        assert np.isnan(result.ages[:50]).all()
        assert result.changed[2000:].any()


def test_gaps_in_the_ages_do_no_harm():
    ages = heaped()
    ages = ages[~np.isin(ages, [3, 7, 11])]
    counts = np.bincount(ages.astype(int))
    result = correct_heaps(ages, heaps=[30], window=(2, 2), seed=1)
    surplus = counts[30] - (counts[29] + counts[31]) / 2
    assert result.heaps["drawn"].tolist() == [int(np.ceil(surplus))]


def test_model_based_ages_follow_the_predictors():
    rng = np.random.default_rng(3)
    ages = heaped()
    truth = ages + np.where(ages % 5 == 0, rng.integers(-2, 3, len(ages)), 0)
    frame = pd.DataFrame({"pension": truth > 42, "x": truth + rng.normal(0, 0.5, len(ages))})
    frame.loc[:5, "x"] = np.nan
    plain = correct_heaps(ages, method="uniform", seed=1)
    model = correct_heaps(ages, method="uniform", predictors=frame, seed=1)
    np.testing.assert_array_equal(np.sort(plain.ages), np.sort(model.ages))
    distance = [np.abs(r.ages - truth)[r.changed].mean() for r in (plain, model)]
    assert distance[1] < 0.8 * distance[0]
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    other = correct_heaps(ages, method="uniform", predictors=frame, model=tree, seed=1)
    assert (other.ages != model.ages).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heaps": "7year"}, "not allowed"),
        ({"method": "x"}, "not allowed"),
        ({"heaps": [200.0], "window": (1, 1)}, "nobody is 200"),
        ({"heaps": [30.0]}, "window"),
        ({"window": (-1, 2)}, "pair of years"),
        ({"fixed": [10**6]}, "positions"),
        ({"model": object()}, "needs predictors"),
        ({"predictors": pd.DataFrame({"a": [1]})}, "1 row for"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(InputError, match=message):
        correct_heaps(heaped(), **options)


def test_refuses_ages():
    with pytest.raises(InputError, match="no age is known"):
        correct_heaps([np.nan])
    with pytest.raises(InputError, match="not numbers"):
        correct_heaps(["a"])


def regions(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ages without heaping in one region, with strong heaping in the other, and weights."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(1, 90, 8000).astype(float)
    region = np.repeat(["none", "strong"], 4000)
    heap = (region == "strong") & (rng.random(8000) < 0.4)
    ages[heap] = np.clip(5 * np.round(ages[heap] / 5), 5, 85)
    return ages, region, np.where(region == "strong", 1.0, 3.0) * rng.uniform(0.5, 1.5, 8000)


def test_each_region_is_corrected_by_itself():
    """One correction for all made a hollow where there was no heap."""
    ages, region, _ = regions()
    common = correct_heaps(ages, seed=1).ages
    assert whipple_index(common[region == "none"]) < 90
    assert whipple_index(common[region == "strong"]) > 115
    result = correct_heaps(ages, by=region, seed=1)
    assert result.groups.index.tolist() == ["none", "strong"]
    assert result.groups["whipple_before"].tolist() == [
        whipple_index(ages[region == name]) for name in ("none", "strong")
    ]
    after = result.groups["whipple_after"]
    assert abs(after["none"] - result.groups.loc["none", "whipple_before"]) < 3
    assert after["strong"] < whipple_index(common[region == "strong"]) - 4
    assert "By group it was" in result.summary()
    alone = correct_heaps(ages[region == "strong"], heaps=[40], window=(2, 2), seed=1)
    inside = correct_heaps(ages, heaps=[40], window=(2, 2), by=region, seed=1)
    drawn = inside.heaps.set_index("by").loc["strong", "drawn"]
    assert drawn == alone.heaps["drawn"][0]
    gaps = correct_heaps(ages, by=pd.Series(region).where(region == "none"), seed=1)
    assert sorted(gaps.groups.index) == ["missing", "none"]


def test_surplus_by_weight():
    ages, region, weights = regions()
    weighted = correct_heaps(ages, weights=weights, by=region, seed=1)
    assert weighted.whipple_before == pytest.approx(whipple_index(ages, weights))
    assert 100 < weighted.whipple_after < 100 + 0.4 * (weighted.whipple_before - 100)
    one = [
        correct_heaps(ages, heaps=[40], window=(2, 2), weights=weights, seed=seed)
        for seed in range(200)
    ]
    row = one[0].heaps.iloc[0]
    at = np.floor(ages) == 40
    assert row["persons"] == pytest.approx(weights[at].sum())
    beside = weights[np.isin(ages, [39, 41])].sum() / 2
    assert row["expected"] == pytest.approx(beside)
    again = [
        correct_heaps(ages, heaps=[40], method="uniform", window=(2, 2), weights=weights, seed=s)
        for s in range(3)
    ]
    assert len({tuple(result.changed) for result in again}) == 3
    equal = correct_heaps(ages, heaps=[40], window=(2, 2), weights=np.full(8000, 2.0), seed=1)
    plain = correct_heaps(ages, heaps=[40], window=(2, 2), seed=1)
    assert abs(equal.heaps["drawn"][0] - plain.heaps["drawn"][0]) <= 1


def test_groups_and_weights_are_checked():
    with pytest.raises(InputError) as caught:
        correct_heaps([30.0, 31.0, 29.0], weights=[1.0, -1.0, 1.0], by=["a"])
    assert len(caught.value.faults) == 2


def test_small_groups_without_heaping_stay_as_they_are():
    """Chance surpluses were moved in every group: Whipple's index fell from 100 to 80."""
    rng = np.random.default_rng(4)
    before, after = [], []
    for _ in range(40):
        ages = rng.integers(1, 90, 400).astype(float)
        result = correct_heaps(ages, by=np.zeros(400), seed=1)
        before.append(result.whipple_before)
        after.append(result.whipple_after)
    assert np.mean(before) == pytest.approx(100, abs=4)
    assert np.mean(after) > np.mean(before) - 8
