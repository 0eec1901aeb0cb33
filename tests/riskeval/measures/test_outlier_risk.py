"""Outliers of numeric keys in one raw file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import outlier_risk
from synthpop.microdata.messages.errors import InputError


def incomes(n=200):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"income": rng.normal(2_000, 100, n), "age": rng.integers(20, 80, n)})
    data["region"] = np.where(np.arange(n) < n // 2, "north", "south")
    return data


def test_a_lonely_large_value_is_isolated_and_a_crowd_is_not():
    data = incomes()
    data.loc[[0, 1], "income"] = [50_000.0, 51_000.0]
    data.loc[2, "income"] = 90_000.0
    risk = outlier_risk(data, "income", percentile=0.98)
    assert risk.isolated.nonzero()[0].tolist() == [2]
    assert risk.above[[0, 1, 2]].all()
    assert risk.above.sum() == 4
    assert outlier_risk(data, "income", percentile=0.98, reach=0.01).isolated[:3].all()
    assert "For 1 of them no other value lies within 5 %" in risk.summary()


def test_the_percentile_is_that_of_the_guide():
    data = incomes()
    risk = outlier_risk(data, ["income", "age"], percentile=0.9)
    for row in risk.per_variable.itertuples():
        limit = np.quantile(data[row.variable], 0.9)
        assert row.threshold == pytest.approx(limit)
        assert row.above == (data[row.variable] >= limit).sum()
    either = (data[["income", "age"]] >= data[["income", "age"]].quantile(0.9)).any(axis=1)
    np.testing.assert_array_equal(risk.above, either)


def test_groups_have_percentiles_of_their_own():
    data = incomes()
    data.loc[data["region"] == "south", "income"] += 10_000
    data.loc[5, "income"] = 4_000.0  # the largest of the north, small in the country
    whole = outlier_risk(data, "income")
    within = outlier_risk(data, "income", by="region")
    assert not whole.above[5]
    assert within.above[5]
    assert within.isolated[5]
    assert np.isnan(within.per_variable.loc[0, "threshold"])


def test_missing_values_and_dominance():
    data = pd.DataFrame({"turnover": [1.0, 1.0, np.nan, 98.0]})
    risk = outlier_risk(data, "turnover")
    assert risk.per_variable.loc[0, "values"] == 3
    assert risk.per_variable.loc[0, "largest_share"] == pytest.approx(0.98)
    assert risk.above.tolist() == [False, False, False, True]
    empty = outlier_risk(data.iloc[:0], "turnover")
    assert len(empty.above) == 0


def test_faults_together():
    with pytest.raises(InputError) as caught:
        outlier_risk(incomes(), ["incme", "region"], percentile=1, reach=0, by="regoin")
    text = str(caught.value)
    for part in ("incme", "region", "percentile", "reach", "regoin"):
        assert part in text
