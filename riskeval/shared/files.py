"""The original file and the release, each with its weights, read and checked in one place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.frames import as_names, check_finite, is_number, n_columns, numbers
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, SHARE, Whole, check, check_choice
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.streams import Streams, fresh_secret, resolve_seed


@dataclass(frozen=True, slots=True, eq=False)
class FilePair:
    """Original x and release y, rows numbered from 0, each with its weights."""

    x: pd.DataFrame
    y: pd.DataFrame
    # float64 arrays, shape (n of the file,); None: every row counts one
    wx: np.ndarray | None
    wy: np.ndarray | None

    @property
    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Original and release."""
        return self.x, self.y

    @property
    def weights(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Weights of original and release."""
        return self.wx, self.wy

    @property
    def paired(self) -> bool:
        """Whether both files have as many rows, so that row i can be the same unit."""
        return len(self.x) == len(self.y)

    def numeric(self, names: Iterable[str], categorical: Collection[str] = ()) -> list[str]:
        """Those of some columns that are numbers in both files, and not declared categories."""
        return [
            name
            for name in names
            if name not in categorical and is_number(self.x[name]) and is_number(self.y[name])
        ]


def read_files(
    faults: Faults, original: Any, released: Any, weights: Any = None, released_weights: Any = None
) -> FilePair:
    """Return both files with their weights; note empty files and bad weights.

    A release of a file that names its weights has those of the same column.
    """
    first = as_file(original, faults, weights=weights, subject="original")
    own = first.roles.weight if weights is None else None
    read = partial(as_file, faults=faults, subject="released", said="released_weights")
    second = read(released, weights=released_weights)
    if released_weights is None and own is not None and own in second.frame:
        second = read(second, weights=own)
    for name, file in (("original", first), ("released", second)):
        if len(file) == 0:
            faults.add(name, "has no records")
    return FilePair(first.frame, second.frame, first.weights, second.weights)


def check_both(faults: Faults, files: FilePair, names: Sequence[str], role: str) -> bool:
    """Note columns that either file lacks."""
    fine = check_columns(faults, files.x, names, f"{role} of the original")
    return check_columns(faults, files.y, names, f"{role} of the release") and fine


def check_numbers(faults: Faults, files: FilePair, names: Sequence[str], role: str) -> bool:
    """Note columns that are absent, not numeric, or hold infinite or immense values."""
    pair = ((files.x, "original"), (files.y, "release"))
    return all([check_numbers_of(faults, frame, file, names, role) for frame, file in pair])


def check_numbers_of(
    faults: Faults, frame: pd.DataFrame, file: str, names: Sequence[str], role: str
) -> bool:
    """Note such columns of one file, the original or the release."""
    fine = check_numeric(faults, frame, names, f"{role} of the {file}")
    for name in names:
        if n_columns(frame.columns, name) != 1 or not is_number(frame[name]):
            continue
        fine = check_finite(faults, numbers(frame, [name]), [name], file) and fine
    return fine


def check_paired(faults: Faults, files: FilePair) -> None:
    """Note files of different length where row i must be the same unit."""
    if not files.paired:
        faults.add(
            "released",
            message(
                "{title} against {x} of the original",
                title=plural(len(files.y), "record"),
                x=count(len(files.x)),
            ),
            hint="Row i of both files must be the same unit.",
        )


def compares_rows(faults: Faults, files: FilePair, rows: str) -> bool:
    """Whether row i of both files is compared; "auto" pairs files of equal length."""
    check_choice(faults, "rows", rows, ("auto", "paired", "unpaired"))
    if rows == "paired" and not files.paired:
        text = f"{count(len(files.x))} and {plural(len(files.y), 'record')} cannot be paired"
        faults.add("rows", text)
    return files.paired and rows != "unpaired"


def check_level(faults: Faults, level: float) -> None:
    """Note a confidence level that is not between 0 and 1."""
    check(faults, {"level": SHARE}, {"level": level})


def read_seed(faults: Faults, seed: int | None) -> Streams:
    """Return the streams of a seed, drawn where it is None; note what is not a seed."""
    seed_or_none = Whole(0) | NONE
    check(faults, {"seed": seed_or_none}, {"seed": seed})
    return Streams(resolve_seed(seed) if seed_or_none.allows(seed) else 0)


@runtime_checkable
class HeldFile(Protocol):
    """What holds a file that changes step by step, as a protection session does."""

    def current_frame(self) -> pd.DataFrame:
        """Return the file after the current steps."""


def read_secret(faults: Faults, seed: int | None) -> Streams:
    """Return the streams of draws that protect: without a seed one of 128 bits is drawn for them.

    A seed of 64 bits or less can be found by trying, and gives the draws to whoever finds it.
    """
    return read_seed(faults, fresh_secret() if seed is None else seed)


def drawn_rows(n: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many of n rows, drawn at random, in order.

    Examples
    --------
    >>> drawn_rows(3, 5, np.random.default_rng(1)).tolist()
    [0, 1, 2]
    """
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def ones(n: int, weights: np.ndarray | None) -> np.ndarray:
    """Return the weights, or n ones."""
    return np.ones(n) if weights is None else weights


def read_frames(
    faults: Faults, original: Any, released: Any, *, same_length: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both files as frames; note empty ones and different lengths."""
    files = read_files(faults, original, released)
    if same_length:
        check_paired(faults, files)
    return files.x, files.y


def read_pair(
    faults: Faults, original: Any, released: Any, variables: Sequence[str] | str
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return both files as float64, shape (n, p), and the names; raise every fault found."""
    first, second = read_frames(faults, original, released)
    names = as_names(faults, variables, "variables")
    fine = check_numeric(faults, first, names, "variable of the original")
    fine = check_numeric(faults, second, names, "variable of the release") and fine
    if not fine or not names:
        faults.raise_if_any()
    x, y = numbers(first, names), numbers(second, names)
    check_finite(faults, x, names, "original")
    check_finite(faults, y, names, "release")
    faults.raise_if_any()
    return x, y, names
