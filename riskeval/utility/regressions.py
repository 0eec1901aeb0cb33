"""The same regression from the original and from the release."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import check_both, check_level, read_files
from riskeval.utility.overlaps import OUTSIDE, finish, mean_of
from riskeval.utility.regression_models import FittedRegression, Model, build_model
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import formatted, percent


@dataclass(frozen=True, slots=True, eq=False)
class RegressionComparison(TableResult):
    """Coefficients of the same regression from both files.

    Attributes
    ----------
    formula : str
    family : str
    table : DataFrame
        One row per coefficient: `term`, `original`, `released`, `difference`, `relative` (absolute
        difference in percent of the original), `se_original`, `se_released`, the four bounds,
        `overlap`, `coverage`, `standardised` (absolute difference in standard errors of the
        original) and `same_conclusion` (both intervals leave out zero on the same side, or both
        hold it). NaN where a file cannot estimate the coefficient.
    overlap : float
        Mean overlap of the intervals (equation 5.18).
    r_squared : pair of float
        Share of explained variance in original and release; NaN for logistic models.
    used : pair of int
        Complete records that entered.
    dropped : tuple of str
        Coefficients that only one file, or none, can estimate.
    level : float
    """

    formula: str
    family: str
    table: pd.DataFrame
    overlap: float
    r_squared: tuple[float, float]
    used: tuple[int, int]
    dropped: tuple[str, ...]
    level: float

    def summary(self) -> str:
        """Return how many coefficients keep their meaning, and the mean overlap."""
        known = self.table[self.table["overlap"].notna()]
        text = message(
            "{family} regression {formula}: the intervals of {known} coefficients overlap "
            "by {overlap} on average (100 %: the same intervals), and {agreeing} of them "
            "lead to the same conclusion about their sign at {level} % confidence.",
            family=self.family,
            formula=self.formula,
            known=len(known),
            overlap=percent(self.overlap, 1),
            agreeing=int(known["same_conclusion"].astype(bool).sum()),
            level=formatted(100 * self.level, "g"),
        )
        if np.isfinite(self.r_squared).all():
            text += " " + message(
                "R squared {a} and {b}.",
                a=formatted(self.r_squared[0], ".4g"),
                b=formatted(self.r_squared[1], ".4g"),
            )
        if self.dropped:
            text += " " + message(
                "Not estimable in both files: {dropped}.", dropped=", ".join(self.dropped)
            )
        return text


@same_library
def regression_comparison(
    original: Any,
    released: Any,
    formula: str,
    *,
    family: str = "linear",
    weights: Any = None,
    released_weights: Any = None,
    strata: str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    outside: str = "zero",
) -> RegressionComparison:
    """Compare the coefficients of a regression and their confidence intervals.

    Parameters
    ----------
    original, released : tables of n and m records
    formula : str
        ``response ~ term + term``; a term is a column, ``log(column)`` or a product
        ``column:column``; the response a column or its logarithm. Numbers enter as numbers, other
        columns by their levels, the first level of the original that both have being the
        reference. The text is read, not evaluated.
    family : {"linear", "logistic", "poisson", "gamma", "ordered"}
        The response of "logistic" has two levels; the second one is modelled. "poisson" and
        "gamma" have the logarithm as link. "ordered" is the proportional odds model of a response
        with ordered levels (in the order of its categories, else sorted), whose thresholds are not
        compared; it takes no weights.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).
    strata, cluster : str, optional
        Design columns that both files have, for the variance.
    level : float
        Confidence level of the normal intervals.
    outside : {"zero", "negative"}
        See `overlap`.

    Returns
    -------
    RegressionComparison
        Records with a missing value in one of the columns do not enter. A coefficient that one of
        the files cannot estimate (its level is absent, or columns depend on each other) is NaN and
        named in `dropped`. Nothing is drawn at random.

    Raises
    ------
    InputError
        A formula that cannot be read, unknown columns, logarithms of values that are not positive,
        bad weights or options.

    Notes
    -----
    Templ (2017), section 5.5.5; Karr et al. (2006). Variances are those of Binder (1983) for
    weighted regression with a design (the sandwich with clusters within strata, times
    (n - 1) / (n - k)), which do not need equal error variances.

    Examples
    --------
    >>> x = pd.DataFrame({"pay": [10.0, 12.0, 9.0, 15.0], "sex": list("fmfm")})
    >>> found = regression_comparison(x, x, "log(pay) ~ sex")
    >>> found.table["term"].tolist(), found.overlap
    (['(Intercept)', 'sex=m'], 1.0)
    """
    faults = Faults("comparison of regressions")
    files = read_files(faults, original, released, weights, released_weights)
    check_choice(faults, "outside", outside, OUTSIDE)
    check_level(faults, level)
    for role, name in (("strata", strata), ("cluster", cluster)):
        if name is not None:
            check_both(faults, files, [name], role)
    model = build_model(faults, files, formula, family)
    faults.raise_if_any()
    assert model is not None
    fits = [model.fit(file, strata, cluster) for file in (0, 1)]
    return _comparison(model, fits, formula, float(level), outside)


def _comparison(
    model: Model, fits: list[FittedRegression], formula: str, level: float, outside: str
) -> RegressionComparison:
    half = NormalDist().inv_cdf((1 + level) / 2)
    table = pd.DataFrame({"term": model.labels, "domain": "all"})
    for fit, role in zip(fits, ("original", "released"), strict=True):
        table[role], table[f"se_{role}"] = fit.coefficients, fit.errors
        table[f"lower_{role}"] = fit.coefficients - half * fit.errors
        table[f"upper_{role}"] = fit.coefficients + half * fit.errors
    table = finish(table, outside, level).table.drop(columns="domain")
    x, difference = table["original"], table["released"] - table["original"]
    table.insert(3, "difference", difference)
    table.insert(4, "relative", 100 * difference.abs() / x.abs().where(x != 0))
    errors = table["se_original"]
    table["standardised"] = difference.abs() / errors.where(errors > 0)
    sign = [
        np.sign(table[f"lower_{role}"]) * (table[f"lower_{role}"] * table[f"upper_{role}"] > 0)
        for role in ("original", "released")
    ]
    table["same_conclusion"] = (sign[0] == sign[1]) & table["overlap"].notna()
    absent = table["original"].isna() | table["released"].isna()
    return RegressionComparison(
        formula=formula,
        family=model.family,
        table=table,
        overlap=mean_of(table["overlap"]),
        r_squared=(fits[0].r_squared, fits[1].r_squared),
        used=(len(fits[0].rows), len(fits[1].rows)),
        dropped=tuple(table.loc[absent, "term"]),
        level=level,
    )
