"""The request of an attack: keys, targets, and persons or households as the unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.scenario import Scenario, check_roles, to_scenario
from riskeval.attacks.values import flags_of
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import as_names, listed_names
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import joined_by, message, sentence
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.roles.microdata import Microdata


@dataclass(frozen=True, slots=True)
class AttackRequest:
    """A scenario, or keys and targets given by themselves, as one record."""

    keys: tuple[str, ...]
    targets: tuple[str, ...] = ()
    # column with the number of the household when that is the unit, else None
    household: str | None = None
    members: str = "any"  # {"any", "every"}: when a household counts as disclosed
    # probability that the intruder's value of a key is wrong
    errors: Mapping[str, float] = field(default_factory=dict)
    coverage: float = 1.0  # share of the units that the intruder has in a register
    who: str = "everyone"  # {"everyone", "sample uniques"}
    rows: str | None = None
    accuracy: tuple[float, ...] = ()  # empty without a scenario
    categorical: tuple[str, ...] = ()
    story: str = ""  # the scenario in sentences; empty without one

    @property
    def unit(self) -> str:
        """What one attack is about, in the plural, for sentences."""
        return "records" if self.household is None else "households"

    @property
    def variables(self) -> tuple[str, ...]:
        """Keys and targets."""
        return (*self.keys, *self.targets)

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that both files must have."""
        return self.variables if self.household is None else (*self.variables, self.household)

    @property
    def footnote(self) -> str:
        """The story as a last sentence; empty when there is none."""
        return " " + message("Scenario: {story}", story=self.story) if self.story else ""


def read_request(
    name: str,
    keys: Scenario | Sequence[str] | str,
    targets: Sequence[str] | str | None = None,
    *,
    household: str | None = None,
    members: str = "any",
    categorical: Sequence[str] | str = (),
    honoured: Sequence[str] | None = None,
    n_targets: int | None = None,
) -> AttackRequest:
    """Read the arguments of an attack; a Scenario holds everything, so nothing may be beside it."""
    declared = listed_names(categorical)
    if not isinstance(keys, Scenario):
        wanted = () if targets is None else listed_names(targets)
        return AttackRequest(
            listed_names(keys), wanted, household=household, members=members, categorical=declared
        )
    faults = Faults(name)
    arguments = {"household": household is not None, "members": members != "any",
                 "categorical": bool(declared)}  # fmt: skip
    for argument, is_set in arguments.items():
        if is_set:
            faults.add(argument, "is given beside a Scenario", hint="The Scenario holds it.")
    faults.raise_if_any()
    scenario = to_scenario(name, keys, targets, honoured=honoured, n_targets=n_targets)
    return AttackRequest(
        scenario.keys, scenario.targets, scenario.household, scenario.members, scenario.errors,
        scenario.coverage, scenario.who, scenario.rows, scenario.accuracy, scenario.categorical,
        scenario.story(),
    )  # fmt: skip


def keys_and_targets(
    file: Any, keys: Scenario | Sequence[str] | str | None, targets: Sequence[str] | str | None
) -> tuple[Scenario | Sequence[str] | str, Sequence[str] | str | None]:
    """Return keys and targets as given, or those of a file with roles where no keys are."""
    if keys is not None:
        return keys, targets
    if not isinstance(file, Microdata):
        return (), targets
    return file.roles.keys, targets or file.roles.sensitive or None


def check_request(faults: Faults, request: AttackRequest, frame: pd.DataFrame) -> None:
    """Note what is wrong with keys, targets and households, and columns the original lacks."""
    check_roles(faults, request.keys, request.targets, request.household)
    if request.keys:
        as_names(faults, request.keys, "keys")
    check_choice(faults, "members", request.members, ["any", "every"])
    if request.household is None and request.members != "any":
        faults.add("members", "has no effect without households", hint="Name the household.")
    check_columns(faults, frame, request.keys, "key of the original")
    check_columns(faults, frame, request.targets, "target of the original")
    if len(frame) == 0:
        faults.add("original", "has no records")
    if request.household is not None:
        check_households(faults, frame, request.household, "original")
    if request.rows is not None:
        check_rows(faults, frame, request.rows, "original")


def check_file(faults: Faults, frame: pd.DataFrame, request: AttackRequest, role: str) -> None:
    """Note columns that a release or a hold-out lacks."""
    check_columns(faults, frame, request.variables, f"key or target of the {role}")
    if request.household is not None:
        check_households(faults, frame, request.household, role)
    if role == "hold-out":
        if request.rows is not None:
            check_rows(faults, frame, request.rows, role)
        if len(frame) == 0:
            faults.add("holdout", "has no records")


def check_rows(faults: Faults, frame: pd.DataFrame, name: str, role: str) -> bool:
    """Note a column of rows looked for that is missing, or not True and False everywhere."""
    if not check_columns(faults, frame, [name], f"rows looked for of the {role}"):
        return False
    is_flag = flags_of(frame[name]) is not None
    if not is_flag:
        what = f"rows looked for of the {role} are not True or False everywhere"
        faults.add(name, what, hint="Convert them.")
    return is_flag


def check_households(faults: Faults, frame: pd.DataFrame, name: str, role: str) -> None:
    """Note a missing column of households, and persons without a household."""
    if not isinstance(name, str):
        hint = did_you_mean(name, frame.columns)
        faults.add("household", f"{name!r} is not the name of a column", hint=hint)
    elif check_columns(faults, frame, [name], f"household of the {role}"):
        absent = frame[name].isna().to_numpy()
        if absent.any():
            what = f"number of the household is missing in the {role}"
            faults.add(
                name, what, rows=np.flatnonzero(absent), hint="Give a number for every person."
            )


def as_sentences(notes: Sequence[str]) -> str:
    """Return notes as sentences that follow a summary."""
    return joined_by("", (" " + sentence(note) for note in dict.fromkeys(notes)))
