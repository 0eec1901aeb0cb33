"""Verbs on numbers run once per household, then per person, and keep sums and signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from riskeval.protection.household.layer import Households, read_household_keys, read_households
from riskeval.protection.household.whole import Run, mask_whole_households
from riskeval.protection.result import Protected, protected
from riskeval.protection.sums import magnitude_note, signs_note, sums_kept, with_signs_of
from riskeval.recovery.columns import check_components, names_of
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import Method
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.roles.microdata import Microdata

ONE_BY_ONE = ("individual", "univariate-optimal")
"""Methods of microaggregation that take each variable for itself."""


@dataclass(frozen=True, eq=False)
class NumbersLayer:
    """What lies around a verb on numbers: households, and signs and sums that it must keep."""

    frame: pd.DataFrame
    names: Sequence[str]  # the variables of the verb
    homes: Households
    household_variables: tuple[str, ...]
    keep_signs: tuple[str, ...]
    components: Mapping[str, Sequence[str]]  # total -> its parts
    # variables that are masked together for all members: one row per household, of one size
    household_keys: tuple[str, ...] = ()
    k: int = 1  # households that such a table needs

    @property
    def asks(self) -> bool:
        """Whether there is anything to respect."""
        return bool(self.homes.column or self.keep_signs or self.components)

    def parameters(self) -> dict[str, object]:
        """Return the arguments as plain values."""
        return {
            "household": self.homes.column,
            "household_variables": list(self.household_variables),
            "keep_signs": list(self.keep_signs),
            **({"household_keys": list(self.household_keys)} if self.household_keys else {}),
            "components": {total: list(parts) for total, parts in self.components.items()} or None,
        }

    def run(self, verb: Run, *, sets_signs: bool = False) -> Protected:
        """Run a verb once per household on what members share, then on the rest; keep sums.

        sets_signs: whether values get the signs of the original afterwards, where the verb does
            not keep them itself, as by never mixing values of different sign
        """
        frame, names, homes = self.frame, self.names, self.homes
        if not self.asks:
            plain = verb(frame, list(names), None)
            sizes = magnitude_note(frame, plain.data, names)
            return replace(plain, notes=(*plain.notes, *sizes))
        by_record = [name for name in names if name not in self.household_keys]
        shared = [name for name in by_record if name in homes.variables]
        others = [name for name in by_record if name not in shared]
        released, notes = frame.copy(deep=False), homes.notes()
        details: dict[str, object] = {}
        result: Protected | None = None
        if self.household_keys:
            # 0. what is known of whole households
            masked = mask_whole_households(frame, self.household_keys, self.k, homes, verb)
            result, released, notes = masked.result, masked.data, [*notes, *masked.notes]
            details |= masked.details
        if shared:
            # 1. one row per household, with the value that its members have
            result = verb(homes.collapse(frame, shared), shared, None)
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
            result = verb(released, others, homes.clusters)
            released = result.data
            notes += [note for note in result.notes if note not in notes]
            details |= result.details
        assert result is not None
        # 3. signs, sums
        if sets_signs:
            released = with_signs_of(frame, released, self.keep_signs)
        signs = signs_note(frame, released, self.keep_signs)
        released, touched, sums = sums_kept(frame, released, names, self.components)
        sizes = magnitude_note(frame, released, names)
        return protected(
            frame,
            released,
            [*names, *(name for name in touched if name not in names)],
            method=result.method,
            parameters={**result.parameters, "variables": list(names), **self.parameters()},
            seed=result.seed,
            notes=[*notes, *signs, *sums, *sizes],
            details=details,
        )


def read_layer(
    faults: Faults,
    file: Microdata,
    names: Sequence[str],
    *,
    household_variables: Sequence[str] | str = (),
    components: Mapping[str, Sequence[str]] | None,
    keep_signs: Sequence[str] | str = (),
    strata: Sequence[str] | str | None = None,
) -> NumbersLayer:
    """Check what a verb must respect beside its own method."""
    parts = {total: names_of(columns) for total, columns in (components or {}).items()}
    household, declared = file.roles.household, tuple(names_of(household_variables))
    signed = tuple(names_of(keep_signs))
    check_components(faults, file.frame, parts)
    for name in signed:
        if name not in names:
            faults.add("keep_signs", f"{name!r} is not among the variables")
    if household is not None and household in names:
        faults.add("household", f"{household!r} is a variable too")
    homes = read_households(faults, file, names, declared=declared, strata=names_of(strata))
    return NumbersLayer(file.indexed, names, homes, declared, signed, parts)


def with_known(
    faults: Faults, layer: NumbersLayer, household_keys: Sequence[str] | str, k: int,
    grouping: Method | None,
) -> NumbersLayer:  # fmt: skip
    """Return the layer with variables that k whole households share, where the method can do so."""
    known = read_household_keys(faults, household_keys, layer.names, layer.homes.column)
    one_by_one = grouping is not None and grouping.type in ONE_BY_ONE
    if known and (one_by_one or set(known) & {*layer.keep_signs}):
        what = "need a method for all variables at once, and no keep_signs of their own"
        faults.add("household_keys", what, hint="Take method='mdav'.")
    return replace(layer, household_keys=tuple(known), k=k)
