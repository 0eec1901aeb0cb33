"""Tables 5.1 to 5.5 of the book: the same indicators and the same regression of each release."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from replay.section83 import without_losses
from riskeval import utility

MODEL = "log(earningsHour) ~ sex + age + education + location + NACE1"


def compared(
    original: pd.DataFrame,
    release: pd.DataFrame,
    indicator: str,
    by: list[str],
) -> pd.DataFrame:
    """Return estimates, errors, intervals and coverage of an indicator by domain."""
    found = utility.indicator_comparison(
        original,
        release,
        "earningsHour",
        indicators=indicator,
        by=by,
        gender="sex",
        weights="weights",
        released_weights="weights",
    )
    return found.table.set_index("domain")


def gap_intervals(original: pd.DataFrame, releases: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Table 5.1: limits of the gender pay gap by education."""
    rows = {}
    for name, release in {"original": original, **releases}.items():
        table = compared(original, release, "gender_pay_gap", ["education"]).drop(index="all")
        for end in ("lower", "upper"):
            rows[f"{name} ({end[0]})"] = table[f"{end}_released"]
    return pd.DataFrame(rows).T


def printed_coverage(table: pd.DataFrame) -> pd.Series:
    """Return the shares of Tables 5.2 to 5.4, from the four bounds.

    The share of the original interval that the released one covers; where it covers all of it, the
    length of the original relative to the released one. The text does not say so, but Table 5.2
    follows from Table 5.1 in this way.
    """
    lower, upper = table["lower_original"], table["upper_original"]
    inside = (table["lower_released"] <= lower) & (upper <= table["upper_released"])
    ratio = (upper - lower) / (table["upper_released"] - table["lower_released"])
    bounds = (lower, upper, table["lower_released"], table["upper_released"])
    return pd.Series(utility.coverage(*bounds), index=table.index).where(~inside, ratio)


def coverages(
    original: pd.DataFrame,
    releases: Mapping[str, pd.DataFrame],
    indicator: str,
    by: list[str],
) -> pd.DataFrame:
    """Tables 5.2 to 5.4: percent of agreement of the intervals (`printed_coverage`)."""
    rows = {}
    for name, release in releases.items():
        table = compared(original, release, indicator, by).drop(index="all")
        rows[name] = 100 * printed_coverage(table)
    return pd.DataFrame(rows).T


def errors(original: pd.DataFrame, releases: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Bias, variance and mean squared error (section 5.5.3), overall and by location.

    Differences of the Gini coefficient are in percentage points, those of the pay gap as well.
    """
    wanted = ["original", "difference", "variance_original", "variance_released", "mse", "overlap"]
    parts = {}
    for indicator in ("gini", "gender_pay_gap"):
        scale = 100.0 if indicator == "gender_pay_gap" else 1.0
        for name, release in releases.items():
            table = compared(original, release, indicator, ["location"])[wanted].copy()
            table[["original", "difference"]] *= scale
            table[["variance_original", "variance_released", "mse"]] *= scale**2
            parts[indicator, name] = table
    return pd.concat(parts, names=["indicator", "release"])


def regressions(
    original: pd.DataFrame, releases: Mapping[str, pd.DataFrame]
) -> dict[str, utility.RegressionComparison]:
    """Table 5.5: the regression of each release, with weights."""
    return {
        name: utility.regression_comparison(
            original,
            without_losses(release),
            MODEL,
            weights="weights",
            released_weights="weights",
        )
        for name, release in releases.items()
    }


def coefficients(found: Mapping[str, utility.RegressionComparison]) -> pd.DataFrame:
    """Return the coefficients of the original and of each release, and the mean overlap."""
    tables = {name: item.table.set_index("term") for name, item in found.items()}
    first = next(iter(tables.values()))
    columns = {"original": first["original"]}
    columns.update({name: table["released"] for name, table in tables.items()})
    result = pd.DataFrame(columns)
    result.loc["mean overlap, %"] = {
        "original": 100.0,
        **{name: 100 * item.overlap for name, item in found.items()},
    }
    return result


def against_manufacturing(printed: pd.DataFrame) -> pd.DataFrame:
    """Express Table 5.5 against manufacturing instead of mining, as mining was joined to it."""
    base = printed.loc["NACE1=D"]
    table = printed.drop(index="NACE1=D")
    branches = table.index.str.startswith("NACE1=")
    table.loc[branches] -= base
    table.loc["(Intercept)"] += base
    return table


def slope(table: pd.DataFrame, name: str, terms: str) -> float:
    """Return the least squares slope of a release's coefficients on the original ones."""
    rows = table[table.index.str.startswith(terms)]
    x, y = rows["original"] - rows["original"].mean(), rows[name] - rows[name].mean()
    return float((x * y).sum() / (x * x).sum())
