from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.attacks.indexer import Indexer, Multiset, RowIndexer, pair_up
from riskeval.kernels.numbering import number_values


def by_dictionary(values: list) -> list[int]:
    met: dict = {}
    return [met.setdefault(value, len(met)) for value in values]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**62), 2**62), max_size=9), max_size=6))
def test_numbers_agree_with_a_dictionary(parts: list[list[int]]) -> None:
    numberer = Indexer()
    found = [numberer.number(np.array(part, dtype=np.int64)).tolist() for part in parts]
    expected = by_dictionary([value for part in parts for value in part])
    assert [number for part in found for number in part] == expected
    assert numberer.size == len(set(expected))


def test_many_values_and_growth() -> None:
    numberer = Indexer()
    values = np.arange(5000) << 31
    for part in np.split(values, 50):
        numberer.number(part)
    assert numberer.number(values[::-1]).tolist() == list(range(5000))[::-1]


def test_compiled_and_plain_loop_agree() -> None:
    values = np.array([9, -4, 9, 17, 1, 9], dtype=np.int64)
    for function in (number_values, number_values.py_func):
        keys, numbers = np.zeros(16, np.int64), np.full(16, -1, np.int64)
        out = np.empty(6, dtype=np.int64)
        assert function(values, keys, numbers, 0, out) == 4
        assert out.tolist() == [0, 1, 0, 2, 3, 0]


CODES = st.lists(st.tuples(*[st.integers(0, 40)] * 3), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(CODES, st.sampled_from([[2, 3, 2], [2**29, 2**29, 2**29]]))
def test_rows(rows: list[tuple[int, ...]], sizes: list[int]) -> None:
    """Codes beyond the expected range, and sizes that do not fit into one integer."""
    numberer = RowIndexer(sizes)
    assert numberer.number(np.array(rows).T).tolist() == by_dictionary(rows)
    assert numberer.size == len(set(rows))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=8))
def test_multisets(bags: list[list[int]]) -> None:
    codes = np.array([code for bag in bags for code in bag])
    place = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    shuffle = np.random.default_rng(1).permutation(len(codes))
    numberer = Multiset()
    found = numberer.number(codes[shuffle], place[shuffle], len(bags))
    assert found.tolist() == by_dictionary([tuple(sorted(bag)) for bag in bags])
    assert numberer.size == len({tuple(sorted(bag)) for bag in bags})
    again = numberer.number(codes, place, len(bags))
    assert again.tolist() == found.tolist()


def test_pairs_are_distinct() -> None:
    first, second = np.meshgrid([0, 1, 2**31 - 1], [0, 1, 2**31 - 1])
    assert len(np.unique(pair_up(first.ravel(), second.ravel()))) == 9
