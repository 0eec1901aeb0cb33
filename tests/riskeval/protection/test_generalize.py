"""Minimal generalisation against an exhaustive search and the published tables; Mondrian."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval import ProtectionSession
from riskeval.protection.generalise import generalization_lattice, minimal_generalization
from riskeval.protection.mondrian import mondrian
from synthpop.microdata.messages.errors import GuaranteeError, InputError
from tests.reference_data import survey_data


def lattice_of_the_paper():
    """Sex and zip code with the counts behind Table 2 of the global-risk paper.

    The paper prints the minimal nodes for each threshold, the counts of Figure 3 are in a picture;
    the thresholds leave 10, 7, 4, 4, 3 and 0 records below k for (S0,Z0), (S1,Z0), (S0,Z1),
    (S1,Z1), (S0,Z2) and (S1,Z2). This file has them for k = 4.
    """
    rows = [("M", "10a")] * 4 + [("F", "10a")] + [("M", "10b")] * 4 + [("F", "10b")]
    rows += [("M", "10c")] * 4 + [("F", "10c")] + [("F", "10d")] * 3
    rows += [("F", "20a"), ("F", "20b"), ("F", "21a"), ("M", "21a")] + [("M", "22a")] * 4
    frame = pd.DataFrame(rows, columns=["sex", "zip"])
    zips = frame["zip"].unique()
    levels = {
        "sex": [{"M": "person", "F": "person"}],
        "zip": [{z: z[:2] for z in zips}, {z[:2]: z[0] for z in zips}],
    }
    return frame, levels


def test_figure_3_counts():
    frame, levels = lattice_of_the_paper()
    table = generalization_lattice(frame, levels, k=4).set_index(["sex", "zip"])["below_k"]
    assert table.to_dict() == {
        (0, 0): 10,
        (1, 0): 7,
        (0, 1): 4,
        (1, 1): 4,
        (0, 2): 3,
        (1, 2): 0,
    }


@pytest.mark.parametrize(
    ("limits", "nodes"),
    [
        ((0, 1, 2), {(1, 2)}),
        ((3,), {(0, 2)}),
        ((4, 5, 6), {(0, 1)}),
        ((7, 8, 9), {(1, 0), (0, 1)}),
        ((10, 11), {(0, 0)}),
    ],
)
def test_table_2_of_the_global_risk_paper(limits, nodes):
    frame, levels = lattice_of_the_paper()
    for limit in limits:
        result = minimal_generalization(frame, levels, k=4, suppression_limit=limit)
        assert {(n["sex"], n["zip"]) for n in result.details["minimal_nodes"]} == nodes
        assert result.details["suppressed"] <= limit
        released = result.data.dropna(subset=["sex", "zip"])
        sizes = released.groupby(["sex", "zip"], observed=True).size()
        assert len(frame) - len(released) == result.details["suppressed"]
        assert len(sizes) == 0 or sizes.min() >= 4


@settings(max_examples=20, deadline=None)
@given(
    cells=st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=4, max_size=25),
    k=st.integers(1, 4),
    limit=st.integers(0, 4),
)
def test_all_minimal_nodes_by_exhaustive_search(cells, k, limit):
    frame = pd.DataFrame(cells, columns=[*"abc"])
    steps = [{0: 0, 1: 0, 2: 1, 3: 1}, "*"]
    levels = {"a": steps, "b": steps, "c": ["*"]}
    values = [[lambda x: x, lambda x: x // 2, lambda x: "*"]] * 2 + [[lambda x: x, lambda x: "*"]]
    good = {}
    for node in product(range(3), range(3), range(2)):
        rows = [tuple(values[j][h](row[j]) for j, h in enumerate(node)) for row in cells]
        good[node] = sum(rows.count(row) < k for row in rows) <= limit
    expected = {
        node
        for node, fine in good.items()
        if fine
        and not any(
            good[other]
            for other in good
            if other != node and all(x <= y for x, y in zip(other, node, strict=True))
        )
    }
    result = minimal_generalization(frame, levels, k=k, suppression_limit=limit)
    found = {tuple(node.values()) for node in result.details["minimal_nodes"]}
    assert found == expected
    assert tuple(result.details["node"].values()) in expected
    assert result.details["counted"] <= 3 * 3 * 2 + 3 * 3 + 3 * 2 * 2 + 3 + 3 + 2 + 1


def test_table_form_missing_values_and_types():
    frame = pd.DataFrame(
        {"age": pd.array([1, 2, 3, None], dtype="Int64"), "sex": [*"mmmm"], "z": [1, 2, 3, 4]},
        index=[3, 1, 2, 0],
    )
    table = pd.DataFrame({"age": [1, 2, 3], "class": ["1-2", "1-2", "3"], "all": ["any"] * 3})
    result = minimal_generalization(frame, {"age": table, "sex": ["*"]}, k=1)
    assert result.cells_changed == 0
    assert result.data["age"].dtype == frame["age"].dtype
    two = minimal_generalization(frame, {"age": table, "sex": ["*"]}, k=3, suppression_limit=1)
    assert two.details["node"] == {"age": 2, "sex": 0}
    assert two.data["age"].isna().tolist() == [False, False, False, True]
    assert two.data["sex"].isna().sum() == 1
    assert two.data["z"].tolist() == frame["z"].tolist()
    assert two.data.index.tolist() == frame.index.tolist()
    star = minimal_generalization(frame[["age"]], {"age": [*_steps(table), "*"]}, k=4)
    assert star.data["age"].tolist() == ["*"] * 4


def _steps(table):
    columns = list(table)
    return [dict(zip(table[a], table[b], strict=True)) for a, b in pairwise(columns)]


def test_numbers_of_a_level_may_be_text():
    frame = pd.DataFrame({"x": [1, 2, 3, 4]})
    result = minimal_generalization(frame, {"x": [{"1": "a", "2": "a", "3": "b", "4": "b"}]}, k=2)
    assert result.data["x"].tolist() == [*"aabb"]


def test_a_node_can_be_asked_for():
    frame, levels = lattice_of_the_paper()
    result = minimal_generalization(
        frame, levels, k=4, suppression_limit=7, node={"sex": 1, "zip": 0}
    )
    assert result.data["sex"].dropna().unique().tolist() == ["person"]
    with pytest.raises(GuaranteeError, match="leaves 10 records"):
        minimal_generalization(frame, levels, k=4, node={"sex": 0, "zip": 0})


@pytest.mark.parametrize(
    ("levels", "options", "text"),
    [
        ({}, {"k": 2}, "no column"),
        ({"s": ["*"]}, {"k": 2}, "not in the data"),
        ({"a": [{"x": "u"}]}, {"k": 2}, "says nothing about"),
        ({"a": ["all"]}, {"k": 2}, "Give a mapping"),
        ({"a": ["*"]}, {"k": 0}, "at least 1"),
        ({"a": ["*"]}, {"k": 2, "suppression_limit": -1}, "at least 0"),
        (
            {"a": pd.DataFrame({"v": [*"xyz"], "p": [*"uuw"], "q": [*"ghh"]})},
            {"k": 2},
            "splits",
        ),
        ({"a": pd.DataFrame({"v": [*"xxyz"], "p": [*"uvww"]})}, {"k": 2}, "occurs twice"),
    ],
)
def test_every_fault_is_named(levels, options, text):
    with pytest.raises(InputError, match=text):
        minimal_generalization(pd.DataFrame({"a": [*"xyz"]}), levels, **options)


def test_a_lattice_without_solution_says_so():
    with pytest.raises(GuaranteeError, match="top of the lattice leaves 3"):
        minimal_generalization(pd.DataFrame({"a": [1, 2, 3]}), {"a": [{1: 1, 2: 2, 3: 3}]}, k=2)


@settings(max_examples=20, deadline=None)
@given(
    cells=st.lists(
        st.tuples(st.integers(0, 9), st.one_of(st.none(), st.sampled_from("abcd"))),
        min_size=5,
        max_size=60,
    ),
    k=st.integers(1, 5),
)
def test_mondrian_regions_have_k_records_and_contain_their_values(cells, k):
    frame = pd.DataFrame(cells, columns=["x", "c"])
    result = mondrian(frame, ["x", "c"], k=k)
    released = result.data
    assert released.groupby(["x", "c"], dropna=False, observed=True).size().min() >= k
    region = result.details["region"]
    for r in range(result.details["n_regions"]):
        mine, after = frame[region == r], released[region == r]
        assert after["x"].nunique(dropna=False) == 1
        if mine["x"].nunique() > 1:
            assert after["x"].iloc[0] == f"{mine['x'].min()}-{mine['x'].max()}"
        text = after["c"].iloc[0]
        present = sorted(mine["c"].dropna().unique())
        if not present:
            assert pd.isna(text)
        else:
            assert str(text).removesuffix(" or missing").split(", ") == present
            assert str(text).endswith(" or missing") == bool(mine["c"].isna().any())
        # no allowable cut is left: no median of an axis leaves k records on both sides
        for column in (mine["x"], mine["c"].map({None: -1, "a": 0, "b": 1, "c": 2, "d": 3})):
            ordered = np.sort(column.fillna(-1).to_numpy(float))
            middle = ordered[(len(ordered) - 1) // 2]
            for low in ((ordered <= middle).sum(), (ordered < middle).sum()):
                assert not k <= low <= len(ordered) - k


def test_mondrian_uses_orders_and_leaves_other_columns():
    people = survey_data("testdata")
    result = mondrian(people, ["urbrur", "sex", "age"], k=10)
    assert result.details["n_regions"] > 100
    assert result.data.drop(columns=["urbrur", "sex", "age"]).equals(
        people.drop(columns=["urbrur", "sex", "age"])
    )
    ordered = pd.Categorical([*"lmhh"], categories=[*"lmh"], ordered=True)
    small = mondrian(pd.DataFrame({"o": ordered, "one": 1}), ["o", "one"], k=2)
    assert small.data["o"].tolist() == ["l - m", "l - m", "h", "h"]
    assert small.data["one"].dtype == np.int64
    fine = mondrian(pd.DataFrame({"o": ordered}), ["o"], k=1)
    assert fine.cells_changed == 0
    assert fine.data["o"].dtype == ordered.dtype


@pytest.mark.parametrize(
    ("keys", "k", "text"),
    [
        (["q"], 1, "not in the data"),
        (["a"], 0, "at least 1"),
        (["a"], 9, "has 3 records"),
        ([], 1, "no key is given"),
    ],
)
def test_mondrian_names_every_fault(keys, k, text):
    with pytest.raises(InputError, match=text):
        mondrian(pd.DataFrame({"a": [1, 2, 3]}), keys, k=k)


class TestHouseholds:
    def families(self) -> pd.DataFrame:
        return pd.DataFrame(
            {"h": [1, 1, 1, 2, 3, 4, 4, 5], "zip": [*"aaabbbcc"], "sex": [*"mmmfmfmf"]}
        )

    def test_k_counts_households(self) -> None:
        levels = {"zip": [{"a": "x", "b": "x", "c": "x"}]}
        plain = minimal_generalization(self.families(), levels, k=2)
        assert plain.details["node"] == {"zip": 0}  # three members of one household
        result = minimal_generalization(self.families(), levels, k=2, household="h")
        assert result.details["node"] == {"zip": 1}
        assert "at least 2 households" in result.summary()

    def test_all_members_lose_their_keys(self) -> None:
        levels = {"zip": ["*"]}
        result = minimal_generalization(
            self.families(), levels, k=2, suppression_limit=3, household="h"
        )
        assert result.details["node"] == {"zip": 0}
        assert result.data["zip"].isna().tolist() == [True] * 3 + [False] * 5
        # with two left in b and c; the sex of 4 is rare there, and 4 leaves both groups small
        many = minimal_generalization(
            self.families(), {"zip": ["*"], "sex": ["*"]}, k=2, suppression_limit=8,
            household="h", node={"zip": 0, "sex": 0},
        )  # fmt: skip
        assert many.details["suppressed"] == 8

    def test_a_session_fills_in_the_household(self) -> None:
        session = ProtectionSession(self.families(), keys=["zip"], household="h")
        result = session.minimal_generalization(hierarchies={"zip": ["*"]}, k=2)
        assert result.parameters["household"] == "h"

    def test_missing_household(self) -> None:
        frame = self.families().assign(h=[1, 1, None, 2, 3, 4, 4, 5])
        with pytest.raises(InputError, match="the household is missing"):
            minimal_generalization(frame, {"zip": ["*"]}, k=2, household="h")


def test_what_other_columns_tell_of_suppressed_records_is_stated():
    zones = np.repeat(np.arange(8), 30)
    people = pd.DataFrame({"zone": zones, "region": np.array([*"abcdefgh"])[zones]})
    people["sex"] = np.where(np.arange(len(people)) % 2, "f", "m")
    people.loc[[7, 100], "sex"] = "x"
    people = people.sample(frac=1, random_state=1, ignore_index=True)
    levels = {"region": ["*"], "sex": ["*"]}
    kept = {"region": 0, "sex": 0}
    result = minimal_generalization(people, levels, k=3, suppression_limit=4, node=kept)
    assert result.details["suppressed"] == 2
    assert result.details["recovery"].n_right == 2  # the region, by its zone
    assert "But 2 of 4 missing values can be read back (zone)" in result.summary()
    told = minimal_generalization(
        people.drop(columns="zone"), levels, k=3, suppression_limit=4, node=kept
    )
    assert "read back" not in told.summary()


def test_a_node_is_passed_over_when_what_it_suppresses_is_read_back():
    zones = np.repeat(np.arange(8), 30)
    people = pd.DataFrame({"zone": zones, "region": np.array([*"abcdefgh"])[zones]})
    people["sex"] = np.where(np.arange(240) % 2, "f", "m")
    people.loc[[7, *range(30, 60)], "sex"] = "x"  # in a one person, in b all of them
    people["title"] = people["sex"].map({"f": "Ms", "m": "Mr", "x": "Mx"})
    people = people.sample(frac=1, random_state=1, ignore_index=True)
    levels = {"region": ["*"], "sex": ["*"]}
    options = {"k": 3, "suppression_limit": 1}
    hidden = minimal_generalization(people[["region", "sex"]], levels, **options)
    assert hidden.details["node"] == {"region": 0, "sex": 0}
    result = minimal_generalization(people, levels, **options)
    assert result.details["node"] == {"region": 0, "sex": 1}
    assert result.details["suppressed"] == 0
    assert "1 node of higher precision would leave records below 3" in result.summary()
    asked = minimal_generalization(people, levels, **options, node={"region": 0, "sex": 0})
    assert "and then 1 record matches fewer than 3" in asked.summary()


class TestWholeHouseholds:
    def families(self) -> pd.DataFrame:
        """Pairs of m and f in six households; a household of two m, two of two f."""
        sexes = ["mf"] * 6 + ["mm"] + ["ff"] * 2
        return pd.DataFrame({"h": np.repeat(np.arange(9), 2), "sex": [*"".join(sexes)]})

    def test_households_are_counted_by_all_their_members(self) -> None:
        levels = {"sex": ["*"]}
        plain = minimal_generalization(self.families(), levels, k=3, household="h")
        assert plain.details["node"] == {"sex": 0}  # each sex lives in seven households and more
        whole = minimal_generalization(
            self.families(), levels, k=3, household="h", household_keys=["sex"]
        )
        assert whole.details["node"] == {"sex": 1}
        some = minimal_generalization(
            self.families(), levels, k=3, household="h", household_keys=["sex"],
            suppression_limit=6,
        )  # fmt: skip
        assert some.details["node"] == {"sex": 0}
        assert some.data["h"][some.data["sex"].isna()].unique().tolist() == [6, 7, 8]

    def test_faults(self) -> None:
        with pytest.raises(InputError, match="without a household"):
            minimal_generalization(self.families(), {"sex": ["*"]}, k=2, household_keys=["sex"])
        with pytest.raises(InputError, match="household_keys"):
            minimal_generalization(
                self.families(), {"sex": ["*"]}, k=2, household="h", household_keys=["age"]
            )
