"""What two files share: levels, rows, and the rule between them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import compare
from riskeval.attacks.distance.closest_record import identical
from riskeval.comparison import releases
from riskeval.comparison.alignment import learn, match_levels
from riskeval.comparison.releases import OriginalFile, Release, agreement, read_release
from synthpop.microdata.messages.errors import Faults
from tests.riskeval.comparison.cases import grouped, people, suppressed

ROWS = np.arange(6)


def series(*values: object) -> pd.Series:
    return pd.Series(list(values), dtype=object)


@pytest.mark.parametrize(
    ("x", "y", "how", "shared"),
    [
        (list("aabbcc"), list("aabbcc"), "the same levels", 3),
        (list("aabbcc"), ["a", None, "b", "b", "c", "c"], "the same levels", 3),
        (list("aabbcc"), list("ppqqqq"), "3 levels of the original count as 2", 2),
        (list("aabbcc"), list("aabbbb"), "3 levels of the original count as 2", 2),
        (list("aabbcc"), list("ababcc"), "the same levels", 3),
        (list("aabbcc"), list("bbaacc"), "the same levels", 3),
        ([1, 1, 2, 2, 3, 3], list("112233"), "levels were compared by their text", 3),
        (list("aabbcc"), list("axbbcc"), "3 levels in common; 1 of the release are not in the "
         "original", 3),
        (["a", "a", "b", "b", "c", "c"], ["p", "p", "q", "q", None, None],
         "3 levels of the original count as 2; 1 has no counterpart", 2),
    ],
)  # fmt: skip
def test_levels_of_linked_records(x: list, y: list, how: str, shared: int) -> None:
    found = match_levels(series(*x), series(*y), ROWS)
    assert found.reason == ""
    assert found.how == how
    assert found.counts[2] == shared


def test_a_variable_that_is_missing_everywhere_is_not_compared() -> None:
    found = match_levels(series("a", "b"), series(None, None), np.arange(2))
    assert found.reason == "is missing in all records of the release"


def test_levels_that_cannot_be_brought_together() -> None:
    found = match_levels(series(*"aabbcc"), series(*"pqpqpq"), ROWS)
    assert "one level became several" in found.reason
    assert "no level in common" in match_levels(series(*"aab"), series(*"ppq"), None).reason


def test_a_rule_that_was_given_counts_for_files_that_cannot_be_linked() -> None:
    rule = {"1": "low", "2": "low", "3": "high"}
    found = match_levels(series(1, 2, 3), series("high", "low"), None, rule)
    assert found.x.tolist() == ["low", "low", "high"]
    assert found.rule == {1: "low", 2: "low", 3: "high"}


def test_top_coding_is_a_rule_and_swapping_is_none() -> None:
    codes, levels = np.arange(4), (60, 70, 80, 90)
    assert learn(codes, np.array([0, 1, 2, 2]), levels, levels[:3]) == {
        60: 60, 70: 70, 80: 80, 90: 80,
    }  # fmt: skip
    assert learn(codes, codes[::-1], levels, levels) is None
    assert learn(codes, codes, levels, levels) is None


def test_agreement_ranks_evenly_spaced_records_of_large_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = pd.DataFrame({"income": np.arange(90.0)})
    y = x.copy()
    y.loc[y.index % 3 > 0] *= -1  # every third record agrees
    assert agreement(x, y, ("income",)) < 0.5
    monkeypatch.setattr(releases, "MOST_RANKED", 30)
    assert agreement(x, y, ("income",)) == pytest.approx(1)


def test_agreement_knows_copies_and_strangers() -> None:
    original, names = people(), ("region", "age", "sex", "pay")
    assert agreement(original, suppressed(original), names) > 0.9
    assert abs(agreement(original, people(400, seed=7), names)) < 0.2
    shuffled = original.sample(frac=1, random_state=1).reset_index(drop=True)
    assert abs(agreement(original, shuffled, names)) < 0.2


def read(release: object, original: pd.DataFrame) -> tuple[object, Faults]:
    faults = Faults("test")
    frame = original.reset_index(drop=True)
    names = ("region", "age", "sex", "pay")
    beside = OriginalFile(frame, original.index, names, "w")
    return read_release(faults, "a", release, beside), faults


def test_records_are_linked_by_an_identifier() -> None:
    original = people().assign(code=np.arange(400) * 3)
    part = original.sample(100, random_state=2).reset_index(drop=True)
    side, _ = read(Release(part, identifier="code"), original)
    assert side.rows.tolist() == (part["code"] // 3).tolist()
    assert side.kind == "perturbed"
    _, faults = read(Release(part.assign(code=1), identifier="code"), original)
    assert "names of their own" in str(faults.found[0])
    _, faults = read(Release(part.assign(code=-part["code"] - 1), identifier="code"), original)
    assert "does not have" in str(faults.found[0])


def test_what_a_release_may_be() -> None:
    original = people()
    side, _ = read(Release(grouped(original), linkable=False, kind="perturbed"), original)
    assert side.rows is None
    assert side.kind == "perturbed"
    side, _ = read(Release(people(50), weights=np.ones(50)), original)
    assert side.weights.tolist() == [1.0] * 50
    side, _ = read(Release(people(50).assign(v=2.0), weights="v"), original)
    assert side.weights[0] == 2
    for wrong, text in (
        (Release(people(50), kind="made"), "made"),
        (Release(people(50), parameter="x"), "Give a number"),
        (Release(people(50), weights="v"), "'v'"),
        (Release(people(50), weights=[1.0]), "1 value for"),
        (Release(people(50), linkable=True), "identifier"),
        (5, "is a int"),
    ):
        side, faults = read(wrong, original)
        assert side is None
        assert text in str(faults.found[0])


def test_identical_records_are_counted_one_by_one() -> None:
    x = people(60)
    y = pd.concat([x.iloc[[3, 7]], people(20, seed=3)], ignore_index=True)
    y.loc[5, "sex"] = None
    names = ["region", "age", "sex", "pay"]
    known = {tuple(row) for row in x[names].itertuples(index=False)}
    naive = np.mean([tuple(row) in known for row in y[names].itertuples(index=False)])
    assert identical(x, y, names) == naive > 0


def test_a_part_of_the_file_without_labels_is_found_or_told_of() -> None:
    original = people(300)
    names = ("region", "age", "sex", "pay")

    def read(release: pd.DataFrame | Release) -> releases.ReleaseFile:
        faults = Faults("compare")
        beside = OriginalFile(original, original.index, names, None)
        side = read_release(faults, "part", release, beside)
        assert side is not None
        return side

    drawn = original.sample(150, random_state=1)
    found = read(drawn.set_axis([f"new {row}" for row in range(150)]))
    assert found.kind == "perturbed"
    assert found.rows is not None
    assert found.rows.tolist() == drawn.index.tolist()
    rng = np.random.default_rng(1)
    other = pd.DataFrame({name: rng.permutation(drawn[name].to_numpy()) for name in drawn})
    other.index = [f"new {row}" for row in range(150)]
    assert read(other).kind == "synthetic"
    assert "give identifier or linkable" in " ".join(read(other).notes)
    for release in (Release(drawn.reset_index(drop=True), kind="synthetic"),
                    pd.concat([drawn] * 3, ignore_index=True)):  # fmt: skip
        assert read(release).kind == "synthetic"
        assert "give identifier" not in " ".join(read(release).notes)


def test_whole_numbers_match_however_they_are_held() -> None:
    """A column of whole numbers with one missing value comes back from a file as 8.0."""
    found = match_levels(pd.Series(["8", "7", "8"]), pd.Series([8.0, 7.0, np.nan]), None)
    assert found.reason == ""
    assert found.x.tolist() == ["8", "7", "8"]
    assert found.y.tolist()[:2] == ["8", "7"]


def test_levels_that_nearly_agree_are_named() -> None:
    found = match_levels(pd.Series(["1", "2", "3"]), pd.Series(["1", "2 ", "3"]), None)
    assert "(1 nearly, for instance '2 ' and '2')" in found.how


def noisy_persons(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": rng.choice([*"abcd"], n), "age": rng.integers(0, 90, n),
            "pay": rng.lognormal(8, 1, n), "rent": rng.lognormal(6, 1, n),
        }
    )  # fmt: skip


@pytest.mark.parametrize("n", [200, 150])
def test_changed_records_in_another_order_are_recognised(n: int) -> None:
    people = noisy_persons(200, 1)
    rng = np.random.default_rng(2)
    order = rng.permutation(200)[:n]
    noise = np.exp(rng.normal(0, 0.02, (n, 2)))
    changed = people.iloc[order].reset_index(drop=True)
    changed[["pay", "rent"]] *= noise
    changed["age"] += rng.integers(-1, 2, n)
    asked = {"keys": ["region", "age"], "numeric": ["pay", "rent"], "seed": 1}
    files = {"changed": changed, "fresh": noisy_persons(n, 3)}
    found = compare(people, files, **asked).releases.set_index("release")
    assert found["kind"].tolist() == ["original", "perturbed", "synthetic"]
    assert "found by their nearness" in found["notes"]["changed"]
    declared = {"changed": Release(changed, kind="synthetic")}
    assert compare(people, declared, **asked).releases["kind"].tolist()[1] == "synthetic"


def test_repeated_labels_of_the_index_are_no_fault() -> None:
    people = noisy_persons(60, 1)
    twice = pd.concat([noisy_persons(60, 4), noisy_persons(60, 4)[:9]])
    found = compare(people, {"twice": twice}, keys=["region", "age"], seed=1)
    assert found.releases["kind"].tolist() == ["original", "synthetic"]
