"""Record swapping: the invariants of the reference, rates as asked for; new identifiers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels.swap_records import pair_up
from riskeval.protection.identifiers import create_new_id
from riskeval.protection.record_swap import record_swap
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden

GEO = ["nuts1", "nuts2"]


def swap(people, *, k=3, rate=0.05, seed=1, **options):
    options = {"similar": ["hsize"], "risk_keys": ["ageGroup", "national"], **options}
    return record_swap(people, household="hid", hierarchy=GEO, k=k, rate=rate, seed=seed, **options)


def check_invariants(people, result, similar=("hsize",)):
    before = people.groupby("hid").first()
    after = result.data.groupby("hid").first()
    others = [name for name in people if name not in GEO]
    pd.testing.assert_frame_equal(people[others], result.data[others])
    assert result.data.groupby("hid")[GEO].nunique().max().max() == 1
    swaps = result.details["swaps"].set_index("household")
    partner = swaps["partner"]
    assert (partner.loc[partner].to_numpy() == partner.index).all()  # mutual
    for name in GEO:
        assert (after.loc[partner.index, name].to_numpy() == before.loc[partner, name]).all()
        kept = after.index.difference(partner.index)
        assert (after.loc[kept, name] == before.loc[kept, name]).all()
    for name in similar:
        assert (before.loc[partner.index, name].to_numpy() == before.loc[partner, name]).all()
        count = [f.groupby([*GEO, name]).size() for f in (before, after)]
        pd.testing.assert_series_equal(*count)
    for level in GEO:
        at = partner[swaps["level"] == level]
        moved = before.loc[at.index, GEO[: GEO.index(level) + 1]].to_numpy()
        assert (moved != before.loc[at, GEO[: GEO.index(level) + 1]].to_numpy()).any(axis=1).all()
    assert len(partner) == result.details["swapped_households"]


def naive_must(people, k, keys=("ageGroup", "national")):
    """Households with a member whose risk keys fewer than k persons of an area have."""
    worst = {}
    for level in range(len(GEO)):
        cells = people.groupby([*GEO[: level + 1], *keys]).size()
        for row in people.itertuples():
            where = tuple(getattr(row, name) for name in [*GEO[: level + 1], *keys])
            if cells[where] < k:
                worst.setdefault(row.hid, GEO[level])
    return worst


@pytest.mark.parametrize("case", range(4))
def test_cases_of_the_reference(case):
    reference = golden("sdc", "i5_recordswap.json")["results"][case]
    people = golden("sdc", "data_recordswap.parquet")
    k, rate = reference["k_anonymity"], reference["swaprate"]
    worst = naive_must(people, k)
    for seed in (1, 2):
        result = swap(people, k=k, rate=rate, seed=seed)
        check_invariants(people, result)
        assert result.details["must_swap"] == len(worst)
        assert result.details["without_partner"] == []
        swaps = result.details["swaps"].set_index("household")
        assert set(worst) <= set(swaps.index)
        assert (swaps["must"] == swaps.index.isin(list(worst))).all()
        assert len(worst) == reference["runs"][0]["n_must_swap_households"]
        n, wanted = result.details["swapped_households"], rate * 1000
        if wanted >= 2 * len(worst):
            assert n == wanted  # the reference swaps up to 10 more
        else:
            assert max(wanted, len(worst)) <= n <= max(wanted, 2 * len(worst))


def test_a_must_swap_leaves_the_area_of_its_level():
    people = golden("sdc", "data_recordswap.parquet")
    worst = naive_must(people, 3)
    result = swap(people)
    before = people.groupby("hid").first()
    after = result.data.groupby("hid").first()
    for hid, level in worst.items():
        names = GEO[: GEO.index(level) + 1]
        assert tuple(before.loc[hid, names]) != tuple(after.loc[hid, names])


def test_rate_spreads_over_areas_and_seed_names_the_draw():
    people = golden("sdc", "data_recordswap.parquet")
    result = swap(people, k=0, rate=0.2, seed=3)
    assert result.data.equals(swap(people, k=0, rate=0.2, seed=3).data)
    assert not result.data.equals(swap(people, k=0, rate=0.2, seed=4).data)
    households = people.groupby("hid").first()
    swapped = households.loc[result.details["swaps"]["household"]]
    shares = swapped.groupby("nuts2").size() / households.groupby("nuts2").size()
    assert shares.between(0.1, 0.32).all()
    assert swap(people, k=0, rate=0.0).cells_changed == 0


def test_high_risk_households_go_first():
    people = golden("sdc", "data_recordswap.parquet")
    counts = people.groupby([*GEO, "ageGroup", "national"])["hid"].transform("size")
    lowest = counts.groupby(people["hid"]).min()
    swapped = swap(people, k=0, rate=0.2).details["swaps"]["household"]
    assert lowest.loc[swapped].median() < 0.7 * lowest.median()


def test_profiles_are_tried_in_order_and_nobody_is_forced():
    people = pd.DataFrame(
        {
            "hid": [1, 2, 3, 4],
            "nuts1": [1, 1, 2, 2],
            "nuts2": [11, 11, 21, 21],
            "hsize": [1, 2, 1, 3],
            "type": [*"abca"],
            "age": [1, 2, 9, 9],
        }
    )
    one = swap(people, k=2, rate=0, similar=[["hsize", "type"]], risk_keys=["age"])
    assert one.cells_changed == 0
    assert one.details["without_partner"] == [1, 2]
    two = swap(people, k=2, rate=0, similar=[["hsize", "type"], ["hsize"]], risk_keys=["age"])
    assert two.details["swaps"]["partner"].tolist() == [3, 1]
    assert two.details["without_partner"] == [2]
    assert "1 of them found no similar" in two.summary()


def test_carried_columns_move_and_text_ids_with_scattered_members_work():
    people = pd.DataFrame(
        {
            "hid": [*"abab"],
            "nuts1": ["x", "y", "x", "y"],
            "nuts2": [1, 2, 1, 2],
            "hsize": 2,
            "grid": pd.Categorical([*"qrqr"]),
            "age": [1, 2, 3, 4],
        },
        index=[9, 8, 7, 6],
    )
    result = swap(people, k=0, rate=1.0, risk_keys=["age"], carry_along=["grid"])
    assert result.data["nuts1"].tolist() == ["y", "x", "y", "x"]
    assert result.data["grid"].tolist() == [*"rqrq"]
    assert result.data["grid"].dtype == people["grid"].dtype
    assert result.data.index.tolist() == [9, 8, 7, 6]
    plain = swap(people, k=0, rate=1.0, risk_keys=["age"])
    assert plain.data["grid"].tolist() == [*"qrqr"]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), k=st.integers(0, 5), rate=st.floats(0, 1))
def test_invariants_on_random_files(seed, k, rate):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 40)
    hid = np.repeat(np.arange(40), sizes)
    nuts2 = rng.integers(0, 5, 40)
    people = pd.DataFrame(
        {
            "hid": hid,
            "nuts1": (nuts2 // 2)[hid],
            "nuts2": nuts2[hid],
            "hsize": sizes[hid],
            "ageGroup": rng.integers(0, 4, len(hid)),
            "national": rng.integers(0, 2, len(hid)),
        }
    )
    result = swap(people, k=k, rate=rate, seed=seed)
    check_invariants(people, result)
    must = result.details["must_swap"]
    assert must == len(naive_must(people, k))
    assert result.details["swapped_households"] <= max(round(rate * 40) + 1, 2 * must)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rate": 2}, "between 0 and 1"),
        ({"k": -1}, "of at least 0"),
        ({"similar": []}, "names no column"),
        ({"similar": ["age"]}, r"differs within a household in 1 household \(hid 1\)"),
        ({"similar": ["nuts1"]}, "is swapped and also"),
        ({"risk_keys": ["agee"]}, "Did you mean 'age'"),
        ({"carry_along": ["age"]}, "differs within a household"),
    ],
)
def test_every_fault_is_named(options, text):
    people = pd.DataFrame(
        {
            "hid": [1, 1, 2],
            "nuts1": [1, 1, 2],
            "nuts2": [1, 1, 2],
            "hsize": [2, 2, 1],
            "age": [1, 2, 3],
        }
    )
    with pytest.raises(InputError, match=text):
        swap(people, **{"risk_keys": ["age"], **options})
    people.loc[0, "nuts1"] = None
    with pytest.raises(InputError, match="area is missing"):
        swap(people, risk_keys=["age"])


def naive_pairs(starters, area, profile, priority, quota, budget):
    """Each starter takes the free household of its profile elsewhere with the highest priority."""
    partner = [-1] * len(area)
    for i in starters:
        if partner[i] >= 0 or quota[area[i]] <= 0 or budget <= 0:
            continue
        options = [
            j
            for j in range(len(area))
            if partner[j] < 0 and profile[j] == profile[i] and area[j] != area[i]
        ]
        if options:
            j = max(options, key=lambda j: priority[j])
            partner[i], partner[j] = j, i
            quota[area[i]] -= 1
            budget -= 1
    return partner


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["compiled", "plain"])
def test_pairing_kernel_is_the_naive_rule(seed, form):
    rng = np.random.default_rng(seed)
    n = 60
    area, profile = rng.integers(0, 4, n), rng.integers(0, 3, n)
    area[profile == 2] = 1  # a profile that lives in one area only
    priority = rng.random(n)
    starters = rng.permutation(n)[:35]
    quota, budget = rng.integers(0, 6, 4), 12
    members = np.lexsort((-priority, profile))
    first = np.searchsorted(profile[members], np.arange(4))
    pair = profile * 4 + area
    partner = np.full(n, -1)
    kernel = pair_up if form == "compiled" else pair_up.py_func
    expected = naive_pairs(starters, area, profile, priority, quota.copy(), budget)
    kernel(
        starters,
        area,
        profile,
        members,
        first,
        pair,
        np.bincount(pair, minlength=12),
        np.bincount(profile, minlength=3),
        quota,
        np.array([budget]),
        partner,
    )
    assert partner.tolist() == expected
    assert (partner >= 0).any()


def test_new_identifiers():
    frame = pd.DataFrame(
        {"hid": ["b", "a", "b", None], "pid": [7, 9, 5, 7], "mother": [9, None, 7, 3]},
        index=[*"wxyz"],
    )
    new = create_new_id(frame, "hid", seed=1)
    assert new.data["hid"].isna().tolist() == [False, False, False, True]
    assert new.data["hid"]["w"] == new.data["hid"]["y"] != new.data["hid"]["x"]
    assert sorted(new.data["hid"].dropna().unique()) == [1, 2]
    linked = create_new_id(frame, "pid", also=["mother"], seed=2).data
    assert linked["mother"]["w"] == linked["pid"]["x"]
    assert linked["mother"]["y"] == linked["pid"]["w"]
    assert pd.isna(linked["mother"]["z"])
    assert linked["pid"].dtype == np.int64
    inside = create_new_id(frame, "pid", within="hid", seed=3).data
    assert sorted(inside["pid"][["w", "y"]]) == [1, 2]
    assert inside["pid"][["x", "z"]].tolist() == [1, 1]


def test_new_identifiers_depend_on_the_seed_only():
    frame = pd.DataFrame({"id": np.repeat(np.arange(50), 2)})
    a, b = create_new_id(frame, "id", seed=1), create_new_id(frame, "id", seed=1)
    assert a.data.equals(b.data)
    assert not a.data.equals(create_new_id(frame, "id", seed=2).data)
    assert sorted(a.data["id"].unique()) == list(range(1, 51))
    assert abs(np.corrcoef(a.data["id"], frame["id"])[0, 1]) < 0.4
    with pytest.raises(InputError, match="name a column twice"):
        create_new_id(frame, "id", within="id")
    with pytest.raises(InputError, match="not in the data"):
        create_new_id(frame, "idd")


def test_a_name_beside_a_list_is_a_profile_of_its_own():
    """Before: the list was dropped and households of different size were swapped."""
    from riskeval.protection.record_swap import _profiles

    assert _profiles([["size"], "own"]) == [["size"], ["own"]]
    assert _profiles(["size", "own"]) == [["size", "own"]]
    assert _profiles("size") == [["size"]]


class TestOwnRisk:
    def families(self, n: int = 80) -> pd.DataFrame:
        rng = np.random.default_rng(4)
        home = np.repeat(np.arange(n), 2)
        return pd.DataFrame(
            {
                "hid": home,
                "nuts1": (home % 2).astype(str),
                "nuts2": (home % 4).astype(str),
                "hsize": 2,
                "tenure": rng.choice(["own", "rent"], n)[home],
                "ageGroup": rng.integers(0, 3, 2 * n),
                "national": 1,
            }
        )

    def test_the_risk_of_the_user_decides_who_is_swapped(self) -> None:
        people = self.families()
        risk = np.zeros((160, 2))
        risk[[10, 41], 0] = 0.9  # members of households 5 and 20
        risk[100, 1] = 0.4
        result = swap(people, k=3, rate=0, risk=risk, risk_threshold=0.5)
        must = result.details["swaps"].query("must")
        assert set(must["household"]) | set(must["partner"]) >= {5, 20}
        assert result.details["must_swap"] == 2
        assert set(must["level"]) == {"nuts1"}
        check_invariants(people, result)
        more = swap(people, k=0, rate=0, risk=risk, risk_threshold=0.3)
        assert more.details["must_swap"] == 3
        plain = swap(people, k=3, rate=0)
        by_count = swap(people, k=3, rate=0, risk=risk)  # k still counts
        assert plain.details["must_swap"] == by_count.details["must_swap"]

    def test_risky_households_come_first(self) -> None:
        people = self.families()
        risk = np.where(people["hid"] < 8, 1.0, 0.001)
        swapped = [
            set(swap(people, k=0, rate=0.1, risk=risk, seed=seed).details["swaps"]["household"])
            for seed in range(10)
        ]
        share = np.mean([len(homes & set(range(8))) / len(homes) for homes in swapped])
        assert share > 0.7

    def test_household_keys_count_households_by_their_make_up(self) -> None:
        people = self.families()
        result = swap(people, k=3, rate=0, household_keys=["tenure"])
        homes = people.groupby("hid").agg(
            nuts1=("nuts1", "first"), nuts2=("nuts2", "first"), tenure=("tenure", "first"),
            ages=("ageGroup", lambda ages: tuple(sorted(ages))),
        )  # fmt: skip
        rare = np.zeros(len(homes), dtype=bool)
        for area in (["nuts1"], ["nuts1", "nuts2"]):
            rare |= homes.groupby([*area, "tenure", "ages"])["ages"].transform("size") < 3
        assert result.details["must_swap"] >= rare.sum() > 0
        assert set(homes.index[rare]) <= set(result.details["swaps"]["household"]) | set(
            result.details["without_partner"]
        )
        assert swap(people, k=3, rate=0).details["must_swap"] < result.details["must_swap"]

    def test_faults(self) -> None:
        people = self.families()
        for more, text in (
            ({"risk": np.zeros((3, 2))}, "has the shape"),
            ({"risk": np.full(160, 2.0)}, "not a number from 0 to 1"),
            ({"risk_threshold": 0.5}, "without risk"),
            ({"risk": np.zeros(160), "risk_threshold": 5}, "risk_threshold: is 5"),
            ({"household_keys": ["ageGroup"]}, "differs within a household"),
        ):
            with pytest.raises(InputError, match=text):
                swap(people, **more)
