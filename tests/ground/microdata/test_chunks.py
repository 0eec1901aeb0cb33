"""One reader of populations in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
import pytest

from synthpop.microdata.chunks import open_chunks, reads_blocks
from synthpop.microdata.errors import InputError

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
