"""Targets of protection: against naive counts, brute force, the public measures, and an attack."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from riskeval.measures.individual import individual_risk
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.t_closeness import t_closeness
from riskeval.protection.suppression.suppress import local_suppression
from riskeval.protection.targets import Constraints, read_targets
from synthpop import load_demo_survey
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.roles.microdata import as_file

KEYS = ["a", "b", "c"]


def people(n: int, seed: int, levels: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({key: rng.integers(0, levels, n).astype(str) for key in KEYS})
    return frame.assign(s=rng.choice(list("xyz"), n, p=[0.6, 0.3, 0.1]), w=rng.integers(1, 9, n))


Rows = list[list[str | None]]  # keys of each record; None is a hole


def rows_of(frame: pd.DataFrame, keys: list[str]) -> Rows:
    return frame[keys].astype(object).where(frame[keys].notna(), None).to_numpy().tolist()


def groups(rows: Rows, *, visible: bool) -> list[list[int]]:
    """Records that each record matches: on what it shows, or with holes that match anything."""
    found = []
    for mine in rows:
        same = []
        for h, other in enumerate(rows):
            pairs = list(zip(mine, other, strict=True))
            if visible and any(a is not None and b is None for a, b in pairs):
                continue
            both = [a == b for a, b in pairs if a is not None and b is not None]
            if all(both) and (both or all(a is None for a in mine)):
                same.append(h)
        found.append(same)
    return found


def naive_fails(frame: pd.DataFrame, keys: list[str], name: str, limit: float) -> list[int]:
    return fails_of(rows_of(frame, keys), frame["s"].tolist(), name, limit)


def fails_of(rows: Rows, values: list[str], name: str, limit: float) -> list[int]:
    visible, kind = name.startswith("visible "), name.removeprefix("visible ").split(":")[0]
    whole, fails = Counter(values), []
    for i, same in enumerate(groups(rows, visible=visible)):
        counts = Counter(values[h] for h in same)
        shares = [counts[value] / len(same) for value in whole]
        if kind == "k":
            fine = len(same) >= limit
        elif kind == "distinct_l":
            fine = len(counts) >= limit
        elif kind == "entropy_l":
            fine = np.exp(-sum(share * np.log(share) for share in shares if share)) >= limit - 1e-9
        else:
            apart = [counts[x] / len(same) - whole[x] / len(values) for x in whole]
            fine = sum(map(abs, apart)) / 2 <= limit + 1e-9
        if not fine:
            fails.append(i)
    return fails


TARGETS = [
    ("distinct_l: s", 2), ("visible distinct_l: s", 2), ("entropy_l: s", 1.6),
    ("visible entropy_l: s", 1.5), ("t: s", 0.35), ("visible t: s", 0.4), ("visible k", 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "limit"), TARGETS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_target_holds_by_a_naive_count(name: str, limit: float, seed: int) -> None:
    frame = people(40, seed)
    result = local_suppression(frame, KEYS, k=2, targets={name: limit})
    before = naive_fails(frame, KEYS, name, limit)
    assert before
    assert naive_fails(result.data, KEYS, name, limit) == []
    assert result.details["targets"] == {name: 0}
    assert result.unmet == ()
    assert f"(before: {len(before)} did not)" in result.summary()
    plain = local_suppression(frame, KEYS, k=2)
    price = result.cells_suppressed - plain.cells_suppressed
    assert result.details["cells_for_targets"] == price > 0
    assert result.parameters["targets"] == {name: limit}


@pytest.mark.parametrize(("name", "limit"), [*TARGETS[:6], ("visible k", 2)])
def test_few_more_cells_than_the_fewest_that_do(name: str, limit: float) -> None:
    """On files so small that every set of cells can be tried."""
    ours = fewest = 0
    for seed in range(6):
        frame = people(5, seed, levels=2)
        if naive_fails(frame.assign(a=None, b=None), ["a", "b"], name, limit):
            with pytest.raises(InputError, match="fails even when no key is released"):
                local_suppression(frame, ["a", "b"], k=1, targets={name: limit})
            continue
        result = local_suppression(frame, ["a", "b"], k=1, targets={name: limit})
        rows, values = rows_of(frame, ["a", "b"]), frame["s"].tolist()
        least = next(
            size
            for size in range(11)
            for chosen in combinations(product(range(5), range(2)), size)
            if not fails_of(hidden(rows, chosen), values, name, limit)
        )
        ours, fewest = ours + result.cells_suppressed, fewest + least
    assert fewest <= ours <= 1.35 * fewest + 1


def hidden(rows: Rows, cells: tuple[tuple[int, int], ...]) -> Rows:
    return [
        [None if (i, j) in cells else value for j, value in enumerate(row)]
        for i, row in enumerate(rows)
    ]


def test_the_public_measures_see_targets_of_several_kinds_together() -> None:
    frame = people(120, 3, levels=4)
    result = local_suppression(
        frame, KEYS, k=3, weights="w",
        targets={"distinct_l: s": 2, "t: s": 0.3, "individual_risk": 0.08},
    )  # fmt: skip
    diverse = l_diversity(result.data, KEYS, "s", missing="wildcard")
    assert diverse.violations(2) == {"s": 0}
    close = t_closeness(result.data, KEYS, "s", missing="wildcard")
    assert close.per_record["s"].max() <= 0.3 + 1e-9
    assert individual_risk(result.data, KEYS, weights="w").risk.max() <= 0.08 + 1e-9
    assert result.unmet == ()
    unweighted = local_suppression(frame, KEYS, k=1, targets={"individual_risk": 0.25})
    same = groups(rows_of(unweighted.data, KEYS), visible=False)
    assert min(map(len, same)) >= 4


def test_targets_hold_within_strata_and_by_importance() -> None:
    frame = people(90, 4)
    target = {"visible distinct_l: s": 2}
    result = local_suppression(
        frame, ["a", "b"], k=2, strata="c", targets=target, importance=[1, 2]
    )
    for _, part in result.data.groupby("c"):
        assert naive_fails(part, ["a", "b"], "visible distinct_l: s", 2) == []
    lost = result.details["suppressed"].sum()
    assert lost["b"] > lost["a"]


def test_targets_hold_after_an_attack_through_households() -> None:
    frame = load_demo_survey().frame.iloc[:400].reset_index(drop=True)
    keys, target = ["hsize", "db040", "rb090", "pb190"], {"visible k": 2}
    asked = {"k": 3, "household": "db030", "weights": "rb050"}
    result = local_suppression(frame, keys, targets=target, **asked)
    cells = result.details["recovery"].cells
    known = result.data.copy()
    for row, name in cells.loc[cells["right"], ["row", "column"]].itertuples(index=False):
        known.loc[row, name] = frame.loc[row, name]
    alone = [len(same) < 2 for same in groups(rows_of(known, keys), visible=True)]
    assert sum(alone) == result.details["targets"]["visible k"]
    assert bool(result.unmet) == (sum(alone) + result.details["below_after_recovery"] > 0)
    plain = local_suppression(frame, keys, **asked)
    assert sum(len(same) < 2 for same in groups(rows_of(plain.data, keys), visible=True)) > sum(
        alone
    )


def test_a_missed_target_is_said_first() -> None:
    """The number of rows of a household tells its size: nothing can hide that."""
    home = np.append(np.repeat(np.arange(30), 2), [30, 30, 30, *range(31, 60)])
    frame = pd.DataFrame({"home": home}).assign(size=np.bincount(home)[home])
    result = local_suppression(frame, ["size"], k=4, household="home", targets={"visible k": 4})
    assert result.details["targets"] == {"visible k": 3}
    assert result.summary().startswith("Target missed: 3 of the records match fewer than 4.")
    assert "Target missed: 3 of 92 records fail visible k at least 4." in result.summary()
    assert "every record holds" not in result.summary()


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ({"distinct": 2}, "'distinct' is none"), ({"distinct_l": 2}, "'distinct_l: column'"),
        ({"k: s": 2}, "Write it as 'k'"), ({"t: s": 2}, "t: s"),
        ({"t: absent": 0.2}, "absent"),
        ({"distinct_l: a": 2}, "'a' is a key too"),
        ({"distinct_l: s": 9}, "fails even when no key is released"),
        ({"individual_risk": 0.001}, "fails even when no key is released"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_read_or_met_are_named(targets: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match="local_suppression: 1 fault") as caught:
        local_suppression(people(30, 1), KEYS, targets=targets)
    assert said in str(caught.value)


def test_a_household_counts_once_in_diversity_and_closeness() -> None:
    """Eight records with two values in each key, but each value is that of one household."""
    frame = pd.DataFrame({"a": list("xxxxyyyy"), "hid": [1, 1, 1, 2, 3, 4, 5, 6]})
    frame["s"] = list("fgfggfgf")
    file = as_file(frame, Faults("test"), keys=["a"])
    alone = as_file(frame, Faults("test"), keys=["a"], household="hid")
    codes = file.coded(["a"]).codes
    for name, limit in (("distinct_l: s", 3), ("entropy_l: s", 1.95)):
        target = read_targets(Faults("test"), file, ["a"], {name: limit})
        persons, homes = (Constraints(one, target).any_failing(codes) for one in (file, alone))
        expected = l_diversity(frame, ["a"], "s", household="hid", missing="wildcard").per_record
        kind = "distinct" if "distinct" in name else "entropy"
        assert homes.tolist() == (expected[f"s_{kind}"] < limit).tolist()
        if kind == "entropy":
            assert homes.tolist() != persons.tolist()
