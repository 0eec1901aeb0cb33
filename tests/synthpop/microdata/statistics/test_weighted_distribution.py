"""Weighted distribution functions."""

import numpy as np
import pandas as pd
import pytest

from synthpop import InputError, weighted


def test_it_is_the_share_at_most_each_value_in_each_group():
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 9, 200).astype(float), rng.uniform(1, 3, 200)
    x[:20] = np.nan
    group = pd.Series(rng.choice(["b", "a", None], 200))
    table = weighted.distribution(x, w, by=group)
    assert list(table.columns) == ["a", "b"]
    assert (table.diff().dropna() >= 0).all().all()
    np.testing.assert_allclose(table.iloc[-1], 1.0)
    rows = (group == "b").to_numpy() & ~np.isnan(x)
    expected = w[rows & (x <= 4)].sum() / w[rows].sum()
    assert table.loc[4.0, "b"] == pytest.approx(expected)
    everybody = weighted.distribution(x, w, at=[4])
    expected = w[x <= 4].sum() / w[~np.isnan(x)].sum()
    assert everybody.loc[4.0, "all"] == pytest.approx(expected)


def test_a_level_without_values_has_no_distribution():
    group = pd.Categorical(["a", "b"], categories=["b", "a", "c"])
    table = weighted.distribution([1.0, np.nan], by=group)
    assert list(table.columns) == ["b", "a", "c"]
    assert table[["b", "c"]].isna().all().all()
    assert table["a"].tolist() == [1.0]


def test_lengths_that_differ_are_refused():
    with pytest.raises(InputError, match="by"):
        weighted.distribution([1.0, 2.0], by=["a"])
    with pytest.raises(InputError):
        weighted.distribution([1.0, 2.0], [1.0])
