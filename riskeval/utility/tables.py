"""Distances between contingency tables of the original and the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import FilePair, check_both, ones, read_files
from synthpop.microdata.frame.codes import MISSING, cell_ids, encode, recode_to
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import POSITIVE, check, check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import formatted, number, percent, plural

NAN = float("nan")
LARGEST_ROWS = 50_000_000
MISSING_LABEL = "(missing)"


@dataclass(frozen=True, slots=True, eq=False)
class TableDistance(Result):
    """How far the contingency table of a release is from that of the original; 0 is no loss.

    Attributes
    ----------
    variables : tuple of str
    ut : float
        Mean over cells of |T_x - T_y|, in records or weighted totals (equation 5.4).
    ut2 : float
        Mean relative change of a cell in percent, over cells that are not empty in the original
        (equation 5.5).
    aitchison : float
        Sum over rows of the table of Aitchison distances, divided by the number of cells
        (equation 5.7). NaN where the first variable is the only one and has one level, or where
        the table has more than 50 million cells.
    aitchison_total : float
        The same sum, not divided: what the book's program prints.
    total_variation : float
        Half the sum over cells of the difference of shares: the share of records that would have
        to move, from 0 to 1.
    hellinger : float
        From 0 to 1: root of half the squared differences of the roots of the shares.
    n_cells : int
        Cells of the table: product of the numbers of levels.
    empty_original : int
        Cells of the release that are empty in the original ("new" combinations).
    empty_released : int
        Cells of the original that are empty in the release ("lost" combinations).
    zeros_replaced : int
        Empty cells of either table that the Aitchison distance replaced.
    total_original, total_released : float
        Totals of the tables before scaling.
    left_out : dict
        Levels that only one of the files has, by variable, where they were left out.
    cells : DataFrame
        One row per occupied cell: the levels, `original`, `released`, `difference`,
        `relative` (difference / original) and `root` (difference of square roots).
    """

    variables: tuple[str, ...]
    ut: float
    ut2: float
    aitchison: float
    aitchison_total: float
    total_variation: float
    hellinger: float
    n_cells: int
    empty_original: int
    empty_released: int
    zeros_replaced: int
    total_original: float
    total_released: float
    left_out: dict[str, tuple[Any, ...]]
    cells: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """One row per measure: `measure`, `value`."""
        names = ["ut", "ut2", "aitchison", "total_variation", "hellinger"]
        return pd.DataFrame({"measure": names, "value": [getattr(self, name) for name in names]})

    def summary(self) -> str:
        """Return the distances in words."""
        text = message(
            "Table of {variables} ({n_cells}): cells differ by {ut} on average (UT) and by "
            "{ut2} % of their size (UT2); {total_variation} of the records would have to "
            "move to make both equal. 0 is no loss; there is no threshold: compare "
            "releases of the same file.",
            variables=" x ".join(self.variables),
            n_cells=plural(self.n_cells, "cell"),
            ut=formatted(self.ut, ".4g"),
            ut2=formatted(self.ut2, ".4g"),
            total_variation=percent(self.total_variation),
        )
        if not np.isclose(self.total_original, self.total_released):
            text += " " + message(
                "Totals were {total_original} and {total_released}; see the argument `total`.",
                total_original=number(self.total_original, 6),
                total_released=number(self.total_released, 6),
            )
        if self.empty_original:
            new = plural(self.empty_original, "cell is", "cells are")
            text += " " + message("{new} new in the release and not part of UT2.", new=new)
        if self.left_out:
            pairs = "; ".join(f"{k}: {', '.join(map(str, v))}" for k, v in self.left_out.items())
            text += " " + message(
                "Levels that only one file has were left out ({pairs}).", pairs=pairs
            )
        return text


@same_library
def table_distance(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    weights: Any = None,
    released_weights: Any = None,
    total: str = "original",
    levels: str = "union",
    missing: str = "level",
    zeros: float = 0.5,
) -> TableDistance:
    """Compare the contingency table of some variables between both files.

    Parameters
    ----------
    original, released : tables of n and m records
        The files may differ in length.
    variables : sequence of str
        Every distinct value is a level. The first one makes the rows of the Aitchison distance
        (a single variable is one row).
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,), which estimate population counts (the book's
        Horvitz-Thompson tables); None: counts of records.
    total : {"original", "as-is"}
        "original" scales the table of the release to the total of the original, so that a sample
        and a population compare; "as-is" compares counts as they are.
    levels : {"union", "shared"}
        "union": all levels of both files, so that a merged category counts as lost levels and a
        new one. "shared": only levels that both files have, and records with them.
    missing : {"level", "drop"}
        A missing value is a level of its own, or its record is left out of the table.
    zeros : float, default 0.5
        What stands for an empty cell in the Aitchison distance (in records, before scaling); it
        needs logarithms.

    Returns
    -------
    TableDistance

    Raises
    ------
    InputError
        Unknown columns or options, bad weights, `zeros` not positive, or no record left.

    Notes
    -----
    Templ (2017), equations 5.4 to 5.7. Equation 5.6 is printed without its logarithms and its
    factor 1/D; see `errata.md`. Here d(x, y)^2 is the sum of squared differences of the centred
    log-ratios of the two rows, as in Aitchison (1986).

    Examples
    --------
    >>> x = pd.DataFrame({"sex": list("ffmm"), "region": list("abab")})
    >>> y = pd.DataFrame({"sex": list("ffmm"), "region": list("abaa")})
    >>> distance = table_distance(x, y, ["sex", "region"])
    >>> distance.ut, distance.ut2, distance.total_variation
    (0.5, 50.0, 0.25)
    """
    faults = Faults("table distance")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    check_both(faults, files, names, "variable")
    check_choice(faults, "total", total, ("original", "as-is"))
    check_choice(faults, "levels", levels, ("union", "shared"))
    check_choice(faults, "missing", missing, ("level", "drop"))
    check(faults, {"zeros": POSITIVE}, {"zeros": zeros})
    faults.raise_if_any()
    coded = _code(files, names, levels, missing)
    if not (coded.use_x.any() and coded.use_y.any()):
        what = "no record is left to count in one of the files"
        raise InputError.of(faults.subject, "variables", what)
    return _compare(coded, files, names, total, float(zeros))


@dataclass(frozen=True, slots=True, eq=False)
class _Coded:
    """Codes of both files against common levels; rows that count; levels left out."""

    x: np.ndarray
    y: np.ndarray
    levels: tuple[tuple[Any, ...], ...]
    use_x: np.ndarray
    use_y: np.ndarray
    left_out: dict[str, tuple[Any, ...]]


def common_levels(x: pd.Series, y: pd.Series) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the levels that occur in both columns, and those that occur in one only.

    Levels of the original come first, in their order.
    """
    first, second = (_occurring(column) for column in (x, y))
    both = tuple(level for level in first if level in second)
    single = [level for level in first if level not in second]
    return both, (*single, *(level for level in second if level not in first))


def _occurring(column: pd.Series) -> dict[Any, None]:
    codes, levels = encode(column)
    return dict.fromkeys(levels[code] for code in np.unique(codes[codes >= 0]))


def coded_alike(files: FilePair, name: str) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray]:
    """Levels of one column of both files, and its codes in original and release, int64.

    Levels that both have come first; -1 is missing.
    """
    both, single = common_levels(*(frame[name] for frame in files.frames))
    levels = both + single
    x, y = (recode_to(frame[name], levels)[0].astype(np.int64) for frame in files.frames)
    return levels, x, y


def _code(files: FilePair, names: Sequence[str], levels: str, missing: str) -> _Coded:
    shape_x, shape_y = (len(files.x), len(names)), (len(files.y), len(names))
    x, y = np.empty(shape_x, dtype=np.int64), np.empty(shape_y, dtype=np.int64)
    use_x, use_y = np.ones(len(x), dtype=bool), np.ones(len(y), dtype=bool)
    known: list[tuple[Any, ...]] = []
    left_out: dict[str, tuple[Any, ...]] = {}
    for j, name in enumerate(names):
        both, single = common_levels(files.x[name], files.y[name])
        used = both if levels == "shared" else both + single
        if single and levels == "shared":
            left_out[name] = single
        gap = False
        for frame, codes, use in ((files.x, x, use_x), (files.y, y, use_y)):
            column, unknown = recode_to(frame[name], used)
            codes[:, j] = column
            use &= ~unknown
            absent = (column == MISSING) & ~unknown
            if missing == "drop":
                use &= ~absent
            elif absent.any():
                codes[absent, j] = len(used)
                gap = True
        known.append((*used, MISSING_LABEL) if gap else used)
    return _Coded(x, y, tuple(known), use_x, use_y, left_out)


def _compare(
    coded: _Coded, files: FilePair, names: tuple[str, ...], total: str, zeros: float
) -> TableDistance:
    sizes = [len(levels) for levels in coded.levels]
    codes = np.vstack([coded.x[coded.use_x], coded.y[coded.use_y]])
    ids, n_occupied = cell_ids(codes, sizes)
    n = int(coded.use_x.sum())
    tx = np.bincount(ids[:n], ones(len(files.x), files.wx)[coded.use_x], n_occupied)
    ty = np.bincount(ids[n:], ones(len(files.y), files.wy)[coded.use_y], n_occupied)
    first = np.zeros((n_occupied, len(names)), dtype=np.int64)
    first[ids] = codes
    sum_x, sum_y = float(tx.sum()), float(ty.sum())
    factor = sum_x / sum_y if total == "original" else 1.0
    scaled = ty * factor
    n_cells = int(np.prod([float(size) for size in sizes]))
    inside = tx > 0
    shares_x, shares_y = tx / sum_x, ty / sum_y
    aitchison, replaced = _aitchison(
        tx, scaled, first, sizes, (zeros * sum_x / n, zeros * sum_y * factor / (len(ids) - n))
    )
    return TableDistance(
        variables=names,
        ut=float(np.abs(tx - scaled).sum() / n_cells),
        ut2=float(100 * (np.abs(tx - scaled)[inside] / tx[inside]).mean()),
        aitchison=aitchison / n_cells,
        aitchison_total=aitchison,
        total_variation=float(np.abs(shares_x - shares_y).sum() / 2),
        hellinger=float(np.sqrt(((np.sqrt(shares_x) - np.sqrt(shares_y)) ** 2).sum() / 2)),
        n_cells=n_cells,
        empty_original=int((~inside).sum()),
        empty_released=int((ty == 0).sum()),
        zeros_replaced=replaced,
        total_original=sum_x,
        total_released=sum_y,
        left_out=coded.left_out,
        cells=_cells(names, coded.levels, first, tx, scaled),
    )


def _aitchison(
    tx: np.ndarray,
    ty: np.ndarray,
    codes: np.ndarray,
    sizes: Sequence[int],
    zeros: tuple[float, float],
) -> tuple[float, int]:
    """Sum over rows of Aitchison distances, and how many zeros were replaced."""
    n_rows = sizes[0] if len(sizes) > 1 else 1
    n_cells = int(np.prod([float(size) for size in sizes]))
    if n_cells > LARGEST_ROWS or n_cells // n_rows < 2:
        return NAN, 0
    position = np.ravel_multi_index(tuple(codes.T), tuple(sizes))
    logs, replaced = [], 0
    for counts, zero in zip((tx, ty), zeros, strict=True):
        table = np.zeros(n_cells)
        table[position] = counts
        empty = table <= 0
        replaced += int(empty.sum())
        table[empty] = zero
        rows = np.log(table).reshape(n_rows, -1)
        logs.append(rows - rows.mean(axis=1, keepdims=True))
    return float(np.sqrt(((logs[0] - logs[1]) ** 2).sum(axis=1)).sum()), replaced


def _cells(
    names: Sequence[str],
    levels: Sequence[tuple[Any, ...]],
    codes: np.ndarray,
    tx: np.ndarray,
    ty: np.ndarray,
) -> pd.DataFrame:
    columns: dict[str, object] = {}
    for j, name in enumerate(names):
        labels = np.empty(len(levels[j]), dtype=object)
        labels[:] = levels[j]
        columns[name] = pd.Series(labels[codes[:, j]], dtype=object)
    frame = pd.DataFrame(columns)
    frame["original"], frame["released"], frame["difference"] = tx, ty, ty - tx
    frame["relative"] = np.divide(ty - tx, tx, out=np.full(len(tx), NAN), where=tx > 0)
    frame["root"] = np.sqrt(ty) - np.sqrt(tx)
    return frame
