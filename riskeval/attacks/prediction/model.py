"""The intruder's model: trained on synthetic records, asked about the keys of real persons."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.indexer import number_rows
from riskeval.attacks.prediction.features import Features, Levels, as_numbers, is_number
from riskeval.attacks.unit_of_attack import Ask, Households, joined

ROUNDING = 1e-9
AT_ONCE = 50_000
TREES = 100


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """The model of the intruder, trained on demand."""

    ask: Ask
    model: Any
    threshold: float
    limits: tuple[float, ...]
    original: pd.DataFrame
    train: pd.DataFrame
    workers: int
    features: Features = field(init=False)
    heard: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        numeric = [
            key for key in self.ask.keys
            if is_number(self.train[key]) and is_number(self.original[key])
        ]  # fmt: skip
        own = isinstance(self.model, str)
        made = Features(
            self.train, self.ask.keys, numeric, dummies=own and self.model == "linear",
            filled=not own or self.model == "linear",
        )  # fmt: skip
        object.__setattr__(self, "features", made)

    @property
    def target(self) -> str:
        """Return the column that is predicted."""
        return self.ask.targets[0]

    @property
    def numeric(self) -> bool:
        """Whether the target is a number."""
        number = is_number(self.original[self.target]) and is_number(self.train[self.target])
        return number and self.target not in self.ask.categorical

    def warned(self) -> str:
        """Return what the model warned of, once each."""
        return "; ".join(dict.fromkeys(self.heard))

    def counted(
        self, found: pd.DataFrame, frame: pd.DataFrame, whom: np.ndarray
    ) -> tuple[float, int, int]:
        """Rate, units at risk, and units judged, of those looked for."""
        known = frame[self.target].notna().to_numpy()
        flags = found["at_risk"].to_numpy(dtype=np.bool_)
        if self.ask.household is not None:
            unit = Households().number(frame[self.ask.household])
            flags = joined(flags[known], unit[known], len(whom), self.ask.members)
            known = joined(known, unit, len(whom), "any")
        hits, n = int((flags & whom & known).sum()), int((known & whom).sum())
        return (hits / n if n else float("nan")), hits, n

    def rate(self, found: pd.DataFrame, frame: pd.DataFrame, whom: np.ndarray) -> float:
        """Share at risk of units looked for."""
        return self.counted(found, frame, whom)[0]

    def judge(
        self,
        asked: pd.DataFrame,
        truth: pd.DataFrame,
        rng: np.random.Generator,
        order: np.ndarray | None = None,
    ) -> pd.DataFrame:
        """Predict persons from keys, as the intruder believes them, and say who is at risk.

        The model is asked once for each distinct combination of keys. `order` shuffles the target
        of the training records.
        """
        row, last = number_rows(self.features.of(asked))
        points = self.features.of(asked.iloc[last])
        judge = self._numbers if self.numeric else self._levels
        return judge(points, row, truth[self.target], rng, order)

    def _numbers(
        self,
        points: np.ndarray,
        row: np.ndarray,
        true: pd.Series,
        rng: np.random.Generator,
        order: np.ndarray | None,
    ) -> pd.DataFrame:
        values = as_numbers(self.train[self.target])
        learnt = values if order is None else values[order]
        predicted = self._fitted(learnt, rng, points, "predict").astype(np.float64)[row]
        truth = as_numbers(true)
        slack = ROUNDING * np.abs(values).max(initial=0.0)
        gap = np.abs(predicted - truth)
        known = np.abs(truth) > 0
        error = np.divide(gap, np.abs(truth), out=np.where(gap <= slack, 0.0, np.inf), where=known)
        error = np.where(np.isnan(truth), np.nan, error)
        at_risk = gap <= max(self.limits) * np.abs(truth) + slack
        return pd.DataFrame({"at_risk": at_risk, "score": error, "predicted": predicted})

    def _levels(
        self,
        points: np.ndarray,
        row: np.ndarray,
        true: pd.Series,
        rng: np.random.Generator,
        order: np.ndarray | None,
    ) -> pd.DataFrame:
        levels = Levels()
        codes = levels.code(self.train[self.target]) - 1
        n_levels = len(levels.named) - 1
        own = levels.code(self.original[self.target])
        truth = levels.code(true)
        shares = np.bincount(own[own > 0], minlength=len(levels.named)) / max((own > 0).sum(), 1)
        if n_levels == 1:
            chances = np.ones((len(points), 1))
        else:
            learnt = codes if order is None else codes[order]
            chances = self._fitted(learnt, rng, points, "predict_proba")
        known = (truth > 0) & (truth <= n_levels)  # a level that the model has met
        guess = np.where(known, chances[row, np.where(known, truth - 1, 0)], 0.0)
        base = shares[truth]
        gain = np.divide(guess - base, 1 - base, out=np.zeros(len(base)), where=base < 1)
        gain = np.where(truth == 0, np.nan, gain)
        named = np.array(levels.named[1 : n_levels + 1], dtype=object)
        best = named[chances.argmax(axis=1)[row]]
        return pd.DataFrame({"at_risk": gain > self.threshold, "score": gain, "predicted": best})

    def _fitted(
        self, target: np.ndarray, rng: np.random.Generator, points: np.ndarray, ask: str
    ) -> np.ndarray:
        """Train a fresh model and ask it about points, in parts that do not depend on workers."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = _estimator(self.model, self.numeric, rng, self.workers)
            model.fit(self.features.train, target)
            if self.model == "forest":
                model.set_params(n_jobs=1)  # parts side by side instead, summed in one order
            parts = [points[at : at + AT_ONCE] for at in range(0, len(points), AT_ONCE)]
            with ThreadPoolExecutor(self.workers) as pool:
                found = list(pool.map(getattr(model, ask), parts))
        self.heard.extend(
            f"{it.category.__name__}: {str(it.message).splitlines()[0]}" for it in said
        )
        return np.concatenate([np.asarray(part) for part in found])


def _estimator(model: Any, numeric: bool, rng: np.random.Generator, workers: int) -> Any:
    """A fresh estimator of scikit-learn whose draws come from `rng`."""
    from sklearn.base import clone

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

        last = LinearRegression() if numeric else LogisticRegression(max_iter=1000)
        return make_pipeline(StandardScaler(), last)
    if model == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        boosting = HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
        return boosting(random_state=state, early_stopping=False)
    if model == "tree":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        tree = DecisionTreeRegressor if numeric else DecisionTreeClassifier
        return tree(min_samples_leaf=5, random_state=state)
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = RandomForestRegressor if numeric else RandomForestClassifier
    return forest(n_estimators=TREES, min_samples_leaf=5, random_state=state, n_jobs=workers)
