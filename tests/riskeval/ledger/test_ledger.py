"""What releases of one survey tell together, against a naive intruder who knows who is who."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

from riskeval import InputError, Ledger, OutputError, ReleaseFacts
from riskeval.ledger.columns import read_columns
from riskeval.ledger.linking import link
from riskeval.protect import global_recode, local_suppression, record_swap
from riskeval.protection.release import release_file
from synthpop import load_demo_survey

KEYS = ["db040", "age", "rb090", "pl030"]
K = 3


def survey(n_households: int = 380, first: int = 0) -> pd.DataFrame:
    frame = load_demo_survey().frame
    homes = frame["db030"].drop_duplicates().iloc[first : first + n_households]
    people = frame[frame["db030"].isin(homes)].drop(columns="pid").reset_index(drop=True)
    return people.assign(pl030=people["pl030"].cat.add_categories("child").fillna("child"))


def shuffled(frame: pd.DataFrame, again: int = 0) -> pd.DataFrame:
    """Records in another order for each file, the same in every run."""
    return release_file(frame, household="db030", seed=crc32(frame.to_csv().encode()) + again)


def naive_below(rows: list[tuple]) -> int:
    """Count rows that fewer than K match, a missing value (None) matching everything."""
    matches = [
        sum(all(a is None or b is None or a == b for a, b in zip(x, y, strict=True)) for y in rows)
        for x in rows
    ]
    return sum(count < K for count in matches)


def rows_of(frame: pd.DataFrame) -> list[tuple]:
    plain = frame[KEYS].astype(object)
    return list(plain.where(plain.notna(), None).itertuples(index=False, name=None))


def filled(first: list[tuple], second: list[tuple]) -> list[tuple]:
    """Lay two files of the same persons, in the same order, together cell by cell."""
    return [
        tuple(b if a is None else a for a, b in zip(x, y, strict=True))
        for x, y in zip(first, second, strict=True)
    ]


@pytest.fixture(scope="module")
def two() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two releases of about 900 persons, each 3-anonymous by itself, in the order of the survey."""
    people = survey()
    return tuple(  # type: ignore[return-value]
        local_suppression(people, KEYS, k=K, importance=order).data
        for order in ([1, 2, 3, 4], [4, 3, 2, 1])
    )


def test_two_releases_that_are_each_3_anonymous_name_what_they_tell_together(two, tmp_path) -> None:
    people = survey()
    assert len(people) in range(850, 950)
    rows = [rows_of(one) for one in two]
    assert [naive_below(one) for one in rows] == [0, 0]
    together = naive_below(filled(*rows))
    assert together > 150
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(two[0]), "first", keys=KEYS, household="db030")
    check = ledger.check(shuffled(two[1]), keys=KEYS, household="db030", k=K)
    assert abs(int(check.below.sum()) - together) <= 5  # twins whom nobody tells apart
    assert int(check.below_alone.sum()) == 0
    assert check.links["linked"][0] > 0.97 * len(people)
    assert check.verdict.level == "do not publish"
    assert (
        f"{int(check.below.sum())} of {len(people)} records match fewer than 3" in check.summary()
    )
    names = set(check.verdict.to_frame()["name"])
    assert {"rare with earlier releases", "suppressed in one release only"} <= names


def test_the_plan_hides_the_same_cells_and_nothing_more_is_told(two, tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(two[0]), "first", keys=KEYS, household="db030")
    second = shuffled(two[1])
    consistent, plan = ledger.consistent(second, keys=KEYS, household="db030")
    assert set(plan["what"]) == {"hide the same cells"}
    hidden = consistent[KEYS].isna() & second[KEYS].notna()
    assert int(hidden.to_numpy().sum()) == int(plan["n"].sum()) > 0
    after = ledger.check(consistent, keys=KEYS, household="db030", k=K)
    assert int(after.below.sum()) <= 1  # a twin whom nobody tells apart
    assert int(ledger.check(second, keys=KEYS, household="db030", k=K).below.sum()) > 100


def test_the_same_release_again_tells_nothing(two, tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(two[0]), "first", keys=KEYS, household="db030")
    check = ledger.check(shuffled(two[0], 1), keys=KEYS, household="db030", k=K)
    assert check.verdict.level == "no objection found by what was tried", check.summary()
    assert check.links["linked"][0] > 0.97 * len(two[0])


def test_other_persons_are_not_linked_and_do_not_alarm(two, tmp_path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(two[0]), "first", keys=KEYS, household="db030")
    others = local_suppression(survey(380, 2000), KEYS, k=K).data
    check = ledger.check(shuffled(others), keys=KEYS, household="db030", k=K)
    assert check.links["linked"][0] == 0
    assert check.verdict.level == "no objection found by what was tried", check.summary()


def classes(frame: pd.DataFrame, first: int) -> pd.DataFrame:
    """Ages in classes of ten years that begin at `first`."""
    breaks = [-1, *range(first - 1 if first else 9, 90, 10), 200]
    return global_recode(frame, "age", breaks=breaks).data


def test_two_recodings_that_cross_are_named(tmp_path: Path) -> None:
    people = survey()
    one, other = classes(people, 0), classes(people, 5)
    pairs = [(*x, y[1]) for x, y in zip(rows_of(one), rows_of(other), strict=True)]
    alone, together = naive_below(rows_of(other)), naive_below(pairs)
    assert together > 1.5 * alone
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(one), "tens", keys=KEYS, household="db030")
    check = ledger.check(shuffled(other), keys=KEYS, household="db030", k=K)
    assert int(check.below_alone.sum()) == alone
    assert abs(int(check.below.sum()) - together) <= 5
    crossing = next(one for one in check.verdict.evidence if one.name == "crossing classes")
    assert crossing.columns == ("age",)
    consistent, plan = ledger.consistent(shuffled(other), keys=KEYS, household="db030")
    assert plan[["column", "what"]].to_numpy().tolist() == [["age", "use its classes"]]
    after = ledger.check(consistent, keys=KEYS, household="db030", k=K)
    assert int(after.below.sum()) <= int(after.below_alone.sum())


def test_nested_classes_do_not_alarm(tmp_path: Path) -> None:
    people = survey()
    fine = classes(people, 0)
    coarse = global_recode(people, "age", breaks=[-1, 19, 39, 59, 79, 200]).data
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(fine), "tens", keys=KEYS, household="db030")
    check = ledger.check(shuffled(coarse), keys=KEYS, household="db030", k=K)
    told = check.told[check.told["column"] == "age"]
    assert told["n"].max() > 0.9 * len(people)  # the coarser file after the finer one: all is known
    assert naive_below(rows_of(fine)) >= int(check.below.sum()) - 5


def test_any_number_of_releases_is_laid_together(tmp_path: Path) -> None:
    """Each of four releases shows one key only: any two keep 3, all four do not."""
    people = survey()
    ledger = Ledger(tmp_path / "ledger")
    for key in KEYS[:3]:
        hidden = people.drop(columns=[one for one in KEYS if one != key])
        ledger.add(shuffled(hidden), key, keys=[key], household="db030")
    last = people.drop(columns=KEYS[:3])
    check = ledger.check(shuffled(last), keys=["pl030"], household="db030", k=K)
    naive = naive_below(rows_of(people))
    assert int(check.below.sum()) == pytest.approx(naive, rel=0.1)  # but for twins
    assert int(check.below_alone.sum()) == 0
    assert len(check.links) == 3


def changed_at_random(people: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Give three persons of ten a region that is drawn anew."""
    rng = np.random.default_rng(seed)
    rows = rng.random(len(people)) < 0.3
    regions = people["db040"].copy()
    regions[rows] = rng.choice(regions.cat.categories, rows.sum())
    return people.assign(db040=regions)


def swapped(people: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Let a third of the households change their region with others of their size."""
    return record_swap(
        people, household="db030", hierarchy=["db040"], similar=["hsize"], risk_keys=["pl030"],
        rate=0.33, seed=seed,
    ).data  # fmt: skip


@pytest.mark.parametrize(
    ("change", "at_most", "at_least"), [(changed_at_random, 0.8, 0.9), (swapped, 0.94, 0.98)]
)
def test_changes_at_random_and_swaps_wear_off_by_votes(
    change: Callable[[pd.DataFrame, int], pd.DataFrame], at_most: float, at_least: float,
    tmp_path: Path,
) -> None:  # fmt: skip
    people = survey()
    ledger = Ledger(tmp_path / "ledger")
    for number in range(4):
        changed = change(people, number).assign(truth=people["db040"].astype(str))
        released = shuffled(changed)
        truth = released.pop("truth").astype(str)
        if number < 3:
            ledger.add(released, f"release {number}", keys=KEYS, household="db030")
    check = ledger.check(released, keys=KEYS, household="db030", k=K)
    found = next(one for one in check.verdict.evidence if one.name == "changes that wear off")
    assert found.columns == ("db040",)
    right_alone = (released["db040"].astype(str) == truth).mean()
    assert right_alone < at_most < at_least < found.value
    assert (check.links["linked"] == len(people)).all() or change is changed_at_random
    _, plan = ledger.consistent(released, keys=KEYS, household="db030")
    assert ("db040", "use its values") in set(zip(plan["column"], plan["what"], strict=True))


def noisy(people: pd.DataFrame, seed: int, names: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    result = people.copy()
    for name in names:
        result[name] = people[name] + rng.normal(0, 500, len(people))
    return result


def test_noise_that_is_drawn_anew_averages_out_and_noise_that_is_kept_does_not(tmp_path) -> None:
    people = survey()
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(noisy(people, 1, ["netIncome"])), "first", keys=KEYS, household="db030")
    ledger.add(shuffled(noisy(people, 2, ["netIncome"])), "second", keys=KEYS, household="db030")
    third = shuffled(noisy(people, 3, ["netIncome"]))
    check = ledger.check(third, keys=KEYS, household="db030", k=K)
    found = next(one for one in check.verdict.evidence if one.name == "noise that averages out")
    assert found.value == pytest.approx(1 / np.sqrt(3))
    assert "about 5" in found.text or "about 4" in found.text, found.text  # 500
    kept = ledger.check(
        shuffled(noisy(people, 2, ["netIncome"])), keys=KEYS, household="db030", k=K
    )
    text = next(one.text for one in kept.verdict.evidence if one.name == "noise that averages out")
    assert "2 releases" in text  # the one that shows it already is no further draw
    of_later = ledger.check(third, keys=KEYS, household="db030", k=K, wave="2027")
    assert "noise that averages out" not in set(of_later.verdict.to_frame()["name"])
    _consistent, plan = ledger.consistent(third, keys=KEYS, household="db030")
    assert ("netIncome", "use its values") in set(zip(plan["column"], plan["what"], strict=True))


def test_a_small_number_that_few_have_otherwise_is_no_noise() -> None:
    people = survey().assign(rooms=lambda frame: frame["hsize"].astype(float))
    people.loc[::40, "rooms"] = np.nan  # so that others link the records
    later = people.copy()
    later.loc[np.random.default_rng(2).random(len(people)) < 0.05, "rooms"] += 1
    found = link(read_columns(people), read_columns(shuffled(later)))
    assert "rooms" not in found.by
    assert found.ways["rooms"].kind == "changed"


def test_samples_that_overlap_link_those_who_are_in_both_and_tell_nothing_else(tmp_path) -> None:
    first, second = survey(300), survey(300, first=150)
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(first), "first", keys=KEYS, household="db030")
    check = ledger.check(shuffled(second), keys=KEYS, household="db030", k=K)
    in_both = int(second["db030"].isin(first["db030"]).sum())
    assert check.links["linked"].tolist() == [in_both] == [351]
    assert not check.verdict.evidence


def test_records_link_when_all_amounts_have_noise_of_their_own(tmp_path: Path) -> None:
    adults = survey(400)
    adults = adults[adults["netIncome"].notna()].drop_duplicates("db030").reset_index(drop=True)
    names = ["netIncome", "py010n", "hincome", "eqIncome"]
    few = adults[["db040", "rb090", "hsize", *names]].assign(number=np.arange(len(adults)))
    one, other = (noisy(few, seed, names).sample(frac=1, random_state=seed) for seed in (1, 2))
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(one.drop(columns="number"), "first")
    check = ledger.check(other.drop(columns="number"), keys=["db040"], k=K)
    assert check.links["linked"][0] > 0.5 * len(few)
    assert check.links["right"][0] > 0.5


def test_other_persons_with_amounts_alike_are_not_taken_for_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    pay = rng.lognormal(10, 0.5, 3300)
    people = pd.DataFrame({"pay": pay, "rent": pay * rng.uniform(0.2, 0.4, 3300)})
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(people.iloc[300:], "many others", synthetic=True)
    ledger.add(people.iloc[300:700], "others")
    check = ledger.check(people.iloc[:300], k=K)
    assert check.links["linked"].tolist() == [0, 0]
    assert check.verdict.level == "no objection found by what was tried", check.summary()


def test_attribution_rises_where_another_release_tells_more_keys(tmp_path: Path) -> None:
    n = 240
    numbers = np.arange(n)
    people = pd.DataFrame({
        "region": numbers % 4, "age": numbers // 4 % 6, "pay": 1000.5 + numbers * 7,
        "ill": ((numbers % 4 == 1) & (numbers // 4 % 6 == 2)).astype(int),
    })  # fmt: skip
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(people.drop(columns="ill").sample(frac=1, random_state=1), "ages",
               keys=["age"])  # fmt: skip
    check = ledger.check(
        people.drop(columns="age").sample(frac=1, random_state=2), keys=["region"],
        sensitive=["ill"], k=K,
    )  # fmt: skip
    assert int(check.certain_alone.sum()) == 180  # three regions without an ill person
    assert int(check.certain.sum()) == n
    names = set(check.verdict.to_frame()["name"])
    assert "certain with earlier releases" in names


def test_lasting_numbers_and_the_same_order_are_named(two, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(two[0], "first", keys=KEYS, household="db030")
    check = ledger.check(two[1], keys=KEYS, household="db030", k=K)
    names = check.verdict.to_frame()["name"].tolist()
    assert "lasting numbers" in names
    assert "the same order" in names
    fresh = ledger.check(shuffled(two[1]), keys=KEYS, household="db030", k=K)
    assert not {"lasting numbers", "the same order"} & {*fresh.verdict.to_frame()["name"]}


def test_waves_of_a_panel_are_linked_across_ageing(tmp_path: Path) -> None:
    people = survey().assign(number=lambda frame: np.arange(len(frame)))
    later = people.assign(age=people["age"] + 1, netIncome=people["netIncome"] * 1.03 + 7)
    ledger = Ledger(tmp_path / "ledger")
    facts = ReleaseFacts(wave="2025")
    ledger.add(shuffled(people.drop(columns="number")), "2025", keys=KEYS, household="db030",
               facts=facts)  # fmt: skip
    check = ledger.check(shuffled(later.drop(columns="number")), keys=KEYS, household="db030",
                         wave="2026", k=K)  # fmt: skip
    assert check.links["linked"][0] > 0.9 * len(people)


def test_synthetic_files_that_copy_amounts_are_told_from_those_that_do_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    donors = rng.lognormal(10, 0.5, 3000).round(2)
    copies = [pd.DataFrame({"pay": rng.choice(donors, 2000), "sex": "f"}) for _ in range(2)]
    drawn = [pd.DataFrame({"pay": rng.lognormal(10, 0.5, 2000).round(2), "sex": "f"})
             for _ in range(2)]  # fmt: skip
    for name, files, level in (("copies", copies, "do not publish"), ("drawn", drawn, "")):
        ledger = Ledger(tmp_path / name)
        ledger.add(files[0], "first", synthetic=True)
        check = ledger.check(files[1], synthetic=True)
        found = [one.name for one in check.verdict.evidence]
        assert found == (["amounts that recur"] if level else [])
        assert check.verdict.not_tried


def test_a_ledger_is_private_and_keeps_what_it_was_told(two, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    facts = ReleaseFacts(
        recodings=["ages in tens"], recipients="University", randomness=["noise, kept"],
        wave="2026", date="2026-01-31", despite="a contract", files={"a.csv": "0"},
    )  # fmt: skip
    assert ledger.add(two[0], "first", keys=KEYS, sensitive=["netIncome"], facts=facts,
                      verdict="cannot judge") == 1  # fmt: skip
    folder = tmp_path / "ledger"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}
    row = Ledger(folder).releases.iloc[0]
    assert row["recipients"] == "University"
    assert row["keys"] == KEYS
    assert row["date"] == "2026-01-31"
    assert row["recodings"] == ["ages in tens"]
    assert row["despite"] == "a contract"
    assert row["verdict"] == "cannot judge"
    assert row["wave"] == "2026"
    assert "first" in Ledger(folder).summary()
    with pytest.raises(InputError, match="is taken"):
        ledger.add(two[1], "first")
    assert len(ledger.releases) == 1


def test_damage_and_strangers_are_named(two, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(two[0], "first")
    label = tmp_path / "ledger" / "ledger.json"
    text = label.read_text()
    label.write_text(text.replace('"first"', '"other"'))
    with pytest.raises(InputError, match="cannot be read"):
        Ledger(tmp_path / "ledger")
    label.write_text(text)
    (tmp_path / "ledger" / "release-0001.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="changed or is missing"):
        ledger.check(two[1])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.docx").touch()
    with pytest.raises(OutputError, match="is no ledger"):
        Ledger(tmp_path / "other")
    for faulty, options in product(["check", "add"], [{"keys": ["nothing"]}]):
        arguments = [two[1]] if faulty == "check" else [two[1], "name"]
        with pytest.raises(InputError, match="nothing"):
            getattr(Ledger(tmp_path / "new"), faulty)(*arguments, **options)
    with pytest.raises(InputError, match="k"):
        Ledger(tmp_path / "new").check(two[1], k=1)
    assert not (tmp_path / "new").exists()
    assert json.loads(text)["format"] == 1


def test_an_empty_ledger_cannot_say_that_all_is_well(two, tmp_path: Path) -> None:
    check = Ledger(tmp_path / "none").check(two[0], keys=KEYS)
    assert check.verdict.level == "cannot judge"
    assert not (tmp_path / "none").exists()


def test_what_has_changed_between_waves_tells_more_than_one_of_them(tmp_path: Path) -> None:
    """A fifth of the persons change jobs: who knows both jobs recognises more of them."""
    people = survey()
    rng = np.random.default_rng(4)
    rows = rng.random(len(people)) < 0.2
    later = people.assign(age=people["age"] + 1)
    later.loc[rows, "pl030"] = rng.choice(people["pl030"].cat.categories, rows.sum())
    keys = ["db040", "rb090", "pl030"]
    both = later[keys].assign(before=people["pl030"]).astype(str)
    naive = int((both.groupby(list(both))["before"].transform("size") < K).sum())
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(people), "2025", keys=keys, household="db030",
               facts=ReleaseFacts(wave="2025"))  # fmt: skip
    check = ledger.check(shuffled(later), keys=keys, household="db030", wave="2026", k=K)
    assert int(check.below.sum()) == pytest.approx(naive, rel=0.03)
    assert int(check.below.sum()) > int(check.below_alone.sum()) + 30
    found = next(one for one in check.verdict.evidence if one.name == "changes between waves")
    assert found.columns == ("pl030",)
    changed = int((people["pl030"] != later["pl030"]).sum())
    assert found.records == pytest.approx(changed, rel=0.05)


def test_a_later_wave_in_which_all_grow_older_tells_nothing_more(tmp_path: Path) -> None:
    people = survey()
    later = people.assign(age=people["age"] + 1, netIncome=people["netIncome"] * 1.03 + 7)
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(people), "2025", keys=KEYS, household="db030",
               facts=ReleaseFacts(wave="2025"))  # fmt: skip
    check = ledger.check(shuffled(later), keys=KEYS, household="db030", wave="2026", k=K)
    assert int(check.below.sum()) == int(check.below_alone.sum())
    assert check.verdict.level == "no objection found by what was tried", check.summary()


def test_persons_of_all_regions_who_are_rare_together_are_all_named(tmp_path: Path) -> None:
    """About 900 persons drawn from everywhere, of whom hardly any key combination is frequent."""
    frame = load_demo_survey().frame
    homes = np.random.default_rng(784).permutation(frame["db030"].unique())[:400]
    people = frame[frame["db030"].isin(homes)].drop(columns="pid").reset_index(drop=True)
    keys = ["db040", "age", "pl030", "pe040"]
    for name in keys[2:]:
        people[name] = people[name].cat.add_categories("child").fillna("child")
    one, other = (
        local_suppression(people, keys, k=K, importance=order).data
        for order in ([1, 2, 3, 4], [4, 3, 2, 1])
    )
    rows = [
        list(file[keys].astype(object).where(file[keys].notna(), None).itertuples(index=False))
        for file in (one, other)
    ]
    together = naive_below(filled(*rows))
    assert together > 0.85 * len(people)
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(shuffled(one), "first", keys=keys, household="db030")
    check = ledger.check(shuffled(other), keys=keys, household="db030", k=K)
    assert int(check.below_alone.sum()) == 0
    assert int(check.below.sum()) == together
