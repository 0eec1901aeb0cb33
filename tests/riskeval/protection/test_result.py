"""The result record: counts of changes, types, and the caller's data left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.protection.group_categories import group_categories
from riskeval.protection.result import changed_cells, own_frame, protected, suppress_cells
from riskeval.protection.suppression.suppress import local_suppression


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (pd.Series([1, 2, 3]), pd.Series([1, None, 4], dtype="Int64"), [0, 1, 1]),
        (pd.Series([1.5, None, None]), pd.Series([1.5, None, 2.0]), [0, 0, 1]),
        (pd.Series([1, 2]), pd.Series([1.0, 2.5]), [0, 1]),
        (pd.Series(["a", None]), pd.Series(["b", None]), [1, 0]),
        (pd.Series([True, False]), pd.Series([True, None], dtype="boolean"), [0, 1]),
        (pd.Categorical(["x", "y"]), pd.Categorical(["x", None], ["x", "y"]), [0, 1]),
        (pd.Categorical(["x", "y"]), pd.Categorical(["x", "z"]), [0, 1]),
        (pd.Series([3, 4]), pd.Categorical(["3-4", "3-4"]), [1, 1]),
        (pd.to_datetime(pd.Series(["2020-01-01"])), pd.Series([pd.NaT]), [1]),
    ],
)
def test_changed_cells_compares_values_of_any_types(before, after, expected):
    assert changed_cells(pd.Series(before), pd.Series(after)).tolist() == [
        bool(x) for x in expected
    ]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pd.Series([1, 2, 3]), "Int64"),
        (pd.Series([1, 2, 3], dtype="uint8"), "UInt8"),
        (pd.Series([True, False, True]), "boolean"),
        (pd.Series([1.0, 2.0, 3.0]), "float64"),
        (pd.Series(["a", "b", "c"], dtype="category"), "category"),
        (pd.Series(["a", "b", "c"], dtype="str"), "str"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)), None),
    ],
)
def test_suppress_cells_keeps_the_type_where_it_can(values, dtype):
    rows = np.array([False, True, False])
    result = suppress_cells(values, rows)
    assert result.isna().tolist() == [False, True, False]
    assert str(result.dtype) == (dtype or str(values.dtype))
    assert result[~rows].tolist() == values[~rows].tolist()
    assert suppress_cells(values, np.zeros(3, dtype=bool)).dtype == values.dtype


def test_protected_counts_cells_records_and_suppressions():
    before = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}, index=[7, 8, 9])
    after = own_frame(before)
    after["a"] = suppress_cells(after["a"], np.array([True, False, False]))
    after["b"] = ["q", "y", "q"]
    result = protected(
        before, after, ["a", "b"], method="verb", parameters={"p": 1}, seed=5, notes=["Checked."]
    )
    assert before["a"].tolist() == [1, 2, 3]
    assert result.cells_changed == 3
    assert result.cells_suppressed == 1
    assert result.records_changed == 2
    assert result.share_of_records == pytest.approx(2 / 3)
    assert result.to_frame()["cells"].tolist() == [1, 2]
    assert "a 1, b 2" in result.summary()
    assert "Seed 5" in result.summary()
    assert result.summary().endswith("Checked.")
    assert "<table" in result._repr_html_()
    with pytest.raises(TypeError):
        result.parameters["p"] = 2


def test_a_category_without_records_is_not_in_the_file():
    jobs = pd.DataFrame({"job": pd.Categorical([*["x"] * 5, "minister of finance"])})
    assert local_suppression(jobs, ["job"], k=2).data["job"].cat.categories.tolist() == ["x"]
    spare = jobs["job"].cat.add_categories(["unused"]).to_frame()
    kept = local_suppression(spare, ["job"], k=2).data["job"]
    assert kept.cat.categories.tolist() == ["x", "unused"]


def test_a_number_that_became_the_same_text_did_not_change():
    people = pd.DataFrame({"relat": [1, 1, 2, 5, 6, 9]})
    result = group_categories(people, "relat", groups={"other": [5, 6, 9]})
    assert result.cells_changed == 3
    assert result.data["relat"].tolist() == ["1", "1", "2", "other", "other", "other"]
