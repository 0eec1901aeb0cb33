"""Signs and sums that a verb on numbers keeps, and by how much it moved values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from riskeval.protection.numeric import put_numbers
from riskeval.protection.result import changed_cells
from synthpop.microdata.frame.frames import as_numbers, is_number, numbers
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join, plural, short_percent

SUM_TOLERANCE = 1e-6


def with_signs_of(
    frame: pd.DataFrame, released: pd.DataFrame, keep_signs: Sequence[str]
) -> pd.DataFrame:
    """Give values the sign of the original, 0 included; frames of n records."""
    released = released.copy(deep=False)
    for name in keep_signs:
        before = as_numbers(frame[name])
        after = as_numbers(released[name])
        flipped = np.sign(before) * np.sign(after) < 0
        released[name] = put_numbers(released[name], -after, flipped)
        zero = (before == 0) & (after != 0) & ~np.isnan(after)
        released[name] = put_numbers(released[name], np.zeros(len(after)), zero)
    return released


def signs_note(frame: pd.DataFrame, released: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Say whether the signs of columns were kept."""
    if not names:
        return []
    before, after = (np.sign(numbers(file, names)) for file in (frame, released))
    moved = int(((before != after) & ~np.isnan(before) & ~np.isnan(after)).sum())
    if not moved:
        return [message("Signs of {names} were kept.", names=join(names))]
    values = plural(moved, "value")
    return [
        message(
            "Signs of {names} were kept except for {values}, which too few records share.",
            names=join(names),
            values=values,
        )
    ]


def sums_kept(
    frame: pd.DataFrame,
    released: pd.DataFrame,
    names: Sequence[str],
    components: Mapping[str, Sequence[str]],
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Make totals and parts agree where they agreed: the total follows parts that were changed.

    Where only the total was changed, its parts are multiplied by the same factor.
    """
    released = released.copy(deep=False)
    touched: list[str] = []
    notes: list[str] = []
    for total, parts in components.items():
        before = numbers(frame, [total, *parts])
        scale = np.maximum(np.abs(before).max(axis=1), 1.0)
        agreed = np.abs(before[:, 0] - before[:, 1:].sum(axis=1)) <= SUM_TOLERANCE * scale
        after = numbers(released, [total, *parts])
        agreed &= ~np.isnan(after).any(axis=1)
        if any(part in names for part in parts):
            sums = after[:, 1:].sum(axis=1)
            released[total] = put_numbers(released[total], sums, agreed & (sums != after[:, 0]))
            touched.append(total)
            notes.append(
                message("{total} is again the sum of {parts}.", total=total, parts=join(parts))
            )
        else:
            factor = np.ones(len(after))
            rows = agreed & (before[:, 0] != 0)
            factor[rows] = after[rows, 0] / before[rows, 0]
            for j, part in enumerate(parts, start=1):
                moved = rows & (before[:, j] != 0) & (factor != 1.0)
                released[part] = put_numbers(released[part], before[:, j] * factor, moved)
            from_nothing = int((agreed & (before[:, 0] == 0) & (after[:, 0] != 0)).sum())
            back = agreed & (before[:, 0] == 0)
            released[total] = put_numbers(released[total], before[:, 0], back)
            touched += [total, *parts]
            notes.append(
                message(
                    "{parts} were multiplied by the factor of {total}, so that they add up",
                    parts=join(parts),
                    total=total,
                )
                + (
                    (
                        "; "
                        + message(
                            "{from_nothing} of 0 stayed 0.",
                            from_nothing=plural(from_nothing, "total"),
                        )
                    )
                    if from_nothing
                    else "."
                )
            )
        n_broken = int((~agreed).sum())
        if n_broken:
            notes.append(
                message(
                    "In {n_broken} {total} was not the sum, or a part is missing.",
                    n_broken=plural(n_broken, "record"),
                    total=total,
                )
            )
    return released, touched, notes


def magnitude_note(before: pd.DataFrame, after: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Say by how much values moved: half of those that changed, and one in twenty."""
    moves = []
    for name in names:
        if not (is_number(before[name]) and is_number(after[name])):
            continue
        rows = changed_cells(before[name], after[name])
        old = as_numbers(before[name])[rows]
        new = as_numbers(after[name])[rows]
        fine = ~np.isnan(old) & ~np.isnan(new) & (old != 0)
        with np.errstate(all="ignore"):  # of a number near 0 no share can be told
            moves.append(np.abs(new[fine] / old[fine] - 1))
    sizes = np.concatenate(moves) if moves else np.empty(0)
    sizes = sizes[np.isfinite(sizes)]
    if not len(sizes):
        return []
    half, most = np.quantile(sizes, [0.5, 0.95])
    return [
        message(
            "Half of the changed values moved by at most {half}, one in twenty by more "
            "than {most}.",
            half=short_percent(half),
            most=short_percent(most),
        )
    ]
