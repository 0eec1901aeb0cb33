"""What counts as a number, and names given as arguments, are decided once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synthpop
from riskeval.protect import group_categories, merge_household_file, release_file
from synthpop import check_rules
from synthpop.microdata.frame.checks import as_frame, as_unique_frame, check_numeric, check_weights
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import (
    as_names,
    as_numbers,
    check_finite,
    check_size,
    is_number,
    listed_names,
    n_columns,
    numbers,
    usual_types,
)
from synthpop.microdata.messages.errors import Faults, InputError


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (pd.Series([1, 2], dtype="int8"), True),
        (pd.Series([1, None], dtype="Int64"), True),
        (pd.Series([0.5, np.nan]), True),
        (pd.Series([True, False]), False),
        (pd.Series([True, None], dtype="boolean"), False),
        (pd.Series(["1", "2"]), False),
        (pd.Series([1, 2], dtype="category"), False),
        (pd.Series(pd.to_datetime(["2024-01-01"])), False),
    ],
)
def test_what_is_a_number(values: pd.Series, number: bool) -> None:
    assert is_number(values) is number


def test_names_are_told_when_absent_or_double() -> None:
    faults = Faults("call")
    assert as_names(faults, ["a", "b", "a"], "variables") == ("a", "b", "a")
    assert as_names(faults, [], "keys") == ()
    assert [str(fault) for fault in faults.found] == [
        "variables: 'a' is given 2 times", "keys: no column is named",
    ]  # fmt: skip


def test_infinite_values_are_named_with_their_rows() -> None:
    faults = Faults("call")
    values = numbers(pd.DataFrame({"a": [1.0, np.inf, None]}), ["a"])
    check_finite(faults, values, ["a"], "release")
    assert faults.found[0].rows == (1,)
    assert np.isnan(values[2, 0])


def test_immense_values_are_named_apart_from_infinite_ones() -> None:
    faults = Faults("call")
    assert check_size(faults, np.array([1e100, -np.inf, np.nan]), "b", first_row=10) is False
    assert check_size(faults, np.array([-1e101, 1.0]), "c") is False
    assert check_size(faults, np.array([1e100, np.nan]), "d") is True
    assert [(fault.where, fault.what, fault.rows) for fault in faults.found] == [
        ("b", "value is infinite", (11,)),
        ("c", "value is beyond 1e+100, too large to be squared", (0,)),
    ]


def test_complex_numbers_are_no_numbers() -> None:
    assert not is_number(pd.Series([1 + 2j]))
    faults = Faults("call")
    assert not check_numeric(faults, pd.DataFrame({"z": [1 + 2j]}), ["z"], "variable")
    assert check_weights(faults, pd.Series([1 + 2j]), "w") is None
    assert check_weights(faults, pd.Series([1e300]), "v") is not None
    assert [fault.where for fault in faults.found] == ["z", "w", "v"]


def test_names_of_columns_are_compared_whatever_they_are() -> None:
    columns = pd.DataFrame({"a": [1], "b": [2]}).columns
    assert [n_columns(columns, name) for name in ("a", ("a", "b"), 3, None)] == [1, 0, 0, 0]
    assert n_columns(["a", 3, "a"], 3) == 1


def test_columns_of_rare_types_become_usual_ones() -> None:
    words = pa.array(["a", None, "b"]).dictionary_encode()
    frame = pd.DataFrame(
        {
            "dense": pd.arrays.SparseArray([0.0, 1.0, 0.0]),
            "level": pd.array(words, dtype=pd.ArrowDtype(words.type)),
            "half": np.array([1, 2, 3], dtype=np.float16),
            "long": np.array([1, 2, 3], dtype=np.longdouble),
            "text": ["x", "y", "z"],
        }
    )
    frame.attrs["note"] = 1
    usual = as_frame(frame)
    assert usual.dtypes.astype(str).tolist() == [
        "float64",
        "category",
        "float32",
        "float64",
        str(frame["text"].dtype),
    ]
    assert usual["dense"].tolist() == [0.0, 1.0, 0.0]
    assert usual["level"].tolist()[::2] == ["a", "b"]
    assert usual["level"].isna().tolist() == [False, True, False]
    assert usual.attrs == {"note": 1}
    groups = group_categories(frame, "level", groups={"c": ["a", "b"]}).data["level"]
    assert groups.tolist()[::2] == ["c", "c"]
    codes, levels = encode(frame["level"])
    assert (codes.tolist(), levels) == ([0, -1, 1], ("a", "b"))


def test_a_table_all_of_whose_columns_are_used_holds_no_lists_and_no_name_twice() -> None:
    with pytest.raises(InputError, match="kind dict"):
        as_unique_frame(pd.DataFrame({"a": [{"b": 1}]}))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match="several columns have this name"):
        as_unique_frame(twice)
    with pytest.raises(InputError, match="several columns have this name"):
        release_file(twice)
    with pytest.raises(InputError, match="several columns have this name"):
        check_rules(twice, ["a > 0"])
    with pytest.raises(InputError, match="several columns have this name"):
        merge_household_file(twice.assign(h=1), pd.DataFrame({"h": [1], "a": [3]}), "h")


def test_no_module_has_its_own() -> None:
    root = Path(synthpop.__file__).parents[1]
    definition = re.compile(r"^def (as_names|numbers|is_number)\b", re.MULTILINE)
    second = [
        f"{path.relative_to(root)}: {definition.findall(path.read_text(encoding='utf-8'))}"
        for path in sorted((root / "riskeval").rglob("*.py"))
        if definition.search(path.read_text(encoding="utf-8"))
    ]
    assert second == []


def test_example_of_is_number() -> None:
    assert [is_number(pd.Series(x)) for x in ([1, 2], [0.5, None], [True], ["1"])] == [
        True,
        True,
        False,
        False,
    ]


def test_example_of_as_numbers() -> None:
    assert repr(as_numbers(pd.Series([1, None], dtype="Int64")).tolist()) == "[1.0, nan]"


def test_example_of_numbers() -> None:
    assert (
        repr(numbers(pd.DataFrame({"a": [1, 2], "b": [0.5, None]}), ["b", "a"]).tolist())
        == "[[0.5, 1.0], [nan, 2.0]]"
    )


def test_example_of_usual_types() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1]), "b": [0.5, 1.0]})
    assert usual_types(frame).dtypes.astype(str).tolist() == ["int64", "float64"]


def test_example_of_listed_names() -> None:
    assert (listed_names("income"), listed_names(["income", "age"]), listed_names(3)) == (
        ("income",),
        ("income", "age"),
        (3,),
    )
    assert listed_names([["age"]]) == ("['age']",)


def test_example_of_as_names() -> None:
    assert as_names(Faults("example"), "income", "variables") == ("income",)


def test_example_of_n_columns() -> None:
    assert (
        n_columns(pd.Index(["age", "sex", "age"]), "age"),
        n_columns(["age"], ("age", "sex")),
    ) == (2, 0)


def test_example_of_check_size() -> None:
    faults = Faults("example")
    assert not (check_size(faults, np.array([1.0, np.nan, 1e300]), "income"))
    assert str(faults.found[0]) == (
        "income: value is beyond 1e+100, too large to be squared (1 row: 2). Repair it, make it "
        "missing or give another unit."
    )
