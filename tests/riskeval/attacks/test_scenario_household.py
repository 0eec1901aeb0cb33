"""Attacks on households: matched by the keys of all members, in any order."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.attacks.matching.household import WholeHouseholds, marks_of, runs_of
from riskeval.attacks.matching.scenarios import IntruderRisk, intruder_scenarios
from riskeval.attacks.scenario import Scenario
from riskeval.kernels import scenarios as kernels
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.runs.chunks import open_chunks
from tests.riskeval.attacks.naive_scenarios import naive_households


def intruder(**options: object) -> Scenario:
    given_by_default = {"accuracy": 0.1, "unit": "household", "household": "h"}
    return Scenario("k", "y", **{**given_by_default, **options})  # type: ignore[arg-type]


def sample() -> pd.DataFrame:
    """1 and 3 have the same members, 2 is alone of its kind, and so is 4."""
    return pd.DataFrame(
        {
            "h": [1, 1, 2, 2, 2, 3, 3, 4],
            "k": ["m", "f", "f", "m", "c", "f", "m", "f"],
            "y": [10.0, 20.0, 30.0, 40.0, math.nan, 50.0, 60.0, 70.0],
            "w": [2.0, 2.0, 5.0, 5.0, 5.0, 9.0, 9.0, 3.0],
        }
    )


def population() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "h": [7, 7, 7, 8, 8, 8, 9, 9, 10],
            "k": ["c", "f", "m", "m", "c", "f", "f", "m", "m"],
            "y": [0.0, 30.5, 99.0, 1.0, 2.0, 29.5, 10.0, 20.0, 3.0],
        }
    )


def tau(risk: IntruderRisk, scenario: int = 4) -> float:
    return float(risk.table.set_index("scenario").loc[scenario, "tau"])


class TestWorkedByHand:
    def test_any_and_every_member(self) -> None:
        """Household 2 has two matches, both women with 30, the men with 99 and 1."""
        risk = intruder_scenarios(sample(), population(), intruder())
        assert tau(risk) == 1
        assert tau(risk, 2) == 0
        assert (risk.n_sample, risk.n_unique, risk.n_looked_for) == (4, 2, 2)
        assert risk.n_missing_target == 0  # the child of household 2 has no value, others have
        assert risk.n_unmatched == 1  # a woman alone is not in the population
        assert risk.table["rate"].iloc[3] == pytest.approx(1 / 4)
        lacking = sample().assign(y=sample()["y"].where(sample()["h"] != 4))
        assert intruder_scenarios(lacking, population(), intruder()).n_missing_target == 1
        every = intruder_scenarios(sample(), population(), intruder(members="every"))
        assert tau(every) == 0
        close = population().assign(y=[0.0, 30.5, 40, 41, 2, 29.5, 10, 20, 3])
        assert tau(intruder_scenarios(sample(), close, intruder(members="every"))) == 1

    def test_one_match(self) -> None:
        risk = intruder_scenarios(sample(), population().iloc[3:], intruder())
        assert tau(risk, 2) == 1

    def test_per_record(self) -> None:
        frame = intruder_scenarios(sample(), population(), intruder()).per_record
        assert frame["n_matches"].isna().tolist() == [True, True, *[False] * 3, True, True, False]
        assert frame["n_matches"].dropna().tolist() == [2, 2, 2, 0]
        assert frame["scenario_4_0.1"].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
        assert frame["sample_unique"].tolist() == frame["n_matches"].notna().tolist()

    def test_everyone_and_rows(self) -> None:
        risk = intruder_scenarios(sample(), population(), intruder(who="everyone"))
        assert risk.n_looked_for == 4
        assert risk.per_record["n_matches"].tolist() == [1, 1, 2, 2, 2, 1, 1, 0]
        rows = sample().assign(r=[False, True, False, False, False, False, False, True])
        asked = intruder(who="everyone", rows="r")
        risk = intruder_scenarios(rows, population(), asked)
        assert risk.n_looked_for == 2
        assert risk.per_record["n_matches"].notna().tolist() == [True, True, *[False] * 5, True]

    def test_weights_of_households(self) -> None:
        risk = intruder_scenarios(sample(), population(), intruder(), weights="w")
        row = risk.table.set_index("scenario").loc[4]
        assert row["tau_weighted"] == 5
        assert row["tau_expected"] == pytest.approx(1 / 5)
        assert row["rate_weighted"] == pytest.approx(5 / 19)
        assert risk.per_record["alone"].iloc[[2, 7]].tolist() == pytest.approx([1 / 5, 1 / 3])

    def test_members_with_the_same_keys_are_looked_at_together(self) -> None:
        twins = pd.DataFrame({"h": [1, 1], "k": ["c", "c"], "y": [10.0, 20.0]})
        alike = pd.DataFrame({"h": [5, 5], "k": ["c", "c"], "y": [10.0, 20.0]})
        assert tau(intruder_scenarios(twins, alike, intruder())) == 0
        same = alike.assign(y=10.0)
        assert tau(intruder_scenarios(twins, same, intruder())) == 1

    def test_probabilities_of_intervals(self) -> None:
        wide = population().iloc[3:6].assign(low=[30.0, 0.0, 20.0], high=[50.0, 9.0, 40.0])
        asked = {"intervals": ("low", "high"), "scenarios": (1,)}
        some = intruder_scenarios(sample(), wide, intruder(), **asked)
        man, woman = 8 / 20, 6 / 20  # 36 ... 44 of 30 ... 50 and 27 ... 33 of 20 ... 40
        assert tau(some, 1) == pytest.approx(1 - (1 - man) * (1 - woman))
        every = intruder_scenarios(sample(), wide, intruder(members="every"), **asked)
        assert tau(every, 1) == pytest.approx(man * woman)

    def test_categories_and_true_zeros(self) -> None:
        files = [frame.assign(t=np.where(frame["y"] < 35, "low", "high")) for frame in
                 (sample(), population())]  # fmt: skip
        asked = Scenario("k", "t", unit="household", household="h", members="every")
        risk = intruder_scenarios(*files, asked)
        assert tau(risk, 3) == pytest.approx(1 * 0.5 * 0)  # woman, man, child
        assert risk.table["tau_baseline"].notna().all()
        zeros = sample().assign(y=[0, 0, 0, 0, math.nan, 1, 1, 1])
        nothing = population().assign(y=0.0)
        found = intruder_scenarios(zeros, nothing, intruder()).table
        assert found["tau_zero"].tolist()[3] == 1

    def test_scenario_5_and_holdout(self) -> None:
        risk = intruder_scenarios(
            sample(), population(), intruder(), holdout=sample().iloc[2:], scenarios=(4, 5)
        )
        assert risk.table["n_holdout"].tolist() == [3, 3]
        assert risk.table["rate_holdout"].tolist()[0] == pytest.approx(1 / 3)
        alone = intruder_scenarios(sample(), population(), intruder(), scenarios=(5,))
        people = intruder_scenarios(
            sample(), population(), Scenario("k", "y", who="everyone", accuracy=0.1), scenarios=(5,)
        )
        by_household = people.per_record["scenario_5_0.1"].groupby(sample()["h"]).max()
        assert tau(alone, 5) == by_household[[2, 4]].sum()

    def test_words(self) -> None:
        text = intruder_scenarios(sample(), population(), intruder()).summary()
        assert "2 of the 4 sample households are unique" in text
        assert "households whose y is found" in text
        assert "counts when this is so for any member" in text


class TestStreams:
    def test_blocks_may_end_within_a_household(self, monkeypatch: pytest.MonkeyPatch) -> None:
        expected = intruder_scenarios(sample(), population(), intruder()).table
        for cuts in ([1, 4], [2, 5, 5, 8], [3], [4, 5]):
            edges = [0, *cuts, 9]
            blocks = [population().iloc[a:b] for a, b in pairwise(edges)]
            found = intruder_scenarios(sample(), blocks, intruder())
            pd.testing.assert_frame_equal(found.table, expected)
            assert found.n_population == 9
        for rows in (1, 2, 3, 4, 8):
            monkeypatch.setattr("riskeval.attacks.matching.request.CHUNK", rows)
            found = intruder_scenarios(sample(), population(), intruder())
            pd.testing.assert_frame_equal(found.table, expected)

    @pytest.mark.parametrize("rows", range(1, 8))
    def test_chunks_hold_whole_households_and_every_row(self, rows: int) -> None:
        frame = pd.DataFrame({"h": np.repeat([5, 3, 9, 1], [3, 1, 4, 2])})
        for cut in range(len(frame)):
            whole = WholeHouseholds("h")
            blocks = open_chunks([frame.iloc[:cut], frame.iloc[cut:]], rows=rows)
            chunks = [chunk for block in blocks for chunk in whole.cut(block)]
            chunks += list(whole.finish())
            assert pd.concat(chunks)["h"].tolist() == frame["h"].tolist()
            assert sum(chunk["h"].nunique() for chunk in chunks) == 4
            assert max(len(chunk) for chunk in chunks) <= 2 * rows + 4

    def test_the_sample_may_be_in_any_order(self) -> None:
        mixed = sample().sample(frac=1, random_state=2)
        found = intruder_scenarios(mixed, population(), intruder())
        expected = intruder_scenarios(sample(), population(), intruder())
        pd.testing.assert_frame_equal(found.table, expected.table)

    def test_torn_households(self) -> None:
        torn = population().iloc[[0, 3, 1, 2, 4, 5, 6, 7, 8]]
        with pytest.raises(InputError, match="members of 2 households do not stand one after"):
            intruder_scenarios(sample(), torn, intruder())
        with pytest.raises(InputError, match="Sort the population by household"):
            intruder_scenarios(sample(), [torn.iloc[:4], torn.iloc[4:]], intruder())

    def test_numbers_of_households_that_are_missing(self) -> None:
        lacking = population().assign(h=population()["h"].where(population()["h"] != 8))
        with pytest.raises(InputError, match="household is missing"):
            intruder_scenarios(sample(), lacking, intruder())
        own = sample().assign(h=sample()["h"].where(sample()["h"] != 2))
        with pytest.raises(InputError, match="household is missing in the sample"):
            intruder_scenarios(own, population(), intruder())
        with pytest.raises(InputError, match="household of the population"):
            intruder_scenarios(sample(), population().drop(columns="h"), intruder())


@st.composite
def files(draw):
    def people(largest: int) -> pd.DataFrame:
        sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=largest))
        n = sum(sizes)
        keys = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=n, max_size=n))
        values = st.sampled_from([10.0, 10.5, 20.0, 0.0, math.nan])
        return pd.DataFrame(
            {
                "h": np.repeat(np.arange(len(sizes)), sizes),
                "k": [*keys],
                "y": draw(st.lists(values, min_size=n, max_size=n)),
            }
        )

    own, other = people(6), people(8)
    both = pd.DataFrame({"h": [99], "k": ["z"], "y": [10.0]})
    return pd.concat([own, both], ignore_index=True), pd.concat([other, both], ignore_index=True)


@settings(max_examples=15, deadline=None)
@given(
    files(),
    st.sampled_from(["any", "every"]),
    st.sampled_from(["sample uniques", "everyone"]),
    st.sampled_from(["wildcard", "category"]),
)
def test_agrees_with_loops_over_households(both, members: str, who: str, missing: str) -> None:
    own, other = both
    asked = intruder(members=members, who=who)
    risk = intruder_scenarios(own, other, asked, scenarios=(2, 4), missing=missing)
    expected = naive_households(own, other, ["k"], "y", "h", 0.1, members, who, missing)
    for scenario in (2, 4):
        assert tau(risk, scenario) == pytest.approx(expected[scenario])


def test_missing_keys_that_match_nothing() -> None:
    own = pd.DataFrame({"h": [1, 1, 2], "k": ["a", None, "a"], "y": [1.0, 1.0, 1.0]})
    assert tau(intruder_scenarios(own, own, intruder())) == 2
    unmatched = intruder_scenarios(own, own, intruder(), missing="unmatched")
    assert tau(unmatched) == 1
    assert unmatched.n_unique == 1


def test_households_with_the_same_mark_are_told_apart() -> None:
    """Compiled and plain kernels agree, also where all marks are made equal."""
    starts = np.array([0, 2, 4, 5, 7])
    states = np.array([1, 0, 0, 0, 2, 0, 1])
    marks = marks_of(states, starts)
    plain = np.empty(4, dtype=np.int64)
    kernels.mark_households.py_func(states, starts, plain)
    np.testing.assert_array_equal(marks, plain)
    assert marks[0] == marks[3]
    assert len(set(marks)) == 3
    begin, members = np.array([0, 2, 4]), np.array([0, 0, 0, 1])
    slots = np.array([4, 4, 5, 6])
    for function in (kernels.find_households, kernels.find_households.py_func):
        count, found = np.zeros(2, dtype=np.int64), np.empty(7, dtype=np.int64)
        function(
            states, starts, np.full(4, 8), np.array([8, 8]), begin, members, slots, count, found
        )
        assert count.tolist() == [1, 2]
        assert found.tolist() == [6, 5, 4, 4, -1, 5, 6]


def test_runs() -> None:
    assert runs_of(pd.Series([2, 2, 1, 2])).tolist() == [0, 2, 3, 4]
    assert runs_of(pd.Series([], dtype=float)).tolist() == [0]


def test_a_household_without_a_value_is_no_second_match() -> None:
    own = pd.DataFrame({"h": [1, 2], "k": [None, "z"], "y": [10.0, 10.0]})
    other = pd.DataFrame({"h": [1, 2, 3], "k": [None, None, "z"], "y": [10.0, math.nan, 10.0]})
    asked = intruder(members="any", who="everyone")
    risk = intruder_scenarios(own, other, asked, scenarios=(2, 4), missing="wildcard")
    assert (tau(risk, 2), tau(risk, 4)) == (2.0, 2.0)
    risk = intruder_scenarios(own, other, asked, scenarios=(2, 4), missing="category")
    assert tau(risk, 2) == 1.0
