"""The attacks on a release by name: the entries of the modules of this room."""

from __future__ import annotations

from riskeval.attacks.entry import AttackEntry
from synthpop.microdata.messages.entries import Entries

ATTACKS: Entries[AttackEntry] = Entries(__package__, AttackEntry)
