"""Every method of protection by name: the entries of the modules of this room."""

from __future__ import annotations

from typing import Any

from riskeval.protection.entry import ProtectionMethod
from synthpop.microdata.messages.entries import Entries


def _verb_of(value: Any) -> str | None:
    return value.name if isinstance(value, ProtectionMethod) else None


VERBS: Entries[ProtectionMethod] = Entries(__package__, _verb_of, lambda method: method.rank)
"""Name of a method, the verb of a session -> its entry."""
