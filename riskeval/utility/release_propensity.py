"""Whether a model tells a release from its original, as comparisons show it."""

from __future__ import annotations

from riskeval.shared.measurement import Measurement, joined, not_measured
from riskeval.utility.entry import UtilityInput, UtilityMeasure, utility_number
from riskeval.utility.propensity_scores import propensity
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams

FEW = 20
"""Numeric keys with at most so many levels count as categories in the propensity score."""
PMSE = utility_number(
    "pmse", "pMSE", "loss",
    "how well a model distinguishes the two files; 0 not at all, 0.25 completely",
    "Woo et al. 2009",
)  # fmt: skip
PMSE_RATIO = utility_number(
    "pmse_ratio", "pMSE ratio", "ratio",
    "pMSE in relation to chance; near 1 is the best of a synthetic file, up to 3 good, above 10 a "
    "model that misses something", "Snoke et al. 2018; Raab, Nowok and Dibben 2021",
)  # fmt: skip


def _propensity(files: UtilityInput) -> list[Measurement]:
    names, note = files.shared(files.variables), files.why(files.variables)
    if not names:
        return not_measured([PMSE, PMSE_RATIO], note)
    x, y = files.original, files.released
    few = [
        name
        for name in names
        if name not in files.numeric
        and all(is_number(frame[name]) and frame[name].nunique() <= FEW for frame in (x, y))
    ]
    result = propensity(
        x, y, names, weights=files.weights, released_weights=files.released_weights,
        categorical=few, share=0.5, max_rows=files.most_records,
        seed=int(Streams(files.seed).at("compare", "propensity").integers(2**62)),
    )  # fmt: skip
    sampled = message(
        "at most {n} of each file, drawn at random", n=plural(files.most_records, "record")
    )
    text = joined(
        note,
        "" if result.converged else message("the fit stopped before it converged"),
        sampled if result.drawn else "",
    )
    source = message("rule of thumb of Raab, Nowok and Dibben (2021)")
    return [
        Measurement(PMSE, result.pmse, note=text),
        Measurement(PMSE_RATIO, result.pmse_ratio, limit=10.0, limit_source=source, note=text),
    ]


MEASURE = UtilityMeasure(
    name="propensity",
    rank=50,
    title="Propensity score",
    question="Can a model tell the two files apart?",
    blind_spots="differences that only two variables together show; which records differ",
    run=_propensity,
    infos=(PMSE, PMSE_RATIO),
)
