"""Errors, coded columns, streams and results."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop.microdata.frame.checks import as_frame, check_columns, check_weights
from synthpop.microdata.frame.codes import (
    cell_ids,
    encode,
    encode_keys,
    recode_to,
    smallest_int,
    unhashable,
)
from synthpop.microdata.frame.dataset import encode_column, restore_column
from synthpop.microdata.messages.errors import Faults, InputError, RunFileError, did_you_mean
from synthpop.microdata.statistics.streams import Streams, resolve_seed


def test_an_error_lists_every_fault_with_rows_and_remedy() -> None:
    faults = Faults("survey")
    faults.add("w", "weight is zero", rows=np.arange(9), hint="Drop them.")
    faults.add("age", "is missing")
    with pytest.raises(InputError) as caught:
        faults.raise_if_any()
    text = str(caught.value)
    assert "2 faults" in text
    assert "w: weight is zero (9 rows: 0, 1, 2, 3, 4, ...). Drop them." in text
    assert "age: is missing" in text
    assert isinstance(caught.value, ValueError)


def test_errors_survive_the_way_between_processes() -> None:
    faults = Faults("run file", RunFileError)
    faults.add("x", "is unknown")
    error = RunFileError(faults.subject, faults.found)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is RunFileError
    assert str(again) == str(error)


def test_no_fault_raises_nothing() -> None:
    Faults("survey").raise_if_any()


def test_did_you_mean_without_a_near_name_lists_what_there_is() -> None:
    assert did_you_mean("zzz", ["age"]) == "There are: age."


@pytest.mark.parametrize(
    ("values", "codes", "levels"),
    [
        (pd.Series(["b", "a", None]), [1, 0, -1], ("a", "b")),
        (pd.Series([3.0, np.nan, 1.0]), [1, -1, 0], (1.0, 3.0)),
        (pd.Series([2, pd.NA, 1], dtype="Int64"), [1, -1, 0], (1, 2)),
        (pd.Series([True, False]), [1, 0], (False, True)),
        (pd.Series([100, -100, 100], dtype="int8"), [1, 0, 1], (-100, 100)),
        (pd.Series([2**62, -(2**62), 5]), [2, 0, 1], (-(2**62), 5, 2**62)),
        (pd.Series([2**64 - 1, 2**64 - 3], dtype="uint64"), [1, 0], (2**64 - 3, 2**64 - 1)),
        (pd.Series(["x"], dtype=pd.CategoricalDtype(["z", "x"])), [1], ("z", "x")),
        (pd.Series([1, "a"], dtype=object), [0, 1], (1, "a")),
        (pd.Series(["ü", "日本"], dtype="string"), [0, 1], ("ü", "日本")),
    ],
)
def test_encode_any_type(values: pd.Series, codes: list[int], levels: tuple[object, ...]) -> None:
    found, names = encode(values)
    assert found.tolist() == codes
    assert names == levels


def test_recode_to_known_levels_tells_unknown_values() -> None:
    codes, unknown = recode_to(pd.Series(["a", "c", None]), ("a", "b"))
    assert codes.tolist() == [0, -1, -1]
    assert unknown.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("n", "dtype"), [(2, "int8"), (127, "int8"), (128, "int16"), (40_000, "int32")]
)
def test_codes_take_the_smallest_type(n: int, dtype: str) -> None:
    assert smallest_int(n) == dtype


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-1, 3), st.integers(-1, 1), st.integers(-1, 4)),
        min_size=1,
        max_size=30,
    )
)
def test_cell_ids_number_distinct_rows_in_order(rows: list[tuple[int, int, int]]) -> None:
    codes = np.array(rows)
    ids, n_cells = cell_ids(codes, [4, 2, 5])
    distinct = sorted(set(rows))
    assert n_cells == len(distinct)
    assert [distinct[i] for i in ids] == rows


def test_cell_ids_with_more_cells_than_numbers() -> None:
    codes = np.array([[0, 99_999, 5, 0], [1, 0, 7, 2], [0, 99_999, 5, 0]])
    ids, n_cells = cell_ids(codes, [100_000, 100_000, 100_000, 100_000])
    assert n_cells == 2
    assert ids[0] == ids[2] != ids[1]


def test_encode_keys_side_by_side() -> None:
    keys = encode_keys(pd.DataFrame({"a": ["x", None], "b": [2, 1]}), ["b", "a"])
    assert keys.names == ("b", "a")
    assert keys.codes.tolist() == [[1, 0], [0, -1]]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 5, -3], name="x"),
        pd.Series([0.5, np.nan, 2.0], name="x"),
        pd.Series(["a", None, "b"], dtype="category", name="x"),
        pd.Series([True, False, True], name="x"),
        pd.Series([2, pd.NA, 4], dtype="Int32", name="x"),
        pd.Series(["l", "h", "l"], dtype=pd.CategoricalDtype(["l", "h"], ordered=True), name="x"),
    ],
)
def test_a_column_comes_back_with_its_values(column: pd.Series) -> None:
    field, values = encode_column(column)
    back = pd.Series(restore_column(field, values))
    assert back.isna().tolist() == column.isna().tolist()
    assert back.dropna().tolist() == column.dropna().tolist()
    if isinstance(column.dtype, pd.CategoricalDtype):
        assert back.dtype == column.dtype


def test_streams_depend_on_every_name_and_on_the_seed() -> None:
    draws = {
        names: Streams(seed).at(*names[1:]).random()
        for seed in (1, 2)
        for names in [
            (seed, "a", "b"),
            (seed, "ab"),
            (seed, "b", "a"),
            (seed, "a", 1),
            (seed, "a", "1"),
        ]
    }
    assert len(set(draws.values())) == len(draws)
    assert Streams(1).at("a", np.int64(1)).random() == Streams(1).at("a", 1).random()


def test_a_seed_is_resolved_and_checked() -> None:
    assert resolve_seed(5) == 5
    assert resolve_seed(None) != resolve_seed(None)
    with pytest.raises(ValueError, match="negative"):
        resolve_seed(-1)
    for wrong in ("1", True, 1.5):
        with pytest.raises(InputError, match="whole number"):
            resolve_seed(wrong)  # type: ignore[arg-type]


def test_as_frame_takes_arrow_and_refuses_other_things() -> None:
    import pyarrow as pa

    assert as_frame(pa.table({"a": [1, 2]})).a.tolist() == [1, 2]
    with pytest.raises(InputError, match="is a list"):
        as_frame([1, 2])


def test_checks_name_absent_and_repeated_columns() -> None:
    faults = Faults("x")
    frame = pd.DataFrame([[1, 2, 3]], columns=["age", "sex", "sex"])
    assert not check_columns(faults, frame, ["agee", "sex"], "key")
    assert "Did you mean 'age'?" in str(faults.found[0])
    assert "2 columns" in str(faults.found[1])


def test_weights_of_a_wrong_type() -> None:
    faults = Faults("x")
    assert check_weights(faults, pd.Series(["a"]), "w") is None
    assert "not numbers" in str(faults.found[0])


def test_values_that_cannot_be_levels_are_found_among_others() -> None:
    mixed = pd.Series([1, "a", [2], None, {"b": 1}, (1, 2)], dtype=object)
    assert unhashable(mixed).tolist() == [2, 4]
    assert unhashable(pd.Series(["a", None])).tolist() == []
    with pytest.raises(InputError, match=r"x: holds values of the kind list \(2 rows: 2, 4\)"):
        encode(mixed.rename("x"))
