"""Output suppression: an external report has no small cells and no value of a single person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthpop.evaluation.values import COMPARED
from synthpop.microdata.messages.suppression import SMALLEST_COUNT, hide, rounded_count

if TYPE_CHECKING:
    from synthpop.evaluation.result import FitReport

DIGITS = 3
Groups = set[tuple[str, str, str]]
"""Variable, grouping ("" for all) and level."""
BOX = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.25, "p95": 0.05}


def suppressed(fit: FitReport) -> FitReport:
    """Return the report without small cells and without values of single persons.

    Cells of the sample with fewer than five persons become NaN; where household size is one of the
    variables, cells with fewer households. Where one cell of a distribution alone would go, the
    next smallest goes with it, as the others add up to one.

    Smallest and largest values go; a quantile stays where at least five sample persons lie
    on both sides of it, rounded to three digits; distribution functions keep the points with at
    least five sample persons in between. Means, deviations and totals stay in the groups of
    the table ``safe``: no value dominates them, nor what is left beside the groups shown. Numbers
    of sample persons in groups are rounded.
    """
    tables = {name: _in_households(table, fit.size) for name, table in fit.tables.items()}
    shown = ["sample", "population"]
    tables["one_way"] = _masked(tables["one_way"], [["variable"]], shown)
    crossed = [["a", "b", "level_a"], ["a", "b", "level_b"]]
    tables["two_way"] = _masked(tables["two_way"], crossed, shown)
    tables["by_stratum"] = _masked(tables["by_stratum"], crossed[:1], shown)
    counts = ["estimate", "population"]
    tables["sizes"] = _masked(tables["sizes"], [["stratum"], ["size"]], counts)
    for name in ("households_by_size", "households_by_stratum"):
        tables[name] = _masked(tables[name], [[]], counts)
    safe = _safe_groups(tables)
    tables["statistics"] = _statistics(tables["statistics"], safe)
    tables["quantiles"] = _quantiles(tables["quantiles"])
    tables["boxes"] = _boxes(tables["boxes"], safe)
    tables["groups"] = _groups(tables["groups"], safe)
    tables["curves"] = _curves(tables["curves"])
    for name in ("components", "components_by"):
        tables[name] = _components(tables[name], safe)
    return replace(fit, tables=tables)


def _safe_groups(tables: Mapping[str, pd.DataFrame]) -> set[tuple[str, str, str]]:
    """Groups whose means may be shown; none where a stored report has no such table."""
    table = tables.get("safe", pd.DataFrame(columns=["variable", "by", "level"]))
    return {(str(a), str(b), str(c)) for a, b, c in table.itertuples(index=False)}


def _in_households(table: pd.DataFrame, size: str | None) -> pd.DataFrame:
    """Count cells of a household size in households: nine persons of size 9 are one household."""
    if size is None or "n_sample" not in table or "n_below" in table:
        return table
    members = np.ones(len(table))
    pairs = (("by", "level"),) if "by" in table else (
        ("variable", "level"), ("a", "level_a"), ("b", "level_b")
    )  # fmt: skip
    for variable, level in pairs:
        if variable in table and level in table:
            of_size = (table[variable] == size).to_numpy()
            numbers = pd.to_numeric(table[level], errors="coerce").to_numpy(dtype=float)
            members = np.where(of_size & (numbers >= 1), numbers, members)
    return table.assign(n_sample=table["n_sample"] // members)


def _masked(table: pd.DataFrame, within: list[list[str]], columns: list[str]) -> pd.DataFrame:
    if table.empty:
        return table
    hidden = (table["n_sample"] < SMALLEST_COUNT).to_numpy().copy()
    for keys in within:
        groups = table.groupby(keys, sort=False).indices.values() if keys else [range(len(table))]
        for rows in map(np.asarray, groups):
            if hidden[rows].sum() == 1 and len(rows) > 1:
                others = rows[~hidden[rows]]
                hidden[others[np.argmin(table["n_sample"].to_numpy()[others])]] = True
    return hide(table, [*columns, "n_sample"], hidden)


def _statistics(table: pd.DataFrame, safe: Groups) -> pd.DataFrame:
    table = table[~table["statistic"].isin(["smallest", "largest"])].reset_index(drop=True)
    empty = (table["n_sample"] == 0) & table["statistic"].isin(["zero", "negative", "missing"])
    sums = table["statistic"].isin(["mean", "sd", "gini"])
    unsafe = sums & np.array([(name, "", "all") not in safe for name in table["variable"]], bool)
    return hide(table, COMPARED, unsafe | (~empty & (table["n_sample"] < SMALLEST_COUNT)))


def _quantiles(table: pd.DataFrame) -> pd.DataFrame:
    beyond = table["n_sample"] * np.fmin(table["p"], 1 - table["p"])
    table = hide(table, COMPARED, beyond < SMALLEST_COUNT)
    for column in ("sample", "population", "difference"):
        table[column] = rounded(table[column].to_numpy(dtype=float))
    return table


def _boxes(table: pd.DataFrame, safe: Groups) -> pd.DataFrame:
    if table.empty:
        return table
    table = table.copy()
    for column, share in BOX.items():
        hidden = table["n_sample"] * share < SMALLEST_COUNT
        table[column] = rounded(table[column].mask(hidden).to_numpy(dtype=float))
    unsafe = _unsafe(table, "variable", safe) | (table["n_sample"] < SMALLEST_COUNT)
    table["mean"] = table["mean"].mask(unsafe)
    return table


def _unsafe(table: pd.DataFrame, variable: str, safe: Groups) -> np.ndarray:
    """Rows of groups whose mean or total would tell a single value."""
    places = zip(table[variable], table["by"], table["level"], strict=True)
    return np.array([(str(a), str(b), str(c)) not in safe for a, b, c in places], dtype=bool)


def _groups(table: pd.DataFrame, safe: Groups) -> pd.DataFrame:
    if table.empty:
        return table
    numbers = [c for c in table.columns if c not in ("variable", "by", "level")]
    unsafe = _unsafe(table, "variable", safe) | (table["n_sample"] < SMALLEST_COUNT)
    table = table.assign(n_sample=[rounded_count(n) for n in table["n_sample"]])
    return hide(table, numbers, unsafe)


def _curves(table: pd.DataFrame) -> pd.DataFrame:
    if table.empty:
        return table
    tables = []
    for _, curve in table.groupby(["variable", "by", "level"], sort=False):
        total = int(curve["n_sample"].iloc[0])
        if total < 2 * SMALLEST_COUNT:
            continue
        points, n_seen = [], 0
        for row, below in zip(curve.index, curve["n_below"], strict=True):
            if below - n_seen >= SMALLEST_COUNT and (
                total - below >= SMALLEST_COUNT or below == total
            ):
                points.append(row)
                n_seen = below
        tables.append(curve.loc[points])
    return pd.concat(tables) if tables else table.iloc[:0]


def _components(table: pd.DataFrame, safe: Groups) -> pd.DataFrame:
    """Hide all parts of a total of which one is not safe: the others would tell it."""
    if table.empty:
        return table
    columns = ["sample", "population", "sample_share", "population_share"]
    is_small = (table["n_with_value"] < SMALLEST_COUNT) | (table["n_sample"] < SMALLEST_COUNT)
    is_small |= _unsafe(table, "part", safe)
    is_small = is_small.groupby([table["total"], table["by"], table["level"]]).transform("any")
    return hide(table, [*columns, "n_with_value"], is_small)


def rounded(values: np.ndarray, digits: int = DIGITS) -> np.ndarray:
    """Round to significant digits; NaN stays.

    Examples
    --------
    >>> rounded(np.array([12345.0, 0.0, -0.98765])).tolist()
    [12300.0, 0.0, -0.988]
    """
    size = np.abs(values)
    safe = np.where((size > 0) & np.isfinite(size), size, 1.0)
    places = 10.0 ** (digits - 1 - np.floor(np.log10(safe)))
    return np.where(np.isfinite(values), np.rint(values * places) / places, values)
