"""Whom every attack looks for, and the keys that the intruder believes: one rule for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.attacks import targets
from riskeval.attacks.entry import AttackInput
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.targets import (
    attack_targets,
    believed_keys,
    combine_members,
    combine_probabilities,
    level_coders,
    with_believed_keys,
)
from synthpop.microdata.statistics.streams import Streams


def households(n: int = 200, size: int = 4, seed: int = 0) -> pd.DataFrame:
    """Households that share a region; age and status are the persons' own."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(n), size)
    return pd.DataFrame(
        {
            "h": home,
            "region": rng.choice(["N", "S", "W"], n)[home],
            "age": rng.integers(0, 90, n * size),
            "status": rng.choice(["a", "b", "c"], n * size),
            "income": rng.lognormal(7, 1, n * size).round(2),
        }
    )


def wrong(frame: pd.DataFrame, scenario: Scenario, key: str, seed: int = 1) -> np.ndarray:
    believed = believed_keys(frame, scenario, Streams(seed))
    place = scenario.keys.index(key)
    return np.array(believed.levels[place], dtype=object)[believed.codes[:, place]] != frame[key]


class TestBelievedKeys:
    def test_share_and_levels_of_wrong_values(self) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"k": rng.choice(["a", "b", "c"], 20_000, p=[0.6, 0.3, 0.1])})
        frame.loc[:99, "k"] = None
        believed = believed_keys(frame, Scenario("k", key_errors={"k": 0.2}), Streams(1))
        names = np.array([*believed.levels[0], None], dtype=object)[believed.codes[:, 0]]
        present = frame["k"].notna().to_numpy()
        is_wrong = present & (names != frame["k"].to_numpy())
        assert (believed.codes[~present] == -1).all()
        assert is_wrong.sum() / present.sum() == pytest.approx(0.2, abs=0.01)
        drawn = pd.Series(names[is_wrong & (frame["k"] == "a").to_numpy()])
        shares = drawn.value_counts(normalize=True)
        assert set(shares.index) == {"b", "c"}
        assert shares["b"] == pytest.approx(0.75, abs=0.03)

    def test_a_key_with_one_level_stays(self) -> None:
        frame = pd.DataFrame({"k": ["a", "a", None]})
        believed = believed_keys(frame, Scenario("k", key_errors={"k": 0.9}), Streams(1))
        assert believed.codes[:, 0].tolist() == [0, 0, -1]

    def test_a_shared_key_is_wrong_for_the_household_as_a_whole(self) -> None:
        frame = households()
        scenario = Scenario(
            ["region", "age"], key_errors={"region": 0.3, "age": 0.3}, unit="household",
            household="h",
        )  # fmt: skip
        region = pd.Series(wrong(frame, scenario, "region")).groupby(frame["h"]).mean()
        assert set(region) == {0.0, 1.0}
        assert region.mean() == pytest.approx(0.3, abs=0.08)
        age = pd.Series(wrong(frame, scenario, "age")).groupby(frame["h"]).mean()
        assert age.between(0.01, 0.99).mean() > 0.5
        alone = Scenario(["region", "age"], key_errors={"region": 0.3})
        person = pd.Series(wrong(frame, alone, "region")).groupby(frame["h"]).mean()
        assert person.between(0.01, 0.99).mean() > 0.5

    def test_one_inconsistent_household_does_not_change_the_others(self) -> None:
        frame = households()
        frame.loc[0, "region"] = "S" if frame.loc[0, "region"] == "N" else "N"
        frame.loc[4, "region"] = None  # of the second household the others share a region
        scenario = Scenario("region", key_errors={"region": 0.5}, unit="household", household="h")
        is_wrong = pd.Series(wrong(frame, scenario, "region")).astype(float)
        is_wrong[4] = np.nan
        by_household = is_wrong.groupby(frame["h"]).mean()
        assert set(by_household.iloc[1:]) == {0.0, 1.0}

    def test_a_file_with_believed_keys(self) -> None:
        frame = households().set_index(np.arange(800) + 7)
        scenario = Scenario(["region", "age"], key_errors={"age": 0.4})
        other = with_believed_keys(frame, scenario, 3)
        assert other["age"].dtype == frame["age"].dtype
        assert (other["age"].to_numpy() != frame["age"].to_numpy()).mean() > 0.3
        assert other["region"].equals(frame["region"])
        believed = believed_keys(frame, scenario, Streams(3))
        assert [believed.levels[1][code] for code in believed.codes[:, 1]] == other["age"].tolist()


def scenario_of(unit: str, who: str, errors: dict[str, float]) -> Scenario:
    household = {"unit": "household", "household": "h"} if unit == "household" else {}
    return Scenario(["region", "age"], ["status"], key_errors=errors, who=who, **household)


@settings(max_examples=2, deadline=None)
@given(
    st.integers(0, 99),
    st.sampled_from(["person", "household"]),
    st.sampled_from(["everyone", "sample uniques"]),
    st.floats(0.1, 0.6),
)
def test_every_attack_believes_the_same_keys(seed: int, unit: str, who: str, p: float) -> None:
    original, release = households(30, 3, 1), households(30, 3, 2)
    scenario = scenario_of(unit, who, {"region": p, "age": p})
    expected = believed_keys(original, scenario, Streams(seed)).codes
    seen: dict[str, list[np.ndarray]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, entry in ATTACKS.items():
            if "key_errors" not in entry.honours or name == "fewer_keys":
                continue  # who forgets some keys errs in the others only
            codes = seen.setdefault(name, [])

            def spy(frame: Any, *rest: Any, codes: list[np.ndarray] = codes) -> Any:
                believed = believed_keys(frame, *rest)
                codes.append(believed.codes)
                return believed

            patch.setattr(targets, "believed_keys", spy)
            given = AttackInput(
                original, release, scenario.keys, scenario.targets, None, seed, scenario
            )
            target = "" if entry.target == "none" else "status"
            entry.run(given, target)
    assert len(seen) == sum("key_errors" in it.honours for it in ATTACKS.values()) - 1 >= 5
    for name, all_codes in seen.items():
        assert all_codes, name
        for codes in all_codes:
            np.testing.assert_array_equal(codes, expected, err_msg=name)


@pytest.mark.parametrize("unit", ["person", "household"])
def test_the_same_persons_are_lost_by_errors_in_every_attack(unit: str) -> None:
    """Keys and targets of the copy are all different: a wrong key is seen in each result."""
    frame = households(60, 2)
    frame["age"] = np.arange(120)
    frame["status"] = [f"s{i}" for i in range(120)]
    errors = {"age": 0.4}
    every = {"who": "everyone"}
    if unit == "household":
        every |= {"unit": "household", "household": "h", "members": "every"}
    both = Scenario(["region", "age"], "status", key_errors=errors, **every)
    keys_only = {name: value for name, value in every.items() if name != "members"}
    alone = Scenario(["region", "age"], key_errors=errors, **keys_only)
    believed = believed_keys(frame, both, Streams(5)).codes
    true = believed_keys(frame, Scenario(["region", "age"]), Streams(5)).codes
    right = (believed == true).all(axis=1)
    if unit == "household":
        right = pd.Series(right).groupby(frame["h"]).all().to_numpy()
    given = {"original": frame, "synthetic": frame, "holdout": None, "seed": 5}
    for name in ("replicated_uniques", "disco", "scenarios"):
        scenario = alone if name == "replicated_uniques" else both
        asked = AttackInput(
            keys=scenario.keys, targets=scenario.targets, scenario=scenario, **given
        )
        result = ATTACKS[name].run(asked, "status")
        if name == "scenarios":
            found = result.per_record["scenario_4"] == 1
            found = found.groupby(frame["h"]).all() if unit == "household" else found
        else:
            found = result.per_record
        assert np.asarray(found).tolist() == right.tolist(), name
    asked_of_rapid = {"model": "nearest", "permutations": 0, "seed": 5}
    risk = rapid(frame, frame, both, **asked_of_rapid)
    assert risk.rate == pytest.approx(right.mean())


class TestAttackTargets:
    def files(self) -> dict[str, pd.DataFrame]:
        original = pd.DataFrame({"k": list("aabcd"), "seen": [True, True, True, False, True]})
        other = pd.DataFrame({"k": list("bex"), "seen": [True] * 3})
        return {"original": original, "hold-out": other}

    def of(self, **options: Any) -> dict[str, Any]:
        files = self.files()
        coders = level_coders(files.values(), ["k"])
        return attack_targets(files, Scenario("k", **options), coders, 1)

    def test_unique_in_the_file_and_in_all_files(self) -> None:
        both = self.of()
        assert both["original"].looked_for.tolist() == [False, False, True, True, True]
        assert both["original"].comparable.tolist() == [False, False, False, True, True]
        assert both["hold-out"].comparable.tolist() == [False, True, True]

    def test_rows_and_everyone(self) -> None:
        both = self.of(rows="seen", who="everyone")
        assert both["original"].looked_for.tolist() == [True, True, True, False, True]
        assert both["original"].comparable.tolist() == both["original"].looked_for.tolist()

    def test_missing_keys_that_match_nothing_are_never_unique(self) -> None:
        files = {"original": pd.DataFrame({"k": ["a", None]})}
        coders = level_coders(files.values(), ["k"])
        part = attack_targets(files, Scenario("k"), coders, 1, match_missing=False)["original"]
        assert part.looked_for.tolist() == [True, False]


def test_members_together() -> None:
    unit = np.array([0, 0, 1])
    flags = np.array([True, False, True])
    assert combine_members(flags, unit, 3, "any").tolist() == [True, True, False]
    assert combine_members(flags, unit, 3, "every").tolist() == [False, True, False]
    both = combine_probabilities(np.array([1.0, 0.0, 0.5]), unit, 3, "every")
    assert both.tolist() == [0, 0.5, 0]


@pytest.mark.parametrize("household", [None, "h"])
def test_errors_of_keys_by_a_loop(household: str | None) -> None:
    """Two uniform numbers a person; members who share a key use those of the first of them all."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"k": rng.choice(["a", "b", "c", None], 300, p=[0.5, 0.3, 0.1, 0.1])})
    frame["h"] = rng.integers(0, 160, 300)
    options = {} if household is None else {"household": "h", "unit": "household"}
    scenario = Scenario("k", key_errors={"k": 0.6}, **options)
    believed = believed_keys(frame, scenario, Streams(5), "holdout")
    draws = Streams(5).at("believed keys", "holdout", "k")
    is_wrong, place = draws.random(300) < 0.6, draws.random(300)
    counts = frame["k"].value_counts()
    names = [*believed.levels[0], None]
    expected = []
    for row, value in enumerate(frame["k"]):
        drawer = row
        if household is not None:
            members = frame.index[frame["h"] == frame["h"][row]]
            if frame["k"][members].nunique() <= 1:
                drawer = members[0]
        if pd.isna(value):
            value = None
        elif is_wrong[drawer]:
            others = [name for name in "abc" if name != value]
            first_share = counts[others[0]] / counts[others].sum()
            value = others[int(place[drawer] >= first_share)]
        expected.append(value)
    assert [names[code] for code in believed.codes[:, 0]] == expected
