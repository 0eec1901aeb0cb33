"""Penalised scaling: kernel, its Python form, and the equations it solves."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.kernels.shrinking import (
    centre_rows,
    change_of_effect,
    change_rows,
    multiply_and_add,
    shrink_to_margins,
    sum_changes,
)

N_CLASSES = 3


def some_blocks(seed: int = 0) -> dict[str, np.ndarray]:
    """Two blocks with a constant and two predictors of two levels; four and three cells."""
    rng = np.random.default_rng(seed)
    digits = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 1]])
    blocks = np.array([0, 4, 7])
    block = np.repeat([0, 1], [4, 3])
    levels = np.array([5 * block, 5 * block + 1 + digits[:, 0], 5 * block + 3 + digits[:, 1]])
    counts = rng.uniform(0, 1, (7, N_CLASSES))
    counts[2, 1] = 0.0
    counts /= np.array([counts[:4].sum(), counts[4:].sum()])[block][:, None]
    target = np.zeros((10, N_CLASSES))
    for row in levels:
        np.add.at(target, row, counts)
    return {
        "levels": levels,
        "blocks": blocks,
        "starts": np.array([[0, 1, 3, 5], [5, 6, 8, 10]]),
        "totals": counts.sum(axis=1),
        "target": target,
        "ridge": np.array([[0.0, 0.1, 0.1], [0.0, 0.02, 0.02]]),
        "base": rng.dirichlet(np.ones(N_CLASSES), 7),
    }


def run(function, given: dict[str, np.ndarray], tolerance: float = 1e-12, max_sweeps: int = 5000):
    effects, p = np.zeros_like(given["target"]), given["base"].copy()
    names = ("levels", "blocks", "starts", "totals", "target", "ridge")
    told = function(*(given[name] for name in names), effects, p, tolerance, max_sweeps)
    return effects, p, *told


def test_the_equations_hold_at_the_end() -> None:
    given = some_blocks()
    effects, p, sweeps, gaps = run(shrink_to_margins, given)
    fitted = np.zeros_like(effects)
    for row in given["levels"]:
        np.add.at(fitted, row, given["totals"][:, None] * p)
    ridge = np.zeros(10)
    for b in range(2):
        ridge[given["starts"][b, 0] : given["starts"][b, -1]] = np.repeat(
            given["ridge"][b], [1, 2, 2]
        )
    assert np.allclose(given["target"] - fitted, ridge[:, None] * effects, atol=1e-10)
    moved = given["base"] * np.exp(effects[given["levels"]].sum(axis=0))
    assert np.allclose(p, moved / moved.sum(axis=1, keepdims=True), atol=1e-12)
    for rows in ([1, 2], [3, 4], [6, 7], [8, 9]):  # what the penalty makes of the maximum
        assert np.allclose(effects[rows].sum(axis=0), 0)
        assert np.allclose(effects[rows].sum(axis=1), 0)
    assert (sweeps < 500).all()
    assert (gaps < 1e-12).all()


def test_kernel_and_its_python_form_agree() -> None:
    for one, two in zip(
        run(shrink_to_margins, some_blocks()),
        run(shrink_to_margins.py_func, some_blocks()),
        strict=True,
    ):
        assert np.allclose(one, two, atol=1e-12)


def test_it_ends_by_tolerance_or_by_sweeps() -> None:
    given = some_blocks()
    _, _, many, _ = run(shrink_to_margins, given, 1e-10)
    _, _, few, gaps = run(shrink_to_margins, given, 1e-3)
    assert (few < many).all()
    assert (gaps < 1e-3).all()
    assert run(shrink_to_margins, given, 1e-10, 2)[2].tolist() == [2, 2]


def test_an_infinite_penalty_leaves_effects_as_they_are() -> None:
    given = some_blocks()
    given["ridge"] = np.array([[0.0, np.inf, np.inf], [np.inf, np.inf, np.inf]])
    effects, p, sweeps, _ = run(shrink_to_margins, given)
    assert (effects[1:5] == 0).all()
    assert (effects[5:] == 0).all()
    assert np.allclose(given["totals"][:4] @ p[:4], given["target"][0])
    assert (p[4:] == given["base"][4:]).all()
    assert sweeps[1] == 0


def test_cells_without_weight_are_predicted_and_change_nothing() -> None:
    given = some_blocks()
    more = {name: values.copy() for name, values in given.items()}
    more["levels"] = np.column_stack([given["levels"], [5, 7, 8]])
    more["blocks"] = np.array([0, 4, 8])
    more["totals"] = np.append(given["totals"], 0.0)
    more["base"] = np.vstack([given["base"], [0.2, 0.3, 0.5]])
    effects, p, *_ = run(shrink_to_margins, more)
    assert np.allclose(effects, run(shrink_to_margins, given)[0], atol=1e-12)
    moved = more["base"][7] * np.exp(effects[[5, 7, 8]].sum(axis=0))
    assert np.allclose(p[7], moved / moved.sum())


def test_a_class_that_a_level_cannot_have_stays_impossible() -> None:
    given = some_blocks()
    given["base"][[0, 1], 0] = 0.0
    given["base"] /= given["base"].sum(axis=1, keepdims=True)
    effects, p, *_ = run(shrink_to_margins, given, 1e-9, 200)
    assert (p[[0, 1], 0] == 0).all()
    assert effects[1, 0] == 0.0
    assert np.isfinite(effects).all()


@pytest.mark.parametrize("change", [change_of_effect, change_of_effect.py_func])
@pytest.mark.parametrize(
    "case", [(0.0, 1e-9, 0.3, 0.2), (0.9, 1e-12, 1e-6, 0.0), (0.2, 0.7, 5, -1)]
)
def test_change_of_an_effect_solves_its_equation(change, case) -> None:
    target, fitted, ridge, effect = case
    d = change(target, fitted, ridge, effect)
    assert abs(target - fitted * np.exp(d) - ridge * (effect + d)) < 1e-8


@pytest.mark.parametrize("change", [change_of_effect, change_of_effect.py_func])
def test_without_penalty_the_change_is_a_ratio(change) -> None:
    assert change(0.2, 0.4, 0.0, 1.0) == pytest.approx(np.log(0.5))
    assert change(0.2, 0.0, 0.0, 1.0) == 0.0
    assert change(0.0, 0.4, 0.0, 1.0) == -300.0


def test_parts_and_their_python_forms_agree() -> None:
    rng = np.random.default_rng(1)
    start = {name: rng.uniform(0.1, 1, (4, 3)) for name in ("target", "effects", "margin")}
    found = []
    for form in ("kernel", "py_func"):
        rows, centre, multiply = (
            f if form == "kernel" else f.py_func
            for f in (change_rows, centre_rows, multiply_and_add)
        )
        a = {name: values.copy() for name, values in start.items()}
        a["margin"][2, 1] = 0.0
        factors, fits = np.ones((4, 3)), np.ones((4, 3), dtype=bool)
        args = (a["target"], a["effects"], a["margin"], factors, fits)
        gap = rows(1, 3, 0.3, *args)
        assert not fits[2, 1]
        assert a["effects"][2, 1] == start["effects"][2, 1]
        assert (a["margin"][1:3] == 0).all()
        centre(1, 3, 0, a["effects"], fits)
        p, total = np.full((2, 3), 1 / 3), np.array([0.25, 0.75])
        now, following = np.array([1, 2]), np.array([3, 3])
        a["margin"][3] = 0.0
        multiply(0, 2, now, following, total, factors, p, a["margin"])
        assert np.allclose(p, factors[now] / factors[now].sum(axis=1, keepdims=True))
        assert np.allclose(a["margin"][3], total @ p)
        found.append([gap, a["effects"].copy(), factors.copy(), p])
    for one, two in zip(*found, strict=True):
        assert np.allclose(one, two, atol=1e-14)


@pytest.mark.parametrize("add", [sum_changes, sum_changes.py_func])
def test_changes_are_added_up_less_the_largest_possible_one(add) -> None:
    changes = np.array([[1.0, 2.0, 9.0], [0.5, -1.0, 0.0]])
    base, sums = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]), np.full((2, 3), 7.0)
    add(np.array([[0, 1], [1, 1]]), changes, base, sums)
    assert sums[0].tolist() == [0.0, -0.5, -np.inf]
    assert (sums[1] == -np.inf).all()
