"""Every attack of the registry: inputs unchanged, the same twice, missing values, words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import disco, tcap
from riskeval.attacks.assess_synthetic import assess_synthetic
from riskeval.attacks.entry import AttackInput
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.synthetic_risk import SyntheticRisk
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Event


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "status": rng.choice(["works", "studies", "retired"], n),
            "income": rng.lognormal(7, 1, n),
        }
    )
    frame.loc[rng.random(n) < 0.05, "status"] = None
    frame.loc[rng.random(n) < 0.05, "income"] = np.nan
    frame.loc[rng.random(n) < 0.05, "sex"] = None
    return frame


def case() -> AttackInput:
    keys, targets = ("age", "sex"), ("status", "income")
    return AttackInput(people(150, 1), people(200, 2), keys, targets, people(120, 3), 7)


@pytest.mark.parametrize("name", ATTACKS)
class TestEveryIntruder:
    def target(self, name: str) -> str:
        kinds = {"categorical": "status", "any": "income", "none": ""}
        return kinds[ATTACKS[name].target]

    def test_inputs_are_unchanged_and_runs_repeat(self, name: str) -> None:
        asked, fresh = case(), case()
        first = ATTACKS[name].run(asked, self.target(name))
        for part in ("original", "synthetic", "holdout"):
            pd.testing.assert_frame_equal(getattr(asked, part), getattr(fresh, part))
        again = ATTACKS[name].run(fresh, self.target(name))
        pd.testing.assert_frame_equal(first.to_frame(), again.to_frame())

    def test_words_and_findings(self, name: str) -> None:
        result = ATTACKS[name].run(case(), self.target(name))
        assert len(result.summary()) > 80
        assert "<table" in result._repr_html_()
        for number in ATTACKS[name].numbers(result):
            one = number.measurement
            assert 0 <= one.value <= 1
            assert not one.lower > one.value
            assert not one.upper < one.value
            assert number.excess is not None
            assert number.reading().endswith("above the hold-out")

    def test_blocks_give_the_same(self, name: str) -> None:
        whole = ATTACKS[name].run(case(), self.target(name))
        given = case()
        blocks = [given.synthetic.iloc[:70], given.synthetic.iloc[70:]]
        parts = AttackInput(
            given.original, blocks, given.keys, given.targets, given.holdout, given.seed
        )
        found = ATTACKS[name].run(parts, self.target(name))
        pd.testing.assert_frame_equal(whole.to_frame(), found.to_frame())

    def test_one_record_each(self, name: str) -> None:
        given = case()
        few = AttackInput(
            given.original.head(2), given.original.head(1), given.keys, given.targets,
            given.holdout, 1,
        )  # fmt: skip
        assert ATTACKS[name].run(few, self.target(name)).summary()


class TestJudge:
    def ask(self, **options):
        given = case()
        return assess_synthetic(
            given.original, given.synthetic, given.keys, given.targets, seed=1, **options
        )

    def test_all_attacks(self) -> None:
        risk = self.ask(holdout=people(120, 3))
        assert set(risk.table["attack"]) == set(ATTACKS)
        assert set(risk.table.loc[risk.table["attack"] == "rapid", "target"]) == {
            "status", "income",
        }  # fmt: skip
        assert risk.notes["disco", "income"].startswith("income is compared in 10 groups")
        assert "No number proves the file safe" in risk.summary()
        assert risk.skipped == {}
        rapid = risk.table[risk.table["attack"] == "rapid"]
        assert (rapid["against"] == "persons outside the original").all()

    def test_without_holdout(self) -> None:
        """There is a baseline, and no verdict."""
        risk = self.ask(attacks=["membership", "rapid"])
        assert risk.skipped == {("membership", ""): "it needs a hold-out"}
        assert (risk.table["against"] == "shuffled target").all()
        assert (risk.table["reading"] == "no verdict without a hold-out").all()
        assert risk.table["excess_lower"].isna().all()
        assert risk.summary().startswith("This file cannot be judged: without a hold-out")

    def test_attacks_and_seed(self) -> None:
        one = self.ask(attacks="replicated_uniques")
        assert list(one.results) == [("replicated_uniques", "")]
        assert one.seed == 1

    def test_faults_together(self) -> None:
        given = case()
        with pytest.raises(InputError) as caught:
            assess_synthetic(
                given.original, iter([given.synthetic]), "aged", "state", attacks=["magic"]
            )
        text = str(caught.value)
        for part in ("'aged'", "'state'", "'magic'", "can be read only once"):
            assert part in text


class TestWhom:
    def files(self):
        given = case()
        numbered = [
            frame.assign(h=np.arange(len(frame)) // 2)
            for frame in (given.original, given.synthetic, given.holdout)
        ]
        return numbered

    def test_households(self) -> None:
        own, other, holdout = self.files()
        risk = assess_synthetic(
            own, other, ["age", "sex"], ["status", "income"], household="h", members="every",
            holdout=holdout, seed=1,
        )  # fmt: skip
        assert set(risk.table["attack"]) == set(ATTACKS)
        single = disco(own, other, ["age", "sex"], "status", household="h", members="every", seed=1)
        found = risk.results["disco", "status"]
        pd.testing.assert_frame_equal(found.to_frame(), single.to_frame())
        units = {risk.results[key].unit for key in risk.results if key[0] != "scenarios"}
        assert units == {"households"}
        assert "all households of the sample" in risk.summary()

    def test_scenario(self) -> None:
        own, other, holdout = self.files()
        intruder = Scenario(
            ["age", "sex"], ["status", "income"], coverage=0.5, key_errors={"sex": 0.1},
            accuracy=[0.1, 0.3],
        )  # fmt: skip
        risk = assess_synthetic(own, other, intruder, holdout=holdout, seed=1)
        about = Scenario(["age", "sex"], "status", coverage=0.5, key_errors={"sex": 0.1})
        single = tcap(own, other, about, seed=1)
        assert risk.results["tcap", "status"].table.equals(single.table)
        assert risk.results["rapid", "income"].limit == 0.3
        left = risk.notes["distance_screen", ""]
        assert left == "key_errors, coverage, accuracy of the scenario ignored"
        assert risk.notes["replicated_uniques", ""] == "accuracy of the scenario ignored"
        assert ("rapid", "income") not in risk.notes
        assert "scenario 2 within 30 %" in set(risk.table["measure"])
        assert f"Distance screen: {left}." in risk.summary()

    def test_targets_that_are_codes(self) -> None:
        own, other, _ = self.files()
        intruder = Scenario(["sex"], "age", categorical="age", who="everyone")
        risk = assess_synthetic(own, other, intruder, attacks=["disco", "rapid"], seed=1)
        assert risk.skipped == {}
        assert risk.results["rapid", "age"].kind == "categorical"

    def test_replicates(self) -> None:
        own, other, _ = self.files()
        more = [people(200, seed) for seed in (5, 6)]
        risk = assess_synthetic(
            own, other, ["age", "sex"], "status", replicates=more, seed=1,
            attacks=["replicated_uniques", "tcap", "rapid"],
        )  # fmt: skip
        assert risk.results["replicated_uniques", ""].intervals.n_files == 3
        assert risk.results["tcap", "status"].intervals.n_files == 3
        assert risk.notes == {("rapid", "status"): "the first synthetic file alone"}

    def test_progress_and_workers(self) -> None:
        own, other, holdout = self.files()
        asked = {"holdout": holdout, "seed": 1, "attacks": ["disco", "rapid", "distance_screen"]}
        seen: list[Event] = []
        two = assess_synthetic(
            own, other, ["age", "sex"], "status", workers=2, on_event=seen.append, **asked
        )
        mine = [event for event in seen if event.job == "assess_synthetic"]
        assert [event.kind for event in mine] == ["start", *["progress"] * 3, "end"]
        assert [event.detail for event in mine[1:4]][1] == "RAPID on status"
        assert {event.job for event in seen} == {"assess_synthetic", "rapid", "distance_screen"}
        one = assess_synthetic(own, other, ["age", "sex"], "status", **asked)
        pd.testing.assert_frame_equal(one.table, two.table)

    def test_readings(self) -> None:
        own = people(300, 1)
        own["status"] = np.where(own["age"] % 2 == 0, "works", "studies")
        risk = assess_synthetic(own, own, ["age", "sex"], "status", holdout=people(200, 2), seed=1)
        reading = risk.table.set_index(["attack", "measure"])["reading"]
        assert reading["replicated_uniques", "repU"] == (
            "100 % of what the original reveals; above the hold-out"
        )
        assert reading["tcap", "DCAP"] == "above the hold-out"
        assert reading["distance_screen", "identical"] == "above the hold-out"
        assert risk.copies.endswith(" % of strangers")
        first = risk.summary().splitlines()[0]
        assert first.startswith("Do not publish this file: 100.0 % of the synthetic records")
        assert "it tells more about persons of the original than about strangers" in first
        assert "Membership inference" in first
        assert "Correct attribution on status" in first

    def test_faults(self) -> None:
        own, other, holdout = self.files()
        with pytest.raises(InputError) as caught:
            assess_synthetic(
                own, other.drop(columns="age"), ["age"], "status", workers=0, replicates=other,
                holdout=holdout.drop(columns="status"),
            )  # fmt: skip
        text = str(caught.value)
        for part in ("of the synthetic file", "workers: is 0", "not a list", "of the hold-out"):
            assert part in text
        with pytest.raises(InputError, match="replicates: can be read only once"):
            assess_synthetic(own, other, "age", "status", replicates=[iter([other])])
        with pytest.raises(InputError, match="household: is given beside"):
            assess_synthetic(own, other, Scenario("age", "status"), household="h")


def test_an_excess_of_which_the_interval_begins_at_zero_is_not_clear() -> None:
    attacks = list(ATTACKS)[:3]
    table = pd.DataFrame(
        {"attack": attacks, "target": "", "excess_lower": [0.0, 1e-9, np.nan],
         "above_among_all": False}
    )  # fmt: skip
    risk = SyntheticRisk(table, {}, {}, {}, "", 1)
    assert risk.above == [ATTACKS[attacks[1]].title]
    assert risk.above_together == []
