"""How far the distributions of categories moved in a release, as comparisons show it."""

from __future__ import annotations

from typing import Any

from riskeval.shared.measurement import Measurement, attempt, not_measured
from riskeval.utility.distributions import hellinger
from riskeval.utility.entry import UtilityInput, UtilityMeasure, utility_number
from riskeval.utility.k_way_tables import table_distances
from synthpop.microdata.messages.message import message

HELLINGER = utility_number(
    "hellinger", "Hellinger distance", "loss",
    "mean over the categories of the distance of their distributions", "Templ 2017, section 5.4",
)  # fmt: skip
TABLES = utility_number(
    "tables", "Two-way tables", "loss",
    "mean share of the records that would have to move to make a table equal", "total variation",
)  # fmt: skip


def _tables(files: UtilityInput) -> list[Measurement]:
    categories = [name for name in (*files.keys, *files.sensitive) if name not in files.numeric]
    names = list(dict.fromkeys(files.shared(categories)))
    note = files.why([*files.keys, *files.sensitive])
    if not names:
        return not_measured([HELLINGER, TABLES], note or message("no category was specified"))
    x, y = files.original[names], files.released[names]
    both: dict[str, Any] = {
        "weights": files.weights, "released_weights": files.released_weights,
    }  # fmt: skip

    def distances() -> list[Measurement]:
        one = hellinger(x, y, names, categorical=names, **both)
        return [Measurement(HELLINGER, float(one.mean), note=note)]

    def two_way() -> list[Measurement]:
        size = min(2, len(names))
        mean = table_distances(x, y, names, size=size, **both).mean
        return [Measurement(TABLES, mean, note=note)]

    return attempt([HELLINGER], "", distances) + attempt([TABLES], "", two_way)


MEASURE = UtilityMeasure(
    name="tables",
    rank=40,
    title="Tables",
    question="How far did the distributions of the categories move?",
    blind_spots="relations of three and more categories; numbers",
    run=_tables,
    infos=(HELLINGER, TABLES),
)
