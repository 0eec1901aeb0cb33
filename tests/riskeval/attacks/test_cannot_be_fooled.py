"""Files that once got reassuring numbers: suppressed cells, copies, other codes, few strangers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import disco, distance_screen, membership, replicated_uniques, tcap
from riskeval.attacks.assess_synthetic import assess_synthetic
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import auc, excess
from riskeval.comparison.compare import compare
from riskeval.report.judgement import judgement_facts, verdict_rows
from synthpop.microdata.messages.errors import InputError

KEYS = ["a", "b", "c", "d"]


def categories(n: int = 1000, seed: int = 1, levels: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({key: rng.integers(0, levels, n).astype(str) for key in KEYS})
    return frame.assign(ill=rng.choice(["flu", "cancer", "none", "other"], n))


def suppressed(frame: pd.DataFrame) -> pd.DataFrame:
    """One of four keys suppressed in each record, the sensitive value untouched."""
    release = frame.copy()
    for i in range(len(release)):
        release.loc[i, KEYS[i % 4]] = None
    return release


class TestHoles:
    def test_a_suppressed_key_matches_anything(self) -> None:
        original = categories(400, levels=9)
        release = suppressed(original)
        # by hand: the released records that agree wherever they have a key
        known = release[KEYS].notna().to_numpy()
        same = original[KEYS].to_numpy()[:, None] == release[KEYS].to_numpy()[None]
        fits = (same | ~known[None]).all(axis=2)
        ill = original["ill"].to_numpy()
        right = np.array([(ill[row] == own).all() for row, own in zip(fits, ill, strict=True)])
        risk = disco(original, release, KEYS, "ill", seed=1)
        assert risk.rate == pytest.approx(right.mean())
        assert risk.rate > 0.5
        assert risk.per_record.tolist() == right.tolist()
        unique = ~original.duplicated(KEYS, keep=False).to_numpy()
        uniques = replicated_uniques(original, release, KEYS, seed=1)
        assert uniques.rate == pytest.approx((unique & (fits.sum(axis=1) == 1)).mean())
        share = np.array([(ill[row] == own).mean() for row, own in zip(fits, ill, strict=True)])
        assert tcap(original, release, KEYS, "ill", seed=1).value("DCAP") == pytest.approx(
            share.mean()
        )

    def test_other_treatments_say_what_they_said(self) -> None:
        original = categories(400)
        release = suppressed(original)
        for missing in ("category", "unmatched"):
            risk = disco(original, release, KEYS, "ill", missing=missing, seed=1)
            assert (risk.rate, risk.in_synthetic) == (0.0, 0.0)

    def test_records_that_could_be_judged(self) -> None:
        original = categories(300)
        release = suppressed(original).iloc[:150]
        risk = disco(original, release, KEYS, "ill", seed=1)
        assert 0 < risk.in_synthetic < 1
        assert risk.rate_judged == pytest.approx(risk.rate / risk.in_synthetic)
        uniques = replicated_uniques(original, release, KEYS, seed=1)
        assert uniques.rate_judged == pytest.approx(uniques.rate / uniques.unique_in_synthetic)

    def test_blank_records_protect_nobody(self) -> None:
        original = categories(300)
        blank = pd.DataFrame([[None] * 4 + ["flu"]] * 5, columns=[*KEYS, "ill"])
        plain = replicated_uniques(original, suppressed(original), KEYS, seed=1)
        both = pd.concat([suppressed(original), blank], ignore_index=True)
        assert replicated_uniques(original, both, KEYS, seed=1).rate == plain.rate
        assert disco(original, both, KEYS, "ill", seed=1).rate > 0

    def test_a_record_with_fewer_holes_is_believed(self) -> None:
        original = pd.DataFrame({"a": ["x", "w"], "b": ["y", "z"], "ill": ["flu", "none"]})
        release = pd.DataFrame(
            {"a": ["x", None, None], "b": [None, None, "z"], "ill": ["flu", "none", "none"]}
        )
        assert disco(original, release, ["a", "b"], "ill", seed=1).per_record.tolist()[0]

    def test_a_missing_target_says_nothing(self) -> None:
        original = pd.DataFrame({"a": list("xxyy"), "ill": ["flu", "flu", "none", "none"]})
        release = original.assign(ill=["flu", None, None, None])
        risk = disco(original, release, "a", "ill", seed=1)
        assert risk.per_record.tolist() == [True, True, False, False]
        old = disco(original, release, "a", "ill", missing="category", seed=1)
        assert old.rate == 0

    @pytest.mark.parametrize("unit", ["person", "household"])
    def test_records_without_the_target_do_not_hide_those_with_a_hole(self, unit: str) -> None:
        """Each person twice: all keys without the target, and the target with one key."""
        rng = np.random.default_rng(1)
        n = 60
        original = pd.DataFrame(
            {"k": rng.permutation(n).astype(str), "b": rng.integers(0, 5, n).astype(str),
             "ill": rng.choice(["x", "y", "z"], n), "h": np.arange(n) // 2}
        )  # fmt: skip
        both = [original.assign(ill=None), original.assign(b=None, h=original["h"] + n)]
        release = pd.concat(both, ignore_index=True)
        asked = {"household": "h", "members": "every"} if unit == "household" else {}
        assert disco(original, release, ["k", "b"], "ill", seed=1, **asked).rate == 1
        assert tcap(original, release, ["k", "b"], "ill", seed=1, **asked).value("DCAP") == 1
        more = {"unit": "household", "household": "h"} if unit == "household" else {}
        intruder = Scenario(["k", "b"], "ill", who="everyone", **more)
        found = intruder_scenarios(original, release, intruder, scenarios=(4,), seed=1)
        assert found.table["tau"].tolist() == [n / 2 if more else n]

    def test_a_missing_key_of_the_original_is_matched_by_a_hole_only(self) -> None:
        original = pd.DataFrame({"a": [None, "x"], "b": ["u", "v"], "ill": ["flu", "none"]})
        release = pd.DataFrame({"a": ["x", None], "b": ["u", "u"], "ill": ["none", "flu"]})
        risk = disco(original, release, ["a", "b"], "ill", seed=1)
        assert risk.per_record.tolist() == [True, False]

    def test_households(self) -> None:
        original = pd.DataFrame(
            {"h": [1, 1, 2, 2, 3], "k": list("abacd"), "ill": ["p", "q", "r", "s", "t"]}
        )
        release = original.assign(k=[None, "b", "c", None, None])
        release.loc[2:3, "ill"] = ["s", "r"]  # the second household in another order
        risk = disco(original, release, "k", "ill", household="h", members="every", seed=1)
        assert risk.per_record.tolist() == [True, True, False]  # the blank one says nothing
        uniques = replicated_uniques(original, release, "k", household="h", seed=1)
        assert uniques.per_record.tolist() == [True, True, False]

    def test_compare_finds_what_suppression_leaves(self) -> None:
        original = categories(400, levels=9)
        result = compare(original, {"holes": suppressed(original)}, keys=KEYS, sensitive="ill",
                         seed=1, sample_sizes={"model": "nearest"})  # fmt: skip
        table = result.measures[result.measures["release"] == "holes"]
        value = table.set_index("measure")["value"]
        assert value["disco"] > 0.5
        assert value["replicated_uniques"] > 0.3
        assert value["rapid"] > 0.5
        assert value["tcap"] > 0.5
        assert not table["note"].str.contains("no released group").any()


class TestCopies:
    def test_the_screen_sees_a_copy_of_categories(self) -> None:
        original, strangers = categories(), categories(seed=2)
        for column in KEYS:
            assert original[column].nunique() == 6
        copy = distance_screen(original, original, KEYS, holdout=strangers, seed=1)
        assert copy.identical == 1
        assert copy.identical_baseline == pytest.approx(
            strangers[KEYS].merge(original[KEYS].drop_duplicates()).shape[0] / 1000
        )
        assert copy.excess["identical"].is_above
        assert copy.close > copy.close_baseline
        fresh = distance_screen(original, categories(seed=3), KEYS, holdout=strangers, seed=1)
        assert not any(one.is_above for one in fresh.excess.values())
        alone = distance_screen(original, original, KEYS, seed=1)
        assert (alone.identical, alone.excess) == (1, {})
        assert 0.3 < alone.identical_baseline < 0.7
        assert "no verdict" in alone.summary()

    @pytest.mark.parametrize("kind", ["continuous", "mixed", "categorical"])
    def test_membership_sees_a_copy_by_default(self, kind: str) -> None:
        rng = np.random.default_rng(1)
        people = pd.DataFrame(rng.normal(size=(800, 4)), columns=KEYS)
        if kind == "mixed":
            people[["a", "b"]] = rng.choice(["x", "y", "z"], (800, 2))
        if kind == "categorical":
            people = categories(800)[KEYS]
        risk = membership(people[:400], people[:400], KEYS, holdout=people[400:], seed=1)
        assert risk.excess.is_above
        assert risk.auc > (0.65 if kind == "categorical" else 0.99)
        assert "reveals" in risk.summary()
        assert len(risk.panel) == 3

    def test_rapid_sees_a_copy_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("riskeval.attacks.prediction.model.TREES", 10)
        rng = np.random.default_rng(1)
        people = pd.DataFrame(
            {"age": rng.integers(18, 90, 800), "post": rng.integers(1000, 9999, 800),
             "income": rng.lognormal(10, 1, 800)}
        )  # fmt: skip
        risk = rapid(
            people[:400], people[:400], ["age", "post"], "income", holdout=people[400:],
            permutations=0, seed=1,
        )  # fmt: skip
        assert (risk.model, risk.rate) == ("nearest", 1.0)
        assert risk.excess.difference > 0.9
        assert risk.excess.is_above
        assert risk.excess.n_tests == 3
        wide = rapid(
            people[:400], people[:400], ["age", "post"], "income", holdout=people[400:],
            model="nearest", permutations=0, seed=1,
        )  # fmt: skip
        assert wide.excess.lower > risk.excess.lower  # corrected for the choice among three


class TestVerdicts:
    def test_few_strangers_rarely_cry(self) -> None:
        rng = np.random.default_rng(5)
        for m in (2, 5):
            alarms = sum(
                auc(rng.normal(size=300), rng.normal(size=m), 0.95)[1] > 0.5 for _ in range(600)
            )
            assert alarms / 600 < 0.045
        assert auc(np.array([3.0, 4, 5]), np.array([1.0, 2]), 0.95)[1] < 0.5

    def test_attribution_is_read_against_strangers(self) -> None:
        """DCAP of members and of strangers: honest files are not accused."""
        alarms = 0
        for seed in range(25):
            rng = np.random.default_rng(seed)

            def draw(n: int, rng: np.random.Generator = rng) -> pd.DataFrame:
                age = rng.integers(0, 9, n)
                status = np.where(rng.random(n) < 0.7, "x", age.astype(str))
                return pd.DataFrame({"age": age, "status": status})

            risk = tcap(draw(200), draw(400), "age", "status", holdout=draw(200), draws=0, seed=1)
            alarms += any(one.is_above for one in risk.excess.values())
        assert alarms <= 3

    def test_scenarios_have_intervals_and_a_comparison(self) -> None:
        rng = np.random.default_rng(1)
        people = pd.DataFrame({"k": rng.permutation(400), "y": rng.lognormal(7, 1, 400)})
        risk = intruder_scenarios(
            people[:200], people[:200], "k", "y", accuracy=0.05, holdout=people[200:],
            scenarios=(2, 4), seed=1,
        )  # fmt: skip
        assert (risk.table["lower"] > 0.97).all()
        assert risk.excess["y", 2, 0.05].is_above
        alone = intruder_scenarios(people[:200], people[:200], "k", "y", scenarios=(2, 4))
        assert alone.excess == {}

    def test_uniques_of_files_of_other_size_are_compared_fairly(self) -> None:
        """A small hold-out has more uniques: compared are those unique in both files together."""
        alarms = 0
        for seed in range(20):
            files = [categories(n, 10 * seed + n % 7, 4) for n in (600, 500, 60)]
            risk = replicated_uniques(files[0], files[1], KEYS, holdout=files[2], draws=0, seed=1)
            assert risk.excess is not None
            assert risk.excess.n < risk.n_original
            alarms += risk.excess.is_above
        assert alarms <= 2

    def test_excess_by_hand(self) -> None:
        one = excess(np.ones(70), np.r_[np.ones(48), np.zeros(32)], 0.95, coverage=0.5)
        assert one is not None
        assert one.difference == pytest.approx(0.5 * (1 - 48 / 80))
        assert excess(np.ones(3), np.empty(0), 0.95) is None
        clear = excess(np.ones(20), np.r_[np.ones(10), np.zeros(10)], 0.95)
        weak = excess(np.r_[np.ones(56), np.zeros(14)], np.r_[np.ones(48), np.zeros(32)], 0.95)
        assert clear is not None
        assert weak is not None
        assert (clear.is_above_among(20), weak.is_above_among(20)) == (True, False)
        assert weak.is_above


class TestReplicates:
    def test_value_and_interval_are_of_the_same_thing(self) -> None:
        original = categories(300)
        releases = [categories(300, seed) for seed in range(2, 8)]
        asked = {"replicates": releases[1:], "seed": 1}
        for risk in (
            disco(original, releases[0], KEYS[:2], "ill", **asked),
            replicated_uniques(original, releases[0], KEYS[:3], **asked),
        ):
            assert risk.interval[0] <= risk.rate <= risk.interval[1]
        single = [disco(original, it, KEYS[:2], "ill", draws=0).rate for it in releases]
        assert disco(original, releases[0], KEYS[:2], "ill", **asked).rate == pytest.approx(
            np.mean(single)
        )
        table = tcap(original, releases[0], KEYS[:2], "ill", **asked).table
        inside = table.dropna(subset=["lower"])
        assert ((inside["lower"] <= inside["value"]) & (inside["value"] <= inside["upper"])).all()


class TestCodes:
    def people(self, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {"sex": rng.integers(1, 3, 200), "age": rng.integers(20, 40, 200),
             "civil": rng.integers(1, 5, 200)}
        )  # fmt: skip

    @pytest.mark.parametrize("written", [lambda s: s.astype(float).astype(str), str])
    def test_codes_in_another_type_are_the_same(self, written) -> None:
        original, strangers = self.people(1), self.people(3)
        text = original["sex"].map(written) if written is str else written(original["sex"])
        other = original.assign(sex=text)
        attacks = ["replicated_uniques", "disco", "tcap", "distance_screen", "rapid"]
        asked = {"targets": "civil", "holdout": strangers, "categorical": "civil", "seed": 1,
                 "attacks": attacks}  # fmt: skip
        keys = ["sex", "age"]
        plain = assess_synthetic(original, original, keys, **asked).table
        same = assess_synthetic(original, other, keys, **asked).table
        pd.testing.assert_frame_equal(plain, same)

    def test_codes_that_never_match_are_left_out(self) -> None:
        original = self.people(1)
        other = original.assign(sex=original["sex"].map({1: "male", 2: "female"}))
        with pytest.raises(InputError, match="no level in common"):
            distance_screen(original, other, ["sex", "age"], seed=1)
        risk = assess_synthetic(original, other, ["sex", "age"], "civil", seed=1)
        assert risk.dropped == ("sex",)
        assert risk.results["disco", "civil"].keys == ("age",)
        assert any(text.startswith("sex is coded differently") for text in risk.verdict.not_tried)

    def test_codes_taken_for_amounts_are_named_with_the_remedy(self) -> None:
        original = self.people(1)
        plain = rapid(original, original, ["sex", "age"], "civil", permutations=0, seed=1,
                      model="nearest")  # fmt: skip
        assert plain.kind == "numeric"
        assert any(note.startswith("civil has only 4") for note in plain.notes)
        assert "declare it as categorical" in plain.summary()
        coded = rapid(original, original, ["sex", "age"], "civil", categorical=["civil"],
                      permutations=0, seed=1, model="nearest")  # fmt: skip
        assert coded.kind == "categorical"
        assert not any(note.startswith("civil") for note in coded.notes)

    def test_levels_that_the_release_lacks_are_named(self) -> None:
        original = pd.DataFrame({"k": [f"v{i} " for i in range(30)], "ill": ["x"] * 30})
        release = pd.DataFrame({"k": [f"v{i}" for i in range(10)], "ill": ["x"] * 10})
        risk = disco(original, release, "k", "ill", seed=1)
        assert risk.rate == pytest.approx(1 / 3)  # blanks at the end do not matter
        assert "20 levels of k in the original" in risk.notes[0]
        assert "do not occur in the release" in risk.summary()

    def test_numbers_that_differ_by_rounding_are_equal(self) -> None:
        original = pd.DataFrame({"k": [0.1 + 0.2, 0.5], "ill": ["x", "y"]})
        release = pd.DataFrame({"k": [0.3, 0.5], "ill": ["x", "y"]})
        assert disco(original, release, "k", "ill", seed=1).rate == 1


class TestAmounts:
    def test_an_income_told_to_one_euro_is_found_in_groups(self) -> None:
        rng = np.random.default_rng(1)
        original = pd.DataFrame({"k": np.arange(300), "income": rng.lognormal(10, 1, 300)})
        release = original.assign(income=original["income"] + 1)
        exact = disco(original, release, "k", "income", seed=1)
        assert exact.rate == 0
        assert "use n_groups" in exact.summary()
        grouped = disco(original, release, "k", "income", n_groups=10, seed=1)
        assert grouped.rate > 0.95
        assert "10 groups" in grouped.summary()
        assert tcap(original, release, "k", "income", n_groups=10, seed=1).value("DCAP") > 0.95

    def test_faults(self) -> None:
        frame = pd.DataFrame({"k": [1, 2], "y": [0.5, 1.5]})
        with pytest.raises(InputError, match="n_groups: is 1"):
            disco(frame, frame, "k", "y", n_groups=1)


class TestExclusions:
    def files(self) -> pd.DataFrame:
        rng = np.random.default_rng(1)
        n = 600
        sex = rng.choice(["f", "m"], n)
        pregnant = np.where((sex == "f") & (rng.random(n) < 0.05), "yes", "no")
        return pd.DataFrame({"sex": sex, "age": rng.integers(0, 40, n), "pregnant": pregnant})

    def test_a_level_that_everybody_has(self) -> None:
        frame = self.files()
        risk = disco(frame, frame, ["sex", "age"], "pregnant", seed=1)
        assert risk.rate > 0.5
        first = risk.common.iloc[0]
        assert (first["key"], first["level"]) == ("", "no")
        text = f"{first['disclosed']} of these have pregnant no, as {100 * first['share']:.0f} %"
        assert f"{text} in the original: that may be common knowledge" in risk.summary()
        pair = risk.common[(risk.common["key"] == "sex") & (risk.common["key_level"] == "m")]
        assert pair["share"].tolist() == [1.0]
        without = disco(frame, frame, ["sex", "age"], "pregnant", exclude_levels=["no"], seed=1)
        assert without.rate < 0.1
        assert without.disclosive_original < 0.1

    def test_a_level_that_follows_from_a_key(self) -> None:
        frame = self.files()
        risk = disco(
            frame, frame, ["sex", "age"], "pregnant", exclude_pairs=[("sex", "m", "no")], seed=1
        )
        assert not risk.per_record[frame["sex"] == "m"].any()
        assert risk.per_record[frame["sex"] == "f"].any()

    def test_large_classes_are_facts_about_a_group(self) -> None:
        frame = self.files().assign(pregnant="no")
        assert disco(frame, frame, ["sex", "age"], "pregnant", seed=1).rate == 1
        size = frame.groupby(["sex", "age"])["age"].transform("size")
        risk = disco(frame, frame, ["sex", "age"], "pregnant", denominator_limit=7, seed=1)
        assert risk.per_record.tolist() == (size <= 7).tolist()

    def test_faults(self) -> None:
        frame = self.files()
        with pytest.raises(InputError) as caught:
            disco(frame, frame, ["sex"], "pregnant", exclude_pairs=[("age", 1, "no"), "sex"],
                  denominator_limit=0)  # fmt: skip
        assert len(caught.value.faults) == 3


def test_a_scenario_names_its_codes() -> None:
    frame = pd.DataFrame({"k": [1, 2, 3], "civil": [1, 2, 1]})
    intruder = Scenario("k", "civil", categorical="civil", who="everyone")
    assert rapid(frame, frame, intruder, model="nearest", permutations=0, seed=1).notes == (
        "k has only 3 different whole values and counts as an amount (within 5 % of the value, "
        "or near as a key); if these are codes of categories, declare it as categorical",
    )


class TestHoldouts:
    """A verdict needs strangers; a copy needs none to be seen."""

    def people(self, n: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {"age": rng.integers(18, 80, n), "reg": rng.choice([*"abcdefgh"], n),
             "income": rng.lognormal(10, 0.6, n).round(), "ill": rng.choice(["no", "flu"], n)}
        )  # fmt: skip

    def judge(self, release: pd.DataFrame, holdout: pd.DataFrame | None):
        attacks = ["tcap", "membership", "distance_screen"]
        return assess_synthetic(
            self.people(300, 1), release, ["age", "reg", "income"], "ill", holdout=holdout,
            attacks=attacks, seed=1,
        )  # fmt: skip

    def test_a_holdout_with_records_of_the_original_gives_no_verdict(self) -> None:
        original, fresh, strangers = (self.people(300, seed) for seed in (1, 2, 3))
        mixed = pd.concat([strangers[:150], original[:150]])
        half = pd.concat([original[:150], fresh[150:]])
        risk = self.judge(half, mixed)
        first = risk.summary().splitlines()[0]
        assert first.startswith(
            "This file cannot be judged: 150 of 300 records of the hold-out equal a record"
        )
        assert judgement_facts(risk, False)["judged"]["word"] == "cannot judge"
        assert "150" not in judgement_facts(risk, True)["judged"]["reason"]
        assert self.judge(half, strangers).no_strangers == ""
        twins = pd.concat([original] * 2)  # coincidences of the original are not overlap
        assert assess_synthetic(
            twins[["reg", "ill"]], fresh, "reg", "ill", holdout=strangers, attacks=["tcap"], seed=1
        ).no_strangers == ""  # fmt: skip

    def test_a_file_made_from_the_holdout_gets_no_verdict(self) -> None:
        strangers = self.people(300, 3)
        risk = self.judge(strangers, strangers)
        first = risk.summary().splitlines()[0]
        assert first.startswith(
            "This file cannot be judged: the synthetic file reveals more about the hold-out"
        )
        assert "Membership inference" in first
        assert judgement_facts(risk, False)["judged"]["word"] == "cannot judge"
        fair = self.judge(self.people(300, 2), strangers)
        assert fair.no_strangers == ""
        alone = self.judge(self.people(300, 2), None)
        texts = [judgement_facts(one, True)["nothing"] for one in (risk, alone, fair)]
        assert [text.startswith("Without strangers") for text in texts] == [True, True, False]

    def test_a_copy_is_named_without_a_holdout(self) -> None:
        original = self.people(300, 1)
        first = self.judge(original, None).summary().splitlines()[0]
        assert "100.0 % of the synthetic records equal an original one" in first
        assert "the original records among themselves" in first
        assert verdict_rows(self.judge(original, None), False)[0]["level"] == "bad"
        fair = self.judge(self.people(300, 2), None)
        assert fair.copies == ""
        assert fair.summary().startswith("This file cannot be judged: without a hold-out")

    def test_constant_columns_do_not_hide_members(self) -> None:
        original, strangers = self.people(300, 1), self.people(300, 3)
        names = ["age", "reg", "income", "ill"]
        blurred = original.assign(age=40, reg="a")
        risk = membership(original, blurred, names, holdout=strangers, seed=1)
        assert risk.excess.is_above
        assert risk.auc > 0.7
        one_value = blurred.assign(income=1.0, ill="no")
        assert not membership(original, one_value, names, holdout=strangers, seed=1).excess.is_above
