from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from riskeval import disco, replicated_uniques, tcap
from riskeval.attacks import intervals
from riskeval.attacks.intervals import Ratio, over_files, over_units, share
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.intervals import wilson


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 40, n)
    ill = np.where(rng.random(n) < 0.9, age % 2, 1 - age % 2)
    return pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "ill": ill.astype(str)})


KEYS = ["age", "sex"]


class TestOverUnits:
    def test_the_bootstrap_of_a_share_is_near_the_normal_interval(self) -> None:
        risk = disco(people(600, 1), people(200, 2), KEYS, "ill", draws=4000, seed=1)
        half = 1.96 * math.sqrt(risk.rate * (1 - risk.rate) / 600)
        assert risk.interval == pytest.approx((risk.rate - half, risk.rate + half), abs=0.006)
        assert "which records happened to be in the original" in risk.summary()
        assert risk.to_frame()["lower"].isna().tolist() == [False, True] + [False] * 4

    def test_a_ratio_varies_in_both_parts(self) -> None:
        own, other = people(300, 1), people(150, 2)
        risk = tcap(own, other, KEYS, "ill", draws=3000, seed=1)
        cap = risk.per_record["cap"].to_numpy()
        rng = np.random.default_rng(5)
        drawn = [np.nanmean(cap[rng.integers(0, 300, 300)]) for _ in range(3000)]
        expected = np.quantile(drawn, [0.025, 0.975])
        assert risk.intervals.of("DCAP_matched") == pytest.approx(expected, abs=0.006)
        assert risk.table.set_index("measure")["lower"].notna().sum() == 6

    def test_nothing_found_has_the_upper_end_of_wilson(self) -> None:
        own = people(50, 1)
        twice = own["age"].value_counts().idxmax()
        other = own.assign(age=own["age"].where(own["age"] == twice, own["age"] + 100))
        risk = replicated_uniques(own, other, "age", seed=1)
        assert risk.rate == 0
        assert risk.interval == pytest.approx(wilson(0, 50, 0.95))

    def test_arguments(self) -> None:
        asked = {"original": people(200, 1), "synthetic": people(200, 2), "keys": KEYS}
        one = replicated_uniques(**asked, seed=1)
        assert replicated_uniques(**asked, seed=1).interval == one.interval
        assert replicated_uniques(**asked, seed=2).interval != one.interval
        more = replicated_uniques(**asked, draws=900, seed=1)
        assert not more.intervals.table["upper"].equals(one.intervals.table["upper"])
        wide = replicated_uniques(**asked, confidence=0.99, seed=1)
        assert wide.interval[1] > one.interval[1]
        none = replicated_uniques(**asked, draws=0)
        assert math.isnan(none.interval[0])
        assert "interval" not in none.summary()
        assert none.rate == one.rate

    def test_draws_in_parts_are_the_same_kind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = {"draws": 2000, "seed": 1}
        whole = tcap(people(300, 1), people(150, 2), KEYS, "ill", **asked)
        monkeypatch.setattr("riskeval.attacks.intervals._AT_ONCE", 300)
        parts = tcap(people(300, 1), people(150, 2), KEYS, "ill", **asked)
        assert whole.intervals.of("DCAP") == pytest.approx(parts.intervals.of("DCAP"), abs=0.006)

    def test_parts_add_to_the_draws_that_are_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sums = np.array([[1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
        monkeypatch.setattr(intervals, "_AT_ONCE", 9)  # three draws of three kinds of rows at once
        drawn = intervals._bootstrap(sums, 7, np.random.default_rng(1))
        assert drawn.shape == (7, 2)
        assert (drawn[:, 1] == 3).all()
        assert len(np.unique(drawn[:, 0])) > 2


class TestRatios:
    def test_a_share_among_some_units_times_a_factor(self) -> None:
        flags, among = np.array([True, True, False, True]), np.array([True, True, True, False])
        assert share(flags, among).value == pytest.approx(2 / 3)
        assert share(flags, among, 0.25).value == pytest.approx(1 / 6)
        assert math.isnan(share(flags, np.zeros(4, dtype=bool)).value)
        assert Ratio(np.array([3.0, 0.0]), np.array([0.5, 0.5])).value == 3.0

    @pytest.mark.parametrize(("hits", "factor"), [(0, 1.0), (40, 1.0), (40, 0.5)])
    def test_shares_that_do_not_vary_have_the_interval_of_wilson(
        self, hits: int, factor: float
    ) -> None:
        """Of 40 units that are looked at none or all; coverage multiplies both ends."""
        among = np.arange(50) < 40
        ratio = share(np.arange(50) < hits, among, factor)
        table = over_units(
            {"found": ratio}, {"other": 0.3}, unit="records", draws=50, confidence=0.9, seed=1
        ).table
        low, high = wilson(hits, 40, 0.9)
        assert table.loc["found", "mean"] == hits / 40 * factor
        ends = table.loc["found", ["lower", "upper"]].tolist()
        assert ends == pytest.approx([low * factor, high * factor])
        assert table.loc["other", "mean"] == 0.3
        assert table.loc["other", ["lower", "upper"]].isna().all()

    def test_resamples_without_a_unit_to_look_at_are_left_out(self) -> None:
        """One unit of three counts: about a third of the resamples do not have it."""
        ratio = share(np.array([True, False, False]), np.array([True, False, False]))
        result = over_units(
            {"found": ratio, "none": share(np.ones(3, bool), np.zeros(3, bool))}, {},
            unit="records", draws=200, confidence=0.9, seed=1,
        )  # fmt: skip
        assert result.of("found") == pytest.approx(wilson(1, 1, 0.9))
        assert all(math.isnan(end) for end in result.of("none"))
        assert result.sentence("none") == ""
        assert result.sentence("found").startswith(" (90 % interval ")

    def test_quantiles_of_two_equally_likely_totals(self) -> None:
        """Two units with 0 and 1 of the total 2: resamples have a ratio of 0, 1/2 or 1."""
        ratio = Ratio(np.array([0.0, 1.0]), np.ones(2))
        wide = over_units({"r": ratio}, {}, unit="records", draws=4000, confidence=0.6, seed=1).of(
            "r"
        )
        assert wide == (0.0, 1.0)  # a quarter of the resamples lies at either end
        near = over_units({"r": ratio}, {}, unit="records", draws=4000, confidence=0.4, seed=1).of(
            "r"
        )
        assert near == wilson(1, 2, 0.4)  # the quantiles at 30 % and 70 % are both 1/2

    def test_files_of_which_the_interval_passes_zero_or_one(self) -> None:
        values = [{"low": 0.0, "high": 1.0}, {"low": 0.02, "high": 0.9}]
        result = over_files(values, confidence=0.95, seed=1)
        assert result.table.loc["low"].tolist() == pytest.approx([0.01, 0, 0.01 + 12.7062 * 0.01])
        assert result.table.loc["high"].tolist() == pytest.approx(
            [0.95, 0.95 - 12.7062 * 0.05, 1.0], rel=1e-5
        )
        assert result.n_files == 2
        assert result.sentence("low").startswith(
            " (mean of 2 files, 95 % interval 0.00 % to 13.71 %: "
        )


class TestOverFiles:
    def test_mean_and_t_interval(self) -> None:
        own, files = people(300, 1), [people(300, seed) for seed in (2, 3, 4)]
        single = [disco(own, file, KEYS, "ill", draws=0) for file in files]
        rates = [risk.rate for risk in single]
        risk = disco(own, files[0], KEYS, "ill", replicates=files[1:], seed=1)
        half = 4.302653 * np.std(rates, ddof=1) / math.sqrt(3)  # t quantile of two degrees
        assert risk.interval == pytest.approx((np.mean(rates) - half, np.mean(rates) + half))
        assert risk.rate == pytest.approx(np.mean(rates))
        assert risk.intervals.table.loc["DiSCO", "mean"] == pytest.approx(np.mean(rates))
        assert risk.intervals.n_files == 3
        assert "mean of 3 files, 95 % interval" in risk.summary()
        theirs = [it.disclosive_in_synthetic for it in single]
        assert risk.intervals.table.loc["Dsyn", "mean"] == pytest.approx(np.mean(theirs))

    def test_the_other_measures(self) -> None:
        own, files = people(300, 1), [people(300, seed) for seed in (2, 3)]
        uniques = replicated_uniques(own, files[0], KEYS, replicates=iter(files[1:]), seed=1)
        rates = [replicated_uniques(own, file, KEYS).rate for file in files]
        assert uniques.intervals.table.loc["repU", "mean"] == pytest.approx(np.mean(rates))
        caps = tcap(own, files[0], KEYS, "ill", replicates=files[1:], seed=1)
        values = [tcap(own, file, KEYS, "ill").value("TCAP_synthetic") for file in files]
        assert caps.intervals.table.loc["TCAP_synthetic", "mean"] == pytest.approx(np.mean(values))


def test_faults() -> None:
    own = people(20, 1)
    with pytest.raises(InputError) as caught:
        disco(own, own, KEYS, "ill", draws=-1, confidence=1, replicates=own)
    assert [fault.where for fault in caught.value.faults] == ["draws", "confidence", "replicates"]
