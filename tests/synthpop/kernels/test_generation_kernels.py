"""Kernels of the generation: compiled form, plain Python form and a naive version agree."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.kernels import cells, components, draws, households

FORMS = ["compiled", "python"]


def form(kernel, which: str):
    return kernel if which == "compiled" else kernel.py_func


@pytest.mark.parametrize("which", FORMS)
def test_cells_are_sums_of_digits(which: str) -> None:
    codes = np.array([-1, 0, 2], dtype=np.int8)
    ages = np.array([-5, 15, 90], dtype=np.int8)
    values = np.array([np.nan, 1.5, 9.0])
    for column in (codes, ages, values):
        column.flags.writeable = False  # as `cell_codes` passes them
    out = np.zeros(3, dtype=np.int32)
    form(cells.add_codes, which)(out, codes, np.int32(1))
    table = 1 + np.searchsorted([14.5, 64.5], np.arange(14, 67)).astype(np.int32)
    form(cells.add_table, which)(out, ages, 14, table, np.int32(10))
    form(cells.add_classes, which)(out, values, np.array([1.5, 5.0]), np.int32(100))
    assert out.tolist() == [0 + 10 + 0, 1 + 20 + 100, 3 + 30 + 300]


@pytest.mark.parametrize("which", FORMS)
def test_mark_sets_what_occurs(which: str) -> None:
    present = np.zeros(5, dtype=np.bool_)
    form(cells.mark, which)(np.array([1, 3, 1], dtype=np.int32), present)
    assert present.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("which", FORMS)
def test_draw_classes_inverts_the_distribution(which: str) -> None:
    cumulative = np.array([[0.2, 0.2, 1.0], [0.0, 1.0, 1.0]])
    uniforms = np.array([0.0, 0.1999, 0.2, 0.999, 0.0, 0.999])
    out = np.empty(6, dtype=np.int8)
    form(draws.draw_classes, which)(
        np.array([7, 7, 7, 7, 4, 4], dtype=np.int32),
        np.array([0, 0, 0, 0, 1, 0, 0, 0], dtype=np.int32),
        cumulative,
        uniforms,
        -1,
        out,
    )
    naive = [
        int(np.argmax(cumulative[r] > u)) - 1
        for r, u in zip([0] * 4 + [1] * 2, uniforms, strict=True)
    ]
    assert out.tolist() == naive == [-1, -1, 1, 1, 0, 0]


@pytest.mark.parametrize("which", FORMS)
def test_draw_donors_equals_a_search(which: str) -> None:
    rng = np.random.default_rng(1)
    weights = rng.random(40) ** 4
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    guide = np.searchsorted(cumulative, np.arange(40) / 40, side="right")
    uniforms = np.concatenate([rng.random(500), [0.0, np.nextafter(1, 0)]])
    out = np.empty(len(uniforms), dtype=np.int64)
    form(draws.draw_donors, which)(cumulative, guide, uniforms, out)
    assert (out == np.searchsorted(cumulative, uniforms, side="right")).all()


@pytest.mark.parametrize("which", FORMS)
def test_draws_inside_classes_respect_the_closed_end(which: str) -> None:
    low = np.array([np.nan, 0.0, 10.0, 0.0])
    high = np.array([np.nan, 0.0, 20.0, -5.0])  # the last is [-5, 0)
    out = np.empty(5)
    form(draws.draw_in_classes, which)(
        np.array([0, 1, 2, 2, 3], dtype=np.int16), low, high, np.zeros(4), np.ones(4, np.int64),
        np.column_stack([low, high]), np.array([0.5, 0.5, 0.0, 0.5, 0.0]), out,
    )  # fmt: skip
    assert np.isnan(out[0])
    assert out[1:].tolist() == [0.0, 20.0, 15.0, -5.0]


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("rate", [-40.0, -3.0, 1e-7, 0.3, 40.0])
def test_draws_inside_classes_follow_the_exponential_density(which: str, rate: float) -> None:
    uniforms = np.concatenate([(np.arange(4000) + 0.5) / 4000, [0.0, np.nextafter(1, 0)]])
    out = np.empty(len(uniforms))
    form(draws.draw_in_classes, which)(
        np.zeros(len(uniforms), dtype=np.int16),
        np.array([10.0]), np.array([20.0]), np.array([rate]), np.array([1]),
        np.array([[10.0, 20.0]]), uniforms, out,
    )  # fmt: skip
    x = (out - 10) / 10
    distribution = np.expm1(-rate * x) / np.expm1(-rate)
    np.testing.assert_allclose(distribution, 1 - uniforms, atol=1e-6)
    mean = 1 / rate - 1 / np.expm1(rate) if abs(rate) > 1e-3 else 0.5
    assert x[:4000].mean() == pytest.approx(mean, abs=1e-4)
    assert ((out >= 10) & (out <= 20)).all()


@pytest.mark.parametrize("which", FORMS)
def test_draws_inside_classes_follow_steps(which: str) -> None:
    """Evenly between each pair of knots; an equal pair is a point; classes may run downwards."""
    knots = np.array([[0.0, 0.1, 7.3, 7.3, 10.0], [0.0, -0.5, -4.0, np.nan, np.nan]])
    low, high = np.array([0.0, 0.0]), np.array([10.0, -4.0])
    uniforms = np.concatenate([np.arange(400) / 400, [np.nextafter(1, 0)]])
    for r, steps in ((0, 4), (1, 2)):
        out = np.empty(len(uniforms))
        classes = np.full(len(uniforms), r, dtype=np.int16)
        form(draws.draw_in_classes, which)(
            classes, low, high, np.zeros(2), np.array([4, 2]), knots, uniforms, out
        )
        naive = np.interp((1 - uniforms) * steps, np.arange(steps + 1), knots[r, : steps + 1])
        np.testing.assert_allclose(out, naive, atol=1e-12)
        assert out[0] == high[r]  # the closed end
        assert (np.abs(out[:-1]) > 0).all()
        assert ((out == 7.3).sum() >= 100) == (r == 0)


@pytest.mark.parametrize("which", FORMS)
def test_expand_and_gather(which: str) -> None:
    out = np.full(5, -1, dtype=np.int32)
    form(households.expand, which)(np.array([2, 0]), 2, np.array([0, 2, 3, 5]), 1, out)
    assert out.tolist() == [-1, 3, 4, 0, 1]
    values = np.array([10, 11, 12, 13, 14], dtype=np.int8)
    taken = np.empty(4, dtype=np.int8)
    form(households.gather, which)(values, out[1:], taken)
    assert taken.tolist() == [13, 14, 10, 11]


@pytest.mark.parametrize("which", FORMS)
def test_totals_are_split_by_fractions_of_a_donor(which: str) -> None:
    totals = np.array([100.0, -40.0, 0.0, np.nan, 0.1])
    groups = np.array([0, 1, 2, 2, 0])
    starts = np.array([0, 2, 3])
    cumulative = np.array([0.5, 1.0, 1.0])
    fractions = np.array([[0.3, 0.7], [1.0, 0.0], [1.5, -0.5]])
    out = np.empty((2, 5))
    form(components.split_totals, which)(
        totals,
        groups,
        starts,
        cumulative,
        fractions,
        np.array([0.2, 0.9, 0.5, 0.5, 0.6]),
        donors := np.empty(5, dtype=np.int64),
        out,
    )
    assert donors.tolist() == [0, 2, -1, -1, 1]
    assert np.allclose(out[:, 0], [30, 70])
    assert np.allclose(out[:, 1], [-60, 20])
    assert out[:, 2].tolist() == [0.0, 0.0]
    assert np.isnan(out[:, 3]).all()
    assert out[:, 4].tolist() == [0.1, 0.0]


@pytest.mark.parametrize("which", FORMS)
def test_groups_of_donors_are_found_by_cell_sign_and_total(which: str) -> None:
    rng = np.random.default_rng(1)
    totals = np.round(rng.normal(0, 40, 300))
    totals[:2] = np.nan, 0.0
    of_cell, cells = np.array([[0, 0], [1, 2]]), rng.integers(0, 2, 300).astype(np.int32)
    first, limits = np.array([0, 1, 4, 5]), np.array([np.inf, 10.0, 30.0, np.inf, np.inf])
    out = np.empty(300, dtype=np.int64)
    form(components.find_groups, which)(totals, cells, of_cell, first, limits, out)
    for total, cell, found in zip(totals, cells, out, strict=True):
        if total == 0 or np.isnan(total):
            assert found == 5
            continue
        donors = of_cell[int(total > 0), cell]
        groups = range(first[donors], first[donors + 1])
        assert found == next(g for g in groups if total <= limits[g])


@pytest.mark.parametrize("which", FORMS)
@pytest.mark.parametrize("decimals", [0, 2])
def test_rounded_parts_add_up_and_the_largest_takes_the_rest(which: str, decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    parts = rng.lognormal(3, 2, (4, 200)) * (rng.random((4, 200)) < 0.6)
    parts[3] *= -1
    totals = np.round(parts.sum(axis=0), decimals)
    totals[:5] += 1 / 3  # no number of so many decimals: the largest part carries the rest
    donors = np.where(np.arange(200) % 7 == 6, -1, 0)

    naive = parts.copy()
    for i in np.flatnonzero(donors >= 0):
        largest = np.abs(parts[:, i]).argmax()
        naive[:, i] = np.round(parts[:, i], decimals)
        exact = naive[largest, i] + (totals[i] - naive[:, i].sum())
        whole = np.round(exact, decimals)
        near = abs(whole - exact) <= 1e-12 * max(abs(totals[i]), 1)
        naive[largest, i] = whole if near else exact

    rounded = parts.copy()
    form(components.round_parts, which)(rounded, totals, donors, 10.0**decimals, 1e-12)
    np.testing.assert_array_equal(rounded, naive)
    np.testing.assert_array_equal(rounded[:, donors < 0], parts[:, donors < 0])
    assert np.allclose(rounded.sum(axis=0)[donors >= 0], totals[donors >= 0], rtol=1e-13)
    assert (np.round(rounded, decimals) != rounded).any(axis=0)[donors >= 0].sum() <= 5
