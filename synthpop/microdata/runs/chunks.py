"""A population in chunks, whatever it is: a frame, blocks on disk, an Arrow table, a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.runs.engines import map_blocks

CHUNK = 1 << 17
PORTIONS = 64
PORTION_ROWS = 250_000
"""A population of blocks is worked on in at most so many portions of at least so many rows."""

T = TypeVar("T")
NumberedFrames = Iterator[tuple[int, pd.DataFrame]]
"""Frames of consecutive rows, each with the number of its first row."""


def open_chunks(
    population: Any,
    name: str = "population",
    columns: Sequence[str] = (),
    *,
    rows: int | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the frames of a population, at least one; each is read once and then released.

    population: a table; an object with ``iter_blocks()``, ``frame()`` or ``frame``; or any iterable
        of tables (a list, a generator)
    name: what it is called in messages
    columns: the only ones that are needed; a population that can read them alone does so
    rows: yield about so many rows at a time: large blocks are cut, small ones joined
    Raises InputError: when it is none of these, or holds no table.
    """
    blocks: Iterator[pd.DataFrame] = (
        as_frame(block, name) for block in _blocks(population, name, columns)
    )
    if rows is not None:
        blocks = _sized(blocks, rows)
    first = next(blocks, None)
    if first is None:
        raise InputError.of(name, name, "holds no table", "Give at least one block of persons.")
    return chain([first], blocks)


def map_portions(
    function: Callable[[NumberedFrames], T],
    population: Any,
    columns: Sequence[str],
    *,
    rows: int | None = None,
) -> Iterator[T]:
    """Apply a function to portions of a population and yield the results in order.

    A portion of a population of blocks is a run of whole blocks. Portions depend on the population
    alone and so do the results, whatever `population.workers` computes them. Anything else that
    `open_chunks` takes is one portion.

    function: of an iterator, never empty, of (number of the first row, frame); other processes must
        be able to import it
    columns, rows: see `open_chunks`
    """
    starts = getattr(population, "block_starts", [])
    if len(starts) < 2:
        yield function(_numbered(open_chunks(population, columns=columns, rows=rows), 0))
        return
    job = _Portion(function, population, tuple(columns), rows)
    yield from map_blocks(job, _cut(starts), population.workers, in_order=True)


@dataclass(frozen=True)
class _Portion(Generic[T]):
    """Applies a function to the blocks from `first` to `last`."""

    function: Callable[[NumberedFrames], T]
    population: Any
    columns: tuple[str, ...]
    rows: int | None

    def __call__(self, blocks: tuple[int, int]) -> T:
        read = self.population.read_block
        frames = (read(number, self.columns) for number in range(*blocks))
        sized = frames if self.rows is None else _sized(frames, self.rows)
        return self.function(_numbered(sized, self.population.block_starts[blocks[0]]))


def _cut(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first block of each portion and the one behind its last."""
    size = max(PORTION_ROWS, -(-starts[-1] // PORTIONS))
    portions, first = [], 0
    for last in range(1, len(starts)):
        if starts[last] - starts[first] >= size or last == len(starts) - 1:
            portions.append((first, last))
            first = last
    return portions


def _numbered(frames: Iterable[pd.DataFrame], start: int) -> NumberedFrames:
    for frame in frames:
        yield start, frame
        start += len(frame)


def draw_records(
    population: Any, name: str, columns: Sequence[str], most: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw at most so many records of a stream, each equally likely, and keep their order.

    The index is the position of each record in the stream.
    """
    frames: list[pd.DataFrame] = []
    marks: list[np.ndarray] = []
    offset = 0
    for block in open_chunks(population, name, columns):
        faults = Faults(name)
        check_columns(faults, block, columns, f"column of the {name} file")
        faults.raise_if_any()
        frames.append(block[list(columns)].set_axis(range(offset, offset + len(block)), axis=0))
        marks.append(rng.random(len(block)))
        offset += len(block)
        if sum(map(len, frames)) > 2 * most:
            frames, marks = _smallest(frames, marks, most)
    return _smallest(frames, marks, most)[0][0]


def reads_blocks(population: Any) -> bool:
    """Whether an object gives its rows block by block, as a `Population` does."""
    return callable(getattr(population, "iter_blocks", None))


def _sized(frames: Iterator[pd.DataFrame], rows: int) -> Iterator[pd.DataFrame]:
    """Cut large frames, and join small ones with the same columns and types."""
    pending: list[pd.DataFrame] = []
    for frame in frames:
        if pending and not frame.dtypes.equals(pending[0].dtypes):
            yield _joined(pending)
            pending = []
        for start in range(0, max(len(frame), 1), rows):
            pending.append(frame if len(frame) <= rows else frame.iloc[start : start + rows])
            if sum(map(len, pending)) >= rows:
                yield _joined(pending)
                pending = []
    if pending:
        yield _joined(pending)


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def _smallest(
    frames: list[pd.DataFrame], marks: list[np.ndarray], most: int
) -> tuple[list[pd.DataFrame], list[np.ndarray]]:
    frame, mark = pd.concat(frames), np.concatenate(marks)
    if len(frame) > most:
        rows = np.sort(np.argpartition(mark, most - 1)[:most])
        frame, mark = frame.iloc[rows], mark[rows]
    return [frame], [mark]


def _blocks(population: Any, name: str, columns: Sequence[str]) -> Iterable[Any]:
    if isinstance(population, pd.DataFrame):
        return [population]
    if reads_blocks(population):
        selects = "columns" in signature(population.iter_blocks).parameters
        if selects and columns and set(columns) <= set(getattr(population, "columns", ())):
            return population.iter_blocks(columns=list(columns))
        return population.iter_blocks()
    if callable(getattr(population, "frame", None)):
        return [population.frame()]
    ways_to_pandas = ("frame", "to_pandas", "__arrow_c_stream__")
    is_table = any(hasattr(population, way) for way in ways_to_pandas)
    if isinstance(population, Iterable) and not (is_table or isinstance(population, (str, dict))):
        return population
    return [as_frame(population, name)]
