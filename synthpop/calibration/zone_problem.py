"""Known totals of nested geographies as arrays: households, zones, and controls of each area."""

from __future__ import annotations

from collections.abc import Sequence
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
    region_of_household: np.ndarray  # int64, shape (n_households,): -1 where it may live anywhere
    region_of_zone: np.ndarray  # int64, shape (n_zones,)
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

    def start(self, zones: np.ndarray) -> np.ndarray:
        """Weights before, shape (zones, n_households): equal shares of those of the survey.

        A household does not live outside of its region, nor where a control that it is in has a
        total of zero that must be met.
        """
        free = self.region_of_household < 0
        n_region = np.bincount(self.region_of_zone, minlength=self.region_of_household.max() + 1)
        n_zones_of = np.where(free, self.n_zones, n_region[self.region_of_household])
        share = self.weights / np.maximum(n_zones_of, 1)
        here = self.region_of_zone[zones][:, None] == self.region_of_household[None, :]
        weights: np.ndarray = np.where(here | free, share, 0.0)
        is_in = (self.matrix != 0).astype(np.float64)
        for level, targets in enumerate(self.targets):
            must = np.isinf(self.importance[self.controls_of(level)])
            zero = ((targets[self.areas[level, zones]] == 0) & must).astype(np.float64)
            if zero.any():
                weights[(is_in[:, self.controls_of(level)] @ zero.T).T > 0] = 0.0
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
    region, of_zone = _regions(survey, geography, within)
    of_rows = [np.concatenate(part) for part in zip(*rows, strict=True)]
    return ZoneProblem(
        matrix, np.asarray(survey.household_weights, dtype=np.float64), areas,
        np.concatenate(level_of), tables, np.concatenate(importance), region, of_zone,
        *of_rows,
    )  # fmt: skip


def _regions(
    survey: Survey, geography: pd.DataFrame, within: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Region of each household, -1 where it may live anywhere, and of each zone."""
    if within is None:
        free = np.full(survey.n_households, -1, dtype=np.int64)
        return free, np.zeros(len(geography), dtype=np.int64)
    names = {name: k for k, name in enumerate(geography[within].astype(object).unique())}
    heads = survey.household_order[survey.household_offsets[:-1]]
    own = survey.frame[within].astype(object).iloc[heads]
    region = np.array([names.get(name, len(names)) for name in own], dtype=np.int64)
    return region, np.array([names[name] for name in geography[within].astype(object)])


def _areas_of(
    margin: Margin, geography: pd.DataFrame, where: list[str], codes: np.ndarray, faults: Faults
) -> np.ndarray | None:
    """Area of each row of a margin, of the finest geography that it names."""
    if not where:
        return np.zeros(len(margin.frame), dtype=np.int64)
    where = sorted(where, key=list(geography.columns).index)
    known = geography[where].assign(code=codes).drop_duplicates(where)
    keys = {tuple(map(level_text, row[:-1])): row[-1] for row in known.itertuples(index=False)}
    rows = [tuple(map(level_text, row)) for row in margin.frame[where].itertuples(index=False)]
    area = np.array([keys.get(row, -1) for row in rows], dtype=np.int64)
    if (area < 0).any():
        names = ", ".join(dict.fromkeys(" ".join(rows[k]) for k in np.flatnonzero(area < 0)[:3]))
        what = f"{names}: no zone of the geography lies there"
        hint = "Add its zones to the geography, or leave its totals out."
        faults.add(margin.label, what, rows=np.flatnonzero(area < 0), hint=hint)
        return None
    return area


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
    labels = margin.cell_labels()
    for k in out_of_reach[:SHOWN]:
        what = f"total {number(margin.targets[k], 6)}, but nobody of the sample is in it"
        hint = "Put cells together, or leave them out."
        faults.add(f"{margin.label}: {labels[k]}", what, hint=hint)
    if len(out_of_reach) > SHOWN:
        text = f"{plural(len(out_of_reach) - SHOWN, 'more cell')} of this kind"
        faults.add(margin.label, text, hint="Put cells together, or leave them out.")
