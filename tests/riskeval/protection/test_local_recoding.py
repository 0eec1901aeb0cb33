"""Local recoding by matching: groups, costs, hierarchies and households."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, protect, recover
from riskeval.kernels import matching
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden

KEYS = ["a", "b", "c"]


def people(n: int = 60, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, 4, n).astype(str) for name in KEYS})
    return frame.assign(h=np.arange(n) // 3)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_combination_has_k_records(k: int) -> None:
    frame = people()
    result = protect.local_recoding(frame, KEYS, k=k)
    sizes = result.data.groupby(KEYS, dropna=False).size()
    assert sizes.min() >= k
    assert frame.groupby(KEYS).size().min() < k
    same = result.data[KEYS].eq(frame[KEYS]) | result.data[KEYS].isna()
    assert same.all(axis=None)
    enough = frame.groupby(KEYS)["h"].transform("size") >= k + 1
    alone = result.details["group"] < 0
    assert not result.data.loc[alone & enough, KEYS].isna().any(axis=None)


def cheapest(frame: pd.DataFrame) -> int:
    """Fewest differences of all ways to make pairs."""
    rows = frame.to_numpy()

    def best(left: tuple[int, ...]) -> int:
        if not left:
            return 0
        first, *rest = left
        return min(
            int((rows[first] != rows[other]).sum())
            + best(tuple(one for one in rest if one != other))
            for other in rest
        )

    return best(tuple(range(len(rows))))


def test_pairs_are_nearly_as_cheap_as_the_best_ones() -> None:
    ours, best = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        codes = rng.permutation(list(itertools.product(range(3), repeat=3)))[:8]
        frame = pd.DataFrame(codes, columns=KEYS).astype(str)
        ours += protect.local_recoding(frame, KEYS).details["cost"]
        best += cheapest(frame)
    assert best <= ours <= 1.1 * best


def test_the_published_matching() -> None:
    """Edmonds' matching suppresses 114 cells of 92 records and leaves one alone."""
    frame = golden("sdc", "j7_localrecprog_testdata2.parquet")
    keys = ["urbrur", "roof", "walls", "water", "sex", "relat"]
    assert int((frame[[f"{key}_lr" for key in keys]] == -99).sum().sum()) == 114
    result = protect.local_recoding(frame[keys], keys)
    assert result.data.groupby(keys, dropna=False).size().min() == 2
    assert result.cells_suppressed <= 1.1 * 114


def test_hierarchies_are_climbed_as_far_as_needed() -> None:
    frame = pd.DataFrame({"zip": ["1010", "1020", "2010", "2020"], "sex": [*"mmmm"]})
    levels = {"zip": [{"1010": "1", "1020": "1", "2010": "2", "2020": "2"}, "*"]}
    result = protect.local_recoding(frame, ["zip", "sex"], hierarchies=levels)
    assert result.data["zip"].astype(str).tolist() == ["1", "1", "2", "2"]
    assert protect.local_recoding(frame, ["zip", "sex"]).data["zip"].isna().all()


def test_importance_saves_the_important_key() -> None:
    frame = people(40, seed=5)
    plain, saved = (
        protect.local_recoding(frame, KEYS, importance=importance).changes.set_index("column")
        for importance in (None, {"a": 1, "b": 2, "c": 3})
    )
    assert saved.loc["a", "cells"] < plain.loc["a", "cells"]


class TestHouseholds:
    def test_members_are_never_matched_with_one_another(self) -> None:
        frame = pd.DataFrame({"a": [*"xxyzz"], "h": [1, 1, 2, 3, 3]})
        assert protect.local_recoding(frame, ["a"]).data["a"].notna().sum() == 2
        result = protect.local_recoding(frame, ["a"], household="h")
        assert result.data["a"].isna().all()

    def test_household_variables_are_recoded_for_all_members(self) -> None:
        frame = people(90, seed=2)
        frame["a"] = frame.groupby("h")["a"].transform("first")
        plain = protect.local_recoding(frame, KEYS).data
        assert (plain["a"].isna().groupby(frame["h"]).nunique() > 1).any()
        result = protect.local_recoding(frame, KEYS, household="h", household_variables=["a"])
        assert (result.data["a"].isna().groupby(frame["h"]).nunique() == 1).all()
        homes = result.data.groupby(KEYS, dropna=False)["h"].nunique()
        assert homes.min() >= 2
        cells = result.details["recovery"].cells
        assert not (cells["source"] == "household").any()

    def test_what_is_read_back_is_shown_and_other_keys_are_hidden(self) -> None:
        frame = people(240, seed=3)
        frame["d"] = frame["a"].map({"0": "p", "1": "q", "2": "r", "3": "s"})  # tells a
        frame = frame.sample(frac=1, random_state=1, ignore_index=True)
        bare = protect.local_recoding(frame[[*KEYS, "h"]], KEYS, k=3, household="h")
        assert "read back" not in bare.summary()
        result = protect.local_recoding(frame, KEYS, k=3, household="h")
        assert "8 further values became missing and 15 are shown again" in result.summary()
        assert result.details["recovery"].n_right == 0
        assert recover(result.data, keys=KEYS, k=3, household="h", original=frame).below[1] == 0
        assert result.data["a"].isna().sum() < bare.data["a"].isna().sum()

    def test_whole_households_are_matched(self) -> None:
        frame = people(240, seed=3)[["h", "b", "c"]].assign(b=lambda x: x["b"].where(x["b"] < "2"))
        frame["b"] = frame["b"].fillna("0")

        def smallest(data: pd.DataFrame) -> int:
            members = data.astype(object).fillna("?").sort_values(["h", "b"])
            return int(members.groupby("h")["b"].agg("".join).value_counts().min())

        plain = protect.local_recoding(frame, ["b"], k=15, household="h").data
        whole = protect.local_recoding(frame, ["b"], k=15, household="h", household_keys=["b"])
        assert smallest(plain) < 15 <= smallest(whole.data)
        assert "every household has the members of at least 15" in whole.summary()
        assert 0 < whole.cells_suppressed < 60
        with pytest.raises(InputError, match="without a household"):
            protect.local_recoding(frame, ["b"], household_keys=["b"])

    def test_the_session_fills_in_its_roles(self) -> None:
        frame = people(90, seed=2)
        session = ProtectionSession(frame, keys=KEYS, household="h")
        result = session.local_recoding(k=2)
        assert result.parameters["household"] == "h"
        assert result.parameters["keys"] == KEYS


def test_blocks_and_spare_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riskeval.protection.near_records.BLOCK", 7)
    frame = pd.concat([people(50), pd.DataFrame([["0", "0", "0", 99]] * 9, columns=[*KEYS, "h"])])
    result = protect.local_recoding(frame.reset_index(drop=True), KEYS, k=3)
    assert result.data.groupby(KEYS, dropna=False).size().min() >= 3


def test_faults_together() -> None:
    with pytest.raises(InputError) as caught:
        protect.local_recoding(people(), ["a", "a"], k=1, hierarchies={"x": ["*"]})
    text = str(caught.value)
    assert all(part in text for part in ("named twice", "k: is 1", "'x' is not a key"))
    with pytest.raises(InputError, match="without a household"):
        protect.local_recoding(people(), KEYS, household_variables=["a"])
    with pytest.raises(InputError, match="says nothing about"):
        protect.local_recoding(people(), KEYS, hierarchies={"a": [{"0": "low"}]})


def test_compiled_and_plain_kernels_agree() -> None:
    rng = np.random.default_rng(1)
    gap = rng.integers(0, 9, (12, 12)).astype(float)
    gap = gap + gap.T
    needs = rng.random(12) < 0.7
    results = []
    for function in (matching.improve_pairs, matching.improve_pairs.py_func):
        pairs = np.arange(12).reshape(6, 2)
        function(pairs, gap, needs)
        results.append(pairs)
    np.testing.assert_array_equal(*results)
    assert np.sort(results[0].ravel()).tolist() == list(range(12))
