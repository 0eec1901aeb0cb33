"""Shrunk trees: the formula by hand, and what they do not repeat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, load_fitted
from synthpop.models.learners import PredictorCodes, fit_learner, predict_learner
from synthpop.models.shrunk_tree import ShrunkTree
from tests.synthpop.stages.continuous_cases import ROLES, frame_with_income


def halves() -> tuple[np.ndarray, np.ndarray]:
    """Two leaves of ten rows: one has class 1 in two of ten rows, the other in eight."""
    x = np.repeat([0.0, 1.0], 10)[:, None]
    y = np.r_[np.repeat([0, 1], [8, 2]), np.repeat([0, 1], [2, 8])]
    return x, y


def one_split(tree: ShrunkTree, x: np.ndarray, **options: np.ndarray) -> list[float]:
    """The share of class 1 in each leaf."""
    tree.fit(x, halves()[1], **options)
    return tree.predict_proba(np.array([[0.0], [1.0]]))[:, 1].tolist()


def test_leaves_are_means_of_their_own_shares_and_those_above() -> None:
    x, _ = halves()
    assert one_split(ShrunkTree(0.0), x) == pytest.approx([0.2, 0.8])
    # (10 * 0.2 + 5 * 0.5) / 15
    assert one_split(ShrunkTree(5.0), x) == pytest.approx([0.3, 0.7])


def test_households_count_and_a_leaf_of_one_household_says_nothing() -> None:
    x, _ = halves()
    pairs = np.r_[np.arange(10) // 2, 5 + np.arange(10) // 2]  # five households in each leaf
    assert one_split(ShrunkTree(5.0), x, groups=pairs) == pytest.approx([0.35, 0.65])
    one_household = np.r_[np.zeros(10, int), 1 + np.arange(10)]
    assert one_split(ShrunkTree(0.0), x, groups=one_household) == pytest.approx([0.5, 0.8])


def test_weights_count() -> None:
    x, y = halves()
    weights = np.where(y == 1, 3.0, 1.0)
    assert one_split(ShrunkTree(0.0), x, sample_weight=weights)[0] == pytest.approx(6 / 14)


def test_what_is_no_chance_stays_absent() -> None:
    x = np.repeat([0.0, 1.0], 200)[:, None]
    y = np.r_[np.zeros(200, int), np.arange(200) % 2]
    shares = ShrunkTree(50.0).fit(x, y).predict_proba(np.array([[0.0], [1.0]]))
    assert shares[0].tolist() == [1.0, 0.0]
    assert 0.4 < shares[1, 1] < 0.5


def test_cross_validation_shrinks_noise_and_leaves_a_signal() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 30, (600, 3)).astype(float)
    noise, signal = rng.integers(0, 2, 600), (x[:, 0] > 15).astype(int)
    assert ShrunkTree(random_state=1).fit(x, noise).chosen_ >= 20
    assert ShrunkTree(random_state=1).fit(x, signal).chosen_ <= 2
    assert ShrunkTree(3.0).fit(x, noise).chosen_ == 3.0


def test_the_model_of_a_step_knows_households() -> None:
    digits = np.repeat([[1], [2]], 20, axis=0)
    classes = 1 + np.r_[np.zeros(20, int), np.arange(20) % 2]
    models = [
        fit_learner("shrunk-tree", PredictorCodes(digits, [3], [True], (), units), classes,
                    np.ones(40), 3, 1)
        for units in (None, np.r_[np.zeros(20, int), np.arange(1, 21)])
    ]  # fmt: skip
    shares = [predict_learner(model, np.array([[1], [2]]))[0][0, 2] for model in models]
    assert shares[0] < shares[1]


@pytest.mark.parametrize("model", ["shrunk-tree", "nested"])
def test_a_saved_fit_has_the_tree(model: str, tmp_path: Path) -> None:
    steps = [Structure(["sex"]), Categorical("status", model=model, pooling="complete")]
    survey = Survey(frame_with_income(200), **ROLES)
    fitted = Pipeline(steps).fit(survey, seed=1)
    fitted.save(tmp_path / "fit", accept="a test")
    again = load_fitted(tmp_path / "fit").simulate(seed=2).frame()
    assert again.equals(fitted.simulate(seed=2).frame())


@pytest.mark.parametrize("model", ["tree", "shrunk-tree"])
def test_codes_of_few_persons_each_are_no_warning(model: str) -> None:
    digits, classes = np.arange(30)[:, None], np.arange(30) * 2 // 3
    predictors = PredictorCodes(digits, [30], [True])
    fitted = fit_learner(model, predictors, classes, np.ones(30), 20, 1)
    assert len(fitted.classes) == 20
