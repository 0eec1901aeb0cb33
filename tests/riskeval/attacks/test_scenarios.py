from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.attacks.matching import request
from riskeval.attacks.matching.matchers import truth_intervals
from riskeval.attacks.matching.scenarios import CAVEAT, IntruderRisk, intruder_scenarios
from riskeval.kernels import scenarios as kernels
from synthpop.microdata.messages.errors import InputError
from tests.riskeval.attacks.naive_scenarios import naive

INTERVALS = ("low", "high")


def hand_sample() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "k": ["A", "B", "B", "C", "D", "E", "F"],
            "y": [100.0, 200.0, 300.0, 0.0, -50.0, 10.0, math.nan],
            "w": [10.0, 20.0, 20.0, 4.0, 2.0, 5.0, 1.0],
        }
    )


def hand_population() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "k": ["A", "A", "B", "C", "D", "F"],
            "y": [95.0, 104.0, 200.0, 0.0, -51.0, 5.0],
            "low": [90.0, 100.0, 190.0, 0.0, -60.0, 0.0],
            "high": [110.0, 120.0, 210.0, 0.0, -40.0, 10.0],
        }
    )


def hand_risk(**options) -> IntruderRisk:
    defaults = {"accuracy": 0.05, "intervals": INTERVALS}
    return intruder_scenarios(
        hand_sample(), hand_population(), ["k"], "y", **{**defaults, **options}
    )


def column(risk: IntruderRisk, name: str) -> list[float]:
    return risk.table[name].tolist()


class TestWorkedByHand:
    """A: ratios 10/20 and 5/20, both values inside; C: the point 0 on 0; D: 5/20, inside; E: no
    match; F: no true value; B: twice in the sample. The model is saturated: cell means."""

    def test_absolute_and_relative(self) -> None:
        risk = hand_risk()
        assert column(risk, "scenario") == [1, 2, 3, 4, 5]
        assert column(risk, "tau") == pytest.approx([1.25, 2, 1.375, 3, 3])
        assert column(risk, "rate") == pytest.approx([t / 7 for t in (1.25, 2, 1.375, 3, 3)])

    def test_literal_product_over_no_match_counts_e(self) -> None:
        risk = hand_risk()
        assert column(risk, "tau_literal") == pytest.approx([1.25, 2, 2.375, 4, 3])
        assert column(risk, "rate_literal")[3] == pytest.approx(4 / 7)

    def test_part_from_true_values_of_zero(self) -> None:
        assert column(hand_risk(), "tau_zero") == [1, 1, 1, 1, 1]

    def test_counts(self) -> None:
        risk = hand_risk()
        assert (risk.n_sample, risk.n_population, risk.n_unique) == (7, 6, 5)
        assert (risk.n_missing_target, risk.n_unmatched) == (1, 1)
        assert column(risk, "n_attacked") == [2, 2, 3, 3, 3]

    def test_per_record(self) -> None:
        frame = hand_risk().per_record
        assert frame["sample_unique"].tolist() == [True, False, False, True, True, True, True]
        assert frame["n_matches"].isna().tolist() == [False, True, True] + [False] * 4
        assert frame["n_matches"].dropna().tolist() == [2, 1, 1, 0, 1]
        assert frame["scenario_3_0.05"].tolist() == pytest.approx([0.125, 0, 0, 1, 0.25, 0, 0])
        assert frame["scenario_4_0.05"].tolist() == [1, 0, 0, 1, 1, 0, 0]
        assert frame["predicted"].iloc[[0, 1, 4, 6]].tolist() == pytest.approx([99.5, 200, -51, 5])
        assert math.isnan(frame["predicted"].iloc[5])

    def test_weights_add_columns_and_change_no_tau(self) -> None:
        risk = hand_risk(weights="w")
        assert column(risk, "tau") == column(hand_risk(), "tau")
        assert column(risk, "tau_weighted") == pytest.approx(
            [4 + 0.5, 4 + 2, 1.25 + 4 + 0.5, 10 + 4 + 2, 16]
        )
        assert column(risk, "rate_weighted")[1] == pytest.approx(6 / 62)
        assert column(risk, "tau_expected")[1] == pytest.approx(1 / 4 + 1 / 2)
        assert column(risk, "rate_expected")[1] == pytest.approx(0.75 / 7)
        as_array = hand_risk(weights=hand_sample()["w"].to_numpy())
        pd.testing.assert_frame_equal(risk.table, as_array.table)
        assert "tau_weighted" not in hand_risk().table

    def test_weights_below_one_never_raise_the_expected_count_above_tau(self) -> None:
        risk = hand_risk(weights=np.full(7, 0.5))
        assert column(risk, "tau_expected") == column(risk, "tau")

    def test_several_accuracies_in_one_pass(self) -> None:
        wide = hand_risk(accuracy=(0.005, 0.05, 0.5))
        for p in (0.005, 0.05, 0.5):
            single = hand_risk(accuracy=p).table
            both = wide.table[wide.table["accuracy"] == p].reset_index(drop=True)
            pd.testing.assert_frame_equal(both, single)
        assert column(hand_risk(accuracy=0.005), "tau")[:4] == pytest.approx(
            [1.025, 1, 1.025 + 1 / 20 * 0.5 / 20, 1]
        )


class TestDecisions:
    def one(self, y: float, value: float, low: float, high: float, **options) -> list[float]:
        sample = pd.DataFrame({"k": ["A"], "y": [y]})
        population = pd.DataFrame({"k": ["A"], "y": [value], "low": [low], "high": [high]})
        risk = intruder_scenarios(
            sample, population, "k", "y", accuracy=0.1, intervals=INTERVALS,
            scenarios=(1, 2, 3, 4), **options,
        )  # fmt: skip
        return column(risk, "tau")

    def test_negative_true_value_turns_the_bounds_round(self) -> None:
        np.testing.assert_allclose(
            truth_intervals(np.array([-100.0]), (0.1,))[:, 0, 0], [-110.0, -90.0]
        )
        assert self.one(-100, -95, -120, -80) == pytest.approx([0.5, 1, 0.5, 1])

    def test_true_value_zero_is_a_point(self) -> None:
        assert self.one(0, 0, -1, 1) == [0, 1, 0, 1]
        assert self.one(0, 0, 0, 0) == [1, 1, 1, 1]
        assert self.one(0, 0.01, 0, 1) == [0, 0, 0, 0]

    def test_point_interval(self) -> None:
        assert self.one(100, 105, 105, 105) == [1, 1, 1, 1]
        assert self.one(100, 120, 120, 120) == [0, 0, 0, 0]

    @pytest.mark.parametrize(
        ("low", "high"), [(90, math.inf), (-math.inf, 110), (math.nan, 110), (90, math.nan)]
    )
    def test_interval_without_a_length(self, low: float, high: float) -> None:
        assert self.one(100, 105, low, high) == [1, 1, 1, 1]
        assert self.one(100, 120, low, high) == [0, 0, 0, 0]
        assert self.one(100, 105, low, high, open_interval="zero") == [0, 1, 0, 1]

    def test_holes_of_the_population_match_anything(self) -> None:
        sample = pd.DataFrame({"k": ["A", "B"], "m": ["u", "v"], "y": [10.0, 20.0]})
        population = pd.DataFrame({"k": ["A", None, None], "m": [None, "v", None],
                                   "y": [10.0, 20.0, 99.0]})  # fmt: skip
        asked = {"accuracy": 0.1, "scenarios": (2, 4)}
        risk = intruder_scenarios(sample, population, ["k", "m"], "y", **asked)
        assert column(risk, "tau") == [2, 2]
        assert risk.per_record["n_matches"].tolist() == [1, 1]
        for missing in ("category", "unmatched"):
            old = intruder_scenarios(sample, population, ["k", "m"], "y", missing=missing, **asked)
            assert column(old, "tau") == [0, 0]

    def test_fewer_holes_are_believed_in_whatever_block_they_come(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sample = pd.DataFrame({"k": ["A"], "m": ["u"], "n": ["p"], "y": [10.0]})
        rows = [("A", None, None, 99.0), ("A", "u", None, 10.0), (None, "u", None, 98.0)]
        rows.append(("B", "v", "p", 1.0))
        asked = {"accuracy": 0.1, "scenarios": (2, 4)}
        monkeypatch.setattr("riskeval.attacks.matching.request.CHUNK", 1)
        for order in ([0, 1, 2, 3], [1, 3, 0, 2], [2, 0, 3, 1]):
            population = pd.DataFrame([rows[i] for i in order], columns=list("kmny"))
            risk = intruder_scenarios(sample, population, list("kmn"), "y", **asked)
            assert column(risk, "tau") == [1, 1]

    def test_missing_synthetic_value_is_not_close(self) -> None:
        assert self.one(100, math.nan, 90, 110) == [0, 0, 0, 0]

    def test_bounds_are_closed(self) -> None:
        assert self.one(100, 110, 109, 111)[1] == 1
        assert self.one(100, 90, 89, 91)[1] == 1

    def test_missing_key_is_a_value_or_matches_nothing(self) -> None:
        sample = pd.DataFrame({"k": ["A", None], "y": [1.0, 5.0]})
        population = pd.DataFrame({"k": ["A", None], "y": [9.0, 5.0]})
        asked = {"accuracy": 0.1, "scenarios": (2, 4)}
        as_value = intruder_scenarios(sample, population, "k", "y", **asked)
        assert (as_value.n_unique, column(as_value, "tau")) == (2, [1, 1])
        unmatched = intruder_scenarios(sample, population, "k", "y", missing="unmatched", **asked)
        assert (unmatched.n_unique, column(unmatched, "tau")) == (1, [0, 0])

    def test_uniqueness_counts_records_without_a_true_value(self) -> None:
        sample = pd.DataFrame({"k": ["A", "A"], "y": [1.0, math.nan]})
        risk = intruder_scenarios(sample, sample, "k", "y")
        assert (risk.n_unique, risk.n_looked_for) == (0, 0)

    def test_levels_that_only_one_file_has(self) -> None:
        sample = pd.DataFrame({"k": ["A", "X"], "y": [1.0, 5.0]})
        population = pd.DataFrame({"k": ["A", "Y", "Z"], "y": [1.0, 7.0, 9.0]})
        risk = intruder_scenarios(sample, population, "k", "y", accuracy=0.1, scenarios=(2, 4, 5))
        assert column(risk, "tau") == [1, 1, 1]
        assert risk.per_record["predicted"].isna().tolist() == [False, True]

    def test_default_without_intervals_says_what_it_left_out(self) -> None:
        risk = hand_risk(intervals=None)
        lacking = risk.table["scenario"].isin([1, 3])
        assert risk.table.loc[lacking, "tau"].isna().all()
        assert risk.table.loc[lacking, "note"].str.contains("needs the intervals").all()
        assert column(risk, "tau")[1] == 2
        assert "not computed, it needs the intervals" in risk.summary()
        assert "scenario_1_0.05" not in risk.per_record

    def test_scenarios_asked_for(self) -> None:
        risk = hand_risk(scenarios=[4, 2])
        assert column(risk, "scenario") == [4, 2]
        assert risk.per_record["predicted"].isna().all()

    def test_summary_says_it_in_words(self) -> None:
        text = hand_risk().summary()
        assert CAVEAT in text
        first = text.splitlines()[0]
        assert first.startswith("The most successful of these intruders (scenario ")
        assert f"about {100 * max(column(hand_risk(), 'rate')):.4g} % of the records" in first
        assert first.endswith("Compare with strangers (a hold-out) before you judge.")
        assert "Scenario 4 (all matches" in text
        assert "3 within 5 % of the true value (42.86 %); up to 1 of them have a true" in text
        assert "5 of the 7 sample records are unique" in text
        assert "<table" in hand_risk()._repr_html_()


class TestHoldout:
    def test_rates_are_those_of_an_attack_on_the_holdout(self) -> None:
        others = hand_sample().assign(y=[96.0, 200.0, 250.0, 5.0, -51.0, 1.0, 5.1]).head(6)
        risk = hand_risk(holdout=others)
        alone = intruder_scenarios(
            others, hand_population(), ["k"], "y", accuracy=0.05, intervals=INTERVALS
        )
        assert column(risk, "rate_holdout") == pytest.approx(column(alone, "rate"))
        assert column(risk, "n_holdout") == [6] * 5
        assert column(risk, "tau") == column(hand_risk(), "tau")
        assert "of persons outside the sample" in risk.summary()
        assert "For persons outside the sample it is" in risk.summary().splitlines()[0]
        assert "rate_holdout" not in hand_risk().table

    def test_without_intervals_and_with_faults(self) -> None:
        risk = hand_risk(intervals=None, holdout=hand_sample())
        lacking = risk.table["scenario"].isin([1, 3])
        assert risk.table["rate_holdout"].isna().tolist() == lacking.tolist()
        with pytest.raises(InputError, match="target of the hold-out"):
            hand_risk(holdout=hand_sample().drop(columns="y"))
        with pytest.raises(InputError, match="hold-out: has no records"):
            hand_risk(holdout=hand_sample().head(0))


class TestPopulationsOfEveryKind:
    def test_blocks_tables_and_objects_give_the_same(self) -> None:
        whole = hand_population()
        parts = [whole.iloc[:2], whole.iloc[2:3], whole.iloc[3:3], whole.iloc[3:]]

        class OnDisk:
            def iter_blocks(self):
                yield from parts

        class InMemory:
            def frame(self):
                return whole

        expected = hand_risk()
        kinds = [
            parts, iter(parts), OnDisk(), InMemory(), pa.Table.from_pandas(whole),
            [pa.Table.from_pandas(part, preserve_index=False) for part in parts],
        ]  # fmt: skip
        for population in kinds:
            risk = intruder_scenarios(
                hand_sample(), population, ["k"], "y", accuracy=0.05, intervals=INTERVALS
            )
            pd.testing.assert_frame_equal(risk.table, expected.table)
            pd.testing.assert_frame_equal(risk.per_record, expected.per_record)

    @pytest.mark.parametrize("rows_at_once", [1, 4])
    def test_matches_with_equally_many_holes_add_up(
        self, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
    ) -> None:
        monkeypatch.setattr(request, "CHUNK", rows_at_once)
        sample = pd.DataFrame({"k": ["A", "B"], "j": ["u", "v"], "y": ["yes", "no"]})
        population = pd.DataFrame({
            "k": ["A", None, "A", "B"], "j": [None, "u", None, "v"], "y": ["yes", "no", "no", "no"],
        })  # fmt: skip
        risk = intruder_scenarios(sample, population, ["k", "j"], "y")
        assert risk.per_record["n_matches"].tolist() == [3, 1]

    def test_only_the_columns_needed_are_read(self) -> None:
        class OnDisk:
            columns = tuple(hand_population())
            asked: tuple[str, ...] | None = None

            def iter_blocks(self, columns=None):
                self.asked = columns
                yield hand_population() if columns is None else hand_population()[columns]

        population = OnDisk()
        risk = intruder_scenarios(hand_sample(), population, "k", "y", accuracy=0.05)
        assert population.asked == ["k", "y"]
        assert column(risk, "tau")[1] == 2
        with pytest.raises(InputError, match=r"Did you mean .low.. There are: k, y, low, high"):
            intruder_scenarios(hand_sample(), OnDisk(), "k", "y", intervals=("lo", "high"))

    def test_categories_may_differ_from_block_to_block(self) -> None:
        parts = [
            part.assign(k=pd.Categorical(part["k"], categories=levels))
            for part, levels in (
                (hand_population().iloc[:3], ["B", "A"]),
                (hand_population().iloc[3:], ["new", "F", "D", "C"]),
            )
        ]
        risk = intruder_scenarios(
            hand_sample(), parts, ["k"], "y", accuracy=0.05, intervals=INTERVALS
        )
        pd.testing.assert_frame_equal(risk.table, hand_risk().table)

    def test_chunks_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        expected = hand_risk().table
        monkeypatch.setattr("riskeval.attacks.matching.request.CHUNK", 2)
        pd.testing.assert_frame_equal(hand_risk().table, expected)

    def test_inputs_are_unchanged_and_the_index_does_not_matter(self) -> None:
        sample, population = hand_sample().set_index("w", drop=False), hand_population()
        before = sample.copy(), population.copy()
        risk = intruder_scenarios(
            sample, population, ["k"], "y", accuracy=0.05, intervals=INTERVALS
        )
        pd.testing.assert_frame_equal(sample, before[0])
        pd.testing.assert_frame_equal(population, before[1])
        pd.testing.assert_frame_equal(risk.table, hand_risk().table)


KEYS = st.sampled_from(["a", "b", "c", None])
VALUES = st.sampled_from([0.0, 10.0, 10.5, 11.0, -10.0, -9.0, 100.0, math.nan])


@st.composite
def tables(draw):
    """Small tables with ties, zeros, missing values and all kinds of intervals."""
    person = st.tuples(KEYS, KEYS, VALUES)
    interval = st.tuples(
        st.sampled_from([-math.inf, -12.0, -9.5, 0.0, 9.0, 10.0, math.nan]),
        st.sampled_from([0.0, 0.5, 4.0, math.inf, math.nan]),
    )
    sample = pd.DataFrame(
        [*draw(st.lists(person, max_size=7)), ("z", "z", 10.0)], columns=["k", "m", "y"]
    )
    rows = [(*who, *span) for who, span in draw(st.lists(st.tuples(person, interval), max_size=9))]
    population = pd.DataFrame(
        [*rows, ("z", "z", 10.0, 9.0, 2.0)], columns=["k", "m", "y", "low", "high"]
    )
    population["high"] += population["low"]
    return sample, population


@settings(max_examples=15, deadline=None)
@given(tables(), st.sampled_from(["value", "zero"]), st.sampled_from(["wildcard", "category"]))
def test_agrees_with_the_double_loop_of_the_book(files, rule: str, missing: str) -> None:
    sample, population = files
    accuracy = (0.02, 0.1, 0.5)
    risk = intruder_scenarios(
        sample, population, ["k", "m"], "y", accuracy=accuracy, intervals=INTERVALS,
        open_interval=rule, missing=missing,
    )  # fmt: skip
    expected, literal = (
        naive(sample, population, ["k", "m"], "y", accuracy, INTERVALS, rule, which, missing)
        for which in (False, True)
    )
    in_population = pd.MultiIndex.from_frame(population[population["y"].notna()][["k", "m"]])
    estimable = pd.MultiIndex.from_frame(sample[["k", "m"]]).isin(in_population)
    for row in risk.table.itertuples():
        pair = (row.scenario, row.accuracy)
        if row.scenario == 5:  # combinations outside the population have no unique prediction
            found = risk.per_record[f"scenario_5_{row.accuracy:g}"][estimable].sum()
            assert found == pytest.approx(expected[pair])
            continue
        assert row.tau == pytest.approx(expected[pair])
        assert row.tau_literal == pytest.approx(literal[pair])


def test_compiled_and_plain_kernels_agree() -> None:
    rng = np.random.default_rng(3)
    states = rng.integers(-1, 4, 200)
    values = np.where(rng.random(200) < 0.02, np.nan, rng.normal(0, 1.5, 200))
    lower, upper = values - rng.random(200), values + rng.random(200)
    upper[::7] = np.inf
    upper[::11] = lower[::11]
    first = np.array([0, 3, 5, 8])
    low = np.stack([rng.normal(-3, 1, 11), np.full(11, -9.0)], axis=1)
    high = -low
    results = []
    for function in (kernels.match_block, kernels.match_block.py_func):
        last, order = np.array([3, 5, 8, 11]), np.arange(11)
        within, product = np.ones((11, 2), dtype=bool), np.ones((11, 2))
        function(states, values, lower, upper, True, first, last, order, low, high, within, product)
        results.append((last, order, within, product))
    for compiled, plain in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, plain)
    assert 0 < results[0][2].sum() < 22
    assert (results[0][0] < [3, 5, 8, 11]).any()


class TestFaults:
    def fault(self, **options) -> str:
        with pytest.raises(InputError) as caught:
            hand_risk(**options)
        return str(caught.value)

    def test_all_faults_at_once(self) -> None:
        with pytest.raises(InputError) as caught:
            intruder_scenarios(
                hand_sample(), hand_population(), ["kk"], "w", accuracy=(0.1, 1.0), weights="ww"
            )
        text = str(caught.value)
        assert "Did you mean 'k'?" in text
        assert "key of the sample" in text
        assert "key of the population" in text
        assert "1.0 is not a number between 0 and 1" in text
        assert "'ww'" in text
        assert "'w': column given as target of the population" in text

    @pytest.mark.parametrize("accuracy", [0.0, -0.1, 1.0, 5, "5%", True, math.nan])
    def test_accuracy_outside_its_range(self, accuracy: object) -> None:
        assert "between 0 and 1" in self.fault(accuracy=[accuracy])

    def test_accuracy_none_or_twice(self) -> None:
        assert "no accuracy" in self.fault(accuracy=[])
        assert "given twice" in self.fault(accuracy=[0.1, 0.1])

    def test_scenarios(self) -> None:
        assert "6 is not allowed" in self.fault(scenarios=[6])
        assert "no scenario" in self.fault(scenarios=[])
        assert "given twice" in self.fault(scenarios=[2, 2])
        assert "scenarios 1 need intervals" in self.fault(scenarios=[1, 2], intervals=None)

    def test_intervals(self) -> None:
        assert "is not a pair" in self.fault(intervals="low")
        assert "Did you mean 'low'" in self.fault(intervals=("lo", "high"))
        turned = self.fault(intervals=("high", "low"))
        assert "above the upper bound" in turned
        assert "5 rows: 0, 1, 2, 4, 5" in turned

    def test_choices(self) -> None:
        assert "missing" in self.fault(missing="drop")
        assert "open_interval" in self.fault(open_interval="one")

    def test_weights(self) -> None:
        assert "3 values for 7 records" in self.fault(weights=[1.0, 2.0, 3.0])
        assert "weight is zero" in self.fault(weights=[0.0] * 7)

    def test_keys(self) -> None:
        with pytest.raises(InputError, match="no key is given"):
            intruder_scenarios(hand_sample(), hand_population(), [], "y")
        with pytest.raises(InputError, match="given 2 times"):
            intruder_scenarios(hand_sample(), hand_population(), ["k", "k"], "y")
        with pytest.raises(InputError, match="is also a key"):
            intruder_scenarios(hand_sample(), hand_population(), ["k", "y"], "y")

    def test_target_is_not_a_number(self) -> None:
        texts = hand_sample().assign(y="high")
        with pytest.raises(InputError, match="target of the sample must be numeric"):
            intruder_scenarios(texts, hand_population(), "k", "y")

    def test_infinite_values(self) -> None:
        infinite = hand_sample().assign(y=math.inf)
        with pytest.raises(InputError, match="value of the sample is infinite"):
            intruder_scenarios(infinite, hand_population(), "k", "y")
        with pytest.raises(InputError, match="value is infinite"):
            intruder_scenarios(hand_sample(), hand_population().assign(y=-math.inf), "k", "y")

    def test_a_later_block_lacks_a_column(self) -> None:
        parts = [hand_population(), hand_population().drop(columns="y")]
        with pytest.raises(InputError, match="target of the population"):
            intruder_scenarios(hand_sample(), parts, "k", "y")

    def test_row_numbers_count_from_the_first_block(self) -> None:
        parts = [hand_population(), hand_population().assign(low=1e9)]
        with pytest.raises(InputError, match="6 rows: 6, 7, 8, 9, 10"):
            intruder_scenarios(hand_sample(), parts, "k", "y", intervals=INTERVALS)

    def test_codes_against_labels(self) -> None:
        coded = hand_population().assign(k=[1, 1, 2, 3, 4, 6])
        with pytest.raises(InputError, match=r"no level in common .'A', 'B', 'C' in the sample, 1"):
            intruder_scenarios(hand_sample(), coded, "k", "y")

    def test_empty_files(self) -> None:
        with pytest.raises(InputError, match="has no records"):
            intruder_scenarios(hand_sample().head(0), hand_population(), "k", "y")
        with pytest.raises(InputError, match="has no persons"):
            intruder_scenarios(hand_sample(), hand_population().head(0), "k", "y")
        with pytest.raises(InputError, match="holds no table"):
            intruder_scenarios(hand_sample(), [], "k", "y")

    @pytest.mark.parametrize("population", ["population.parquet", 5, {"k": [1]}, ["text"]])
    def test_not_a_population(self, population: object) -> None:
        with pytest.raises(InputError, match="Give a table of columns"):
            intruder_scenarios(hand_sample(), population, "k", "y")
