"""The way out: order, ids, categories, index and attributes tell nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from riskeval.protection.household.file import household_file, merge_household_file
from riskeval.protection.release import release_file, write_release
from riskeval.recovery.recover import recover
from synthpop.microdata.messages.errors import InputError


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    home = np.repeat(np.arange(n), rng.integers(1, 5, n)) + 1000
    region = np.array([*"abcd"])[(home - 1000) * 4 // n]
    frame = pd.DataFrame(
        {
            "home": home,
            "person": np.arange(len(home)) + 70_000,
            "region": pd.Categorical(region, categories=[*"abcd", "secret place"]),
            "age": rng.integers(0, 90, len(home)),
        },
        index=[f"AT{j}" for j in range(len(home))],
    )
    frame.attrs["labels"] = {"region": "where the minister lives"}
    return frame


def test_nothing_of_the_history_is_in_the_file(tmp_path):
    data = people()
    file = release_file(data, household="home", identifiers="person", drop="age")
    assert file.index.tolist() == list(range(len(data)))
    assert file.attrs == {}
    assert file["region"].cat.categories.tolist() == [*"abcd"]
    assert not set(file["home"]) & set(data["home"])
    assert not set(file["person"]) & set(data["person"])
    assert sorted(file.groupby("home").size()) == sorted(data.groupby("home").size())
    assert data.attrs["labels"]
    for name in ("out.parquet", "out.csv"):
        path = write_release(tmp_path / name, data, household="home", identifiers="person")
        written = path.read_bytes()
        for secret in (b"secret place", b"minister", b"AT17", b"70017"):
            assert secret not in written, (name, secret)


def test_orders():
    data = people()
    records = release_file(data, identifiers="person", seed=1)
    assert (records["age"].to_numpy() != data["age"].to_numpy()).any()
    homes = release_file(data, household="home", order="households", seed=1)
    assert (homes["home"].diff() != 0).sum() == data["home"].nunique()  # members side by side
    together = homes.groupby("home", sort=False)["age"].apply(list).tolist()
    before = data.groupby("home", sort=False)["age"].apply(list).tolist()
    assert sorted(together) == sorted(before)
    assert together != before
    members = release_file(data, household="home", seed=1)
    inside = members.groupby("home", sort=False)["age"].apply(list).tolist()
    assert sorted(map(sorted, inside)) == sorted(map(sorted, before))
    assert sorted(inside) != sorted(before)
    kept = release_file(data, order="keep")
    assert kept["age"].tolist() == data["age"].tolist()


def test_without_a_seed_two_releases_differ():
    data = people()
    assert release_file(data)["age"].tolist() != release_file(data)["age"].tolist()
    assert release_file(data, seed=4)["age"].tolist() == release_file(data, seed=4)["age"].tolist()


def test_the_order_of_the_file_tells_no_region_any_more():
    data = people()[["region", "age"]]
    hidden = data.assign(region=data["region"].mask(np.arange(len(data)) % 50 == 7))
    assert recover(hidden, rules=["order"], original=data).n_filled > 0
    file = release_file(hidden.assign(true=data["region"].astype(str).to_numpy()))
    assert recover(file.drop(columns="true"), rules=["order"]).n_filled == 0


def test_faults():
    with pytest.raises(InputError, match="'hom'"):
        release_file(people(), household="hom")
    with pytest.raises(InputError, match="without a household"):
        release_file(people(), order="households")
    with pytest.raises(InputError, match="'sorted'"):
        release_file(people(), order="sorted")


def test_a_household_file_goes_out_and_comes_back():
    data = people().assign(rooms=lambda x: x["home"] % 7)
    table = household_file(data, "home")
    assert list(table) == ["home", "region", "rooms"]
    assert len(table) == data["home"].nunique()
    noisy = protect.rank_swap(table, ["rooms"], p=0.2, seed=1)
    back = merge_household_file(data, noisy, "home")
    assert back.data.groupby("home")["rooms"].nunique().max() == 1
    expected = data["home"].map(noisy.data.set_index("home")["rooms"])
    assert back.data["rooms"].tolist() == expected.tolist()
    assert back.cells_changed == int((expected != data["rooms"]).sum())
    with pytest.raises(InputError, match="differs within a household"):
        household_file(data, "home", variables=["age"])
    with pytest.raises(InputError, match="are not in the household file"):
        merge_household_file(data, table.iloc[1:], "home")
    with pytest.raises(InputError, match="twice"):
        merge_household_file(data, pd.concat([table, table.iloc[:1]]), "home")


def test_a_value_that_only_the_second_member_has_is_taken():
    data = pd.DataFrame({"home": [1, 1, 2], "rooms": [np.nan, 3.0, 5.0]})
    assert household_file(data, "home", variables="rooms")["rooms"].tolist() == [3.0, 5.0]


def test_merged_household_values_keep_the_type_of_their_column():
    levels = ["low", "mid", "high"]
    people = pd.DataFrame(
        {
            "home": [1, 1, 2],
            "rent": pd.Categorical(["low", "low", "high"], levels, ordered=True),
            "rooms": pd.Series([3, 3, 5], dtype="int32"),
        }
    )
    table = household_file(people, "home").assign(rent=["mid", "high"], rooms=[4, 4])
    merged = merge_household_file(people, table.astype(object), "home").data
    assert merged["rent"].dtype == pd.CategoricalDtype(["mid", "high"], ordered=True)
    assert merged["rent"].tolist() == ["mid", "mid", "high"]
    assert merged["rooms"].dtype == people["rooms"].dtype
    grouped = merge_household_file(people, table.assign(rent=["any", "any"]), "home").data
    assert grouped["rent"].tolist() == ["any"] * 3
