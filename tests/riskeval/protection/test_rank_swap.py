"""Rank swapping: margins stay, ranks stay near, shares are shares."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels.rank_swapping import pair_ranks
from riskeval.protection.rank_swap import rank_swap
from synthpop.microdata.errors import InputError
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


def naive_pairs_allowed(partner: np.ndarray, reach: int) -> bool:
    ranks = np.arange(len(partner))
    mutual = all(partner[partner[i]] == i for i in ranks)
    alone = [i for i in ranks if partner[i] == i]
    nobody = all(abs(a - b) > reach for a in alone for b in alone if a != b)
    return mutual and nobody and bool((np.abs(partner - ranks) <= reach).all())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 99))
def test_pairs_are_mutual_near_and_leave_nobody_who_could_swap(n, reach, seed):
    partner = pair_ranks(n, reach, np.random.default_rng(seed))
    assert naive_pairs_allowed(partner, reach)
    same = pair_ranks.py_func(n, reach, np.random.default_rng(seed))
    assert partner.tolist() == same.tolist()


def test_partners_are_drawn_evenly():
    counts = np.bincount(
        [pair_ranks(10, 4, np.random.default_rng(s))[0] for s in range(4000)], minlength=10
    )
    assert (counts[1:5] > 880).all()
    assert counts.sum() == counts[1:5].sum()


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
    assert (moved == 0).sum() == result.details["ranks"]["not_swapped"][0] <= 3
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
    assert correlations[0] > 0.99 > correlations[1] > 0.7 > correlations[2]


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
        ({"seed": -3}, "negative"),
    ],
)
def test_faults_are_named(options, text):
    with pytest.raises(InputError, match=text):
        rank_swap(people(20), **{"variables": ["income"], **options})
