from __future__ import annotations

import numpy as np
import pytest

from synthpop.kernels import sampling as kernels
from synthpop.microdata.messages.errors import InputError
from synthpop.sampling.balanced import draw_balanced
from synthpop.sampling.pps import draw_unequal, inclusion_probabilities


def test_flight_keeps_the_constraints_and_ends_at_corners() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(60) * 0.8 + 0.1
    a = rng.normal(size=(60, 4))
    state = p.copy()
    kernels.cube_flight(a, state, rng, 1e-9)
    np.testing.assert_allclose(a.T @ state, a.T @ p, atol=1e-8)
    assert ((state > 1e-9) & (state < 1 - 1e-9)).sum() <= 4


def test_flight_agrees_with_its_python_form() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(25) * 0.8 + 0.1
    a = rng.normal(size=(25, 3))
    a[:, 2] = a[:, 0]  # dependent columns
    states = []
    for function in (kernels.cube_flight, kernels.cube_flight.py_func):
        state = p.copy()
        function(a, state, np.random.default_rng(3), 1e-9)
        states.append(state)
    np.testing.assert_allclose(states[0], states[1], atol=1e-9)


def test_null_vector() -> None:
    rng = np.random.default_rng(4)
    for matrix in (rng.normal(size=(3, 4)), np.ones((3, 4)), np.zeros((2, 3))):
        u = np.empty(matrix.shape[1])
        kernels.null_vector(matrix.copy(), u, 1e-11)
        np.testing.assert_allclose(matrix @ u, 0, atol=1e-9)
        assert np.abs(u).max() >= 1


def draws(repetitions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    size = rng.lognormal(0, 0.5, 60)
    p = inclusion_probabilities(size, 20)
    x = np.column_stack([p, size * rng.random(60) + 1, rng.random(60)])
    counts, errors = np.zeros(60), []
    for _ in range(repetitions):
        chosen = draw_balanced(p, x, rng)
        assert len(chosen) == 20
        counts[chosen] += 1
        errors.append((x[chosen] / p[chosen, None]).sum(axis=0) / x.sum(axis=0) - 1)
    return counts / repetitions, p, np.array(errors)


def test_probabilities_and_balance() -> None:
    share, p, errors = draws(250)
    error = np.sqrt(p * (1 - p) / 250)
    assert np.abs((share - p) / error).max() < 4.5
    np.testing.assert_allclose(errors[:, 0], 0, atol=1e-9)
    rng = np.random.default_rng(6)
    size = rng.lognormal(0, 0.5, 60)
    x = np.column_stack([size * rng.random(60) + 1, rng.random(60)])
    plain = []
    for _ in range(250):
        chosen = draw_unequal(p, rng, method="pivotal")
        plain.append((x[chosen] / p[chosen, None]).sum(axis=0) / x.sum(axis=0) - 1)
    assert (errors[:, 1:].std(axis=0) < 0.5 * np.std(plain, axis=0)).all()


def test_many_variables_land_too() -> None:
    rng = np.random.default_rng(3)
    p = np.full(80, 0.25)
    x = np.column_stack([p, rng.random((80, 15))])
    counts = np.zeros(80)
    for _ in range(120):
        chosen = draw_balanced(p, x, rng)
        assert len(chosen) == 20
        counts[chosen] += 1
    assert np.abs(counts / 120 - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 120)


@pytest.mark.slow
def test_probabilities_over_many_draws() -> None:
    share, p, errors = draws(5_000)
    assert np.abs((share - p) / np.sqrt(p * (1 - p) / 5_000)).max() < 4.5
    spread = errors.std(axis=0)[1:] / np.sqrt(5_000)
    assert (np.abs(errors.mean(axis=0)[1:]) < 4.5 * spread).all()


def test_balance_improves_with_the_size() -> None:
    rng = np.random.default_rng(8)
    p = np.full(5000, 0.1)
    x = np.column_stack([p, rng.lognormal(0, 1, (5000, 3))])
    chosen = draw_balanced(p, x, rng)
    error = np.abs((x[chosen] / 0.1).sum(axis=0) / x.sum(axis=0) - 1)
    assert error.max() < 0.01
    assert len(chosen) == 500


def test_redundant_and_certain() -> None:
    rng = np.random.default_rng(9)
    p = np.append(np.full(20, 0.5), [1.0, 0.0])
    groups = np.arange(22) % 2
    x = np.column_stack([p, groups, 1 - groups, np.ones(22)])
    for _ in range(20):
        chosen = draw_balanced(p, x, rng)
        assert len(chosen) == 11
        assert 20 in chosen
        assert 21 not in chosen
    one_column = draw_balanced(np.full(10, 0.5), np.full(10, 0.5), rng)
    assert len(one_column) == 5


def test_faults() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(InputError) as caught:
        draw_balanced([0.5, 2.0], [[1.0], [np.nan], [3.0]], rng)
    assert len(caught.value.faults) == 3
