"""The promise: same recipe and seed, same bytes, for any workers, order, sink, resumed or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synthpop.storage as storage
from synthpop import Categorical, Pipeline, Structure, open_population
from synthpop.generate import simulate_block
from synthpop.microdata.errors import InputError
from tests.small import small_pipeline, small_stages, small_survey

ROWS = 300


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(), seed=7)


@pytest.fixture(scope="module")
def reference(fitted):
    return fitted.simulate(rows_per_block=ROWS)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def same(a, b) -> bool:
    return all(
        np.array_equal(a._columns[n], b._columns[n], equal_nan=a._columns[n].dtype.kind == "f")
        for n in a.columns
    )


def test_there_are_several_blocks_in_a_stratum(reference) -> None:
    assert len(reference.manifest["blocks"]) > 3 * 3


@pytest.mark.parametrize("workers", [2, 5, "processes:2"])
def test_any_number_of_workers_in_memory(fitted, reference, workers) -> None:
    again = fitted.simulate(rows_per_block=ROWS, workers=workers)
    assert same(reference, again)
    assert reference.manifest == again.manifest


@pytest.mark.parametrize("workers", [1, 3, "processes:2"])
def test_any_number_of_workers_on_disk(fitted, tmp_path, workers) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    fitted.simulate(rows_per_block=ROWS, out=one)
    fitted.simulate(rows_per_block=ROWS, out=other, workers=workers)
    assert contents(one) == contents(other)


def test_memory_and_disk_hold_the_same(fitted, reference, tmp_path) -> None:
    on_disk = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")
    pd.testing.assert_frame_equal(reference.frame(), on_disk.frame())
    pd.testing.assert_frame_equal(reference.frame(["age", "hid"]), on_disk.frame(["age", "hid"]))
    pd.testing.assert_frame_equal(reference.households(), on_disk.households())
    assert reference.fallbacks == on_disk.fallbacks
    for a, b in zip(reference.iter_blocks(), on_disk.iter_blocks(), strict=True):
        pd.testing.assert_frame_equal(a, b)


def test_blocks_in_any_order(fitted, monkeypatch, reference) -> None:
    import synthpop.pipeline as pipeline

    def backwards(function, plans, workers):
        yield from map(function, reversed(plans))

    monkeypatch.setattr(pipeline, "map_blocks", backwards)
    assert same(reference, fitted.simulate(rows_per_block=ROWS))


def test_fitting_again_gives_the_same(reference) -> None:
    again = small_pipeline().fit(small_survey(), seed=7).simulate(rows_per_block=ROWS)
    assert same(reference, again)


def test_seeds_scale_and_rows_per_block_matter(fitted, reference) -> None:
    other = fitted.simulate(seed=8, rows_per_block=ROWS)
    assert not same(reference, other)
    assert other.manifest["identity"]["seed"] == 8
    assert fitted.simulate(scale=2.0).n_persons > 1.9 * reference.n_persons
    assert len(fitted.simulate(rows_per_block=10**6).manifest["blocks"]) == 3


def test_a_run_without_a_seed_resolves_and_records_one() -> None:
    fitted = small_pipeline().fit(small_survey())
    one, two = fitted.simulate(), fitted.simulate()
    assert same(one, two)
    assert one.manifest["identity"]["seed"] == fitted.seed
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

    monkeypatch.setattr(storage, "simulate_block", dying)
    with pytest.raises(KeyboardInterrupt):
        fitted.simulate(rows_per_block=ROWS, out=stopped)
    with pytest.raises(storage.OutputError, match="unfinished run"):
        open_population(stopped)
    assert len(list(stopped.rglob("*.parquet"))) == 3
    monkeypatch.setattr(storage, "simulate_block", simulate_block)
    fitted.simulate(rows_per_block=ROWS, out=stopped)
    assert contents(whole) == contents(stopped)


def test_finished_blocks_are_not_simulated_again(fitted, tmp_path, monkeypatch) -> None:
    fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")

    def never(recipe, plan):
        raise AssertionError("simulated again")

    monkeypatch.setattr(storage, "simulate_block", never)
    again = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")
    assert again.n_persons > 0


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 400), st.integers(1, 3))
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
        _FITTED.append(Pipeline([Structure(["age"])]).fit(small_survey(60), seed=3))
    return _FITTED[0]


def test_inputs_of_stages_are_read_only(fitted) -> None:
    population = fitted.simulate()
    with pytest.raises(ValueError, match="read-only"):
        population._columns["age"][0] = 1


@pytest.mark.parametrize("workers", [0, -1, "two", "processes:", "processes:0", "dask:x"])
def test_workers_that_make_no_sense(fitted, workers) -> None:
    with pytest.raises(InputError, match="is not understood"):
        fitted.simulate(workers=workers)


@pytest.mark.parametrize("options", [{"scale": 0}, {"scale": float("nan")}, {"rows_per_block": 0}])
def test_arguments_that_make_no_sense(fitted, options) -> None:
    with pytest.raises(InputError, match="simulate"):
        fitted.simulate(**options)
