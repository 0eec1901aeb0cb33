"""The intruder's models: trained on released records, asked about the keys of real persons."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.indexer import number_rows
from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.prediction.features import Features
from riskeval.attacks.prediction.nearest import NearestKeys
from riskeval.attacks.request import AttackRequest
from riskeval.attacks.targets import AttackTargets, combine_members
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.message import joined_by
from synthpop.microdata.runs.environment import one_thread
from synthpop.microdata.statistics.streams import Streams

ROUNDING = 1e-9
AT_ONCE = 50_000
TREES = 100
STEPS, LONGEST_STEP = 10.0, 0.5
"""Learning rates of all trees of boosting together, and the largest of one."""
PANEL = ("nearest", "forest", "boosting")
MODELS = ("panel", *PANEL, "tree", "linear")


@dataclass(frozen=True, slots=True, eq=False)
class UnitsAtRisk:
    """Units at risk among those of one file with a true value."""

    # at_risk, judged, comparable: bool, shape (n_units,): whether a unit is predicted too well;
    # whether it is looked for and has a true value; whether it is, and can be compared with other
    # files
    at_risk: np.ndarray
    judged: np.ndarray
    comparable: np.ndarray

    @property
    def hits(self) -> int:
        """Judged units at risk."""
        return int((self.at_risk & self.judged).sum())

    @property
    def n(self) -> int:
        """Judged units."""
        return int(self.judged.sum())

    @property
    def rate(self) -> float:
        """Share of the judged units at risk."""
        return self.hits / self.n if self.n else float("nan")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RapidTrial:
    """What the models are trained on, and whose target they predict."""

    request: AttackRequest
    people: dict[str, pd.DataFrame]  # files of real persons by role
    believed: dict[str, pd.DataFrame]  # the same with the keys that the intruder believes
    targets: dict[str, AttackTargets]
    train: pd.DataFrame
    numeric: list[str]  # keys and target that are amounts in every file
    limits: tuple[float, ...]  # tolerances of a numeric target
    threshold: float  # gain above which a category is at risk
    confidence: float
    workers: int
    trees: int
    overlap: str  # that the hold-out holds no strangers; empty where nothing shows it
    streams: Streams

    @property
    def target(self) -> str:
        """Column that is predicted."""
        return self.request.targets[0]

    @property
    def is_numeric(self) -> bool:
        """Whether the target is an amount."""
        return self.target in self.numeric

    def units(self, predicted: pd.DataFrame, role: str = "original") -> UnitsAtRisk:
        """Units at risk; persons without a true value are left out."""
        known = self.people[role][self.target].notna().to_numpy()
        targets, members = self.targets[role], self.request.members
        flags = predicted["at_risk"].to_numpy(dtype=np.bool_)
        at_risk = combine_members(flags[known], targets.unit[known], targets.n, members)
        has_value = combine_members(known, targets.unit, targets.n, "any")
        return UnitsAtRisk(at_risk, has_value & targets.looked_for, has_value & targets.comparable)


class TargetModel:
    """One model of the target, trained on the release.

    model: one of `PANEL`, "tree", "linear", or an estimator of scikit-learn
    """

    def __init__(self, trial: RapidTrial, model: Any) -> None:
        self.trial, self.model = trial, model
        self.messages: list[str] = []
        is_name = isinstance(model, str)
        self.name = model if is_name else type(model).__name__
        keys = trial.request.keys
        numeric = [key for key in keys if key in trial.numeric]
        self.features: Any
        if is_name and model == "nearest":
            self.features = NearestKeys(trial.train, keys, numeric)
        else:
            self.features = Features(
                trial.train, keys, numeric, dummies=is_name and model == "linear",
                filled=not is_name or model == "linear",
            )  # fmt: skip

    def warned(self) -> str:
        """What the model warned of, once each."""
        return joined_by("; ", dict.fromkeys(self.messages))

    def predict(
        self, roles: Collection[str], rng: np.random.Generator, order: np.ndarray | None = None
    ) -> list[pd.DataFrame]:
        """Train once, predict the persons of files from believed keys; `order` shuffles the target.

        Returns ``at_risk``, ``score`` and ``predicted`` of each person of each file.
        """
        # 1. The model is asked once for each distinct combination of keys, in the order of the
        #    keys: neighbours go the same way down a tree, whose nodes then stay in the cache
        trial = self.trial
        believed = [trial.believed[role][list(trial.request.keys)] for role in roles]
        keys = pd.concat(believed, ignore_index=True)
        row, last_rows = number_rows(self.features.of(keys))
        points = self.features.of(keys.iloc[last_rows])
        by_keys = np.lexsort(points.T[::-1])
        points, row = points[by_keys], np.argsort(by_keys)[row]
        # 2. Train and predict
        predict = self._numbers if trial.is_numeric else self._levels
        true = pd.concat([trial.people[role][trial.target] for role in roles], ignore_index=True)
        result = predict(points, row, true, rng, order)
        # 3. Back to files
        ends = np.cumsum([len(frame) for frame in believed])[:-1]
        return [result.iloc[rows].reset_index(drop=True)
                for rows in np.split(np.arange(len(result)), ends)]  # fmt: skip

    def _numbers(
        self,
        points: np.ndarray,
        row: np.ndarray,
        true: pd.Series,
        rng: np.random.Generator,
        order: np.ndarray | None,
    ) -> pd.DataFrame:
        values = as_numbers(self.trial.train[self.trial.target])
        learnt = values if order is None else values[order]
        if self.model == "nearest":
            predicted = self.features.values(points, learnt)[row]
        else:
            predicted = self._fitted(learnt, rng, points, "predict").astype(np.float64)[row]
        truth = as_numbers(true)
        slack = ROUNDING * np.abs(values).max(initial=0.0)
        gap = np.abs(predicted - truth)
        nonzero = np.abs(truth) > 0
        zero_error = np.where(gap <= slack, 0.0, np.inf)
        error = np.divide(gap, np.abs(truth), out=zero_error, where=nonzero)
        error = np.where(np.isnan(truth), np.nan, error)
        at_risk = gap <= max(self.trial.limits) * np.abs(truth) + slack
        return pd.DataFrame({"at_risk": at_risk, "score": error, "predicted": predicted})

    def _levels(
        self,
        points: np.ndarray,
        row: np.ndarray,
        true: pd.Series,
        rng: np.random.Generator,
        order: np.ndarray | None,
    ) -> pd.DataFrame:
        coder = LevelCoder(())  # code 0 is missing, those of the training records come first
        target = self.trial.target
        codes = coder.code(self.trial.train[target]).astype(np.int64) - 1
        n_levels = coder.size - 1
        of_original = coder.code(self.trial.people["original"][target])
        truth = coder.code(true)
        of_original = of_original[of_original > 0]
        shares = np.bincount(of_original, minlength=coder.size) / max(len(of_original), 1)
        learnt = codes if order is None else codes[order]
        if n_levels == 1:
            chances = np.ones((len(points), 1))
        elif self.model == "nearest":
            chances = self.features.shares(points, learnt, n_levels)
        else:
            chances = self._fitted(learnt, rng, points, "predict_proba")
        familiar = (truth > 0) & (truth <= n_levels)  # a level that the model has met
        guess = np.where(familiar, chances[row, np.where(familiar, truth - 1, 0)], 0.0)
        base = shares[truth]
        gain = np.divide(guess - base, 1 - base, out=np.zeros(len(base)), where=base < 1)
        gain = np.where(truth == 0, np.nan, gain)
        levels = np.array(coder.levels[1 : n_levels + 1], dtype=object)
        best = levels[chances.argmax(axis=1)[row]]
        at_risk = gain > self.trial.threshold
        return pd.DataFrame({"at_risk": at_risk, "score": gain, "predicted": best})

    def _fitted(
        self, target: np.ndarray, rng: np.random.Generator, points: np.ndarray, method: str
    ) -> np.ndarray:
        """Train a fresh model and ask it about points, in parts that do not depend on workers."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = _estimator(self.model, self.trial, rng)
            with one_thread("openmp"):  # two threads on busy cores are slower than one
                model.fit(_without_empty(self.features.train), target)
            if self.model == "forest":
                model.set_params(n_jobs=1)  # parts side by side instead, summed in one order
            blocks = [points[begin : begin + AT_ONCE] for begin in range(0, len(points), AT_ONCE)]
            with ThreadPoolExecutor(self.trial.workers) as pool:
                predicted = list(pool.map(partial(_answers, getattr(model, method)), blocks))
        self.messages.extend(
            f"{warning.category.__name__}: {str(warning.message).splitlines()[0]}"
            for warning in caught
        )
        return np.concatenate([np.asarray(answers) for answers in predicted])


def _estimator(model: Any, trial: RapidTrial, rng: np.random.Generator) -> Any:
    """A fresh estimator of scikit-learn whose draws come from `rng`."""
    from sklearn.base import clone

    numeric, trees = trial.is_numeric, trial.trees
    state = int(rng.integers(2**31 - 1))
    if not isinstance(model, str):
        copy = clone(model)
        if "random_state" in copy.get_params(deep=False):
            copy.set_params(random_state=state)
        return copy
    if model == "linear":
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        regression = LinearRegression() if numeric else LogisticRegression(max_iter=1000)
        return make_pipeline(StandardScaler(), regression)
    if model == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        boosting = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
        return boosting(
            random_state=state, early_stopping=False, min_samples_leaf=1, max_iter=trees,
            learning_rate=min(STEPS / trees, LONGEST_STEP),
        )  # fmt: skip
    if model == "tree":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        tree = DecisionTreeRegressor if numeric else DecisionTreeClassifier
        return tree(min_samples_leaf=5, random_state=state)
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    # leaves of a single record: a forest that smooths does not see what was memorised
    forest = RandomForestRegressor if numeric else RandomForestClassifier
    return forest(n_estimators=trees, min_samples_leaf=1, random_state=state, n_jobs=trial.workers)


def _answers(ask: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
    with one_thread("openmp"):
        return ask(points)


def _without_empty(train: np.ndarray) -> np.ndarray:
    """Return the features; a column without any value, which trees cannot cut, is constant."""
    empty = np.isnan(train).all(axis=0)
    return np.where(empty, 0.0, train) if empty.any() else train
