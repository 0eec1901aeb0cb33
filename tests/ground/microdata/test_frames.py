"""What counts as a number, and names given as arguments, are decided once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synthpop
from synthpop.microdata.errors import Faults
from synthpop.microdata.frames import as_names, check_finite, is_number, numbers


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


def test_no_module_has_its_own() -> None:
    root = Path(synthpop.__file__).parents[1]
    definition = re.compile(r"^def (as_names|numbers|is_number)\b", re.MULTILINE)
    second = [
        f"{path.relative_to(root)}: {definition.findall(path.read_text(encoding='utf-8'))}"
        for path in sorted((root / "riskeval").rglob("*.py"))
        if definition.search(path.read_text(encoding="utf-8"))
    ]
    assert second == []
