"""The measures of utility by name: the entries of the modules of this room."""

from __future__ import annotations

from functools import partial

from riskeval.shared.measurement import Measurement, attempt
from riskeval.utility.entry import UtilityInput, UtilityMeasure
from synthpop.microdata.messages.entries import Entries

UTILITIES: Entries[UtilityMeasure] = Entries(__package__, UtilityMeasure)


def utility_measurements(files: UtilityInput) -> list[Measurement]:
    """Run every measure of the registry that comparisons show."""
    measured: list[Measurement] = []
    for measure in UTILITIES.values():
        if measure.compared:
            measured += attempt(measure.infos, "", partial(measure.run, files))
    return measured
