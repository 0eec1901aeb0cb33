from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import auc
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Event
from synthpop.microdata.statistics.intervals import newcombe, wilson


def people(n: int, seed: int, noise: float = 0.2) -> pd.DataFrame:
    """Status follows from age and sex but for a share of noise; income from age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    sex = rng.choice(["f", "m"], n)
    status = np.where(age > 62, "retired", np.where(sex == "m", "works", "studies"))
    wrong = rng.random(n) < noise
    status[wrong] = rng.choice(["retired", "works", "studies"], wrong.sum())
    income = 300.0 * age * rng.lognormal(0, noise / 4, n)
    return pd.DataFrame({"age": age, "sex": sex, "status": status, "income": income})


MODELS = ["nearest", "forest", "tree", "boosting", "linear"]


class TestCategorical:
    def ask(self, **options):
        defaults = {"model": "tree", "permutations": 0, "seed": 1}
        return rapid(
            people(600, 1), people(800, 2), ["age", "sex"], "status", **{**defaults, **options}
        )

    @pytest.mark.parametrize("model", MODELS)
    def test_every_model_finds_the_relation(self, model: str) -> None:
        risk = self.ask(model=model)
        assert 0.6 < risk.rate < 0.95
        assert risk.interval[0] < risk.rate < risk.interval[1]
        assert risk.kind == "categorical"

    def test_estimator_of_scikit_learn(self) -> None:
        risk = self.ask(model=GaussianNB())
        assert risk.model == "GaussianNB"
        assert risk.rate > 0.3

    def test_gain_is_worked_out_by_hand(self) -> None:
        original = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "t": list("xxxyyyyx")})
        synthetic = pd.DataFrame({"k": ["a"] * 10 + ["b"] * 10, "t": list("xxxxxxxxyy" + "y" * 10)})
        risk = rapid(original, synthetic, "k", "t", model="tree", permutations=0, seed=1)
        # the shares of x and y in the original are 1/2: gain = 2 g - 1
        expected = [0.6, 0.6, 0.6, -0.6, 1, 1, 1, -1]
        np.testing.assert_allclose(risk.per_record["score"], expected)
        assert risk.per_record["predicted"].tolist() == list("xxxxyyyy")
        assert risk.rate == 6 / 8
        strict = rapid(
            original, synthetic, "k", "t", model="tree", permutations=0, seed=1, threshold=0.7
        )
        assert strict.rate == 3 / 8

    def test_permutations_are_the_baseline(self) -> None:
        risk = self.ask(permutations=2)
        assert risk.permuted_rate < 0.3 < risk.rate
        assert math.isnan(self.ask().permuted_rate)
        assert "Without any relation" in risk.summary()

    def test_holdout_separates_knowledge_about_anybody_from_membership(self) -> None:
        original = people(400, 3, noise=0.8)
        original["age"] = np.arange(400)  # keys that single everybody out
        other = people(400, 4, noise=0.8)
        other["age"] = np.arange(400)
        exact = rapid(
            original, pd.concat([original] * 5), ["age", "sex"], "status", model="tree",
            permutations=0, holdout=other, seed=1,
        )  # fmt: skip
        assert exact.rate > 0.9
        assert exact.excess.difference == pytest.approx(exact.rate - exact.holdout_rate)
        assert exact.excess.lower > 0.3
        fair = self.ask(holdout=people(600, 5), confidence=0.999)
        assert fair.excess.lower < 0 < fair.excess.upper
        assert "excess risk of having taken part is" in fair.summary()
        assert "Without a hold-out" in self.ask().summary()

    def test_level_that_the_synthetic_file_lacks(self) -> None:
        original = people(50, 1).assign(status=["rare"] * 25 + ["works"] * 25)
        risk = rapid(
            original, people(200, 2), "age", "status", model="tree", permutations=0, seed=1
        )
        assert not risk.per_record["at_risk"].iloc[:25].any()
        one = people(200, 2).assign(status="works")
        risk = rapid(original, one, "age", "status", model="tree", permutations=0, seed=1)
        assert risk.rate == 0.5

    def test_a_target_everybody_shares_is_no_risk(self) -> None:
        same = people(50, 1).assign(status="works")
        assert rapid(same, same, "age", "status", model="tree", permutations=0).rate == 0

    def test_missing_values(self) -> None:
        original, synthetic = people(300, 1), people(300, 2)
        original["status"] = original["status"].where(original.index > 9)
        original["sex"] = original["sex"].where(original.index % 5 > 0)
        synthetic["age"] = synthetic["age"].where(synthetic.index % 7 > 0)
        synthetic.loc[0, "status"] = None
        for model in MODELS:
            risk = rapid(
                original, synthetic, ["age", "sex"], "status", model=model, permutations=0, seed=1
            )
            assert (risk.n_judged, risk.n_missing) == (290, 10)
            assert not risk.per_record["at_risk"].iloc[:10].any()
            assert risk.per_record["score"].iloc[:10].isna().all()

    def test_seed_and_confidence(self) -> None:
        first = self.ask(model="forest", seed=None)
        again = self.ask(model="forest", seed=first.seed)
        pd.testing.assert_frame_equal(first.per_record, again.per_record)
        other = self.ask(model="forest", seed=first.seed + 1)
        assert (other.per_record["score"] != first.per_record["score"]).any()
        wide = self.ask(confidence=0.99).interval
        narrow = self.ask(confidence=0.8).interval
        assert wide[0] < narrow[0] < narrow[1] < wide[1]

    def test_training_records_are_drawn_from_a_stream(self) -> None:
        synthetic = people(800, 2)
        blocks = [synthetic.iloc[start : start + 50] for start in range(0, 800, 50)]
        asked = {"model": "tree", "permutations": 0, "seed": 4}
        whole = rapid(people(300, 1), synthetic, ["age", "sex"], "status", **asked)
        parts = rapid(people(300, 1), iter(blocks), ["age", "sex"], "status", **asked)
        assert whole.rate == parts.rate
        few = [
            rapid(people(300, 1), data, ["age", "sex"], "status", train_rows=60, **asked)
            for data in (synthetic, iter(blocks))
        ]
        assert few[0].per_record["score"].tolist() == few[1].per_record["score"].tolist()
        assert few[0].per_record["score"].tolist() != whole.per_record["score"].tolist()


class TestNumeric:
    def test_relative_error(self) -> None:
        original = pd.DataFrame(
            {"k": list("aaaabb"), "y": [100.0, 104.0, 110.0, np.nan, 0.0, -5.0]}
        )
        synthetic = pd.DataFrame({"k": ["a"] * 6 + ["b"] * 6, "y": [104.0] * 6 + [0.0] * 6})
        risk = rapid(original, synthetic, "k", "y", model="tree", permutations=0, seed=1)
        error = risk.per_record["score"].tolist()
        assert error[:3] == pytest.approx([0.04, 0, 6 / 110])
        assert math.isnan(error[3])
        assert error[4:] == pytest.approx([0, 1])
        assert risk.per_record["at_risk"].tolist() == [True, True, False, False, True, False]
        assert risk.rate == 3 / 5
        tight = rapid(
            original, synthetic, "k", "y", model="tree", permutations=0, seed=1, tolerance=0.01
        )
        assert tight.rate == 2 / 5
        assert "within 1 % of its true value" in tight.summary()

    @pytest.mark.parametrize("model", MODELS)
    def test_every_model(self, model: str) -> None:
        risk = rapid(
            people(500, 1), people(800, 2), ["age", "sex"], "income", model=model, tolerance=0.1,
            permutations=1, seed=1,
        )  # fmt: skip
        assert risk.kind == "numeric"
        assert risk.rate > 0.8
        assert risk.permuted_rate < 0.3
        assert risk.to_frame()["rate"].iloc[0] == risk.rate


class TestWhom:
    """Households, scenarios, workers and progress."""

    def ask(self, keys, target=None, original=None, **options):
        own = people(400, 1) if original is None else original
        defaults = {"model": "tree", "permutations": 1, "seed": 1}
        return rapid(own, people(600, 2), keys, target, **{**defaults, **options})

    def test_households_by_hand(self) -> None:
        own = people(400, 1).assign(h=np.repeat(np.arange(200), 2))
        own.loc[:2, "status"] = None
        single = self.ask(["age", "sex"], "status", own)
        at_risk = single.per_record["at_risk"].groupby(own["h"])
        some = self.ask(["age", "sex"], "status", own, household="h")
        judged = np.arange(200) > 0  # the first household has no true value
        assert some.rate == pytest.approx(at_risk.any()[judged].mean())
        every = self.ask(["age", "sex"], "status", own, household="h", members="every")
        expected = at_risk.all()
        expected[1] = single.per_record["at_risk"].iloc[3]  # the member with a true value
        assert every.rate == pytest.approx(expected[judged].mean())
        assert every.n_judged == 199
        assert "original households" in every.summary()

    def test_scenario(self) -> None:
        own = people(400, 1).assign(seen=np.arange(400) % 3 == 0)
        plain = self.ask(["age", "sex"], "status", own)
        everyone = {"who": "everyone"}
        told = self.ask(Scenario(["age", "sex"], "status", **everyone), None, own)
        assert told.rate == plain.rate
        assert "Scenario: The intruder knows age and sex" in told.summary()
        half = self.ask(Scenario(["age", "sex"], "status", coverage=0.5, **everyone), None, own)
        assert half.rate == pytest.approx(plain.rate / 2)
        assert half.interval == pytest.approx(tuple(end / 2 for end in plain.interval))
        assert half.permuted_rate == pytest.approx(plain.permuted_rate / 2)
        alone = ~own.duplicated(["age", "sex"], keep=False)
        unique = self.ask(Scenario(["age", "sex"], "status"), None, own)
        assert unique.rate == pytest.approx(plain.per_record["at_risk"][alone].mean())
        rows = self.ask(Scenario(["age", "sex"], "status", rows="seen", **everyone), None, own)
        assert rows.rate == pytest.approx(plain.per_record["at_risk"][own["seen"]].mean())
        wrong = Scenario(["age", "sex"], "status", key_errors={"age": 0.8}, **everyone)
        assert self.ask(wrong, None, own).rate < plain.rate - 0.1

    def test_accuracies_of_a_scenario(self) -> None:
        intruder = Scenario(["age"], "income", who="everyone", accuracy=[0.05, 0.2])
        risk = self.ask(intruder)
        assert list(risk.by_tolerance) == [0.05, 0.2]
        assert risk.limit == 0.2
        assert risk.by_tolerance[0.2] == risk.rate
        assert risk.by_tolerance[0.05] == self.ask("age", "income", tolerance=0.05).rate
        assert "original within 5 %" in risk.to_frame()["measure"].tolist()

    def test_numbers_that_are_codes(self) -> None:
        own, codes = people(300, 1), {"works": 1, "studies": 2, "retired": 3}
        own["code"] = own["status"].map(codes)
        other = people(600, 2)
        other["code"] = other["status"].map(codes).astype(float)  # the same values, as floats
        asked = {"model": "tree", "permutations": 0, "seed": 1}
        by_text = rapid(own, other, ["age", "sex"], "status", **asked)
        intruder = Scenario(["age", "sex"], "code", categorical="code", who="everyone")
        by_code = rapid(own, other, intruder, **asked)
        assert (by_code.kind, by_code.rate) == ("categorical", by_text.rate)

    def test_workers_do_not_change_the_result(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one = self.ask(["age", "sex"], "status", model="forest")
        two = self.ask(["age", "sex"], "status", model="forest", workers=2)
        pd.testing.assert_frame_equal(one.per_record, two.per_record)
        used = []
        monkeypatch.setattr(
            "riskeval.attacks.prediction.model.ThreadPoolExecutor",
            lambda workers: used.append(workers) or ThreadPoolExecutor(workers),
        )
        self.ask(["age", "sex"], "status", workers=2)
        assert set(used) == {2}

    def test_parts_are_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = self.ask(["age", "sex"], "income", model="forest")
        monkeypatch.setattr("riskeval.attacks.prediction.model.AT_ONCE", 7)
        parts = self.ask(["age", "sex"], "income", model="forest")
        pd.testing.assert_frame_equal(whole.per_record, parts.per_record)

    def test_progress(self) -> None:
        seen: list[Event] = []
        self.ask("age", "status", permutations=2, holdout=people(90, 4), on_event=seen.append)
        assert [event.kind for event in seen] == ["start", *["progress"] * 3, "end"]
        assert {event.total for event in seen} == {3}
        assert [event.done for event in seen] == [0, 1, 2, 3, 3]

    def test_warnings_of_a_model_are_recorded(self) -> None:
        model = LogisticRegression(max_iter=1)
        risk = self.ask(["age", "sex"], "status", model=model)
        assert "ConvergenceWarning" in risk.warned
        assert "A model warned" in risk.summary()
        assert self.ask("age", "status").warned == ""

    def test_numbers_that_no_model_can_read(self) -> None:
        own = people(50, 1).assign(age=np.inf)
        with pytest.raises(InputError, match="infinite or above 3e38"):
            self.ask("age", "status", own)
        with pytest.raises(InputError, match="number of the synthetic file is infinite"):
            rapid(people(50, 1), own, "age", "status")


class TestFaults:
    def test_all_at_once(self) -> None:
        with pytest.raises(InputError) as caught:
            rapid(
                people(5, 1), people(5, 2), ["agee", "status"], "status", model="magic",
                threshold=0, tolerance=1, permutations=-1, train_rows=0, confidence=True, workers=0,
            )  # fmt: skip
        text = str(caught.value)
        parts = ["'agee'", "is also a key", "'magic'", "threshold", "tolerance", "permutations"]
        for part in [*parts, "train_rows", "confidence", "workers"]:
            assert part in text

    def test_others(self) -> None:
        with pytest.raises(InputError, match="no key"):
            rapid(people(5, 1), people(5, 2), [], "status")
        with pytest.raises(InputError, match="is not an estimator"):
            rapid(people(5, 1), people(5, 2), "age", "status", model=3)
        with pytest.raises(InputError, match="have no level in common"):
            rapid(people(5, 1), people(5, 2).assign(status=1), "age", "status")
        with pytest.raises(InputError, match="no record with a value"):
            rapid(people(5, 1), people(5, 2).assign(status=None), "age", "status")
        with pytest.raises(InputError, match="synthetic file"):
            rapid(people(5, 1), people(5, 2).drop(columns="age"), "age", "status")
        with pytest.raises(InputError, match="holdout"):
            rapid(people(5, 1), people(5, 2), "age", "status", holdout=people(0, 3))


class TestIntervals:
    def test_wilson_edges(self) -> None:
        assert wilson(0, 10, 0.95)[0] == 0
        assert wilson(10, 10, 0.95)[1] == pytest.approx(1)
        assert all(math.isnan(end) for end in wilson(0, 0, 0.95))

    def test_newcombe_published_example(self) -> None:
        low, high = newcombe(56, 70, 48, 80, 0.95)  # Newcombe 1998, example (a)
        assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)

    def test_auc_by_counting_pairs(self) -> None:
        rng = np.random.default_rng(1)
        x, y = rng.integers(0, 5, 30).astype(float), rng.integers(0, 4, 20).astype(float)
        pairs = (x[:, None] > y).mean() + (x[:, None] == y).mean() / 2
        area, low, high = auc(x, y, 0.95)
        assert area == pytest.approx(pairs)
        assert low < area < high
        one, wide_low, wide_high = auc(x[:1], y, 0.95)
        assert wide_low < one < wide_high
        assert wide_high - wide_low > 0.5
        assert auc(x, y, 0.5)[1] > low


def test_some_of_those_looked_for_are_predicted_by_fewer_trees() -> None:
    one, other = people(300, 1).assign(h=np.arange(300) // 2), people(300, 2)
    asked = {"holdout": people(250, 3).assign(h=np.arange(250) // 2), "permutations": 0, "seed": 1}
    keys = ["age", "sex"]
    whole = rapid(one, other, keys, "status", model="forest", **asked)
    some = rapid(one, other, keys, "status", model="forest", most_records=40, **asked)
    assert (whole.n_judged, some.n_judged, some.excess.n_holdout) == (300, 40, 40)
    assert "at most 40 of each file are predicted, drawn at random" in some.notes
    homes = rapid(one, other, keys, "status", model="tree", household="h", most_records=40, **asked)
    assert homes.n_judged == 40
    assert len(homes.per_record) == 80
    uniques = Scenario(keys, "status", who="sample uniques")
    alone = rapid(one, other, uniques, model="tree", most_records=20, **asked)
    assert alone.n_judged <= 20
    for model in ("forest", "boosting"):
        few, many = (rapid(one, other, keys, "income", model=model, trees=trees, **asked)
                     for trees in (3, 60))  # fmt: skip
        assert not few.per_record["predicted"].equals(many.per_record["predicted"])
    for wrong in ({"trees": 0}, {"most_records": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            rapid(one, other, keys, "status", **wrong, **asked)
