"""Small calls of `dictionary_table` and what they return."""

from __future__ import annotations

from synthpop.microdata.frame.dictionary_table import pairs_text, read_pairs


def test_example_of_pairs_text() -> None:
    assert (
        pairs_text([(1, "male"), ("x", "a; b"), (-9, "")], [(-8, -7)])
        == '1 = male; x = "a; b"; -9; -8 to -7'
    )


def test_example_of_read_pairs() -> None:
    assert read_pairs('1 = male; x = "a; b"; -9; -8 to -7') == (
        [[1, "male"], ["x", "a; b"], [-9, ""]],
        [[-8, -7]],
    )
