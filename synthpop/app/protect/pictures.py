"""Pictures of one or two variables, original beside current, from tables of ``riskeval``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FuncFormatter, MaxNLocator

from synthpop.app.tables import plain_table
from synthpop.app.texts import t
from synthpop.microdata.messages.pictures import (
    POPULATION,
    SAMPLE,
    WIDE,
    new_figure,
    styled,
    to_svg,
)
from synthpop.microdata.messages.text import BLANK, join, tick

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from riskeval.session.session import ProtectionSession

MOST_BARS = 24
BINS = 12


def before_and_after(session: ProtectionSession, names: list[str]) -> dict[str, Any]:
    """Return tables and pictures of one or two variables; numbers are shown in classes."""
    from riskeval.utility import table_distance

    if not names:
        return {"texts": [], "tables": [], "pictures": []}
    original, current = _in_classes(session.original_of_current(), session.data, names)
    # columns with other values than before, whose cells cannot be compared
    recoded = []
    for name in names:
        new = set(current[name].dropna()) - set(original[name].dropna())
        if current[name].isin(new).sum() > 0.5 * current[name].notna().sum():
            recoded.append(name)
    if recoded:
        return _each_for_itself(original, current, names, recoded)
    result = table_distance(original, current, names)
    cells = result.cells[[*names, "original", "released", "difference"]]
    text = result.summary()
    picture = to_svg(_bars(cells, names), "pair", text)
    heads = {"original": t("Original"), "released": t("Current"), "difference": t("Difference")}
    table = plain_table(cells.rename(columns=heads))
    return {"texts": [text], "tables": [table], "pictures": [picture]}


def _each_for_itself(
    original: pd.DataFrame, current: pd.DataFrame, names: list[str], recoded: list[str]
) -> dict[str, Any]:
    """Return the table of each file by itself, and the bars of the first variable in both."""
    text = t("Recoded, so each file is shown in its own classes: {names}.", names=join(recoded))
    tables = [
        frame.value_counts(names, dropna=False, sort=False)
        .rename("records")
        .reset_index()
        .sort_values(names, key=lambda column: column.map(_place), ignore_index=True)
        for frame in (original, current)
    ]
    counts = [
        frame[names[0]].value_counts(dropna=False, sort=False) for frame in (original, current)
    ]
    ordered = [one[sorted(one.index, key=_place)] for one in counts]
    picture = to_svg(_side_by_side(ordered, names[0]), "pair", text)
    return {
        "texts": [text],
        "tables": [plain_table(one) for one in reversed(tables)],
        "pictures": [picture],
    }


def _place(level: Any) -> tuple[float, str]:
    """Return where a level stands: by the number that it begins with, then by its text."""
    if str(level).startswith("up to"):
        return (-float("inf"), str(level))
    start = re.match(r"[\[(]?(-?[0-9.]+)", str(level))
    return (float(start[1].rstrip(".")) if start else float("inf"), str(level))


@styled
def _side_by_side(counts: list[pd.Series], name: str) -> Figure:
    import numpy as np

    rows = min(MOST_BARS, max(len(one) for one in counts))
    figure = new_figure(WIDE, 1.0 + 0.22 * max(rows, 4))
    panels = figure.subplots(1, 2)
    titles = (t("Original"), t("Current"))
    for axes, one, colour, title in zip(panels, counts, (SAMPLE, POPULATION), titles, strict=True):
        bars = one.head(MOST_BARS)
        places = np.arange(len(bars))
        axes.barh(places, bars.to_numpy(), 0.7, color=colour)
        labels = [BLANK if level != level else str(level) for level in bars.index]
        _label_bars(axes, labels, f"{name}: {title}")
    return figure


def _label_bars(axes: Any, labels: list[str], title: str) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.xaxis.set_major_formatter(FuncFormatter(tick))
    axes.set_title(title)


def _in_classes(
    original: pd.DataFrame, current: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both files with numbers of many values in the same classes."""
    import numpy as np
    import pandas as pd

    from riskeval.protect import global_recode

    frames: list[Any] = [original[names].copy(), current[names].copy()]
    for name in names:
        is_number = pd.api.types.is_numeric_dtype(original[name].dtype)
        is_number_in_both = pd.api.types.is_numeric_dtype(current[name].dtype)
        if not is_number or original[name].nunique() <= MOST_BARS:
            texts = [frame[name].astype(object) for frame in frames]
            for frame, values in zip(frames, texts, strict=True):
                frame[name] = values.where(values.isna(), values.astype(str))
            continue
        filled = original[name].dropna().to_numpy(dtype=float)
        inner = np.unique(np.quantile(filled, np.linspace(0, 1, BINS + 1))[1:-1])
        breaks = [-np.inf, *inner, np.inf]
        if not is_number_in_both:
            frames[1][name] = frames[1][name].astype(object)
        for frame in frames if is_number_in_both else frames[:1]:
            values = frame[[name]].astype(float)
            frame[name] = global_recode(values, name, breaks=breaks).data[name].astype(str)
    return frames[0], frames[1]


@styled
def _bars(cells: pd.DataFrame, names: list[str]) -> Figure:
    """Draw one panel per level of the second variable, with a pair of bars a level of the first."""
    import numpy as np

    groups = [("", cells)] if len(names) == 1 else list(cells.groupby(names[1], sort=False))
    groups = groups[:4]
    rows = min(MOST_BARS, cells[names[0]].nunique())
    figure = new_figure(WIDE, 1.0 + 0.3 * max(rows, 3))
    panels = figure.subplots(1, len(groups), sharex=True, squeeze=False)[0]
    for axes, (level, bars) in zip(panels, groups, strict=True):
        bars = bars.head(MOST_BARS)
        places = np.arange(len(bars))
        for shift, column, colour, label in (
            (-0.2, "original", SAMPLE, t("Original")),
            (0.2, "released", POPULATION, t("Current")),
        ):
            axes.barh(places + shift, bars[column], 0.38, color=colour, label=label)
        title = f"{names[1]}: {level!s}" if len(names) > 1 else names[0]
        _label_bars(axes, [str(value) for value in bars[names[0]]], title)
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
