from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop.kernels import sampling as kernels
from synthpop.microdata.messages.errors import InputError, SparseDataWarning
from synthpop.sampling import pps
from synthpop.sampling.conditional_poisson import (
    _scaling,
    conditional_joint,
    inclusion,
    working_probabilities,
)
from synthpop.sampling.pps import (
    JOINT,
    METHODS,
    draw_unequal,
    inclusion_probabilities,
    joint_probabilities,
    sampford_direct,
)

SIZES = np.array([1.0, 2.0, 2.5, 4.0, 0.5, 3.0, 6.0, 1.5])
FIXED = [name for name in METHODS if name != "poisson"]


def naive_probabilities(size: np.ndarray, n: int) -> np.ndarray:
    """Set the largest to one, again and again."""
    p = np.zeros(len(size))
    certain = np.zeros(len(size), dtype=bool)
    while True:
        rest = ~certain
        p[rest] = (n - certain.sum()) * size[rest] / size[rest].sum()
        over = rest & (p >= 1)
        if not over.any():
            p[certain] = 1
            return p
        certain |= over
        if certain.sum() == n:
            return certain.astype(float)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 1000), min_size=2, max_size=20), st.integers(1, 20))
def test_inclusion_probabilities(sizes: list[int], n: int) -> None:
    n = min(n, len(sizes))
    p = inclusion_probabilities(sizes, n)
    assert p.sum() == pytest.approx(n)
    np.testing.assert_allclose(p, naive_probabilities(np.array(sizes, dtype=float), n), atol=1e-9)


def test_inclusion_probabilities_at_the_edges() -> None:
    assert inclusion_probabilities([0.0, 1.0, 1.0], 1).tolist() == [0.0, 0.5, 0.5]
    assert inclusion_probabilities([1.0, 2.0], 0).tolist() == [0.0, 0.0]
    assert inclusion_probabilities([1.0, 9.0], 2).tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="negative"):
        inclusion_probabilities([-1.0, 1.0], 1)
    with pytest.raises(InputError, match="positive size"):
        inclusion_probabilities([0.0, 1.0], 2)


def frequencies(p: np.ndarray, method: str, draws: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(12)
    pairs = np.zeros((len(p), len(p)))
    for _ in range(draws):
        chosen = draw_unequal(p, rng, method=method)
        if method != "poisson":
            assert len(chosen) == round(p.sum())
        pairs[np.ix_(chosen, chosen)] += 1
    return np.diag(pairs) / draws, pairs / draws


def agree(method: str, draws: int, limit: float) -> None:
    p = inclusion_probabilities(SIZES, 4)
    single, pairs = frequencies(p, method, draws)
    error = np.sqrt(p * (1 - p) / draws) + 1e-12
    assert np.abs((single - p) / error).max() < limit
    if method in JOINT:
        joint = joint_probabilities(p, method=method)
        np.testing.assert_allclose(np.diag(joint), p)
        error = np.sqrt(np.abs(joint * (1 - joint)) / draws) + 1e-6
        assert np.abs((pairs - joint) / error).max() < limit


@pytest.mark.parametrize("method", list(METHODS))
def test_samples_have_their_probabilities(method: str) -> None:
    agree(method, 500, 4.5)


@pytest.mark.slow
@pytest.mark.parametrize("method", list(METHODS))
def test_samples_have_their_probabilities_over_many_draws(method: str) -> None:
    agree(method, 6_000 if method == "conditional-poisson" else 20_000, 4.5)


@pytest.mark.parametrize("method", FIXED)
def test_fixed_size_and_certain_units(method: str) -> None:
    rng = np.random.default_rng(3)
    size = rng.lognormal(0, 1.5, 200)
    p = inclusion_probabilities(size, 40)
    p_with_zero = np.append(p, 0.0)
    for _ in range(10):
        chosen = draw_unequal(p_with_zero, rng, method=method)
        assert len(np.unique(chosen)) == 40
        assert set(np.flatnonzero(p >= 1)) <= set(chosen)
        assert 200 not in chosen
        assert (np.diff(chosen) > 0).all()


def enumerated(p: np.ndarray, n: int, extra: np.ndarray | None) -> np.ndarray:
    """Joint probabilities by listing every sample."""
    joint, total = np.zeros((len(p), len(p))), 0.0
    for sample in itertools.combinations(range(len(p)), n):
        chance = np.prod([p[k] / (1 - p[k]) for k in sample])
        if extra is not None:
            chance *= sum(extra[k] for k in sample)
        total += chance
        joint[np.ix_(sample, sample)] += chance
    return joint / total


def test_joint_probabilities_by_enumeration() -> None:
    target = np.array([0.2, 0.35, 0.6, 0.7, 0.55, 0.6])
    working = working_probabilities(target)
    off = ~np.eye(6, dtype=bool)
    exact = enumerated(working, 3, None)
    np.testing.assert_allclose(np.diag(exact), target, atol=1e-10)
    np.testing.assert_allclose(conditional_joint(target)[off], exact[off], atol=1e-10)
    sampford = enumerated(target, 3, 1 - target)
    np.testing.assert_allclose(np.diag(sampford), target, atol=1e-12)
    got = joint_probabilities(target, method="sampford")
    np.testing.assert_allclose(got, sampford, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=3, max_size=30), st.data())
def test_working_probabilities_solve_their_equations(sizes: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(sizes) - 1))
    p = inclusion_probabilities(sizes, n)
    p = p[p < 1 - 1e-9]
    if len(p) < 2:
        return
    n = round(p.sum())
    working = working_probabilities(p)
    np.testing.assert_allclose(inclusion(working, n), p, atol=1e-9)
    # rows of joint probabilities sum to (n - 1) p for designs of fixed size
    joint = conditional_joint(p)
    np.fill_diagonal(joint, 0)
    np.testing.assert_allclose(joint.sum(axis=1), (n - 1) * p, atol=1e-8)


@pytest.mark.parametrize("target", [[0.25, 0.25, 0.5], [0.9, 0.05, 0.05], [0.97, 0.97, 0.06]])
def test_scaling_falls_back_to_the_step_that_converges(target: list[float]) -> None:
    p, error = _scaling(np.array(target), round(sum(target)), 1e-11)
    assert error < 1e-8
    np.testing.assert_allclose(inclusion(p, round(sum(target))), target, atol=1e-8)


def test_scaling_in_large_populations() -> None:
    p = inclusion_probabilities(np.random.default_rng(1).lognormal(0, 1, 2000), 150)
    p = p[p < 1]
    working = working_probabilities(p)
    np.testing.assert_allclose(inclusion(working, round(p.sum())), p, atol=1e-10)


def test_fourier_inversion_agrees_with_recursion() -> None:
    """The recursion over units, for a population in which the points are few."""
    rng = np.random.default_rng(5)
    p = rng.random(400) * 0.5
    n = round(p.sum())
    p *= n / p.sum()

    def distribution(q: np.ndarray) -> np.ndarray:
        mass = np.zeros(len(q) + 1)
        mass[0] = 1
        for value in q:
            mass[1:] = mass[1:] * (1 - value) + mass[:-1] * value
            mass[0] *= 1 - value
        return mass

    total = distribution(p)[n]
    for k in (0, 17, 399):
        exact = p[k] * distribution(np.delete(p, k))[n - 1] / total
        assert inclusion(p, n)[k] == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("method", ["sampford", "tille", "conditional-poisson"])
def test_joint_rows_add_up(method: str) -> None:
    p = inclusion_probabilities(SIZES, 4)
    joint = joint_probabilities(p, method=method)
    np.fill_diagonal(joint, 0)
    np.testing.assert_allclose(joint.sum(axis=1), 3 * p, atol=1e-8)
    np.testing.assert_allclose(joint, joint.T, atol=1e-12)


def test_systematic_reads_like_the_definition() -> None:
    class Start:
        def random(self) -> float:
            return 0.4

    p = np.array([0.3, 0.3, 0.3, 0.6, 0.5])
    chosen = draw_unequal(p, Start(), method="systematic")  # type: ignore[arg-type]
    assert chosen.tolist() == [1, 3]  # cumulated .3 .6 .9 1.5 2.0 pass .4 and 1.4


def test_faults() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(InputError, match="whole number"):
        draw_unequal([0.5, 0.6], rng, method="tille")
    with pytest.raises(InputError, match="between 0 and 1"):
        draw_unequal([0.5, 1.5], rng)
    with pytest.raises(InputError, match="method"):
        draw_unequal([0.5, 0.5], rng, method="lahiri")
    with pytest.raises(InputError, match="method"):
        joint_probabilities([0.5, 0.5], method="brewer")
    assert draw_unequal([1.0, 0.0], rng).tolist() == [0]


@pytest.mark.parametrize("name", ["pivotal", "brewer", "eliminate", "rejective"])
def test_kernels_agree_with_their_python_form(name: str) -> None:
    p = inclusion_probabilities(np.sort(SIZES)[::-1], 4)
    p = p[p < 1]
    n = round(p.sum())
    p *= n / p.sum()
    results = []
    kernel = getattr(kernels, name)
    for function in (kernel, kernel.py_func):
        rng = np.random.default_rng(9)
        out = np.ones(len(p), dtype=np.int8) * (name == "eliminate")
        out = out.astype(np.int8)
        samples = []
        for _ in range(20):
            out[:] = 1 if name == "eliminate" else 0
            arguments = {
                "pivotal": (p.copy(), rng, out),
                "brewer": (p, n, rng, out),
                "eliminate": (p, n, rng, out),
                "rejective": (p, n, rng, out, 10_000),
            }[name]
            function(*arguments)
            samples.append(out.copy())
        results.append(np.array(samples))
    np.testing.assert_array_equal(results[0], results[1])


def test_sums_agree_with_their_python_form_and_with_numpy() -> None:
    rng = np.random.default_rng(2)
    p, angles = rng.random(50), np.array([0.0, 0.3, 2.5])
    turn, mass = np.exp(1j * angles), rng.random(3) * np.exp(1j * rng.random(3))
    for kernel in (kernels.log_generating, kernels.log_generating.py_func):
        out = np.empty(3, dtype=np.complex128)
        kernel(p, turn, out)
        exact = np.prod(1 - p[:, None] + p[:, None] * turn, axis=0)
        np.testing.assert_allclose(np.exp(out), exact, rtol=1e-12)
    for kernel in (kernels.inclusion_sums, kernels.inclusion_sums.py_func):
        sums = np.empty(50)
        kernel(p, turn, mass, sums)
        exact = (mass * turn / (1 - p[:, None] + p[:, None] * turn)).real.sum(axis=1)
        np.testing.assert_allclose(sums, exact, rtol=1e-12)
    small = np.full(3000, 0.5)
    out = np.empty(1, dtype=np.complex128)
    kernels.log_generating(small, np.exp(np.array([3.0j])), out)
    assert out[0].real == pytest.approx(3000 * np.log(abs(0.5 + 0.5 * np.exp(3.0j))))


def test_sampford_without_rejection_is_the_same_design() -> None:
    p = np.array([0.2, 0.35, 0.6, 0.7, 0.55, 0.6])
    rng = np.random.default_rng(7)
    joint = np.zeros((6, 6))
    for _ in range(4_000):
        rows = sampford_direct(p, rng)
        assert len(np.unique(rows)) == 3
        joint[np.ix_(rows, rows)] += 1 / 4_000
    np.testing.assert_allclose(joint, enumerated(p, 3, 1 - p), atol=0.03)


def test_sampford_with_tiny_sizes_returns() -> None:
    """It tried for ever: one sample in ten million was accepted."""
    p = inclusion_probabilities([1e-7] * 6 + [1.0] * 6, 6)
    rng = np.random.default_rng(1)
    rows = [draw_unequal(p, rng, method="sampford") for _ in range(20)]
    assert all(set(one) == set(range(6, 12)) for one in rows)
    shifted = inclusion_probabilities([1e-5] * 6 + [1.0, 1.5, 2.0], 2)
    counts = np.zeros(9)
    for _ in range(2000):
        counts[sampford_direct(shifted, rng)] += 1 / 2000
    np.testing.assert_allclose(counts, shifted, atol=0.04)


def test_sampford_of_many_units_says_what_it_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pps, "MOST_CELLS", 10)
    monkeypatch.setattr(pps, "SAMPFORD_TRIES", 0)
    with pytest.warns(SparseDataWarning, match="pivotal method"):
        rows = draw_unequal([0.5] * 8, np.random.default_rng(1), method="sampford")
    assert len(rows) == 4
