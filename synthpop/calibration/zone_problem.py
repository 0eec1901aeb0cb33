"""Known totals of nested geographies as arrays: households, zones, and controls of each area."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.controls import match_margin
from synthpop.calibration.margins import Margin
from synthpop.calibration.problem import constraint_matrix
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import number, plural
from synthpop.microdata.roles.survey import Survey

SHOWN = 8
ENOUGH = 50  # households of the survey that a region without any takes from others


@dataclass(frozen=True, slots=True)
class ZoneProblem:
    """Households of a survey, zones in nested areas, and the controls of both."""

    # scipy CSR matrix, shape (n_households, n_controls): how much a household counts
    matrix: Any
    weights: np.ndarray  # float64, shape (n_households,): of the survey
    # int64, shape (n_levels, n_zones): area of each zone; level 0 is everything, the last the zones
    areas: np.ndarray
    level: np.ndarray  # int64, shape (n_controls,): level whose areas have totals of the control
    # one float64 array a level, shape (n_areas, n_controls of the level); NaN: not controlled
    targets: tuple[np.ndarray, ...]
    importance: np.ndarray  # float64, shape (n_controls,); infinite: must be met
    pools: tuple[np.ndarray, ...]  # of each region: households that may live in its zones, int64
    region_of_zone: np.ndarray  # int64, shape (n_zones,)
    share_of_zone: np.ndarray  # float64, shape (n_zones,): of the weights of its pool, before
    # float64, shape (n_zones,): households of each zone where that must be met, NaN where not
    households: np.ndarray
    borrowed: Mapping[int, tuple[int, ...]]  # region without a sample: those whose it takes
    # one row per total as the margins give them: margin, level, area, control
    margin: np.ndarray
    area: np.ndarray
    control: np.ndarray

    @property
    def n_zones(self) -> int:
        """Number of zones."""
        return self.areas.shape[1]

    def controls_of(self, level: int) -> np.ndarray:
        """Controls of a level, int64 array."""
        return np.flatnonzero(self.level == level)

    def of_areas(self, level: int, of_zones: np.ndarray) -> np.ndarray:
        """Add up numbers of zones and controls by the areas of a level."""
        sums = np.zeros(self.targets[level].shape)
        np.add.at(sums, self.areas[level], of_zones[:, self.controls_of(level)])
        return sums

    def blocks(self, entries: int) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Yield regions with the matrix of their households, and some of their zones.

        entries: numbers to hold at a time, of derivatives and weights
        """
        k = self.matrix.shape[1]
        order = np.argsort(self.region_of_zone, kind="stable")
        ends = np.searchsorted(self.region_of_zone[order], np.arange(len(self.pools) + 1))
        for region, pool in enumerate(self.pools):
            zones, part = order[ends[region] : ends[region + 1]], self.matrix[pool]
            size = max(1, entries // (k * k + len(pool)))
            for first in range(0, len(zones), size):
                yield region, part, zones[first : first + size]

    def start(self, region: int, part: Any, zones: np.ndarray) -> np.ndarray:
        """Weights before in zones of a region, shape (zones, households of its pool).

        Zones share the weights of the survey in proportion to their households. Nobody lives where
        a control that its household is in has a total of zero that must be met.
        """
        weights = self.share_of_zone[zones][:, None] * self.weights[self.pools[region]][None, :]
        is_in = None
        for level, targets in enumerate(self.targets):
            own = self.controls_of(level)
            must = np.isinf(self.importance[own])
            zero = ((targets[self.areas[level, zones]] == 0) & must).astype(np.float64)
            if zero.any():
                is_in = (part != 0).astype(np.float64) if is_in is None else is_in
                weights[(is_in[:, own] @ zero.T).T > 0] = 0.0
        return weights


def zone_problem(
    survey: Survey,
    geography: pd.DataFrame,
    margins: Sequence[Margin],
    within: str | None,
    faults: Faults,
) -> ZoneProblem | None:
    """Match margins with households and areas; None where there was a fault, all of them noted."""
    levels = [str(name) for name in geography.columns]
    codes = [pd.factorize(geography[name])[0].astype(np.int64) for name in levels]
    areas = np.vstack([np.zeros(len(geography), dtype=np.int64), *codes])
    cells, values, of_households = [], [], []
    level_of, importance, targets = [], [], []
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    codings: dict[str, Any] = {}
    n_controls = 0
    before = len(faults.found)
    if not margins:
        faults.add("margins", "are none", hint="Give the known totals of the zones.")
    for position, margin in enumerate(margins):
        where = [name for name in margin.columns if name in levels]
        by = [name for name in margin.columns if name not in levels]
        level = 1 + max((levels.index(name) for name in where), default=-1)
        area = _areas_of(margin, geography, where, areas[level], faults)
        categories, cell = _categories(margin, by)
        matched = match_margin(
            survey.frame, categories, codings, faults, survey.household_index, True, False
        )
        if area is None:
            continue
        cells.append(np.where(matched.cell >= 0, matched.cell + np.int32(n_controls), -1))
        values.append(matched.values)
        of_households.append(margin.level == "household")
        table = np.full((int(areas[level].max()) + 1, len(categories.frame)), np.nan)
        table[area, cell] = margin.targets
        targets.append((level, table))
        level_of.append(np.full(table.shape[1], level))
        cost = np.inf if margin.importance is None else float(margin.importance)
        importance.append(np.full(table.shape[1], cost))
        rows.append((np.full(len(area), position), area, cell + n_controls))
        _check_reach(margin, matched.cell, matched.values, cell, faults)
        n_controls += table.shape[1]
    if len(faults.found) > before:
        return None
    matrix = constraint_matrix(
        [cell.astype(np.int32) for cell in cells], values, of_households, n_controls,
        household_index=survey.household_index, household_equal=True,
    )  # fmt: skip
    tables = tuple(
        np.hstack([np.empty((int(areas[k].max()) + 1, 0)), *(t for at, t in targets if at == k)])
        for k in range(len(areas))
    )
    pools, of_zone = _regions(survey, geography, within)
    levels_of, costs = np.concatenate(level_of), np.concatenate(importance)
    borrowed = _borrow(pools, _shares(areas, levels_of, tables, of_zone))
    share, households = np.ones(len(geography)), np.full(len(geography), np.nan)
    if levels_of.max() == len(areas) - 1:
        sizes = _zone_sizes(matrix, levels_of, costs, tables[-1])
        share, households = (of_areas[areas[-1]] for of_areas in sizes)
    of_region = np.bincount(of_zone, share)[of_zone]
    of_rows = [np.concatenate(part) for part in zip(*rows, strict=True)]
    return ZoneProblem(
        matrix, np.asarray(survey.household_weights, dtype=np.float64), areas, levels_of, tables,
        costs, tuple(pools), of_zone, share / np.maximum(of_region, 1e-300), households, borrowed,
        *of_rows,
    )  # fmt: skip


def _regions(
    survey: Survey, geography: pd.DataFrame, within: str | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Households of each region, in the order of the geography, and region of each zone."""
    if within is None:
        everybody = np.arange(survey.n_households)
        return [everybody], np.zeros(len(geography), dtype=np.int64)
    of_zone, names = pd.factorize(geography[within].astype(object))
    heads = survey.household_order[survey.household_offsets[:-1]]
    own = pd.Index(names).get_indexer(survey.frame[within].astype(object).iloc[heads])
    order = np.argsort(own, kind="stable")
    ends = np.searchsorted(own[order], np.arange(len(names) + 1))
    pools = [order[a:b] for a, b in itertools.pairwise(ends)]
    return pools, of_zone.astype(np.int64)


def _shares(
    areas: np.ndarray, level: np.ndarray, targets: tuple[np.ndarray, ...], of_zone: np.ndarray
) -> np.ndarray:
    """Controls of the zones added up by region, as shares of their largest, to compare regions."""
    last = len(areas) - 1
    sums = np.zeros((int(of_zone.max()) + 1, int((level == last).sum())))
    np.add.at(sums, of_zone, np.nan_to_num(targets[last])[areas[last]])
    return sums / np.maximum(sums.max(axis=1, keepdims=True, initial=0.0), 1e-300)


def _borrow(pools: list[np.ndarray], shares: np.ndarray) -> dict[int, tuple[int, ...]]:
    """Give regions without a household those of the regions whose zones have the nearest totals."""
    have = [k for k, pool in enumerate(pools) if len(pool)]
    borrowed: dict[int, tuple[int, ...]] = {}
    for k in [k for k, pool in enumerate(pools) if not len(pool)] if have else []:
        distance = np.abs(shares[have] - shares[k]).sum(axis=1)
        donors: list[int] = []
        for d in np.argsort(distance, kind="stable"):
            donors.append(have[d])
            if sum(len(pools[j]) for j in donors) >= ENOUGH:
                break
        borrowed[k] = tuple(donors)
    for k, regions in borrowed.items():
        pools[k] = np.sort(np.concatenate([pools[j] for j in regions]))
    return borrowed


def _zone_sizes(
    matrix: Any, level: np.ndarray, cost: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Share of each zone in all households, and its households where they must be met.

    targets: of the controls of the zones. One of them that counts every household once says how
    many households the zones have; without one they are taken to be equal.
    """
    share, households = np.ones(len(targets)), np.full(len(targets), np.nan)
    entries = matrix.getnnz(axis=0)
    for column, k in enumerate(np.flatnonzero(level == level.max())):
        if entries[k] == matrix.shape[0] and np.allclose(matrix[:, k].data, 1.0):
            known = targets[:, column]
            if np.nansum(known) > 0:
                share = np.where(np.isnan(known), np.nanmean(known), known)
            if np.isinf(cost[k]):
                households = known.copy()
            break
    return share, households


def _areas_of(
    margin: Margin, geography: pd.DataFrame, where: list[str], codes: np.ndarray, faults: Faults
) -> np.ndarray | None:
    """Area of each row of a margin, of the finest geography that it names."""
    if not where:
        return np.zeros(len(margin.frame), dtype=np.int64)
    where = sorted(where, key=list(geography.columns).index)
    known = pd.MultiIndex.from_arrays([texts_of(geography[name]) for name in where])
    rows = pd.MultiIndex.from_arrays([texts_of(margin.frame[name]) for name in where])
    first = ~known.duplicated()
    position = known[first].get_indexer(rows)
    area = np.where(position >= 0, codes[first][position], -1)
    if (area < 0).any():
        names = ", ".join(dict.fromkeys(" ".join(row) for row in rows[area < 0][:3]))
        what = f"{names}: no zone of the geography lies there"
        hint = "Add its zones to the geography, or leave its totals out."
        faults.add(margin.label, what, rows=np.flatnonzero(area < 0), hint=hint)
        return None
    return area


def texts_of(values: pd.Series) -> np.ndarray:
    """Return values as the text of their levels, object array."""
    codes, levels = pd.factorize(values.astype(object), use_na_sentinel=False)
    return np.array([level_text(level) for level in levels], dtype=object)[codes]


def _categories(margin: Margin, by: list[str]) -> tuple[Margin, np.ndarray]:
    """Return the distinct categories of a margin, and the category of each of its rows."""
    if not by:
        table: Any = 1.0
        cell: np.ndarray = np.zeros(len(margin.frame), dtype=np.int64)
    else:
        cell = margin.frame.groupby(by, sort=False, dropna=False, observed=True).ngroup().to_numpy()
        first = np.unique(cell, return_index=True)[1]
        table = margin.frame[by].iloc[np.sort(first)].reset_index(drop=True).assign(total=1.0)
        table = table.rename(columns={"total": margin.total}) if "total" not in by else table
    categories = Margin(
        table, level=margin.level, total=margin.total if by else "total",
        variable=margin.variable, name=margin.label,
    )  # fmt: skip
    return categories, cell


def _check_reach(
    margin: Margin, cell: np.ndarray, values: np.ndarray | None, rows: np.ndarray, faults: Faults
) -> None:
    """Note categories with a total that nobody of the survey is in."""
    inside = cell >= 0
    amounts = None if values is None else np.abs(np.nan_to_num(values[inside]))
    size = np.bincount(cell[inside], amounts, minlength=int(rows.max()) + 1)
    out_of_reach = np.flatnonzero((size[rows] == 0) & (margin.targets != 0))
    labels = margin.cell_labels() if len(out_of_reach) else []
    for k in out_of_reach[:SHOWN]:
        what = f"total {number(margin.targets[k], 6)}, but nobody of the sample is in it"
        hint = "Put cells together, or leave them out."
        faults.add(f"{margin.label}: {labels[k]}", what, hint=hint)
    if len(out_of_reach) > SHOWN:
        text = f"{plural(len(out_of_reach) - SHOWN, 'more cell')} of this kind"
        faults.add(margin.label, text, hint="Put cells together, or leave them out.")
