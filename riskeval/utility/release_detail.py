"""Which categories and cells a release has kept, as comparisons show it."""

from __future__ import annotations

import numpy as np

from riskeval.shared.measurement import Measurement, not_measured
from riskeval.utility.entry import UtilityInput, UtilityMeasure, utility_number
from synthpop.microdata.messages.message import message

LEVELS_KEPT = utility_number(
    "levels_kept", "Detail kept", "overlap",
    "mean over the categories of the share of the original's levels that the release "
    "distinguishes", "counts", better="high", perfect=1.0,
)  # fmt: skip
MISSING = utility_number(
    "missing", "Cells suppressed", "overlap",
    "share of the cells of the variables that are missing more often", "Templ 2017, equation 5.3",
)  # fmt: skip


def _detail(files: UtilityInput) -> list[Measurement]:
    shares = [min(1.0, shared / n_levels) for n_levels, shared in files.levels.values() if n_levels]
    names = files.variables
    suppressed = [files.suppressed[name] for name in names]
    levels = not_measured([LEVELS_KEPT], message("no category was specified"))
    if shares:
        levels = [Measurement(LEVELS_KEPT, float(np.mean(shares)))]
    return [*levels, Measurement(MISSING, float(np.mean(suppressed)), note=files.why(names))]


MEASURE = UtilityMeasure(
    name="detail",
    rank=10,
    title="Detail",
    question="Which categories and cells are left?",
    blind_spots="how far the values that are left moved; how often a level that went was used",
    run=_detail,
    infos=(LEVELS_KEPT, MISSING),
)
