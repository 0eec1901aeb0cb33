"""Propensity scores: how well a model tells the release from the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import (
    FilePair,
    check_both,
    check_numbers,
    drawn_rows,
    ones,
    read_files,
    read_seed,
)
from riskeval.utility.design import model_matrix
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.budget import repeated
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import (
    MOST_TIMES,
    NONE,
    SHARE,
    Whole,
    check,
    check_choice,
)
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, plural
from synthpop.microdata.statistics import propensity as formulas
from synthpop.microdata.statistics.logistic import fit_logistic
from synthpop.microdata.statistics.streams import Streams

Fit = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, int]]
"""From labels, weights and a seed to scores and the number of coefficients."""
DRAWN = 50
UNDER_THE_NULL = ("expected", "deviation", "pmse_ratio", "standardised_pmse")
NULLS = {
    "synthesis": "a release drawn from the right model",
    "samples": "an independent sample of the same population",
}


@dataclass(frozen=True, slots=True, eq=False)
class Propensity(Result):
    """How well a model tells the records of the release from those of the original.

    Attributes
    ----------
    variables : tuple of str
    pmse : float
        Weighted mean of (p - c)^2 over the records of both files, p the score of a record; 0 when
        no record can be told apart, c (1 - c) when all can.
    expected : float
        What `pmse` would be if the release came from the same distribution (see `null`).
    deviation : float
        Standard deviation of `pmse` in that case.
    pmse_ratio : float
        pmse / expected: near 1 when nothing but chance tells the files apart.
    standardised_pmse : float
        (pmse - expected) / deviation.
    specks : float
        Largest difference of the cumulated scores of both files (Kolmogorov-Smirnov), 0 to 1.
    share : float
        c, the weight of the release among both files.
    model : str
    coefficients : int
        Parameters of the logistic model with the intercept; leaves of the tree.
    null : str
    permutations : int
        Permuted fits behind `expected`; 0: by formula.
    scores : float64, shape (n + m,)
        Estimated probability to be of the release; records of the original first.
    n_original, n_released : int
        Records that entered.
    drawn : bool
        Whether they are a random part of the files (`max_rows`).
    converged : bool
    seed : int
    """

    variables: tuple[str, ...]
    pmse: float
    expected: float
    deviation: float
    pmse_ratio: float
    standardised_pmse: float
    specks: float
    share: float
    model: str
    coefficients: int
    null: str
    permutations: int
    scores: np.ndarray
    n_original: int
    n_released: int
    drawn: bool
    converged: bool
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """One row per measure: `measure`, `value`."""
        names = ["pmse", *UNDER_THE_NULL, "specks", "share"]
        return pd.DataFrame({"measure": names, "value": [getattr(self, name) for name in names]})

    def summary(self) -> str:
        """Return the score in words, with the usual reading of the ratio."""
        largest = self.share * (1 - self.share)
        text = message(
            "Propensity score ({model}) of {variables}: pMSE {pmse} (0: the files cannot "
            "be told apart; {largest}: completely).",
            model=self.model,
            variables=", ".join(self.variables),
            pmse=formatted(self.pmse, ".4g"),
            largest=formatted(largest, ".4g"),
        )
        if np.isfinite(self.pmse_ratio):
            text += " " + message(
                "That is {pmse_ratio} times the {expected} expected by chance from {nulls}. A "
                "ratio near 1 is the best; up to 3 is good and above 10 means that a model of "
                "the release misses something (rule of thumb of Raab, Nowok and Dibben, 2021). "
                "A perturbed copy of the same records can be below 1.",
                pmse_ratio=formatted(self.pmse_ratio, ".3g"),
                expected=formatted(self.expected, ".3g"),
                nulls=NULLS[self.null],
            )
        if self.drawn:
            drawn = message(
                "{n_original} and {n_released}",
                n_original=count_text(self.n_original),
                n_released=plural(self.n_released, "record"),
            )
            text += " " + message("From {drawn} drawn at random.", drawn=drawn)
        if not self.converged:
            text += " " + message("The logistic fit stopped before it converged.")
        return text


@same_library
def propensity(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    weights: Any = None,
    released_weights: Any = None,
    model: Any = "logistic",
    terms: str = "main",
    categorical: Sequence[str] = (),
    share: float | None = None,
    null: str = "synthesis",
    permutations: int | None = None,
    max_rows: int | None = None,
    seed: int | None = None,
) -> Propensity:
    """Measure how well a model tells the release from the original (pMSE).

    Parameters
    ----------
    original, released : tables of n and m records
        The files may differ in length.
    variables : sequence of str
        Columns of both files. Numbers enter as numbers, all others by their levels; a missing
        value is a level of its own, or an indicator beside a number.
    weights, released_weights : str or array, optional
        Sampling weights of each file, shape (n,) and (m,). They are scaled so that each file keeps
        its weight in the comparison (see `share`).
    model : "logistic", "tree", or a scikit-learn classifier
        "tree": at least 20 records and half a percent of all in a leaf; depth at most 8. A
        classifier needs ``predict_proba`` and ``sample_weight``.
    terms : {"main", "pairs"}
        Variables alone, or with the products of every two. Trees find products themselves.
    categorical : sequence of str
        Numeric columns that count as categories.
    share : float, optional
        Weight of the release among both files, between 0 and 1. Default: its share of the
        records. 0.5 keeps a small sample from being drowned by a population.
    null : {"synthesis", "samples"}
        What a perfect release is: drawn from the right model with what was estimated from this
        original ("synthesis", Snoke et al.), or an independent sample of the same population.
    permutations : int, optional
        Fits with permuted labels that give the expectation. Default: 0 (a formula) for
        "logistic", 50 for others.
    max_rows : int, optional
        Largest number of records of each file; more are cut by a simple random draw.
    seed : int, optional
        For draws, permutations and the tree; recorded.

    Returns
    -------
    Propensity

    Raises
    ------
    InputError
        Unknown columns or options, bad weights, infinite values.

    Notes
    -----
    Woo et al. (2009); Templ (2017), equation 5.16; Snoke et al. (2018), doi:10.1111/rssa.12358:
    with k coefficients expectation (k - 1) c (1 - c)^2 / N and standard deviation
    sqrt(2 (k - 1)) c (1 - c)^2 / N for "synthesis"; for "samples" the expectation is
    (k - 1) c (1 - c) / N. With weights, or another `share`, the number of records of a file
    becomes Kish's effective number (sum w)^2 / sum w^2, which takes weights for unrelated to the
    variables: c^2 (1 - c)^2 (k - 1) / m_eff and, for "samples", (1 / n_eff + 1 / m_eff) in place of
    1 / m_eff. Permuted labels give the expectation of "samples"; it is scaled by
    (1 / m_eff) / (1 / n_eff + 1 / m_eff) for "synthesis".

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> original = pd.DataFrame({"income": rng.normal(20, 5, 500)})
    >>> released = pd.DataFrame({"income": rng.normal(20, 5, 500)})
    >>> score = propensity(original, released, "income", seed=1)
    >>> score.pmse < 0.01, propensity(original, released + 10, "income", seed=1).pmse > 0.1
    (True, True)
    """
    faults = Faults("propensity score")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    nominal = tuple(categorical)
    if check_both(faults, files, names, "variable"):
        check_numbers(faults, files, files.numeric(names, nominal), "variable")
    for name in nominal:
        if name not in names:
            faults.add("categorical", f"{name!r} is not among the variables")
    _check_model(faults, model, share)
    check_choice(faults, "terms", terms, ("main", "pairs"))
    check_choice(faults, "null", null, tuple(NULLS))
    counts = {"permutations": Whole(0, MOST_TIMES) | NONE, "max_rows": Whole(1) | NONE}
    check(faults, counts, {"permutations": permutations, "max_rows": max_rows})
    streams = read_seed(faults, seed)
    faults.raise_if_any()
    files, drawn = _draw(files, max_rows, streams)
    z, _ = model_matrix(files, names, nominal, terms == "pairs")
    case = _case(files, share)
    fit, title, converged = _fitter(model, z)
    formula = model == "logistic" if isinstance(model, str) else False
    count = (0 if formula else DRAWN) if permutations is None else permutations
    scores, k = fit(case.labels, case.weights, _seed(streams, "fit"))
    result = Propensity(
        variables=names,
        pmse=case.pmse(scores),
        **dict.fromkeys(UNDER_THE_NULL, np.nan),
        specks=_specks(scores, case),
        share=case.share,
        model=title,
        coefficients=k,
        null=null,
        permutations=count,
        scores=scores,
        n_original=len(files.x),
        n_released=len(files.y),
        drawn=drawn,
        converged=converged[-1],
        seed=streams.seed,
    )
    return _with_null(result, case, fit, formula, streams)


def _check_model(faults: Faults, model: Any, share: Any) -> None:
    if isinstance(model, str):
        check_choice(faults, "model", model, ("logistic", "tree"))
    elif not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        faults.add("model", f"a {type(model).__name__} has no fit and predict_proba")
    check(faults, {"share": SHARE | NONE}, {"share": share})


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """Labels (1: release), raw weights, and weights scaled to sum to N with share c."""

    labels: np.ndarray
    raw: np.ndarray
    share: float
    weights: np.ndarray

    def pmse(self, scores: np.ndarray) -> float:
        return formulas.pmse(scores, self.weights, self.share)

    def effective(self) -> tuple[float, float]:
        """Kish's effective number of records of original and release."""
        weights = [self.raw[self.labels == label] for label in (0, 1)]
        n_eff, m_eff = (float(w.sum() ** 2 / (w**2).sum()) for w in weights)
        return n_eff, m_eff


def _case(files: FilePair, share: float | None) -> _Case:
    n, m = len(files.x), len(files.y)
    labels = np.r_[np.zeros(n), np.ones(m)]
    raw = np.r_[ones(n, files.wx), ones(m, files.wy)]
    c = m / (n + m) if share is None else float(share)
    return _Case(labels, raw, c, _scaled(raw, labels, c))


def _scaled(raw: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
    weights = raw.astype(np.float64).copy()
    for label, share_of_file in ((0, 1 - share), (1, share)):
        rows = labels == label
        weights[rows] *= share_of_file * len(labels) / weights[rows].sum()
    return weights


def _draw(files: FilePair, max_rows: int | None, streams: Streams) -> tuple[FilePair, bool]:
    if max_rows is None or max(len(files.x), len(files.y)) <= max_rows:
        return files, False
    frames, drawn_weights = [], []
    for frame, weights, role in zip(
        files.frames, files.weights, ("original", "released"), strict=True
    ):
        rows = drawn_rows(len(frame), max_rows, streams.at("rows", role))
        frames.append(frame.iloc[rows].reset_index(drop=True))
        drawn_weights.append(None if weights is None else weights[rows])
    return FilePair(frames[0], frames[1], drawn_weights[0], drawn_weights[1]), True


def _seed(streams: Streams, *names: object) -> int:
    return int(streams.at(*names).integers(2**31 - 1))


def _fitter(model: Any, z: np.ndarray) -> tuple[Fit, str, list[bool]]:
    """The function that fits, its title, and a list that tells whether fits converged."""
    converged = [True]
    if isinstance(model, str) and model == "logistic":
        design = np.column_stack([np.ones(len(z)), z])

        def logistic(labels: np.ndarray, weights: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
            fitted_model = fit_logistic(design, labels, weights)
            converged.append(fitted_model.converged)
            return fitted_model.probabilities, fitted_model.rank

        return logistic, message("logistic regression"), converged
    from sklearn.base import clone
    from sklearn.tree import DecisionTreeClassifier

    if isinstance(model, str):
        leaf = max(20, len(z) // 200)
        base: Any = DecisionTreeClassifier(max_depth=8, min_samples_leaf=leaf)
    else:
        base = model

    def learner(labels: np.ndarray, weights: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
        fitted_model = clone(base)
        if "random_state" in fitted_model.get_params():
            fitted_model.set_params(random_state=seed)
        fitted_model.fit(z, labels.astype(int), sample_weight=weights)
        leaves = fitted_model.get_n_leaves() if hasattr(fitted_model, "get_n_leaves") else 0
        return np.asarray(fitted_model.predict_proba(z)[:, 1], dtype=np.float64), int(leaves)

    return learner, "tree" if isinstance(model, str) else type(base).__name__, converged


def _with_null(
    result: Propensity, case: _Case, fit: Fit, formula: bool, streams: Streams
) -> Propensity:
    n_eff, m_eff = case.effective()
    both = 1 / n_eff + 1 / m_eff
    scale = 1 / m_eff if result.null == "synthesis" else both
    if result.permutations:
        values = []
        for r in repeated(result.permutations, "permutations"):
            labels = streams.at("permutation", r).permutation(case.labels)
            weights = _scaled(case.raw, labels, case.share)
            mixed = replace(case, labels=labels, weights=weights)
            values.append(mixed.pmse(fit(labels, weights, _seed(streams, "permuted", r))[0]))
        expected = float(np.mean(values)) * scale / both
        deviation = float(np.std(values, ddof=1)) * scale / both if len(values) > 1 else np.nan
    elif formula:
        expected, deviation = formulas.null_of_pmse(result.coefficients, case.share, scale)
    else:
        return result
    return replace(
        result,
        expected=expected,
        deviation=deviation,
        pmse_ratio=formulas.pmse_ratio(result.pmse, expected),
        standardised_pmse=formulas.standardised_pmse(result.pmse, expected, deviation),
    )


def _specks(scores: np.ndarray, case: _Case) -> float:
    order = np.argsort(scores, kind="stable")
    sign = np.where(case.labels == 1, 1 / case.share, -1 / (1 - case.share))
    steps = np.cumsum((sign * case.weights)[order]) / len(scores)
    ends = np.r_[scores[order][1:] > scores[order][:-1] + 1e-12, True]
    return float(np.abs(steps[ends]).max())
