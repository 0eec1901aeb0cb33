"""Rank swapping: margins stay, ranks stay near, shares are shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels.rank_swapping import swap_ranks
from riskeval.protection.rank_swap import rank_swap
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "income": rng.lognormal(9, 1, n),
            "age": rng.integers(18, 90, n),
            "rent": pd.array(rng.integers(0, 900, n), dtype="Int64"),
            "area": rng.choice(["n", "s"], n),
        },
        index=np.arange(n)[::-1],
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 99))
def test_swaps_are_near_and_leave_nobody_who_could_take_part(n, reach, seed):
    source = swap_ranks(n, reach, np.random.default_rng(seed))
    ranks = np.arange(n)
    assert sorted(source) == ranks.tolist()
    assert (np.abs(source - ranks) <= reach).all()
    rounds = source[source[source]]
    assert ((source[source] == ranks) | (rounds == ranks)).all()  # pairs, or three that go round
    idle = ranks[source == ranks]
    assert all(abs(a - b) > reach for a in idle for b in idle if a != b)
    assert source.tolist() == swap_ranks.py_func(n, reach, np.random.default_rng(seed)).tolist()


def test_an_odd_record_enters_a_pair():
    for seed in range(200):
        source = swap_ranks(101, 5, np.random.default_rng(seed))
        assert (source != np.arange(101)).all()


def test_small_strata_differ_by_seed_and_the_top_moves():
    """Before: one fixed permutation, and the largest value on its own record in every stratum."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"x": rng.lognormal(9, 1, 620), "s": np.repeat(np.arange(20), 31)})
    results = [rank_swap(data, ["x"], strata="s", seed=seed) for seed in range(20)]
    assert len({tuple(result.data["x"]) for result in results}) == 20
    top = data.groupby("s")["x"].idxmax()
    stays = np.mean([(result.data["x"][top] == data["x"][top]).mean() for result in results])
    assert stays < 0.6
    assert "Little protection: 620 values of x" in results[0].summary()
    wide = rank_swap(data, ["x"], p=0.2, strata="s", seed=1)
    assert "Little protection" not in wide.summary()
    assert wide.details["ranks"]["narrow"][0] == 0


def test_extremes_that_stay_are_told():
    alone = rank_swap(pd.DataFrame({"x": np.arange(3.0)}), ["x"], p=0.4, seed=1)
    stayed = (alone.data["x"].iloc[[0, 2]] == [0.0, 2.0]).any()
    assert stayed
    assert "largest or smallest x is still on its own record" in alone.summary()
    wide = rank_swap(people(101), ["income"], p=0.1, seed=1)
    assert "still on its own record" not in wide.summary()


def test_tails_become_their_mean_before_the_swap():
    data = people()
    result = rank_swap(data, ["income"], p=0.1, top=0.05, bottom=0.02, seed=1)
    ordered = np.sort(data["income"])
    assert result.data["income"].max() == pytest.approx(ordered[-15:].mean())
    assert result.data["income"].min() == pytest.approx(ordered[:6].mean())
    assert result.data["income"].mean() == pytest.approx(data["income"].mean())
    with pytest.raises(InputError, match="fewer than 3 records"):
        rank_swap(data, ["income"], top=0.001, seed=1)


def test_p_follows_from_the_correlation_or_the_means_that_must_be_kept():
    data = people(800)
    data["spent"] = data["income"] * 0.7 + data["age"] * 20
    before = data[["income", "spent"]].corr().iloc[0, 1]
    ps = []
    for share in (0.6, 0.95):
        result = rank_swap(data, ["income", "spent"], keep_correlation=share, seed=2)
        after = result.data[["income", "spent"]].corr().iloc[0, 1]
        assert after / before >= share
        ps.append(result.details["ranks"]["p"][0])
    assert ps[0] > ps[1]
    tight, loose = (rank_swap(data, ["income"], keep_means=k0, seed=2) for k0 in (0.4, 1.0))
    assert tight.details["ranks"]["p"][0] < loose.details["ranks"]["p"][0]
    moved = np.sqrt(np.square(tight.data["income"] - data["income"]).mean())
    assert moved <= 0.4 * data["income"].mean()


@pytest.mark.parametrize("p", [0.01, 0.05, 0.4])
def test_margins_and_ranks(p):
    data = people()
    before = data.copy(deep=True)
    result = rank_swap(data, ["income", "age", "rent"], p=p, seed=1)
    pd.testing.assert_frame_equal(data, before)
    assert list(result.data.dtypes) == list(data.dtypes)
    assert result.data.index.equals(data.index)
    assert result.data["area"].equals(data["area"])
    for name in ("income", "age", "rent"):
        assert sorted(result.data[name]) == sorted(data[name])
    moved = (result.data["income"].rank() - data["income"].rank()).abs()
    assert moved.max() <= int(p * 300)
    assert (moved == 0).sum() == result.details["ranks"]["not_swapped"][0] <= 1
    assert (result.data["income"] != data["income"]).sum() == (moved > 0).sum()


def test_correlation_with_the_original_against_the_reference():
    """The reference swaps the middle 90 percent; its values at P = 0.05 stay as near as ours."""
    reference = golden("sdc", "i3_rankswap.json")["results"]["P_0.05"][0]
    data = survey_data("testdata")
    names = ["expend", "income", "savings"]
    result = rank_swap(data, names, p=0.05, seed=1)
    found = result.details["ranks"].set_index("variable")
    for name in names:
        assert found.loc[name, "correlation"] == pytest.approx(
            reference[name]["cor_orig"], abs=0.002
        )
        assert found.loc[name, "reach"] == 229
        assert data[name].mean() == pytest.approx(result.data[name].mean(), rel=1e-12)


def test_larger_shares_move_further():
    data = people()
    correlations = [
        rank_swap(data, ["age"], p=p, seed=1).details["ranks"]["correlation"][0]
        for p in (0.02, 0.2, 0.9)
    ]
    assert correlations[0] > 0.99 > correlations[1] > 0.8 > correlations[2]


def test_strata_are_swapped_apart():
    data = people()
    result = rank_swap(data, ["income"], p=0.3, strata="area", seed=1)
    for area in ("n", "s"):
        inside = data["area"] == area
        assert sorted(result.data["income"][inside]) == sorted(data["income"][inside])
    assert not result.data.equals(rank_swap(data, ["income"], p=0.3, seed=1).data)


def test_a_stratum_keeps_its_draws_whatever_others_there_are():
    data = people()
    both = rank_swap(data, ["income"], p=0.3, strata="area", seed=1).data
    south = data[data["area"] == "s"]
    alone = rank_swap(south, ["income"], p=0.3, strata="area", seed=1).data
    assert both.loc[south.index, "income"].equals(alone["income"])


def test_seeds_repeat():
    data = people()
    first = rank_swap(data, ["income", "age"], seed=5)
    assert first.data.equals(rank_swap(data, ["income", "age"], seed=5).data)
    assert not first.data.equals(rank_swap(data, ["income", "age"], seed=6).data)
    alone = rank_swap(data, ["age"], seed=5)
    assert first.data["age"].equals(alone.data["age"])
    assert first.seed == 5
    assert isinstance(rank_swap(data, ["age"]).seed, int)


def test_missing_values_stay_in_place():
    data = people(40)
    data.iloc[[1, 5], 0] = np.nan
    data.iloc[3, 2] = pd.NA
    result = rank_swap(data, ["income", "rent"], p=0.2, seed=1)
    assert result.data.isna().equals(data.isna())
    assert result.data["rent"].dtype == "Int64"
    assert result.cells_suppressed == 0


def test_small_and_constant_files():
    for values in ([], [1.0], [2.0, 2.0, 2.0], [1.0, 2.0], [np.nan]):
        data = pd.DataFrame({"x": np.array(values, dtype=float)})
        result = rank_swap(data, ["x"], p=0.01, seed=1)
        assert sorted(result.data["x"].dropna()) == sorted(data["x"].dropna())
    assert rank_swap(pd.DataFrame({"x": [1.0, 2.0]}), "x", seed=1).data["x"].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"p": 5}, "not a percentage: for 5 percent give 0.05"),
        ({"p": 1}, "for 1 percent give 0.01"),
        ({"p": 0}, "not between 0 and 1"),
        ({"p": "a"}, "not between 0 and 1"),
        ({"variables": ["area"]}, "must be numeric"),
        ({"variables": ["incom"]}, "Did you mean 'income'"),
        ({"strata": "x"}, "not in the data"),
        ({"top": 0.7}, "between 0 and 0.5"),
        ({"p": 0.1, "keep_means": 0.2}, "exclude each other"),
        ({"keep_correlation": 0.5}, "needs two variables"),
        ({"keep_means": -1}, "a positive number"),
        ({"seed": -3}, "whole number of at least 0"),
    ],
)
def test_faults_are_named(options, text):
    with pytest.raises(InputError, match=text):
        rank_swap(people(20), **{"variables": ["income"], **options})


def test_a_constant_variable_has_no_correlation_to_print() -> None:
    text = rank_swap(pd.DataFrame({"x": [1.0] * 50}), ["x"], seed=1).summary()
    assert "nan" not in text
    assert "x undefined (it has one value)" in text
