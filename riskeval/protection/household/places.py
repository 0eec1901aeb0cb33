"""Where households live, and how rare they are there: what record swapping starts from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from riskeval.protection.household.layer import Households
from riskeval.protection.household.tables import make_up_of
from synthpop.microdata.frame.codes import cell_ids, encode_keys, extremes
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.methods import Options
from synthpop.microdata.messages.parameters import NONE, Between, Whole


@dataclass(frozen=True, eq=False)
class SwapRequest(Options):
    """What a user asks of record swapping; `record_swap` says what each means."""

    PARAMETERS: ClassVar = {
        "k": Whole(0), "rate": Between(0, 1), "risk_threshold": Between(0, 1) | NONE,
    }  # fmt: skip

    household: str
    hierarchy: list[str]
    similar: list[list[str]]
    risk_keys: list[str]
    k: int
    rate: float
    carry_along: list[str]
    household_keys: list[str]
    risk: np.ndarray | None = None  # float64 array, shape (n, levels), or None
    risk_threshold: float | None = None

    @property
    def moved(self) -> list[str]:
        """Columns that households exchange."""
        return [*self.hierarchy, *self.carry_along]

    @property
    def shared(self) -> list[str]:
        """Columns that must be the same for all members."""
        profiles = [name for profile in self.similar for name in profile]
        return list(dict.fromkeys([*self.moved, *self.household_keys, *profiles]))

    def parameters(self) -> dict[str, object]:
        """Return the arguments as plain values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"risk": None if self.risk is None else self.risk.tolist()}


@dataclass(frozen=True)
class Places:
    """Households and where they live."""

    of_record: np.ndarray  # int64 array, shape (n,): household of each record
    first: np.ndarray  # int64 array, shape (H,): first record of each household
    # int64 array, shape (H, levels): area of each household at each level, coarse to fine
    area: np.ndarray
    risk: np.ndarray  # float64 array, shape (H, levels): the largest of the members at each level
    must: np.ndarray  # bool array, shape (H, levels): whether it must be swapped for its risk
    # int64 arrays, shape (H,): group of similar households, by profile in the order of trial
    profiles: list[np.ndarray]


def read_own_risk(
    faults: Faults, risk: Any, threshold: float | None, n: int, n_levels: int
) -> np.ndarray | None:
    """Risks of records by level, float64, shape (n, levels), as the user gave them."""
    if threshold is not None and risk is None:
        faults.add("risk_threshold", "is given without risk", hint="Give risk, or k.")
    if risk is None:
        return None
    values = pd.DataFrame(risk).apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
    if values.shape == (n, 1):
        values = np.repeat(values, n_levels, axis=1)
    if values.shape != (n, n_levels):
        what = f"has the shape {values.shape} for {n} records and {n_levels} levels"
        faults.add("risk", what, hint="Give one row per record and one column per level.")
        return None
    wrong = ~((values >= 0) & (values <= 1)).all(axis=1)
    if wrong.any():
        faults.add("risk", "is not a number from 0 to 1", rows=np.flatnonzero(wrong))
    return values


def read_places(frame: pd.DataFrame, homes: Households, request: SwapRequest) -> Places:
    """Find who lives where, and how rare each household is there at every level."""
    areas, risks, must = [], [], []
    first_members = frame.iloc[homes.first]
    keys, household_keys = list(request.risk_keys), list(request.household_keys)
    make_up = np.empty(0, np.int64)
    if household_keys:
        make_up = make_up_of(homes.number, _numbered(frame, keys))
    for level in range(1, len(request.hierarchy) + 1):
        geo = list(request.hierarchy[:level])
        areas.append(_numbered(frame, geo)[homes.first])
        # 1. records with the risk keys of a member in the area, 2. households with its make-up
        crossed = _numbered(frame, [*geo, *keys])
        smallest = extremes(np.bincount(crossed)[crossed], homes.number, len(homes))[0]
        if household_keys:
            shared = _numbered(first_members, [*geo, *household_keys])
            pair, _ = cell_ids(np.column_stack([shared, make_up]))
            smallest = np.minimum(smallest, np.bincount(pair)[pair])
        largest = 1.0 / smallest
        below = smallest < request.k
        # 3. risks of the user come before counts
        if request.risk is not None:
            largest = extremes(request.risk[:, level - 1], homes.number, len(homes))[1]
            threshold = request.risk_threshold
            below = below if threshold is None else largest > threshold
        risks.append(largest)
        must.append(below)
    return Places(
        homes.number,
        homes.first,
        np.column_stack(areas),
        np.column_stack(risks),
        np.column_stack(must),
        [_numbered(first_members, profile) for profile in request.similar],
    )


def _numbered(frame: pd.DataFrame, names: list[str]) -> np.ndarray:
    return cell_ids(encode_keys(frame, names).codes)[0]
