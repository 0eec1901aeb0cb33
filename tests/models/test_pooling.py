"""Partial pooling: penalised scaling, smoothed tables, and the choice of the amount."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.kernels.shrinking import change_of_effect, shrink_to_margins
from synthpop.models.empirical import fit_empirical
from synthpop.models.ladder import Design, fit_ladder, predict_ladder, predict_pooled
from synthpop.models.partial import choose_pooling
from synthpop.models.pooling import (
    GRID,
    Pooling,
    best,
    deal_folds,
    fit_tilt,
    log_score,
    pair_terms,
    pairs_within_bounds,
    single_terms,
    smoothed_shares,
    solve_tilt,
    tilt_cells,
    tilted,
)

SIZES = (4, 3)


def some_design(n: int = 600, spread: float = 1.0, seed: int = 0, n_strata: int = 3) -> Design:
    """Three classes given two predictors; `spread` tells how much the effects of strata differ."""
    rng = np.random.default_rng(seed)
    digits = np.column_stack([rng.integers(1, 4, n), rng.integers(1, 3, n)])
    strata = rng.integers(0, n_strata, n)
    effects = rng.normal(0, 1, (1, 4, 3)) + spread * rng.normal(0, 1, (n_strata, 4, 3))
    logits = effects[strata, digits[:, 0]]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    weights = rng.uniform(1, 5, n)
    return Design(digits, classes, weights, strata, SIZES, (False, False), 3, n_strata)


def naive_tilt(base, digits, classes, weights, terms, amount):
    """Weighted log likelihood minus the penalty, maximised by a general optimiser."""
    from scipy.optimize import minimize

    columns, penalty = [], []
    for term in terms:
        key = [tuple(row) for row in digits[:, list(term)].tolist()]
        for level in sorted(set(key)):
            columns.append([float(item == level) for item in key])
            penalty.append(amount if term else 0.0)
    x, k = np.array(columns).T, np.array(penalty)
    w, y = weights / weights.mean(), np.eye(base.shape[1])[classes]

    def loss(flat):
        b = flat.reshape(x.shape[1], -1)
        eta = np.log(base) + x @ b
        log_p = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
        slope = x.T @ (w[:, None] * (np.exp(log_p) - y)) + k[:, None] * b
        value = -np.sum(w[:, None] * y * log_p) + 0.5 * np.sum(k[:, None] * b**2)
        return value, slope.ravel()

    start = np.zeros(x.shape[1] * base.shape[1])
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 2000})
    eta = np.log(base) + x @ found.x.reshape(x.shape[1], -1)
    p = np.exp(eta)
    return p / p.sum(axis=1, keepdims=True)


def base_of(digits: np.ndarray) -> np.ndarray:
    table = np.random.default_rng(5).dirichlet(np.ones(3), (4, 3))
    return table[digits[:, 0], digits[:, 1]]


@pytest.mark.parametrize("amount", [0.5, 5.0, 80.0])
@pytest.mark.parametrize("terms", [single_terms(2), pair_terms(2)])
def test_scaling_finds_the_penalised_maximum(amount: float, terms) -> None:
    d = some_design(150)
    base = base_of(d.digits)
    cells = tilt_cells(d.digits, d.classes, d.weights, SIZES, 3, terms)
    tilt = solve_tilt(cells, base[cells.first], amount, tolerance=1e-12, max_sweeps=20_000)
    found, known = tilted(tilt, base, d.digits)
    assert known.all()
    assert np.allclose(
        found, naive_tilt(base, d.digits, d.classes, d.weights, terms, amount), atol=1e-5
    )


def test_kernel_and_its_python_form_agree() -> None:
    d = some_design(60)
    terms = single_terms(2)
    cells = tilt_cells(d.digits, d.classes, d.weights, SIZES, 3, terms)
    ridge = np.where(cells.penalised, 0.1, 0.0)
    found = []
    for run in (shrink_to_margins, shrink_to_margins.py_func):
        effects, p = cells.empty.effects.copy(), base_of(d.digits)[cells.first].copy()
        done = run(cells.levels, cells.totals, cells.target, ridge, effects, p, 1e-9, 400)
        found.append((done[0], effects, p))
    assert found[0][0] == found[1][0]
    assert np.allclose(found[0][1], found[1][1], atol=1e-12)
    assert np.allclose(found[0][2], found[1][2], atol=1e-12)


@pytest.mark.parametrize("change", [change_of_effect, change_of_effect.py_func])
@pytest.mark.parametrize(
    "case", [(0.0, 1e-9, 0.3, 0.2), (0.9, 1e-12, 1e-6, 0.0), (0.2, 0.7, 5, -1)]
)
def test_change_of_an_effect_solves_its_equation(change, case) -> None:
    target, fitted, ridge, effect = case
    d = change(target, fitted, ridge, effect)
    assert abs(target - fitted * np.exp(d) - ridge * (effect + d)) < 1e-8


def test_without_pull_the_stratum_has_its_own_model() -> None:
    design = some_design(3000)
    own = fit_ladder("multinomial", design, smallest_stratum=1)
    near = fit_ladder("multinomial", design, smallest_stratum=1, pooling=1e-9)
    grid = np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])
    for stratum in range(3):
        a, step = predict_ladder(own, stratum, grid)
        b, _ = predict_ladder(near, stratum, grid)
        assert (step == 0).all()
        assert np.allclose(a, b, atol=1e-4)


def test_with_an_infinite_pull_the_stratum_keeps_its_class_totals_only() -> None:
    design = some_design(3000)
    far = fit_ladder("multinomial", design, smallest_stratum=1, pooling=np.inf)
    complete = fit_ladder("multinomial", design, smallest_stratum=1, pooling="complete")
    for stratum in range(3):
        here = design.strata == stratum
        p, step = predict_ladder(far, stratum, design.digits[here])
        q, pooled_step = predict_ladder(complete, stratum, design.digits[here])
        assert np.allclose(p, q, atol=1e-4)  # the pooled model has the stratum's totals already
        assert (step == 0).all()
        assert (pooled_step == 0).all()
        observed = np.bincount(design.classes[here], weights=design.weights[here], minlength=3)
        assert np.allclose(design.weights[here] @ p, observed, rtol=1e-3)


def test_more_pull_is_nearer_to_the_pooled_model() -> None:
    design = some_design()
    grid = np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])
    gaps = []
    for amount in (1.0, 30.0, 1000.0):
        ladder = fit_ladder("multinomial", design, smallest_stratum=1, pooling=amount)
        own, pooled = predict_ladder(ladder, 0, grid)[0], predict_pooled(ladder, 0, grid)[0]
        gaps.append(np.abs(own - pooled).sum())
    assert gaps[0] > 1.5 * gaps[1] > 2 * gaps[2]


def test_weights_matter() -> None:
    d = some_design(200)
    base, terms = base_of(d.digits), single_terms(2)
    one = fit_tilt(base, d.digits, d.classes, d.weights, SIZES, terms=terms, amount=5.0)
    same = fit_tilt(base, d.digits, d.classes, 7 * d.weights, SIZES, terms=terms, amount=5.0)
    other = fit_tilt(base, d.digits, d.classes, np.ones(200), SIZES, terms=terms, amount=5.0)
    assert np.allclose(one.effects, same.effects, atol=1e-9)
    assert np.abs(one.effects - other.effects).max() > 1e-2


def test_classes_that_a_level_never_has_stay_possible() -> None:
    digits = np.repeat([[1], [2]], 20, axis=0)
    classes = np.repeat([0, 1], 20)  # separated
    base = np.full((40, 2), 0.5)
    tilt = fit_tilt(base, digits, classes, np.ones(40), [3], terms=[(0,)], amount=2.0)
    p, _ = tilted(tilt, base[:1], digits[:1])
    assert 0.0 < p[0, 1] < 0.2
    assert np.isfinite(tilt.effects).all()
    impossible = np.tile([1.0, 0.0], (40, 1))
    p, _ = tilted(tilt, impossible[:1], digits[:1])
    assert p.tolist() == [[1.0, 0.0]]


def test_three_hundred_levels() -> None:
    rng = np.random.default_rng(1)
    n = 2000
    digits = rng.integers(0, 300, (n, 1))
    design = Design(
        digits, rng.integers(0, 3, n), np.ones(n), rng.integers(0, 4, n), (300,), (False,), 3, 4
    )
    ladder = fit_ladder("multinomial", design, smallest_stratum=1, pooling=10.0)
    p, _ = predict_ladder(ladder, 1, np.arange(300)[:, None])
    assert np.allclose(p.sum(axis=1), 1)
    assert np.isfinite(p).all()


@pytest.mark.parametrize("model", ["multinomial", "empirical"])
@pytest.mark.parametrize("pooling", [10.0, "cross-validated", "complete"])
def test_the_steps_of_the_ladder_remain(model: str, pooling) -> None:
    """A stratum of three, one with one class, one without anybody; a level that nobody has."""
    rng = np.random.default_rng(2)
    strata = np.repeat([0, 1, 2], [200, 3, 50])
    n = len(strata)
    digits = rng.integers(1, 3, (n, 1))
    digits[strata == 1] = 1
    classes = np.where(strata == 2, 1, rng.integers(0, 2, n))
    design = Design(digits, classes, np.ones(n), strata, (4,), (False,), 2, 4)
    ladder = fit_ladder(model, design, smallest_stratum=2, pooling=pooling, seed=1)
    grid = np.array([[1], [2], [3]])
    for stratum in range(4):
        p, step = predict_ladder(ladder, stratum, grid)
        assert np.allclose(p.sum(axis=1), 1)
        assert step[2] == 2
        if stratum == 3 and pooling != "complete":
            assert (step[:2] == (1 if model == "empirical" else 2)).all()
    if pooling != "complete":
        assert predict_ladder(ladder, 1, grid)[1].tolist() == [0, 1, 2]
        few = fit_ladder(model, design, smallest_stratum=10, pooling=pooling, seed=1)
        assert predict_ladder(few, 1, grid)[1].tolist() == [1, 1, 2]
    allowed = np.array([[False, True]] * 3)
    assert (predict_ladder(ladder, 0, grid, allowed)[0][:, 0] == 0).all()


def test_a_table_is_smoothed_towards_all_strata() -> None:
    design = some_design()
    own = fit_ladder("empirical", design, smallest_stratum=1)
    half = fit_ladder("empirical", design, smallest_stratum=1, pooling=20.0)
    cell = np.array([[2, 1]])
    here = (design.strata == 0) & (design.digits == cell[0]).all(axis=1)
    n = here.sum()
    all_strata = fit_empirical(design.digits, design.classes, design.weights, SIZES, 3)
    shares = all_strata.shares[all_strata.cells[2, 1]]
    wanted = (n * predict_ladder(own, 0, cell)[0][0] + 20 * shares) / (n + 20)
    assert np.allclose(predict_ladder(half, 0, cell)[0][0], wanted)
    counts = np.array([[3.0, 1.0]])
    prior = np.array([[0.0, 1.0]])
    assert np.allclose(smoothed_shares(counts, np.array([5.0]), prior, np.inf), prior)


@pytest.mark.parametrize("model", ["multinomial", "empirical"])
def test_cross_validation_pools_more_where_strata_are_alike(model: str) -> None:
    everybody = np.ones(6, dtype=bool)
    alike = choose_pooling(model, some_design(1500, 0.0, n_strata=6), everybody, 1)
    apart = choose_pooling(model, some_design(3000, 2.0, n_strata=6), everybody, 1)
    assert alike.amount > 10 * apart.amount
    assert alike.chosen == "cross-validated"
    assert best(alike.scores) == alike.amount
    assert {amount for amount, _ in alike.scores} <= set(GRID)


def test_pairs_are_used_where_the_data_have_them() -> None:
    rng = np.random.default_rng(4)
    n = 2000
    digits = rng.integers(1, 3, (n, 2))
    same = digits[:, 0] == digits[:, 1]
    classes = (rng.random(n) < np.where(same, 0.8, 0.2)).astype(int)
    strata = rng.integers(0, 2, n)
    paired = Design(digits, classes, np.ones(n), strata, (3, 3), (False,) * 2, 2, 2)
    ladder = fit_ladder("multinomial", paired, smallest_stratum=1, pooling="cross-validated")
    assert np.isfinite(ladder.pooling.pairs)
    p, _ = predict_ladder(ladder, 0, np.array([[1, 1], [1, 2]]))
    assert p[0, 1] > 0.7
    assert p[1, 1] < 0.3
    without = fit_ladder("multinomial", paired, smallest_stratum=1, pooling=100.0)
    assert without.pairs is None
    assert abs(predict_ladder(without, 0, np.array([[1, 1]]))[0][0, 1] - 0.5) < 0.1


def test_households_stay_together_and_the_seed_deals_them() -> None:
    groups = np.repeat(np.arange(50), 3)
    folds = deal_folds(groups, 1)
    assert (folds.reshape(50, 3) == folds.reshape(50, 3)[:, :1]).all()
    assert np.bincount(folds[::3]).tolist() == [13, 13, 12, 12]
    assert (deal_folds(groups, 1) == folds).all()
    assert (deal_folds(groups, 2) != folds).any()
    assert deal_folds(groups, 1, 2).max() == 1


def test_copies_within_households_do_not_pass_for_knowledge() -> None:
    """Members who are alike would make every stratum look as if it had effects of its own."""
    from dataclasses import replace

    single = some_design(300, 0.0, n_strata=6)
    rows = np.repeat(np.arange(300), 6)
    copies = single.rows(rows)
    together = choose_pooling(
        "multinomial", replace(copies, households=rows), np.ones(6, dtype=bool), 1
    )
    apart = choose_pooling("multinomial", copies, np.ones(6, dtype=bool), 1)
    assert together.amount > apart.amount


def test_the_score_is_weighted_and_bounded() -> None:
    p = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert log_score(p, np.array([0, 1]), np.array([2.0, 1])) == pytest.approx(2 * np.log(0.5))
    assert np.isfinite(log_score(p, np.array([0, 0]), np.ones(2)))


def test_one_person_cannot_be_cross_validated() -> None:
    one = some_design(1)
    assert choose_pooling("multinomial", one, np.ones(3, dtype=bool), 1).scores == ()


def test_summaries_tell_the_kind_and_its_numbers() -> None:
    assert "of its own" in Pooling().summary()
    assert "One model" in Pooling("complete").summary()
    text = Pooling("partial", 10.0, 30.0, "cross-validated").summary()
    assert "10 persons" in text
    assert "30 persons" in text
    assert "chosen by cross-validation" in text
    assert "as given" in Pooling("partial", 10.0).summary()
    without = Pooling("partial", np.inf, np.inf).summary()
    assert without.startswith("A stratum has its own class totals")
    assert "inf" not in without.split()
    assert Pooling("partial", np.inf, 3.0).to_dict()["amount"] == "infinite"
    assert Pooling("partial", 2.0).to_dict() == {
        "kind": "partial", "amount": 2.0, "pairs": "infinite", "chosen": "given", "scores": [],
        "pairs_left_out": 0,
    }  # fmt: skip


def test_pairs_are_bounded_by_their_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    digits = np.column_stack([rng.integers(0, k, 500) for k in (20, 20, 2)])
    pairs = pair_terms(3)
    assert pairs_within_bounds(digits, [20, 20, 2], 3, pairs) == pairs
    monkeypatch.setattr("synthpop.models.pooling.MOST_EFFECTS", 2 * 40 * 3)
    assert pairs_within_bounds(digits, [20, 20, 2], 3, pairs) == ((0, 2), (1, 2))
    assert pairs_within_bounds(digits, [20, 20, 2], 4, pairs) == ((0, 2),)


def test_pairs_are_bounded_by_the_work_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = np.zeros((10, 3), dtype=np.int64)
    monkeypatch.setattr("synthpop.models.pooling.MOST_WORK", 2 * 10 * 3)
    assert pairs_within_bounds(digits, [1, 1, 1], 3, pair_terms(3)) == ((0, 1), (0, 2))
    assert pairs_within_bounds(digits, [1, 1, 1], 3, ()) == ()


def test_pairs_left_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthpop.models.pooling.MOST_EFFECTS", 0)
    ladder = fit_ladder(
        "multinomial", some_design(), smallest_stratum=30, pooling="cross-validated"
    )
    assert ladder.pooling.left_out == 1
    assert np.isinf(ladder.pooling.pairs)
    assert "too many cells, not tried: 1" in ladder.pooling.summary()
    assert ladder.pooling.to_dict()["pairs_left_out"] == 1
    given = fit_ladder("multinomial", some_design(), smallest_stratum=30, pooling=3.0)
    table = fit_ladder("empirical", some_design(), smallest_stratum=30, pooling="cross-validated")
    assert given.pooling.left_out == table.pooling.left_out == 0
