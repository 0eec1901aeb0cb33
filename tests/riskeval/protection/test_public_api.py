"""What every verb of ``riskeval.protect`` promises: one check for all of them."""

from __future__ import annotations

import inspect
from dataclasses import fields
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskeval import protect
from riskeval.protection.result import changed_cells
from riskeval.session.roles import SessionRoles
from synthpop import load_demo_survey
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.messages.errors import InputError
from tests.same import assert_same_frame

KEEPING = [verb for verb, method in protect.VERBS.items() if not method.fewer_records]


def people(n_households: int = 130) -> pd.DataFrame:
    """Whole households of the demo survey, with types and an index that are easily lost."""
    survey = load_demo_survey().frame
    homes = survey["db030"].drop_duplicates().sample(n_households, random_state=12)
    frame = survey[survey["db030"].isin(homes)]
    return frame.assign(
        age=frame["age"].astype("Int64"),
        rb090=frame["rb090"].astype(str),
        pl030=frame["pl030"].cat.as_ordered(),
        untouched=np.random.default_rng(12).normal(size=len(frame)),
    ).set_index(pd.Index(np.arange(len(frame)) * 3 + 5, name="row"))


@cache
def outcome(verb: str) -> tuple[pd.DataFrame, protect.Protected]:
    """One run for all tests that look at what came of it."""
    return run(verb, seed=1)


def run(verb: str, seed: int | None = None) -> tuple[pd.DataFrame, protect.Protected]:
    data, method = people(), protect.VERBS[verb]
    seeded = {"seed": seed} if seed is not None and method.draws else {}
    return data, method.run(data, **method.arguments(data), **seeded)


def test_every_name_is_there() -> None:
    for name in protect.__all__:
        assert getattr(protect, name) is not None
    assert "local_suppression" in dir(protect)
    with pytest.raises(AttributeError, match="no attribute 'recode_all'"):
        _ = protect.recode_all


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_the_data_come_first_then_what_to_do_then_options_by_name(verb: str) -> None:
    """Their names and defaults stand in the reference of the run files."""
    method = protect.VERBS[verb]
    assert getattr(protect, verb) is method.run
    assert next(iter(inspect.signature(method.run).parameters)) == "data"
    kinds = [one.kind for one in method.parameters.values()]
    assert kinds == sorted(kinds)
    assert kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) <= 2
    assert set(kinds) <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    if method.draws:
        assert list(method.parameters)[-1] == "seed"
        assert method.parameters["seed"].default is None
    assert set(method.roles) <= set(method.parameters)
    assert set(method.roles.values()) <= {field.name for field in fields(SessionRoles)}


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_an_entry_says_what_a_method_does_and_what_it_does_not(verb: str) -> None:
    method = protect.VERBS[verb]
    assert method.question.endswith("?")
    assert len(method.blind_spots) > 20
    assert not method.blind_spots.endswith(".")
    assert [other.title for other in protect.VERBS.values()].count(method.title) == 1


@pytest.mark.parametrize("verb", KEEPING)
def test_a_verb_keeps_the_file_it_was_given_and_what_it_does_not_work_on(verb: str) -> None:
    data, result = outcome(verb)
    assert_same_frame(data, people())
    assert isinstance(result, protect.Protected)
    pd.testing.assert_index_equal(result.data.index, data.index)
    assert list(result.data.columns) == list(data.columns)
    worked_on, new_types = set(result.changes["column"]), protect.VERBS[verb].new_types
    for name in data.columns:
        if name not in worked_on:
            pd.testing.assert_series_equal(result.data[name], data[name])
        elif not new_types and data[name].dtype.kind == "f":
            assert result.data[name].dtype == data[name].dtype
        elif not new_types and isinstance(data[name].dtype, pd.CategoricalDtype):
            before, after = data[name].cat.categories, result.data[name].cat.categories
            if not result.data[name].isna().gt(data[name].isna()).any():
                pd.testing.assert_index_equal(after, before)
            assert list(after) == [level for level in before if level in after]  # what is left
            assert result.data[name].cat.ordered == data[name].cat.ordered


@pytest.mark.parametrize("verb", KEEPING)
def test_a_verb_counts_what_it_changed(verb: str) -> None:
    data, result = outcome(verb)
    assert result.method == verb
    assert result.n_records == len(data)
    anywhere = np.zeros(len(data), dtype=bool)
    for row in result.changes.to_dict("records"):
        differs = changed_cells(data[row["column"]], result.data[row["column"]])
        gone = result.data[row["column"]].isna() & data[row["column"]].notna()
        assert row["cells"] == differs.sum()
        assert row["suppressed"] == gone.sum()
        assert row["share"] == pytest.approx(differs.mean())
        assert row["type_after"] == str(result.data[row["column"]].dtype)
        anywhere |= differs
    assert result.records_changed == anywhere.sum() > 0
    assert result.summary().startswith(f"{verb}: {result.cells_changed:,} cells")
    assert set(protect.VERBS[verb].example) <= set(result.parameters)


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_a_seed_repeats_the_draws_and_another_gives_others(verb: str) -> None:
    first, again, other = outcome(verb)[1], run(verb, 1)[1], run(verb, 2)[1]
    assert_same_frame(first.data, again.data)
    if not protect.VERBS[verb].draws or verb == "microaggregate":  # MDAV draws nothing
        assert_same_frame(first.data, other.data)
    else:
        assert not first.data.equals(other.data)
        assert first.seed == 1
        unseeded = run(verb)[1]
        assert isinstance(unseeded.seed, int)
        pd.testing.assert_frame_equal(run(verb, unseeded.seed)[1].data, unseeded.data)


@pytest.mark.parametrize(
    ("verb", "library"),
    [(verb, "polars") for verb in protect.VERBS]
    + [("add_noise", library) for library in ("lazy polars", "arrow", "duckdb")],
)
def test_a_verb_returns_a_frame_of_the_library_that_came_in(verb: str, library: str) -> None:
    source, method = people().reset_index(drop=True), protect.VERBS[verb]
    source["children"] = pd.array(np.arange(len(source)) % 3, "Int8")
    source.loc[::3, "children"] = pd.NA
    table = pa.Table.from_pandas(source, preserve_index=False)
    frame = pl.from_arrow(table)
    data = {
        "arrow": table,
        "polars": frame,
        "lazy polars": frame.lazy(),
        "duckdb": duckdb.connect().from_arrow(table),
    }[library]
    options = method.arguments(source) | ({"seed": 1} if method.draws else {})
    result, expected = (method.run(file, **options) for file in (data, as_frame(data)))
    kind = pa.Table if library == "duckdb" else type(data)
    assert type(result.data) is kind
    assert type(result.to_frame()) is kind
    file = result.data.collect() if library == "lazy polars" else result.data
    worked_on = set(expected.changes["column"])
    if library != "duckdb":  # its own types are others
        came, went = (one.schema if library == "arrow" else one.to_arrow().schema
                      for one in (table if library == "arrow" else frame, file))  # fmt: skip
        assert came.names == went.names
        for name in set(came.names) - worked_on:
            assert came.field(name).type == went.field(name).type, name
    for name in source.columns:
        values = as_frame(file)[name].astype(str).replace("<NA>", "nan").tolist()
        assert values == expected.data[name].astype(str).replace("<NA>", "nan").tolist(), name


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_a_verb_keeps_nullable_and_arrow_types(verb: str) -> None:
    types = {"db030": "Int32", "age": "Int64", "hsize": "int16[pyarrow]", "hincome": "Float64"}
    source = people().astype({**types, "rb090": "string", "eqIncome": "double[pyarrow]"})
    method = protect.VERBS[verb]
    result = method.run(source, **method.arguments(source))
    worked_on = set(result.changes["column"])
    for name, dtype in source.dtypes.items():
        if name not in worked_on:
            assert result.data[name].dtype == dtype, name
        elif not method.new_types and verb not in ("create_new_id", "merge_household_file"):
            nullable = not isinstance(dtype, np.dtype)
            assert not nullable or not isinstance(result.data[name].dtype, np.dtype), name


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_unknown_columns_are_named(verb: str) -> None:
    method = protect.VERBS[verb]
    subjects = ("hierarchies", "formula", "column", "columns", "keys", "variables", "household",
                "where")  # fmt: skip
    name = next(subject for subject in subjects if subject in method.example)
    wrong = {"hierarchies": {"regoin": ["*"]}, "formula": "hincome ~ regoin", "column": "regoin",
             "household": "regoin", "where": {"regoin": 1}}  # fmt: skip
    arguments = {**method.arguments(people()), name: wrong.get(name, ["regoin"])}
    with pytest.raises(InputError, match="regoin"):
        method.run(people(), **arguments)
