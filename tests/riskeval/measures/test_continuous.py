from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from riskeval.measures.interval_disclosure import interval_disclosure
from riskeval.measures.mahalanobis_disclosure import (
    DISTANCE_SCALE,
    crowded,
    mahalanobis_disclosure,
    near_truth,
    scatter_of,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.robust import Scatter, robust
from tests.reference_data import golden, survey_data

CASES = [
    "f1_cont_testdata_mdav3",
    "f2_cont_testdata_additive10",
    "f3_cont_testdata_shuffle",
    "f4_cont_testdata_correlated2",
    "f5_cont_tarragona_additive150",
]


def files(case: str):
    facts = golden("sdc", f"{case}.json")
    original = survey_data(facts["original"].removesuffix(".parquet"))
    return facts, original, golden("sdc", facts["perturbed"]), facts["variables"]


def scaled(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    values = frame[names].to_numpy(float)
    return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)


def test_rows_within_reach() -> None:
    """Points 0, 3, 5 and 20 on a line, the last without its second value."""
    y = np.array([[0.0, 0.0], [3.0, 0.0], [5.0, 0.0], [20.0, np.nan]])
    asked = np.array([True, True, True, True])
    assert crowded(y, asked, 3.0, 1).tolist() == [True, True, True, False]
    assert crowded(y, asked, 2.9, 1).tolist() == [False, True, True, False]
    assert crowded(y, asked, 5.0, 2).tolist() == [True, True, True, False]
    assert crowded(y, asked, 3.0, 2).tolist() == [False, True, False, False]
    # three complete rows have no third neighbour; the last row has three on its one variable
    assert crowded(y, asked, 15 * np.sqrt(2), 1).tolist() == [True] * 4
    assert crowded(y, asked, 21.2, 1).tolist() == [True, True, True, False]
    assert crowded(y, asked, 30.0, 3).tolist() == [False, False, False, True]
    assert crowded(y, ~asked, 30.0, 1).tolist() == [False] * 4
    assert crowded(np.full((2, 2), np.nan), asked[:2], 1.0, 1).tolist() == [False, False]


def test_half_widths_of_a_pattern() -> None:
    """Distance 2 on one of two variables counts as 2 root 2; values 0.5 and 1 beside it."""
    x = np.array([[2.0, np.nan], [0.0, 3.0], [np.nan, np.nan]])
    y = np.array([[2.5, 1.0], [0.0, 4.0], [1.0, 1.0]])
    cloud = Scatter(np.zeros(2), np.eye(2))
    width = near_truth(x, y, cloud, 1.0, "any")[0]
    np.testing.assert_allclose(width, np.array([2 * np.sqrt(2), 3, np.nan]) * DISTANCE_SCALE)
    reach = 0.5 / width[0]
    for k, expected in ((reach * 1.01, True), (reach * 0.99, False)):
        assert near_truth(x, y, cloud, k, "any")[1][0] == expected
        assert near_truth(x, y, cloud, k, "all")[1][0] == expected
    # the first variable of the second row is right, the second is one off
    both = 1.0 / width[1]
    assert near_truth(x, y, cloud, both * 0.99, "any")[1].tolist()[1:] == [True, False]
    assert near_truth(x, y, cloud, both * 0.99, "all")[1].tolist()[1:] == [False, False]
    assert near_truth(x, y, cloud, both * 1.01, "all")[1].tolist()[1:] == [True, False]


class TestReference:
    @pytest.mark.parametrize("case", CASES)
    def test_interval_disclosure_by_standard_deviation(self, case: str) -> None:
        facts, original, released, names = files(case)
        for entry in facts["dRisk"]:
            risk = interval_disclosure(original, released, names, k=entry["k"])
            assert risk.rate == pytest.approx(entry["value"], rel=1e-8)

    @pytest.mark.parametrize("case", CASES)
    def test_rmdid_with_the_covariance_of_the_reference(self, case: str) -> None:
        facts, original, released, names = files(case)
        x, y = scaled(original, names), scaled(released, names)
        scatter = Scatter(np.zeros(3), np.array(facts["mcd_of_scaled_original_seed1"]["cov"]))
        vectors = golden("sdc", f"{case}_rmd_k0.7.parquet")
        for k, expected in (
            (0.01, facts["dRiskRMD_default_k0.01_k2_0.05"][0]),
            (0.7, facts["dRiskRMD_k0.7"]),
        ):
            width, hit = near_truth(x, y, scatter, k, "any")
            alone = hit & ~crowded(y, hit, 0.05, 1)
            n = len(x)
            found = [hit.mean(), alone.mean()]
            found += [hit.sum() * width[hit].sum() / n, alone.sum() * width[alone].sum() / n]
            named = [expected[name] for name in ("risk1", "risk2", "wrisk1", "wrisk2")]
            np.testing.assert_allclose(found, named, rtol=1e-8)
        np.testing.assert_allclose(width * hit, vectors["riskvec1"], atol=1e-10)
        np.testing.assert_allclose(width * alone, vectors["riskvec2"], atol=1e-10)

    @pytest.mark.parametrize(
        "case", [CASES[0], *(pytest.param(case, marks=pytest.mark.slow) for case in CASES[1:])]
    )
    def test_rmdid_with_our_own_covariance_is_close(self, case: str) -> None:
        facts, original, released, names = files(case)
        expected = facts["dRiskRMD_k0.7"]
        risk = mahalanobis_disclosure(original, released, names, k=0.7)
        assert risk.rate1 == pytest.approx(expected["risk1"], rel=0.015)
        assert risk.rate2 == pytest.approx(expected["risk2"], rel=0.015)
        assert risk.weighted1 == pytest.approx(expected["wrisk1"], rel=0.03)
        assert risk.weighted2 == pytest.approx(expected["wrisk2"], rel=0.03)

    def test_mcd_is_close_to_that_of_the_reference(self) -> None:
        facts, original, _, names = files("f5_cont_tarragona_additive150")
        scatter = robust(scaled(original, names))
        facts = facts["mcd_of_scaled_original_seed1"]
        np.testing.assert_allclose(scatter.center, facts["center"], atol=2e-3)
        sizes = np.sqrt(np.diag(facts["cov"]))
        difference = (scatter.covariance - facts["cov"]) / np.outer(sizes, sizes)
        assert np.abs(difference).max() < 0.02


def pair() -> tuple[pd.DataFrame, pd.DataFrame]:
    original = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, math.nan], "b": [5.0, 6.0, 7.0, 8.0, 9.0]})
    released = pd.DataFrame({"a": [1.0, 2.5, 3.1, 5.0, 4.0], "b": [5.0, 6.0, 7.0, 9.0, math.nan]})
    return original, released


class TestIntervalDisclosure:
    def test_worked_by_hand(self) -> None:
        original, released = pair()  # sd of released: a 1.5156, b 1.7078
        risk = interval_disclosure(original, released, ["a", "b"], k=0.1)
        assert risk.per_record.tolist() == [True, False, True, False, False]
        assert risk.rate == 0.4
        assert risk.per_variable["rate"].tolist() == [0.4, 0.6]
        assert risk.per_variable["half_width"].tolist() == pytest.approx([0.15156, 0.17078], 1e-4)
        assert (risk.n_missing, risk.n_unjudged) == (1, 1)
        assert risk.rate_judged == 0.5
        assert risk.per_variable["rate_judged"].tolist() == [0.5, 0.75]

    def test_a_suppressed_value_does_not_protect_the_others(self) -> None:
        rng = np.random.default_rng(1)
        original = pd.DataFrame(rng.lognormal(10, 1, (100, 5)), columns=list("abcde"))
        released = original.copy()
        for i in range(100):
            released.iloc[i, i % 5] = math.nan
        for by in ("sd", "rank"):
            risk = interval_disclosure(original, released, list("abcde"), by=by)
            assert (risk.rate, risk.rate_judged, risk.n_unjudged) == (1.0, 1.0, 0)
        assert "100 records with missing values are judged" in risk.summary()
        near = mahalanobis_disclosure(original, released, list("abcde"))
        assert near.rate1 == 1
        assert near.rate2 > 0.9
        holes = released.mask(original["a"] > 0)
        none = mahalanobis_disclosure(original, holes, list("abcde"))
        assert (none.rate1, none.n_unjudged) == (0, 100)
        assert math.isnan(none.rate1_judged)

    def test_k_widens_the_intervals(self) -> None:
        original, released = pair()
        assert interval_disclosure(original, released, ["a", "b"], k=0.7).rate == 0.8

    def test_by_rank_worked_by_hand(self) -> None:
        original = pd.DataFrame({"a": [10.0, 20.0, 30.0, 40.0, 99.0]})
        released = pd.DataFrame({"a": [12.0, 11.0, 31.0, 33.0, 35.0]})
        by_rank = interval_disclosure(original, released, "a", k=0.2, by="rank")
        # one place down and up: [11, 31], [11, 12], [12, 33], [31, 35], [33, 35]
        assert by_rank.per_record.tolist() == [False, False, True, False, False]
        assert interval_disclosure(original, released, "a", k=0.4, by="rank").rate == 0.4
        assert "of the ranks" in by_rank.summary()

    def test_by_rank_ties_share_their_range_and_missing_is_outside(self) -> None:
        original = pd.DataFrame({"a": [1.0, 1.0, 5.0, math.nan]})
        released = pd.DataFrame({"a": [1.0, 1.0, math.nan, 1.0]})
        risk = interval_disclosure(original, released, "a", k=0.01, by="rank")
        assert risk.per_record.tolist() == [True, True, False, False]

    def test_identical_files_are_fully_disclosed(self) -> None:
        frame = pd.DataFrame({"a": [1.0, 1.0, 1.0], "b": [1, 2, 3]})
        for by in ("sd", "rank"):
            assert interval_disclosure(frame, frame, ["a", "b"], by=by).rate == 1

    def test_summary(self) -> None:
        text = interval_disclosure(*pair(), ["a", "b"], k=0.1).summary()
        assert "for 40.00 % of 5 records" in text
        assert "within 0.1 standard deviations" in text

    def test_faults_together(self) -> None:
        original, released = pair()
        with pytest.raises(InputError) as caught:
            interval_disclosure(original, released.head(3), ["a", "bb"], k=0, by="range")
        text = str(caught.value)
        for part in ("k: is 0. Give a positive number", "'range'", "3 records against 5", "'bb'"):
            assert part in text
        with pytest.raises(InputError, match="must be numeric"):
            interval_disclosure(original.assign(a="x"), released, "a")
        with pytest.raises(InputError, match="no column is named"):
            interval_disclosure(original, released, [])
        with pytest.raises(InputError, match="given 2 times"):
            interval_disclosure(original, released, ["a", "a"])
        with pytest.raises(InputError, match="infinite"):
            interval_disclosure(original.assign(a=math.inf), released, "a")
        with pytest.raises(InputError, match="has no records"):
            interval_disclosure(original.head(0), released.head(0), "a")


class TestMahalanobisDisclosure:
    def cloud(self, n: int = 300) -> pd.DataFrame:
        values = np.random.default_rng(8).normal(size=(n, 2))
        values[:3] += 12
        return pd.DataFrame(values, columns=["a", "b"])

    def noisy(self, scale: float) -> tuple[pd.DataFrame, pd.DataFrame]:
        frame = self.cloud()
        return frame, frame + np.random.default_rng(9).normal(0, scale, frame.shape)

    def test_outliers_need_more_distance(self) -> None:
        original, released = self.noisy(0.02)
        risk = mahalanobis_disclosure(original, released, ["a", "b"], k=0.05)
        assert risk.distance[:3].min() > 6
        assert risk.risky1[:3].all()
        assert risk.rate1 < 0.6

    def test_robust_distance_is_not_masked(self) -> None:
        original = self.cloud(30)
        asked = {"k": 0.05}
        robust = mahalanobis_disclosure(original, original, ["a", "b"], **asked)
        plain = mahalanobis_disclosure(original, original, ["a", "b"], robust=False, **asked)
        assert robust.distance[:3].min() > 2 * plain.distance[:3].max()
        np.testing.assert_allclose(plain.covariance, np.corrcoef(original.T), atol=1e-12)

    def test_all_is_stricter_than_any(self) -> None:
        original, released = self.noisy(0.01)
        asked = {"k": 0.1}
        some = mahalanobis_disclosure(original, released, ["a", "b"], **asked)
        every = mahalanobis_disclosure(original, released, ["a", "b"], rule="all", **asked)
        assert 0 < every.rate1 < some.rate1
        assert not (every.risky1 & ~some.risky1).any()

    def test_close_neighbours_make_safe(self) -> None:
        original, released = self.noisy(0.001)
        asked = {"k": 0.1}
        one = mahalanobis_disclosure(original, released, ["a", "b"], k2=0.2, **asked)
        two = mahalanobis_disclosure(original, released, ["a", "b"], k2=0.2, neighbours=2, **asked)
        none = mahalanobis_disclosure(original, released, ["a", "b"], k2=1e-9, **asked)
        assert one.rate2 < two.rate2 < none.rate2 == none.rate1
        scaled_release = scaled(released, ["a", "b"])
        apart = np.linalg.norm(scaled_release[:, None] - scaled_release[None], axis=2)
        assert (one.risky2 == (one.risky1 & ((apart <= 0.2).sum(axis=1) < 2))).all()

    def test_standardise(self) -> None:
        original = self.cloud()
        moved = original * 3 + 5
        asked = {"k": 0.01}
        assert mahalanobis_disclosure(original, moved, ["a", "b"], **asked).rate1 == 1
        kept = mahalanobis_disclosure(original, moved, ["a", "b"], standardise="original", **asked)
        assert kept.rate1 < 0.05

    def test_records_are_judged_by_the_values_that_they_have(self) -> None:
        original, released = self.noisy(0.001)
        whole = mahalanobis_disclosure(original, released, ["a", "b"], k=0.1)
        hole = pd.DataFrame({"a": [math.nan], "b": [0.0]})
        more = mahalanobis_disclosure(
            pd.concat([hole, original]), pd.concat([hole, released]), ["a", "b"], k=0.1
        )
        assert (more.n_missing, more.n_unjudged) == (1, 0)
        assert more.risky1[0]  # its b is the true one
        np.testing.assert_array_equal(more.risky1[1:], whole.risky1)
        np.testing.assert_allclose(more.distance[1:], whole.distance, rtol=0.02)
        blank = hole.assign(b=math.nan)
        without = mahalanobis_disclosure(
            pd.concat([hole, original]), pd.concat([blank, released]), ["a", "b"], k=0.1
        )
        assert (without.n_unjudged, without.risky1[0]) == (1, False)
        assert without.rate1 == pytest.approx(without.rate1_judged * 300 / 301)

    def test_zeros_in_the_majority_fall_back(self) -> None:
        frame = self.cloud()
        frame.loc[frame.index[:200], "a"] = 0.0
        risk = mahalanobis_disclosure(frame, frame, ["a", "b"])
        assert "plane" in risk.fallback
        assert "Classical covariance: half of the records" in risk.summary()
        few = mahalanobis_disclosure(frame.tail(4), frame.tail(4), ["a", "b"])
        assert "too few" in few.fallback

    @pytest.mark.parametrize("n", [1, 2])
    def test_hardly_any_records(self, n: int) -> None:
        frame = self.cloud().head(n)
        assert mahalanobis_disclosure(frame, frame, ["a", "b"]).rate2 in (0, 1)

    def test_tables_and_words(self) -> None:
        risk = mahalanobis_disclosure(*self.noisy(0.01), ["a", "b"])
        assert list(risk.to_frame()) == ["distance", "risky1", "risky2"]
        assert "RMDID1, k = 0.01" in risk.summary()

    def test_faults(self) -> None:
        frame = self.cloud()
        with pytest.raises(InputError) as caught:
            mahalanobis_disclosure(
                frame, frame, ["a"], k=-1, k2=math.inf, neighbours=0, standardise="no", rule="one"
            )
        assert len(caught.value.faults) == 5


def test_two_complete_rows_have_a_covariance_and_one_has_none() -> None:
    values = np.array([[0.0, 2.0], [2.0, 0.0], [5.0, np.nan]])
    assert "fewer than two complete records" in scatter_of(values[1:], "classical").fallback
    assert np.array_equal(scatter_of(values[1:], "classical").covariance, np.eye(2))
    two = scatter_of(values, "classical")
    assert "fewer than two" not in two.fallback
    assert not np.array_equal(two.covariance, np.eye(2))
