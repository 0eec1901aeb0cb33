"""Suppressed keys match anything: joins and pairings against every pair and every permutation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.attacks.counting.compatible import (
    _hole_patterns,
    compatible_households,
    compatible_rows,
)
from riskeval.attacks.prediction.nearest import NearestKeys

HOLE = 3
CODE = st.integers(0, HOLE)
ROW = st.tuples(CODE, CODE, CODE)
MISSING = np.array([HOLE] * 3, dtype=np.int32)


def as_rows(rows: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def agrees(real: tuple[int, ...], released: tuple[int, ...]) -> bool:
    return all(b in (a, HOLE) for a, b in zip(real, released, strict=True))


def holes(real: tuple[int, ...], released: tuple[int, ...]) -> int:
    return sum(b == HOLE and a != HOLE for a, b in zip(real, released, strict=True))


@settings(max_examples=40, deadline=None)
@given(st.lists(ROW, max_size=6, unique=True), st.lists(ROW, max_size=8, unique=True))
def test_rows_are_those_of_all_pairs(real: list, released: list) -> None:
    expected = set()
    for i, own in enumerate(real):
        fits = [(holes(own, other), j) for j, other in enumerate(released)
                if agrees(own, other) and other != (HOLE,) * 3]  # fmt: skip
        expected |= {(i, j) for count, j in fits if count == min(fits)[0]}
    first, second = compatible_rows(as_rows(real), as_rows(released), MISSING)
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected


HOME = st.lists(ROW, min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(HOME, min_size=1, max_size=3), st.lists(HOME, min_size=1, max_size=4))
def test_households_are_those_of_all_permutations(real: list, released: list) -> None:
    expected = set()
    for i, own in enumerate(real):
        fits = []
        for j, other in enumerate(released):
            if len(own) != len(other) or set(other) == {(HOLE,) * 3}:
                continue
            if any(
                all(agrees(a, b) for a, b in zip(own, order, strict=True))
                for order in permutations(other)
            ):
                count = sum(row.count(HOLE) for row in other) - sum(r.count(HOLE) for r in own)
                fits.append((count, j))
        expected |= {(i, j) for count, j in fits if count == min(fits)[0]}
    sides = [[as_rows(home) for home in side] for side in (real, released)]
    first, second = compatible_households(sides[0], sides[1], MISSING)
    blank = {j for j, home in enumerate(released) if set(home) == {(HOLE,) * 3}}
    pairs = {(i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True) if j not in blank}
    assert pairs == expected


def test_too_many_households_match_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [as_rows([(0, 1, 2)])]
    assert len(compatible_households(homes, homes, MISSING)[0]) == 1
    monkeypatch.setattr("riskeval.attacks.counting.compatible.MOST_PAIRS", 0)
    assert len(compatible_households(homes, homes, MISSING)[0]) == 0


def test_nearest_keys_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(3)
    train = pd.DataFrame({"a": rng.normal(size=60).round(1), "b": rng.choice(["x", "y"], 60)})
    train = train.where(rng.random((60, 2)) < 0.8)
    asked = pd.DataFrame({"a": rng.normal(size=25).round(1), "b": rng.choice(["x", "y", "z"], 25)})
    asked.loc[:3, "a"] = np.nan
    keys = NearestKeys(train, ["a", "b"], ["a"])
    value = keys.values(keys.of(asked), np.arange(60.0))
    spread = np.ptp(train["a"].dropna())
    for i, own in asked.iterrows():
        gaps = []
        for _, other in train.iterrows():
            parts = []
            if pd.notna(own["a"]) and pd.notna(other["a"]):
                parts.append(abs(own["a"] - other["a"]) / spread)
            if pd.notna(other["b"]):
                parts.append(float(own["b"] != other["b"]))
            gaps.append(np.mean(parts) + 1e-9 * (2 - len(parts)) if parts else np.inf)
        nearest = np.flatnonzero(np.array(gaps) <= min(gaps) + 5e-10)
        assert value[i] == nearest[(len(nearest) - 1) // 2]


def test_patterns_of_holes_in_more_keys_than_an_integer_has_bits() -> None:
    for n_keys in (5, 70):
        rows = np.zeros((3, n_keys), dtype=np.int32)
        rows[0, [0, n_keys - 1]] = rows[1, 2] = 9
        patterns = _hole_patterns(rows, np.full(n_keys, 9))
        assert patterns.tolist() == [1 + 2 ** (n_keys - 1), 4, 0]
