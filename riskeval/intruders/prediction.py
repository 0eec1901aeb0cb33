"""RAPID: what a model trained on the synthetic file predicts about the persons of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.blocks import draw_records
from riskeval.intruders.shares import newcombe, wilson
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed

MODELS = ("forest", "tree", "boosting", "linear")
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Rapid(Result):
    """Original records whose target a model of the synthetic file predicts too well.

    Attributes
    ----------
    rate : float
        Share of judged records at risk.
    interval : (float, float)
        Wilson interval of `rate` at `confidence`, records taken as independent.
    permuted_rate : float
        Mean share at risk when the target of the synthetic file is shuffled before training: what
        the intruder reaches without any relation between keys and target. NaN for no permutations.
    holdout_rate, excess : float
        The share among persons who were not in the original, and `rate` minus it; NaN without
        hold-out.
    excess_interval : (float, float)
        Newcombe interval of `excess`.
    per_record : DataFrame
        ``at_risk`` (False where not judged), ``score`` (categorical: normalised gain; numeric:
        relative error), ``predicted``; in the order of the original.
    kind : {"categorical", "numeric"}
    limit : float
        Threshold of the score, or tolerance.
    n_judged, n_missing : int
        Records with and without a true value.
    target : str
    keys : tuple of str
    model : str
    confidence : float
    seed : int
    """

    rate: float
    interval: tuple[float, float]
    permuted_rate: float
    holdout_rate: float
    excess: float
    excess_interval: tuple[float, float]
    per_record: pd.DataFrame
    kind: str
    limit: float
    n_judged: int
    n_missing: int
    target: str
    keys: tuple[str, ...]
    model: str
    confidence: float
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return rates and baselines."""
        names = ["original", "permuted", "holdout", "excess"]
        values = [self.rate, self.permuted_rate, self.holdout_rate, self.excess]
        none = (np.nan, np.nan)
        ends = [self.interval, none, none, self.excess_interval]
        return pd.DataFrame(
            {
                "measure": names,
                "rate": values,
                "lower": [end[0] for end in ends],
                "upper": [end[1] for end in ends],
            }
        )

    def summary(self) -> str:
        """Say what the rate means and what to compare it with."""
        low, high = self.interval
        meaning = (
            f"within {self.limit:.3g} of its true value"
            if self.kind == "numeric"
            else f"with a gain above {self.limit:.3g} (0 is the share of the level in the "
            "original, 1 is certainty)"
        )
        text = (
            f"RAPID: a {self.model} model trained on the synthetic file predicts {self.target} "
            f"{meaning} for {self.rate:.2%} of {self.n_judged:,} original records "
            f"({self.confidence:.0%} interval {low:.2%} to {high:.2%})."
        )
        if not np.isnan(self.permuted_rate):
            text += f" Without any relation to the keys it would be {self.permuted_rate:.2%}."
        if not np.isnan(self.holdout_rate):
            low, high = self.excess_interval
            text += (
                f" Of persons who were not in the original it finds {self.holdout_rate:.2%}: "
                f"being in the file costs {self.excess:+.2%} ({low:+.2%} to {high:+.2%}), the rest "
                "is what anybody's keys tell."
            )
        else:
            text += " Without a hold-out, what keys tell about anybody is counted as risk too."
        return text + " The limit is a choice of policy."


def rapid(
    original: Any,
    synthetic: Any,
    keys: Sequence[str] | str,
    target: str,
    *,
    model: Any = "forest",
    threshold: float = 0.3,
    tolerance: float = 0.05,
    holdout: Any = None,
    permutations: int = 3,
    train_rows: int = 100_000,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Rapid:
    """Risk of attribute prediction-induced disclosure.

    The intruder trains a model on the synthetic file only, and predicts the target of real persons
    from their keys.

    Parameters
    ----------
    original : DataFrame, n rows
    synthetic : DataFrame, object with ``iter_blocks()``, or iterable of frames
        Any generator's file.
    keys : names of columns of both
        Numbers enter as numbers (missing: NaN, for "linear" the mean), other columns as categories
        with missing as a category; for "linear" as dummies.
    target : str
        Numeric: at risk when ``|prediction - y| <= tolerance |y|``. Otherwise: when the gain
        ``(g - b) / (1 - b)`` exceeds `threshold`, g being the predicted probability of the true
        level and b the share of that level in the original. Missing in the original: not judged;
        missing in the synthetic file: not trained on.
    model : {"forest", "tree", "boosting", "linear"} or scikit-learn estimator
        A given estimator is cloned.
    threshold, tolerance : float in (0, 1)
        See `target`. Choices of policy: no published norm.
    holdout : DataFrame, optional
        Real persons who were not in the original.
    permutations : int
        How many times to train on a shuffled target.
    train_rows : int
        The model is trained on at most so many synthetic records, drawn at random.
    confidence : float in (0, 1)
        Of the intervals.
    seed : int, optional
        Of the draw of training records, the models and the permutations.

    Returns
    -------
    Rapid

    Raises
    ------
    InputError
        Missing columns, a target that is a number in one file only, values out of range, nothing to
        train on.

    Notes
    -----
    Source: Templ, Thees and Müller (2026), arXiv:2602.09235.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age = rng.integers(0, 2, 400)
    >>> original = pd.DataFrame({"age": age, "ill": np.where(age == 1, "yes", "no")})
    >>> copy = rapid(original, original, ["age"], "ill", model="tree", seed=1)
    >>> noise = original.assign(ill=rng.permutation(original["ill"]))
    >>> copy.rate, rapid(original, noise, ["age"], "ill", model="tree", seed=1).rate
    (1.0, 0.0)
    """
    faults = Faults("rapid")
    frame = as_frame(original, "original")
    others = None if holdout is None else as_frame(holdout, "holdout")
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    _check(faults, names, target, model, threshold, tolerance, permutations, train_rows, confidence)
    for side, role in ((frame, "original"), (others, "holdout")):
        if side is not None:
            check_columns(faults, side, [*names, target], f"key or target of the {role}")
            if len(side) == 0:
                faults.add(role, "has no records")
    faults.raise_if_any()
    seed = resolve_seed(seed)
    rng = Streams(seed).at("rapid", "train")
    train = draw_records(synthetic, "synthetic", [*names, target], train_rows, rng)
    numeric = _is_number(frame[target])
    if numeric != _is_number(train[target]):
        what = f"is {frame[target].dtype} in the original and {train[target].dtype} in the other"
        faults.add(target, what, remedy="Give both the same type.")
    train = train[train[target].notna()].reset_index(drop=True)
    if len(train) == 0:
        faults.add("synthetic", "has no record with a value of the target")
    faults.raise_if_any()
    attack = _Attack(names, target, numeric, model, threshold, tolerance, frame, train)
    per_record = attack.judge(frame, Streams(seed).at("rapid", "model"))
    judged = frame[target].notna()
    hits, n = int(per_record["at_risk"].sum()), int(judged.sum())
    permuted = [attack.permuted(frame, Streams(seed).at("rapid", i)) for i in range(permutations)]
    rate = hits / n if n else float("nan")
    excess, gap, held = float("nan"), (float("nan"), float("nan")), float("nan")
    if others is not None and others[target].notna().any() and n:
        found = attack.judge(others, Streams(seed).at("rapid", "model"))["at_risk"]
        m = int(others[target].notna().sum())
        held = int(found.sum()) / m
        excess, gap = rate - held, newcombe(hits, n, int(found.sum()), m, confidence)
    return Rapid(
        rate=rate,
        interval=wilson(hits, n, confidence),
        permuted_rate=float(np.mean(permuted)) if permuted else float("nan"),
        holdout_rate=held,
        excess=excess,
        excess_interval=gap,
        per_record=per_record,
        kind="numeric" if numeric else "categorical",
        limit=tolerance if numeric else threshold,
        n_judged=n,
        n_missing=len(frame) - n,
        target=target,
        keys=names,
        model=model if isinstance(model, str) else type(model).__name__,
        confidence=confidence,
        seed=seed,
    )


def _check(
    faults: Faults,
    names: tuple[str, ...],
    target: str,
    model: Any,
    threshold: float,
    tolerance: float,
    permutations: int,
    train_rows: int,
    confidence: float,
) -> None:
    if not names:
        faults.add("keys", "no key is given", remedy="Name the columns that the intruder knows.")
    if target in names:
        faults.add("target", f"{target!r} is also a key", remedy="The intruder looks for it.")
    if isinstance(model, str):
        check_choice(faults, "model", model, MODELS)
    elif not (hasattr(model, "fit") and hasattr(model, "predict")):
        faults.add("model", f"{model!r} is not an estimator", remedy=f"There are: {MODELS}.")
    limits = {"threshold": threshold, "tolerance": tolerance, "confidence": confidence}
    for name, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
            faults.add(name, f"{value!r} is not a number between 0 and 1")
    for name, count, least in (("permutations", permutations, 0), ("train_rows", train_rows, 1)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < least:
            faults.add(name, f"{count!r} is not a whole number of at least {least}")


def _is_number(values: pd.Series) -> bool:
    dtype = values.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


@dataclass(frozen=True, slots=True, eq=False)
class _Attack:
    names: tuple[str, ...]
    target: str
    numeric: bool
    model: Any
    threshold: float
    tolerance: float
    original: pd.DataFrame
    train: pd.DataFrame

    def permuted(self, frame: pd.DataFrame, rng: np.random.Generator) -> float:
        """Share at risk after shuffling the target of the training records."""
        order = rng.permutation(len(self.train))
        shuffled = self.train.assign(**{self.target: self.train[self.target].to_numpy()[order]})
        found = self.judge(frame, rng, shuffled)["at_risk"]
        n = int(frame[self.target].notna().sum())
        return float(found.sum() / n) if n else float("nan")

    def judge(
        self, frame: pd.DataFrame, rng: np.random.Generator, train: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Predict every record of a file of real persons and say which are at risk."""
        train = self.train if train is None else train
        features, asked = self._features(train, frame)
        if self.numeric:
            return self._judge_numbers(train, features, frame, asked, rng)
        return self._judge_levels(train, features, frame, asked, rng)

    def _judge_numbers(
        self,
        train: pd.DataFrame,
        features: np.ndarray,
        frame: pd.DataFrame,
        asked: np.ndarray,
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        values = train[self.target].to_numpy(dtype=np.float64, na_value=np.nan)
        fitted = _estimator(self.model, numeric=True, rng=rng).fit(features, values)
        predicted = np.asarray(fitted.predict(asked), dtype=np.float64)
        truth = frame[self.target].to_numpy(dtype=np.float64, na_value=np.nan)
        slack = ROUNDING * np.abs(values).max(initial=0.0)
        gap = np.abs(predicted - truth)
        known = np.abs(truth) > 0
        error = np.divide(gap, np.abs(truth), out=np.where(gap <= slack, 0.0, np.inf), where=known)
        error = np.where(np.isnan(truth), np.nan, error)
        at_risk = gap <= self.tolerance * np.abs(truth) + slack
        return pd.DataFrame({"at_risk": at_risk, "score": error, "predicted": predicted})

    def _judge_levels(
        self,
        train: pd.DataFrame,
        features: np.ndarray,
        frame: pd.DataFrame,
        asked: np.ndarray,
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        texts = train[self.target].astype(str).to_numpy(dtype=object)
        levels, codes = np.unique(texts, return_inverse=True)
        if len(levels) == 1:
            chances = np.ones((len(frame), 1))
        else:
            fitted = _estimator(self.model, numeric=False, rng=rng).fit(features, codes)
            chances = np.asarray(fitted.predict_proba(asked))
        place = {level: column for column, level in enumerate(levels)}
        missing = frame[self.target].isna().to_numpy()
        truth = frame[self.target].astype(str).to_numpy(dtype=object)
        column = np.array([place.get(level, -1) for level in truth])
        guess = np.where(column >= 0, chances[np.arange(len(frame)), column], 0.0)
        own = self.original[self.target]
        shares = own[own.notna()].astype(str).value_counts(normalize=True)
        base = np.array([shares.get(level, 0.0) for level in truth])
        gain = np.divide(guess - base, 1 - base, out=np.zeros(len(base)), where=base < 1)
        gain = np.where(missing, np.nan, gain)
        best = levels[chances.argmax(axis=1)]
        return pd.DataFrame({"at_risk": gain > self.threshold, "score": gain, "predicted": best})

    def _features(self, train: pd.DataFrame, asked: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Keys as numbers, the same columns for both files."""
        dummies = self.model == "linear" if isinstance(self.model, str) else False
        columns: list[np.ndarray] = []
        n = len(train)
        for name in self.names:
            if _is_number(train[name]) and _is_number(asked[name]):
                both = [f[name].to_numpy(dtype=np.float64, na_value=np.nan) for f in (train, asked)]
                column = np.concatenate(both)
                if dummies or not isinstance(self.model, str):
                    known = column[:n][~np.isnan(column[:n])]
                    fill = known.mean() if len(known) else 0.0
                    column = np.where(np.isnan(column), fill, column)
                columns.append(column)
                continue
            text = pd.concat([train[name].astype(str), asked[name].astype(str)], ignore_index=True)
            absent = pd.concat([train[name].isna(), asked[name].isna()], ignore_index=True)
            codes, levels = pd.factorize(text.where(~absent, "\0missing"), sort=True)
            if dummies:
                columns += [(codes == level).astype(np.float64) for level in range(len(levels))]
            else:
                columns.append(codes.astype(np.float64))
        matrix = np.column_stack(columns)
        return matrix[:n], matrix[n:]


def _estimator(model: Any, *, numeric: bool, rng: np.random.Generator) -> Any:
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
    return forest(n_estimators=100, min_samples_leaf=5, random_state=state, n_jobs=1)
