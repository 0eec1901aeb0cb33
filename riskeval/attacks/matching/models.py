"""Models of scenario 5: what an intruder fits to the synthetic population to predict a target.

The population is read once. The linear model of numbers needs counts and sums by pairs of levels;
every other model is fitted to the distinct key combinations (cells) with their numbers of persons
and means, which for squared error is the same as to fit it to the persons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol

import numpy as np

from riskeval.attacks.matching.key_cells import KeyCells
from riskeval.attacks.matching.key_model import KeyMoments, solve_key_model
from riskeval.attacks.matching.models_stepwise import fit_terms
from synthpop.microdata.frame.codes import cell_ids, first_rows
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import count
from synthpop.microdata.runs.environment import one_thread

MODELS = ("linear", "stepwise", "forest", "boosting")
MODEL_STORIES = {
    "linear": message("a linear model"),
    "stepwise": "a linear model whose keys and pairs of keys were chosen stepwise",
    "forest": "a random forest",
    "boosting": "boosted trees",
}
MOST_WAITING = 1 << 20
"""Rows of cell tables that are kept before equal cells are added up."""
TREES = 100
STEPS = 10
MOST_CATEGORIES = 250
"""Levels up to which boosting takes a key as categories; above, as ordered."""

Predict = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """A fitted model."""

    # from codes, shape (n, m), to values (NaN where none) or level codes (-1 where none), shape
    # (n,)
    predict: Predict
    text: str  # what was fitted, in words


class Learner(Protocol):
    """Reads the population block by block, then is solved."""

    def add(self, codes: np.ndarray, sizes: Sequence[int], outcome: np.ndarray) -> None:
        """Add persons: codes, shape (m, n); numbers of codes; values or level codes, (n,)."""

    def solve(self, on_event: Listener) -> FittedModel:
        """Fit the model."""


def check_model(faults: Faults, model: Any, numeric: bool, categorical: bool) -> None:
    """Note a model that is not known, or does not suit the targets."""
    if isinstance(model, str):
        check_choice(faults, "model", model, MODELS)
        return
    from sklearn.base import is_classifier, is_regressor

    if not (hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params")):
        hint = f"There are: {', '.join(MODELS)}; or give an estimator of scikit-learn."
        faults.add("model", f"{model!r} is not a model", hint=hint)
        return
    for wrong, what in (
        (numeric and not is_regressor(model), "a regressor for a target of numbers"),
        (categorical and not is_classifier(model), "a classifier for a target of categories"),
    ):
        if wrong:
            faults.add("model", f"{type(model).__name__} is not {what}")
    if "sample_weight" not in signature(model.fit).parameters:
        what = f"{type(model).__name__} does not take weights, so it cannot count persons"
        faults.add("model", what, hint="Give an estimator whose fit has sample_weight.")


def learner(model: Any, n_keys: int, categorical: bool, rng: np.random.Generator) -> Learner:
    """Return what reads the population for a model."""
    if model == "linear" and not categorical:
        return LinearOfNumbers(n_keys)
    return CellLearner(model, categorical, rng)


class LinearOfNumbers:
    """Main-effects least squares of persons, from counts and sums by pairs of levels."""

    def __init__(self, n_keys: int) -> None:
        self.moments = KeyMoments(n_keys)

    def add(self, codes: np.ndarray, sizes: Sequence[int], outcome: np.ndarray) -> None:
        """Add persons."""
        self.moments.make_room(sizes)
        self.moments.add(codes, outcome)

    def solve(self, on_event: Listener) -> FittedModel:
        """Solve the normal equations."""
        model = solve_key_model(self.moments)
        text = message(
            "{linear} with {n_coefficients} coefficients",
            linear=MODEL_STORIES["linear"],
            n_coefficients=count(model.n_coefficients),
        )
        return FittedModel(model.predict, text)


class CellLearner:
    """Adds the population up by cells, then fits a model to them."""

    def __init__(self, model: Any, categorical: bool, rng: np.random.Generator) -> None:
        self.model, self.categorical, self.rng = model, categorical, rng
        self.waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.square = 0.0
        self.sizes: tuple[int, ...] = ()

    def add(self, codes: np.ndarray, sizes: Sequence[int], outcome: np.ndarray) -> None:
        """Add persons; those without an outcome are left out."""
        self.sizes = tuple(sizes)
        used = outcome >= 0 if self.categorical else ~np.isnan(outcome)
        rows = np.empty((int(used.sum()), len(codes) + self.categorical), dtype=np.int32)
        rows[:, : len(codes)] = codes[:, used].T
        if self.categorical:  # a level is one more column; only persons are counted
            rows[:, -1], values = outcome[used], np.zeros(len(rows))
        else:
            values = outcome[used].astype(np.float64)
            self.square += float(values @ values)
        self.waiting.append(_added_up(rows, np.ones(len(rows)), values))
        if len(self.waiting) > 1 and sum(len(table[0]) for table in self.waiting) > MOST_WAITING:
            self.waiting = [self._joined()]

    def cells(self) -> KeyCells:
        """The table of cells."""
        rows, persons, total = self._joined()
        if not self.categorical:
            return KeyCells(rows, persons, total[:, None], self.square, self.sizes)
        m = rows.shape[1] - 1
        ids, n_cells = cell_ids(rows[:, :m])
        n_levels = int(rows[:, m].max(initial=-1)) + 1
        first = first_rows(ids, n_cells)
        levels = np.zeros((n_cells, n_levels))
        np.add.at(levels, (ids, rows[:, m]), persons)
        by_cell = levels.sum(axis=1)
        return KeyCells(rows[first, :m], by_cell, levels, float(by_cell.sum()), self.sizes)

    def solve(self, on_event: Listener) -> FittedModel:
        """Fit the model to the cells."""
        cells = self.cells()
        if len(cells.persons) == 0:
            empty = -1 if self.categorical else np.nan
            return FittedModel(lambda codes: np.full(len(codes), empty), message("nothing to fit"))
        if self.model in ("linear", "stepwise"):
            terms = fit_terms(cells, stepwise=self.model == "stepwise", on_event=on_event)

            def highest(codes: np.ndarray) -> np.ndarray:
                scores = terms.predict(codes)
                return scores.argmax(axis=1) if self.categorical else scores[:, 0]

            return FittedModel(_answer(cells, highest, self.categorical), terms.text)
        codes, target, weight = cells.codes, cells.total[:, 0] / cells.persons, cells.persons
        if self.categorical:
            cell, target = np.nonzero(cells.total)
            if len(np.unique(target)) == 1:  # nothing to learn, and not every classifier takes that
                always: Predict = lambda codes: np.full(len(codes), target[0])  # noqa: E731
                return FittedModel(
                    _answer(cells, always, True), message("one level, always predicted")
                )
            codes, weight = cells.codes[cell], cells.total[cell, target]
        fitted = self._trained(codes, target, weight, on_event)
        is_name = isinstance(self.model, str)
        name = MODEL_STORIES[self.model] if is_name else type(self.model).__name__
        text = message("{name} of {n} key combinations", name=name, n=count(len(cells.persons)))
        return FittedModel(_answer(cells, fitted.predict, self.categorical), text)

    def _trained(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray, on_event: Listener) -> Any:
        estimator, grows = self._estimator()
        steps = [TREES] if grows is None else range(STEPS, TREES + 1, STEPS)
        for done in steps:
            if grows is not None:
                estimator.set_params(**{grows: done})
            try:
                with one_thread("openmp"):  # two threads on busy cores are slower than one
                    estimator.fit(x, y, sample_weight=weight)
            except (ValueError, TypeError) as error:
                what = f"{type(estimator).__name__} could not be fitted: {error}"
                raise InputError.of("model of scenario 5", "model", what) from error
            on_event(Event("progress", "scenario 5", done, TREES, "trees" if grows else "model"))
        return estimator

    def _estimator(self) -> tuple[Any, str | None]:
        """Return the estimator and the name of its number of trees, if it grows by steps."""
        from sklearn.base import clone
        from sklearn.ensemble import (
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
            RandomForestClassifier,
            RandomForestRegressor,
        )

        seed = int(self.rng.integers(1 << 31))
        if self.model == "forest":
            forest = RandomForestClassifier if self.categorical else RandomForestRegressor
            return forest(warm_start=True, random_state=seed), "n_estimators"
        if self.model == "boosting":
            boosting: Any = HistGradientBoostingRegressor
            if self.categorical:
                boosting = HistGradientBoostingClassifier
            nominal = [size <= MOST_CATEGORIES for size in self.sizes]
            model = boosting(
                warm_start=True, early_stopping=False, categorical_features=nominal,
                min_samples_leaf=1, random_state=seed,
            )  # fmt: skip
            return model, "max_iter"
        estimator = clone(self.model)
        if estimator.get_params().get("random_state", seed) is None:
            estimator.set_params(random_state=seed)
        return estimator, None

    def _joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, persons, values = (np.concatenate(of) for of in zip(*self.waiting, strict=True))
        return _added_up(rows, persons, values)


def _added_up(
    rows: np.ndarray, persons: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up persons and values of equal rows."""
    if len(rows) == 0:
        return rows, persons, values
    ids, n_cells = cell_ids(rows)
    first = first_rows(ids, n_cells)
    total = np.bincount(ids, weights=values, minlength=n_cells)
    return rows[first], np.bincount(ids, weights=persons, minlength=n_cells), total


def _answer(cells: KeyCells, predict: Predict, categorical: bool) -> Predict:
    """Predictions, values or codes of levels, of rows all of whose levels occur."""

    def answer(codes: np.ndarray) -> np.ndarray:
        is_known = cells.known(codes)
        answers = np.full(len(codes), -1 if categorical else np.nan)
        if is_known.any():
            answers[is_known] = predict(codes[is_known])
        return answers.astype(np.int64) if categorical else answers

    return answer
