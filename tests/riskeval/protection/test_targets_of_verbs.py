"""Targets of verbs that make groups: by naive counts, brute force over nodes, and an attack."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.protection.result import Protected
from synthpop.microdata.messages.errors import InputError
from tests.riskeval.protection.test_targets import KEYS, naive_fails, people

TARGETS = [("distinct_l: s", 3), ("entropy_l: s", 2.0), ("t: s", 0.2), ("beta: s", 1.5), ("k", 8)]
LEVELS = {"a": [{"0": "low", "1": "low", "2": "2"}, "*"], "b": ["*"], "c": ["*"]}

Verb = Callable[..., Protected]


def generalised(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.minimal_generalization(frame, LEVELS, k=2, **options)


def recoded(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.local_recoding(frame, KEYS, k=2, hierarchies={"a": LEVELS["a"]}, **options)


def cut(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.mondrian(frame, KEYS, k=2, **options)


def grouped(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.microaggregate(frame, KEYS, k=2, method="gower", seed=1, **options)


VERBS = [generalised, recoded, cut, grouped]


def fails(frame: pd.DataFrame, name: str, limit: float) -> int:
    """Records that fail where missing is a value of its own."""
    shown = frame.assign(**{key: frame[key].astype(object).fillna("-") for key in KEYS})
    if name.startswith("beta"):
        return beta_likeness(shown, KEYS, "s").violations(limit)
    return len(naive_fails(shown, KEYS, name, limit))


@pytest.mark.parametrize(("name", "limit"), TARGETS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_target_holds_by_a_naive_count(verb: Verb, name: str, limit: float) -> None:
    frame = people(60, 1)
    result, plain = verb(frame, targets={name: limit}), verb(frame)
    assert fails(plain.data, name, limit) > 0
    assert fails(result.data, name, limit) == 0
    assert result.details["targets"] == {name: 0}
    assert result.parameters["targets"] == {name: limit}
    assert result.unmet == ()
    assert f"(before: {fails(frame, name, limit)} did not)" in result.summary()


@pytest.mark.parametrize("limit_of_records", [0, 6])
@pytest.mark.parametrize(("name", "limit"), TARGETS)
def test_the_nodes_are_those_that_a_trial_of_all_finds(
    name: str, limit: float, limit_of_records: int
) -> None:
    frame = people(60, 2)
    columns = {key: [frame[key]] for key in KEYS}
    for key in KEYS:
        for level in LEVELS[key]:
            new = columns[key][-1].map(level) if isinstance(level, dict) else frame[key] * 0 + "*"
            columns[key].append(new)
    good = set()
    for node in product(range(3), range(2), range(2)):
        released = frame.assign(**{key: columns[key][h] for key, h in zip(KEYS, node, strict=True)})
        sizes = released.groupby(KEYS)["s"].transform("size")
        lost = set(np.flatnonzero(sizes < 2))
        if name.startswith("beta"):
            lost |= set(np.flatnonzero(beta_likeness(released, KEYS, "s").gain > limit + 1e-9))
        else:
            lost |= set(naive_fails(released, KEYS, name, limit))
        if len(lost) <= limit_of_records:
            good.add(node)
    minimal = [
        node
        for node in sorted(good)
        if not any((*node[:j], node[j] - 1, *node[j + 1 :]) in good for j in range(3))
    ]
    result = generalised(frame, targets={name: limit}, suppression_limit=limit_of_records)
    assert [tuple(node.values()) for node in result.details["minimal_nodes"]] == minimal


@pytest.mark.parametrize("verb", VERBS)
def test_targets_out_of_reach_and_unreadable_ones_are_named(verb: Verb) -> None:
    for targets, said in (({"distinct_l: s": 9}, "no key is released"), ({"m: s": 2}, "is none")):
        with pytest.raises(InputError, match="1 fault") as caught:
            verb(people(30, 1), targets=targets)
        assert said in str(caught.value)


@pytest.mark.parametrize("verb", [generalised, recoded, cut])
def test_a_household_counts_once(verb: Verb) -> None:
    frame = people(80, 3).assign(hid=np.repeat(np.arange(40), 2))
    result = verb(frame, targets={"distinct_l: s": 2}, household="hid")
    assert result.unmet == ()
    released = result.data
    for _, part in released.groupby(KEYS, dropna=False, observed=True):
        holes = part[KEYS].isna().any(axis=None)
        assert holes or min(part["s"].nunique(), part["hid"].nunique()) >= 2


def test_groups_of_amounts_hold_a_target_where_members_share_them() -> None:
    frame = people(80, 3).assign(hid=np.repeat(np.arange(40), 2))
    frame["income"] = np.repeat(np.random.default_rng(1).lognormal(9, 1, 40), 2)
    target = {"distinct_l: s": 3}
    asked = {"k": 2, "household": "hid"}
    plain = protect.microaggregate(frame, ["income"], **asked)
    assert plain.data.groupby("income")["s"].nunique().min() < 3
    result = protect.microaggregate(frame, ["income"], targets=target, **asked)
    assert result.data.groupby("income")["s"].nunique().min() >= 3
    assert result.unmet == ()


def test_methods_without_groups_of_all_variables_refuse_targets() -> None:
    frame = people(30, 1).assign(x=1.0, hid=range(30))
    for options, said in (
        ({"method": "individual"}, "need groups of all variables"),
        ({"household": "hid", "household_keys": ["x"]}, "not for household_keys"),
    ):
        with pytest.raises(InputError, match=said):
            protect.microaggregate(frame, ["x"], targets={"distinct_l: s": 2}, **options)


def test_a_target_that_another_column_undoes_is_said_first() -> None:
    """The name of the town tells what local recoding hid."""
    frame = pd.DataFrame({"town": [*"aaaabbbbcccc"] * 4, "ill": [*"xyxyxyxyzzzz"] * 4})
    frame["name"] = "town of " + frame["town"]
    result = protect.local_recoding(frame, ["town"], targets={"distinct_l: ill": 2})
    assert result.summary().startswith("Target missed: ")
    assert result.details["targets"]["distinct_l: ill"] > 0
    alone = protect.local_recoding(
        frame.drop(columns="name"), ["town"], targets={"distinct_l: ill": 2}
    )
    assert alone.unmet == ()
