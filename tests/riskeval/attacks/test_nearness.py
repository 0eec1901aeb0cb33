from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from riskeval import distance_screen, membership
from riskeval.attacks.distance.space import (
    Points,
    Space,
    draw_households,
    household_points,
    person_points,
)
from riskeval.attacks.scenario import Scenario
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Event

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
        assert "reveals" in risk.summary()

    @pytest.mark.parametrize("method", ["density", "nearest"])
    def test_fresh_records_tell_nothing(self, method: str) -> None:
        risk = self.ask(people(300, 2), method=method)
        assert risk.interval[0] < 0.5 < risk.interval[1]
        assert "not tell them apart" in risk.summary()

    def test_adversarial_accuracy(self) -> None:
        copied = self.ask(people(300, 1), method="nearest")
        assert copied.adversarial_accuracy == 0
        assert copied.privacy_loss == copied.adversarial_accuracy_holdout > 0.4
        fresh = self.ask(people(300, 2), method="nearest")
        assert abs(fresh.privacy_loss) < 0.1
        assert np.isnan(self.ask(people(300, 2), method="density").privacy_loss)
        assert "privacy loss" in fresh.summary()

    def test_an_attack_of_the_panel_is_the_attack_alone(self) -> None:
        panel = self.ask(memorised(people(300, 1), 0.3), neighbours=5).panel.set_index("attack")
        for method, row in (("nearest", "nearest"), ("density", "density, 5 neighbours")):
            alone = self.ask(memorised(people(300, 1), 0.3), neighbours=5, method=method)
            assert panel["auc"][row] == pytest.approx(alone.panel["auc"].iloc[0])

    def test_neighbours(self) -> None:
        one = self.ask(memorised(people(300, 1)), neighbours=1, method="density")
        many = self.ask(memorised(people(300, 1)), neighbours=50, method="density")
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
        assert not self.ask(people(300, 2), seed=first.seed + 1).panel.equals(first.panel)
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
        screen = distance_screen(original, synthetic, ["a", "c"], seed=1)
        row = screen.table.iloc[0]
        ends = [row[f"dcr_{share}"] for share in (0.01, 0.05, 0.25, 0.5)]
        assert ends == pytest.approx([0.0545, 0.0725, 0.1625, 0.275])
        assert row["nndr"] == pytest.approx((1 / 3 + 5 / 8) / 2)
        found = screen.per_record
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
        with pytest.raises(InputError, match="1 record is too few"):
            distance_screen(people(1, 1), people(5, 2), NAMES)
        with pytest.raises(InputError, match="Did you mean 'a'"):
            distance_screen(people(5, 1), people(5, 2), ["aa"])


def test_nearest_agree_with_all_pairs() -> None:
    frames = {"one": people(25, 1), "two": people(8, 2)}
    frames["one"].loc[3, "a"] = np.nan
    frames["two"].loc[1, ["a", "b"]] = np.nan
    points, weights = person_points(frames, ("a", "b", "c"), ["a", "b"])
    space = Space(points, weights, 3)
    one, two = points["one"], points["two"]
    found = space.nearest("one", "two", k=3)
    gaps = np.abs(two.numbers[:, None] - one.numbers[None]) / space.ranges
    other = two.codes[:, None] != one.codes[None]
    matrix = np.nanmean(np.concatenate([gaps, other], axis=2), axis=2)
    np.testing.assert_allclose(found, np.sort(matrix, axis=1)[:, :3])
    itself = space.nearest("one", "one", np.arange(25), k=1, leave_out=True)
    assert itself.min() > 0


class TestWorkedByHand:
    def test_adversarial_accuracy(self) -> None:
        """One number from 0 to 10: T are the originals, S the synthetic records."""
        t = pd.DataFrame({"a": [0.0, 1.0, 5.0, 10.0]})
        s = pd.DataFrame({"a": [0.0, 4.0, 8.0, 9.0]})
        other = pd.DataFrame({"a": [2.0, 2.0, 2.0, 2.0]})
        risk = membership(t, s, "a", holdout=other, method="nearest", seed=1)
        # d_TS: 0 1 1 1, d_TT: 1 1 4 5 -> one tie; d_ST: 0 1 2 1, d_SS: 4 4 1 1 -> one (8) and a tie
        assert risk.adversarial_accuracy == (0.5 / 4 + 1.5 / 4) / 2
        # hold-out: d_TS 2 (all), d_TT 0 -> all; d_ST: 2 2 6 7, d_SS: 4 4 1 1 -> two
        assert risk.adversarial_accuracy_holdout == (4 / 4 + 2 / 4) / 2
        assert risk.privacy_loss == 0.75 - 0.25
        assert risk.per_record["score"].tolist() == [0, -0.1, -0.1, -0.1, *[-0.2] * 4]
        assert (risk.auc, risk.advantage) == (1, 1)

    def test_area_and_advantage(self) -> None:
        """Scores 0, -0.1 (3) of members; 0, -0.2 (3) of strangers: best cut at -0.1."""
        t = pd.DataFrame({"a": [0.0, 1.0, 5.0, 10.0]})
        s = pd.DataFrame({"a": [0.0, 4.0, 8.0, 9.0]})
        other = pd.DataFrame({"a": [0.0, 2.0, 2.0, 2.0]})
        risk = membership(t, s, "a", holdout=other, method="nearest", seed=1)
        assert risk.auc == pytest.approx((3.5 + 3 * 3) / 16)
        assert risk.advantage == 1 - 0.25
        assert (risk.excess.n, risk.excess.n_holdout) == (4, 4)
        assert risk.excess.difference == pytest.approx(12.5 / 16 - 0.5)
        assert risk.per_record["row"].tolist() == [0, 1, 2, 3] * 2

    @pytest.mark.parametrize(
        ("method", "n", "few"), [("nearest", 25, 0), ("nearest", 24, 24), ("density", 49, 0),
                                 ("density", 48, 24)],
    )  # fmt: skip
    def test_few_strangers_are_told(self, method: str, n: int, few: int) -> None:
        """For densities half of the hold-out is the reference, the smaller one."""
        risk = membership(people(30, 1), people(30, 2), "a", holdout=people(n, 3),
                          method=method, seed=1)  # fmt: skip
        assert ("The hold-out contains only" in risk.summary()) == bool(few)
        assert not few or f"only {few} strangers, so" in risk.summary()

    def test_four_records_can_be_attacked(self) -> None:
        asked = {"holdout": people(4, 3), "method": "nearest", "seed": 1}
        risk = membership(people(30, 1), people(30, 2), "a", most_records=4, **asked)
        assert risk.per_record["member"].tolist() == [True] * 4 + [False] * 4
        with pytest.raises(InputError, match="most_records: is 3"):
            membership(people(30, 1), people(30, 2), "a", most_records=3, **asked)
        asked["holdout"] = people(3, 3)
        with pytest.raises(InputError, match="holdout"):
            membership(people(30, 1), people(30, 2), "a", **asked)

    def test_densities_by_the_k_th_neighbour(self) -> None:
        """Records at 0, 1, 4 and 10 of a range of 10, with two variables that count."""
        points = {
            "base": Points(np.array([[0.0], [1.0], [4.0], [10.0]]), np.empty((4, 0), np.int32)),
            "asked": Points(np.array([[0.0], [6.0]]), np.empty((2, 0), np.int32)),
        }
        space = Space(points, (np.ones(1), np.empty(0)), 2)
        for k, near in ((1, [0.0, 0.2]), (2, [0.1, 0.4]), (3, [0.4, 0.5]), (9, [1.0, 0.6])):
            found = space.log_density(space.nearest("base", "asked", k=k), k)
            np.testing.assert_allclose(found, -2 * np.log(np.array(near) + 1e-9))
        few = space.nearest("base", "asked", np.array([1]), among=np.array([0, 3]), k=2)
        among = space.log_density(few, 2)
        np.testing.assert_allclose(among, -2 * np.log(0.6 + 1e-9))

    def test_log_ratio_of_densities(self) -> None:
        """Two variables, nearest neighbour: log ratio = 2 (log distance there - log here)."""
        original = pd.DataFrame({"a": [0.0, 10.0], "b": [0.0, 10.0]})
        synthetic = pd.DataFrame({"a": [1.0], "b": [1.0]})
        holdout = pd.DataFrame({"a": [5.0] * 4, "b": [5.0] * 4})
        risk = membership(original, synthetic, ["a", "b"], holdout=holdout, neighbours=1, seed=1)
        expected = [2 * np.log(0.5 / 0.1), 2 * np.log(0.5 / 0.9)]
        assert risk.per_record["score"].tolist()[:2] == pytest.approx(expected)


def homes(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    frame = people(int(sizes.sum()), seed + 100)
    return frame.assign(h=np.repeat(np.arange(n), sizes) + 1000 * seed)


class TestHouseholds:
    def test_profiles_by_hand(self) -> None:
        frame = pd.DataFrame({"h": [9, 5, 9], "a": [1.0, 4.0, 3.0], "c": ["x", None, "y"]})
        points, weights = household_points({"one": frame}, ["a", "c"], "h", ["a"])
        # size; mean, smallest, largest a; members with x, with y
        assert points["one"].numbers.tolist() == [[2, 2, 1, 3, 1, 1], [1, 4, 4, 4, 0, 0]]
        assert weights[0].tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
        single = frame.assign(c="x", d=None)
        points, weights = household_points({"one": single}, ["c", "d"], "h", [])
        assert points["one"].numbers.tolist() == [[2, 2], [1, 1]]  # size; members with x
        assert weights[0].tolist() == [1, 1]
        flat, _ = household_points({"one": frame}, ["a"], "h", [])
        assert flat["one"].numbers.shape == (2, 4)

    def test_copied_households_are_found(self) -> None:
        original, strangers = homes(150, 1), homes(150, 2)
        asked = {"holdout": strangers, "household": "h", "seed": 1}
        copied = distance_screen(original, original, NAMES, **asked)
        assert (copied.identical, copied.unit) == (1, "households")
        assert "synthetic households equal" in copied.summary()
        fresh = distance_screen(original, homes(150, 3), NAMES, **asked)
        assert fresh.identical == 0
        found = membership(original, original, NAMES, method="nearest", **asked)
        assert found.auc == 1
        assert "shown a household of the original" in found.summary()
        assert len(found.per_record) == 300

    def test_whole_households_are_drawn(self) -> None:
        stream = homes(200, 1).sample(frac=1, random_state=1)
        sizes = stream.groupby("h").size()
        blocks = [stream.iloc[start : start + 40] for start in range(0, len(stream), 40)]
        for file in (stream, blocks):
            rng = np.random.default_rng(3)
            drawn, numbers = draw_households(file, "synthetic", NAMES, "h", 30, rng)
            assert drawn["h"].nunique() == 30
            assert drawn.groupby("h").size().to_dict() == sizes[drawn["h"].unique()].to_dict()
            assert stream["h"].unique()[numbers].tolist() == drawn["h"].unique().tolist()
        other, _ = draw_households(stream, "s", NAMES, "h", 30, np.random.default_rng(4))
        assert set(other["h"]) != set(drawn["h"])

    @pytest.mark.parametrize("size", [2, 7])
    def test_as_many_households_as_are_asked_for(self, size: int) -> None:
        """Persons who live alone, in blocks: each block may add a household to those drawn."""
        frame = pd.DataFrame({"h": np.arange(30), "a": 1.0})
        for seed in range(8):
            blocks = [frame.iloc[start : start + size] for start in range(0, 30, size)]
            rng = np.random.default_rng(seed)
            assert len(draw_households(blocks, "s", ["a"], "h", 5, rng)[1]) == 5
        rng = np.random.default_rng(1)
        assert len(draw_households(frame, "s", ["a"], "h", 30, rng)[1]) == 30

    def test_members_are_compared_with_the_nearest_persons(self) -> None:
        """The mean over the members of their distance to the nearest synthetic person."""
        files = {"original": homes(40, 1), "synthetic": homes(30, 2), "holdout": homes(30, 3)}
        risk = membership(
            files["original"], files["synthetic"], ["a", "b"], holdout=files["holdout"],
            household="h", seed=1,
        )  # fmt: skip
        every = pd.concat(files.values())[["a", "b"]]
        spread = every.max() - every.min()
        points = {role: (file[["a", "b"]] / spread).to_numpy() for role, file in files.items()}
        scores = []
        for role in ("original", "holdout"):
            gaps = np.abs(points[role][:, None] - points["synthetic"][None]).mean(axis=2)
            nearest = pd.Series(gaps.min(axis=1), index=files[role].index)
            scores.append(-nearest.groupby(files[role]["h"]).mean().to_numpy())
        area = (scores[0][:, None] > scores[1]).mean() + (
            scores[0][:, None] == scores[1]
        ).mean() / 2
        assert risk.panel.set_index("attack")["auc"]["members"] == pytest.approx(area)

    def test_each_household_is_as_likely(self) -> None:
        frame = pd.DataFrame({"h": np.repeat(np.arange(6), [1, 9, 1, 1, 5, 1]), "a": 1.0})
        rng = np.random.default_rng(1)
        drawn = [draw_households(frame, "s", ["a"], "h", 2, rng)[1] for _ in range(450)]
        counts = np.bincount(np.concatenate(drawn), minlength=6)
        assert np.abs(counts / 150 - 1).max() < 0.28

    def test_faults(self) -> None:
        few = homes(3, 1)
        with pytest.raises(InputError, match="3 households are too few"):
            membership(homes(9, 2), homes(9, 3), NAMES, holdout=few, household="h")
        with pytest.raises(InputError, match="household of the synthetic file"):
            distance_screen(homes(9, 2), homes(9, 3).drop(columns="h"), NAMES, household="h")
        with pytest.raises(InputError, match="is missing in the original"):
            distance_screen(homes(9, 2).assign(h=None), homes(9, 3), NAMES, household="h")


class TestScenarioAndProgress:
    def test_scenario_names_the_variables(self) -> None:
        original, synthetic = people(90, 1), people(90, 2)
        told = distance_screen(original, synthetic, Scenario(["a", "c"], "b"), seed=1)
        plain = distance_screen(original, synthetic, ["a", "c", "b"], seed=1)
        pd.testing.assert_frame_equal(told.to_frame(), plain.to_frame())
        assert "Everybody is judged" in told.summary()
        coded = Scenario(["a", "c"], "b", categorical="b")
        other = distance_screen(original, synthetic, coded, seed=1)
        assert other.table["dcr_0.5"].iloc[0] > told.table["dcr_0.5"].iloc[0]
        house = Scenario(NAMES, unit="household", household="h")
        assert distance_screen(homes(30, 1), homes(30, 2), house, seed=1).unit == "households"
        with pytest.raises(InputError, match=r"coverage: 0.5 of the Scenario has no part"):
            membership(original, synthetic, Scenario(NAMES, coverage=0.5), holdout=people(90, 3))

    @pytest.mark.parametrize("method", ["density", "nearest"])
    def test_workers_parts_and_events(self, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = {"holdout": people(90, 3), "method": method, "seed": 1}
        one = membership(people(150, 1), people(120, 2), NAMES, **asked)
        monkeypatch.setattr("riskeval.attacks.distance.space.AT_ONCE", 40)
        used: list[int] = []
        monkeypatch.setattr(
            "riskeval.attacks.distance.space.ThreadPoolExecutor",
            lambda workers: used.append(workers) or ThreadPoolExecutor(workers),
        )
        seen: list[Event] = []
        two = membership(
            people(150, 1), people(120, 2), NAMES, workers=2, on_event=seen.append, **asked
        )
        pd.testing.assert_frame_equal(one.per_record, two.per_record)
        assert [event.kind for event in seen] == ["start", *["progress"] * (len(seen) - 2), "end"]
        assert seen[-2].done == seen[-2].total == seen[-1].done
        assert len(seen) > 8
        assert set(used) == {2}

    def test_events_of_the_screen(self) -> None:
        seen: list[Event] = []
        asked = {"workers": 2, "seed": 1}
        risk = distance_screen(people(90, 1), people(70, 2), NAMES, on_event=seen.append, **asked)
        assert [event.done for event in seen] == [0, 70, 160, 160]
        plain = distance_screen(people(90, 1), people(70, 2), NAMES, seed=1)
        pd.testing.assert_frame_equal(risk.per_record, plain.per_record)

    def test_a_name_given_twice(self) -> None:
        with pytest.raises(InputError, match="'a' is given 2 times"):
            distance_screen(people(9, 1), people(9, 2), ["a", "a"])
