from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.matching.key_model import KeyMoments, solve_key_model
from riskeval.attacks.matching.key_tree import key_tree
from riskeval.kernels.scenarios import moments_block


def moments_of(codes: np.ndarray, values: np.ndarray, sizes: list[int]) -> KeyMoments:
    moments = KeyMoments(codes.shape[1])
    moments.make_room(sizes)
    moments.add(np.ascontiguousarray(codes.T, dtype=np.int32), values)
    return moments


def test_predictions_are_those_of_least_squares_on_rows() -> None:
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, size, 400) for size in (4, 3, 5)], axis=1)
    values = 1e5 + 300.0 * codes[:, 0] - 20.0 * codes[:, 1] * codes[:, 2] + rng.normal(0, 9, 400)
    values[::17] = np.nan
    used = ~np.isnan(values)
    dummies = np.column_stack(
        [np.ones(400)] + [codes[:, k] == level for k in range(3) for level in range(1, 5)]
    ).astype(float)
    beta = np.linalg.lstsq(dummies[used], values[used], rcond=None)[0]
    model = solve_key_model(moments_of(codes, values, [4, 3, 5]))
    np.testing.assert_allclose(model.predict(codes), dummies @ beta, rtol=1e-12)
    assert model.n_coefficients == 1 + 3 + 2 + 4
    assert model.aliased == ()


def test_a_key_that_repeats_another_adds_nothing() -> None:
    codes = np.array([[0, 0], [1, 1], [2, 1], [0, 0], [2, 1]])
    values = np.array([1.0, 4.0, 6.0, 3.0, 8.0])
    model = solve_key_model(moments_of(codes, values, [3, 2]))
    assert model.aliased == ((1, 1),)
    assert model.n_coefficients == 3
    np.testing.assert_allclose(model.predict(codes), [2, 4, 7, 2, 7])


def test_levels_may_appear_later_and_unmet_levels_have_no_prediction() -> None:
    moments = KeyMoments(1)
    moments.make_room([1])
    moments.add(np.zeros((1, 2), dtype=np.int32), np.array([1.0, 3.0]))
    moments.make_room([4])
    moments.add(np.array([[3, 0]], dtype=np.int32), np.array([9.0, 5.0]))
    model = solve_key_model(moments)
    predicted = model.predict(np.array([[0], [1], [3], [7]]))
    np.testing.assert_allclose(predicted, [3, np.nan, 9, np.nan])


def test_nothing_to_fit() -> None:
    model = solve_key_model(moments_of(np.array([[0], [1]]), np.full(2, np.nan), [2]))
    assert np.isnan(model.predict(np.array([[0]]))).all()
    assert model.n_coefficients == 0


def test_compiled_and_plain_moments_agree() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, (2, 50)).astype(np.int32)
    slots = np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int32)
    values = np.where(rng.random(50) < 0.2, np.nan, rng.normal(size=50))
    both = []
    for function in (moments_block, moments_block.py_func):
        gram, moment = np.zeros((6, 6)), np.zeros(6)
        function(codes, slots, values, gram, moment)
        both.append((gram, moment))
    np.testing.assert_array_equal(both[0][0], both[1][0])
    np.testing.assert_array_equal(both[0][1], both[1][1])
    table = pd.crosstab(codes[0, ~np.isnan(values)], codes[1, ~np.isnan(values)])
    np.testing.assert_array_equal(both[0][0][:3, 3:], table)


def test_tree_finds_every_combination_and_no_other() -> None:
    radix = [2, 5, 3]
    every = np.array(list(np.ndindex(*radix)))
    chosen = np.random.default_rng(4).permutation(len(every))[:11]
    tree = key_tree(every[chosen], radix)
    assert tree.order[0] == 1
    for number, row in enumerate(every):
        state = 0
        for k, size, start in zip(tree.order, tree.radix, tree.start, strict=True):
            state = tree.tree[start + state * size + row[k]] if state >= 0 else -1
        where = np.flatnonzero(chosen == number)
        assert state == (where[0] if len(where) else -1)


def test_coder_remembers_new_levels_between_blocks() -> None:
    coder = LevelCoder(("a", "b"))
    assert coder.code(pd.Series(["x", "a"])).tolist() == [3, 0]
    assert coder.code(pd.Series(["y", None, "x"])).tolist() == [4, 2, 3]
    assert coder.size == 5
    assert coder.absent() == 1


@pytest.mark.parametrize("levels", [(1, 2), (1.0, 2.0)])
def test_numbers_are_compared_by_value(levels: tuple[float, ...]) -> None:
    assert LevelCoder(levels).code(pd.Series([2, 1, 3])).tolist() == [1, 0, 3]
