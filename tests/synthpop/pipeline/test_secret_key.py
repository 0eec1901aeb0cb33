"""Draws come from a secret key: with it and the seed the same bytes, with the seed nothing."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Anneal,
    Categorical,
    Components,
    Continuous,
    Distribute,
    FittedPipeline,
    Margin,
    Pipeline,
    Structure,
    open_population,
)
from synthpop.microdata.messages.errors import Faults, InputError, MicrodataWarning, OutputError
from synthpop.microdata.statistics.secret_key import SecretKey
from synthpop.microdata.statistics.streams import Streams, fresh_secret
from synthpop.pipeline.export_file import export_population
from synthpop.pipeline.replicates import BootstrapReplicates
from synthpop.pipeline.run import Run
from synthpop.pipeline.simulate import Recipe, simulate_block
from synthpop.population.run_key import KEY_FILE, read_key
from synthpop.population.storage import add_file, run_seed
from synthpop.population.verify import verify
from tests.same import assert_same_frame
from tests.small import small_pipeline, small_survey

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
ROWS = 300
PARTS = ["work", "other"]


@pytest.fixture(scope="module")
def fitted() -> FittedPipeline:
    return small_pipeline().fit(small_survey(), seed=7)


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_seed_and_key_give_the_same_bytes_wherever_they_are_made(fitted, tmp_path: Path) -> None:
    options = {"key": KEY, "rows_per_block": ROWS}
    memory = fitted.simulate(**options)
    folders = {1: "one", 3: "threads"}
    for workers, name in folders.items():
        on_disk = fitted.simulate(out=tmp_path / name, workers=workers, **options)
        assert_same_frame(memory.frame(), on_disk.frame())
        assert everything(tmp_path / name) == everything(tmp_path / "one")
    assert memory.manifest.identity == on_disk.manifest.identity


def test_another_key_gives_other_persons_and_the_same_sizes(fitted) -> None:
    one, two = (fitted.simulate(key=key).frame() for key in (KEY, OTHER))
    assert one["hid"].tolist() == two["hid"].tolist()  # how many there are is not secret
    differing = [name for name in one if not one[name].equals(two[name])]
    assert set(differing) >= {"age", "sex", "status", "income"}


@pytest.mark.parametrize("name", ["Structure", "jitter", "Categorical", "Continuous", "Components"])
def test_no_stage_draws_from_the_seed_alone(name: str, fitted, monkeypatch) -> None:
    """Streams that are made without the key during a keyed simulation are a fault."""
    asked: list[bool] = []
    at = Streams.at

    def watched(self: Streams, *names: object) -> np.random.Generator:
        asked.append(self.key is not None or names[:2] == ("structure", "sizes"))
        return at(self, *names)

    stages = {
        "Structure": [],
        "jitter": [],
        "Categorical": [Categorical("status")],
        "Continuous": [Continuous("income")],
        "Components": [Continuous("income"), Components("income", parts=PARTS, by=["sex"])],
    }  # fmt: skip
    structure = Structure(["age", "sex"], jitter={"age": 2} if name == "jitter" else None)
    made = Pipeline([structure, *stages[name]]).fit(survey_with_parts(), seed=7)
    monkeypatch.setattr(Streams, "at", watched)
    made.simulate(key=KEY)
    assert len(asked) > 1
    assert all(asked)


def survey_with_parts():  # type: ignore[no-untyped-def]
    survey = small_survey()
    income = survey.frame["income"]
    survey = survey.with_column("work", (income * 0.25).to_numpy())
    return survey.with_column("other", (income - income * 0.25).to_numpy())


def test_exchange_and_areas_draw_from_the_key(tmp_path: Path) -> None:
    survey = small_survey()
    base = Pipeline([Structure(["age", "sex"])]).fit(survey, seed=7).simulate(key=KEY).frame()
    regions = base.groupby("region", observed=True).size().rename("total").reset_index()
    cells = base.groupby(["region", "sex"], observed=True).size().rename("total").reset_index()
    cells["total"] = (cells["total"] * 1.02).round()
    halves = pd.concat([regions.assign(area=area, total=regions["total"] // 2) for area in "ab"])
    steps = [
        Anneal(Margin(cells), split="region", tolerance=0.05),
        Distribute("area", within="region", margins=Margin(halves)),
    ]
    fitted = Pipeline([Structure(["age", "sex"]), *steps]).fit(survey, seed=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        one = fitted.simulate(key=KEY, out=tmp_path / "a")
        assert_same_frame(one.frame(), fitted.simulate(key=KEY).frame())
        assert not one.frame()["area"].equals(fitted.simulate(key=OTHER).frame()["area"])
    assert [step.seed for step in one.manifest.steps] == [None, None]
    assert verify(tmp_path / "a") == []


def test_a_folder_has_a_fresh_key_that_only_its_user_reads(fitted, tmp_path: Path) -> None:
    for name in ("a", "b"):
        fitted.simulate(out=tmp_path / name)
    keys = [read_key(tmp_path / name) for name in ("a", "b")]
    assert keys[0] is not None
    assert keys[1] is not None
    assert keys[0][0] != keys[1][0]
    assert len(keys[0][0].content) * 8 >= 128
    assert keys[0][1]["seed"] == keys[0][1]["fit_seed"] == 7
    assert "CONFIDENTIAL" in keys[0][1]["note"]
    if sys.platform != "win32":
        assert stat.S_IMODE(os.stat(tmp_path / "a" / KEY_FILE).st_mode) == 0o600
    populations = [open_population(tmp_path / name).frame() for name in ("a", "b")]
    assert not populations[0].equals(populations[1])


def test_no_other_file_has_key_or_seed(fitted, tmp_path: Path) -> None:
    seeded = replace(fitted, seed=987654321)
    next(seeded.replicates(1, refit="bootstrap", out=tmp_path / "r", scale=0.5, key=KEY))
    seeded.simulate(out=tmp_path / "a", key=KEY)
    for folder in (tmp_path / "a", tmp_path / "r" / "replicate-0001"):
        files = everything(folder)
        assert KEY.hex().encode() in files.pop(KEY_FILE)
        for name, content in files.items():
            assert KEY not in content, name
            assert KEY.hex().encode() not in content, name
            assert b"987654321" not in content, name


def test_the_survey_cannot_be_confirmed_by_the_manifest(fitted, tmp_path: Path) -> None:
    """A hash without a key would tell whether a guess of the whole survey is right."""
    for name, key in (("a", KEY), ("b", OTHER)):
        fitted.simulate(out=tmp_path / name, key=key)
    one, two = (
        json.loads((tmp_path / name / "manifest.json").read_text())["identity"] for name in "ab"
    )
    for name in ("seed", "fit_seed", "survey", "models"):
        assert one[name].startswith("sealed:")
        assert one[name] != two[name]


def test_a_run_resumes_with_its_key_and_says_where_it_is_gone(fitted, tmp_path: Path) -> None:
    out = tmp_path / "a"
    fitted.simulate(out=out, rows_per_block=ROWS)
    whole = everything(out)
    part = next(iter(sorted(out.glob("population/*/*.parquet"))))
    part.unlink()
    fitted.simulate(out=out, rows_per_block=ROWS)
    assert everything(out) == whole
    (out / KEY_FILE).rename(tmp_path / "kept")
    with pytest.raises(OutputError, match=r"key file .*run.key is not there"):
        fitted.simulate(out=out, rows_per_block=ROWS)
    with pytest.raises(OutputError, match="differs in the secret key"):
        fitted.simulate(out=out, rows_per_block=ROWS, key=OTHER)
    assert not (out / KEY_FILE).exists()
    part.unlink()
    fitted.simulate(out=out, rows_per_block=ROWS, key=tmp_path / "kept")
    assert everything(out) == whole
    with pytest.raises(OutputError, match="holds a run with another key"):
        fitted.simulate(out=out, rows_per_block=ROWS, key=OTHER)


def test_a_replicate_that_lost_its_key_is_not_taken_for_another(fitted, tmp_path: Path) -> None:
    options = {"refit": "bootstrap", "out": tmp_path, "scale": 0.5}
    first = next(fitted.replicates(1, **options)).frame()
    assert_same_frame(first, next(fitted.replicates(1, **options)).frame())
    (tmp_path / "replicate-0001" / KEY_FILE).unlink()
    with pytest.raises(OutputError, match="is not there"):
        next(fitted.replicates(1, **options))


def test_a_run_without_a_seed_finds_it_with_the_key(fitted, tmp_path: Path) -> None:
    fitted.simulate(out=tmp_path / "a")
    assert run_seed(None, tmp_path / "a") == 7
    assert run_seed(None, tmp_path / "nothing") != 7


def old_folder(fitted: FittedPipeline, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a folder as it was written before there were keys."""
    with monkeypatch.context() as patch:
        patch.setattr("synthpop.population.storage.key_of_run", lambda *_: None)
        fitted.simulate(out=root, rows_per_block=ROWS)


def test_an_old_folder_opens_and_writing_into_it_warns(fitted, tmp_path, monkeypatch) -> None:
    out = tmp_path / "old"
    old_folder(fitted, out, monkeypatch)
    assert json.loads((out / "manifest.json").read_text())["identity"]["seed"] == 7
    assert_same_frame(open_population(out).frame(), fitted.simulate(rows_per_block=ROWS).frame())
    assert verify(out) == []
    before = everything(out)
    with pytest.warns(MicrodataWarning, match="was made without a secret key"):
        fitted.simulate(out=out, rows_per_block=ROWS)
    assert everything(out) == before
    assert run_seed(None, out) == 7
    (out / "report.html").write_text("page")
    with pytest.warns(MicrodataWarning, match="Do not release it"):
        add_file(out, out / "report.html")


@pytest.mark.parametrize(
    ("key", "what"),
    [
        (b"short", "has 5 bytes"),
        (bytes(65), "has 65 bytes"),
        ("no hexadecimal text", "is text that is not hexadecimal"),
        (12345678901234567890, "is a int"),
        (Path("absent.key"), "cannot be read from absent.key"),
    ],
)
def test_a_faulty_key_is_never_repeated(key, what: str, fitted, tmp_path: Path) -> None:
    for call in (fitted.simulate, lambda **options: fitted.replicates(2, **options)):
        with pytest.raises(InputError, match=what) as problem:
            call(key=key, out=tmp_path / "a")
        assert "no hexadecimal text" not in str(problem.value)
        assert "12345678901234567890" not in str(problem.value)
    assert not (tmp_path / "a").exists()


def test_texts_of_keys_and_streams_show_nothing() -> None:
    for value in (SecretKey(KEY), Streams(1, SecretKey(KEY)), {"key": SecretKey(KEY)}):
        assert KEY.hex() not in repr(value)
        assert repr(KEY) not in repr(value)


def test_keyed_streams_are_apart_by_key_seed_and_name() -> None:
    streams = [Streams(seed, key) for seed in (1, 2) for key in (SecretKey(KEY), SecretKey(OTHER))]
    streams += [Streams(1), Streams(fresh_secret()), Streams(fresh_secret())]
    first = [one.at(*names).random() for one in streams for names in (("a",), ("a", 1), ("a", "1"))]
    assert len(set(first)) == len(first)
    again = Streams(1, SecretKey(KEY)).at("a").random()
    assert again == first[0]
    assert Streams(2**128 + 5).secret
    assert not Streams(2**63).secret
    numbers = [one.number("a") for one in streams]
    assert [number.bit_length() > 64 for number in numbers] == [one.secret for one in streams]


def test_a_fit_does_not_leave_by_accident(fitted) -> None:
    for content in (fitted, [fitted], {"model": fitted}, fitted.simulate):
        for protocol in (2, 5):
            with pytest.raises(InputError, match="carries the whole survey"):
                pickle.dumps(content, protocol)
    assert copy.deepcopy(fitted) is copy.copy(fitted) is fitted


def test_other_processes_get_what_they_need_of_a_fit(fitted) -> None:
    """What engines send comes back the same (`test_engines` sends it to real processes)."""
    options = {"scale": 0.3, "strata": None, "rows_per_block": 250_000, "key": KEY}
    task = BootstrapReplicates(fitted, fitted.refit, 5, (), options, None)
    sent = pickle.loads(pickle.dumps(task))
    assert_same_frame(task(1)[1].frame(), sent(1)[1].frame())
    streams = Streams(7, SecretKey(KEY))
    recipe = Recipe(
        fitted.stages, fitted.models, fitted.layout, fitted.sample.strata_levels, streams
    )
    plan = fitted._planned(Faults("test"), 7, 0.3, None, ROWS)[3][0]
    blocks = [
        simulate_block(one, plan).columns for one in (recipe, pickle.loads(pickle.dumps(recipe)))
    ]
    for name, values in blocks[0].items():
        assert np.array_equal(values, blocks[1][name], equal_nan=values.dtype.kind == "f")


def test_the_engine_carries_the_key_to_every_block(fitted, tmp_path: Path) -> None:
    held: list[Recipe] = []
    with pytest.MonkeyPatch.context() as patch:
        to_folder = Run.to_folder
        patch.setattr(
            Run,
            "to_folder",
            lambda self, *rest: (held.append(self.recipe), to_folder(self, *rest))[1],
        )
        fitted.simulate(out=tmp_path / "a")
    stored = read_key(tmp_path / "a")
    assert stored is not None
    assert held[0].streams.key == stored[0]


def test_a_file_of_a_population_without_a_key_warns(fitted, tmp_path: Path) -> None:
    """In memory it was drawn from the seed alone, which can be guessed."""
    opened, keyed = fitted.simulate(scale=0.1), fitted.simulate(scale=0.1, key=KEY)
    calls = {
        "one.parquet": lambda it, path: it.to_parquet(path),
        "one.csv": lambda it, path: it.to_csv(path),
        "one.dta": export_population,
        "two.csv": lambda it, path: export_population(it, path, strata=["north"]),
    }
    for name, call in calls.items():
        call(keyed, tmp_path / name)  # warnings are errors
        with pytest.warns(MicrodataWarning, match="drawn from its seed alone.*Do not release it"):
            call(opened, tmp_path / name)
    fitted.simulate(scale=0.1, out=tmp_path / "folder").to_csv(tmp_path / "three.csv")
