"""Verbs on numbers run once per household, then per person, and keep sums and signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from riskeval.protection.household.layer import Households, read_household_keys, read_households
from riskeval.protection.household.whole import Run, mask_whole_households
from riskeval.protection.result import Protected, protected
from riskeval.protection.sums import magnitude_note, signs_note, sums_kept, with_signs_of
from riskeval.recovery.columns import check_components, names_of
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.roles.microdata import Microdata

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
) -> tuple[Order, Households]:
    """Check what a verb must respect; return it and the households."""
    parts = {total: names_of(columns) for total, columns in (components or {}).items()}
    household = file.roles.household
    order = Order(
        household, tuple(names_of(household_variables)), tuple(names_of(strata)),
        tuple(names_of(keep_signs)), parts,
    )  # fmt: skip
    check_components(faults, file.frame, parts)
    for name in order.keep_signs:
        if name not in names:
            faults.add("keep_signs", f"{name!r} is not among the variables")
    if household is not None and household in names:
        faults.add("household", f"{household!r} is a variable too")
    homes = read_households(
        faults, file, names, declared=order.household_variables, strata=order.strata
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
    frame: pd.DataFrame, names: Sequence[str], order: Order, homes: Households, run: Run
) -> Protected:
    """Run a verb on household variables once a household, then on the others, then keep sums."""
    if not order.asks:
        plain = run(frame, list(names), None)
        sizes = magnitude_note(frame, plain.data, names)
        return replace(plain, notes=(*plain.notes, *sizes))
    by_record = [name for name in names if name not in order.household_keys]
    shared = [name for name in by_record if name in homes.variables]
    others = [name for name in by_record if name not in shared]
    released, notes = frame.copy(deep=False), homes.notes()
    details: dict[str, Any] = {}
    result: Protected | None = None
    if order.household_keys:
        # 0. what is known of whole households
        masked = mask_whole_households(frame, order.household_keys, order.k, homes, run)
        result, released, notes = masked.result, masked.data, [*notes, *masked.notes]
        details |= masked.details
    if shared:
        # 1. one row per household, with the value that its members have
        result = run(homes.collapse(frame, shared), shared, None)
        for name in shared:
            released[name] = homes.expand(result.data[name], frame[name])
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
        result = run(released, others, homes.clusters)
        released = result.data
        notes += [note for note in result.notes if note not in notes]
        details |= result.details
    assert result is not None
    # 3. signs, sums
    if not order.verb_keeps_signs:
        released = with_signs_of(frame, released, order.keep_signs)
    signs = signs_note(frame, released, order.keep_signs)
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
