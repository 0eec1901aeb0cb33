"""The promise: same recipe and seed, same bytes, for any workers, order, sink, resumed or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synthpop.population.storage as storage
from synthpop import Anneal, Categorical, Margin, Pipeline, Structure, Survey, open_population
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.streams import Streams
from synthpop.pipeline import write_blocks
from synthpop.pipeline.fingerprint import replicate_seed
from synthpop.pipeline.simulate import Recipe, simulate_block
from synthpop.stages.blocks import make_plan
from synthpop.stages.id_columns import sized
from tests.failing import contents
from tests.same import assert_same_frame
from tests.small import small_pipeline, small_stages, small_survey

pytestmark = pytest.mark.usefixtures("one_key")

ROWS = 300


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(), seed=7)


@pytest.fixture(scope="module")
def reference(fitted):
    return fitted.simulate(rows_per_block=ROWS)


def same(a, b) -> bool:
    return all(
        np.array_equal(a._columns[n], b._columns[n], equal_nan=a._columns[n].dtype.kind == "f")
        for n in a.columns
    )


def test_there_are_several_blocks_in_a_stratum(reference) -> None:
    assert len(reference.manifest.blocks) > 3 * 3


@pytest.mark.parametrize("workers", [2, 5])
def test_any_number_of_workers_in_memory(fitted, reference, workers) -> None:
    again = fitted.simulate(rows_per_block=ROWS, workers=workers)
    assert same(reference, again)
    assert reference.manifest == again.manifest


@pytest.mark.parametrize(
    "workers",
    [3, pytest.param("processes:2", marks=pytest.mark.slow)],  # slow to start
)
def test_any_number_of_workers_on_disk(fitted, tmp_path, workers) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    fitted.simulate(rows_per_block=ROWS, out=one)
    fitted.simulate(rows_per_block=ROWS, out=other, workers=workers)
    assert contents(one) == contents(other)


def test_memory_and_disk_hold_the_same(fitted, reference, tmp_path) -> None:
    on_disk = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")
    assert_same_frame(reference.frame(), on_disk.frame())
    assert_same_frame(reference.frame(["age", "hid"]), on_disk.frame(["age", "hid"]))
    assert_same_frame(reference.households(), on_disk.households())
    assert reference.fallbacks == on_disk.fallbacks
    for a, b in zip(reference.iter_blocks(), on_disk.iter_blocks(), strict=True):
        assert_same_frame(a, b)


def test_blocks_in_any_order(fitted, monkeypatch, reference) -> None:
    import synthpop.pipeline.run as run_module

    def backwards(function, plans, workers):
        yield from map(function, reversed(plans))

    monkeypatch.setattr(run_module, "map_blocks", backwards)
    assert same(reference, fitted.simulate(rows_per_block=ROWS))


def test_fitting_again_gives_the_same(reference) -> None:
    again = small_pipeline().fit(small_survey(), seed=7).simulate(rows_per_block=ROWS)
    assert same(reference, again)


def test_seeds_scale_and_rows_per_block_matter(fitted, reference) -> None:
    other = fitted.simulate(seed=8, rows_per_block=ROWS)
    assert not same(reference, other)
    assert other.manifest.identity.seed != reference.manifest.identity.seed
    assert fitted.simulate(scale=2.0).n_persons > 1.9 * reference.n_persons
    assert len(fitted.simulate(rows_per_block=10**6).manifest.blocks) == 3


def test_a_run_without_a_seed_resolves_and_records_one() -> None:
    fitted = small_pipeline().fit(small_survey())
    one, two = fitted.simulate(), fitted.simulate()
    assert same(one, two)
    assert same(one, fitted.simulate(seed=fitted.seed))
    assert small_pipeline().fit(small_survey()).seed != fitted.seed


def test_a_step_keeps_its_draws_whatever_is_added_before_it() -> None:
    stages = small_stages()
    extra = Categorical("other_status", predictors=["sex"])
    survey = small_survey()
    survey = survey.with_column("other_status", survey.frame["status"])
    short = Pipeline(stages).fit(survey, seed=7).simulate(rows_per_block=ROWS)
    longer = (
        Pipeline([*stages[:2], extra, *stages[2:]])
        .fit(survey, seed=7)
        .simulate(rows_per_block=ROWS)
    )
    for name in short.columns:
        pd.testing.assert_series_equal(short.frame()[name], longer.frame()[name])


def test_a_killed_run_resumes_to_the_same_bytes(fitted, tmp_path, monkeypatch) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    fitted.simulate(rows_per_block=ROWS, out=whole)
    calls = {"n": 0}

    def dying(recipe, plan):
        calls["n"] += 1
        if calls["n"] == 4:
            raise KeyboardInterrupt
        return simulate_block(recipe, plan)

    monkeypatch.setattr(write_blocks, "simulate_block", dying)
    with pytest.raises(KeyboardInterrupt):
        fitted.simulate(rows_per_block=ROWS, out=stopped)
    with pytest.raises(storage.OutputError, match="unfinished run"):
        open_population(stopped)
    assert len(list(stopped.rglob("*.parquet"))) == 3
    monkeypatch.setattr(write_blocks, "simulate_block", simulate_block)
    fitted.simulate(rows_per_block=ROWS, out=stopped)
    assert contents(whole) == contents(stopped)


def test_finished_blocks_are_not_simulated_again(fitted, tmp_path, monkeypatch) -> None:
    fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")

    def never(recipe, plan):
        raise AssertionError("simulated again")

    monkeypatch.setattr(write_blocks, "simulate_block", never)
    again = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")
    assert again.n_persons > 0


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 150), st.integers(1, 3))
def test_blocks_hold_whole_households_of_one_stratum(rows: int, workers: int) -> None:
    fitted = small_pipeline_once()
    population = fitted.simulate(rows_per_block=rows, workers=workers)
    seen: set[int] = set()
    for part in population.iter_blocks():
        assert part["region"].nunique() == 1
        assert len(part) <= max(rows, 4)
        assert (part.groupby("hid").size() == part.groupby("hid")["size"].first()).all()
        ids = set(part["hid"])
        assert not ids & seen
        seen |= ids
    assert len(seen) == population.n_households


_FITTED: list = []


def small_pipeline_once():
    if not _FITTED:
        _FITTED.append(Pipeline([Structure(["age"])]).fit(small_survey(20), seed=3))
    return _FITTED[0]


def unchanged(values: np.ndarray) -> np.ndarray:
    return values


@dataclass(frozen=True)
class Meddling:
    """A stage in the place of another, which does something to its block first."""

    inner: Any
    meddle: Callable[[Any], Any]
    alter: Callable[[np.ndarray], np.ndarray] = unchanged

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def simulate(self, model, block, rng):
        self.meddle(block)
        return {k: self.alter(v) for k, v in self.inner.simulate(model, block, rng).items()}


def with_last(fitted, meddle=lambda block: None, **options):
    """The fitted recipe whose third stage meddles with its inputs or outputs."""
    stages = list(fitted.stages)
    stages[2] = Meddling(stages[2], meddle, **options)
    layout = sized(fitted.layout, ())
    model = fitted.models[0]
    plans = make_plan(model, fitted.stages[0].method, 1.0, Streams(7), ROWS)
    levels = fitted.sample.strata_levels
    return Recipe(tuple(stages), fitted.models, layout, levels, Streams(7)), plans[0]


@pytest.mark.parametrize("name", ["hid", "region", "size", "pid", "age", "sex", "age_class"])
def test_inputs_of_stages_are_read_only(fitted, name: str) -> None:
    def meddle(block):
        block.columns[name][0] = 1

    with pytest.raises(ValueError, match="read-only"):
        simulate_block(*with_last(fitted, meddle))


def test_stages_cannot_replace_columns_or_move_households(fitted) -> None:
    def replace_column(block):
        block.columns["age"] = np.zeros(block.n_persons)

    with pytest.raises(TypeError, match="does not support item assignment"):
        simulate_block(*with_last(fitted, replace_column))

    def move(block):
        block.offsets[1] = 0

    with pytest.raises(ValueError, match="read-only"):
        simulate_block(*with_last(fitted, move))


def test_columns_of_another_type_than_declared_are_refused(fitted) -> None:
    simulate_block(*with_last(fitted))
    with pytest.raises(InputError, match="has type int64, declared int8"):
        simulate_block(*with_last(fitted, alter=lambda values: values.astype(np.int64)))


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_frame_is_the_users_own(fitted, reference, tmp_path, where: str) -> None:
    out = tmp_path / "p" if where == "disk" else None
    population = fitted.simulate(rows_per_block=ROWS, out=out)
    for frame in (population.frame(), next(population.iter_blocks())):
        for name in frame.columns:
            frame.loc[0, name] = frame[name].dropna().iloc[-1]
            column = frame[name].array
            column[1] = column[-1]  # past pandas, into the memory of the column
    assert_same_frame(population.frame(), reference.frame())
    for part, other in zip(population.iter_blocks(), reference.iter_blocks(), strict=True):
        assert_same_frame(part, other)


def test_the_arrays_of_a_population_are_read_only(fitted) -> None:
    for values in fitted.simulate().arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


@pytest.mark.parametrize("workers", [0, -1, "two", "processes:", "processes:0", "dask:x"])
def test_workers_that_make_no_sense(fitted, workers) -> None:
    with pytest.raises(InputError, match="is not understood"):
        fitted.simulate(workers=workers)


@pytest.mark.parametrize("options", [{"scale": 0}, {"scale": float("nan")}, {"rows_per_block": 0}])
def test_arguments_that_make_no_sense(fitted, options) -> None:
    with pytest.raises(InputError, match="simulate"):
        fitted.simulate(**options)


# some strata only, and replicates


@pytest.mark.parametrize("wanted", ["south", ["west", "south"]])
def test_some_strata_are_the_same_bytes_as_in_the_whole(
    fitted, reference, tmp_path, wanted
) -> None:
    names = [wanted] if isinstance(wanted, str) else wanted
    part = fitted.simulate(rows_per_block=ROWS, strata=wanted)
    whole = reference.frame()
    expected = whole[whole["region"].isin(names)].reset_index(drop=True)
    assert_same_frame(part.frame(), expected)
    assert part.manifest.identity.strata == tuple(sorted(names))  # in the order of the survey
    assert reference.manifest.identity.strata is None
    fitted.simulate(rows_per_block=ROWS, out=tmp_path / "whole")
    fitted.simulate(rows_per_block=ROWS, strata=wanted, out=tmp_path / "part", workers=2)
    whole_files, part_files = contents(tmp_path / "whole"), contents(tmp_path / "part")
    data = {name for name in part_files if name.endswith(".parquet")}
    assert {name for name in whole_files if any(f"/{n}/" in name for n in names)} >= data
    assert all(part_files[name] == whole_files[name] for name in data)
    assert len(data) == len(part.manifest.blocks) > 1
    assert {item.stratum for item in part.fallbacks} <= {*names, "all"}


def test_some_strata_of_a_file_without_households() -> None:
    frame = small_survey().frame.drop(columns=["hid", "pid", "size"])
    survey = Survey(frame, weight="w", strata="region")
    fitted = Pipeline([Structure(["age", "sex"])]).fit(survey, seed=1)
    whole = fitted.simulate(rows_per_block=ROWS).frame()
    part = fitted.simulate(rows_per_block=ROWS, strata=["west"]).frame()
    expected = whole[whole["region"] == "west"].reset_index(drop=True)
    assert_same_frame(part, expected)
    assert part["pid"].min() > 1


def test_a_run_of_some_strata_is_another_run(fitted, tmp_path) -> None:
    fitted.simulate(rows_per_block=ROWS, strata=["west"], out=tmp_path / "p")
    with pytest.raises(storage.OutputError, match="differs in strata"):
        fitted.simulate(rows_per_block=ROWS, strata=["south"], out=tmp_path / "p")


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        (["nort"], "Did you mean 'north'"),
        ([], "empty list"),
        ("east", "is not a level of 'region'"),
    ],
)
def test_strata_that_are_not_there(fitted, strata, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted.simulate(strata=strata)


def test_strata_need_strata_and_no_population_stages(fitted) -> None:
    survey = Survey(small_survey().frame.drop(columns="region"), weight="w", household="hid")
    with pytest.raises(InputError, match="has no strata"):
        Pipeline([Structure(["age"])]).fit(survey, seed=1).simulate(strata=["west"])
    totals = pd.DataFrame({"sex": ["f", "m"], "total": [3900, 3900]})
    steps = [Structure(["sex"]), Anneal(Margin(totals))]
    with pytest.raises(InputError, match="anneal needs the whole population"):
        Pipeline(steps).fit(small_survey(), seed=1).simulate(strata=["west"])


def test_the_survey_of_some_strata_goes_with_their_population(fitted) -> None:
    whole, part = fitted.derived_survey(), fitted.derived_survey(["west"])
    west = whole.frame[whole.frame["region"] == "west"].reset_index(drop=True)
    assert_same_frame(part.frame, west)


def test_replicates_differ_and_are_repeatable(fitted, tmp_path) -> None:
    options = {"scale": 0.5, "strata": ["west"], "rows_per_block": ROWS}
    one, two = fitted.replicates(2, seed=3, **options)
    assert not same(one, two)
    longer = list(fitted.replicates(3, seed=3, workers=2, **options))
    assert same(one, longer[0])
    assert same(two, longer[1])
    seed = replicate_seed(3, 1)
    assert same(one, fitted.simulate(seed=seed, **options))
    assert not same(one, next(fitted.replicates(1, seed=4, **options)))
    default = next(fitted.replicates(1))
    assert same(default, next(fitted.replicates(1, seed=fitted.seed)))
    events: list = []
    written = list(
        fitted.replicates(2, seed=3, out=tmp_path / "r", on_event=events.append, **options)
    )
    assert [p.path.name for p in written] == ["replicate-0001", "replicate-0002"]
    assert_same_frame(written[1].frame(), two.frame())
    assert len(events) == 2 * len(one.manifest.blocks)
    for n in (0, 1.5, True, "two"):
        with pytest.raises(InputError, match="whole number, 1 or more"):
            next(fitted.replicates(n))
