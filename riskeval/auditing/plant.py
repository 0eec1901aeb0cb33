"""Whom the audit looks for: planted persons, households of their own kind, outliers, anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.auditing.generator import AuditedPart
from riskeval.auditing.result import WHOLE
from riskeval.auditing.space import AuditSpace, CodedPersons
from synthpop.microdata.frame.codes import cell_ids
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.roles.survey import Survey

RARE = 1 / 3
"""Persons are planted among the third with the fewest others like them."""
MOST_DECIMALS = 4
UNUSUAL = 0.02
"""A level that fewer persons than this have is not planted: its total would give it away."""

KINDS = ("planted", "unique", "outlier", "random")


@dataclass(frozen=True, slots=True, eq=False)
class TargetGroup:
    """Households that are looked for in one way.

    Planted ones have one person with other values, in about half of the refits; of all other kinds
    the household is in about half of the refits and absent from the rest.
    """

    kind: str
    label: str  # of the stage; "release" for all columns together
    own: np.ndarray  # int, places of the columns that are compared
    context: np.ndarray  # int, places of the columns that are known
    households: np.ndarray  # int, shape (m,)
    rows: np.ndarray  # int, shape (m,): persons, of planted ones; else empty
    planted: pd.DataFrame | None = None  # m rows, the columns of the stage

    @property
    def size(self) -> int:
        """How many are looked for."""
        return len(self.households)


def make_groups(
    survey: Survey,
    parts: Sequence[AuditedPart],
    space: AuditSpace,
    coded: CodedPersons,
    n_targets: int,
    rng: np.random.Generator,
) -> tuple[TargetGroup, ...]:
    """Choose whom to look for: so many for each stage, outliers and random households.

    A household is looked for in one way only. No more than a tenth of the households are, by one
    kind each a like share.
    """
    n_households = survey.n_households
    free = np.ones(n_households, dtype=bool)
    most = max(2, min(n_targets, int(0.2 * n_households / (len(parts) + 2))))
    heavy = survey.household_weights >= np.median(survey.household_weights)
    groups = []
    for part in parts:
        own, context = space.index(part.own), space.index(part.context)
        if part.whole:
            chosen = _own_kind(survey, space, coded, own, free & heavy, most, rng)
            groups.append(TargetGroup("unique", part.label, own, context, chosen, _NOBODY))
        else:
            group = _planted(survey, part, space, coded, free & heavy, most, rng)
            if group is None:
                continue
            groups.append(group)
        free[groups[-1].households] = False
    outliers = _outliers(survey, space, coded, free, most)
    free[outliers] = False
    anybody = rng.permutation(np.flatnonzero(free))[:most]
    known = space.index(parts[0].own) if parts and parts[0].whole else _NOBODY
    for kind, chosen in (("outlier", outliers), ("random", anybody)):
        rest = np.setdiff1d(np.arange(len(space.names)), known)
        groups.append(TargetGroup(kind, WHOLE, rest, known, np.sort(chosen), _NOBODY))
    return tuple(one for one in groups if one.size)


_NOBODY = np.empty(0, dtype=np.int64)


def _classes(space: AuditSpace, coded: CodedPersons, columns: np.ndarray) -> np.ndarray:
    """Return codes of columns, numbers in tenths of the survey."""
    places = coded.places[:, columns]
    tenths = np.where(places < 0, -1, np.minimum(places * 10, 9)).astype(np.int64)
    return np.where(space.numeric[columns], tenths, places.astype(np.int64))


def _own_kind(
    survey: Survey,
    space: AuditSpace,
    coded: CodedPersons,
    own: np.ndarray,
    free: np.ndarray,
    most: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return households whose members are put together as those of few others."""
    text: dict[bytes, int] = {}
    kinds = np.empty(survey.n_households, dtype=np.int64)
    order, offsets = survey.household_order, survey.household_offsets
    values = coded.values[:, own]
    for h in range(survey.n_households):
        key = values[order[offsets[h] : offsets[h + 1]]].tobytes()
        kinds[h] = text.setdefault(key, len(text))
    counts = np.bincount(kinds)[kinds].astype(np.float64)
    counts[~free] = np.inf
    order_of = np.lexsort((rng.random(len(counts)), counts))
    chosen = order_of[: min(most, int(free.sum()))]
    return np.sort(chosen)


def _outliers(
    survey: Survey, space: AuditSpace, coded: CodedPersons, free: np.ndarray, most: int
) -> np.ndarray:
    """Return the households whose members have the rarest and most extreme values."""
    n = len(coded.values)
    surprise = np.zeros(n)
    for j in range(len(space.names)):
        places = coded.places[:, j]
        if space.levels[j] is None:
            tail = np.minimum(places, 1 - places)
            surprise += np.where(places < 0, 0.0, -np.log(np.maximum(tail, 0.5 / n) * 2))
        else:
            codes = places.astype(np.int64) + 1
            surprise += -np.log(np.bincount(codes)[codes] / n)
    of_household = np.bincount(survey.household_index, surprise, survey.n_households)
    of_household = of_household / survey.household_sizes
    of_household[~free] = -np.inf
    return np.argsort(-of_household, kind="stable")[: min(most, int(free.sum()))]


def _planted(
    survey: Survey,
    part: AuditedPart,
    space: AuditSpace,
    coded: CodedPersons,
    free: np.ndarray,
    most: int,
    rng: np.random.Generator,
) -> TargetGroup | None:
    """Choose persons of whom few are like them, and the values that they get."""
    own, context = space.index(part.own), space.index(part.context)
    frame = survey.frame
    present = frame[list(part.own)].notna().to_numpy().all(axis=1)
    if own.size > 1 and space.numeric[own].all():  # a split: of something
        present &= (coded.values[:, own] != 0).any(axis=1)
    eligible = np.flatnonzero(present & free[survey.household_index])
    if not len(eligible):
        return None
    ids, _ = cell_ids(_classes(space, coded, context) + 1)
    alike = np.bincount(ids)[ids][eligible]
    order = np.lexsort((rng.random(len(eligible)), alike))
    rare = rng.permutation(eligible[order[: max(most * 4, int(len(eligible) * RARE))]])
    _, first = np.unique(survey.household_index[rare], return_index=True)
    rows = rare[np.sort(first)][:most]
    rows = rows[np.argsort(survey.household_index[rows])]
    planted = frame.loc[frame.index[rows], list(part.own)].reset_index(drop=True)
    if own.size > 1 and space.numeric[own].all():
        planted = _moved(planted, rng)
    else:
        for name in part.own:
            j = space.names.index(name)
            planted[name] = (
                _unused(frame[name], len(rows), rng)
                if space.levels[j] is None
                else _unlikely(frame[name], coded, j, context, rows, space, rng)
            )
    households = survey.household_index[rows]
    return TargetGroup("planted", part.label, own, context, households, rows, planted)


def _unused(column: pd.Series, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return m values inside the range of a number that nobody in the survey has.

    They have as many decimals as the survey's. Where a whole range is taken, the next value up that
    is free is beyond it.
    """
    values = as_numbers(column)
    values = values[~np.isnan(values)]
    inner = values[values != 0] if (values != 0).any() else values
    steps = [d for d in range(MOST_DECIMALS) if np.allclose(values, np.round(values, d))]
    decimals = steps[0] if steps else MOST_DECIMALS
    step, taken = 10.0**-decimals, set(np.round(values, decimals).tolist())
    made = []
    for start in np.quantile(inner, rng.uniform(0.05, 0.95, m)):
        value = round(float(start), decimals)
        while value in taken:
            value = round(value + step, decimals)
        taken.add(value)
        made.append(value)
    return np.array(made)


def _unlikely(
    column: pd.Series,
    coded: CodedPersons,
    j: int,
    context: np.ndarray,
    rows: np.ndarray,
    space: AuditSpace,
    rng: np.random.Generator,
) -> pd.Series:
    """Return for each person a level that others with the same context seldom have.

    Levels of a few persons are left out, and those that nobody of the nearest two hundred has where
    another one is there: what is impossible by rules is not planted.
    """
    codes = coded.places[:, j].astype(np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    usual = counts >= max(2, UNUSUAL * counts.sum())
    near = min(200, len(codes))
    chosen = []
    for row in rows:
        apart = np.zeros(len(codes), dtype=np.float32)
        for k in context:
            apart += space.difference(int(k), coded.places[:, k], coded.places[row, k])
        around = np.argpartition(apart, near - 1)[:near]
        shares = np.bincount(codes[around][codes[around] >= 0], minlength=len(counts))
        rank = np.where(shares == 0, 1e6, shares) + rng.random(len(shares))
        rank[~usual] = np.inf
        rank[codes[row]] = np.inf
        pick = int(np.argmin(rank))
        chosen.append(pick if np.isfinite(rank[pick]) else int(codes[row]))
    first_row = np.zeros(len(counts), dtype=np.int64)
    first_row[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
    return column.iloc[first_row[np.array(chosen)]].reset_index(drop=True)


def _moved(planted: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of a split total with the amounts exchanged between its columns."""
    values = planted.to_numpy(copy=True)
    for row in values:
        row[:] = rng.permutation(row)
    return pd.DataFrame(values, columns=planted.columns).astype(dict(planted.dtypes))
