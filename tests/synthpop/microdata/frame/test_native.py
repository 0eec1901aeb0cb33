"""Frames of other libraries in, the same kind out; nullable and Arrow-backed types are kept."""

from __future__ import annotations

import importlib
import inspect
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from riskeval import (
    ProtectionSession,
    assess,
    compare,
    k_anonymity,
    recover,
    suggest_roles,
    write_assessment,
)
from riskeval.protect import release_file
from synthpop import (
    Categorical,
    Pipeline,
    SimpleRandom,
    Structure,
    Survey,
    draw_sample,
    like,
    write_profile,
)
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.frame.native import Library, from_arrow, library_of, same_library, to_pandas
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.lazy import FACADES
from tests.test_public_types import PACKAGES

pytestmark = pytest.mark.usefixtures("few_trees")

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
    table = assess(data, keys=["sex"], measures=["k_anonymity"]).to_frame()
    assert as_frame(table)["value"].tolist() == plain.tolist()
    assert type(table) is (pa.Table if kind in ("arrow", "duckdb") else type(data))


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_a_frame_of_the_same_library(kind: str) -> None:
    data = KINDS[kind](people())
    file = release_file(data, household="hid", order="keep")
    expected = pa.Table if kind in ("arrow", "duckdb") else type(data)
    assert type(file) is expected
    assert as_frame(file)["age"].tolist() == [40, 9, 71, 33]
    session = ProtectionSession(data, keys=["age", "sex"])
    session.global_recode("age", breaks=[0, 15, 120])
    assert isinstance(session.data, expected)  # that of pandas refuses to be written into
    assert type(session.original) is expected
    assert type(session.risk().to_frame()) is expected
    table = like(data, session.history())
    assert as_frame(table)["verb"].tolist() == ["global_recode"]


@pytest.mark.parametrize("kind", KINDS)
def test_samples_come_in_the_library_of_the_population(kind: str) -> None:
    data = KINDS[kind](people())
    survey = draw_sample(data, SimpleRandom(2), seed=1)
    expected = pa.Table if kind in ("arrow", "duckdb") else type(data)
    assert type(survey.data) is expected
    assert type(survey.with_column("one", [1, 1]).data) is expected
    assert len(as_frame(survey.data)) == 2
    holes = as_frame(data).assign(sex=["m", None, "f", None])
    filled = recover(like(data, holes), household="hid", household_variables=["sex"])
    assert type(filled.data) is type(filled.to_frame()) is expected


def public_functions() -> dict[str, Any]:
    """Return the public functions whose first argument is a table and that return tables."""
    firsts = {"data", "original", "release", "sample", "population", "survey", "released"}
    chosen = {}
    for package in PACKAGES:
        importlib.import_module(package)
    for package, names in FACADES.items():
        for name, module in names.items():
            function = getattr(importlib.import_module(package), name)
            if not inspect.isfunction(function):
                continue
            returned = inspect.signature(function).return_annotation
            home = vars(importlib.import_module(function.__module__))
            kind = home.get(returned)
            tables = hasattr(kind, "to_frame") or returned == "pd.DataFrame"
            if next(iter(inspect.signature(function).parameters), "") in firsts and tables:
                chosen[f"{module}.{name}"] = function
    return chosen


def test_every_public_function_returns_frames_of_the_library_that_came_in() -> None:
    functions = public_functions()
    assert len(functions) > 70
    own = {
        "synthpop.sampling.draw.draw_sample",  # a Survey, whose data are tested above
        "riskeval.protection.pram_matrix.estimate_counts",  # of a column
        "synthpop.evaluation.guessed_draws.guessed_draws",  # of a population
        "synthpop.pipeline.zone_population.zone_controls",  # of a population on disk
        "synthpop.pipeline.zone_population.zone_copies",
    }
    without = {name for name, one in functions.items() if not hasattr(one, "__wrapped__")}
    assert {name.rsplit(".", 1)[-1] for name in without} <= {n.rsplit(".", 1)[-1] for n in own}


@pytest.mark.parametrize("kind", ["lazy polars"])
def test_comparisons_sessions_and_pages_take_and_give_them(kind: str, tmp_path: Path) -> None:
    frame = pd.concat([people().drop(columns="born")] * 20, ignore_index=True)
    frame["age"] += frame.index.to_numpy() % 7
    data = KINDS[kind](frame)
    session = ProtectionSession(data, keys=["age", "sex"])
    top = session.top_bottom_code("age", upper=60)
    comparison = compare(
        data, {"top": top, "as it is": data}, keys=["age", "sex"], numeric=["w"], seed=1
    )
    comparison.report(tmp_path / "c.html")
    assert as_frame(comparison.to_frame())["release"].tolist() == ["original", "top", "as it is"]
    assert type(comparison.to_frame()) is type(session.data) is type(top.data) is type(data)
    write_assessment(tmp_path / "a.html", assess(data, keys=["sex"], measures=["k_anonymity"]))
    session.report(tmp_path / "s.html")
    write_profile(tmp_path / "p.html", data)
    for result in (comparison, session, top):
        assert "<table" in result._repr_html_()


def test_columns_of_several_types_and_row_names_go_out() -> None:
    table = pd.DataFrame({"value": [1, "a", None]}, index=["x", "y", "z"])
    assert like(pa.table({}), table).to_pydict() == {
        "index": ["x", "y", "z"], "value": ["1", "a", None],
    }  # fmt: skip
    flat = pd.DataFrame({("a", "mean"): [1.5]}, index=pd.Index([3], name="group"))
    assert like(pa.table({}), flat).to_pydict() == {"group": [3], "a mean": [1.5]}


def test_whole_numbers_with_missing_ones_stay_whole() -> None:
    data = pl.DataFrame({"n": [1, None, 3], "day": [date(2020, 1, 2)] * 3, "f": [1.5, 2.0, 3.5]})
    assert str(as_frame(data)["n"].dtype) == "Int64"
    file = release_file(data.with_columns(pl.col("n").cast(pl.Int8)), order="keep")
    assert file.schema == {"n": pl.Int8, "day": pl.Date, "f": pl.Float64}
    assert file["n"].to_list() == [1, None, 3]


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


def test_example_of_to_pandas() -> None:
    assert repr(to_pandas(pa.table({"age": [40, None]}))["age"].tolist()) == "[40, <NA>]"


def test_example_of_from_arrow() -> None:
    assert from_arrow(pa.table({"age": pa.array([40, None], pa.int8())})).dtypes.astype(
        str
    ).tolist() == ["Int8"]


def test_example_of_library_from_dict() -> None:
    assert Library.from_dict({"name": "PYARROW", "lazy": False}).implementation.is_pyarrow()


def test_example_of_library_of() -> None:
    assert (library_of(pd.DataFrame()) is None, library_of(5) is None) == (True, True)


def test_example_of_same_library() -> None:
    @same_library
    def twice(data):
        return 2 * to_pandas(data)

    assert twice(pa.table({"x": [1]}))["x"].to_pylist() == [2]
