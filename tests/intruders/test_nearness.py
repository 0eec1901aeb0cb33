from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.intruders.nearness import _Space, distance_screen, membership
from riskeval.kernels.linkage import gower_nearest
from synthpop.microdata.errors import InputError

NAMES = ["a", "b", "c"]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(list("xyz"), n)}
    )


def memorised(original: pd.DataFrame, scale: float = 0.02) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    moved = original.copy()
    moved[["a", "b"]] += rng.normal(0, scale, (len(original), 2))
    return moved


class TestMembership:
    def ask(self, synthetic: pd.DataFrame, **options):
        defaults = {"holdout": people(400, 3), "seed": 1}
        return membership(people(300, 1), synthetic, NAMES, **{**defaults, **options})

    @pytest.mark.parametrize("method", ["density", "nearest"])
    def test_memorised_records_are_found(self, method: str) -> None:
        risk = self.ask(memorised(people(300, 1)), method=method, neighbours=1)
        assert risk.auc > 0.8
        assert risk.interval[0] > 0.75
        assert risk.advantage > 0.4
        assert "gives away" in risk.summary()

    @pytest.mark.parametrize("method", ["density", "nearest"])
    def test_fresh_records_tell_nothing(self, method: str) -> None:
        risk = self.ask(people(300, 2), method=method)
        assert risk.interval[0] < 0.5 < risk.interval[1]
        assert "does not tell them apart" in risk.summary()

    def test_adversarial_accuracy(self) -> None:
        copied = self.ask(people(300, 1), method="nearest")
        assert copied.adversarial_accuracy == 0
        assert copied.privacy_loss == copied.adversarial_accuracy_holdout > 0.4
        fresh = self.ask(people(300, 2), method="nearest")
        assert abs(fresh.privacy_loss) < 0.1
        assert np.isnan(self.ask(people(300, 2)).privacy_loss)
        assert "privacy loss" in fresh.summary()

    def test_neighbours(self) -> None:
        one = self.ask(memorised(people(300, 1)), neighbours=1)
        many = self.ask(memorised(people(300, 1)), neighbours=50)
        assert one.auc > many.auc
        assert self.ask(people(20, 2), neighbours=500).auc > 0

    def test_records_are_drawn(self) -> None:
        risk = self.ask(people(300, 2), most_records=50)
        assert risk.per_record["member"].sum() == 50
        assert len(risk.per_record) == 75
        assert risk.per_record.loc[risk.per_record["member"], "row"].max() > 60

    def test_seed_and_confidence(self) -> None:
        first = self.ask(people(300, 2), seed=None)
        again = self.ask(people(300, 2), seed=first.seed)
        assert first.auc == again.auc
        assert self.ask(people(300, 2), seed=first.seed + 1).auc != first.auc
        wide = self.ask(people(300, 2), confidence=0.99)
        assert wide.interval[0] < self.ask(people(300, 2)).interval[0]
        assert wide.to_frame()["value"].iloc[0] == wide.auc

    def test_missing_values_are_left_out_of_pairs(self) -> None:
        original = people(100, 1)
        original.loc[:20, "a"] = np.nan
        original.loc[10:30, "c"] = None
        assert membership(original, original, NAMES, holdout=people(80, 2), seed=1).auc > 0.5

    def test_faults(self) -> None:
        with pytest.raises(InputError) as caught:
            self.ask(
                people(10, 1), holdout=people(3, 1).drop(columns="b"), method="guess",
                neighbours=0, most_records=1.5, confidence=1.0,
            )  # fmt: skip
        assert len(caught.value.faults) == 6
        with pytest.raises(InputError, match="column of the synthetic file"):
            self.ask(people(10, 1).drop(columns="b"))
        with pytest.raises(InputError, match="has no records"):
            self.ask(people(0, 1))
        with pytest.raises(InputError, match="no column"):
            membership(people(9, 1), people(9, 2), [], holdout=people(9, 3))


class TestDistanceScreen:
    def test_fresh_and_copied_files(self) -> None:
        original = people(400, 1)
        fresh = distance_screen(original, people(400, 2), NAMES, seed=1)
        assert fresh.identical == 0
        assert fresh.close_interval[0] < 0.07
        copied = distance_screen(original, original, NAMES, seed=1)
        assert copied.identical == copied.close == 1
        near = distance_screen(original, memorised(original, 0.001), NAMES, seed=1)
        assert near.identical == 0
        assert near.close > 0.9
        assert "NOT shown to be safe" in near.summary()
        assert near.to_frame()["dcr_0.5"].is_monotonic_increasing

    def test_holdout_is_the_baseline_when_given(self) -> None:
        original, synthetic = people(400, 1), people(400, 2)
        with_holdout = distance_screen(original, synthetic, NAMES, holdout=people(400, 3), seed=1)
        assert with_holdout.baseline == "hold-out"
        without = distance_screen(original, synthetic, NAMES, seed=1)
        assert without.baseline == "original"
        assert with_holdout.table["dcr_0.5"].iloc[1] != without.table["dcr_0.5"].iloc[1]

    def test_distances_by_hand(self) -> None:
        original = pd.DataFrame({"a": [0.0, 4.0, 10.0], "c": ["x", "x", "y"]})
        synthetic = pd.DataFrame({"a": [1.0, 10.0], "c": ["x", "z"]})
        found = distance_screen(original, synthetic, ["a", "c"], seed=1).per_record
        assert found["dcr"].tolist() == pytest.approx([0.05, 0.5])
        assert found["nndr"].tolist() == pytest.approx([0.05 / 0.15, 0.5 / 0.8])

    def test_records_are_drawn_by_seed(self) -> None:
        asked = {"most_records": 20}
        one = distance_screen(people(90, 1), people(90, 2), NAMES, seed=1, **asked)
        two = distance_screen(people(90, 1), people(90, 2), NAMES, seed=2, **asked)
        assert len(one.per_record) == 20
        assert one.per_record["row"].tolist() != two.per_record["row"].tolist()

    def test_confidence(self) -> None:
        asked = {"seed": 1}
        wide = distance_screen(people(90, 1), people(90, 2), NAMES, confidence=0.99, **asked)
        usual = distance_screen(people(90, 1), people(90, 2), NAMES, **asked)
        assert wide.close_interval[1] > usual.close_interval[1]

    def test_a_stream_of_blocks(self) -> None:
        synthetic = people(90, 2)
        blocks = [synthetic.iloc[start : start + 8] for start in range(0, 90, 8)]
        asked = {"most_records": 20, "seed": 1}
        whole = distance_screen(people(90, 1), synthetic, NAMES, **asked)
        parts = distance_screen(people(90, 1), iter(blocks), NAMES, **asked)
        pd.testing.assert_frame_equal(whole.per_record, parts.per_record)

    def test_faults(self) -> None:
        with pytest.raises(InputError, match="1 records are too few"):
            distance_screen(people(1, 1), people(5, 2), NAMES)
        with pytest.raises(InputError, match="Did you mean 'a'"):
            distance_screen(people(5, 1), people(5, 2), ["aa"])


def test_compiled_and_plain_nearest_agree_with_all_pairs() -> None:
    frames = {"one": people(25, 1), "two": people(8, 2)}
    frames["one"].loc[3, "a"] = np.nan
    frames["two"].loc[1, ["a", "b"]] = np.nan
    space = _Space(frames, ("a", "b", "c"))
    found = space.nearest("one", "two", k=3)
    gaps = np.abs(space.numbers["two"][:, None] - space.numbers["one"][None]) / space.ranges
    other = space.codes["two"][:, None] != space.codes["one"][None]
    matrix = np.nanmean(np.concatenate([gaps, other], axis=2), axis=2)
    np.testing.assert_allclose(found, np.sort(matrix, axis=1)[:, :3])
    arguments = (
        space.numbers["one"], space.numbers["one"], space.ranges, np.ones(2), space.codes["one"],
        space.codes["one"], np.ones(1), np.arange(25), 2,
    )  # fmt: skip
    np.testing.assert_allclose(gower_nearest(*arguments), gower_nearest.py_func(*arguments))
    assert gower_nearest(*arguments).min() > 0
