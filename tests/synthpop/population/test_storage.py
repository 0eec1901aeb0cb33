"""Populations on disk: bad folders, full disks, changed files."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from synthpop import open_population, run
from synthpop.cli import app
from synthpop.microdata.formats import atomic
from synthpop.microdata.formats.hashed import content_hash
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.pipeline import write_blocks
from synthpop.pipeline.simulate import simulate_block
from synthpop.population.folders import record_path
from synthpop.population.manifest import RUNNING, Manifest
from synthpop.population.run_key import read_key
from synthpop.population.storage import read_manifest, write_manifest
from synthpop.population.verify import verify
from tests.small import small_frame, small_pipeline, small_survey
from tests.synthpop.runfiles.test_runfile import TEXT


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(), seed=7)


def test_a_folder_with_another_run_is_refused_and_left_alone(fitted, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "p")
    before = sorted(path.name for path in (tmp_path / "p").rglob("*"))
    with pytest.raises(OutputError, match="holds another run: it differs in seed"):
        fitted.simulate(seed=8, out=tmp_path / "p")
    with pytest.raises(OutputError, match="differs in scale"):
        fitted.simulate(scale=2, out=tmp_path / "p")
    assert sorted(path.name for path in (tmp_path / "p").rglob("*")) == before


def test_a_folder_with_other_files_is_refused(fitted, tmp_path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="is not empty and holds no run"):
        fitted.simulate(out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_out_that_is_a_file(fitted, tmp_path) -> None:
    (tmp_path / "p").write_text("a file")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        fitted.simulate(out=tmp_path / "p")


def test_a_full_disk_leaves_nothing_half_written(fitted, tmp_path, monkeypatch) -> None:
    import pyarrow.parquet as pq

    real, count = pq.write_table, {"n": 0}

    def full(table, path, **options):
        count["n"] += 1
        if count["n"] == 2:
            path.write_bytes(b"half a fi")
            raise OSError(errno.ENOSPC, "No space left on device")
        real(table, path, **options)

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OutputError, match="the disk is full") as caught:
        fitted.simulate(out=tmp_path / "p")
    assert "Make room and run again" in str(caught.value)
    assert not list((tmp_path / "p").rglob("*.tmp"))
    assert len(list((tmp_path / "p").rglob("*.parquet"))) == 1
    with pytest.raises(OutputError, match="unfinished"):
        verify(tmp_path / "p")


def test_a_file_without_its_record_is_written_again(fitted, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "p")
    part = next((tmp_path / "p").rglob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(b"torn")
    record_path(part).unlink()
    fitted.simulate(out=tmp_path / "p")
    assert part.read_bytes() == whole


def test_verify_finds_changed_missing_and_foreign_files(fitted, tmp_path) -> None:
    folder = tmp_path / "p"
    fitted.simulate(out=folder)
    assert verify(folder) == []
    parts = sorted(folder.rglob("*.parquet"))
    data = bytearray(parts[0].read_bytes())
    data[100] ^= 1
    parts[0].write_bytes(bytes(data))
    parts[1].rename(parts[1].with_name("part-9999.parquet"))
    problems = verify(folder)
    assert any("was changed" in text for text in problems)
    assert any("is missing" in text for text in problems)
    assert any("does not belong" in text for text in problems)


def test_opening_what_is_no_population(tmp_path) -> None:
    with pytest.raises(OutputError, match="holds no population"):
        open_population(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(OutputError, match="is not a manifest of a population: it is not JSON"):
        open_population(tmp_path)


def test_the_manifest_tells_how_to_repeat_the_run(fitted, tmp_path) -> None:
    population = fitted.simulate(out=tmp_path / "p", scale=2)
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text())
    identity = manifest["identity"]
    stored = read_key(tmp_path / "p")
    assert stored is not None
    assert stored[1]["seed"] == 7
    assert identity["seed"] == stored[0].seal("seed", 7)
    assert identity["scale"] == 2
    assert [stage["type"] for stage in identity["recipe"]][:2] == ["structure", "derive"]
    assert (
        manifest["n_persons"] == population.n_persons == len(population) == len(population.frame())
    )
    again = open_population(tmp_path / "p")
    assert again.fallbacks == population.fallbacks
    assert again.manifest == population.manifest
    assert Manifest.from_text(population.manifest.to_text()) == population.manifest


def test_unknown_columns_are_named(fitted) -> None:
    with pytest.raises(InputError, match="Did you mean 'age'"):
        fitted.simulate().frame(["agee"])


def test_a_write_error_of_another_kind(fitted, tmp_path, monkeypatch) -> None:
    def refuse(path: object, *args: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(atomic.os, "replace", refuse)
    with pytest.raises(OutputError, match="Permission denied"):
        fitted.simulate(out=tmp_path / "p")


def test_two_processes_do_not_write_into_one_folder(fitted, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "p"

    def meanwhile(recipe, plan):
        code = (
            "import sys; from pathlib import Path\n"
            "from synthpop.microdata.formats.lock import only_writer\n"
            "with only_writer(Path(sys.argv[1])): print('wrote')"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, str(folder)], capture_output=True, text=True
        )
        assert "another process is writing here" in other.stderr
        assert f"process {os.getpid()}" in other.stderr
        assert other.stdout == ""
        with pytest.raises(OutputError, match="another process is writing here"):
            fitted.simulate(out=folder)  # nor two threads
        return simulate_block(recipe, plan)

    monkeypatch.setattr(write_blocks, "simulate_block", meanwhile)
    fitted.simulate(out=folder)
    assert verify(folder) == []
    assert not list(folder.rglob(".lock"))


def test_the_lock_is_released_on_failure(fitted, tmp_path, monkeypatch) -> None:
    def failing(recipe, plan):
        raise KeyboardInterrupt

    monkeypatch.setattr(write_blocks, "simulate_block", failing)
    with pytest.raises(KeyboardInterrupt):
        fitted.simulate(out=tmp_path / "p")
    assert not list(tmp_path.rglob(".lock"))
    monkeypatch.setattr(write_blocks, "simulate_block", simulate_block)
    assert fitted.simulate(out=tmp_path / "p").n_persons > 0


def test_the_lock_of_a_dead_process_is_taken_over(fitted, tmp_path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from synthpop.microdata.formats.lock import only_writer\n"
        "with only_writer(Path(sys.argv[1])): os._exit(9)"
    )
    died = subprocess.run([sys.executable, "-c", code, str(tmp_path)])
    assert died.returncode == 9
    assert (tmp_path / ".lock").read_text().split()[0].isdigit()
    assert fitted.simulate(out=tmp_path).n_persons > 0
    assert not (tmp_path / ".lock").exists()


def test_temporary_names_are_unique_and_those_of_a_killed_run_are_removed(
    fitted, tmp_path, monkeypatch
) -> None:
    import pyarrow.parquet as pq

    names, real = [], pq.write_table

    def noted(table, path, **options):
        names.append(path.name)
        real(table, path, **options)

    monkeypatch.setattr(pq, "write_table", noted)
    for folder in ("one", "other"):
        fitted.simulate(out=tmp_path / folder)
    assert len(set(names)) == len(names) > 0
    part = next((tmp_path / "one").rglob("*.parquet"))
    for name in (names[0],):
        (part.parent / name).write_bytes(b"half")
    (part.parent / "mine.tmp").write_bytes(b"precious")
    fitted.simulate(out=tmp_path / "one")
    assert [path.name for path in (tmp_path / "one").rglob("*.tmp")] == ["mine.tmp"]


def test_files_are_on_the_disk_before_they_get_their_name(fitted, tmp_path, monkeypatch) -> None:
    calls = []
    real = {name: getattr(atomic.os, name) for name in ("fsync", "replace")}
    for name in real:
        monkeypatch.setattr(
            atomic.os, name, lambda *a, name=name: (calls.append(name), real[name](*a))
        )
    fitted.simulate(out=tmp_path / "p")
    renames = [k for k, name in enumerate(calls) if name == "replace"]
    assert len(renames) > 3
    assert {(calls[k - 1], calls[k + 1]) for k in renames} == {("fsync", "fsync")}


@pytest.mark.parametrize("left", [".manifest.json-123-0123456789abcdef.tmp", ".lock"])
def test_a_run_killed_at_its_first_file_can_start_again(fitted, tmp_path, left: str) -> None:
    (tmp_path / left).write_text('{"form')
    fitted.simulate(out=tmp_path)
    assert verify(tmp_path) == []
    assert not (tmp_path / left).exists()


def torn(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


@pytest.mark.parametrize("status", ["complete", "running"])
@pytest.mark.parametrize("damage", [torn, flipped])
def test_a_block_that_was_damaged_later_is_made_again(fitted, tmp_path, damage, status) -> None:
    fitted.simulate(out=tmp_path)
    part = sorted(tmp_path.rglob("*.parquet"))[1]
    whole, told = part.read_bytes(), (tmp_path / "manifest.json").read_text()
    part.write_bytes(damage(whole))
    if status == "running":
        manifest = read_manifest(tmp_path)
        write_manifest(tmp_path, replace(manifest, status=RUNNING))
    fitted.simulate(out=tmp_path)
    assert part.read_bytes() == whole
    assert (tmp_path / "manifest.json").read_text() == told


def rehashed(data, key: str):
    """The data with a hash that agrees with them, as a careful forger would have it."""
    if not isinstance(data, dict):
        return data
    content = {name: value for name, value in data.items() if name != key}
    return {**content, key: content_hash(content)}


CHANGED_RECORDS = [
    lambda record: {},
    lambda record: [],
    lambda record: {**record, "n_persons": record["n_persons"] + 1},
    lambda record: {**record, "n_households": 0},
    lambda record: {**record, "file": "population/elsewhere.parquet"},
    lambda record: {**record, "bytes": 1},
    lambda record: {**record, "hash": "00"},
    lambda record: {**record, "run": "00"},
    lambda record: {**record, "fallbacks": [{"stage": "x"}]},
    lambda record: {k: v for k, v in record.items() if k != "fallbacks"},
]


@pytest.mark.parametrize(
    ("change", "forged"),
    [*((change, True) for change in CHANGED_RECORDS), (CHANGED_RECORDS[0], False)],
)
def test_a_record_that_does_not_fit_is_made_again(fitted, tmp_path, change, forged) -> None:
    fitted.simulate(out=tmp_path)
    record = record_path(next(tmp_path.rglob("*.parquet")))
    whole = record.read_text()
    changed = change(json.loads(whole))
    record.write_text(json.dumps(rehashed(changed, "record_hash") if forged else changed))
    assert any(record.name in text for text in verify(tmp_path))
    fitted.simulate(out=tmp_path)
    assert record.read_text() == whole
    assert verify(tmp_path) == []


def test_notes_of_a_changed_record_are_not_taken_over(fitted, tmp_path) -> None:
    before = fitted.simulate(out=tmp_path)
    record = record_path(next(tmp_path.rglob("*.parquet")))
    data = json.loads(record.read_text())
    data["fallbacks"] = [{"stage": "x", "stratum": "y", "what": "forged", "n_persons": 1}]
    record.write_text(json.dumps(data))
    assert fitted.simulate(out=tmp_path).fallbacks == before.fallbacks


def without(key: str):
    return lambda manifest: {k: v for k, v in manifest.items() if k != key}


def exchanged_levels(manifest):
    for column in manifest["columns"]:
        if column["name"] == "sex":
            column["levels"] = column["levels"][::-1]
    return manifest


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: [],
        lambda manifest: {},
        lambda manifest: None,
        *map(without, ["format", "status", "identity", "roles", "sample", "columns", "blocks"]),
        *map(without, ["n_persons", "n_households", "fallbacks", "files", "pooling"]),
        lambda manifest: {**manifest, "format": 1},
        lambda manifest: {**manifest, "status": "done"},
        lambda manifest: {**manifest, "n_persons": manifest["n_persons"] + 5},
        lambda manifest: {**manifest, "identity": {}},
        lambda manifest: {**manifest, "sample": {}},
        lambda manifest: {**manifest, "blocks": [{}]},
        lambda manifest: {**manifest, "columns": [{"name": "age"}]},
        lambda manifest: {**manifest, "columns": [1]},
        lambda manifest: {**manifest, "columns": []},
        lambda manifest: {**manifest, "fallbacks": [[]]},
    ],
)
@pytest.mark.parametrize("forged", [True])
def test_a_manifest_that_is_none_is_refused(fitted, tmp_path, change, forged) -> None:
    fitted.simulate(out=tmp_path)
    manifest = tmp_path / "manifest.json"
    whole = manifest.read_text()
    changed = change(json.loads(whole))
    manifest.write_text(json.dumps(rehashed(changed, "hash") if forged else changed))
    for use in (open_population, verify):
        with pytest.raises(OutputError, match=r"is not a manifest of a population: .+ Restore"):
            use(tmp_path)
    fitted.simulate(out=tmp_path)  # each part has its record, so that nothing is lost
    assert manifest.read_text() == whole


@pytest.mark.parametrize(
    "change",
    [
        exchanged_levels,
        lambda m: {**m, "identity": {**m["identity"], "seed": 99}},
        lambda m: {**m, "roles": {**m["roles"], "strata": None}},
        lambda m: {**m, "columns": [{**c, "dtype": "float16"} for c in m["columns"]]},
    ],
)
def test_a_manifest_that_tells_something_else_is_noticed(fitted, tmp_path, change) -> None:
    fitted.simulate(out=tmp_path)
    manifest = tmp_path / "manifest.json"
    changed = change(json.loads(manifest.read_text()))
    manifest.write_text(json.dumps(changed))
    for use in (open_population, verify):
        with pytest.raises(OutputError, match="does not agree with its hash"):
            use(tmp_path)


def test_levels_and_types_of_a_forged_manifest_are_compared_with_the_parts(
    fitted, tmp_path
) -> None:
    before = fitted.simulate(out=tmp_path).frame(["sex"])
    manifest = tmp_path / "manifest.json"
    whole = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(rehashed(exchanged_levels(deepcopy(whole)), "hash")))
    assert (
        open_population(tmp_path)
        .frame(["sex"])["sex"]
        .astype(str)
        .equals(before["sex"].astype(str))
    )  # levels of another order are matched by their names
    narrow = [{**c, "dtype": "float16"} if c["name"] == "age" else c for c in whole["columns"]]
    manifest.write_text(json.dumps(rehashed({**whole, "columns": narrow}, "hash")))
    assert any("age is " in text for text in verify(tmp_path))
    renamed = [{**c, "levels": ["x", "y"]} if c["name"] == "sex" else c for c in whole["columns"]]
    manifest.write_text(json.dumps(rehashed({**whole, "columns": renamed}, "hash")))
    assert any("sex has other levels" in text for text in verify(tmp_path))
    with pytest.raises(OutputError, match="is damaged: sex has levels that the manifest"):
        open_population(tmp_path).frame(["sex"])


@pytest.mark.parametrize("lost", ["removed", "empty", "garbage"])
def test_a_lost_manifest_does_not_lose_the_blocks(fitted, tmp_path, lost, monkeypatch) -> None:
    fitted.simulate(out=tmp_path)
    manifest = tmp_path / "manifest.json"
    whole = manifest.read_text()
    manifest.unlink()
    if lost != "removed":
        manifest.write_text("" if lost == "empty" else "{]")
    other = small_pipeline().fit(small_survey(), seed=8)
    with pytest.raises(OutputError, match=r"holds no run|not a manifest"):
        other.simulate(out=tmp_path)
    monkeypatch.setattr(
        write_blocks, "simulate_block", lambda *a: pytest.fail("nothing is missing")
    )
    fitted.simulate(out=tmp_path)
    assert manifest.read_text() == whole


@pytest.mark.parametrize("damage", ["removed", "shorter", "empty", "unreadable"])
def test_a_folder_whose_parts_are_gone_is_not_opened(fitted, tmp_path, damage) -> None:
    fitted.simulate(out=tmp_path)
    population = open_population(tmp_path)
    part = sorted(tmp_path.rglob("*.parquet"))[0]
    whole = part.read_bytes()
    part.unlink()
    if damage == "unreadable":
        part.mkdir()
    elif damage != "removed":
        part.write_bytes(whole[:-9] if damage == "shorter" else b"")
    with pytest.raises(OutputError, match=r"is not complete: .*part-0000.parquet"):
        open_population(tmp_path)
    what = "is not there, or a worker" if damage == "removed" else "is damaged: "
    with pytest.raises(OutputError, match=rf"part-0000.parquet {what}.* synthpop verify"):
        population.frame()
    assert any("part-0000.parquet" in text for text in verify(tmp_path))


def test_a_part_of_another_run_is_not_read(fitted, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "one")
    small_pipeline().fit(small_survey(), seed=8).simulate(out=tmp_path / "other")
    one, other = (sorted((tmp_path / n).rglob("*.parquet"))[0] for n in ("one", "other"))
    size = one.stat().st_size
    one.write_bytes(other.read_bytes().ljust(size, b"0")[:size])
    with pytest.raises(OutputError, match="its hash is not that of the manifest"):
        open_population(tmp_path / "one").frame(["age"])


def test_pages_are_checked_also_once_the_file_was_read(fitted, tmp_path) -> None:
    """The hash is checked at the first reading; what breaks later, the checksums notice."""
    fitted.simulate(out=tmp_path, scale=0.2)
    population = open_population(tmp_path)
    whole = population.frame()
    part = sorted(tmp_path.rglob("*.parquet"))[0]
    data = part.read_bytes()
    noticed = 0
    for place in range(64, len(data) // 2, max(1, len(data) // 60)):
        changed = bytearray(data)
        changed[place] ^= 1
        part.write_bytes(bytes(changed))
        try:
            assert population.frame().equals(whole)  # a byte that nobody reads
        except OutputError:
            noticed += 1
    assert noticed > 20


def test_a_run_without_a_seed_resumes_with_the_one_it_had(tmp_path) -> None:
    small_frame().to_parquet(tmp_path / "survey.parquet")
    file = tmp_path / "run.toml"
    file.write_text(TEXT.replace("seed = 7\n", ""), encoding="utf-8")
    first = run(file, out=tmp_path / "p")
    told = (tmp_path / "p" / "manifest.json").read_text()
    seed = first.manifest.identity.seed
    next((tmp_path / "p").rglob("*.parquet")).unlink()
    again = run(file, out=tmp_path / "p")
    assert again.manifest.identity.seed == seed
    assert (tmp_path / "p" / "manifest.json").read_text() == told
    assert run(file, out=tmp_path / "q").manifest.identity.seed != seed
    file.write_text(TEXT.replace("seed = 7\nscale = 2.0", "scale = 1.0"), encoding="utf-8")
    with pytest.raises(OutputError, match="it differs in scale"):
        run(file, out=tmp_path / "p")


def test_the_command_line_tells_and_takes_up_the_seed(tmp_path) -> None:
    small_frame().to_parquet(tmp_path / "survey.parquet")
    (tmp_path / "run.toml").write_text(TEXT.replace("seed = 7\n", ""), encoding="utf-8")
    told = []
    for _ in range(2):
        done = CliRunner().invoke(app, ["run", str(tmp_path / "run.toml")])
        assert done.exit_code == 0, done.output
        told.append(done.output.splitlines()[0])
    assert told[0] == told[1]
    stored = read_key(tmp_path / "run")
    assert stored is not None
    assert told[0] == f"Seed {stored[1]['seed']}."


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_names_that_the_system_does_not_take(fitted, tmp_path, name) -> None:
    with pytest.raises(OutputError, match="cannot"):
        fitted.simulate(out=tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_rows_per_block_beyond_all_bounds(fitted) -> None:
    with pytest.raises(InputError, match="rows_per_block: is 100000000000000000000"):
        fitted.simulate(rows_per_block=10**20)
