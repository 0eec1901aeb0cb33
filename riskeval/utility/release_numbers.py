"""How far numbers moved in a release, as comparisons and sessions show it."""

from __future__ import annotations

import numpy as np

from riskeval.shared.measurement import Measurement, attempt, not_measured
from riskeval.utility.entry import UtilityInput, UtilityMeasure, utility_number
from riskeval.utility.information import cells_moved, correlation_losses, pooled
from synthpop.microdata.frame.frames import is_number, numbers
from synthpop.microdata.messages.message import message

IL1S = utility_number(
    "il1s", "IL1s", "loss",
    "mean distance of a number from its original in sqrt(2) standard deviations",
    "Yancey et al. 2002; Templ 2017, equation 5.9",
)  # fmt: skip
IL1 = utility_number(
    "il1", "IL1", "loss", "mean change of a number as a share of it",
    "Domingo-Ferrer and Torra 2001",
)  # fmt: skip
EIGENVALUES = utility_number(
    "eigenvalues", "Eigenvalues", "loss",
    "summed relative change of the eigenvalues of the correlations", "Templ 2017, section 5.2",
)  # fmt: skip
CORRELATIONS = utility_number(
    "correlations", "Correlations", "loss", "mean absolute change of the correlations",
    "Domingo-Ferrer and Torra 2001",
)  # fmt: skip


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
    x, y = numbers(files.original, names), numbers(files.released, names)
    if len(x) != len(y) or np.isinf(x).any() or np.isinf(y).any():
        return []
    table, structure = cells_moved(x, y, None, names), correlation_losses(x, y, (None, None), [])
    values = {
        IL1S: pooled(table, "il1s", "_scaled"),
        IL1: pooled(table, "il1", "_relative"),
        EIGENVALUES: structure["eigenvalues"],
        CORRELATIONS: structure["correlations"],
    }
    if not np.isfinite(values[IL1S]):
        return []
    return [Measurement(info, value) for info, value in values.items() if np.isfinite(value)]


MEASURE = UtilityMeasure(
    name="numbers",
    rank=20,
    title="Numbers",
    question="How far did numbers and their correlations move?",
    blind_spots=(
        "relations that are not linear; single values that moved far among many that stayed"
    ),
    run=_numbers,
    infos=(IL1S, EIGENVALUES, CORRELATIONS),
)


OF_SESSIONS = UtilityMeasure(
    name="information_loss",
    rank=30,
    title="Information loss",
    question="How far did the numeric keys move, record by record?",
    blind_spots="categories; numbers that became classes; records that were removed or added",
    run=_information_loss,
    infos=(IL1S, IL1, EIGENVALUES, CORRELATIONS),
    compared=False,
    session=True,
    about="numeric keys",
)
