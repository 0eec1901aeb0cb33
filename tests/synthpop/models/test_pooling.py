"""Partial pooling: penalised scaling, smoothed tables, and the choice of the amount."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synthpop.conditional.design import (
    lay_out,
    margins_of,
    pair_terms,
    pairs_within_bounds,
    single_terms,
)
from synthpop.conditional.fallback import ModelDesign, predict_pooled, predict_with_fallback
from synthpop.conditional.fit_fallback import fit_with_fallback
from synthpop.conditional.pooling.choose import (
    GRID,
    assign_folds,
    best,
    fold_splits,
    log_score,
    search,
)
from synthpop.conditional.pooling.options import Pooling, smoothed_shares
from synthpop.conditional.pooling.partial import (
    PoolingCells,
    choose_penalty,
    choose_pooling,
    fit_base,
)
from synthpop.conditional.pooling.ridge_effects import State, effects_of, shifted, shrink
from synthpop.models.empirical import fit_empirical
from synthpop.models.encoding import distinct_cells

SIZES = (4, 3)


def some_design(n: int = 600, spread: float = 1.0, seed: int = 0, n_strata: int = 3) -> ModelDesign:
    """Three classes given two predictors; `spread` tells how much the effects of strata differ."""
    rng = np.random.default_rng(seed)
    digits = np.column_stack([rng.integers(1, 4, n), rng.integers(1, 3, n)])
    strata = rng.integers(0, n_strata, n)
    effects = rng.normal(0, 1, (1, 4, 3)) + spread * rng.normal(0, 1, (n_strata, 4, 3))
    logits = effects[strata, digits[:, 0]]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    weights = rng.uniform(1, 5, n)
    return ModelDesign(digits, classes, weights, strata, SIZES, (False, False), 3, n_strata)


def fit_ridge_effects(design: ModelDesign, base: np.ndarray, terms, amount: float, **options):
    """Effects of one sample by which it differs from given probabilities."""
    first, inverse = distinct_cells(design.digits, design.sizes)
    layout = lay_out(design.digits[first], np.array([0, len(first)]), design.sizes, terms)
    margins = margins_of(layout, inverse, design.classes, design.weights, base.shape[1])
    state = State.without_effects(layout, base[first])
    outcome = shrink(layout, margins, amount, state, **options)
    return effects_of(layout, state.effects, *outcome)[0]


def naive_ridge_effects(base, digits, classes, weights, terms, amount):
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
    effects = fit_ridge_effects(d, base, terms, amount, tolerance=1e-12, max_sweeps=20_000)
    found, known = shifted(effects, base, d.digits)
    assert known.all()
    assert np.allclose(
        found, naive_ridge_effects(base, d.digits, d.classes, d.weights, terms, amount), atol=1e-5
    )


def test_strata_in_one_call_are_as_one_by_one() -> None:
    d = some_design(400)
    cells, terms, rows = PoolingCells.of(d), single_terms(2), np.arange(400)
    base = base_of(cells.digits)
    layout = cells.by_stratum(d)
    state = State.without_effects(layout, base.copy())
    told = shrink(layout, cells.margins(layout, d, rows), 7.0, state, tolerance=1e-12)
    for stratum, effects in enumerate(effects_of(layout, state.effects, *told)):
        part = d.rows(np.flatnonzero(d.strata == stratum))
        alone = fit_ridge_effects(part, base_of(part.digits), terms, 7.0, tolerance=1e-12)
        assert effects.codes.tolist() == alone.codes.tolist()
        assert effects.starts.tolist() == alone.starts.tolist()
        one, two = (  # a number added to all classes of the constant changes no probability
            fitted.effects - fitted.effects.mean(axis=1, keepdims=True)
            for fitted in (effects, alone)
        )
        assert np.allclose(one, two, atol=1e-9)
        assert effects.gap < 1e-12
        here = slice(cells.blocks[stratum], cells.blocks[stratum + 1])
        found = shifted(alone, base[here], cells.digits[here])[0]
        assert np.allclose(state.probabilities[here], found, atol=1e-12)


def test_levels_and_margins_are_counted_by_block() -> None:
    digits = np.array([[2, 1], [1, 1], [1, 2]])
    layout = lay_out(digits, np.array([0, 1, 1, 3]), SIZES, [(), (0,), (0, 1)])
    assert layout.starts.tolist() == [[0, 1, 2, 3], [3, 3, 3, 3], [3, 4, 5, 7]]
    assert layout.codes.tolist() == [0, 2, 7, 0, 1, 4, 5]
    assert layout.levels.tolist() == [[0, 3, 3], [1, 4, 4], [2, 5, 6]]
    people, classes, weights = np.array([1, 1, 2]), np.array([0, 1, 1]), np.array([1.0, 2.0, 5.0])
    margins = margins_of(layout, people, classes, weights, 2)
    assert margins.totals.tolist() == [0.0, 0.375, 0.625]
    assert margins.n_persons.tolist() == [0, 0, 3]
    assert margins.target[3:].tolist() == [
        [0.125, 0.875],
        [0.125, 0.875],
        [0.125, 0.25],
        [0, 0.625],
    ]
    assert (margins.target[:3] == 0).all()


def test_persons_held_out_are_predicted_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores, again as they read: fit to the rest of each fold, predict who was held out."""
    d = some_design(500)
    monkeypatch.setattr("synthpop.conditional.pooling.partial.COARSE", 1e-10)
    found = choose_pooling("multinomial", d, np.ones(3, dtype=bool), 4)
    total = np.zeros(2)
    for rest, held in fold_splits(d.groups, 4):
        learned, unknown = d.rows(rest), d.rows(held)
        for k, amount in enumerate((np.inf, 30.0)):
            sequence = fit_with_fallback("multinomial", learned, smallest_stratum=1, pooling=amount)
            for stratum in range(3):
                here = unknown.strata == stratum
                p, _ = predict_with_fallback(sequence, stratum, unknown.digits[here])
                of_class = p[np.arange(here.sum()), unknown.classes[here]]
                total[k] += log_score(of_class, unknown.weights[here])
    scores = dict(found.scores)
    assert np.allclose([scores[np.inf], scores[30.0]], total / d.weights.sum(), atol=1e-4)


def test_the_pooled_model_knows_the_strata() -> None:
    d = some_design(400)
    cells = PoolingCells.of(d)
    pooled, base = fit_base(d, np.arange(400), cells)
    sequence = fit_with_fallback("multinomial", d, smallest_stratum=1, pooling="complete")
    for stratum in range(3):
        here = slice(cells.blocks[stratum], cells.blocks[stratum + 1])
        wanted = predict_pooled(sequence, stratum, cells.digits[here])[0]
        assert np.allclose(base[here], wanted)
    coarse, _ = fit_base(d, np.arange(400), cells, 1e-2)
    assert coarse.sweeps < pooled.sweeps
    half, _ = fit_base(d, np.arange(200), cells)
    assert not np.allclose(half.factors, pooled.factors)


def test_without_pull_the_stratum_has_its_own_model() -> None:
    design = some_design(3000)
    own = fit_with_fallback("multinomial", design, smallest_stratum=1)
    near = fit_with_fallback("multinomial", design, smallest_stratum=1, pooling=1e-9)
    grid = np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])
    for stratum in range(3):
        a, step = predict_with_fallback(own, stratum, grid)
        b, _ = predict_with_fallback(near, stratum, grid)
        assert (step == 0).all()
        assert np.allclose(a, b, atol=1e-4)


def test_with_an_infinite_pull_the_stratum_keeps_its_class_totals_only() -> None:
    design = some_design(3000)
    far = fit_with_fallback("multinomial", design, smallest_stratum=1, pooling=np.inf)
    complete = fit_with_fallback("multinomial", design, smallest_stratum=1, pooling="complete")
    for stratum in range(3):
        here = design.strata == stratum
        p, step = predict_with_fallback(far, stratum, design.digits[here])
        q, pooled_step = predict_with_fallback(complete, stratum, design.digits[here])
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
        sequence = fit_with_fallback("multinomial", design, smallest_stratum=1, pooling=amount)
        own, pooled = (
            predict_with_fallback(sequence, 0, grid)[0],
            predict_pooled(sequence, 0, grid)[0],
        )
        gaps.append(np.abs(own - pooled).sum())
    assert gaps[0] > 1.5 * gaps[1] > 2 * gaps[2]


def test_weights_matter() -> None:
    d = some_design(200)
    base, terms = base_of(d.digits), single_terms(2)
    one = fit_ridge_effects(d, base, terms, 5.0)
    same = fit_ridge_effects(replace(d, weights=7 * d.weights), base, terms, 5.0)
    other = fit_ridge_effects(replace(d, weights=np.ones(200)), base, terms, 5.0)
    assert np.allclose(one.effects, same.effects, atol=1e-9)
    assert np.abs(one.effects - other.effects).max() > 1e-2


def test_classes_that_a_level_never_has_stay_possible() -> None:
    digits = np.repeat([[1], [2]], 20, axis=0)
    classes = np.repeat([0, 1], 20)  # separated
    base = np.full((40, 2), 0.5)
    design = ModelDesign(
        digits, classes, np.ones(40), np.zeros(40, dtype=np.int64), (3,), (False,), 2, 1
    )
    effects = fit_ridge_effects(design, base, [(0,)], 2.0)
    p, _ = shifted(effects, base[:1], digits[:1])
    assert 0.0 < p[0, 1] < 0.2
    assert np.isfinite(effects.effects).all()
    impossible = np.tile([1.0, 0.0], (40, 1))
    p, _ = shifted(effects, impossible[:1], digits[:1])
    assert p.tolist() == [[1.0, 0.0]]


def test_three_hundred_levels() -> None:
    rng = np.random.default_rng(1)
    n = 2000
    digits = rng.integers(0, 300, (n, 1))
    design = ModelDesign(
        digits, rng.integers(0, 3, n), np.ones(n), rng.integers(0, 4, n), (300,), (False,), 3, 4
    )
    sequence = fit_with_fallback("multinomial", design, smallest_stratum=1, pooling=10.0)
    p, _ = predict_with_fallback(sequence, 1, np.arange(300)[:, None])
    assert np.allclose(p.sum(axis=1), 1)
    assert np.isfinite(p).all()


@pytest.mark.parametrize("model", ["multinomial", "empirical"])
@pytest.mark.parametrize("pooling", [10.0, "cross-validated", "complete"])
def test_the_levels_of_the_fallback_remain(model: str, pooling) -> None:
    """A stratum of three, one with one class, one without anybody; a level that nobody has."""
    rng = np.random.default_rng(2)
    strata = np.repeat([0, 1, 2], [200, 3, 50])
    n = len(strata)
    digits = rng.integers(1, 3, (n, 1))
    digits[strata == 1] = 1
    classes = np.where(strata == 2, 1, rng.integers(0, 2, n))
    design = ModelDesign(digits, classes, np.ones(n), strata, (4,), (False,), 2, 4)
    sequence = fit_with_fallback(model, design, smallest_stratum=2, pooling=pooling, seed=1)
    grid = np.array([[1], [2], [3]])
    for stratum in range(4):
        p, step = predict_with_fallback(sequence, stratum, grid)
        assert np.allclose(p.sum(axis=1), 1)
        assert step[2] == 2
        if stratum == 3 and pooling != "complete":
            assert (step[:2] == (1 if model == "empirical" else 2)).all()
    if pooling != "complete":
        assert predict_with_fallback(sequence, 1, grid)[1].tolist() == [0, 1, 2]
        few = fit_with_fallback(model, design, smallest_stratum=10, pooling=pooling, seed=1)
        assert predict_with_fallback(few, 1, grid)[1].tolist() == [1, 1, 2]
    allowed = np.array([[False, True]] * 3)
    assert (predict_with_fallback(sequence, 0, grid, allowed)[0][:, 0] == 0).all()


def test_a_table_is_smoothed_towards_all_strata() -> None:
    design = some_design()
    own = fit_with_fallback("empirical", design, smallest_stratum=1)
    half = fit_with_fallback("empirical", design, smallest_stratum=1, pooling=20.0)
    cell = np.array([[2, 1]])
    here = (design.strata == 0) & (design.digits == cell[0]).all(axis=1)
    n = here.sum()
    all_strata = fit_empirical(design.digits, design.classes, design.weights, SIZES, 3)
    shares = all_strata.shares[all_strata.cells[2, 1]]
    wanted = (n * predict_with_fallback(own, 0, cell)[0][0] + 20 * shares) / (n + 20)
    assert np.allclose(predict_with_fallback(half, 0, cell)[0][0], wanted)
    shares, prior = np.array([[0.75, 0.25]]), np.array([[0.0, 1.0]])
    assert np.allclose(smoothed_shares(shares, np.array([5.0]), prior, np.inf), prior)


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
    paired = ModelDesign(digits, classes, np.ones(n), strata, (3, 3), (False,) * 2, 2, 2)
    sequence = fit_with_fallback(
        "multinomial", paired, smallest_stratum=1, pooling="cross-validated"
    )
    assert np.isfinite(sequence.pooling.pairs)
    p, _ = predict_with_fallback(sequence, 0, np.array([[1, 1], [1, 2]]))
    assert p[0, 1] > 0.7
    assert p[1, 1] < 0.3
    without = fit_with_fallback("multinomial", paired, smallest_stratum=1, pooling=100.0)
    assert without.pairs is None
    assert abs(predict_with_fallback(without, 0, np.array([[1, 1]]))[0][0, 1] - 0.5) < 0.1


@pytest.mark.parametrize("others", [0, 2])
def test_two_predictors_that_decide_together_are_learned_from_few(others: int) -> None:
    """An exclusive or, seen in 600 persons: sums of effects get half of the cases right."""
    right = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        digits = rng.integers(1, 3, (600, 2 + others))
        classes = (digits[:, 0] == digits[:, 1]).astype(int)
        strata, m = rng.integers(0, 3, 600), 2 + others
        design = ModelDesign(digits, classes, np.ones(600), strata, (3,) * m, (False,) * m, 2, 3)
        sequence = fit_with_fallback(
            "multinomial", design, smallest_stratum=30, pooling="cross-validated", seed=seed
        )
        p = predict_with_fallback(sequence, 0, digits)[0]
        right.append(p[np.arange(600), classes].mean())
    assert min(right) > 0.95


def numeric_design(n: int = 900, spread: float = 0.0, seed: int = 0) -> ModelDesign:
    """Ages in whole years, to which the log-odds of a class are linear; a level beside them."""
    rng = np.random.default_rng(seed)
    ages = np.arange(20.0, 80.0)
    digits = np.column_stack([rng.integers(1, 61, n), rng.integers(1, 3, n)])
    digits[:20, 0] = 0
    strata = rng.integers(0, 3, n)
    age = np.where(digits[:, 0] > 0, ages[digits[:, 0] - 1], 50.0)
    slope = 0.08 + spread * np.array([-0.08, 0.0, 0.08])[strata]
    p = 1 / (1 + np.exp(-slope * (age - 50) - (digits[:, 1] == 2)))
    classes = (rng.random(n) < p).astype(np.int64)
    numbers = (np.append(np.nan, ages), None)
    weights = rng.uniform(1, 5, n)
    return ModelDesign(digits, classes, weights, strata, (61, 3), (True, False), 2, 3, numbers)


def test_strata_differ_from_a_model_with_numbers_by_classes() -> None:
    design = numeric_design(3000, spread=1.0)
    own = np.column_stack([np.arange(1, 61), np.ones(60, dtype=np.int64)])
    sequences = [
        fit_with_fallback("multinomial", design, smallest_stratum=1, pooling=pooling, seed=1)
        for pooling in ("complete", 1e6, 5.0, "none")
    ]
    complete, far, near, alone = (
        predict_with_fallback(sequence, 0, own)[0][:, 1] for sequence in sequences
    )
    assert np.abs(complete - far).max() < 0.02
    assert np.abs(near - alone).mean() < 0.3 * np.abs(complete - alone).mean()
    effects = sequences[2].by_stratum[0]
    codes = effects.codes[effects.starts[1] : effects.starts[2]]
    assert codes.tolist() == list(range(11))  # missing, and ten classes
    assert len(np.unique(near.round(12))) == 60  # the values still count within a class


def test_values_that_a_stratum_has_in_no_class_are_known() -> None:
    design = numeric_design()
    design = design.rows(np.flatnonzero((design.strata != 0) | (design.digits[:, 0] > 30)))
    sequence = fit_with_fallback("multinomial", design, smallest_stratum=1, pooling=5.0)
    assert predict_with_fallback(sequence, 0, np.array([[2, 1]]))[1].tolist() == [0]
    assert predict_with_fallback(sequence, 0, np.array([[2, 0]]))[1].tolist() == [2]


def test_cross_validation_of_a_model_with_numbers_is_as_it_reads() -> None:
    d = numeric_design(spread=0.5)
    scores = dict(choose_pooling("multinomial", d, np.ones(3, dtype=bool), 4).scores)
    total = 0.0
    for rest, held in fold_splits(d.groups, 4):
        sequence = fit_with_fallback("multinomial", d.rows(rest), smallest_stratum=1, pooling=30.0)
        for stratum in range(3):
            part = d.rows(held[d.strata[held] == stratum])
            p, _ = predict_with_fallback(sequence, stratum, part.digits)
            total += log_score(p[np.arange(len(part.classes)), part.classes], part.weights)
    assert scores[30.0] == pytest.approx(total / d.weights.sum(), abs=2e-3)


def test_pairs_with_a_number_go_by_its_classes() -> None:
    rng = np.random.default_rng(1)
    design = numeric_design(3000)
    young, second = design.digits[:, 0] < 31, design.digits[:, 1] == 2
    classes = (rng.random(3000) < np.where(young == second, 0.9, 0.1)).astype(np.int64)
    design = replace(design, classes=classes)
    sequence = fit_with_fallback(
        "multinomial", design, smallest_stratum=1, pooling="cross-validated"
    )
    assert np.isfinite(sequence.pooling.pairs)
    p = predict_with_fallback(sequence, 1, np.array([[5, 1], [5, 2], [55, 1], [55, 2]]))[0][:, 1]
    assert (p.round() == [0, 1, 1, 0]).all()


def test_households_stay_together_and_the_seed_deals_them() -> None:
    groups = np.repeat(np.arange(50), 3)
    folds = assign_folds(groups, 1)
    assert (folds.reshape(50, 3) == folds.reshape(50, 3)[:, :1]).all()
    assert np.bincount(folds[::3]).tolist() == [13, 13, 12, 12]
    assert (assign_folds(groups, 1) == folds).all()
    assert (assign_folds(groups, 2) != folds).any()
    assert assign_folds(groups, 1, 2).max() == 1


def test_copies_within_households_do_not_pass_for_knowledge() -> None:
    """Members who are alike would make every stratum look as if it had effects of its own."""
    single = some_design(300, 0.0, n_strata=6)
    rows = np.repeat(np.arange(300), 6)
    copies = single.rows(rows)
    together = choose_pooling("multinomial", replace(copies, units=rows), np.ones(6, dtype=bool), 1)
    apart = choose_pooling("multinomial", copies, np.ones(6, dtype=bool), 1)
    assert together.amount > apart.amount


def test_the_score_is_weighted_and_bounded() -> None:
    assert log_score(np.array([0.5, 1.0]), np.array([2.0, 1])) == pytest.approx(2 * np.log(0.5))
    assert np.isfinite(log_score(np.zeros(2), np.ones(2)))


def test_a_search_ends_when_the_score_has_fallen() -> None:
    heights = {5.0: 0.0, 4.0: 2.0, 3.0: 1.0, 2.0: 3.0, 1.0: 2.0, 0.0: 1.0, -1.0: 9.0}
    assert [a for a, _ in search(heights.get, list(heights), falls=1)] == [5.0, 4.0, 3.0]
    twice = search(heights.get, list(heights), falls=2)
    assert [a for a, _ in twice] == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    assert best(twice) == 2.0
    assert best(((2.0, 1.0), (1.0, 1.0))) == 2.0
    assert best(((2.0, -1.0), (1.0, -1.0 + 1e-15), (0.5, -1.1))) == 2.0
    assert best(((2.0, -1e-16), (1.0, 0.0))) == 2.0
    assert best(((2.0, -1.0), (1.0, -1.0 + 1e-8))) == 1.0


def test_pairs_that_make_no_difference_are_left_out() -> None:
    """Everybody is of one class: scores are equal whatever the amount."""
    design = replace(some_design(600), classes=np.ones(600, dtype=np.int64))
    found = choose_penalty(design, np.ones(3, dtype=bool), 1, [(0, 1)])
    assert (found.pairs, found.amount) == (np.inf, np.inf)


def test_splits_are_of_both_kinds() -> None:
    splits = fold_splits(np.array([7, 7, 8]), 1)
    assert sorted(len(held) for _, held in splits) == [1, 2]
    assert all(len(rest) + len(held) == 3 for rest, held in splits)
    assert fold_splits(np.zeros(5), 1) == []


def test_one_person_cannot_be_cross_validated() -> None:
    one = some_design(1)
    assert choose_pooling("multinomial", one, np.ones(3, dtype=bool), 1).scores == ()


def test_summaries_tell_the_kind_and_its_numbers() -> None:
    assert "of its own" in Pooling().summary()
    assert "One model" in Pooling("complete").summary()
    text = Pooling("partial", 10.0, "cross-validated", pairs=30.0).summary()
    assert "10 persons" in text
    assert "30 persons" in text
    assert "chosen by cross-validation" in text
    assert "as given" in Pooling("partial", 10.0).summary()
    without = Pooling("partial", np.inf, pairs=np.inf).summary()
    assert without.startswith("A stratum has its own class totals")
    assert "inf" not in without.split()
    assert Pooling("partial", np.inf, pairs=3.0).to_dict()["amount"] == "infinite"
    assert Pooling("partial", 2.0).to_dict() == {
        "kind": "partial", "amount": 2.0, "pairs": "infinite", "chosen": "given", "scores": [],
        "pairs_left_out": 0, "way": "effects", "totals": 0.0,
    }  # fmt: skip
    text = Pooling("partial", 2.0, totals=30.0).summary()
    assert text.endswith("the model of all strata, with the weight of 30 persons.")
    text = Pooling("partial", 2.0, totals=np.inf).summary()
    assert text.endswith("class totals expected by the model of all strata.")


def test_pairs_are_bounded_by_their_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    digits = np.column_stack([rng.integers(0, k, 500) for k in (20, 20, 2)])
    pairs = pair_terms(3)
    assert pairs_within_bounds(digits, [20, 20, 2], 3, pairs) == pairs
    monkeypatch.setattr("synthpop.conditional.design.MOST_EFFECTS", 2 * 40 * 3)
    assert pairs_within_bounds(digits, [20, 20, 2], 3, pairs) == ((0, 2), (1, 2))
    assert pairs_within_bounds(digits, [20, 20, 2], 4, pairs) == ((0, 2),)


def test_pairs_are_bounded_by_the_work_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    digits = np.zeros((10, 3), dtype=np.int64)
    monkeypatch.setattr("synthpop.conditional.design.MOST_WORK", 2 * 10 * 3)
    assert pairs_within_bounds(digits, [1, 1, 1], 3, pair_terms(3)) == ((0, 1), (0, 2))
    assert pairs_within_bounds(digits, [1, 1, 1], 3, ()) == ()


def test_pairs_left_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthpop.conditional.design.MOST_EFFECTS", 0)
    sequence = fit_with_fallback(
        "multinomial", some_design(), smallest_stratum=30, pooling="cross-validated"
    )
    assert sequence.pooling.left_out == 1
    assert np.isinf(sequence.pooling.pairs)
    assert "too many cells, not tried: 1" in sequence.pooling.summary()
    assert sequence.pooling.to_dict()["pairs_left_out"] == 1
    given = fit_with_fallback("multinomial", some_design(), smallest_stratum=30, pooling=3.0)
    table = fit_with_fallback(
        "empirical", some_design(), smallest_stratum=30, pooling="cross-validated"
    )
    assert given.pooling.left_out == table.pooling.left_out == 0


def test_a_coarse_comparison_makes_the_choice_of_an_exact_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d, enough = some_design(2000), np.ones(3, dtype=bool)
    coarse = choose_pooling("multinomial", d, enough, 4, ((0, 1),))
    monkeypatch.setattr("synthpop.conditional.pooling.partial.COARSE", 1e-9)
    exact = choose_pooling("multinomial", d, enough, 4, ((0, 1),))
    assert (coarse.amount, coarse.pairs, coarse.totals) == (exact.amount, exact.pairs, exact.totals)
    near = np.array(coarse.scores)[:, 1] - np.array(exact.scores)[:, 1]
    assert 0 < np.abs(near).max() < 1e-3
