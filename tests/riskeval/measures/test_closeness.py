"""Closeness measures against the papers' examples, a transport problem and hand values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from riskeval.kernels import diversity as kernels
from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.delta_presence import delta_presence
from riskeval.measures.t_closeness import t_closeness
from synthpop.microdata.messages.errors import InputError

NAN = float("nan")
TREE = {
    "flu": ("lung", "any"),
    "cough": ("lung", "any"),
    "ulcer": ("stomach", "any"),
    "gastritis": ("stomach", "any"),
}


def transport(p, q, cost):
    """Earth mover's distance as the linear program that defines it."""
    m = len(p)
    rows = [np.kron(np.eye(m)[i], np.ones(m)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(m)[j]) for j in range(m)]
    solved = linprog(cost.ravel(), A_eq=np.array(rows + columns), b_eq=np.concatenate([p, q]))
    return solved.fun


def costs(levels, kind):
    m = len(levels)
    if kind == "equal":
        return 1.0 - np.eye(m)
    if kind == "ordered":
        return abs(np.subtract.outer(np.arange(m), np.arange(m))) / max(m - 1, 1)
    paths = [(level, *kind[level]) for level in levels]
    height = len(paths[0]) - 1
    return np.array(
        [
            [min(h for h in range(height + 1) if a[h:] == b[h:]) / height for a in paths]
            for b in paths
        ]
    )


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(sorted(TREE))), min_size=2, max_size=12
    ),
    kind=st.sampled_from(["equal", "ordered", "tree"]),
)
def test_equals_the_transport_problem(rows, kind):
    data = pd.DataFrame(rows, columns=["k", "s"])
    distance = TREE if kind == "tree" else kind
    found = t_closeness(data, ["k"], "s", distance=distance).per_record["s"]
    levels = sorted(data["s"].unique())
    q = data["s"].value_counts(normalize=True).reindex(levels).to_numpy()
    for k, group in data.groupby("k"):
        p = group["s"].value_counts(normalize=True).reindex(levels, fill_value=0).to_numpy()
        expected = transport(p, q, costs(levels, distance))
        np.testing.assert_allclose(found[data["k"] == k], expected, atol=1e-9)


def test_salaries_of_the_paper():
    """Li et al. (2007): D(P1, Q) = 0.375 and D(P2, Q) = 0.167."""
    salary = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    data = pd.DataFrame({"zip": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": salary})
    result = t_closeness(data, ["zip"], "salary")
    assert result.per_record["salary"][0] == pytest.approx(0.375)
    assert result.per_record["salary"][3] == pytest.approx(1 / 6)
    assert result.t == pytest.approx(0.375)
    assert result.distance == {"salary": "ordered"}
    assert result.violations(0.375) == {"salary": 0}
    assert result.violations(0.2)["salary"] >= 3


def test_default_distance_follows_the_type():
    data = pd.DataFrame(
        {
            "k": [1, 1, 2],
            "text": ["a", "b", "c"],
            "number": [1.5, 2.5, NAN],
            "flag": [True, False, True],
            "grade": pd.Categorical(["lo", "hi", "lo"], categories=["lo", "hi"], ordered=True),
        }
    )
    result = t_closeness(data, ["k"], ["text", "number", "flag", "grade"])
    assert result.distance == {
        "text": "equal",
        "number": "ordered",
        "flag": "equal",
        "grade": "ordered",
    }


def test_missing_sensitive_values_are_left_out():
    data = pd.DataFrame({"k": [1, 1, 1, 2, 2, 3], "s": ["a", "b", None, "a", "b", None]})
    assert t_closeness(data, ["k"], "s").per_record["s"].tolist() == [0] * 6


def test_missing_keys_follow_the_treatment():
    data = pd.DataFrame({"k": [1, 2, NAN], "s": ["a", "b", "a"]})
    wild = t_closeness(data, ["k"], "s", missing="wildcard").per_record["s"]
    own = t_closeness(data, ["k"], "s").per_record["s"]
    # the blank record may be anybody, and nobody's group is like the file because of it
    np.testing.assert_allclose(wild, [1 / 3, 2 / 3, 0], atol=1e-12)
    np.testing.assert_allclose(own, [1 / 3, 2 / 3, 1 / 3])


def test_partly_missing_keys_may_match():
    data = pd.DataFrame({"k": [1, 1, 2], "m": [1, NAN, 1], "s": ["a", "b", "a"]})
    wild = t_closeness(data, ["k", "m"], "s", missing="wildcard").per_record["s"]
    np.testing.assert_allclose(wild, [1 / 6, 1 / 6, 1 / 3])


def test_codes_taken_for_amounts_are_named():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"k": np.arange(200) % 20, "ill": rng.integers(1, 10, 200)})
    found = t_closeness(data, ["k"], "ill")
    assert "ill holds 9 distinct numbers and was taken as an amount" in found.summary()
    assert t_closeness(data, ["k"], "ill", distance="equal").notes == ()
    assert t_closeness(data.astype({"ill": str}), ["k"], "ill").notes == ()
    incomes = data.assign(income=rng.normal(size=200))
    for result in (
        t_closeness(incomes, ["k"], "income", distance="equal"),
        beta_likeness(incomes, ["k"], "income"),
        alpha_k_anonymity(incomes, ["k"], "income", alpha=0.5, k=2),
    ):
        assert "200 distinct numbers of income" in result.summary()


def test_one_distance_a_variable():
    data = pd.DataFrame({"k": [1, 1, 2, 2], "a": [1, 2, 3, 4], "b": [1, 2, 3, 4]})
    result = t_closeness(data, ["k"], ["a", "b"], distance={"b": "equal"})
    assert result.distance == {"a": "ordered", "b": "equal"}
    np.testing.assert_allclose(result.per_record.iloc[0], [1 / 3, 1 / 2])


def test_naming_the_root_changes_nothing():
    data = pd.DataFrame({"k": [1, 1, 2, 2], "s": ["flu", "ulcer", "cough", "gastritis"]})
    without = {value: path[:1] for value, path in TREE.items()}
    named = t_closeness(data, ["k"], "s", distance=TREE)
    unnamed = t_closeness(data, ["k"], "s", distance=without)
    assert named.t == unnamed.t == pytest.approx(0.25 + 0.0)
    assert named.distance == {"s": "hierarchical"}
    lungs = data.replace({"ulcer": "cough", "gastritis": "flu"}).assign(k=[1, 2, 2, 2])
    for tree in (TREE, without):  # the height is that of the tree, not of what occurs
        assert t_closeness(lungs, ["k"], "s", distance=tree).t == pytest.approx(0.25)


def test_kernels_and_their_python_form(monkeypatch):
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"k": rng.integers(0, 4, 40), "s": rng.choice(sorted(TREE), 40)})
    calls = [
        lambda: t_closeness(data, ["k"], "s", distance=TREE).per_record["s"].to_numpy(),
        lambda: t_closeness(data, ["k"], "s", distance="ordered").per_record["s"].to_numpy(),
        lambda: beta_likeness(data, ["k"], "s").gain,
    ]
    fast = [call() for call in calls]
    for name in ("merge_segments", "group_tree_distance", "group_ordered_distance", "group_gain"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    for one, call in zip(fast, calls, strict=True):
        np.testing.assert_allclose(one, call(), atol=1e-14)


ILL = pd.DataFrame({"zip": [1, 1, 2, 2, 2, 3], "ill": ["HIV", "flu", "HIV", "HIV", "cold", "flu"]})


def test_alpha_k_by_hand():
    result = alpha_k_anonymity(ILL, ["zip"], "ill", alpha=0.5, k=2)
    np.testing.assert_allclose(result.share, [0.5, 0.5, 2 / 3, 2 / 3, 2 / 3, 1])
    assert (result.n_rare, result.n_dominated, result.n_violating) == (1, 4, 4)
    assert not result.holds
    watched = alpha_k_anonymity(ILL, ["zip"], "ill", alpha=0.7, k=1, values=["HIV"])
    assert watched.holds
    assert watched.largest_share == pytest.approx(2 / 3)
    assert watched.to_frame()["f"].tolist() == [2, 2, 3, 3, 3, 1]
    assert "The most dominant value of a group has 66.7 %" in watched.summary()
    assert "1 of 6 records are in groups of fewer than 2, and 4 in groups" in result.summary()
    assert "does not hold" in result.summary()


def test_alpha_k_treats_missing_keys_as_asked():
    holed = ILL.assign(zip=[1, NAN, 2, 2, 2, 3])
    wild = alpha_k_anonymity(holed, ["zip"], "ill", alpha=1, k=2, missing="wildcard")
    own = alpha_k_anonymity(holed, ["zip"], "ill", alpha=1, k=2)
    assert (wild.n_rare, own.n_rare) == (0, 3)


def test_beta_by_hand():
    result = beta_likeness(ILL, ["zip"], "ill")
    q = {"HIV": 1 / 2, "flu": 1 / 3, "cold": 1 / 6}
    expected = [
        (1 / 2 - q["flu"]) / q["flu"],
        max((2 / 3 - q["HIV"]) / q["HIV"], (1 / 3 - q["cold"]) / q["cold"]),
        (1 - q["flu"]) / q["flu"],
    ]
    np.testing.assert_allclose(result.gain[[0, 2, 5]], expected)
    assert result.beta == pytest.approx(2.0)
    assert result.violations(1.0) == 1
    # 2 > -log(1/3); 1 < -log(1/6)
    assert not result.enhanced
    assert result.n_above_log == 1
    assert "does not hold" in result.summary()
    same = beta_likeness(ILL.assign(zip=1), ["zip"], "ill")
    assert same.enhanced
    assert same.beta == pytest.approx(0.0)
    holed = ILL.assign(zip=[1, 1, 2, 2, 2, NAN])
    assert beta_likeness(holed, ["zip"], "ill", missing="wildcard").beta < 1.5
    assert beta_likeness(holed, ["zip"], "ill").beta == pytest.approx(2.0)


def test_presence_names_keys_that_nearly_agree():
    everybody = pd.DataFrame({"sex": ["1", "2"], "age": [0.3, 0.5]})
    release = pd.DataFrame({"sex": ["1", "2 "], "age": [0.1 + 0.2, 0.5]})
    result = delta_presence(release, everybody, ["sex", "age"])
    assert result.n_unmatched == 2
    assert "sex: '2 ' nearly equals '2' of the other file" in result.summary()
    assert "nearly equals" in result.notes[1]
    assert delta_presence(everybody, everybody, ["sex", "age"]).notes == ()


def test_presence_by_hand():
    everybody = pd.DataFrame({"a": [1, 1, 1, 2, 2, 3], "b": [1, 1, 2, 2, 2, 3]})
    release = pd.DataFrame({"a": [1, 2, NAN, 9], "b": [1, 2, 2, 9]})
    result = delta_presence(release, everybody, ["a", "b"])
    third = 1 / 3
    np.testing.assert_allclose(result.probability, [0.5, 0.5, third, 0.5 + third, 0.5 + third, 0.0])
    assert (result.delta_min, result.n_unmatched) == (0.0, 1)
    assert "1 record of the release matches nobody" in result.summary()
    assert "0 of 6 persons are certainly in it" in result.summary()
    some = delta_presence(everybody[1:5], everybody, ["a", "b"])
    np.testing.assert_allclose(some.probability, [0.5, 0.5, 1.0, 1.0, 1.0, 0.0])
    assert "3 of 6 persons are certainly in it" in some.summary()
    assert delta_presence(everybody, everybody, ["a"]).delta_min == 1.0


def test_empty_files():
    empty = ILL.iloc[:0]
    assert t_closeness(empty, ["zip"], "ill").t == 0
    assert beta_likeness(empty, ["zip"], "ill").beta == 0
    assert alpha_k_anonymity(empty, ["zip"], "ill", alpha=0.5, k=2).holds
    assert delta_presence(empty, ILL, ["zip"]).delta_max == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: t_closeness(ILL, ["zip"], "ill", distance="far"), "far"),
        (lambda: t_closeness(ILL, ["zip"], "ill", distance={"flu": ("a",)}), "no ancestors"),
        (
            lambda: t_closeness(
                ILL, ["zip"], "ill", distance={"flu": ("a",), "HIV": (), "cold": ("a",)}
            ),
            "different numbers of ancestors",
        ),
        (lambda: alpha_k_anonymity(ILL, ["zip"], "ill", alpha=2, k=2), "alpha"),
        (lambda: alpha_k_anonymity(ILL, ["zip"], "ill", alpha=0.5, k=0), "k: is 0"),
        (
            lambda: alpha_k_anonymity(ILL, ["zip"], "ill", alpha=0.5, k=2, values=["hiv"]),
            "'hiv' does not occur",
        ),
        (lambda: beta_likeness(ILL, ["zip"], "zip"), "is a key and sensitive"),
        (lambda: delta_presence(ILL, ILL[["ill"]], ["zip"]), "key of the population"),
    ],
)
def test_faults(call, message):
    with pytest.raises(InputError, match=message):
        call()
