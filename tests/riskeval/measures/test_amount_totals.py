"""Totals that one unit dominates, and records that their amounts single out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import Limits, assess
from riskeval.measures.dominance import dominance
from riskeval.measures.shared_amounts import shared_amounts
from synthpop.microdata.messages.errors import InputError


def naive(values, p, n, k):
    """Both rules as the book writes them: sorted amounts x1 >= x2 >= ... of one total."""
    x = sorted((abs(v) for v in values if v == v and v != 0), reverse=True)
    total, second = sum(x), x[1] if len(x) > 1 else 0
    return total - second - x[0] < p / 100 * x[0], sum(x[:n]) > k / 100 * total


def test_two_large_firms_and_some_small_ones_by_hand():
    firms = pd.DataFrame({"sales": [52_000, 50_000, 5_000, 3_000]})
    row = dominance(firms, "sales", p=15, n=2, k=90).table.iloc[0]
    assert row["total"] == 110_000
    assert row["estimate_within"] == pytest.approx(100 * 8_000 / 52_000)  # 15.4 %: p = 15 allows it
    assert (row["p_percent"], row["n_k"]) == (False, True)  # 102 of 110 are 92.7 %
    assert dominance(firms, "sales", p=16, n=2, k=93).table.iloc[0]["p_percent"]


def test_rules_by_group_are_those_of_the_book():
    rng = np.random.default_rng(1)
    firms = pd.DataFrame({"sales": rng.lognormal(5, 2, 300) * rng.choice([-1, 1], 300),
                          "nace": rng.integers(0, 60, 300)})  # fmt: skip
    firms.loc[::40, "sales"] = np.nan
    found = dominance(firms, "sales", by="nace", p=20, n=2, k=85)
    for row in found.table.itertuples():
        values = firms.loc[firms["nace"] == row.nace, "sales"]
        assert (row.p_percent, row.n_k) == naive(values, 20, 2, 85)
    broken = found.table.loc[found.table["p_percent"] | found.table["n_k"], "nace"]
    assert set(firms.loc[found.told, "nace"]) == set(broken)
    assert found.told.sum() == len(broken)


def test_plants_of_an_enterprise_count_as_one_and_weights_as_so_many():
    plants = pd.DataFrame({"sales": [40.0, 40, 10, 10], "firm": [*"AABC"], "w": [1.0, 1, 1, 3]})
    assert not dominance(plants, "sales").table.loc[0, "n_k"]
    joined = dominance(plants, "sales", household="firm")
    assert joined.table.loc[0, "largest_share"] == pytest.approx(0.8)
    assert joined.told.tolist() == [True, True, False, False]
    weighted = dominance(plants, "sales", weights="w")
    assert weighted.table.loc[0, "total"] == 120
    sampled = plants.assign(w=[5.0, 5, 1, 1])  # somebody else is as large: nothing is told
    assert dominance(sampled.iloc[[0, 2]], "sales", p=400, weights="w").table.loc[0, "n_k"] == False  # noqa: E712


def test_amounts_that_others_share():
    firms = pd.DataFrame({"a": [1.0, 1, 1, 2, np.nan, np.nan], "b": [1, 1, 1, 1, 1, 1]})
    assert shared_amounts(firms, ["a", "b"]).f.tolist() == [3, 3, 3, 1, 2, 2]
    assert shared_amounts(firms, "a").below == 3
    assert shared_amounts(firms, "a", k=2).below == 1
    assert "3 of 6 records (50.00 %)" in shared_amounts(firms, "a").summary()


def test_a_raw_file_of_amounts_is_not_clear_and_a_file_of_groups_is():
    rng = np.random.default_rng(2)
    firms = pd.DataFrame(rng.lognormal(9, 1, (60, 2)).round(), columns=["sales", "staff"])
    raw = assess(firms, numeric=["sales", "staff"])
    assert raw.verdict.level == "exceeds your limits"
    assert any("no categorical key is named" in text for text in raw.verdict.not_tried)
    alike = pd.concat([firms] * 4)
    assert assess(alike, numeric=["sales", "staff"]).verdict.level.startswith("no objection")
    few = assess(alike, numeric=["sales", "staff"], limits=Limits(k=5))
    assert few.verdict.level == "exceeds your limits"
    options = {"dominance": {"k": 1.0}}
    dominated = assess(alike, numeric=["sales"], options=options)
    assert "Dominated totals" in dominated.exceeded["number"].tolist()


def test_faults_are_named_together():
    firms = pd.DataFrame({"sales": [1.0], "name": ["a"]})
    with pytest.raises(InputError) as problem:
        dominance(firms, "name", by="region", p=-1)
    assert len(problem.value.faults) == 3
    with pytest.raises(InputError, match="no key is given"):
        assess(firms)
