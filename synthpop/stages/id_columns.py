"""The columns of a population that are not simulated: ids, household size, stratum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthpop.microdata.frame.dataset import Field
from synthpop.stages.blocks import BlockPlan

SIZE_NAME = "hsize"
PERSON_NAME = "pid"


@dataclass(frozen=True, slots=True)
class IdColumns:
    """Fields of ids, stratum and household size; None where the population has no such column."""

    household: Field | None  # new household ids 1, 2, ...; None for a file without households
    strata: Field | None
    size: Field | None  # household size, of the type that it has in the survey
    # number of the person within its household; in a file without households, in the file
    person: Field

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that there are, in the order of the columns."""
        all_fields = (self.household, self.strata, self.size, self.person)
        return tuple(field for field in all_fields if field is not None)

    def columns(self, plan: BlockPlan) -> dict[str, np.ndarray]:
        """Return the columns of one block."""
        sizes = np.repeat(plan.sizes, plan.counts)
        columns: dict[str, np.ndarray] = {}
        if self.household is not None:
            ids = np.arange(1, plan.n_households + 1, dtype=self.household.dtype)
            ids += self.household.dtype.type(plan.first_household)
            columns[self.household.name] = np.repeat(ids, sizes)
        if self.strata is not None:
            columns[self.strata.name] = np.full(
                plan.n_persons, plan.stratum, dtype=self.strata.dtype
            )
        if self.size is not None:
            codes = size_codes(self.size, plan.sizes)
            columns[self.size.name] = np.repeat(codes, plan.sizes * plan.counts)
        numbers = [
            np.tile(np.arange(1, size + 1, dtype=self.person.dtype), count)
            for size, count in zip(plan.sizes.tolist(), plan.counts.tolist(), strict=True)
        ]
        number = np.concatenate(numbers) if numbers else np.empty(0, dtype=self.person.dtype)
        if self.household is None:
            number = np.arange(1, plan.n_persons + 1, dtype=self.person.dtype)
            number += self.person.dtype.type(plan.first_person)
        columns[self.person.name] = number
        return columns


def size_codes(field: Field, sizes: np.ndarray) -> np.ndarray:
    """Return household sizes as the column holds them: numbers, or codes of levels."""
    if field.kind == "numeric":
        return sizes.astype(field.dtype)
    position = {float(level): code for code, level in enumerate(field.levels)}
    return np.array([position[float(size)] for size in sizes.tolist()], dtype=field.dtype)


def id_dtype(largest: int) -> np.dtype:
    """Return int32 where it holds ids up to `largest`, else int64."""
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def sized(layout: IdColumns, plans: Sequence[BlockPlan]) -> IdColumns:
    """Return the layout with ids of the smallest type that numbers the whole population."""
    n_households = sum(plan.n_households for plan in plans)
    if layout.household is None:
        person = replace(layout.person, dtype=id_dtype(sum(plan.n_persons for plan in plans)))
        return replace(layout, person=person)
    return replace(layout, household=replace(layout.household, dtype=id_dtype(n_households)))
