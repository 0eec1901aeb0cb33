"""Benchmarking indicators: the same indicators from the original and from the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import check_level, check_numbers, read_files
from riskeval.utility.estimates import STATISTICS, EstimateRequest, domain_table, with_domains
from riskeval.utility.overlaps import BOUNDS, OUTSIDE, finish, mean_of
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import formatted, percent
from synthpop.microdata.statistics.indicators.results import OVERALL


@dataclass(frozen=True, slots=True, eq=False)
class IndicatorComparison(TableResult):
    """Indicators of both files, overall and by domain.

    Attributes
    ----------
    variable : str
    indicators : tuple of str
    table : DataFrame
        One row per indicator and domain ("all" first): `indicator`, `domain`, `original`,
        `released`, `difference` (bias: released - original), `relative` (absolute difference in
        percent of the original), `variance_original`, `variance_released`, `relative_variance`
        (absolute difference in percent of the original variance), `mse` (difference squared +
        variance of the release), `mse_kind` (difference squared + variance of the original -
        variance of the release, section 5.5.3), the four bounds, `overlap` and `coverage`.
    overlap : float
        Mean over all rows (equation 5.18).
    level : float
    """

    variable: str
    indicators: tuple[str, ...]
    table: pd.DataFrame
    overlap: float
    level: float

    def summary(self) -> str:
        """Return the overall differences, and the means over domains."""
        lines = []
        for name in self.indicators:
            rows = self.table[self.table["indicator"] == name]
            overall = rows[rows["domain"] == OVERALL].iloc[0]
            text = message(
                "{name} of {variable}: {original} in the original, {released} in the release "
                "({relative} % apart; confidence intervals overlap by {overlap}).",
                name=name,
                variable=self.variable,
                original=formatted(overall["original"], ".4g"),
                released=formatted(overall["released"], ".4g"),
                relative=formatted(overall["relative"], ".3g"),
                overlap=percent(overall["overlap"], 1),
            )
            domains = rows.iloc[1:]
            if len(domains):
                text += " " + message(
                    "Over {domains} domains the relative difference is {relative} % on average, at "
                    "most {max} %.",
                    domains=len(domains),
                    relative=formatted(mean_of(domains["relative"]), ".3g"),
                    max=formatted(domains["relative"].max(), ".3g"),
                )
            lines.append(text)
        lines.append(
            message(
                "There is no threshold: a difference well inside the interval of the original "
                "cannot be distinguished from sampling error."
            )
        )
        return joined_by(" ", lines)


@same_library
def indicator_comparison(
    original: Any,
    released: Any,
    variable: str,
    *,
    indicators: Sequence[str] | str = ("gini", "at_risk_of_poverty"),
    by: Sequence[str] | str | None = None,
    gender: str | None = None,
    men: Any = "male",
    women: Any = None,
    weights: Any = None,
    released_weights: Any = None,
    strata: str | None = None,
    cluster: str | None = None,
    poverty_line: str = "own",
    level: float = 0.95,
    outside: str = "zero",
) -> IndicatorComparison:
    """Compare indicators of income: bias, variance, mean squared error, interval overlap.

    Parameters
    ----------
    original, released : tables of n and m records
    variable : str
        Numeric column: income, or hourly earnings for the gender pay gap.
    indicators : sequence of str
        Of "mean", "median", "gini", "at_risk_of_poverty", "poverty_gap", "quintile_share_ratio",
        "gender_pay_gap".
    by : str or sequence of str, optional
        Domains (crossed when there are several).
    gender, men, women : optional
        Column and levels, for the gender pay gap; `women` may be left out with two levels.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).
    strata, cluster : str, optional
        Design columns that both files have, for the variance.
    poverty_line : {"own", "original"}
        The line of the release from its own median, or that of the original (then taken as
        given).
    level : float
        Confidence level.
    outside : {"zero", "negative"}
        See `overlap`.

    Returns
    -------
    IndicatorComparison
        A missing value is left out; a missing domain counts overall only; a domain that one file
        lacks has NaN. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, indicators or options; bad weights.

    Notes
    -----
    Templ (2017), sections 5.5.2 to 5.5.4. Variances by linearisation (``synthpop.indicators``).

    Examples
    --------
    >>> x = pd.DataFrame({"income": [10.0, 20.0, 30.0, 60.0]})
    >>> found = indicator_comparison(x, x * [1.1], "income", indicators=["gini", "mean"])
    >>> found.table["relative"].round(6).tolist()
    [0.0, 10.0]
    """
    faults = Faults("comparison of indicators")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, indicators, "indicators")
    for name in names:
        check_choice(faults, "indicators", name, tuple(STATISTICS))
    check_numbers(faults, files, [variable], "variable")
    check_choice(faults, "poverty_line", poverty_line, ("own", "original"))
    check_choice(faults, "outside", outside, OUTSIDE)
    check_level(faults, level)
    if "gender_pay_gap" in names and gender is None:
        faults.add("gender", "is needed for the gender pay gap", hint="Name its column.")
    options = EstimateRequest(files, gender, men, women, strata, cluster, level, poverty_line)
    request = with_domains(faults, options, by)
    faults.raise_if_any()
    x, y = files.x[variable], files.y[variable]
    tables = [domain_table(request, name, name, x, y) for name in names]
    table = finish(pd.concat(tables, ignore_index=True), outside, float(level)).table
    return IndicatorComparison(
        variable=variable,
        indicators=names,
        table=_with_errors(table),
        overlap=mean_of(table["overlap"]),
        level=float(level),
    )


def _with_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Add differences of estimates and variances, and the two kinds of mean squared error."""
    result = table.rename(columns={"term": "indicator"})
    bias = result["released"] - result["original"]
    vx, vy = result["se_original"] ** 2, result["se_released"] ** 2
    errors: Any = {
        "difference": bias, "relative": _percent(bias, result["original"]),
        "variance_original": vx, "variance_released": vy,
        "relative_variance": _percent(vy - vx, vx), "mse": bias**2 + vy,
        "mse_kind": bias**2 + (vx - vy),
    }  # fmt: skip
    first = result[["indicator", "domain", "original", "released"]]
    return first.assign(**errors).join(result[[*BOUNDS, "overlap", "coverage"]])


def _percent(difference: pd.Series, base: pd.Series) -> np.ndarray:
    a, b = difference.to_numpy(float), base.to_numpy(float)
    return np.divide(100 * np.abs(a), np.abs(b), out=np.full(len(a), np.nan), where=b != 0)
