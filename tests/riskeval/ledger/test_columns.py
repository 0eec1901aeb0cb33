"""Columns of a release as whoever joins it with another one reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.ledger.columns import GOLDEN, class_limits, mixed, read_columns, read_one
from riskeval.ledger.knowledge import by_votes, code


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("7", (7, 7)), ("10-19", (10, 19)), ("10 \u2013 19", (10, 19)), ("10 to 19", (10, 19)),
        ("80+", (80, np.inf)), ("80 and over", (80, np.inf)), (">=80", (80, np.inf)),
        ("<= 15", (-np.inf, 15)), ("[0, 5]", (0, 5)), ("15 and under", (-np.inf, 15)),
    ],
)  # fmt: skip
def test_classes_are_read(text: str, limits: tuple[float, float]) -> None:
    assert class_limits(text) == limits


def test_open_ends_lie_a_little_inside() -> None:
    assert class_limits("[0, 5)") == (0, np.nextafter(5, 0))
    assert class_limits("(0, 5]") == (np.nextafter(0, 1), 5)
    assert class_limits("under 16") == (-np.inf, np.nextafter(16, 0))


@pytest.mark.parametrize("text", ["north", "9-3", "", "a-b", "2 or so many words"])
def test_other_texts_are_no_classes(text: str) -> None:
    assert class_limits(text) is None


def test_classes_of_whole_numbers_reach_the_next_one() -> None:
    column = read_one(pd.Series(["0-9", "10-19", "20 and over"]))
    assert column.high is not None
    assert column.high[0] == np.nextafter(10, 0)


def test_the_same_value_has_the_same_hash_however_it_is_held() -> None:
    kinds = [
        pd.Series([1, 2]), pd.Series([1.0, 2.0]), pd.Series(["1", "2"]),
        pd.Series([1, 2], dtype="Int64"), pd.Series(["1.0", "2"], dtype="category"),
    ]  # fmt: skip
    hashes = {tuple(read_one(values).hash.tolist()) for values in kinds}
    assert len(hashes) == 1
    words = [pd.Series(["North ", None]), pd.Series(["north", None], dtype="category")]
    assert len({tuple(read_one(values).hash.tolist()) for values in words}) == 1
    assert read_one(words[0]).hash[1] == 0


def test_lists_are_left_out_and_empty_columns_are_none() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [[1], [2]], "c": [None, None]})
    columns = read_columns(frame)
    assert "a" in columns
    assert (columns["c"].hash == 0).all()


def test_votes_follow_the_published_formula() -> None:
    """Four of five releases that keep a value with 0.8: the posterior by Bayes, by hand."""
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 5, 4000).astype(np.uint64)
    votes = []
    for _ in range(5):
        others = ((truth - 1 + rng.integers(1, 4, 4000).astype(np.uint64)) % 4 + 1).astype(
            np.uint64
        )
        votes.append(np.where(rng.random(4000) < 0.8, truth, others))
    values, n_sure, probability = by_votes(votes)
    assert (values == truth).mean() > 0.92 > (votes[0] == truth).mean() + 0.1
    assert 0.93 < probability < 0.98
    assert n_sure > 3000
    assert code(np.array([5, 0, 5, 7], dtype=np.uint64)).tolist()[1] == -1


def test_hashes_are_those_of_splitmix64() -> None:
    """The first outputs of the published generator for the seed 1234567, state by state."""
    states = [(1234567 + k * GOLDEN) % (1 << 64) for k in range(3)]
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(np.array(states, dtype=np.uint64), 0).tolist() == expected
