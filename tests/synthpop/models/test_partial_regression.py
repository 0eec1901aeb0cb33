"""Regressions of strata shrunk towards the pooled one, against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.pooling.regression import Unit, centre_of
from synthpop.conditional.pooling.regression_methods import (
    AMOUNTS,
    RegressionPooling,
    fit_partial_regressions,
)
from synthpop.models.regression import fit_regression, predict_regression

SIZES = (4, 3)


def everything(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.ones(len(y), dtype=bool)


def sample(n: int = 300, gap: float = 1.0, seed: int = 0) -> tuple[ModelDesign, np.ndarray]:
    """Three strata of unequal size, whose slopes differ; weights from 1 to 9."""
    rng = np.random.default_rng(seed)
    strata = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    digits = np.column_stack([rng.integers(1, 4, n), rng.integers(1, 3, n)])
    slope = 2.0 + gap * np.array([-1.0, 0.0, 1.0])[strata]
    y = 1 + slope * (digits[:, 0] == 3) + (digits[:, 1] == 1) + strata + rng.normal(0, 1, n)
    design = ModelDesign(
        digits, np.zeros(n, np.int64), rng.uniform(1, 9, n), strata, SIZES, (False, False), 1, 3,
        units=np.arange(n) // 3,
    )  # fmt: skip
    return design, y


def plain_columns(digits: np.ndarray) -> np.ndarray:
    """Dummies beside the reference levels 1 and 1, without a constant."""
    found = [digits[:, 0] == 2, digits[:, 0] == 3, digits[:, 1] == 2]
    return np.column_stack(found).astype(float)


def naive(kind: str, design: ModelDesign, y: np.ndarray, stratum: int, k: float) -> np.ndarray:
    """The formula of the module read aloud: fitted logarithms or means of all cells."""
    x, w, s = plain_columns(design.digits), design.weights, design.strata
    wide = np.column_stack([x, s == 0, s == 1, s == 2]).astype(float)

    def loss(b: np.ndarray, x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
        eta = x @ b
        one = (y - eta) ** 2 / 2 if kind == "linear" else np.exp(eta) - y * eta
        return float(w @ one)

    options = {"method": "BFGS", "options": {"gtol": 1e-9, "maxiter": 2000}}
    b0 = minimize(loss, np.zeros(6), args=(wide, y, w / w.sum()), **options).x
    mass = w if kind == "linear" else w * np.exp(wide @ b0)
    far = x - np.average(x, axis=0, weights=mass)
    curvature = sum(m * np.outer(f, f) for m, f in zip(mass, far, strict=True)) / w.sum()
    here = s == stratum
    mine, own = np.column_stack([np.ones(here.sum()), x[here]]), w[here] / w[here].mean()

    def penalised(b: np.ndarray) -> float:
        move = b[1:] - b0[:3]
        return (loss(b, mine, y[here], own) + k / 2 * move @ curvature @ move) / here.sum()

    b = minimize(penalised, np.append(b0[3 + stratum], b0[:3]), **options).x
    return b


CELLS = np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])


@pytest.mark.parametrize("kind", ["linear", "counts"])
@pytest.mark.parametrize("k", [0.3, 10.0, 500.0])
def test_against_a_general_optimiser(kind: str, k: float) -> None:
    design, y = sample()
    if kind == "counts":
        y = np.random.default_rng(1).poisson(np.exp(y / 3)).astype(float)
    found = fit_partial_regressions(kind, design, y, everything, np.ones(3, bool), 1, k)
    for stratum in range(3):
        b = naive(kind, design, y, stratum, k)
        expected = b[0] + plain_columns(CELLS) @ b[1:]
        model = found.by_stratum[stratum]
        assert model is not None
        fitted, known = predict_regression(model, CELLS)
        assert known.all()
        if kind == "counts":
            fitted = np.log(fitted)
        assert np.allclose(fitted, expected, atol=2e-5)


@pytest.mark.parametrize("kind", ["linear", "counts"])
def test_between_the_model_of_the_stratum_and_the_pooled_slopes(kind: str) -> None:
    design, y = sample()
    y = np.abs(np.round(y)) if kind == "counts" else y
    rows = np.flatnonzero(design.strata == 1)
    alone = fit_regression(kind, design.digits[rows], y[rows], design.weights[rows], SIZES)
    wide, centre = centre_of(kind, design, y)
    unit = Unit.of(centre, design.rows(rows), y[rows])
    scale = np.log if kind == "counts" else np.asarray
    own = scale(predict_regression(alone, CELLS)[0])
    held = {k: scale(predict_regression(unit.regression(k), CELLS)[0]) for k in (1e-9, 30, np.inf)}
    with_stratum = np.column_stack([CELLS, np.ones(len(CELLS), np.int64)])
    pooled = scale(predict_regression(wide, with_stratum)[0])
    assert np.allclose(held[1e-9], own, atol=1e-7)
    assert np.allclose(held[np.inf] - held[np.inf][0], pooled - pooled[0], atol=1e-9)
    gap = {k: np.abs(one - one[0] - pooled + pooled[0]).max() for k, one in held.items()}
    assert 1e-3 < gap[30] < gap[1e-9]
    for k in held:  # the constant is free: the total of the stratum is its own
        fitted = predict_regression(unit.regression(k), design.digits[rows])[0]
        assert np.isclose(design.weights[rows] @ fitted, design.weights[rows] @ y[rows])


def test_levels_that_a_stratum_lacks_are_those_of_all() -> None:
    design, y = sample()
    keep = ~((design.strata == 2) & (design.digits[:, 0] == 3))
    design, y = design.rows(np.flatnonzero(keep)), y[keep]
    found = fit_partial_regressions("linear", design, y, everything, np.ones(3, bool), 1, 5.0)
    model = found.by_stratum[2]
    assert model is not None
    fitted, known = predict_regression(model, np.array([[3, 1], [1, 1], [0, 1]]))
    assert known.tolist() == [True, True, False]
    assert 0.5 < fitted[0] - fitted[1] < 3.5


def test_weights_count() -> None:
    design, y = sample()
    heavy = np.where(design.digits[:, 1] == 1, 50.0, 1.0)
    moved = fit_partial_regressions(
        "linear", ModelDesign(design.digits, design.classes, heavy, design.strata, SIZES,
                         (False, False), 1, 3), y, everything, np.ones(3, bool), 1, 20.0
    )  # fmt: skip
    plain = fit_partial_regressions("linear", design, y, everything, np.ones(3, bool), 1, 20.0)
    a, b = (one.by_stratum[0] for one in (moved, plain))
    assert a is not None
    assert b is not None
    assert not np.allclose(a.coefficients, b.coefficients, atol=1e-3)
    assert moved.pooling == RegressionPooling("partial", 20.0)


def test_only_values_that_are_kept_and_strata_that_are_large_enough() -> None:
    design, y = sample()
    y = y.copy()
    y[::7] = 1e6
    options = ("linear", design, y, lambda v, w: v < 1e5)
    found = fit_partial_regressions(*options, np.array([True, False, True]), 1, 20.0)
    assert found.by_stratum[1] is None
    assert found.by_stratum[0] is not None
    assert (predict_regression(found.by_stratum[0], CELLS)[0] < 100).all()
    chosen = fit_partial_regressions(*options, np.ones(3, bool), 1, "cross-validated")
    assert all(score > -100 for _, score in chosen.pooling.scores)


@pytest.mark.parametrize("kind", ["linear", "counts"])
def test_strata_that_are_alike_are_pooled_more(kind: str) -> None:
    def chosen(gap: float) -> RegressionPooling:
        design, y = sample(3000, gap, seed=3)
        if kind == "counts":
            y = np.random.default_rng(1).poisson(np.exp(y / 3)).astype(float)
        return fit_partial_regressions(
            kind, design, y, everything, np.ones(3, bool), 1, "cross-validated"
        ).pooling

    alike, apart = chosen(0.0), chosen(4.0)
    assert alike.amount >= 300
    assert apart.amount <= 100
    assert apart.chosen == "cross-validated"
    amounts = [amount for amount, _ in apart.scores]
    assert tuple(amounts) == AMOUNTS[: len(amounts)]
    assert apart.amount == max(apart.scores, key=lambda pair: pair[1])[0]


def test_households_stay_together_and_the_seed_deals_them() -> None:
    design, y = sample(400)

    def scores(design: ModelDesign, seed: int) -> tuple[tuple[float, float], ...]:
        return fit_partial_regressions(
            "linear", design, y, everything, np.ones(3, bool), seed, "cross-validated"
        ).pooling.scores

    alone = ModelDesign(design.digits, design.classes, design.weights, design.strata, SIZES,
                   (False, False), 1, 3)  # fmt: skip
    assert scores(design, 1) == scores(design, 1)
    assert scores(design, 1) != scores(design, 2)
    assert scores(design, 1) != scores(alone, 1)


def test_what_is_told() -> None:
    told = RegressionPooling("partial", 100.0, "cross-validated", ((np.inf, -2.0), (100.0, -1.0)))
    assert told.to_dict() == {
        "kind": "partial",
        "amount": 100.0,
        "chosen": "cross-validated",
        "scores": [["infinite", -2.0], [100.0, -1.0]],
    }
    assert "the weight of 100 persons, chosen by cross-validation" in told.summary()
    assert "the coefficients of all" in RegressionPooling("partial", np.inf).summary()
    assert "a regression of its own" in RegressionPooling().summary()
    assert "One regression for all" in RegressionPooling("complete").summary()


@pytest.mark.parametrize("kind", ["linear", "counts"])
def test_combinations_that_the_sample_cannot_tell_apart_are_not_predicted(kind: str) -> None:
    levels = np.repeat([1, 2, 3], 20)
    digits = np.column_stack([levels, np.minimum(levels, 2)])
    strata = np.arange(60) % 2
    design = ModelDesign(
        digits, np.zeros(60, np.int64), np.linspace(1.0, 3.0, 60), strata, SIZES, (False, False),
        1, 2,
    )  # fmt: skip
    y = np.random.default_rng(2).poisson(2.0 * levels + strata).astype(float)
    fitted = fit_partial_regressions(kind, design, y, everything, np.ones(2, bool), 1, 5.0)
    for model in fitted.by_stratum:
        assert model is not None
        # (1, 1), (2, 2) and (3, 2) occur; (1, 2), (2, 1) and (3, 1) do not follow from these
        cells = np.array([[1, 1], [2, 2], [3, 2], [1, 2], [2, 1], [3, 1]])
        known = predict_regression(model, cells)[1]
        assert known.tolist() == [True, True, True, False, False, False]


def test_counts_of_a_stratum_that_runs_against_all_others() -> None:
    """The first steps of the optimiser would go too far: they are halved."""
    digits = np.column_stack([np.tile([1, 1, 1, 3], 25), np.ones(100, np.int64)])
    strata = (np.arange(100) >= 92).astype(np.int64)
    high = digits[:, 0] == 3
    y = np.where(strata == 0, np.where(high, 400.0, 1.0), np.where(high, 1.0, 400.0))
    design = ModelDesign(
        digits, np.zeros(100, np.int64), np.ones(100), strata, SIZES, (False, False), 1, 2
    )
    fitted = fit_partial_regressions("counts", design, y, everything, np.ones(2, bool), 1, 1e-9)
    assert fitted.by_stratum[1] is not None
    means = predict_regression(fitted.by_stratum[1], np.array([[1, 1], [3, 1]]))[0]
    assert np.allclose(means, [400.0, 1.0], rtol=1e-6)
