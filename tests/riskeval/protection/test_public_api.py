"""What every verb of ``riskeval.protect`` promises: one check for all of them."""

from __future__ import annotations

import inspect

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskeval import protect
from riskeval.protection.result import changed_cells
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.messages.errors import InputError
from tests.same import assert_same_frame

EMPTY = inspect.Parameter.empty

# Arguments of API.md, with their defaults; those before the bar may be given without a name.
SIGNATURES = {
    "global_recode": (["column"], {"breaks": EMPTY, "labels": None}),
    "group_categories": (["column"], {"groups": EMPTY}),
    "top_bottom_code": (["column"], {"upper": None, "lower": None, "replacement": None}),
    "local_suppression": (
        ["keys"],
        {"k": 3, "importance": None, "subsets": None, "strata": None, "linked": None},
    ),
    "suppress_risky": (["column"], {"risk": None, "threshold": EMPTY}),
    "minimal_generalization": (["hierarchies"], {"k": EMPTY, "suppression_limit": 0}),
    "mondrian": (["keys"], {"k": EMPTY}),
    "local_recoding": (["keys"], {"k": 2, "hierarchies": None, "importance": None}),
    "pram": (
        ["columns"],
        {"matrix": "invariant", "strata": None, "seed": None},
    ),
    "record_swap": (
        [],
        {
            "household": None,
            "hierarchy": EMPTY,
            "similar": EMPTY,
            "risk_keys": ...,
            "k": ...,
            "rate": ...,
            "seed": None,
        },
    ),
    "create_new_id": (["column"], {"seed": None}),
    "microaggregate": (["variables"], {"k": 3, "method": "mdav", "strata": None}),
    "add_noise": (["variables"], {"method": "additive", "level": ..., "seed": None}),
    "rank_swap": (["variables"], {"p": ..., "seed": None}),
    "shuffle": ([], {"formula": EMPTY, "seed": None}),
    "mv_top_code": (["variables"], {}),
    "merge_household_file": (["households", "household"], {}),
    "weights": (["column"], {"strata": EMPTY, "method": "smooth", "seed": None}),
}

CALLS = {
    "global_recode": {"column": "age", "breaks": [0, 30, 60, 90]},
    "group_categories": {"column": "region", "groups": {"AB": ["A", "B"]}},
    "top_bottom_code": {"column": "income", "upper": 40000.0},
    "local_suppression": {"keys": ["region", "sex", "band"], "k": 4},
    "suppress_risky": {"column": "sex", "risk": np.linspace(0, 1, 300), "threshold": 0.9},
    "minimal_generalization": {"hierarchies": {"region": ["*"], "sex": ["*"]}, "k": 60},
    "mondrian": {"keys": ["age", "sex"], "k": 5},
    "local_recoding": {"keys": ["region", "sex", "band"], "k": 4},
    "pram": {"columns": ["status"]},
    "record_swap": {
        "household": "hid",
        "hierarchy": ["region"],
        "similar": ["size"],
        "risk_keys": ["band"],
        "rate": 0.3,
    },
    "create_new_id": {"column": "hid"},
    "microaggregate": {"variables": ["income", "tax"], "k": 4},
    "add_noise": {"variables": ["income", "tax"]},
    "rank_swap": {"variables": ["income"]},
    "shuffle": {"formula": "income ~ tax + sex"},
    "mv_top_code": {"variables": ["income", "tax"], "alpha": 0.05},
    "merge_household_file": {
        "households": pd.DataFrame({"hid": np.arange(150), "size": np.arange(150) % 3 + 1}),
        "household": "hid",
    },
    "weights": {"column": "income", "strata": ["region"], "method": "noise"},
}
DRAWS = ["pram", "record_swap", "create_new_id", "add_noise", "rank_swap", "shuffle", "weights"]
NEW_TYPES = {"global_recode", "minimal_generalization", "mondrian", "group_categories"}


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(12)
    household = np.repeat(np.arange(n // 2), 2)
    income = rng.lognormal(10, 0.6, n).round(2)
    return pd.DataFrame(
        {
            "hid": household,
            "region": pd.Categorical(np.array([*"CAB"])[household % 3], categories=[*"CAB"]),
            "size": np.full(n, 2),
            "age": pd.array(rng.integers(0, 90, n), dtype="Int64"),
            "band": rng.integers(0, 8, n),
            "sex": rng.choice(["male", "female"], n),
            "status": pd.Categorical(rng.choice([*"uvw"], n), categories=[*"wvu"], ordered=True),
            "income": income,
            "tax": (income * 0.2 + rng.normal(0, 500, n)).round(2),
            "untouched": rng.normal(size=n),
        },
        index=pd.Index(np.arange(n) * 3 + 5, name="row"),
    )


def run(verb: str, seed: int | None = None) -> tuple[pd.DataFrame, protect.Protected]:
    data = people()
    given = dict(CALLS[verb])
    if seed is not None and "seed" in inspect.signature(getattr(protect, verb)).parameters:
        given["seed"] = seed
    return data, getattr(protect, verb)(data, **given)


def test_the_lists_of_this_file_are_complete() -> None:
    assert set(SIGNATURES) == set(CALLS) == set(protect.VERBS)
    for name in protect.__all__:
        assert getattr(protect, name) is not None
    assert "local_suppression" in dir(protect)
    with pytest.raises(AttributeError, match="no attribute 'recode_all'"):
        _ = protect.recode_all


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_arguments_have_their_public_names(verb: str) -> None:
    parameters = inspect.signature(getattr(protect, verb)).parameters
    names = list(parameters)
    positional, named = SIGNATURES[verb]
    assert names[: 1 + len(positional)] == ["data", *positional]
    for name, default in named.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        if default is not ...:
            assert parameters[name].default == default or (parameters[name].default is default), (
                name
            )
    for name in names[1 + len(positional) :]:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, name


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_a_verb_keeps_the_file_it_was_given_and_what_it_does_not_work_on(verb: str) -> None:
    data, result = run(verb, seed=1)
    assert_same_frame(data, people())
    assert isinstance(result, protect.Protected)
    pd.testing.assert_index_equal(result.data.index, data.index)
    assert list(result.data.columns) == list(data.columns)
    worked_on = set(result.changes["column"])
    for name in data.columns:
        if name not in worked_on:
            pd.testing.assert_series_equal(result.data[name], data[name])
        elif verb not in NEW_TYPES and data[name].dtype.kind == "f":
            assert result.data[name].dtype == data[name].dtype
        elif verb not in NEW_TYPES and isinstance(data[name].dtype, pd.CategoricalDtype):
            pd.testing.assert_index_equal(
                result.data[name].cat.categories, data[name].cat.categories
            )
            assert result.data[name].cat.ordered == data[name].cat.ordered


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_a_verb_counts_what_it_changed(verb: str) -> None:
    data, result = run(verb, seed=1)
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
    assert set(CALLS[verb]) <= set(result.parameters)


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_a_seed_repeats_the_draws_and_another_gives_others(verb: str) -> None:
    first, again, other = (run(verb, seed)[1] for seed in (1, 1, 2))
    assert_same_frame(first.data, again.data)
    assert first.data.equals(other.data) == (verb not in DRAWS)
    if verb in DRAWS:
        assert first.seed == 1
        unseeded = run(verb)[1]
        assert isinstance(unseeded.seed, int)
        pd.testing.assert_frame_equal(run(verb, unseeded.seed)[1].data, unseeded.data)


@pytest.mark.parametrize("library", ["polars", "lazy polars", "arrow", "duckdb"])
@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_a_verb_returns_a_frame_of_the_library_that_came_in(verb: str, library: str) -> None:
    source = people().reset_index(drop=True).assign(children=pd.array([1, None, 3] * 100, "Int8"))
    table = pa.Table.from_pandas(source, preserve_index=False)
    frame = pl.from_arrow(table)
    data = {
        "arrow": table,
        "polars": frame,
        "lazy polars": frame.lazy(),
        "duckdb": duckdb.connect().from_arrow(table),
    }[library]
    options = {**CALLS[verb]}
    if "seed" in inspect.signature(getattr(protect, verb)).parameters:
        options["seed"] = 1
    files = (data, as_frame(data))
    result, expected = (getattr(protect, verb)(file, **options) for file in files)
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
    types = {"hid": "Int32", "band": "Int64", "size": "int16[pyarrow]", "income": "Float64"}
    source = people().astype({**types, "sex": "string", "tax": "double[pyarrow]"})
    result = getattr(protect, verb)(source, **CALLS[verb])
    worked_on = set(result.changes["column"])
    for name, dtype in source.dtypes.items():
        if name not in worked_on:
            assert result.data[name].dtype == dtype, name
        elif verb not in {*NEW_TYPES, "create_new_id", "merge_household_file"}:
            nullable = not isinstance(dtype, np.dtype)
            assert not nullable or not isinstance(result.data[name].dtype, np.dtype), name


@pytest.mark.parametrize("verb", list(protect.VERBS))
def test_unknown_columns_are_named(verb: str) -> None:
    name = {"minimal_generalization": "hierarchies", "shuffle": "formula"}.get(verb)
    name = name or next(
        n for n in ("column", "columns", "keys", "variables", "household") if n in CALLS[verb]
    )
    wrong = {"hierarchies": {"regoin": ["*"]}, "formula": "income ~ regoin"}
    plural = name in ("columns", "keys", "variables")
    value = wrong.get(name, ["regoin"] if plural else "regoin")
    with pytest.raises(InputError, match="regoin"):
        getattr(protect, verb)(people(), **{**CALLS[verb], name: value})
