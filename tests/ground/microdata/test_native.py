"""Frames of other libraries in, the same kind out; nullable and Arrow-backed types are kept."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from riskeval import ProtectionSession, assess, k_anonymity, suggest_roles
from riskeval.protect import release_file
from synthpop import Categorical, Pipeline, Structure, Survey, like
from synthpop.microdata.checks import as_frame
from synthpop.microdata.dictionary import Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.errors import InputError

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "hid": [1, 1, 2, 3],
            "w": [2.0, 2.0, 3.0, 2.5],
            "age": [40, 9, 71, 33],
            "sex": ["m", "f", "f", None],
            "born": pd.to_datetime(["1980-01-02", "2011-05-06", "1949-07-08", "1987-09-10"]),
        }
    )


def relation(frame: pd.DataFrame) -> Any:
    return duckdb.connect().from_df(frame)


KINDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame),
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda frame: pa.Table.from_pandas(frame),
    "duckdb": relation,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_frame_is_read(kind: str) -> None:
    data = KINDS[kind](people())
    frame = as_frame(data)
    assert frame["age"].tolist() == [40, 9, 71, 33]
    assert frame["sex"].isna().tolist() == [False, False, False, True]
    assert frame["born"].dt.year.tolist() == [1980, 2011, 1949, 1987]
    assert Survey(data, weight="w", household="hid").n_households == 3
    assert k_anonymity(data, ["age"]).violations == k_anonymity(people(), ["age"]).violations
    assert suggest_roles(data).keys == suggest_roles(people()).keys
    plain = assess(people(), keys=["sex"], measures=["k_anonymity"]).to_frame()["value"]
    values = assess(data, keys=["sex"], measures=["k_anonymity"]).to_frame()["value"]
    pd.testing.assert_series_equal(values, plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_a_frame_of_the_same_library(kind: str) -> None:
    data = KINDS[kind](people())
    file = release_file(data, household="hid", order="keep")
    expected = pa.Table if kind in ("arrow", "duckdb") else type(data)
    assert type(file) is expected
    assert as_frame(file)["age"].tolist() == [40, 9, 71, 33]
    session = ProtectionSession(data, keys=["age", "sex"])
    session.global_recode("age", breaks=[0, 15, 120])
    assert type(like(data, session.data)) is expected
    table = like(data, session.history())
    assert as_frame(table)["verb"].tolist() == ["global_recode"]


def test_a_dictionary_survives_arrow() -> None:
    labels = Dictionary([Variable("age", "Age in years")])
    table = like(pa.table({"x": [1]}), with_dictionary(people(), labels))
    assert dictionary_of(as_frame(table))["age"].label == "Age in years"


def test_what_is_no_frame_is_a_fault() -> None:
    with pytest.raises(InputError, match="is a int"):
        as_frame(5)
    assert like("text", people()).equals(people())


TYPES = {
    "hid": "Int64",
    "w": "Float64",
    "age": "int32[pyarrow]",
    "sex": "string",
    "rich": "boolean",
}


def typed() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "hid": [1, 1, 2, 3] * 5,
            "w": [2.0, 2.0, 3.0, 2.5] * 5,
            "age": [40, 9, 71, 33] * 5,
            "sex": ["m", "f", "f", None] * 5,
            "rich": [True, False, None, True] * 5,
        }
    )
    frame["hid"] += [k // 4 * 10 for k in range(20)]
    return frame.astype(TYPES)


def test_nullable_and_arrow_types_are_kept() -> None:
    survey = Survey(typed(), weight="w", household="hid")
    assert survey.frame.dtypes.astype(str).to_dict() == typed().dtypes.astype(str).to_dict()
    recipe = Pipeline([Structure(["age"]), Categorical("rich", predictors=["age"])])
    population = recipe.fit(survey, seed=1).simulate().frame()
    assert str(population["age"].dtype) == "int32[pyarrow]"
    assert str(population["rich"].dtype) == "boolean"
    file = release_file(typed(), order="keep")
    kept = {name: str(file[name].dtype) for name in TYPES}
    assert kept == typed().dtypes.astype(str).to_dict()
    session = ProtectionSession(typed(), keys=["age", "sex"])
    session.local_suppression(k=2)
    assert str(session.data["hid"].dtype) == "Int64"
    assert str(session.data["age"].dtype) == "int32[pyarrow]"
