"""Local suppression of household files: nothing that is hidden can be read back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import recover
from riskeval.protection.household.layer import read_households
from riskeval.protection.recode import global_recode
from riskeval.protection.release import release_file
from riskeval.protection.suppression.households import rare_households
from riskeval.protection.suppression.suppress import local_suppression
from synthpop.microdata.frame.codes import encode_keys
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.roles.microdata import Microdata
from tests.reference_data import survey_data
from tests.riskeval.protection.attacker import filled_in, smallest_count

AGES = [-1, 15, 29, 44, 64, 120]
EUSILC = ["db040", "hsize", "age", "rb090", "pl030", "pb220a"]
# file, keys, household, weights, cells that suppression takes without households
SURVEYS = [
    pytest.param("eusilc", EUSILC, "db030", "rb050", 660, marks=pytest.mark.slow),
    ("eusilcS", EUSILC, "db030", "rb050", 584),
    ("testdata", ["urbrur", "roof", "walls", "water", "relat", "sex"], "ori_hid", None, 105),
    pytest.param(
        "ghanaS", ["region", "hsize", "age", "sex", "relate", "nation"], "hhid", "weight", 951,
        marks=pytest.mark.slow,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "keys", "household", "weights", "cells"), SURVEYS)
def test_no_record_is_rare_after_recovery_and_few_more_cells_are_gone(
    name, keys, household, weights, cells
):
    people = release_file(survey_data(name), household=household, seed=1)
    if "age" in keys:
        people = global_recode(people, "age", breaks=AGES).data
    result = local_suppression(people, keys, k=3, household=household, weights=weights)
    attack = recover(result.data, household=household, weights=weights, original=people, keys=keys)
    assert attack.n_right == 0
    assert attack.below == (0, 0)
    assert result.details["below_after_recovery"] == 0
    assert filled_in(result.data, people, keys, household) == {}
    assert smallest_count(result.data, keys) >= 3
    assert result.cells_suppressed <= 1.5 * cells
    hidden = result.details["suppressed"]
    file = Microdata(people, household=household)
    for key in read_households(Faults("t"), file, keys).variables:
        shares = hidden[key].groupby(people[household]).mean()
        assert set(shares.unique()) <= {0.0, 1.0}  # of all members or of none


def test_without_a_household_the_summary_says_what_can_be_read_back():
    people = global_recode(survey_data("eusilc"), "age", breaks=AGES).data
    result = local_suppression(people[[*EUSILC, "db030"]], EUSILC, k=3)
    assert result.details["below_after_recovery"] == 755
    assert "228 of 660 suppressed values can be read back" in result.summary()
    assert "755 records are below again" in result.summary()


def flats(n: int = 300, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 3], n, p=[0.3, 0.4, 0.3])
    home = np.repeat(np.arange(n), size)
    street = rng.choice([*"abcdefgh"], n, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 0.01])[home]
    return pd.DataFrame(
        {
            "home": home,
            "street": street,
            "size": size[home],
            "age": rng.choice(["child", "adult", "old"], len(home)),
            "sex": rng.choice(["f", "m"], len(home)),
        }
    )


def test_a_household_variable_is_hidden_for_all_members_where_persons_do_not_suffice():
    people = flats()
    rare = people["home"] == people.loc[people["size"] == 2, "home"].iloc[0]
    people.loc[rare, "street"] = "z"
    result = local_suppression(people, ["street", "sex"], k=5, household="home")
    assert result.data.loc[rare, "street"].isna().all()
    assert recover(result.data, household="home", original=people).n_right == 0


def headed() -> pd.DataFrame:
    """Households whose first row is the head; few heads are children."""
    people = flats().drop(columns=["street", "size"])
    first = ~people["home"].duplicated()
    role = np.random.default_rng(3).choice(["partner", "child", "parent"], len(people))
    grown = first & (people["age"] == "child") & (people["home"] > 30)
    return people.assign(role=np.where(first, "head", role), age=people["age"].mask(grown, "old"))


def test_the_place_of_the_head_in_the_household_and_its_absence_are_attacked():
    people = headed()
    keys = ["role", "age", "sex"]
    blind = local_suppression(people, keys, k=8, importance={"role": 3, "age": 1, "sex": 2})
    heads = blind.data["role"].isna() & (people["role"] == "head")
    assert heads.sum() >= 4
    by_place = recover(blind.data, household="home", original=people, columns=keys, rules=["place"])
    by_role = recover(blind.data, household="home", original=people, columns=keys, rules=["role"])
    assert by_place.n_right == heads.sum()
    assert 0 < by_role.n_right <= heads.sum()
    assert "one head in each household" in by_role.sources["source"].tolist()
    mixed = release_file(blind.data, household="home", seed=1)
    assert recover(mixed, household="home", rules=["place"], columns=keys).n_filled == 0
    assert recover(mixed, household="home", rules=["role"], columns=keys).n_filled > 0
    safe = local_suppression(
        people, keys, k=8, importance={"role": 3, "age": 1, "sex": 2}, household="home"
    )
    assert filled_in(safe.data, people, keys, "home") == {}
    assert safe.details["below_after_recovery"] == 0


def test_a_role_that_nothing_else_replaces_is_hidden_with_that_of_another_member():
    roles = ["head", *["child"] * 6, *["parent"] * 6]
    big = pd.DataFrame({"home": 999, "role": roles, "sex": "f", "age": "old"})
    people = pd.concat([headed(), big], ignore_index=True)
    people["rows"] = people.groupby("home")["home"].transform("size")
    people = release_file(people, household="home", seed=1)
    result = local_suppression(people, ["role", "rows"], k=3, household="home")
    gone = result.data["role"].isna()
    assert gone.sum() == 2
    assert "head" in set(people.loc[gone, "role"])
    assert result.details["below_after_recovery"] == 0
    assert filled_in(result.data, people, ["role", "rows"], "home") == {}
    as_it_stands = people.sort_values(["home", "role"], key=lambda x: x.replace("head", "a")
                                      if x.name == "role" else x, ignore_index=True)  # fmt: skip
    told = local_suppression(as_it_stands, ["role", "rows"], k=3, household="home")
    assert told.details["below_after_recovery"] == 1
    assert "place in the household" in told.summary()


def test_a_rule_with_few_cases_does_not_overrule_one_with_many():
    """Six households of 21 lie in two regions: 120 cases; the weight tells the region in 900."""
    people = flats().drop(columns=["size"]).assign(street=lambda x: x["home"] % 3)
    big = pd.DataFrame({"home": np.repeat(np.arange(1000, 1006), 21), "age": "old", "sex": "f"})
    big["street"] = np.where(big["home"] == 1005, 2, 1)
    people = pd.concat([people, big], ignore_index=True)
    people["weight"] = people["street"] * 10.0 + people["home"] % 2
    holes = people.assign(street=people["street"].mask(people["home"] == 1005).astype("Int64"))
    attack = recover(holes, household="home", weights="weight", original=people,
                     household_variables=["street"])  # fmt: skip
    assert (attack.n_holes, attack.n_right) == (21, 21)


def test_weights_that_tell_a_key_leave_it_visible():
    people = flats().assign(age="x")
    street = people["street"].map({s: 10.0 + j for j, s in enumerate("abcdefgh")})
    people = people.drop(columns=["age", "home"]).assign(weight=street)
    free = local_suppression(people.drop(columns="weight"), ["street", "size", "sex"], k=4)
    assert free.data["street"].isna().any()
    result = local_suppression(people, ["street", "size", "sex"], k=4, weights="weight")
    assert result.data["street"].notna().all()
    assert "weight weight" in result.details["told"]["street"]
    blind = local_suppression(people, ["street", "size", "sex"], k=4)
    assert blind.details["below_after_recovery"] > 0


def test_components_take_part_in_the_attack():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], 60), "a": rng.integers(0, 4, 60)})
    people["b"] = rng.integers(0, 4, 60)
    people["total"] = people["a"] + people["b"]
    parts = {"total": ["a", "b"]}
    result = local_suppression(people, ["sex", "a"], k=6, components=parts)
    attack = recover(result.data, components=parts, original=people)
    assert attack.n_right == 0
    assert local_suppression(people, ["sex", "a"], k=6).data["a"].isna().any()
    assert result.data["a"].notna().all()


def test_where_no_suppression_helps_the_summary_counts_the_records():
    home = np.append(np.repeat(np.arange(30), 2), [30, 30, 30, *range(31, 60)])
    people = pd.DataFrame({"home": home}).assign(size=np.bincount(home)[home])
    result = local_suppression(people, ["size"], k=4, household="home")
    assert result.details["below_after_recovery"] == 3
    assert "For 3 records no suppression helps" in result.summary()
    assert "all records but 3 match" in result.summary()
    assert "number of rows" in result.summary()


def test_rare_households_are_hidden_before_persons():
    people = flats(400)
    keys = ["street", "size", "age", "sex"]

    def rare(frame: pd.DataFrame) -> int:
        homes = read_households(Faults("t"), Microdata(people, household="home"), keys)
        shared = [j for j, key in enumerate(keys) if key in homes.variables]
        by = encode_keys(people, keys).codes
        return rare_households(encode_keys(frame, keys).codes, homes, shared, 2, by)

    persons = local_suppression(people, keys, k=2, household="home")
    both = local_suppression(people, keys, k=2, household="home", household_keys=keys)
    assert rare(persons.data) > 20
    assert rare(both.data) == 0
    assert both.cells_suppressed > persons.cells_suppressed
    assert "households matched fewer than 2 households" in both.summary()


def test_combinations_of_keys_can_be_named():
    people = flats()
    named = local_suppression(people, ["street", "age", "sex"], subsets={("street", "sex"): 8})
    sizes = named.data.groupby(["street", "sex"]).size()
    assert named.data["age"].notna().all()
    assert named.data["street"].isna().any()
    assert sizes.min() >= 1
    text = local_suppression(people, ["street", "age", "sex"], subsets={"street, sex": 8})
    pd.testing.assert_frame_equal(text.data, named.data)
    mixed = local_suppression(people, ["street", "age", "sex"], subsets={"1": 20, "age,sex": 60})
    assert "20 records on every 1 of the keys and 60 records on age and sex" in mixed.summary()
    with pytest.raises(InputError, match="'strret'"):
        local_suppression(people, ["street", "age"], subsets={("strret", "age"): 3})


def test_faulty_households_are_named():
    people = flats().assign(region="n")
    people.loc[people["home"] == 7, "region"] = ["s", *["n"] * ((people["home"] == 7).sum() - 1)]
    torn = people.assign(home=people["home"].where(people["home"] != 3))
    with pytest.raises(InputError, match="household is missing"):
        local_suppression(torn, ["street"], household="home")
    mixed = people.copy()
    big = people.loc[people["size"] == 3, "home"].iloc[0]
    mixed.loc[mixed.index[mixed["home"] == big][0], "street"] = "q"
    with pytest.raises(
        InputError, match=rf"differs within a household in 1 household \(home {big}\)"
    ):
        local_suppression(mixed, ["street"], household="home", household_variables=["street"])
    mixed.loc[mixed.index[mixed["home"] == big][0], "region"] = "s"
    with pytest.raises(InputError, match="lies in two strata"):
        local_suppression(mixed, ["street"], household="home", strata="region")
    with pytest.raises(InputError, match="without a household"):
        local_suppression(people, ["street"], household_keys=["street"])
    with pytest.raises(InputError, match="own-category"):
        local_suppression(people, ["street"], household="home", missing="own-category")


def test_one_household_of_two_hundred_members():
    people = pd.concat([flats(), flats(200, seed=9).iloc[:200].assign(home=10_000, street="a")])
    people = people.reset_index(drop=True).assign(
        size=lambda x: x.groupby("home")["home"].transform("size")
    )
    result = local_suppression(people, ["street", "size", "age", "sex"], k=3, household="home")
    assert result.details["below_after_recovery"] == 0
    assert recover(result.data, household="home", original=people).n_right == 0
