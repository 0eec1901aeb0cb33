"""What is known of the columns when a recipe is checked, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults, did_you_mean


@dataclass(frozen=True, slots=True)
class Schema:
    """What is known when a recipe is checked, before anything is computed."""

    # dict of Field or None: columns of the survey; None for those that no step reads
    survey: Mapping[str, Field | None]
    available: tuple[str, ...]  # variables that the population will have at this step
    basic: tuple[str, ...]  # those of the household structure among them
    later: tuple[str, ...] = ()  # variables that later steps will make


def check_available(
    faults: Faults, label: str, names: Sequence[str], schema: Schema, role: str
) -> None:
    """Note names that the population will not have at this step."""
    for name in names:
        if name in schema.available:
            continue
        if name in schema.later:
            what = f"{role} {name!r} is made by a later step"
            hint = "Move this step behind it."
        elif name in schema.survey:
            what = f"{role} {name!r} is in the survey, but the population will not have it here"
            hint = "Simulate it in an earlier step or leave it out. " + did_you_mean(
                name, schema.available
            )
        else:
            what = f"{role} {name!r} is unknown"
            hint = did_you_mean(name, schema.available)
        faults.add(label, what, hint=hint)
