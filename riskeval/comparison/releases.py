"""One release: its records, how it was made, and which original record each of its records is."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.matching import match_near, match_shuffled
from riskeval.protection.result import Protected
from riskeval.shared.files import HeldFile
from synthpop.microdata.frame.checks import as_frame, check_columns, check_once, check_weights
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, check_size, is_number
from synthpop.microdata.frame.native import library_of
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.parameters import is_number as is_finite_number
from synthpop.microdata.messages.text import count, formatted, plural
from synthpop.microdata.roles.microdata import Microdata, read_weights

KINDS = ("perturbed", "synthetic")
ALIKE = 0.5
"""Mean agreement of the variables, row by row, from which on rows count as the same units."""
MOST_RANKED = 200_000
"""Records whose numbers are ranked at most, to see whether rows are the same units."""


@dataclass(frozen=True)
class Release:
    """One release and what is known about it.

    Attributes
    ----------
    data : DataFrame, Survey, Population, Protected or Arrow table
    kind : {"perturbed", "synthetic"}, optional
        Default: "perturbed" where its records are those of the original, else "synthetic".
    family : str, optional
        Name of the method: releases of one family are joined by a path in the risk-utility map.
    parameter : number, optional
        Strength of the method, the order along the path.
    weights : str or array, optional
        Weights of the release. Default: the column of the original's weights, that of the Survey,
        or every record counts one.
    linkable : bool, optional
        Whether the records can be linked one to one to those of the original: by `identifier`, by
        labels of the index where the release has fewer records or the same in another order, else
        row by row. Default: found from the data (see `compare`).
    identifier : str, optional
        Column of both files that names the record.
    levels : mapping of column to mapping, optional
        Original level -> level of the release, for columns that were recoded.
    replicates : sequence of files
        Further files of the same method, as further synthetic files of one fit: every number is
        then the mean over `data` and these, with the interval of that mean.
    """

    data: Any
    kind: str | None = None
    family: str | None = None
    parameter: float | None = None
    weights: Any = None
    linkable: bool | None = None
    identifier: str | None = None
    levels: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)
    replicates: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseFile:
    """A release that was read."""

    name: str
    frame: pd.DataFrame
    weights: np.ndarray | None  # float64, shape (m,), or None
    # int64, shape (m,), or None: original record of each record; None where they cannot be linked
    rows: np.ndarray | None
    kind: str
    family: str
    parameter: float  # NaN where none was given
    levels: Mapping[str, Mapping[Any, Any]]
    notes: tuple[str, ...]  # what was found or assumed
    replicates: tuple[ReleaseFile, ...] = ()  # further files of the same method

    def with_replicates(self, others: Sequence[ReleaseFile]) -> ReleaseFile:
        """Return the same with further files of the method."""
        if not others:
            return self
        note = message(
            "numbers are means of {n} files; estimates and coefficients one by one are "
            "those of the first",
            n=len(others) + 1,
        )
        return replace(self, replicates=tuple(others), notes=(*self.notes, note))


def check_finite(faults: Faults, frame: pd.DataFrame, names: Iterable[str], file: str) -> None:
    """Note infinite and immense values: as levels they would hide what they stand for."""
    for name in names:
        if name in frame and pd.api.types.is_float_dtype(frame[name].dtype):
            check_size(faults, as_numbers(frame[name]), f"{name} of {file}")


@dataclass(frozen=True, slots=True, eq=False)
class OriginalFile:
    """The original as releases are read beside it."""

    frame: pd.DataFrame  # rows numbered from 0
    labels: pd.Index  # of its records
    variables: tuple[str, ...]  # names that tell whether rows are the same units
    weights: str | None  # column of its weights
    # further columns that are used: of a `Population` those that are not are left unread
    others: tuple[str | None, ...] = ()


def read_release(
    faults: Faults, name: str, item: Any, original: OriginalFile
) -> ReleaseFile | None:
    """Read one release; note faults and return None where it cannot be used."""
    release = item if isinstance(item, Release) else Release(item)
    if isinstance(release.data, HeldFile):
        release = replace(
            release, data=release.data.current_frame(), kind=release.kind or "perturbed"
        )
    elif isinstance(release.data, Protected) and release.kind is None:
        release = replace(release, kind="perturbed")  # its rows are those of its input
    problems = Faults(f"release {name}")
    weights, variables = original.weights, original.variables
    names = [*variables, *original.others, weights, release.weights, release.identifier]
    used = {name for name in names if isinstance(name, str)}
    frame, labels, default = _frame(problems, release.data, name, used)
    if frame is None:
        faults.found += problems.found
        return None
    if len(frame) == 0:
        problems.add(name, "has no records")
    if release.kind is not None:
        check_choice(problems, f"kind of {name}", release.kind, KINDS)
    if release.linkable not in (None, True, False):
        what = f"is {release.linkable!r}"
        problems.add(f"linkable of {name}", what, hint="Give True, False or nothing.")
    parameter = _parameter(problems, name, release.parameter)
    shared = [n for n in dict.fromkeys(frame.columns) if n in original.frame.columns]
    check_once(problems, frame, shared, f"column of {name}")
    check_columns(problems, frame, [n for n in shared if n in variables], f"variable of {name}")
    _check_levels(problems, name, release.levels, original.frame)
    if not problems:
        check_finite(problems, frame, variables, name)
    notes: list[str] = []
    if release.weights is not None:
        default = release.weights
    elif default is None and weights in frame.columns:
        default = weights
    elif default is None and weights is not None:
        notes.append("has no weights: every record counts one")
    values = _weights(problems, name, frame, default)
    rows = None
    if not problems:
        rows = _rows(problems, release, name, frame, labels, original, notes)
    faults.found += problems.found
    if problems:
        return None
    kind = release.kind or ("perturbed" if rows is not None else "synthetic")
    if release.kind is None:
        notes.append(message("taken as {kind}", kind=message(kind)))
        if kind == "synthetic" and len(frame) < len(original.frame):
            notes.append(
                "fewer records than the original, and no labels or identifier that link them: if "
                "they are persons of the original, give identifier or linkable, or the risk of "
                "linked records is left out"
            )
    return ReleaseFile(
        name, frame, values, rows, kind, release.family or name, parameter, release.levels,
        tuple(notes),
    )  # fmt: skip


def _frame(
    faults: Faults, data: Any, name: str, used: Container[str]
) -> tuple[pd.DataFrame | None, pd.Index | None, str | None]:
    """Return the frame, its labels, and the column of weights that the object declares."""
    weights = None
    if callable(getattr(data, "frame", None)):  # a Population
        data = data.frame([column for column in data.columns if column in used])
    elif isinstance(data, Microdata):
        weights, data = data.roles.weight, data.indexed
    elif isinstance(data, Protected):
        data = data.data
    labels = data.index if isinstance(data, pd.DataFrame) else None
    is_frame = isinstance(data, pd.DataFrame) or library_of(data) is not None
    if not (is_frame or hasattr(data, "to_pandas") or hasattr(data, "__arrow_c_stream__")):
        hint = "Give a table, a Survey, a Population, a Protected or a Release."
        faults.add(name, f"is a {type(data).__name__}", hint=hint)
        return None, None, None
    return as_frame(data, name), labels, weights


def _parameter(faults: Faults, name: str, value: Any) -> float:
    if value is None:
        return float("nan")
    if not is_finite_number(value):
        faults.add(f"parameter of {name}", f"is {value!r}", hint="Give a number.")
        return float("nan")
    return float(value)


def _check_levels(faults: Faults, name: str, levels: Any, original: pd.DataFrame) -> None:
    """Note a rule of levels that is not a mapping, or is about no column of the original."""
    where = f"levels of {name}"
    if not isinstance(levels, Mapping):
        faults.add(where, f"is {levels!r}", hint="Give a mapping of columns to mappings.")
        return
    check_columns(faults, original, levels, where)
    for column, rule in levels.items():
        if not isinstance(rule, Mapping):
            hint = "Map each level of the original to one of the release."
            faults.add(f"{where}, {column}", f"is {rule!r}", hint=hint)


def _weights(faults: Faults, name: str, frame: pd.DataFrame, weights: Any) -> np.ndarray | None:
    if not isinstance(weights, str):
        return read_weights(faults, frame, weights, message("weights of {name}", name=name))
    if not check_columns(faults, frame, [weights], f"weights of {name}"):
        return None
    return check_weights(faults, frame[weights], f"{weights} of {name}")


def _rows(
    faults: Faults,
    release: Release,
    name: str,
    frame: pd.DataFrame,
    labels: pd.Index | None,
    original: OriginalFile,
    notes: list[str],
) -> np.ndarray | None:
    """Original record of each record; None where they cannot be linked."""
    if release.linkable is False:
        return None
    if release.identifier is not None:
        ids = [_column(faults, file, release.identifier) for file in (original.frame, frame)]
        return _by_labels(faults, name, *ids)
    n_records = len(original.frame)
    if len(frame) == n_records:
        rows, how, alike = _in_either_order(frame, labels, original)
        asked = release.linkable or release.kind == "perturbed"
        if alike < ALIKE and release.kind != "synthetic":
            matched = match_shuffled(original.frame, frame, original.variables)
            if matched is not None:
                notes.append("the records of the original in another order, found by their values")
                return matched
            if (near := _nearest(frame, original, notes)) is not None:
                return near
        if not asked or alike < ALIKE:
            text = message(
                "rows agree with those of the original by {x} (0: chance, 1: all)",
                x=formatted(alike, ".2f"),
            )
            notes.append(
                message("linked as requested, although {text}", text=text) if asked else text
            )
        if not asked and alike < ALIKE:
            return None
        notes += [how] if how else []
        return rows
    if (
        release.kind != "synthetic"
        and labels is not None
        and not labels.equals(pd.RangeIndex(len(frame)))
        and labels.nlevels == original.labels.nlevels
        and (labels.is_unique or release.linkable or release.kind == "perturbed")
        and labels.isin(original.labels).all()
    ):
        linked = _by_labels(faults, name, original.labels, labels)
        if linked is None or _agrees(original, linked, frame, release):
            notes.append(message("linked by the labels of the index"))
            return linked
        notes.append(message("not linked: its labels are those of other records of the original"))
        return None
    if release.linkable:
        records = message(
            "{n} against {n_records}", n=plural(len(frame), "record"), n_records=count(n_records)
        )
        hint = "Name the records with identifier, or do not call it linkable."
        faults.add(name, f"{records} cannot be linked row by row", hint=hint)
    if release.kind != "synthetic" and not faults and len(frame) < n_records:
        return _nearest(frame, original, notes)
    return None


def _nearest(frame: pd.DataFrame, original: OriginalFile, notes: list[str]) -> np.ndarray | None:
    """Original record of each record of a changed file in another order; None for another file."""
    matched = match_near(original.frame, frame, original.variables)
    if matched is not None:
        notes.append(
            message("changed records of the original in another order, found by their nearness")
        )
    return matched


def _agrees(
    original: OriginalFile, rows: np.ndarray, frame: pd.DataFrame, release: Release
) -> bool:
    """Whether records look like those of the original that they are linked with, or it is said."""
    if release.linkable or release.kind == "perturbed":
        return True
    linked = original.frame.iloc[rows].reset_index(drop=True)
    return agreement(linked, frame, original.variables) >= ALIKE


def _in_either_order(
    frame: pd.DataFrame, labels: pd.Index | None, original: OriginalFile
) -> tuple[np.ndarray, str, float]:
    """Link files of one length row by row or, where rows then agree better, by their labels."""
    alike = agreement(original.frame, frame, original.variables)
    in_order = np.arange(len(frame)), "", alike
    if labels is None or labels.equals(original.labels):
        return in_order
    if not (original.labels.is_unique and labels.is_unique):
        return in_order
    rows = original.labels.get_indexer(labels)
    if (rows < 0).any():
        return in_order
    ordered = original.frame.iloc[rows].reset_index(drop=True)
    by_label = agreement(ordered, frame, original.variables)
    if by_label <= alike:
        return in_order
    return rows.astype(np.int64), message("linked by the labels of the index"), by_label


def _column(faults: Faults, frame: pd.DataFrame, name: str) -> pd.Index | None:
    exists = check_columns(faults, frame, [name], "identifier")
    return pd.Index(frame[name]) if exists else None


def _by_labels(
    faults: Faults, name: str, original: pd.Index | None, released: pd.Index | None
) -> np.ndarray | None:
    if original is None or released is None:
        return None
    for labels, file in ((original, message("the original")), (released, name)):
        if not labels.is_unique:
            faults.add(name, f"records of {file} do not have names of their own")
    if faults:
        return None
    rows = original.get_indexer(released)
    if (rows < 0).any():
        faults.add(name, "records that the original does not have", rows=np.flatnonzero(rows < 0))
        return None
    return rows.astype(np.int64)


def agreement(x: pd.DataFrame, y: pd.DataFrame, variables: tuple[str, ...]) -> float:
    """How far row i of both files looks like the same unit; 0 is chance, 1 is certainty.

    The mean over the shared variables of the rank correlation (numbers) and of Goodman and
    Kruskal's lambda (others: how much better the level of one file tells that of the other than
    the commonest level does, so that recoded columns agree), over records with both values.
    Columns with nearly as many levels as records tell nothing and are left out.
    """
    shares = []
    for name in variables:
        if name not in x or name not in y:
            continue
        one, two = x[name], y[name]
        both = (one.notna() & two.notna()).to_numpy()
        if not both.any():
            continue
        one, two = one[both], two[both]
        if all(is_number(side) or pd.api.types.is_bool_dtype(side) for side in (one, two)):
            step = -(-len(one) // MOST_RANKED)
            ranks = [side[::step].astype(float).rank().to_numpy() for side in (one, two)]
            if all(np.ptp(rank) > 0 for rank in ranks):
                centred = [rank - rank.mean() for rank in ranks]
                spread = np.linalg.norm(centred[0]) * np.linalg.norm(centred[1])
                shares.append(float(centred[0] @ centred[1] / spread))
        elif (known := _association(one, two)) is not None:
            shares.append(known)
    return float(np.mean(shares)) if shares else 0.0


def _association(one: pd.Series, two: pd.Series) -> float | None:
    """Goodman and Kruskal's lambda of the second column given the first; None: not to be told."""
    a, levels_a = encode(one.reset_index(drop=True))
    b, levels_b = encode(two.reset_index(drop=True))
    n_cells = len(levels_a) * len(levels_b)
    if len(levels_b) < 2 or n_cells > 50 * max(len(a), 10) or len(levels_a) > len(a) / 3:
        return None
    cells = np.bincount(a.astype(np.int64) * len(levels_b) + b, minlength=n_cells)
    cells = cells.reshape(len(levels_a), len(levels_b))
    guess = cells.sum(axis=0).max() / len(a)
    known = cells.max(axis=1).sum() / len(a)
    return float((known - guess) / (1 - guess)) if guess < 1 else None
