"""Households as the unit of attack, and what a Scenario changes in the counting measures."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval import disco, replicated_uniques, tcap
from riskeval.attacks.scenario import Scenario
from synthpop.microdata.messages.errors import InputError


def homes(*members: str) -> pd.DataFrame:
    """Make a file from words: each word a household, each member a key and a level, as "ax bn"."""
    rows = [
        (number, pair[0], None if pair[1] == "?" else pair[1])
        for number, word in enumerate(members)
        for pair in word.split()
    ]
    return pd.DataFrame(rows, columns=["h", "k", "t"]).astype({"k": object, "t": object})


ORIGINAL = homes("ax by", "ax bx", "ax", "ay ax cx", "cz")
SYNTHETIC = homes("bx ax", "ax by", "ax", "ax", "ax ay cx", "cy", "dz")


class TestWorkedByHand:
    def test_replicated_uniques(self) -> None:
        risk = replicated_uniques(ORIGINAL, SYNTHETIC, "k", household="h", seed=1)
        # compositions: ab twice, a, aac, c; in the synthetic file ab and a twice, aac, c, d once
        assert risk.per_record.tolist() == [False, False, False, True, True]
        assert (risk.rate, risk.unique_original) == (0.4, 0.6)
        assert risk.unique_in_synthetic == pytest.approx(0.6)
        assert risk.unique_synthetic == pytest.approx(3 / 7)
        assert (risk.n_original, risk.n_synthetic, risk.unit) == (5, 7, "households")
        assert "original households are unique in both files" in risk.summary()

    def test_disco_of_any_and_every_member(self) -> None:
        some = disco(ORIGINAL, SYNTHETIC, "k", "t", household="h", seed=1)
        # ab: a is x always, b is x or y. a: x. aac: a is x and y, c is x. c: y, wrong.
        assert some.per_record.tolist() == [True, True, True, True, False]
        every = disco(ORIGINAL, SYNTHETIC, "k", "t", household="h", members="every", seed=1)
        assert every.per_record.tolist() == [False, False, True, False, False]
        assert every.in_synthetic == 1
        assert every.disclosive_synthetic == pytest.approx(2 / 5)  # a and c
        assert every.disclosive_original == pytest.approx(2 / 5)  # a and c
        assert "the t of every member" in every.summary()

    def test_attribution(self) -> None:
        every = tcap(ORIGINAL, SYNTHETIC, "k", "t", household="h", members="every", seed=1)
        # chances of the members: ab: 1, 1/2; a: 1; aac: 1/2, 1/2, 1; c: 0
        assert every.value("DCAP") == pytest.approx((0.5 + 0.5 + 1 + 0.25 + 0) / 5)
        some = tcap(ORIGINAL, SYNTHETIC, "k", "t", household="h", seed=1)
        assert some.value("DCAP") == pytest.approx((1 + 1 + 1 + 1 + 0) / 5)
        assert every.value("TCAP_original") == pytest.approx(1 / 2)  # a right, c wrong
        assert some.value("TCAP_original") == pytest.approx(4 / 5)
        shares = {"x": 6 / 9, "y": 2 / 9, "z": 1 / 9}
        drawn = [shares["x"] * shares["y"], shares["x"] ** 2, shares["x"]]
        drawn += [shares["y"] * shares["x"] ** 2, shares["z"]]
        assert every.baseline == pytest.approx(np.mean(drawn))
        assert every.per_record["household"].tolist() == [0, 0, 1, 1, 2, 3, 3, 3, 4]
        assert "every member of a household" in every.summary()


MEMBER = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["x", "y", None]))
HOMES = st.lists(st.lists(MEMBER, min_size=1, max_size=3), min_size=1, max_size=7)


def as_frame(found: list, shuffle: int) -> pd.DataFrame:
    rows = [(f"h{i}", k, t) for i, home in enumerate(found) for k, t in home]
    frame = pd.DataFrame(rows, columns=["h", "k", "t"], dtype=object)
    return frame.sample(frac=1, random_state=shuffle)


@settings(max_examples=20, deadline=None)
@given(HOMES, HOMES, st.sampled_from(["category", "unmatched"]), st.sampled_from(["any", "every"]))
def test_agree_with_pairing_households(own, other, missing: str, members: str) -> None:
    """Look every household up among all others, member by member."""
    anchor = [("z", "x")]
    own, other = [*own, anchor], [*other, anchor]

    def alike(home, those):
        keys = sorted(str(k) for k, _ in home)
        if missing == "unmatched" and any(k is None for k, _ in home):
            return []
        return [it for it in those if sorted(str(k) for k, _ in it) == keys]

    original, synthetic = as_frame(own, 1), as_frame(other, 2)
    order = [int(name[1:]) for name in dict.fromkeys(original["h"])]
    unique, hit, chance = [], [], []
    together = any if members == "any" else all
    for home in (own[place] for place in order):
        mine, theirs = alike(home, own), alike(home, other)
        unique.append(len(mine) == 1 and len(theirs) == 1)
        levels = {
            key: [t for it in theirs for k, t in it if k == key] for key in {k for k, _ in home}
        }
        judged = [(k, t) for k, t in home if t is not None]
        hit.append(bool(judged) and together(set(levels[k]) == {t} for k, t in judged))
        right = [levels[k].count(t) / len(levels[k]) if levels[k] else 0.0 for k, t in judged]
        both = 1 - math.prod(1 - p for p in right) if members == "any" else math.prod(right)
        chance.append(both if judged else 0.0)
    asked = {"household": "h", "missing": missing, "seed": 1, "draws": 0}
    assert replicated_uniques(original, synthetic, "k", **asked).per_record.tolist() == unique
    asked["members"] = members
    assert disco(original, synthetic, "k", "t", **asked).per_record.tolist() == hit
    risk = tcap(original, synthetic, "k", "t", **asked)
    assert risk.value("DCAP") == pytest.approx(np.mean(chance))


def test_households_that_lie_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = disco(ORIGINAL, SYNTHETIC, "k", "t", household="h", seed=1)
    monkeypatch.setattr("riskeval.attacks.counting.key_tables.CHUNK", 2)
    blocks = [SYNTHETIC.iloc[:3], SYNTHETIC.iloc[3:]]
    parts = disco(ORIGINAL, iter(blocks), "k", "t", household="h", seed=1)
    pd.testing.assert_frame_equal(whole.to_frame(), parts.to_frame())
    by_text = [file.astype({"h": str}) for file in (ORIGINAL, SYNTHETIC)]
    named = disco(*by_text, "k", "t", household="h", seed=1)
    pd.testing.assert_frame_equal(whole.to_frame(), named.to_frame())


class TestScenario:
    def people(self, n: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        age = rng.integers(0, 60, n)
        return pd.DataFrame(
            {"age": age, "sex": rng.choice(["f", "m"], n), "ill": np.where(age % 3 > 0, "y", "n"),
             "asked": rng.random(n) < 0.5, "h": np.arange(n) // 2}
        )  # fmt: skip

    def test_the_same_as_keys_when_it_looks_for_everyone(self) -> None:
        own, other = self.people(200, 1), self.people(300, 2)
        plain = disco(own, other, ["age", "sex"], "ill", seed=1)
        intruder = Scenario(["age", "sex"], "ill", who="everyone")
        told = disco(own, other, intruder, seed=1)
        pd.testing.assert_frame_equal(plain.to_frame(), told.to_frame())
        assert "Scenario: The intruder knows age and sex" in told.summary()
        assert "Scenario:" not in plain.summary()

    def test_who_and_rows(self) -> None:
        own, other = self.people(200, 1), self.people(300, 2)
        alone = ~own.duplicated(["age", "sex"], keep=False)
        risk = disco(own, other, Scenario(["age", "sex"], "ill"), seed=1)
        assert risk.looked_for.tolist() == alone.tolist()
        assert risk.n_original == alone.sum()
        everyone = disco(own, other, ["age", "sex"], "ill", seed=1)
        assert risk.rate == pytest.approx(everyone.per_record[alone].mean())
        half = Scenario(["age", "sex"], "ill", who="everyone", rows="asked")
        found = disco(own, other, half, seed=1)
        assert found.rate == pytest.approx(everyone.per_record[own["asked"]].mean())
        assert tcap(own, other, half, seed=1).looked_for.tolist() == own["asked"].tolist()

    def test_coverage_multiplies_shares_of_all(self) -> None:
        own, other = self.people(200, 1), self.people(300, 2)
        asked = {"who": "everyone", "coverage": 0.25}
        whole = disco(own, other, ["age", "sex"], "ill", seed=1)
        part = disco(own, other, Scenario(["age", "sex"], "ill", **asked), seed=1)
        assert part.rate == pytest.approx(whole.rate / 4)
        assert part.disclosive_original == pytest.approx(whole.disclosive_original / 4)
        assert part.interval[1] == pytest.approx(whole.interval[1] / 4)
        uniques = replicated_uniques(own, other, Scenario(["age", "sex"], **asked), seed=1)
        plain = replicated_uniques(own, other, ["age", "sex"], seed=1)
        assert uniques.rate == pytest.approx(plain.rate / 4)
        drawn = tcap(own, other, Scenario(["age", "sex"], "ill", **asked), seed=1)
        full = tcap(own, other, ["age", "sex"], "ill", seed=1)
        assert drawn.value("DCAP") == pytest.approx(full.value("DCAP") / 4)
        assert drawn.value("DCAP_matched") == pytest.approx(full.value("DCAP_matched"))

    def test_wrong_keys_find_fewer(self) -> None:
        own = self.people(400, 1)
        asked = {"who": "everyone", "key_errors": {"age": 0.5}}
        sure = disco(own, own, ["age", "sex"], "ill", seed=1)
        unsure = disco(own, own, Scenario(["age", "sex"], "ill", **asked), seed=1)
        assert sure.rate == 1
        assert 0.5 + 0.5 / 4 < unsure.rate < 0.95  # a wrong age may lead to the right level
        assert unsure.disclosive_original == unsure.rate
        other = disco(own, own, Scenario(["age", "sex"], "ill", **asked), seed=2)
        assert other.per_record.tolist() != unsure.per_record.tolist()
        uniques = replicated_uniques(own, own, Scenario(["age", "sex"], **asked), seed=1)
        assert 0 < uniques.rate < 0.8 * uniques.unique_original

    def test_households(self) -> None:
        own, other = self.people(200, 1), self.people(300, 2)
        intruder = Scenario(
            ["sex"], "ill", unit="household", household="h", members="every", who="everyone"
        )
        told = disco(own, other, intruder, seed=1)
        plain = disco(own, other, ["sex"], "ill", household="h", members="every", seed=1)
        pd.testing.assert_frame_equal(told.to_frame(), plain.to_frame())
        marked = disco(
            own, other,
            Scenario("sex", "ill", unit="household", household="h", rows="asked", who="everyone"),
            seed=1,
        )  # fmt: skip
        assert marked.looked_for.tolist() == own.groupby("h")["asked"].any().tolist()
        keys = Scenario(["sex"], unit="household", household="h")
        assert replicated_uniques(own, other, keys, seed=1).unit == "households"

    def test_what_has_no_part_is_refused(self) -> None:
        own = self.people(20, 1)
        with pytest.raises(InputError, match=r"accuracy: .* has no part"):
            disco(own, own, Scenario("age", "ill", accuracy=0.2))
        with pytest.raises(InputError, match="is given beside a Scenario"):
            disco(own, own, Scenario("age", "ill"), "ill")
        with pytest.raises(InputError, match="household: is given beside a Scenario"):
            disco(own, own, Scenario("age", "ill"), household="h")
        with pytest.raises(InputError, match="0 wanted"):
            replicated_uniques(own, own, Scenario("age", "ill"))
        with pytest.raises(InputError, match="2 targets are given, 1 wanted"):
            tcap(own, own, Scenario("age", ["ill", "sex"]))
        with pytest.raises(InputError, match="are not True or False"):
            disco(own, own, Scenario("age", "ill", rows="sex"))

    def test_rows_looked_for_are_read_as_files_write_them(self) -> None:
        own, others = self.people(60, 1), self.people(60, 2)
        asked = np.arange(60) % 2 == 0
        intruder, found = Scenario(["age", "sex"], "ill", rows="asked"), []
        for flags in (asked, asked.astype(int), asked.astype(float), asked.astype(str)):
            one, two = own.assign(asked=flags), others.assign(asked=flags)
            found.append(disco(one, own, intruder, holdout=two, seed=1).to_frame())
            with pytest.raises(InputError, match="of the hold-out are not True or False"):
                disco(one, own, intruder, holdout=two.assign(asked="perhaps"), seed=1)
        for other in found[1:]:
            pd.testing.assert_frame_equal(other, found[0])


class TestFaults:
    def test_households(self) -> None:
        with pytest.raises(InputError, match="number of the household is missing"):
            replicated_uniques(ORIGINAL.assign(h=None), SYNTHETIC, "k", household="h")
        with pytest.raises(InputError, match="household of the synthetic file"):
            replicated_uniques(ORIGINAL, SYNTHETIC.drop(columns="h"), "k", household="h")
        with pytest.raises(InputError, match="'h' is also a key or a target"):
            disco(ORIGINAL, SYNTHETIC, ["k", "h"], "t", household="h")
        with pytest.raises(InputError, match="has no effect without households"):
            disco(ORIGINAL, SYNTHETIC, "k", "t", members="every")
        with pytest.raises(InputError, match="'some' is not allowed"):
            disco(ORIGINAL, SYNTHETIC, "k", "t", household="h", members="some")
        with pytest.raises(InputError, match="3 is not the name of a column"):
            disco(ORIGINAL, SYNTHETIC, "k", "t", household=3)
        with pytest.raises(InputError, match="0 targets are given, 1 wanted"):
            disco(ORIGINAL, SYNTHETIC, "k")
