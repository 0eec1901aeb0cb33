"""What the loops of our own save beside statsmodels and scikit-learn, and how far results differ.

    python -m benchmarks.own_and_libraries [--store]

Each job is solved twice: processor seconds of our function and of the library's, the smaller of
two runs, and the largest difference between the two results.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from benchmarks.results import store_if_asked
from riskeval.measures.loglinear.model import loglinear_risk
from riskeval.utility.families import fit_family
from synthpop.microdata.statistics import weighted
from synthpop.microdata.statistics.intervals import wilson
from synthpop.microdata.statistics.logistic import Categories, fit_logistic
from synthpop.models.linear_multinomial import fit_linear_multinomial
from synthpop.models.multinomial import MultinomialModel, fit_multinomial, predict_multinomial
from synthpop.models.regression import fit_regression, predict_regression

N, SIZES, CLASSES = 100_000, (9, 5, 7, 2, 5, 6), 5
Job = Callable[[], Any]


def sample(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return levels from 0, their indicators without the first of each, a score and weights."""
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, n) for size in SIZES])
    columns = [codes[:, j] == level for j, size in enumerate(SIZES) for level in range(1, size)]
    x = np.column_stack([np.ones(n), *columns]).astype(float)
    return codes, x, x @ rng.normal(0, 0.3, x.shape[1]), rng.uniform(1, 5, n)


def seconds(job: Job) -> tuple[float, Any]:
    """Return the processor time of a job, the smaller of two runs, and its result."""
    times = []
    for _ in range(2):
        started = time.process_time()
        result = job()
        times.append(time.process_time() - started)
    return min(times), result


def jobs(n: int = N) -> list[tuple[str, Job, str, Job]]:
    """Return what is solved, by us, by which function of a library."""
    codes, x, score, w = sample(n)
    rng = np.random.default_rng(2)
    digits, sizes = codes + 1, [size + 1 for size in SIZES]
    yes = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float)
    number, count = score + rng.normal(0, 1, n), rng.poisson(np.exp(0.3 * score)).astype(float)
    gumbel = rng.gumbel(size=(n, CLASSES))
    classes = (np.outer(score, np.linspace(0, 1, CLASSES)) + gumbel).argmax(axis=1)
    ages = np.concatenate([[np.nan], np.linspace(-1, 1, SIZES[0])])
    numbers = [ages, *[None] * (len(SIZES) - 1)]
    with_age = np.column_stack([x[:, :1], ages[digits[:, 0]], x[:, SIZES[0] :]])
    table = pd.DataFrame(codes[:, :5], columns=list("abcde")).astype(str).assign(w=w)
    levels = [list("012345678"[:size]) for size in SIZES[:5]]
    every = pd.MultiIndex.from_product(levels, names=list("abcde"))
    counts = table.groupby(list("abcde")).size().reindex(every, fill_value=0)
    cells = counts.rename("f").reset_index()
    law = sm.families
    many = rng.lognormal(0, 1, 10 * n)
    weights = rng.uniform(1, 5, len(many))

    def glm(y: np.ndarray, family: Any) -> np.ndarray:
        return np.asarray(sm.GLM(y, x, family=family, var_weights=w).fit(tol=1e-10).fittedvalues)

    def softmax(design: np.ndarray) -> np.ndarray:
        model = LogisticRegression(C=1e9, tol=1e-6, max_iter=1000)
        return np.asarray(model.fit(design[:, 1:], classes, w).predict_proba(design[:, 1:]))

    def shares(model: MultinomialModel) -> np.ndarray:
        return predict_multinomial(model, digits)[0]

    def linear(kind: str, y: np.ndarray) -> np.ndarray:
        return predict_regression(fit_regression(kind, digits, y, w, sizes), digits)[0]

    return [
        ("logistic, levels",
         lambda: fit_logistic(Categories(list(codes.T), n), yes, w).probabilities,
         "statsmodels GLM", lambda: glm(yes, law.Binomial())),
        ("multinomial, levels",
         lambda: shares(fit_multinomial(digits, classes, w, sizes, CLASSES)),
         "scikit-learn", lambda: softmax(x)),
        ("multinomial, levels and a number",
         lambda: shares(fit_linear_multinomial(digits, classes, w, sizes, numbers, CLASSES)),
         "scikit-learn", lambda: softmax(with_age)),
        ("linear, levels", lambda: linear("linear", number),
         "statsmodels WLS", lambda: np.asarray(sm.WLS(number, x, w).fit().fittedvalues)),
        ("linear with influence of each record", lambda: fit_family(x, number, w, "linear").values,
         "statsmodels WLS, HC1",
         lambda: np.asarray(sm.WLS(number, x, w).fit(cov_type="HC1").fittedvalues)),
        ("counts, levels", lambda: linear("counts", count),
         "statsmodels GLM", lambda: glm(count, law.Poisson())),
        ("log-linear model of five keys with their pairs",
         lambda: loglinear_risk(table, list("abcde"), weights="w", formula="(a + b + c + d + e)^2")
         .cells["sample_mean"].to_numpy(),
         "statsmodels GLM", lambda: cell_means(cells)),
        ("weighted mean and variance, a million",
         lambda: np.array([weighted.mean(many, weights), weighted.variance(many, weights)]),
         "statsmodels DescrStatsW", lambda: descriptives(many, weights)),
        ("weighted median, a million", lambda: np.array([weighted.quantile(many, weights, 0.5)]),
         "statsmodels DescrStatsW",
         lambda: np.asarray(DescrStatsW(many, weights).quantile([0.5], return_pandas=False))),
        ("1,000 Wilson intervals", lambda: np.array([wilson(k, 1000) for k in range(1000)]),
         "statsmodels",
         lambda: np.array([proportion_confint(k, 1000, method="wilson") for k in range(1000)])),
    ]  # fmt: skip


def cell_means(cells: pd.DataFrame) -> np.ndarray:
    """Fit the log-linear model to all cells, and return the means of those with records."""
    formula = f"f ~ ({' + '.join(f'C({key})' for key in 'abcde')})**2"
    model = sm.GLM.from_formula(formula, cells, family=sm.families.Poisson())
    return np.asarray(model.fit(tol=1e-10).fittedvalues)[cells["f"].to_numpy() > 0]


def descriptives(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted mean and variance."""
    summary = DescrStatsW(values, weights, ddof=1)
    return np.array([summary.mean, summary.var])


def main() -> None:
    """Measure every job and print the table."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, own, library, other in jobs():
            (ours, result), (theirs, reference) = seconds(own), seconds(other)
            gap = f"{np.abs(np.ravel(result) - np.ravel(reference)).max():.0e}"
            times = [f"{ours:.3f}", library, f"{theirs:.3f}", f"{theirs / ours:.1f}"]
            rows.append((name, *times, gap))
    columns = ["job", "ours, s", "library", "library, s", "times", "largest difference"]
    store_if_asked("own", "times", pd.DataFrame(rows, columns=columns))


if __name__ == "__main__":
    main()
