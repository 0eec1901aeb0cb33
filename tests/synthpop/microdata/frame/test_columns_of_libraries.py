"""Columns of polars and Arrow give the numbers that those of pandas give."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synthpop import dictionary_of, heaping, indicators, read_table, weighted, with_dictionary
from synthpop.microdata.formats.files import write_table
from synthpop.microdata.frame.dictionary import Dictionary, Variable
from synthpop.microdata.messages.errors import InputError

pl = pytest.importorskip("polars")

FRAME = pd.DataFrame(
    {
        "income": [900.0, np.nan, 1500.0, 4000.0, 800.0, 2500.0],
        "w": [1.0, 2.0, 1.5, 1.0, 3.0, 1.0],
        "age": pd.array([21, 40, None, 67, 35, 50], dtype="Int64"),
    }
)
COLUMNS = {
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
    "arrow array": pa.Table.from_pandas(FRAME).combine_chunks().to_batches()[0],
}
MEASURES: dict[str, Any] = {
    **{f"weighted.{name}": getattr(weighted, name) for name in ("mean", "quantile", "variance")},
    **{
        f"indicators.{name}": getattr(indicators, name)
        for name in indicators.__all__
        if inspect.isfunction(getattr(indicators, name))
        and list(inspect.signature(getattr(indicators, name)).parameters)[:2]
        == ["values", "weights"]
        and name not in ("gender_pay_gap", "pareto_tail")
        and not name.endswith("figure")
    },
}


@pytest.mark.parametrize("library", COLUMNS)
@pytest.mark.parametrize("name", MEASURES)
def test_a_column_of_another_library_gives_the_same_number(name: str, library: str) -> None:
    measure, data = MEASURES[name], COLUMNS[library]
    options = {"p": 0.3} if "p" in inspect.signature(measure).parameters else {}
    for column in ("income", "age"):
        expected = measure(FRAME[column], FRAME["w"], **options)
        result = measure(data[column], data["w"], **options)
        if isinstance(expected, pd.DataFrame):
            pd.testing.assert_frame_equal(result, expected)
        else:
            np.testing.assert_array_equal(
                getattr(result, "values", result), getattr(expected, "values", expected)
            )


def test_tables_and_heaping_take_them() -> None:
    for data in (COLUMNS["polars"], COLUMNS["arrow"]):
        assert heaping.whipple_index(data["age"]) == heaping.whipple_index(FRAME["age"])
    two = pd.DataFrame({"sex": ["m", "f", "f"], "region": ["A", "A", "B"]})
    expected = weighted.table(two, [1.0, 2.0, 3.0])
    pd.testing.assert_series_equal(weighted.table(pl.from_pandas(two), [1.0, 2.0, 3.0]), expected)


def test_files_and_dictionaries_take_them(tmp_path) -> None:
    words = Dictionary([Variable("age", "Age in years")])
    table = with_dictionary(COLUMNS["arrow"], words)
    assert dictionary_of(table)["age"].label == "Age in years"
    write_table(table, tmp_path / "a.parquet")
    assert dictionary_of(read_table(tmp_path / "a.parquet"))["age"].label == "Age in years"
    write_table(COLUMNS["polars"], tmp_path / "a.csv")
    assert read_table(tmp_path / "a.csv")["w"].tolist() == FRAME["w"].tolist()
    assert len(dictionary_of(COLUMNS["polars"])) == 0
    with pytest.raises(InputError, match="has no room for it"):
        with_dictionary(COLUMNS["polars"], words)
