"""Several targets, targets of categories, and records that are not unique."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.attacks.matching.scenarios import IntruderRisk, intruder_scenarios
from riskeval.attacks.scenario import Scenario
from riskeval.kernels import scenarios as kernels
from synthpop.microdata.messages.errors import InputError
from tests.riskeval.attacks.naive_scenarios import naive_categories, naive_numbers


def sample() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "k": ["A", "B", "C", "D", "E", "E"],
            "y": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0],
            "ill": ["no", "yes", "no", None, "no", "yes"],
            "code": [1, 2, 1, 1, 2, 2],
            "w": [2.0, 4.0, 5.0, 10.0, 3.0, 3.0],
        }
    )


def population() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "k": ["A", "A", "A", "B", "C", "C", "D", "E"],
            "y": [10.0, 10.2, 9.9, 20.1, 30.0, 90.0, 5.0, 50.0],
            "ill": ["no", "no", "yes", "yes", None, "no", "no", "no"],
            "code": [1, 1, 2, 2, 1, 1, 1, 2],
        }
    )


def taus(risk: IntruderRisk, name: str = "tau") -> dict[tuple[object, ...], float]:
    by = [item for item in ("target", "scenario") if item in risk.table]
    return risk.table.set_index(by)[name].to_dict()


class TestCategories:
    def test_worked_by_hand(self) -> None:
        """A: 2 of 3 no; B: one match, yes; C: one of two is missing, which is not a level; D: no
        true value; E twice in the sample."""
        risk = intruder_scenarios(sample(), population(), "k", "ill", missing="category")
        assert taus(risk) == pytest.approx({1: 1, 2: 1, 3: 2 / 3 + 1 + 1 / 2, 4: 1, 5: 3})
        assert risk.table["accuracy"].isna().all()
        assert risk.table["n_attacked"].tolist() == [1, 1, 3, 3, 3]
        assert risk.n_missing_target == 1
        assert taus(risk, "tau_baseline") == {1: 0, 2: 0, 3: 2, 4: 2, 5: 2}
        assert taus(risk, "rate_baseline")[3] == pytest.approx(2 / 6)

    def test_a_match_without_a_level_says_nothing_beside_others(self) -> None:
        risk = intruder_scenarios(sample(), population(), "k", "ill")
        assert taus(risk) == pytest.approx({1: 2, 2: 2, 3: 2 / 3 + 1 + 1, 4: 2, 5: 3})

    def test_per_record(self) -> None:
        frame = intruder_scenarios(
            sample(), population(), "k", "ill", missing="category"
        ).per_record
        assert frame["predicted"].tolist() == ["no", "yes", "no", "no", "no", "no"]
        assert frame["scenario_3"].tolist() == pytest.approx([2 / 3, 1, 0.5, 0, 0, 0])
        assert frame["target"].iloc[1] == "yes"

    def test_numbers_that_are_codes(self) -> None:
        as_codes = Scenario("k", "code", categorical="code")
        risk = intruder_scenarios(sample(), population(), as_codes)
        assert taus(risk)[4] == 3  # B, C and D; of A one match differs
        plain = intruder_scenarios(sample(), population(), "k", "code")
        assert plain.table["accuracy"].tolist()[:3] == [0.01, 0.02, 0.05]

    def test_true_and_false(self) -> None:
        files = [frame.assign(ill=frame["ill"] == "yes") for frame in (sample(), population())]
        assert taus(intruder_scenarios(*files, "k", "ill"))[2] == 2  # B and D

    def test_no_level_in_common(self) -> None:
        other = population().assign(ill=population()["ill"].map({"no": "non", "yes": "oui"}))
        with pytest.raises(InputError, match=r"ill: sample and population have no level in common"):
            intruder_scenarios(sample(), other, "k", "ill")

    def test_intervals_are_for_numbers(self) -> None:
        with pytest.raises(InputError, match="is a category, which has no intervals"):
            intruder_scenarios(sample(), population(), "k", "ill", intervals=("y", "y"))

    def test_summary(self) -> None:
        text = intruder_scenarios(sample(), population(), "k", "ill", missing="category").summary()
        assert "records whose ill is found, of all in the sample: 1 (16.67 %), guessing" in text
        assert "Scenario 3 (all matches in the synthetic population, one of them at random" in text

    def test_levels_that_blocks_bring(self) -> None:
        whole = taus(
            intruder_scenarios(sample(), population(), "k", "ill", missing="category"),
            "tau_baseline",
        )
        blocks = [population().iloc[4:], population().iloc[:4]]
        blocks[0] = blocks[0].assign(ill=blocks[0]["ill"].where(blocks[0]["k"] != "C", "new"))
        parts = taus(
            intruder_scenarios(sample(), blocks, "k", "ill", missing="category"), "tau_baseline"
        )
        assert parts == whole


class TestSeveralTargets:
    def test_each_is_as_alone(self) -> None:
        asked = {"weights": "w", "holdout": sample().head(3)}
        both = intruder_scenarios(sample(), population(), "k", ["y", "ill"], **asked)
        for target in ("y", "ill"):
            alone = intruder_scenarios(sample(), population(), "k", target, **asked)
            rows = both.table[both.table["target"] == target].reset_index(drop=True)
            columns = [name for name in alone.table if name in rows]
            assert len(columns) == len(alone.table.columns)
            pd.testing.assert_frame_equal(rows[columns], alone.table, check_dtype=False)
            for name in ("target", "predicted"):
                pd.testing.assert_series_equal(
                    both.per_record[f"{name}_{target}"], alone.per_record[name], check_names=False
                )
        assert "scenario_4_0.05_y" in both.per_record
        assert "scenario_4_ill" in both.per_record
        assert both.target == "y, ill"

    def test_intervals_by_target(self) -> None:
        wide = population().assign(low=population()["y"] - 5, high=population()["y"] + 5)
        mapped = intruder_scenarios(
            sample(), wide, "k", ["y", "code"], intervals={"y": ("low", "high")}
        )
        alone = intruder_scenarios(sample(), wide, "k", "y", intervals=("low", "high"))
        rows = mapped.table[mapped.table["target"] == "y"]
        assert rows["tau"].tolist() == alone.table["tau"].tolist()
        others = mapped.table[(mapped.table["target"] == "code")]
        assert others["note"].str.contains("needs the intervals").sum() == 6

    def test_faults(self) -> None:
        with pytest.raises(InputError, match="one pair is given for several targets"):
            intruder_scenarios(sample(), population(), "k", ["y", "code"], intervals=("y", "y"))
        with pytest.raises(InputError, match="'z' is not a target"):
            intruder_scenarios(sample(), population(), "k", "y", intervals={"z": ("y", "y")})
        with pytest.raises(InputError, match="need intervals, none are given for code"):
            intruder_scenarios(
                sample(), population().assign(l=0.0, h=1.0), "k", ["y", "code"], scenarios=[1],
                intervals={"y": ("l", "h")},
            )  # fmt: skip
        with pytest.raises(InputError, match="target: is not given"):
            intruder_scenarios(sample(), population(), "k")

    def test_words(self) -> None:
        text = intruder_scenarios(sample(), population(), "k", ["y", "ill"]).summary()
        assert "1 have no true value of at least one of y, ill" in text
        assert "records whose ill is found" in text
        assert "records whose y is found" in text


KEYS = st.sampled_from(["a", "b", None])
LEVELS = st.sampled_from(["p", "q", "r", None])
VALUES = st.sampled_from([0.0, 10.0, 10.5, -10.0, math.nan])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(KEYS, LEVELS, VALUES), max_size=8),
    st.lists(st.tuples(KEYS, LEVELS, VALUES), max_size=10),
    st.sampled_from(["sample uniques", "everyone"]),
    st.sampled_from(["wildcard", "category"]),
)
def test_agrees_with_loops(own: list[tuple], other: list[tuple], who: str, missing: str) -> None:
    names = ["k", "t", "y"]
    ours = pd.DataFrame([*own, ("z", "p", 10.0)], columns=names)
    theirs = pd.DataFrame([*other, ("z", "p", 10.0)], columns=names)
    intruder = Scenario("k", ["t", "y"], who=who, accuracy=0.1)
    risk = intruder_scenarios(ours, theirs, intruder, missing=missing)
    table = risk.table.set_index(["target", "scenario"])
    expected, guess = naive_categories(ours, theirs, ["k"], "t", who, missing)
    for scenario in (1, 2, 3, 4):
        row = table.loc[("t", scenario)]
        assert row["tau"] == pytest.approx(expected[scenario])
        assert row["tau_baseline"] == pytest.approx(guess[scenario])
    for scenario, tau in naive_numbers(ours, theirs, ["k"], "y", 0.1, who, missing).items():
        assert table.loc[("y", scenario), "tau"] == pytest.approx(tau)


def test_compiled_and_plain_kernels_agree() -> None:
    rng = np.random.default_rng(3)
    states, codes = rng.integers(-1, 3, 60), rng.integers(-1, 4, 60)
    first, level = np.array([0, 2, 2, 4]), np.array([0, 2, 1, 3])
    results = []
    for name in ("levels_block", "count_block"):
        for function in (getattr(kernels, name), getattr(kernels, name).py_func):
            out = np.zeros(4, dtype=np.int64)
            function(*((states, codes, first, level) if name == "levels_block" else (states,)), out)
            results.append(out)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[2], results[3])
    assert results[0][0] == ((states == 0) & (codes == 0)).sum()
    assert results[2][1] == (states == 1).sum()
