"""Data shuffling: values move between records so that relations to other variables stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.design import design
from riskeval.protection.entry import OF_HOUSEHOLDS, ProtectionMethod
from riskeval.protection.household.once import read_layer
from riskeval.protection.numeric import read_numbers
from riskeval.protection.rank_swap import taken
from riskeval.protection.result import Protected, protected
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.frames import as_numbers, is_number, numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.formula import Allowed, Formula, read_formula
from synthpop.microdata.statistics.robust import root
from synthpop.microdata.statistics.streams import Streams

METHODS = ("regression", "rank")


@same_library
def shuffle(
    data: Any,
    *,
    formula: str,
    method: str = "regression",
    household: str | None = None,
    household_variables: Sequence[str] = (),
    components: Mapping[str, Sequence[str]] | None = None,
    keep_signs: Sequence[str] = (),
    seed: int | None = None,
) -> Protected:
    """Replace confidential values by those of other records, given variables that stay.

    New scores are drawn from a model of the confidential variables given the others; the record
    with the i-th smallest score then gets the i-th smallest original value.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    formula : str
        ``"income + savings ~ age + sex + age:sex"``: confidential numeric columns on the left,
        columns that stay on the right; ``~ 1`` for none. Names, ``+`` and ``:`` only; nothing is
        evaluated.
    method : {"regression", "rank"}
        Both work on normal scores of the ranks. "regression": a linear model with the columns as
        they are, levels as indicators. "rank": rank correlations only, turned into those of a
        normal copula, 2 sin(pi r / 6).
    household : str, optional
        Column of household ids: a confidential variable that is the same for all members is
        shuffled between households, given what stays for the first member, and copied to all. The
        variables of persons are then shuffled given it too: they follow the value that their
        household has now as they followed the one that it had.
    household_variables : sequence of str
        Confidential variables that must be the same for all members.
    components : mapping of total to parts, optional
        Sums that hold before hold afterwards: a total whose parts were shuffled is their sum.
    keep_signs : sequence of str, optional
        Confidential variables whose values move among records of the same sign (negative, 0,
        positive) only.
    seed : int, optional
        Recorded in the result.

    Returns
    -------
    Protected
        ``details``: ``explained`` (share of the variance of each variable's normal scores that the
        others explain), ``rank_correlation_before`` and ``rank_correlation_after`` of the
        confidential variables with one another and with the numeric predictors.

    Raises
    ------
    InputError
        A formula that cannot be read, faulty columns, too many predictors for the records.

    Notes
    -----
    Each variable keeps its values exactly (checked afterwards). Missing confidential values stay
    missing; the others of that record are shuffled. A missing number on the right becomes the
    mean with an indicator, a missing level is a level: no record is left out. The nearer the
    share explained is to 1, the nearer the released values are to the true ones.

    Source: Muralidhar and Sarathy (2006), Data shuffling, doi:10.1287/mnsc.1050.0503 (equations
    for the scores: section 4); Templ (2017), section 4.3.3.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age = rng.integers(20, 70, 500)
    >>> people = pd.DataFrame({"age": age, "income": age + rng.normal(0, 5, 500)})
    >>> shuffled = shuffle(people, formula="income ~ age", seed=1)
    >>> sorted(shuffled.data["income"]) == sorted(people["income"])
    True
    >>> bool(shuffled.data.corr().iloc[0, 1] > 0.9)
    True
    """
    faults = Faults("shuffle")
    file = as_file(data, faults, household=household)
    frame = file.indexed
    check_choice(faults, "method", method, METHODS)
    streams = read_secret(faults, seed)
    model = read_formula(faults, formula, Allowed(responses=(1, None)))
    faults.raise_if_any()
    assert model is not None
    responses = [factor.column for factor in model.responses]
    read_numbers(faults, frame, responses, "confidential variable")
    design(faults, frame, model)
    faults.raise_if_any()
    layer = read_layer(
        faults, file, responses, household_variables=household_variables,
        components=components, keep_signs=keep_signs,
    )  # fmt: skip
    faults.raise_if_any()

    explained: list[pd.Series] = []

    def run(table: pd.DataFrame, some: list[str], members: np.ndarray | None) -> Protected:
        one_model = replace(model, responses=tuple(f for f in model.responses if f.column in some))
        shared = [] if members is None else [name for name in responses if name not in some]
        before = frame if shared else table
        scores = (_household_scores(before, shared), _household_scores(table, shared))
        released = _shuffled(table, one_model, formula, method, streams, scores, layer.keep_signs)
        explained.append(released.details["explained"])
        return released

    result = layer.run(run)
    details = {
        **result.details,
        "explained": pd.concat(explained)[responses],
        "rank_correlation_before": _correlations(frame, model),
        "rank_correlation_after": _correlations(result.data, model),
    }
    parameters = {"formula": formula, "method": method, "seed": streams.seed}
    if layer.asks:
        parameters |= layer.parameters()
    return replace(result, parameters=parameters, details=details)


def _household_scores(frame: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Normal scores of household variables, shape (n, p); a missing value has the mean."""
    values = frame[list(names)].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.nan_to_num(normal_scores(values.reshape(len(frame), len(names))))


def _shuffled(
    frame: pd.DataFrame, model: Formula, formula: str, method: str, streams: Streams,
    household_scores: tuple[np.ndarray, ...], keep_signs: Sequence[str],
) -> Protected:  # fmt: skip
    """Shuffle the responses of a model, one row per unit; household scores before and after."""
    responses = [factor.column for factor in model.responses]
    values = numbers(frame, responses)
    columns, continuous = design(Faults("shuffle"), frame, model)
    rng = streams.at("shuffle", method)
    both = np.stack([np.column_stack([columns, scores]) for scores in household_scores])
    continuous = np.append(continuous, np.ones(household_scores[0].shape[1], dtype=bool))
    scores, explained = _scores(values, both, continuous, method, rng)
    released = frame.copy(deep=False)
    for j, name in enumerate(responses):
        source = np.arange(len(frame))
        signs = np.sign(values[:, j]) if name in keep_signs else np.zeros(len(frame))
        for sign in np.unique(signs[~np.isnan(values[:, j])]):
            some = np.flatnonzero(signs == sign)
            source[some] = some[_sources(values[some, j], scores[some, j])]
        released[name] = taken(frame[name], source)
        _verify(frame[name], released[name])
    share = pd.Series(explained, index=responses, name="explained")
    listed = ", ".join(f"{name} {percent(value, 1)}" for name, value in share.items())
    return protected(
        frame,
        released,
        responses,
        method="shuffle",
        parameters={"formula": formula, "method": method, "seed": streams.seed},
        seed=streams.seed,
        notes=[
            message("Every variable has exactly the values it had (checked afterwards)."),
            message(
                "The other variables explain of the ranks: {listed}; the more, the nearer the "
                "released values are to the true ones.",
                listed=listed,
            ),
        ],
        details={"explained": share},
    )


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks, shape (n, p): quantiles at rank / (n + 1); NaN stays NaN."""
    from scipy.stats import norm

    scores = np.full(values.shape, np.nan)
    for j in range(values.shape[1]):
        filled = ~np.isnan(values[:, j])
        ranks = pd.Series(values[filled, j]).rank().to_numpy()
        scores[filled, j] = norm.ppf(ranks / (filled.sum() + 1))
    return scores


def _scores(
    values: np.ndarray, columns: np.ndarray, continuous: np.ndarray, method: str,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """New scores and the share explained; `columns` are followed before and after, (2, n, m)."""
    scores = normal_scores(values)
    complete = ~np.isnan(scores).any(axis=1)
    n, m = int(complete.sum()), columns.shape[2]
    if (~np.isnan(values)).any() and n < m + values.shape[1] + 2:
        what = f"{plural(m, 'column')} on the right for {plural(n, 'record')}"
        what += " without missing values on the left"
        hint = "Leave out variables, or join rare levels."
        raise InputError.of("shuffle", "formula", what, hint)
    if n == 0:
        return np.zeros(values.shape), np.zeros(values.shape[1])
    if method == "regression":
        fitted, covariance = _regressed(scores, columns, complete)
        spread = scores[complete].var(axis=0)
    else:
        fitted, covariance = _by_ranks(scores, columns, continuous, complete)
        spread = np.ones(values.shape[1])
    unexplained = np.diag(covariance) / np.where(spread > 0, spread, 1.0)
    noise = rng.standard_normal(values.shape) @ root(covariance)
    return fitted + noise, np.clip(1 - unexplained, 0.0, 1.0)


def _regressed(
    scores: np.ndarray, columns: np.ndarray, complete: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fitted scores of all records and the covariance of the residuals."""
    before, after = (np.column_stack([np.ones(len(matrix)), matrix]) for matrix in columns)
    coefficients, _, rank, _ = np.linalg.lstsq(before[complete], scores[complete], rcond=None)
    residuals = scores[complete] - before[complete] @ coefficients
    return after @ coefficients, residuals.T @ residuals / (complete.sum() - rank)


def _by_ranks(
    scores: np.ndarray, columns: np.ndarray, continuous: np.ndarray, complete: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Conditional means and covariance of a normal copula with the rank correlations at hand."""
    p = scores.shape[1]
    before, after = (np.where(continuous, normal_scores(matrix), matrix) for matrix in columns)
    centre, spread = before.mean(axis=0), before.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    before, after = (before - centre) / scale, (after - centre) / scale
    both = np.column_stack([scores, before])[complete]
    correlation = _correlation(both)
    ranked = pd.DataFrame(both).rank().to_numpy()
    by_rank = 2 * np.sin(np.pi * _correlation(ranked) / 6)
    smooth = np.r_[np.ones(p, dtype=bool), continuous]  # indicators have no ranks to speak of
    correlation = np.where(np.outer(smooth, smooth), by_rank, correlation)
    np.fill_diagonal(correlation, 1.0)
    xx, xs, ss = correlation[:p, :p], correlation[:p, p:], correlation[p:, p:]
    slopes = xs @ np.linalg.pinv(ss, rcond=1e-8, hermitian=True)
    residual = xx - slopes @ xs.T
    sizes, directions = np.linalg.eigh((residual + residual.T) / 2)
    nearest = (directions * np.maximum(sizes, 0.0)) @ directions.T  # no negative eigenvalues
    return after @ slopes.T, nearest


def _correlation(values: np.ndarray) -> np.ndarray:
    """Correlation matrix; 0 for a column that does not vary."""
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.square(centred).sum(axis=0))
    centred = centred / np.where(scale > 0, scale, 1.0)
    return centred.T @ centred


def _sources(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Row that each row takes its value from: the value whose rank its score has."""
    filled = np.flatnonzero(~np.isnan(values))
    source = np.arange(len(values))
    by_score = filled[np.argsort(scores[filled], kind="stable")]
    source[by_score] = filled[np.argsort(values[filled], kind="stable")]
    return source


def _verify(before: pd.Series, after: pd.Series) -> None:
    same = np.array_equal(before.isna().to_numpy(), after.isna().to_numpy())
    old, new = (np.sort(item.dropna().to_numpy()) for item in (before, after))
    if not same or not np.array_equal(old, new):
        raise AssertionError(f"shuffling changed the values of {before.name!r}")


def _correlations(frame: pd.DataFrame, formula: Formula) -> pd.DataFrame:
    """Rank correlations of the confidential variables with themselves and numeric predictors."""
    responses = [factor.column for factor in formula.responses]
    names = [*responses, *(name for name in formula.columns if is_number(frame[name]))]
    table = pd.DataFrame({name: as_numbers(frame[name]) for name in names})
    return table.rank().corr().loc[responses]


METHOD = ProtectionMethod(
    run=shuffle,
    rank=150,
    title="Data shuffling",
    question="Which amounts move between records so that their relation to other columns stays?",
    blind_spots=(
        "the values themselves, which all stay in the file: a rare amount is still there; "
        "columns outside of the formula"
    ),
    example={"formula": "hincome ~ hsize + rb090"},
    roles=OF_HOUSEHOLDS,
)
