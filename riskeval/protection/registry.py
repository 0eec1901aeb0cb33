"""Every method of protection by name: the entries of the modules of this room."""

from __future__ import annotations

from riskeval.protection.entry import ProtectionMethod
from synthpop.microdata.messages.entries import Entries

VERBS: Entries[ProtectionMethod] = Entries(__package__, ProtectionMethod)
"""Name of a method, the verb of a session -> its entry."""
