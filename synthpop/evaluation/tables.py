"""Tables of a fit report that are not about one variable alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation import shares, values
from synthpop.evaluation.request import FitRequest
from synthpop.evaluation.shares import ShareTables
from synthpop.evaluation.tabulate import ALL, Counts
from synthpop.microdata.statistics.distances import effective_size


def joined(parts: Sequence[Any]) -> pd.DataFrame:
    """Return tables one below the other; an empty one with the usual columns.

    parts: list of DataFrame, or of dicts of columns, in which one value may stand for all rows
    """
    parts = [part for part in parts if len(part["level"])]
    if not parts:
        return pd.DataFrame(columns=_ALWAYS)
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(parts, ignore_index=True)
    columns = {
        name: [np.broadcast_to(part[name], len(part["level"])) for part in parts]
        for name in parts[0]
    }
    return pd.DataFrame({name: np.concatenate(values) for name, values in columns.items()})


_ALWAYS = ["variable", "by", "level", "total", "part", "n_sample", *shares.DISTANCE]
"""Columns of tables without rows."""


def household_sizes(
    request: FitRequest, sides: ShareTables
) -> tuple[pd.DataFrame, list[dict[str, object]]]:
    """Households by stratum and size: estimated from the household weights, and counted."""
    survey, size, strata = request.survey, request.size, request.strata
    if size is None:
        return pd.DataFrame(), []
    plan, first = sides.plan, survey.household_order[survey.household_offsets[:-1]]
    groups = plan.factors[strata].labels if strata else ("all",)
    size_codes = plan.factors[size].code(request.frame[size])[first]
    group_codes = np.zeros(len(first), dtype=np.int64)
    persons = sides.population.single[size][None, :]
    if strata is not None:
        group_codes = plan.factors[strata].code(request.frame[strata])[first]
        persons = shares.side_pair(sides.population, strata, size)
    labels = plan.factors[size].labels
    cell = group_codes * len(labels) + size_codes
    estimate = np.bincount(cell, survey.household_weights, minlength=persons.size) * sides.scale
    rows = np.bincount(cell, minlength=persons.size)
    members = pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy(dtype=np.float64)
    households = (persons / members).ravel()
    table = pd.DataFrame(
        {
            "stratum": np.repeat(np.array(groups, dtype=object), len(labels)),
            "size": np.tile(np.array(labels, dtype=object), len(groups)),
            "members": np.tile(members, len(groups)),
            "estimate": estimate,
            "population": np.nan_to_num(households),
            "n_sample": rows,
        }
    )
    table = table[(table["estimate"] > 0) | (table["population"] > 0)].reset_index(drop=True)
    q = shares.shares(table["estimate"].to_numpy())
    p = table["population"].to_numpy()
    effective = effective_size(survey.household_weights)
    return table, [shares.tvd_row(size, strata or "", "households", q, p, effective)]


def margin(sizes: pd.DataFrame, column: str) -> pd.DataFrame:
    """Households by size or by stratum."""
    if sizes.empty:
        return pd.DataFrame()
    sums = ["estimate", "population", "n_sample"]
    table = sizes.groupby([column], sort=False)[sums].sum().reset_index()
    if column == "size":
        members = table["size"].map(sizes.groupby("size")["members"].first())
        table = table.iloc[np.argsort(members.to_numpy(), kind="stable")]
    return table.reset_index(drop=True)


def tvd_by_stratum(sides: ShareTables, request: FitRequest) -> pd.DataFrame:
    """Distances of each variable inside each stratum."""
    strata = request.strata
    if strata is None:
        return pd.DataFrame()
    names = [name for name in request.names if name != strata]
    return joined([shares.tvd_by_level(sides, name, strata) for name in names])


def boxes(
    sides: ShareTables,
    wanted: Mapping[str, Mapping[str, Sequence[float]]],
    sample: values.Quantiles,
    population: values.Quantiles,
) -> pd.DataFrame:
    """Quantiles of each number by each group, for box plots."""
    return joined(
        [
            values.boxes(sides, name, by, sample, population)
            for name, groupings in wanted.items()
            for by in groupings
            if by != ALL
        ]
    )


def curves(
    sides: ShareTables, request: FitRequest, parts: set[str], sample: values.Quantiles
) -> pd.DataFrame:
    """Distribution functions of each number, overall and by group."""
    tables = []
    for name in sides.plan.grids:
        low, high = sample[name, ALL][0][[0, -1]]
        if not np.isfinite(low):
            continue
        if name in parts:  # mostly zeros: show the part that is not
            counts = sides.sample.numbers[name]
            largest = counts.high / 2 if np.isfinite(counts.high) else 0.0
            low, high = min(low, 0.0), max(high, largest)
        ends = _rounded(low, high)
        tables += [
            values.curve(sides, name, by, ends)
            for by in (ALL, *(() if name in parts else sides.plan.by))
        ]
    return joined(tables)


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Round outwards to two digits, so that axis ends are not values of the data."""
    reach = max(abs(low), abs(high), 1e-12)
    step = 10.0 ** (np.floor(np.log10(reach)) - 1)
    a, b = np.floor(low / step) * step, np.ceil(high / step) * step
    return (float(a), float(b)) if a < b else (float(a), float(a + step))


def components(request: FitRequest, sides: ShareTables, groupings: Sequence[str]) -> pd.DataFrame:
    """Totals of parts, and their share of the sum of the absolute values of the total."""
    tables = []
    for total, parts in request.components.items():
        for by in groupings:
            labels = ("all",) if by == ALL else sides.plan.factors[by].labels
            q0, p0 = (
                values.moments(side, sides, total, by)["absolute"]
                for side in (sides.sample, sides.population)
            )
            occurs = (q0 > 0) | (p0 > 0)
            n_rows = values.moments(sides.rows, sides, total, by)["n"]
            for part in (*parts, total):
                q, p = (side.numbers[part].total[by] for side in (sides.sample, sides.population))
                table = {
                    "level": np.array(labels, dtype=object),
                    "sample": q * sides.scale,
                    "population": p,
                    "sample_share": q / np.where(q0 > 0, q0, np.nan),
                    "population_share": p / np.where(p0 > 0, p0, np.nan),
                    "n_sample": n_rows.astype(np.int64),
                    "n_with_value": _users(sides.rows, sides, part, by),
                }
                names = {"total": total, "part": part, "by": by}
                tables.append({**names, **{key: x[occurs] for key, x in table.items()}})
    return joined(tables)


def _users(counts: Counts, sides: ShareTables, name: str, by: str) -> np.ndarray:
    """Return how many sample persons have a value other than zero."""
    cells = counts.numbers[name].cells[by]
    with_value = cells.sum(axis=1) - cells[:, sides.plan.grids[name].zero_cell]
    return with_value.astype(np.int64)


def sums(sides: ShareTables, off: pd.DataFrame) -> pd.DataFrame:
    """Largest gap between a total and its parts, and the share of persons with a gap."""
    table = off.copy()
    for total in off["total"]:
        at = table["total"] == total
        table.loc[at, "sample"] = sides.sample.largest_gap[total]
        table.loc[at, "population"] = sides.population.largest_gap[total]
    return table


def association(sides: ShareTables) -> pd.DataFrame:
    """Share of the variance of each number between the groups of each factor."""
    rows: list[dict[str, object]] = []
    for name, centre in sides.plan.centres.items():
        for by in sides.plan.by:
            q, p = (
                values.eta_squared(side, centre, name, by)
                for side in (sides.sample, sides.population)
            )
            rows.append({"variable": name, "by": by, "sample": q, "population": p})
    return pd.DataFrame(rows, columns=["variable", "by", "sample", "population"])
