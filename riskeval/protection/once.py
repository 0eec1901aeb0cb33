"""Verbs on numbers in household files: once a household, sums and signs kept afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.household import (
    HouseholdRoles,
    note_no_household,
    read_household_keys,
    read_households,
)
from riskeval.protection.numeric import put_numbers
from riskeval.protection.result import Protected, changed_cells, protected
from riskeval.protection.whole_households import Run, mask_whole_households
from riskeval.recovery.columns import check_components, names_of
from synthpop.microdata.frame.frames import as_numbers, is_number, numbers
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join, plural, short_percent
from synthpop.microdata.roles.microdata import Microdata

SUM_TOLERANCE = 1e-6
ONE_BY_ONE = ("individual", "univariate-optimal")
"""Methods of microaggregation that take each variable for itself."""


@dataclass(frozen=True)
class Order:
    """What a verb must respect beside its own method."""

    household: str | None = None
    household_variables: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    keep_signs: tuple[str, ...] = ()
    # total -> its parts
    components: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # whether the verb keeps signs itself, as by never mixing values of different sign
    verb_keeps_signs: bool = True
    # variables that are masked together for all members: one row per household, of one size
    household_keys: tuple[str, ...] = ()
    k: int = 1  # households that such a table needs

    @property
    def asks(self) -> bool:
        """Whether there is anything to respect."""
        return bool(self.household or self.keep_signs or self.components)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments as plain values."""
        return {
            "household": self.household,
            "household_variables": list(self.household_variables),
            "keep_signs": list(self.keep_signs),
            **({"household_keys": list(self.household_keys)} if self.household_keys else {}),
            "components": {total: list(parts) for total, parts in self.components.items()} or None,
        }


def read_order(
    faults: Faults,
    file: Microdata,
    names: Sequence[str],
    *,
    household_variables: Sequence[str] | str = (),
    components: Mapping[str, Sequence[str]] | None,
    keep_signs: Sequence[str] | str = (),
    strata: Sequence[str] | str | None = None,
) -> tuple[Order, HouseholdRoles | None]:
    """Check what a verb must respect; return it and the households."""
    parts = {total: names_of(columns) for total, columns in (components or {}).items()}
    household = file.roles.household
    order = Order(
        household, tuple(names_of(household_variables)), tuple(names_of(strata)),
        tuple(names_of(keep_signs)), parts,
    )  # fmt: skip
    check_components(faults, file.frame, parts)
    for role in ("household_variables", "keep_signs"):
        for name in getattr(order, role):
            if name not in names:
                faults.add(role, f"{name!r} is not among the variables")
    if order.household_variables and household is None:
        note_no_household(faults, "household_variables")
    homes = None
    if household is not None:
        if household in names:
            faults.add("household", f"{household!r} is a variable too")
        homes = read_households(
            faults, file, candidates=names, declared=order.household_variables, strata=order.strata
        )
    return order, homes


def read_known(
    faults: Faults, household_keys: Sequence[str] | str, names: Sequence[str], order: Order,
    grouping: object,
) -> tuple[str, ...]:  # fmt: skip
    """Return the variables that are masked for whole households, for a method that can do so."""
    known = read_household_keys(faults, household_keys, names, order.household)
    if known and (getattr(grouping, "type", "") in ONE_BY_ONE or set(known) & {*order.keep_signs}):
        what = "need a method for all variables at once, and no keep_signs of their own"
        faults.add("household_keys", what, hint="Take method='mdav'.")
    return tuple(known)


def once_a_household(
    frame: pd.DataFrame, names: Sequence[str], order: Order, homes: HouseholdRoles | None, run: Run
) -> Protected:
    """Run a verb on household variables once a household, then on the others, then keep sums."""
    if not order.asks:
        plain = run(frame, list(names), None)
        sizes = magnitude_note(frame, plain.data, names)
        return replace(plain, notes=(*plain.notes, *sizes))
    by_record = [name for name in names if name not in order.household_keys]
    shared = [] if homes is None else [name for name in by_record if name in homes.variables]
    others = [name for name in by_record if name not in shared]
    released = frame.copy(deep=False)
    notes = [] if homes is None else homes.notes()
    details: dict[str, Any] = {}
    result: Protected | None = None
    if order.household_keys:
        assert homes is not None
        # 0. what is known of whole households
        masked = mask_whole_households(frame, order.household_keys, order.k, homes, run)
        result, released, notes = masked.result, masked.data, [*notes, *masked.notes]
        details |= masked.details
    if shared:
        assert homes is not None
        # 1. one row per household, with the value that its members have
        table = _one_row_each(frame, shared, homes)
        result = run(table, shared, None)
        for name in shared:
            copied = result.data[name].take(homes.number).set_axis(frame.index)
            missing = frame[name].isna()
            released[name] = copied.mask(missing) if missing.any() else copied
        each = plural(len(homes), "household")
        notes += [
            message(
                "{shared}: drawn once for each of {each}, the same for all members.",
                shared=join(shared),
                each=each,
            ),
            *result.notes,
        ]
        details |= {**result.details, "household_details": dict(result.details)}
    if others:
        # 2. what persons have for themselves
        result = run(released, others, None if homes is None else homes.number)
        released = result.data
        notes += [note for note in result.notes if note not in notes]
        details |= result.details
    assert result is not None
    # 3. signs, sums
    if not order.verb_keeps_signs:
        released = with_signs_of(frame, released, order.keep_signs)
    signs = _signs_note(frame, released, order.keep_signs)
    released, touched, sums = sums_kept(frame, released, names, order.components)
    sizes = magnitude_note(frame, released, names)
    return protected(
        frame,
        released,
        [*names, *(name for name in touched if name not in names)],
        method=result.method,
        parameters={**result.parameters, "variables": list(names), **order.parameters()},
        seed=result.seed,
        notes=[*notes, *signs, *sums, *sizes],
        details=details,
    )


def _one_row_each(
    frame: pd.DataFrame, shared: Sequence[str], homes: HouseholdRoles
) -> pd.DataFrame:
    table = frame.iloc[homes.first].reset_index(drop=True)
    for name in shared:
        if table[name].isna().any():  # the first member may lack what another has
            values = frame[name].groupby(homes.number, observed=True).first()
            table[name] = values.astype(frame[name].dtype).to_numpy()
    return table


def with_signs_of(
    frame: pd.DataFrame, released: pd.DataFrame, keep_signs: Sequence[str]
) -> pd.DataFrame:
    """Give values the sign of the original, 0 included; frames of n records."""
    released = released.copy(deep=False)
    for name in keep_signs:
        before = as_numbers(frame[name])
        after = as_numbers(released[name])
        flipped = np.sign(before) * np.sign(after) < 0
        released[name] = put_numbers(released[name], -after, flipped)
        zero = (before == 0) & (after != 0) & ~np.isnan(after)
        released[name] = put_numbers(released[name], np.zeros(len(after)), zero)
    return released


def _signs_note(frame: pd.DataFrame, released: pd.DataFrame, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    before, after = (np.sign(numbers(file, names)) for file in (frame, released))
    moved = int(((before != after) & ~np.isnan(before) & ~np.isnan(after)).sum())
    if not moved:
        return [message("Signs of {names} were kept.", names=join(names))]
    values = plural(moved, "value")
    return [
        message(
            "Signs of {names} were kept except for {values}, which too few records share.",
            names=join(names),
            values=values,
        )
    ]


def sums_kept(
    frame: pd.DataFrame,
    released: pd.DataFrame,
    names: Sequence[str],
    components: Mapping[str, Sequence[str]],
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Make totals and parts agree where they agreed: the total follows parts that were changed.

    Where only the total was changed, its parts are multiplied by the same factor.
    """
    released = released.copy(deep=False)
    touched: list[str] = []
    notes: list[str] = []
    for total, parts in components.items():
        before = numbers(frame, [total, *parts])
        scale = np.maximum(np.abs(before).max(axis=1), 1.0)
        agreed = np.abs(before[:, 0] - before[:, 1:].sum(axis=1)) <= SUM_TOLERANCE * scale
        after = numbers(released, [total, *parts])
        agreed &= ~np.isnan(after).any(axis=1)
        if any(part in names for part in parts):
            sums = after[:, 1:].sum(axis=1)
            released[total] = put_numbers(released[total], sums, agreed & (sums != after[:, 0]))
            touched.append(total)
            notes.append(
                message("{total} is again the sum of {parts}.", total=total, parts=join(parts))
            )
        else:
            factor = np.ones(len(after))
            rows = agreed & (before[:, 0] != 0)
            factor[rows] = after[rows, 0] / before[rows, 0]
            for j, part in enumerate(parts, start=1):
                moved = rows & (before[:, j] != 0) & (factor != 1.0)
                released[part] = put_numbers(released[part], before[:, j] * factor, moved)
            from_nothing = int((agreed & (before[:, 0] == 0) & (after[:, 0] != 0)).sum())
            back = agreed & (before[:, 0] == 0)
            released[total] = put_numbers(released[total], before[:, 0], back)
            touched += [total, *parts]
            notes.append(
                message(
                    "{parts} were multiplied by the factor of {total}, so that they add up",
                    parts=join(parts),
                    total=total,
                )
                + (
                    (
                        "; "
                        + message(
                            "{from_nothing} of 0 stayed 0.",
                            from_nothing=plural(from_nothing, "total"),
                        )
                    )
                    if from_nothing
                    else "."
                )
            )
        n_broken = int((~agreed).sum())
        if n_broken:
            notes.append(
                message(
                    "In {n_broken} {total} was not the sum, or a part is missing.",
                    n_broken=plural(n_broken, "record"),
                    total=total,
                )
            )
    return released, touched, notes


def magnitude_note(before: pd.DataFrame, after: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Say by how much values moved: half of those that changed, and one in twenty."""
    moves = []
    for name in names:
        if not (is_number(before[name]) and is_number(after[name])):
            continue
        rows = changed_cells(before[name], after[name])
        old = as_numbers(before[name])[rows]
        new = as_numbers(after[name])[rows]
        fine = ~np.isnan(old) & ~np.isnan(new) & (old != 0)
        with np.errstate(all="ignore"):  # of a number near 0 no share can be told
            moves.append(np.abs(new[fine] / old[fine] - 1))
    sizes = np.concatenate(moves) if moves else np.empty(0)
    sizes = sizes[np.isfinite(sizes)]
    if not len(sizes):
        return []
    half, most = np.quantile(sizes, [0.5, 0.95])
    return [
        message(
            "Half of the changed values moved by at most {half}, one in twenty by more "
            "than {most}.",
            half=short_percent(half),
            most=short_percent(most),
        )
    ]
