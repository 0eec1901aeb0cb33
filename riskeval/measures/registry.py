"""The measures of one file by name: the entries of the modules of this room."""

from __future__ import annotations

from riskeval.measures.entry import Measure
from synthpop.microdata.messages.entries import Entries

MEASURES: Entries[Measure] = Entries(__package__, Measure)
