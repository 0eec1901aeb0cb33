"""Evenly spread uniform numbers: each is uniform, each group is balanced, order is random."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.conditional.draw import FEWEST, systematic_uniforms
from synthpop.kernels.spreading import GOLDEN, count_groups, join_groups, spread_uniforms


def joined(counts: list[int]) -> list[int]:
    """Run of each group: a run ends where it has enough persons, the last takes up the rest."""
    run, inside, found = 0, 0, []
    for count in counts:
        found.append(run)
        inside += count
        if inside >= FEWEST:
            run, inside = run + 1, 0
    return [min(number, max(run - 1, 0)) for number in found]


def naive(groups: np.ndarray, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """Persons of a run in random order; a person in place k has frac(shift + k golden)."""
    groups = np.array(joined(np.bincount(groups, minlength=n_groups).tolist()))[groups]
    uniforms, shift = rng.random(len(groups)), rng.random()
    waiting, k = {}, 0
    for g in range(n_groups):
        size = int((groups == g).sum())
        waiting[g] = list(range(k, k + size))
        k += size
    out = []
    for g, u in zip(groups.tolist(), uniforms, strict=True):
        left = waiting[g]
        at = int(u * len(left))
        left[at], left[0] = left[0], left[at]
        out.append((shift + left.pop(0) * (np.sqrt(5) - 1) / 2) % 1)
    return np.array(out)


@pytest.mark.parametrize("n", [0, 1, 2, 500])
def test_equals_the_naive_version(n: int) -> None:
    groups = np.random.default_rng(n).integers(0, 9, n) // 2 * 2  # odd groups are empty
    found = systematic_uniforms(groups, 10, np.random.default_rng(3))
    assert found == pytest.approx(naive(groups, 10, np.random.default_rng(3)), abs=1e-12)


def test_compiled_and_plain_forms_agree() -> None:
    rng = np.random.default_rng(1)
    groups, uniforms = np.repeat([0, 2, 1], 20).astype(np.int32), rng.random(60)
    out = []
    for form in (spread_uniforms, spread_uniforms.py_func):
        out.append(np.empty(60))
        form(groups, np.arange(3), np.array([0, 20, 40]), 0.25, uniforms, out[-1])
    assert np.array_equal(*out)
    assert pytest.approx((np.sqrt(5) - 1) / 2) == GOLDEN


def test_groups_are_counted() -> None:
    groups = np.array([3, 0, 3, 3], dtype=np.int32)
    for form in (count_groups, count_groups.py_func):
        found = np.zeros(5, dtype=np.int64)
        form(groups, found)
        assert found.tolist() == np.bincount(groups, minlength=5).tolist()


@pytest.mark.parametrize("counts", [[], [3], [0, 25, 0], [20, 20, 1], [5, 5, 5, 5, 5], [1] * 70])
def test_small_groups_are_joined_with_their_neighbours(counts: list[int]) -> None:
    for form in (join_groups, join_groups.py_func):
        found = np.full(len(counts), -1)
        form(np.array(counts, dtype=np.int64), FEWEST, found)
        assert found.tolist() == joined(counts)
        persons = np.bincount(found, weights=counts)
        assert len(persons) < 2 or persons.min() >= FEWEST


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_draws_of_two_variables_in_the_same_groups_are_independent(size: int) -> None:
    groups, found = np.repeat(np.arange(6_000 // size), size), []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        first, second = (systematic_uniforms(groups, len(groups), rng) < 0.5 for _ in range(2))
        found.append(np.corrcoef(first, second)[0, 1])
    assert np.std(found) == pytest.approx(1 / np.sqrt(6_000), rel=0.35)


def test_counts_are_as_expected_in_every_group() -> None:
    """Of 3,000 groups no count is off by three; independent draws are, by two in the mean."""
    rng = np.random.default_rng(7)
    groups = rng.permutation(np.repeat(np.arange(3_000), 40))
    p = rng.random(3_000)
    gap = {}
    for kind, draws in (
        ("even", systematic_uniforms(groups, 3_000, rng)),
        ("free", rng.random(len(groups))),
    ):
        count = np.bincount(groups, weights=draws < p[groups])
        gap[kind] = np.abs(count - 40 * p)
    assert gap["even"].max() < 3
    assert gap["even"].mean() < 0.6
    assert gap["free"].mean() > 1.5


def test_each_number_is_uniform_and_pairs_are_nearly_independent() -> None:
    groups = np.array([0] * 5 + [1] * 30)
    runs = np.array(
        [systematic_uniforms(groups, 2, np.random.default_rng(seed)) for seed in range(4_000)]
    )
    assert (runs >= 0).all()
    assert (runs < 1).all()
    for person in (0, 4, 5, 34):
        ordered = np.sort(runs[:, person])
        gap = np.abs(ordered - np.arange(1, 4_001) / 4_000).max()
        assert gap < 1.95 / np.sqrt(4_000)  # Kolmogorov, level 0.001
    correlation = np.corrcoef(runs[:, 5], runs[:, 6])[0, 1]
    assert -0.12 < correlation < 0.02  # -1 / 29 in a group of thirty
