"""One reader of populations in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.runs.chunks import draw_records, map_portions, open_chunks, reads_blocks

TABLE = pd.DataFrame({"a": range(10), "b": range(10)})


class Blocks:
    columns = ("a", "b")

    def iter_blocks(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        for start in (0, 3, 6):
            yield TABLE[list(columns or self.columns)].iloc[start : start + 3]


def test_tables_are_cut_and_small_blocks_joined() -> None:
    assert [len(x) for x in open_chunks(TABLE, rows=4)] == [4, 4, 2]
    assert [len(x) for x in open_chunks(Blocks(), rows=5)] == [6, 3]
    assert [len(x) for x in open_chunks(Blocks())] == [3, 3, 3]
    assert [len(x) for x in open_chunks(TABLE.head(0), rows=4)] == [0]


def test_the_rows_are_all_there_in_order() -> None:
    joined = pd.concat(open_chunks(Blocks(), rows=5))
    assert joined["a"].tolist() == list(range(9))


def test_only_the_columns_asked_for_are_read() -> None:
    assert [list(x.columns) for x in open_chunks(Blocks(), columns=["b"])] == [["b"]] * 3


def test_what_is_a_stream_of_blocks() -> None:
    assert reads_blocks(Blocks())
    assert not reads_blocks(TABLE)
    with pytest.raises(InputError, match="holds no table"):
        open_chunks([])


def test_example_of_open_chunks() -> None:
    table = pd.DataFrame({"sex": ["f", "m"]})
    assert [len(frame) for frame in open_chunks([table, table.head(1)])] == [2, 1]
    assert [len(frame) for frame in open_chunks([table, table, table], rows=3)] == [4, 2]


def test_example_of_map_portions() -> None:
    table = pd.DataFrame({"sex": ["f", "m"]})
    assert list(
        map_portions(lambda frames: sum(len(frame) for _, frame in frames), table, ["sex"])
    ) == [2]


def test_example_of_draw_records() -> None:
    table = pd.DataFrame({"sex": ["f", "m", "f"]})
    assert draw_records(
        table, "synthetic", ["sex"], 9, np.random.default_rng(1)
    ).index.tolist() == [0, 1, 2]
