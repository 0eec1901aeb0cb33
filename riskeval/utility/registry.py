"""Utility measures of a release: how each is run, and which numbers it gives.

A new utility measure is one module and one more entry of `UTILITIES`: comparisons, sessions and
their pages read its numbers from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.measurement import (
    Direction,
    MeasureInfo,
    Measurement,
    Unit,
    attempt,
    joined,
    not_measured,
)
from riskeval.utility.distributions import hellinger
from riskeval.utility.information import correlation_losses, information_loss
from riskeval.utility.k_way_tables import table_distances
from riskeval.utility.propensity_scores import propensity
from synthpop.microdata.frame.frames import is_number, numbers
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import as_messages, joined_by, message
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams


def _number(
    name: str, title: str, unit: Unit, meaning: str, source: str, *, better: Direction = "low",
    perfect: float = 0.0,
) -> MeasureInfo:  # fmt: skip
    return MeasureInfo(name, "utility", better, unit, meaning, source, title, perfect=perfect)


LEVELS_KEPT = _number(
    "levels_kept", "Detail kept", "overlap",
    "mean over the categories of the share of the original's levels that the release "
    "distinguishes", "counts", better="high", perfect=1.0,
)  # fmt: skip
MISSING = _number(
    "missing", "Cells suppressed", "overlap",
    "share of the cells of the variables that are missing more often", "Templ 2017, equation 5.3",
)  # fmt: skip
IL1S = _number(
    "il1s", "IL1s", "loss",
    "mean distance of a number from its original in sqrt(2) standard deviations",
    "Yancey et al. 2002; Templ 2017, equation 5.9",
)  # fmt: skip
IL1 = _number(
    "il1", "IL1", "loss", "mean change of a number as a share of it",
    "Domingo-Ferrer and Torra 2001",
)  # fmt: skip
EIGENVALUES = _number(
    "eigenvalues", "Eigenvalues", "loss",
    "summed relative change of the eigenvalues of the correlations", "Templ 2017, section 5.2",
)  # fmt: skip
CORRELATIONS = _number(
    "correlations", "Correlations", "loss", "mean absolute change of the correlations",
    "Domingo-Ferrer and Torra 2001",
)  # fmt: skip
HELLINGER = _number(
    "hellinger", "Hellinger distance", "loss",
    "mean over the categories of the distance of their distributions", "Templ 2017, section 5.4",
)  # fmt: skip
TABLES = _number(
    "tables", "Two-way tables", "loss",
    "mean share of the records that would have to move to make a table equal", "total variation",
)  # fmt: skip
PMSE = _number(
    "pmse", "pMSE", "loss",
    "how well a model distinguishes the two files; 0 not at all, 0.25 completely",
    "Woo et al. 2009",
)  # fmt: skip
PMSE_RATIO = _number(
    "pmse_ratio", "pMSE ratio", "ratio",
    "pMSE in relation to chance; near 1 is the best of a synthetic file, up to 3 good, above 10 a "
    "model that misses something", "Snoke et al. 2018; Raab, Nowok and Dibben 2021",
)  # fmt: skip
FEW = 20
"""Numeric keys with at most so many levels count as categories in the propensity score."""


@dataclass(frozen=True, slots=True, eq=False)
class UtilityInput:
    """Two files that are compared."""

    # original, released: the variables that both files share, on the levels that both have
    original: pd.DataFrame
    released: pd.DataFrame
    # keys, numeric, sensitive: variables by role, also those that are not shared
    keys: tuple[str, ...]
    numeric: tuple[str, ...]
    sensitive: tuple[str, ...]
    # int64 array, or None: row of `original` of each released record; None where records cannot
    # be linked
    rows: np.ndarray | None
    # weights, released_weights: float64 array, or None
    weights: np.ndarray | None = None
    released_weights: np.ndarray | None = None
    # why a variable is not shared
    not_compared: Mapping[str, str] = field(default_factory=dict)
    # categories: levels of the original, and how many of them the release distinguishes
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # share of the cells of a variable that are missing more often; 1 where it is not released
    suppressed: Mapping[str, float] = field(default_factory=dict)
    most_records: int = 50_000  # records of each file that a model takes at most
    seed: int = 0

    @property
    def variables(self) -> tuple[str, ...]:
        """Keys, sensitive and numeric variables, each once."""
        return tuple(dict.fromkeys([*self.keys, *self.sensitive, *self.numeric]))

    def shared(self, names: Sequence[str]) -> list[str]:
        """Those of some variables that both files share."""
        return [name for name in names if name not in self.not_compared]

    def why(self, names: Sequence[str]) -> str:
        """Why some variables cannot all be compared; empty when they can."""
        return joined_by(
            "; ",
            (f"{name} {self.not_compared[name]}" for name in names if name in self.not_compared),
        )


@dataclass(frozen=True, slots=True)
class UtilityMeasure:
    """One entry of the registry."""

    title: str
    question: str  # what it answers
    # function of a UtilityInput to a list of Measurement
    run: Callable[[UtilityInput], Sequence[Measurement]]
    infos: tuple[MeasureInfo, ...]  # numbers that it gives
    compared: bool = True  # whether comparisons of releases show it
    session: bool = False  # whether a session shows it after each step
    about: str = "file"  # what its numbers are about, in the table of a session

    def __post_init__(self) -> None:
        as_messages(self, "title", "question")


def utility_measurements(files: UtilityInput) -> list[Measurement]:
    """Run every measure of the registry that comparisons show."""
    measured: list[Measurement] = []
    for measure in UTILITIES.values():
        if measure.compared:
            measured += attempt(measure.infos, "", partial(measure.run, files))
    return measured


def _detail(files: UtilityInput) -> list[Measurement]:
    shares = [min(1.0, shared / n_levels) for n_levels, shared in files.levels.values() if n_levels]
    names = files.variables
    suppressed = [files.suppressed[name] for name in names]
    levels = not_measured([LEVELS_KEPT], message("no category was specified"))
    if shares:
        levels = [Measurement(LEVELS_KEPT, float(np.mean(shares)))]
    return [*levels, Measurement(MISSING, float(np.mean(suppressed)), note=files.why(names))]


def _numbers(files: UtilityInput) -> list[Measurement]:
    names = files.shared(files.numeric)
    infos, note = [IL1S, EIGENVALUES, CORRELATIONS], files.why(files.numeric)
    if not names:
        return not_measured(infos, note or message("no numeric variable was specified"))
    moved = _moved(files, names, note)
    return moved + attempt(infos[1:], "", lambda: _structure(files, names, note))


def _moved(files: UtilityInput, names: list[str], note: str) -> list[Measurement]:
    """IL1s of linked records: mean over the cells of |x - y| / (sqrt(2) S)."""
    if files.rows is None:
        return not_measured([IL1S], message("records cannot be linked one to one"))
    x = numbers(files.original, names)
    known = [column[~np.isnan(column)] for column in x.T]
    spread = np.array([values.std(ddof=1) if len(values) > 1 else 0.0 for values in known])
    distance = np.abs(x[files.rows] - numbers(files.released, names))
    cells = ~np.isnan(distance) & (spread > 0)
    if not cells.any():
        return not_measured([IL1S], message("no number can be compared"))
    value = float((distance / np.where(spread > 0, np.sqrt(2) * spread, 1.0))[cells].mean())
    return [Measurement(IL1S, value, note=note)]


def _structure(files: UtilityInput, names: list[str], note: str) -> list[Measurement]:
    """Change of the (weighted) correlation matrix of complete records."""
    infos = [EIGENVALUES, CORRELATIONS]
    if len(names) == 1:
        return not_measured(infos, message("one variable has no correlations"))
    x, y = numbers(files.original, names), numbers(files.released, names)
    whys: list[str] = []
    losses = correlation_losses(x, y, (files.weights, files.released_weights), whys)
    if np.isnan(losses["eigenvalues"]):
        return not_measured(infos, whys[0].partition(":")[0])
    return [
        Measurement(EIGENVALUES, losses["eigenvalues"], note=note),
        Measurement(CORRELATIONS, losses["correlations"], note=note),
    ]


def _information_loss(files: UtilityInput) -> list[Measurement]:
    """The losses of the numeric variables that still are numbers, record by record."""
    names = [name for name in files.numeric if is_number(files.released[name])]
    if not names:
        return []
    try:
        loss = information_loss(files.original, files.released, names, rows="paired")
    except InputError:  # values that are not finite
        return []
    values = {IL1S: loss.il1s, IL1: loss.il1, EIGENVALUES: loss.eigenvalues,
              CORRELATIONS: loss.correlations}  # fmt: skip
    if not np.isfinite(loss.il1s):
        return []
    return [Measurement(info, value) for info, value in values.items() if np.isfinite(value)]


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


UTILITIES: dict[str, UtilityMeasure] = {
    "detail": UtilityMeasure(
        "Detail", "Which categories and cells are left?", _detail, (LEVELS_KEPT, MISSING)
    ),
    "numbers": UtilityMeasure(
        "Numbers", "How far did numbers and their correlations move?", _numbers,
        (IL1S, EIGENVALUES, CORRELATIONS),
    ),
    "information_loss": UtilityMeasure(
        "Information loss", "How far did the numeric keys move, record by record?",
        _information_loss, (IL1S, IL1, EIGENVALUES, CORRELATIONS),
        compared=False, session=True, about="numeric keys",
    ),
    "tables": UtilityMeasure(
        "Tables", "How far did the distributions of the categories move?", _tables,
        (HELLINGER, TABLES),
    ),
    "propensity": UtilityMeasure(
        "Propensity score", "Can a model tell the two files apart?", _propensity,
        (PMSE, PMSE_RATIO),
    ),
}  # fmt: skip
