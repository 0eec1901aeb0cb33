"""Pictures of one or two variables, original beside current, from tables of ``riskeval``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synthpop.app.tables import plain_table
from synthpop.microdata.pictures import POPULATION, SAMPLE, WIDE, new_figure, styled, to_svg

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from riskeval import ProtectionSession

MOST_BARS = 24
BINS = 12


def before_and_after(session: ProtectionSession, names: list[str]) -> dict[str, Any]:
    """Return tables and pictures of one or two variables; numbers are shown in classes."""
    from riskeval.utility import table_distance

    if not names:
        return {"texts": [], "tables": [], "pictures": []}
    original, current = _in_classes(session.original, session.data, names)
    result = table_distance(original, current, names)
    cells = result.cells[[*names, "original", "released", "difference"]]
    text = result.summary()
    picture = to_svg(_bars(cells, names), "pair", text)
    return {"texts": [text], "tables": [plain_table(cells)], "pictures": [picture]}


def _in_classes(
    original: pd.DataFrame, current: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both files with numbers of many values in the same classes."""
    import numpy as np
    import pandas as pd

    from riskeval.protect import global_recode

    sides: list[Any] = [original[names].copy(), current[names].copy()]
    for name in names:
        numbers = [pd.api.types.is_numeric_dtype(side[name].dtype) for side in sides]
        if not all(numbers) or original[name].nunique() <= MOST_BARS:
            texts = [side[name].astype(object) for side in sides]
            for side, values in zip(sides, texts, strict=True):
                side[name] = values.where(values.isna(), values.astype(str))
            continue
        filled = original[name].dropna().to_numpy(dtype=float)
        inner = np.unique(np.quantile(filled, np.linspace(0, 1, BINS + 1))[1:-1])
        breaks = [-np.inf, *inner, np.inf]
        for side in sides:
            values = side[[name]].astype(float)
            side[name] = global_recode(values, name, breaks=breaks).data[name].astype(str)
    return sides[0], sides[1]


@styled
def _bars(cells: pd.DataFrame, names: list[str]) -> Figure:
    """Draw one panel a level of the second variable, with a pair of bars a level of the first."""
    import numpy as np
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    from synthpop.microdata.text import tick

    groups = [("", cells)] if len(names) == 1 else list(cells.groupby(names[1], sort=False))
    groups = groups[:4]
    rows = min(MOST_BARS, cells[names[0]].nunique())
    figure = new_figure(WIDE, 1.0 + 0.3 * max(rows, 3))
    panels = figure.subplots(1, len(groups), sharex=True, squeeze=False)[0]
    for axes, (level, part) in zip(panels, groups, strict=True):
        part = part.head(MOST_BARS)
        places = np.arange(len(part))
        for shift, column, colour, label in (
            (-0.2, "original", SAMPLE, "original"),
            (0.2, "released", POPULATION, "current"),
        ):
            axes.barh(places + shift, part[column], 0.38, color=colour, label=label)
        axes.set_yticks(places, [str(value) for value in part[names[0]]])
        axes.invert_yaxis()
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
        axes.xaxis.set_major_formatter(FuncFormatter(tick))
        axes.set_title(f"{names[1]}: {level!s}" if len(names) > 1 else names[0])
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
