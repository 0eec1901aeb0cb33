"""Local suppression: the guarantee under a naive count, cells against the reference, options."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.measures.frequencies import frequency_counts
from riskeval.measures.individual import individual_risk
from riskeval.protection.group_categories import group_categories
from riskeval.protection.recode import global_recode
from riskeval.protection.suppress import local_suppression
from riskeval.protection.suppress_codes import TREATMENTS, SuppressRequest, count_matches
from riskeval.protection.suppress_risky import suppress_risky
from synthpop.microdata.frame.codes import encode_keys
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

FIVE = ["urbrur", "water", "sex", "age", "relat"]


def naive_counts(frame, keys, missing="wildcard", alpha=1.0, strata=None):
    """Count by comparing every record with every other, value by value."""
    rows = [[None if pd.isna(v) else v for v in row] for row in frame[list(keys)].values.tolist()]
    group = [0] * len(rows) if strata is None else frame[strata].astype(str).tolist()
    shares = {}
    for g in set(group):
        mine = [row for row, own in zip(rows, group, strict=True) if own == g]
        for j in range(len(keys)):
            for row in mine:
                shares[g, j, row[j]] = sum(other[j] == row[j] for other in mine) / len(mine)
    f = []
    for i, a in enumerate(rows):
        total = 0.0
        for h, b in enumerate(rows):
            if group[i] != group[h]:
                continue
            if a == b:
                total += 1
                continue
            if missing == "own-category":
                continue
            if not all(x == y or x is None or y is None for x, y in zip(a, b, strict=True)):
                continue
            if None not in b:
                total += 1
            elif missing == "wildcard":
                total += alpha
            elif missing == "conservative":
                total += None in a
            elif missing == "category-size":
                total += np.prod(
                    [
                        shares[group[i], j, x]
                        for j, (x, y) in enumerate(zip(a, b, strict=True))
                        if y is None and x is not None
                    ]
                )
        f.append(total)
    return np.array(f)


def fast_counts(frame, keys, missing="wildcard", alpha=1.0, strata=None):
    request = SuppressRequest(1, missing, alpha, np.zeros(len(keys)), np.ones(len(keys)))
    groups = np.zeros(len(frame), dtype=np.int64)
    if strata is not None:
        groups = pd.factorize(frame[strata].astype(str))[0].astype(np.int64)
    return count_matches(encode_keys(frame, list(keys)).codes, groups, request)


@st.composite
def files(draw):
    m = draw(st.integers(1, 4))
    n = draw(st.integers(6, 24))
    cell = st.one_of(st.none(), st.integers(0, 3))
    columns = {f"k{j}": draw(st.lists(cell, min_size=n, max_size=n)) for j in range(m)}
    frame = pd.DataFrame(
        {name: pd.array(values, dtype="Int64") for name, values in columns.items()}
    )
    return frame.assign(g=[i % 2 for i in range(n)])


@pytest.mark.parametrize(
    ("missing", "alpha"),
    [*((name, 1.0) for name in TREATMENTS), ("wildcard", 0.5), ("wildcard", 0.0)],
)
@settings(max_examples=6, deadline=None)
@given(frame=files(), k=st.integers(1, 3), by=st.booleans())
def test_no_violation_is_left_under_a_naive_count(missing, alpha, frame, k, by):
    keys = [name for name in frame if name != "g"]
    strata = "g" if by else None
    before = frame.copy()
    result = local_suppression(frame, keys, k=k, strata=strata, missing=missing, alpha=alpha)
    pd.testing.assert_frame_equal(frame, before)
    f = naive_counts(result.data, keys, missing, alpha, strata)
    assert (f >= k - 1e-9).all()
    np.testing.assert_allclose(f, fast_counts(result.data, keys, missing, alpha, strata))
    if not by:
        measured = frequency_counts(result.data, keys, missing=missing, alpha=alpha)
        np.testing.assert_allclose(f, measured.f)
    started = naive_counts(frame, keys, missing, alpha, strata)
    assert result.details["risky_before"] == (started < k - 1e-9).sum()
    for key in keys:  # only suppressions, nothing filled or changed
        kept = result.data[key].notna()
        assert (frame.loc[kept, key] == result.data.loc[kept, key]).all()
    if (started >= k).all():
        assert result.cells_changed == 0
    if missing == "wildcard" and alpha == 1.0:
        hidden = result.details["suppressed"]
        assert (started[hidden.any(axis=1).to_numpy()] < k).all()
        for i, j in np.argwhere(hidden.to_numpy()):  # no value could be given back
            back = result.data.copy()
            back.iloc[i, back.columns.get_loc(keys[j])] = frame[keys[j]].iloc[i]
            assert fast_counts(back, keys, strata=strata).min() < k


def _cases():
    names = ["h_kanon_counts.json", "h_kanon_counts_eusilc6.json"]
    return [case for name in names for case in golden("sdc", name)["results"]]


def _input(case):
    name = case["data"].removesuffix(".parquet")
    frame = golden("sdc", case["data"]) if name.startswith("data_") else survey_data(name)
    if "age2" in case["keyVars"]:
        frame = global_recode(frame, "age", breaks=[-2, *range(4, 80, 5), 120]).data
        frame = frame.rename(columns={"age": "age2"})
    return frame


def test_never_more_cells_than_the_reference_on_any_of_its_inputs():
    for case in _cases():
        frame, keys, strata = _input(case), case["keyVars"], case.get("strata")
        alpha, k = case.get("alpha", 1), case["k"]
        subsets = dict(zip(case["combs"], k, strict=True)) if case.get("combs") else None
        result = local_suppression(
            frame,
            keys,
            k=3 if subsets else k,
            subsets=subsets,
            strata=strata,
            alpha=alpha,
            importance=case.get("importance_given"),
        )
        limit = case.get("total_new", 1)  # the reference stops on one input, whose optimum is 1
        assert result.cells_suppressed <= limit, case["id"]
        for size, wanted in (subsets or {len(keys): k}).items():
            for subset in combinations(keys, size):
                f = fast_counts(result.data, subset, alpha=alpha, strata=strata)
                if not strata:
                    measured = frequency_counts(result.data, subset, alpha=alpha)
                    np.testing.assert_allclose(f, measured.f)
                assert f.min() >= wanted - 1e-9, case["id"]


def _book_age(last):
    people = survey_data("testdata")
    people["age"] = people["age"].where(people["age"] > 0)  # the reference loses age 0
    people = global_recode(
        people,
        "age",
        breaks=[0, 9, 19, 29, 39, 49, 59, 69, 79, 130],
        labels=["1", "10", "20", "30", "40", "50", "60", "70", "80"],
    ).data
    groups = {9: {}, 7: {"60-": ["60", "70", "80"]}, 8: {"70-": ["70", "80"]}}[last]
    return group_categories(people, "age", groups=groups).data


@pytest.mark.parametrize(
    ("classes", "case", "most"),
    [(7, "kAnon3_on_60_130", 118), (8, "kAnon3_on_70_130", 183), (9, "kAnon3_on_9classes", 187)],
)
def test_the_recoded_example_of_the_book(classes, case, most):
    reference = golden("sdc", "i9_recode_book_chain.json")["book_chain"][case]
    people = _book_age(classes)
    result = local_suppression(people, FIVE, k=3)
    assert result.cells_suppressed <= min(most, sum(reference["new_suppressions"].values()))
    f = naive_counts(result.data.drop_duplicates(FIVE), FIVE)  # compares distinct keys only
    assert len(f) < 1500
    assert fast_counts(result.data, FIVE).min() >= 3


def test_importance_moves_suppressions_to_the_least_important_keys():
    reference = golden("sdc", "i9_recode_book_chain.json")["book_chain"]["kAnon3_importance54321"]
    people = _book_age(7)
    ranked = local_suppression(people, FIVE, k=3, importance=[5, 4, 3, 2, 1])
    cells = ranked.changes.set_index("column")["cells"]
    assert ranked.cells_suppressed <= sum(reference["new_suppressions"].values())
    assert cells["urbrur"] + cells["water"] > 0.75 * cells.sum()
    by_name = local_suppression(
        people, FIVE, k=3, importance=dict(zip(FIVE, range(1, 6), strict=True))
    )
    reverse = by_name.changes.set_index("column")["cells"]
    assert reverse["relat"] > cells["relat"]
    assert reverse["urbrur"] < cells["urbrur"]
    counts = ranked.data[FIVE]
    assert fast_counts(counts, FIVE).min() >= 3


def test_subsets_of_the_book():
    reference = golden("sdc", "i9_recode_book_chain.json")["book_chain"][
        "kAnon_combs_4to2_k5_10_20"
    ]
    people = _book_age(7)
    wanted = {4: 5, 3: 10, 2: 20}
    result = local_suppression(people, FIVE, subsets=wanted)
    assert result.cells_suppressed <= sum(reference["new_suppressions"].values())
    for size, k in wanted.items():
        for subset in combinations(FIVE, size):
            assert fast_counts(result.data, subset).min() >= k


def test_sizes_of_subsets_may_be_text():
    frame = pd.DataFrame(np.random.default_rng(3).integers(0, 4, (60, 3)), columns=[*"abc"])
    text = local_suppression(frame, [*"abc"], subsets={"2": 9})
    assert text.data.equals(local_suppression(frame, [*"abc"], subsets={2: 9}).data)
    assert not text.data.equals(local_suppression(frame, [*"abc"], subsets={2: 3}).data)


@pytest.mark.parametrize("missing", TREATMENTS)
def test_subsets_hold_at_the_end_under_every_treatment(missing):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 4, (60, 3)), columns=[*"abc"])
    result = local_suppression(frame, [*"abc"], subsets={1: 5, 3: 2}, missing=missing)
    assert naive_counts(result.data, [*"abc"], missing).min() >= 2 - 1e-9
    for key in "abc":
        assert naive_counts(result.data, [key], missing).min() >= 5 - 1e-9


@pytest.mark.parametrize(
    ("missing", "cells"),
    [("wildcard", 1), ("conservative", 1), ("category-size", 1), ("own-category", 3)],
)
def test_table_of_the_book(missing, cells):
    toy = pd.DataFrame({"r": ["A"] * 5, "s": ["single", "married", "married", "single", "widow"]})
    result = local_suppression(toy, ["r", "s"], k=2, missing=missing)
    assert result.cells_suppressed == cells
    assert result.data["r"].notna().all()


def test_linked_columns_follow_their_key_and_other_columns_stay():
    frame = pd.DataFrame(
        {"a": [1, 1, 2, 1], "b": [*"xxyx"], "a_label": [*"ooto"], "z": [1.0, 2.0, np.nan, 4.0]},
        index=[4, 8, 2, 0],
    )
    result = local_suppression(frame, ["a", "b"], k=2, linked={"a": "a_label"})
    assert result.data["a_label"].isna().tolist() == result.data["a"].isna().tolist()
    pd.testing.assert_series_equal(result.data["z"], frame["z"])
    assert result.data.index.tolist() == frame.index.tolist()
    both = local_suppression(frame, ["a"], k=2, linked={"a": ["a_label"]})
    assert both.data["a_label"].isna().tolist() == [False, False, True, False]
    assert both.cells_suppressed == 2
    assert str(both.data["a"].dtype) == "Int64"


def test_linked_columns_count_as_cells_when_a_key_is_chosen():
    frame = pd.DataFrame({"a": [1, 1, 2, 2, 2], "b": [2, 2, 1, 1, 2], "c": [2, 2, 1, 1, 2]})
    free = local_suppression(frame, ["a", "b"], k=2)
    dear = local_suppression(frame, ["a", "b"], k=2, linked={"b": ["c"]})
    assert free.data["b"].isna().sum() == 1
    assert dear.data["b"].notna().all()
    assert dear.cells_suppressed == 1


def test_missing_strata_are_a_stratum_and_small_strata_are_named():
    frame = pd.DataFrame({"a": [1, 2, 1, 2], "s": ["x", "x", None, None]})
    result = local_suppression(frame, ["a"], k=2, strata="s")
    filled = result.data.fillna({"s": "none"})
    assert naive_counts(filled, ["a"], strata="s").min() >= 2
    assert result.cells_suppressed == 2
    with pytest.raises(InputError, match="fewer than 3 records"):
        local_suppression(frame, ["a"], k=3, strata="s")


@pytest.mark.parametrize(
    ("keys", "options", "text"),
    [
        (["a"], {"k": 0}, "at least 1"),
        (["a"], {"k": 9}, "fewer than 9"),
        (["A"], {}, "There are: a, b, s"),
        (["a", "a"], {}, "named twice"),
        ([], {}, "no key is given"),
        (["a"], {"missing": "odd"}, "not allowed"),
        (["a"], {"alpha": 2}, "between 0 and 1"),
        (["a"], {"alpha": 0.5, "missing": "conservative"}, "no meaning"),
        (["a", "b"], {"importance": [1]}, "one rank"),
        (["a", "b"], {"importance": {"a": 1}}, "has no rank"),
        (["a"], {"subsets": {2: 3}}, "of 1 key"),
        (["a"], {"linked": {"b": "s"}}, "not a key"),
        (["a", "b"], {"linked": {"a": "b"}}, "is a key"),
        (["a"], {"strata": "a"}, "a key and a stratum"),
    ],
)
def test_every_fault_is_named(keys, options, text):
    frame = pd.DataFrame({"a": [1, 2, 1], "b": [1, 1, 1], "s": [1, 1, 1]})
    with pytest.raises(InputError, match=text):
        local_suppression(frame, keys, **options)


def test_an_empty_key_and_a_single_pattern():
    frame = pd.DataFrame({"a": [None, None, None], "b": ["x", "x", "y"]}, dtype="object")
    result = local_suppression(frame, ["a", "b"], k=3)
    assert naive_counts(result.data, ["a", "b"]).min() >= 3


def test_suppression_of_risky_records_of_the_book():
    chain = golden("sdc", "i9_recode_book_chain.json")["book_chain"]
    people = _book_age(7)
    f = fast_counts(people, FIVE)
    p = f / (100.0 * f)
    risk = np.where(f == 1, p / (1 - p) * np.log(1 / p), np.where(f == 2, 0.01, 0.001))
    for threshold, case in ((0.05, "localSupp_urbrur_0.05"), (0.02, "localSupp_urbrur_0.02")):
        result = suppress_risky(people, "urbrur", risk=risk, threshold=threshold)
        assert result.cells_suppressed == chain[case]["n_suppressed"]
        after = fast_counts(result.data, FIVE)
        assert (after < 2).sum() == chain[case]["viol2"]
        assert (after < 3).sum() == chain[case]["viol3"]


def test_suppress_risky_is_strict_and_checks_its_input():
    frame = pd.DataFrame({"a": pd.Categorical([*"xyz"], categories=[*"zyx"])})
    result = suppress_risky(frame, "a", risk=pd.Series([0.1, 0.2, 0.3]), threshold=0.2)
    assert result.data["a"].isna().tolist() == [False, False, True]
    assert result.data["a"].cat.categories.tolist() == [*"yx"]
    for risk, text in (([0.1], "1 value for 3"), ([0.1, None, 0.2], "missing")):
        with pytest.raises(InputError, match=text):
            suppress_risky(frame, "a", risk=risk, threshold=0.1)
    with pytest.raises(InputError, match="Give a number"):
        suppress_risky(frame, "a", risk=[1, 1, 1], threshold=None)


def test_many_keys_leave_room_in_the_hash_table():
    """Ten keys of a small file have more pairs of masks than records."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 3, (60, 10))).rename(columns=str)
    frame = frame.astype("Int64").mask(rng.random((60, 10)) < 0.2)
    result = local_suppression(frame, list(frame), k=4)
    assert naive_counts(result.data, list(frame)).min() >= 4


def test_a_seventieth_pattern_of_missing_keys_does_not_stop_the_search():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 6, (300, 7))).rename(columns=str)
    result = local_suppression(frame, list(frame), k=5)
    assert fast_counts(result.data, list(frame)).min() >= 5
    assert len(result.data.isna().drop_duplicates()) > 20


def test_kernel_and_its_plain_form_agree(monkeypatch):
    from riskeval.kernels import suppression_cells, suppression_greedy

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 5, (40, 3)), columns=[*"abc"])
    compiled = local_suppression(frame, [*"abc"], k=3).data
    for module in (suppression_cells, suppression_greedy):
        for name in dir(module):
            plain = getattr(getattr(module, name), "py_func", None)
            if plain is not None:
                monkeypatch.setattr(module, name, plain)
    with np.errstate(over="ignore"):  # hash words wrap around
        pd.testing.assert_frame_equal(local_suppression(frame, [*"abc"], k=3).data, compiled)


def test_suppress_risky_works_through_several_keys_by_importance():
    rng = np.random.default_rng(3)
    home = np.repeat(np.arange(300), 2)
    frame = pd.DataFrame(
        {
            "home": home,
            "region": rng.choice([*"abcdef"], 300, p=[0.4, 0.3, 0.2, 0.06, 0.03, 0.01])[home],
            "age": rng.integers(0, 9, 600),
            "sex": rng.choice([*"fm"], 600),
            "w": 20.0,
        }
    )
    keys = ["region", "age", "sex"]
    first = individual_risk(frame, keys, weights="w").risk
    result = suppress_risky(
        frame, keys, threshold=0.02, importance={"region": 2, "age": 3, "sex": 1}, weights="w"
    )
    after = individual_risk(result.data, keys, weights="w").risk
    assert result.details["above"] == (first > 0.02).sum() > 0
    assert result.details["still_above"] == (after > 0.02).sum() < result.details["above"]
    hidden = result.data[keys].isna()
    assert (hidden["age"] == (first > 0.02)).all()
    assert hidden["region"].sum() < hidden["age"].sum()
    other = suppress_risky(frame, keys, threshold=0.02, weights="w")
    assert other.data["sex"].isna().sum() >= other.data["age"].isna().sum()
    members = suppress_risky(
        frame, keys, threshold=0.02, importance=[3, 2, 1], weights="w", household="home"
    )
    shares = members.data["region"].isna().groupby(frame["home"]).mean()
    assert set(shares.unique()) <= {0.0, 1.0}
    assert members.details["recovery"].n_right == 0
    alone = suppress_risky(frame, "region", risk=first, threshold=0.02)
    assert alone.details["recovery"].n_right > 0
    assert "can be read back" in alone.summary()
    with pytest.raises(InputError, match="is for one column"):
        suppress_risky(frame, keys, risk=first, threshold=0.02)


def test_suppress_risky_hides_more_where_the_rest_of_the_file_tells_the_value():
    """District tells region: hiding region alone leaves the risk as it was."""
    rng = np.random.default_rng(3)
    district = rng.choice(6, 400, p=[0.3, 0.3, 0.2, 0.15, 0.04, 0.01])
    people = pd.DataFrame(
        {
            "age": rng.integers(0, 6, 400).astype(str),
            "region": pd.Series(district).map(str),
            "district": district + 100,
            "w": 20.0,
        }
    )
    asked = {"threshold": 0.02, "weights": "w"}
    keys = ["age", "region"]
    result = suppress_risky(people, keys, **asked)
    assert result.data.loc[result.data["region"].isna(), "age"].isna().any()
    recovery = result.details["recovery"]
    assert recovery.n_right > 0
    known = result.data.copy()  # with what the intruder reads back
    for row in recovery.cells[recovery.cells["right"]].itertuples():
        known.loc[row.row, row.column] = people.loc[row.row, row.column]
    above = individual_risk(known, keys, weights="w").risk > 0.02
    assert result.details["still_above"] == above.sum() < result.details["above"]
    assert "after recoverable values are filled in" in result.summary()
    alone = suppress_risky(people.drop(columns="district"), keys, **asked)
    assert alone.cells_suppressed < result.cells_suppressed
    assert "filled in" not in alone.summary()


def test_suppression_does_not_depend_on_the_room_for_new_patterns(monkeypatch):
    """Needless values came back only while there was room: a third more cells were lost."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(0, 10, (120, 5))).rename(columns=str)
    roomy = local_suppression(frame, list(frame), k=3)
    monkeypatch.setattr("riskeval.protection.suppress_codes.MOST_ROOM", 1)
    pd.testing.assert_frame_equal(local_suppression(frame, list(frame), k=3).data, roomy.data)
