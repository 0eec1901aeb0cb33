"""Odd input of every categorical verb: empty files, nothing but missing values, wrong types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from riskeval import protect
from synthpop.microdata.messages.errors import InputError

EMPTY = pd.DataFrame({"a": pd.Series([], dtype="int64"), "b": pd.Series([], dtype="str")})
HOLES = pd.DataFrame({"a": [np.nan] * 4, "b": pd.Series([None] * 4, dtype="str")})
TWICE = pd.DataFrame({"a": [1, 1, 2, 3], "b": [*"xyxy"]}, index=[0, 0, 1, 1])
CALLS = {
    "global_recode": lambda d: protect.global_recode(d, "a", breaks=[0, 2, 5]),
    "top_bottom_code": lambda d: protect.top_bottom_code(d, "a", upper=2, replacement=2),
    "local_suppression": lambda d: protect.local_suppression(d, ["a", "b"], k=2),
    "own_category": lambda d: protect.local_suppression(d, ["a", "b"], k=2, missing="own-category"),
    "minimal_generalization": lambda d: protect.minimal_generalization(d, {"b": ["*"]}, k=2),
    "pram": lambda d: protect.pram(d, ["a", "b"], seed=1),
    "pram in strata": lambda d: protect.pram(d, ["a"], strata="b", seed=1),
    "create_new_id": lambda d: protect.create_new_id(d, "a", within="b", seed=1),
    "suppress_risky": lambda d: protect.suppress_risky(d, "b", risk=np.ones(len(d)), threshold=0),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("data", [EMPTY, HOLES, TWICE], ids=["empty", "missing", "index twice"])
def test_odd_files_come_through(call, data):
    result = CALLS[call](data)
    assert result.data.index.equals(data.index)
    assert list(result.data) == list(data)
    assert result.summary().startswith(result.method)


@pytest.mark.parametrize("call", CALLS)
def test_arrow_tables_are_accepted(call):
    table = pa.Table.from_pandas(TWICE, preserve_index=False)
    expected = pa.Table.from_pandas(CALLS[call](TWICE.reset_index(drop=True)).data)
    released = CALLS[call](table).data
    assert isinstance(released, pa.Table)
    assert released.to_pydict() == expected.to_pydict()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda d: protect.record_swap(EMPTY, household="a", hierarchy=["b"], similar=["a"]),
            "no rec",
        ),
        (lambda d: protect.mondrian(EMPTY, ["a"], k=1), "has 0 records"),
        (lambda d: protect.pram(d, "b", seed="x"), "whole number of at least 0"),
        (lambda d: protect.create_new_id(d, "b", seed=-1), "whole number of at least 0"),
        (
            lambda d: protect.record_swap(
                d, household="a", hierarchy=["b"], similar=["a"], seed=1.5
            ),
            "whole number of at least 0",
        ),
        (lambda d: protect.global_recode(d, "a", breaks="abc"), "number of classes"),
        (lambda d: protect.global_recode(d, "a", breaks=["u", 2]), "ascending numbers"),
        (lambda d: protect.global_recode(d, "a", breaks=True), "number of classes"),
        (lambda d: protect.group_categories(d, "b", groups=["x"]), "not a mapping"),
        (lambda d: protect.group_categories(d, "b", groups={"z": [["x"]]}), "lists within"),
        (lambda d: protect.top_bottom_code(d, "a", upper=np.nan), "needs numbers"),
        (lambda d: protect.top_bottom_code(d, "a", upper=1, replacement={}), "Give a number"),
        (
            lambda d: protect.top_bottom_code(d, "a", upper=1, replacement=(1, "b")),
            "pair of numbers",
        ),
        (lambda d: protect.local_suppression(d, ["a"], subsets={}), "are empty"),
        (lambda d: protect.minimal_generalization(d, {"b": ["*"]}, k=2, node={"q": 1}), "no level"),
        (lambda d: protect.minimal_generalization(d, {"b": ["*"]}, k=2, node={"b": 7}), "0 to 1"),
        (lambda d: protect.local_suppression([1, 2], ["a"], k=2), "Give a table"),
    ],
)
def test_wrong_arguments_are_faults(call, text):
    with pytest.raises(InputError, match=text):
        call(TWICE)
