"""How predictors become digits and cells: worked cases and both sides of every limit."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.models import encoding
from synthpop.models.encoding import (
    DECILES,
    DECILES_AND_TAILS,
    Encoding,
    cell_codes,
    coded_digits,
    distinct_cells,
    numeric_digits,
    response_limits,
    split_cells,
    strides,
    value_digits,
)


def test_shares_of_the_limits() -> None:
    assert pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) == DECILES
    assert (0.01, 0.05, *DECILES, 0.95, 0.975, 0.99) == DECILES_AND_TAILS


def test_twenty_values_have_a_class_each_and_twenty_one_are_cut_at_deciles() -> None:
    twenty = numeric_digits("x", np.append(np.arange(20), np.nan), np.ones(21))
    assert twenty.breaks.tolist() == (np.arange(19) + 0.5).tolist()
    assert twenty.size == 21  # with the digit of missing values
    more = numeric_digits("x", np.arange(21), np.ones(21))
    assert more.breaks.tolist() == [2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert more.size == 11
    weighted = numeric_digits("x", np.arange(21), np.where(np.arange(21) == 0, 1e6, 1.0))
    assert weighted.breaks.tolist() == [0]
    # the largest value is no limit: nobody is above it
    top = numeric_digits("x", np.append(np.arange(21), np.full(79, 20)), np.ones(100))
    assert top.breaks.tolist() == [9, 19]
    ends = numeric_digits("x", np.arange(21), np.ones(21), probs=(0.5,), without=None)
    assert ends.breaks.tolist() == [10]


def test_the_end_of_the_response_is_a_limit() -> None:
    ages = np.arange(100)
    among = numeric_digits("age", ages, np.ones(100), (0.5,), without=ages < 30)
    assert among.breaks.tolist() == [29.5, 49]
    with_missing = np.append(ages.astype(float), np.nan)
    same = numeric_digits("age", with_missing, np.ones(101), (0.5,), without=with_missing < 30)
    assert same.breaks.tolist() == [29.5, 49]


@pytest.mark.parametrize(("n", "limits"), [(20, True), (19, False)])
def test_twenty_persons_without_a_response_make_a_limit(n: int, limits: bool) -> None:
    ages = np.arange(100.0)
    assert response_limits(ages, ages < n).tolist() == ([n - 0.5] if limits else [])
    above = ages >= 100 - n
    assert response_limits(ages, above).tolist() == ([99.5 - n] if limits else [])
    both = response_limits(ages, (ages < 20) | above)
    assert both.tolist() == ([19.5, 79.5] if limits else [19.5])
    assert len(response_limits(ages, np.ones(100, bool))) == 0
    assert len(response_limits(ages, np.zeros(100, bool))) == 0


def test_limits_lie_half_way_between_the_values_at_their_sides() -> None:
    values = np.array([*[1.0] * 10, *[4.0] * 10, 9.0, 10.0, *[16.0] * 20])
    without = (values <= 4) | (values == 16)
    assert response_limits(values, without).tolist() == [6.5, 13.0]


def test_a_digit_for_each_value_up_to_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MOST_VALUES", 4)
    four = value_digits("x", np.array([5.0, 1, 3, np.nan, 9, 1]))
    assert four.breaks.tolist() == [2, 4, 7]
    assert four.numbers.tolist()[1:] == [1, 3, 5, 9]
    assert np.isnan(four.numbers[0])
    assert four.size == 5
    more = value_digits("x", np.arange(10.0, 17.0))  # ranks 0, 2, 4 and 6 of seven
    assert more.numbers.tolist()[1:] == [10, 12, 14, 16]
    none = value_digits("x", np.array([np.nan]))
    assert none.numbers.tolist()[1:] == [0]
    assert (none.size, len(none.breaks)) == (2, 0)


def test_strides_and_digits_of_cells() -> None:
    encodings = [coded_digits("sex", 2), numeric_digits("x", np.array([1, 2, 4]), np.ones(3)),
              coded_digits("z", 1)]  # fmt: skip
    assert strides(encodings) == ([1, 3, 12], 24)
    assert strides([]) == ([], 1)
    columns = [np.array([-1, 0, 1]), np.array([1.5, np.nan, 9.0]), np.array([0, -1, 0])]
    cells = cell_codes(encodings, columns, 3)
    assert cells.tolist() == [0 + 3 * 1 + 12, 1 + 0 + 0, 2 + 3 * 3 + 12]
    digits = split_cells(cells, encodings)
    assert digits.tolist() == [[0, 1, 1], [1, 0, 0], [2, 3, 1]]
    first, cell = distinct_cells(digits[[2, 0, 2, 1]], [3, 4, 2])
    assert first.tolist() == [1, 3, 0]  # in the order of their digits
    assert cell.tolist() == [2, 0, 2, 1]
    assert [x.tolist() for x in distinct_cells(np.empty((3, 0), int), [])] == [[0], [0, 0, 0]]


def test_distinct_cells_of_more_combinations_than_a_number_holds() -> None:
    rng = np.random.default_rng(1)
    digits = rng.integers(2**20 - 2, 2**20, (50, 4)) - np.array([0, 2**19, 0, 7])
    first, cell = distinct_cells(digits, [2**20] * 4)
    assert len(first) == len(np.unique(digits, axis=0))
    assert np.array_equal(digits[first][cell], digits)


def test_so_many_cells_can_be_told_apart() -> None:
    half = Encoding("x", 2**31)
    assert strides([half, half])[1] == 2**62
    with pytest.raises(InputError, match=r"3 variables .* have 9\.2e\+18 combinations of classes"):
        strides([half, half, Encoding("y", 2)])


@pytest.mark.parametrize(("size", "dtype"), [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_cell_codes_are_as_small_as_they_can_be(size: int, dtype: type) -> None:
    assert cell_codes([Encoding("x", size)], [np.array([0])], 1).dtype == dtype


@pytest.mark.parametrize("span", [3, 4, 5, 6])
def test_whole_numbers_and_others_have_the_same_cells(
    span: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a table where the limits span few whole numbers, else by search."""
    monkeypatch.setattr(encoding, "TABLE_SPAN", span)
    values = np.arange(-3, 12)
    for breaks in ([], [2.0], [1.5, 4.0], [1.0, 2.5, 5.5]):
        encodings = [Encoding("x", len(breaks) + 2, np.array(breaks))]
        expected = 1 + np.searchsorted(breaks, values, side="left")
        assert cell_codes(encodings, [values], len(values)).tolist() == expected.tolist()
        assert (
            cell_codes(encodings, [values.astype(float)], len(values)).tolist() == expected.tolist()
        )
