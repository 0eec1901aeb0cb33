"""What the intruder knows and whom they look for: every field of a Scenario changes the result."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from riskeval.attacks.matching.replicates import scenario_replicates
from riskeval.attacks.matching.scenarios import CAVEAT, intruder_scenarios
from riskeval.attacks.matching.tables import alone_in_register
from riskeval.attacks.scenario import Scenario
from riskeval.measures.uniqueness import PopulationUniqueness, population_uniqueness
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Event


def files() -> tuple[pd.DataFrame, pd.DataFrame]:
    sample = pd.DataFrame(
        {
            "k": ["A", "B", "C", "D", "D"],
            "y": [10.0, 20.0, 30.0, 40.0, 40.0],
            "rich": [False, True, True, False, True],
            "w": [2.0, 4.0, 5.0, 10.0, 10.0],
        }
    )
    return sample, sample[["k", "y"]].drop_duplicates()


def row(risk, scenario: int = 4) -> pd.Series:
    return risk.table.set_index("scenario").loc[scenario]


class TestCoverage:
    def test_every_sum_is_the_share_of_the_register(self) -> None:
        sample, population = files()
        asked = {"weights": "w", "holdout": sample, "scenarios": (2, 4)}
        whole = intruder_scenarios(sample, population, "k", "y", accuracy=0.1, **asked)
        part = Scenario("k", "y", accuracy=0.1, coverage=0.25)
        risk = intruder_scenarios(sample, population, part, **asked)
        names = ["tau", "rate", "lower", "upper", "tau_literal", "rate_literal"]
        names += ["tau_weighted", "rate_weighted", "rate_holdout"]
        for name in names:
            np.testing.assert_allclose(risk.table[name], 0.25 * whole.table[name])
        assert row(whole)["tau"] == 3
        assert "false_matches" not in whole.table
        assert "found, of all in the sample: 0.75" in risk.summary()
        assert CAVEAT not in risk.summary()

    def test_baseline_of_categories(self) -> None:
        sample, population = files()
        files_of_text = [frame.assign(y=frame["y"].astype(str)) for frame in (sample, population)]
        part = Scenario("k", "y", coverage=0.25)
        assert row(intruder_scenarios(*files_of_text, part))["tau_baseline"] == 0.25

    def test_expected_case_by_hand(self) -> None:
        """A sample unique of weight 4: pi = 1/4, s = 1/2, D = 1 - 3/8."""
        right, wrong = alone_in_register(np.array([4.0]), np.array([1]), 0.5)
        assert right[0] == pytest.approx(0.5 * 0.25 / 0.625)
        assert wrong[0] == pytest.approx(0.5 * 0.25 / 0.625**2 - 0.5 * 0.25 / 0.625)
        sample, population = files()
        part = Scenario("k", "y", accuracy=0.1, coverage=0.5)
        risk = intruder_scenarios(sample, population, part, weights="w", scenarios=(4,))
        by_hand = sum(0.5 / w / (1 - (1 - 1 / w) * 0.5) for w in (2.0, 4.0, 5.0))
        assert row(risk)["tau_expected"] == pytest.approx(by_hand)
        assert risk.per_record["alone"].iloc[:3].sum() == pytest.approx(by_hand)

    @pytest.mark.parametrize("f", [1, 3])
    def test_formula_is_the_mean_over_populations(self, f: int) -> None:
        """Draw F given f, then the register, and count who is alone in it."""
        rng = np.random.default_rng(8)
        n, weight, coverage = 400_000, 4.0, 0.3
        others = rng.negative_binomial(f, 1 / weight, n)
        in_register = rng.binomial(f, coverage, n)
        alone = (in_register + rng.binomial(others, coverage)) == 1
        right, wrong = alone_in_register(np.array([weight]), np.array([f]), coverage)
        assert (alone & (in_register == 1)).mean() / f == pytest.approx(right[0], abs=0.002)
        assert (alone & (in_register == 0)).mean() / f == pytest.approx(wrong[0], abs=0.002)

    def test_a_register_of_everybody_gives_the_probability_of_being_unique(self) -> None:
        right, wrong = alone_in_register(np.array([8.0, 8.0, 0.5]), np.array([1, 2, 1]), 1.0)
        assert right.tolist() == [1 / 8, 0, 1]
        assert wrong.tolist() == [0, 0, 0]


class TestKeyErrors:
    def test_attack_uses_wrong_keys_and_true_targets(self) -> None:
        n = 400
        sample = pd.DataFrame({"k": np.arange(n), "y": np.arange(n) + 1000.0})
        plain = intruder_scenarios(sample, sample, "k", "y", accuracy=1e-6, scenarios=(2,))
        assert plain.table["tau"].tolist() == [n]
        erring = Scenario("k", "y", accuracy=1e-6, key_errors={"k": 0.25})
        risk = intruder_scenarios(sample, sample, erring, scenarios=(2,), seed=5)
        right = (risk.per_record["scenario_2_1e-06"] == 1).sum()
        assert risk.table["tau"].tolist() == [right]
        assert risk.n_unique < n  # a wrong value makes two records look alike
        # right keys, and nobody else has them by error
        assert right == pytest.approx(n * 0.75 * math.exp(-0.25), abs=30)
        again = intruder_scenarios(sample, sample, erring, scenarios=(2,), seed=5)
        pd.testing.assert_frame_equal(again.per_record, risk.per_record)
        other = intruder_scenarios(sample, sample, erring, scenarios=(2,), seed=6)
        assert not other.per_record.equals(risk.per_record)
        assert (risk.seed, other.seed) == (5, 6)
        assert "k is wrong for 25 %" in risk.summary()

    def test_replicates_draw_errors_anew(self) -> None:
        sample = pd.DataFrame({"k": np.arange(60), "y": np.arange(60) + 1000.0})
        erring = Scenario("k", "y", accuracy=1e-6, key_errors={"k": 0.25})
        asked = {"scenarios": (2,), "seed": 4}
        risk = scenario_replicates(sample, [sample] * 6, erring, **asked)
        assert risk.table["sd"].iloc[0] > 0
        again = scenario_replicates(sample, [sample] * 6, erring, **asked)
        pd.testing.assert_frame_equal(again.table, risk.table)
        assert risk.seed == 4


class TestWhom:
    def test_everyone(self) -> None:
        sample, population = files()
        everyone = Scenario("k", "y", accuracy=0.1, who="everyone")
        risk = intruder_scenarios(sample, population, everyone, weights="w")
        assert row(risk)["tau"] == row(risk, 2)["tau"] == 5
        assert row(risk)["tau_expected"] == pytest.approx(1 / 2 + 1 / 4 + 1 / 5)
        assert (risk.n_unique, risk.n_looked_for) == (3, 5)
        assert risk.per_record["n_matches"].tolist() == [1] * 5
        assert "looks for 5 records" in risk.summary()

    def test_rows(self) -> None:
        sample, population = files()
        asked = Scenario("k", "y", accuracy=0.1, rows="rich")
        risk = intruder_scenarios(sample, population, asked, weights="w")
        assert row(risk)["tau"] == 2
        assert row(risk)["rate"] == pytest.approx(2 / 3)
        assert row(risk)["rate_weighted"] == pytest.approx(9 / 19)
        assert risk.per_record["scenario_4_0.1"].tolist() == [0, 1, 1, 0, 0]
        assert risk.n_looked_for == 2  # the last one is rich and not unique

    def test_everyone_with_missing_keys_that_match_nothing(self) -> None:
        sample = pd.DataFrame({"k": ["A", None], "y": [1.0, 1.0]})
        everyone = Scenario("k", "y", who="everyone", accuracy=0.1)
        risk = intruder_scenarios(sample, sample, everyone, missing="unmatched")
        assert row(risk)["tau"] == 1
        assert risk.n_unmatched == 1
        assert risk.per_record["n_matches"].tolist() == [1, 0]
        assert row(intruder_scenarios(sample, sample, everyone))["tau"] == 2
        weighted = intruder_scenarios(
            sample, sample, everyone, missing="unmatched", weights=[4.0, 4.0]
        )
        assert weighted.per_record["alone"].tolist() == [0.25, 0]

    @pytest.mark.parametrize(("missing", "n_matches"), [("wildcard", [1, 1]), ("category", [1, 2])])
    def test_matches_without_a_value(self, missing: str, n_matches: list[int]) -> None:
        """With wildcards those with a value count, where there are any."""
        sample = pd.DataFrame({"k": ["A", "B"], "y": [1.0, 2.0]})
        population = pd.DataFrame({"k": ["A", "B", "B"], "y": [np.nan, 2.0, np.nan]})
        knows = Scenario("k", "y", accuracy=0.1)
        risk = intruder_scenarios(sample, population, knows, missing=missing)
        assert risk.per_record["n_matches"].tolist() == n_matches
        assert risk.per_record["scenario_4_0.1"].tolist() == [0, float(missing == "wildcard")]

    def test_rows_faults(self) -> None:
        sample, population = files()
        for rows, what in (("y", "True or False everywhere"), ("r", "not in the data")):
            with pytest.raises(InputError, match=what):
                intruder_scenarios(sample, population, Scenario("k", "w", rows=rows))
        nobody = sample.assign(rich=False)
        with pytest.raises(InputError, match="nobody is looked for"):
            intruder_scenarios(nobody, population, Scenario("k", "y", rows="rich"))
        with pytest.raises(InputError, match="rows looked for of the hold-out"):
            intruder_scenarios(
                sample, population, Scenario("k", "y", rows="rich"), holdout=population
            )

    def test_nothing_is_given_beside_a_scenario(self) -> None:
        sample, population = files()
        with pytest.raises(InputError, match="accuracy: is given beside a Scenario"):
            intruder_scenarios(sample, population, Scenario("k", "y"), accuracy=0.1)

    def test_holdout_with_levels_of_its_own(self) -> None:
        sample, population = files()
        others = pd.DataFrame({"k": ["Q", "A", "Z"], "y": [7.0, 10.0, 1.0]})
        more = pd.concat([population, pd.DataFrame({"k": ["Q", "N"], "y": [7.0, 3.0]})])
        risk = intruder_scenarios(sample, more, "k", "y", accuracy=0.1, holdout=others)
        alone = intruder_scenarios(others, more, "k", "y", accuracy=0.1)
        np.testing.assert_allclose(risk.table["rate_holdout"], alone.table["rate"])
        both = intruder_scenarios(
            sample, more, "k", "y", accuracy=(0.1, 0.2), holdout=others, scenarios=(2, 4, 5)
        )
        assert {number for _, number, _ in both.excess} == {2, 4, 5}
        assert {one.n_tests for one in both.excess.values()} == {3 * 2}


class TestExpectedBesideWorst:
    def estimate(self, keys: tuple[str, ...] = ("k",)) -> PopulationUniqueness:
        sample, _ = files()
        return population_uniqueness(sample, list(keys), population_size=31)

    def test_by_weights(self) -> None:
        sample, population = files()
        text = intruder_scenarios(sample, population, "k", "y", weights="w").summary()
        assert "at most 3 are found; 0.95 of them are expected to be alone in the register" in text
        assert "(of all records looked for 0.95)" in text
        assert "beside expected" not in intruder_scenarios(sample, population, "k", "y").summary()

    def test_by_frequencies_of_the_keys(self) -> None:
        sample, population = files()
        estimate = self.estimate()
        p = float(estimate.table.loc[estimate.chosen, "probability"])
        assert 0 < p < 1
        risk = intruder_scenarios(sample, population, "k", "y", uniqueness=estimate, accuracy=0.1)
        assert row(risk)["tau_unique"] == pytest.approx(3 * p)
        assert row(risk)["rate_unique"] == pytest.approx(3 * p / 5)
        assert risk.uniqueness is estimate
        assert f"{3 * p:.3g} of them are expected to be unique in the population" in risk.summary()
        everyone = Scenario("k", "y", who="everyone", coverage=0.5, accuracy=0.1)
        risk = intruder_scenarios(sample, population, everyone, uniqueness=estimate)
        assert row(risk)["tau"] == 2.5
        assert row(risk)["tau_unique"] == pytest.approx(1.5 * p)

    def test_estimates_that_do_not_fit(self) -> None:
        sample, population = files()
        for wrong, what in (
            (self.estimate(("k", "y")), "is for the keys k, y, not k"),
            (0.5, "is not an estimate"),
        ):
            with pytest.raises(InputError, match=what):
                intruder_scenarios(sample, population, "k", "y", uniqueness=wrong)
        house = Scenario("k", "y", unit="household", household="rich")
        with pytest.raises(InputError, match="the attack is on households"):
            intruder_scenarios(
                sample, population.assign(rich=True), house, uniqueness=self.estimate()
            )

    def test_replicates_have_an_interval_of_both(self) -> None:
        sample, _ = files()
        rng = np.random.default_rng(2)
        draws = [sample.assign(y=sample["y"] * rng.normal(1, 0.1, 5)) for _ in range(6)]
        risk = scenario_replicates(sample, draws, "k", "y", weights="w", accuracy=0.1)
        expected = risk.replicates.groupby("scenario")["tau_expected"]
        table = risk.table.set_index("scenario")
        np.testing.assert_allclose(table["tau_expected"], expected.mean())
        half = 2.570582 * expected.std(ddof=1) / math.sqrt(6)
        np.testing.assert_allclose(table["expected_upper"], expected.mean() + half, rtol=1e-6)
        assert (table["expected_lower"].dropna() >= 0).all()
        assert ", expected 0." in risk.summary()
        assert "alone in the register as well by the weights" in risk.summary()
        estimate = self.estimate()
        p = float(estimate.table.loc[estimate.chosen, "probability"])
        both = scenario_replicates(sample, draws, "k", "y", uniqueness=estimate, accuracy=0.1)
        np.testing.assert_allclose(both.table["tau_unique"], p * both.table["tau"])
        np.testing.assert_allclose(both.table["unique_upper"], p * both.table["upper"])
        assert f", unique {both.table['tau_unique'].max():.3g} (" in both.summary()

    def test_progress_of_replicates(self) -> None:
        sample, _ = files()
        seen: list[Event] = []
        scenario_replicates(sample, [sample] * 3, "k", "y", on_event=seen.append)
        assert [event.done for event in seen if event.detail == "populations"] == [1, 2, 3]
        assert sum(event.detail == "persons read" and event.kind == "end" for event in seen) == 3

    def test_several_targets_in_replicates(self) -> None:
        sample, _ = files()
        draws = [sample, sample.assign(y=sample["y"] * 2, rich=~sample["rich"])]
        risk = scenario_replicates(sample, draws, "k", ["y", "rich"], accuracy=0.1)
        table = risk.table.set_index(["target", "scenario"])
        assert table.loc[("y", 4), "tau"] == table.loc[("rich", 4), "tau"] == 1.5
        assert table.loc[("rich", 4), "tau_baseline"] == 1.5  # 1 of False, then 2 of True
        assert "Scenario 4, rich" in risk.summary()
