"""Risky cells against the reference package and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.measures.risky_cells import risky_cells
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

NAN = float("nan")


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_tables_of_the_reference(number):
    info = golden("sdc", "j2_riskycells.json")["tables"][number]
    reference = golden("sdc", info["file"])
    data = survey_data(info["data"].removesuffix(".parquet"))
    keys = info["keyVars"]
    if isinstance(keys, str):
        keys = list(data.columns[: int(keys.rsplit(".", 1)[1])])
    dimensions = [c for c in reference if c.startswith("dim")]
    cells = risky_cells(
        data, keys, threshold=info["threshold"], max_dimension=info.get("maxDim", len(dimensions))
    )
    names = reference[dimensions].apply(lambda row: " x ".join(row.dropna()), axis=1)
    expected = dict(zip(names, reference["unsafe_cells"], strict=True))
    assert len(cells.table) == len(expected)
    assert dict(zip(cells.table["keys"], cells.table["unsafe_cells"], strict=True)) == expected


DATA = pd.DataFrame({"a": [1, 1, 2, 2, NAN], "b": [1, 1, 1, 2, 2], "c": [1, 1, 1, 1, 2]})


def test_by_hand():
    cells = risky_cells(DATA, ["a", "b", "c"], threshold=1)
    counts = dict(zip(cells.combinations, cells.table["unsafe_cells"], strict=True))
    assert counts == {
        ("a",): 1,
        ("b",): 0,
        ("c",): 1,
        ("a", "b"): 3,
        ("a", "c"): 1,
        ("b", "c"): 3 - 1,
        ("a", "b", "c"): 3,
    }
    assert cells.per_record.tolist() == [0, 0, 2, 3, 6]
    assert cells.table.loc[3, "unsafe_records"] == 3
    assert cells.table.loc[3, "share"] == 0.6
    assert "3 of 5 records" in cells.summary()


def test_thresholds_and_dimensions():
    table = risky_cells(DATA, ["a", "b", "c"], threshold=(3, 0), max_dimension=2).table
    assert table["dimension"].tolist() == [1, 1, 1, 2, 2, 2]
    assert table["unsafe_cells"].tolist() == [3, 2, 1, 0, 0, 0]
    assert table["threshold"].tolist() == [3, 3, 3, 0, 0, 0]
    assert len(risky_cells(DATA, ["a"], max_dimension=5).table) == 1


def test_missing_keys_as_asked():
    own = risky_cells(DATA, ["a"], threshold=2).per_record
    wild = risky_cells(DATA, ["a"], threshold=2, missing="wildcard").per_record
    half = risky_cells(DATA, ["a"], threshold=2, missing="wildcard", alpha=0).per_record
    assert own.tolist() == [1] * 5
    assert wild.tolist() == [0] * 5
    assert half.tolist() == [1, 1, 1, 1, 0]


def test_empty_file():
    cells = risky_cells(DATA.iloc[:0], ["a", "b"])
    assert cells.table["unsafe_cells"].tolist() == [0, 0, 0]
    assert "0 of 0 records" in cells.summary()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_dimension": 0}, "max_dimension"),
        ({"threshold": (1, 2)}, "2 values for 3 dimensions"),
        ({"threshold": -1}, "threshold: is -1"),
        ({"missing": "no"}, "no"),
    ],
)
def test_faults(arguments, message):
    with pytest.raises(InputError, match=message):
        risky_cells(DATA, ["a", "b", "c"], **arguments)


def test_order_of_records_does_not_matter():
    order = np.array([3, 1, 4, 0, 2])
    whole = risky_cells(DATA, ["a", "b"], threshold=1).per_record
    assert risky_cells(DATA.iloc[order], ["a", "b"], threshold=1).per_record.tolist() == (
        whole[order].tolist()
    )


def test_identification_levels_choose_the_tables() -> None:
    """Extremely identifying x very identifying x identifying, by hand."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 4, 60) for name in "abcd"})
    result = risky_cells(frame, list("abcd"), levels={"a": 1, "b": 2, "c": 3, "d": 0})
    assert result.table["keys"].tolist() == ["a", "a x b", "a x b x c"]
    every = risky_cells(frame, list("abcd")).table.set_index("keys")
    pd.testing.assert_frame_equal(every.loc[result.table["keys"]].reset_index(), result.table)
    two = risky_cells(frame, list("abcd"), levels=[1, 1, 3, 2], max_dimension=2)
    assert two.table["keys"].tolist() == ["a", "b", "a x b", "a x d", "b x d"]
    for levels, text in (
        ([1, 2], "has 2 values for 4 keys"), ([2, 2, 3, 3], "no key of level 1"),
        ({"a": 1, "z": 1}, "'z' is not a key"), ([1, -1, 1, 1], "whole numbers from 0"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=text):
            risky_cells(frame, list("abcd"), levels=levels)
