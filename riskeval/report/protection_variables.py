"""The variables of a protection session, one row each: before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from riskeval.protection.result import changed_cells
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.suppression import is_safe_change, is_safe_statistic, rounded
from synthpop.microdata.messages.text import BLANK, count, number, short_percent
from synthpop.microdata.pages.charts import before_after
from synthpop.microdata.pages.page_facts import folding_row, table
from synthpop.microdata.statistics.distances import total_variation

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession

MOST_LEVELS, CLASSES = 40, 24
STATISTICS = {
    "filled": "Values",
    "distinct": message("Distinct values"),
    "mean": message("Mean, unweighted"),
    "standard deviation": message("Standard deviation"),
}


def safe_columns(session: ProtectionSession) -> set[str]:
    """Numeric columns whose mean and deviation may be shown before and after.

    The original must hold enough values without a dominant one, and the difference must come from
    enough changed values without a dominant one. Otherwise the number of records times the
    difference of the means gives a changed value away.
    """
    original, current = session.original_of_current(), session.current_frame()
    return {
        str(name)
        for name in original
        if is_numeric_dtype(original[name].dtype)
        and is_numeric_dtype(current[name].dtype)
        and is_safe_statistic(as_numbers(original[name]))
        and is_safe_change(as_numbers(original[name]), as_numbers(current[name]))
    }


def variable_rows(session: ProtectionSession, external: bool) -> list[dict[str, Any]]:
    """Return one folding row a variable: before and after; of unsafe numbers nothing is shown."""
    measured, roles = session.utility().table, session.roles
    safe, original = safe_columns(session) if external else None, session.original_of_current()
    categories = {*roles.keys, *roles.sensitive, *roles.pram} - set(roles.numeric)
    rows = []
    for name in dict.fromkeys(measured.index.get_level_values(0)):
        if name not in session.original_frame:  # about several columns, or the file
            continue
        numbers = measured.loc[name]
        before, after = original[name], session.current_frame()[name]
        changed = int(changed_cells(before, after).sum())
        is_category = name in categories or not is_numeric_dtype(before.dtype)
        hidden = safe is not None and not is_category and name not in safe
        write = rounded if external else count
        levels = [write(float(numbers.loc["distinct", file])) for file in ("original", "current")]
        loss = BLANK if external else _loss_of(before, after, is_category)
        rows.append(
            folding_row(
                str(name),
                str(name),
                "category" if is_category else "number",
                "" if external else _plot(before, after, is_category, str(name)),
                [write(changed), joined_by(" → ", dict.fromkeys(levels)), loss],
                {} if external else {"changed": changed},
                flagged=changed > 0,
                tables=[{"title": "", "table": _statistics(numbers, is_category, hidden, write)}],
            )
        )
    return rows if external else sorted(rows, key=lambda row: -row["order"]["changed"])


def _statistics(
    numbers: pd.DataFrame, is_category: bool, hidden: bool, write: Any
) -> dict[str, Any]:
    body = []
    for what, title in STATISTICS.items():
        counts = what in ("filled", "distinct")
        if what not in numbers.index or (not counts and is_category):
            continue
        text = write if counts else (lambda value: number(value, 4))
        if hidden and not counts:
            body.append([title, message("not shown"), message("not shown")])
            continue
        values = numbers.loc[what, ["original", "current"]].to_numpy(dtype=float)
        body.append([title, *(text(float(value)) for value in values)])
    return table(["Statistic", "Original", "Current"], body, words=1)


def _plot(before: pd.Series, after: pd.Series, is_category: bool, name: str) -> str:
    """Return the distribution before as grey columns and the current one as a line."""
    text = message("{name}: original in grey, current file as a line", name=name)
    if is_category or not is_numeric_dtype(after.dtype):
        levels = before.astype(str).value_counts().index[:MOST_LEVELS]
        counts = [
            column.astype(str).value_counts().reindex(levels, fill_value=0).to_numpy()
            for column in (before, after)
        ]
    else:
        numbers = as_numbers(before)
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return ""
        low, high = np.quantile(numbers, [0.01, 0.99])
        edges = np.linspace(low, high if high > low else low + 1, CLASSES + 1)
        counts = [np.histogram(as_numbers(column), edges)[0] for column in (before, after)]
    return before_after(counts[0], counts[1], text)


def _loss_of(before: pd.Series, after: pd.Series, is_category: bool) -> str:
    """Return how far the distribution moved: TVD of categories, KS distance of numbers."""
    if is_category or not is_numeric_dtype(after.dtype):
        shares = [column.astype(str).value_counts(normalize=True) for column in (before, after)]
        p, q = pd.concat(shares, axis=1).fillna(0.0).to_numpy(dtype=float).T
        return f"{short_percent(total_variation(p, q), 2)} TVD"
    x, y = (np.sort(values[np.isfinite(values)]) for values in map(as_numbers, (before, after)))
    if not len(x) or not len(y):
        return BLANK
    points = np.concatenate([x, y])
    f, g = (np.searchsorted(values, points, "right") / len(values) for values in (x, y))
    return f"{short_percent(float(np.abs(f - g).max()), 2)} KS"
