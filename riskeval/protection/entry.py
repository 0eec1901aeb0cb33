"""The entry of a method of protection."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from riskeval.protection.result import Protected
from synthpop.microdata.messages.entries import NamedEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionMethod(NamedEntry):
    """One method of protection: a verb of sessions, of plans, of ``riskeval.protect``, of the app.

    Attributes
    ----------
    run : callable
        The function: takes the data first and returns a ``Protected``. Its name is the verb.
    example : mapping
        Arguments of a call on the demo survey, which the reference shows; a callable makes an
        argument from the file.
    proposed : mapping
        Arguments with which new plans, the search for plans and the form of the app begin.
    roles : mapping
        Argument -> role of a session that fills it when it is not given.
    new_types : bool
        Whether columns come back with another type, as classes of numbers do.
    fewer_records : bool
        Whether records leave the file; ``details["rows"]`` are then those that stay.
    """

    run: Callable[..., Protected]
    example: Mapping[str, Any]
    proposed: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    new_types: bool = False
    fewer_records: bool = False

    @property
    def name(self) -> str:
        """The verb."""
        return self.run.__name__

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Arguments after the data."""
        return dict(list(inspect.signature(self.run).parameters.items())[1:])

    @property
    def draws(self) -> bool:
        """Whether the method draws at random."""
        return "seed" in self.parameters

    def arguments(self, data: Any) -> dict[str, object]:
        """Return the arguments of the example for a file with the columns of the demo survey."""
        return {
            name: value(data) if callable(value) else value for name, value in self.example.items()
        }


def roles_named(*names: str) -> dict[str, str]:
    """Return arguments that roles of the same name fill."""
    return {name: name for name in names}


OF_HOUSEHOLDS = roles_named("household", "household_variables", "components")
OF_NUMBERS = {"variables": "numeric"} | OF_HOUSEHOLDS
