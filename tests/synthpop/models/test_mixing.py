"""Partial pooling of any model: two predictions mixed, the share of each by cross-validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synthpop.conditional.fallback import ModelDesign, predict_pooled, predict_with_fallback
from synthpop.conditional.fit_fallback import fit_with_fallback
from synthpop.conditional.pooling.choose import GRID, best, fold_splits, log_score
from synthpop.conditional.pooling.opinion_pool import (
    MIXTURE_GRID,
    HeldOut,
    choose_mixture,
    hold_out,
)
from synthpop.conditional.pooling.options import Mixture, Pooling, mixed, share_of_own
from synthpop.conditional.pooling.partial import way_of
from tests.synthpop.models.test_pooling import some_design

CELLS = np.array([[a, b] for a in (1, 2, 3) for b in (1, 2)])


def models() -> list[object]:
    from sklearn.naive_bayes import GaussianNB

    return ["tree", "boosting", GaussianNB()]


@pytest.mark.parametrize("case", range(3))
def test_predictions_are_mixed_by_persons(case: int) -> None:
    model, design = models()[case], some_design()
    options = {"smallest_stratum": 1, "seed": 3}
    own = fit_with_fallback(model, design, **options)
    pooled = fit_with_fallback(model, design, pooling="complete", **options)
    near = fit_with_fallback(model, design, pooling=50.0, **options)
    assert near.pooling == Pooling("partial", 50.0, way="mixture")
    for stratum in range(3):
        n = int((design.strata == stratum).sum())
        a, b = (predict_with_fallback(sequence, stratum, CELLS)[0] for sequence in (own, pooled))
        found, step = predict_with_fallback(near, stratum, CELLS)
        assert np.allclose(found, (n * a + 50 * b) / (n + 50), atol=1e-9)
        assert (step == 0).all()


def test_the_ends_are_the_two_models() -> None:
    design = some_design()
    options = {"smallest_stratum": 1, "seed": 3}
    ends = [
        [fit_with_fallback("tree", design, pooling=pooling, **options) for pooling in pair]
        for pair in ((0.0, "none"), (np.inf, "complete"))
    ]
    for near, end in ends:
        for stratum in range(3):
            a, b = (predict_with_fallback(sequence, stratum, CELLS) for sequence in (near, end))
            assert np.allclose(a[0], b[0])
            assert (a[1] == b[1]).all()
    assert ends[1][0].by_stratum == (Mixture(None, 0.0),) * 3


def test_the_seed_reaches_models_that_learn_with_randomness() -> None:
    found = [
        predict_with_fallback(
            fit_with_fallback(
                "forest", some_design(200), smallest_stratum=1, pooling=20.0, seed=seed
            ),
            0,
            CELLS,
        )[0]
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_levels_of_the_fallback_remain() -> None:
    """A stratum that lacks a level, one that is too small, a level that nobody has."""
    design = some_design()
    strata = np.where(design.digits[:, 0] == 3, 0, design.strata)
    strata[np.flatnonzero(strata == 2)[5:]] = 0
    sequence = fit_with_fallback(
        "tree", replace(design, strata=strata), smallest_stratum=10, pooling=30.0
    )
    grid = np.array([[1, 1], [3, 1], [0, 1]])
    assert predict_with_fallback(sequence, 0, grid)[1].tolist() == [0, 0, 2]
    assert predict_with_fallback(sequence, 1, grid)[1].tolist() == [0, 1, 2]
    assert predict_with_fallback(sequence, 2, grid)[1].tolist() == [1, 1, 2]
    one = np.array([[3, 1]])
    assert np.allclose(
        predict_with_fallback(sequence, 1, one)[0], predict_pooled(sequence, 1, one)[0]
    )


def test_what_one_model_does_not_know_the_other_tells() -> None:
    own, base = np.array([[0.9, 0.1]] * 2), np.array([[0.5, 0.5], [0.0, 0.0]])
    yes = np.array([True, True])
    found, known = mixed(own, yes, base, np.array([True, False]), 0.25)
    assert np.allclose(found, [[0.6, 0.4], [0.9, 0.1]])
    assert known.all()
    assert not mixed(own, ~yes, base, yes, 0.25)[1].any()


def naive_scores(model, design: ModelDesign, enough: np.ndarray, seed: int, amount: float) -> float:
    """Fit sequences to the rest of each fold and predict who was held out, as it reads."""
    total, weight = 0.0, 0.0
    for rest, held in fold_splits(design.groups, seed):
        learned, unknown = design.rows(rest), design.rows(held)
        sequence = fit_with_fallback(model, learned, smallest_stratum=1, pooling=amount, seed=seed)
        for stratum in np.flatnonzero(enough):
            here = unknown.strata == stratum
            p, step = predict_with_fallback(sequence, stratum, unknown.digits[here])
            assert (step < 2).all()
            found = p[np.arange(here.sum()), unknown.classes[here]]
            total += log_score(found, unknown.weights[here])
            weight += unknown.weights[here].sum()
    return total / weight


@pytest.mark.parametrize("model", ["tree", "empirical"])
def test_scores_are_of_persons_held_out(model: str) -> None:
    design, enough = some_design(700), np.array([True, True, False])
    way = way_of(model)
    found = choose_mixture(model, design, enough, 4, way)
    assert found.way == way
    assert [amount for amount, _ in found.scores] == list(GRID if way == "cells" else MIXTURE_GRID)
    assert best(found.scores) == found.amount
    scores = dict(found.scores)
    for amount in (np.inf, 30.0, 1.0):
        assert scores[amount] == pytest.approx(naive_scores(model, design, enough, 4, amount))
    all_strata = choose_mixture(model, design, np.ones(3, dtype=bool), 4, way)
    assert all_strata.scores != found.scores


@pytest.mark.parametrize("kind", ["tree", "multinomial"])
def test_more_is_pooled_where_strata_are_alike(kind: str) -> None:
    """A pooled tree of few leaves cannot tell strata apart; a large one can, and is as good."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_leaf_nodes=6) if kind == "tree" else kind
    everybody = np.ones(6, dtype=bool)
    alike, apart = (
        choose_mixture(model, some_design(n, spread, n_strata=6), everybody, 1, "mixture").amount
        for n, spread in ((1200, 0.0), (3000, 2.0))
    )
    assert alike > 10 * apart


def test_models_that_say_the_same_are_pooled() -> None:
    """The scores of all amounts are equal up to rounding, whatever tree is grown."""
    design, everybody = some_design(3000, 2.0, n_strata=6), np.ones(6, dtype=bool)
    found = choose_mixture("tree", design, everybody, 1, "mixture")
    assert np.ptp([score for _, score in found.scores]) < 1e-12
    assert found.amount == np.inf


def test_households_are_held_out_whole() -> None:
    single = some_design(300, 0.0, n_strata=6)
    rows = np.repeat(np.arange(300), 6)
    copies, everybody = single.rows(rows), np.ones(6, dtype=bool)
    together = choose_mixture("multinomial", replace(copies, units=rows), everybody, 1, "mixture")
    apart = choose_mixture("multinomial", copies, everybody, 1, "mixture")
    assert together.amount > apart.amount


def test_a_stratum_that_nobody_is_left_of_is_predicted_by_the_others() -> None:
    design = some_design(200)
    rest = design.rows(np.flatnonzero(design.strata != 1))
    held = design.rows(np.flatnonzero(design.strata == 1))
    found = hold_out("empirical", rest, held, np.ones(3, dtype=bool), 1, "cells")
    assert (found.sizes == 0).all()
    assert np.array_equal(found.stratum, found.pooled)
    assert found.weights.tolist() == held.weights.tolist()
    nobody = hold_out("tree", rest, rest, np.array([False, True, False]), 1, "mixture")
    assert len(nobody.weights) == 0


def test_a_score_mixes_and_weighs() -> None:
    held = HeldOut(
        np.array([0.8, 0.1]), np.array([0.4, 0.5]), np.array([10, 0]), np.array([1.0, 3.0])
    )
    wanted = np.log(0.5) + 3 * np.log(0.5)
    assert held.score(30.0) == pytest.approx(wanted)
    assert share_of_own(np.array([10, 0]), np.inf).tolist() == [0.0, 0.0]
    assert share_of_own(np.array([10, 0]), 0.0).tolist() == [1.0, 0.0]


def test_one_household_cannot_be_cross_validated() -> None:
    one = choose_mixture("tree", some_design(1), np.ones(3, dtype=bool), 1, "mixture")
    assert (one.amount, one.scores) == (np.inf, ())
    small = choose_mixture("tree", some_design(50), np.zeros(3, dtype=bool), 1, "mixture")
    assert (small.amount, small.scores) == (np.inf, ())


def test_summaries_are_of_the_way() -> None:
    mixture = Pooling("partial", 30.0, way="mixture")
    assert "predictions of a stratum" in mixture.summary()
    assert "30 persons, as given" in mixture.summary()
    assert "pairs" not in mixture.summary()
    nothing = Pooling("partial", np.inf, chosen="cross-validated", way="mixture").summary()
    assert nothing == (
        "One model for all strata, with nothing specific to a stratum, with the stratum as a "
        "predictor, chosen by cross-validation."
    )
    cells = Pooling("partial", 3.0, way="cells")
    assert "shares of a cell" in cells.summary()
    assert "predictor" not in replace(cells, amount=np.inf).summary()
    assert mixture.to_dict()["way"] == "mixture"


def test_the_way_is_of_the_model() -> None:
    from sklearn.tree import DecisionTreeClassifier

    assert way_of("multinomial") == "effects"
    assert way_of("empirical") == "cells"
    assert way_of("forest") == way_of(DecisionTreeClassifier()) == "mixture"


def test_one_standard_error_is_that_of_the_difference_over_all_folds() -> None:
    """Three folds: the standard error of their sum is the root of three here."""
    best_folds = np.zeros(3)
    for behind, chosen in (([-0.45, 0.55, 1.55], np.inf), ([-0.4, 0.6, 1.6], 100.0)):
        scores = [(np.inf, best_folds - behind), (100.0, best_folds)]
        assert best(scores, "one-standard-error") == chosen
        assert best(scores) == 100.0
