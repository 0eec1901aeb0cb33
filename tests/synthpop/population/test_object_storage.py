"""A population in object storage: the promises of a folder on a disk, against a local server."""

from __future__ import annotations

import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

import synthpop.pipeline.part_by_part as part_by_part
import synthpop.pipeline.postprocess as postprocess
from synthpop import Anneal, Margin, Pipeline, Structure, open_population
from synthpop.cli import main
from synthpop.microdata.formats.places import BucketPath, files_below, name_below, place
from synthpop.microdata.messages.errors import OutputError
from synthpop.population.folders import record_path
from synthpop.population.verify import verify
from synthpop.report.stored import FILE
from tests.console import call
from tests.failing import every
from tests.small import small_frame, small_pipeline, small_survey
from tests.synthpop.runfiles.test_runfile import TEXT

moto_server = pytest.importorskip("moto.server")
pytestmark = pytest.mark.usefixtures("one_key")
OPTIONS = "region=us-east-1&scheme=http"


@pytest.fixture(scope="module")
def storage():
    """Address of a bucket of a server on this machine, and the options that lead there."""
    from pyarrow.fs import S3FileSystem

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host = "{}:{}".format(*server.get_host_and_port())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        options = {"endpoint_override": host, "scheme": "http", "region": "us-east-1"}
        S3FileSystem(allow_bucket_creation=True, **options).create_dir("office")
        yield f"endpoint_override={host}&{OPTIONS}"
    server.stop()


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(60), seed=7)


@pytest.fixture
def folder(storage, request) -> BucketPath:
    return place(f"s3://office/{request.node.name.replace('[', '-').replace(']', '')}?{storage}")


def contents(root) -> dict[str, bytes]:
    result = {}
    for path in files_below(root):
        with path.open("rb") as stream:
            result[name_below(path, root)] = bytes(stream.read())
    return result


def test_the_same_bytes_as_on_a_disk(fitted, folder, tmp_path) -> None:
    stored = fitted.simulate(out=folder, workers=2)
    local = fitted.simulate(out=tmp_path / "p")
    assert contents(folder) == contents(tmp_path / "p")
    again = open_population(folder)
    assert again.frame().equals(local.frame())
    assert again.scan().count_rows() == len(local) == len(stored)
    assert verify(folder) == []
    assert f"Written to s3://office/{folder.name}." in stored.summary()


@pytest.mark.slow
def test_worker_processes_write_there_themselves(fitted, folder, tmp_path) -> None:
    fitted.simulate(out=folder, workers="processes:2")
    fitted.simulate(out=tmp_path / "p")
    assert contents(folder) == contents(tmp_path / "p")


def test_only_what_is_missing_is_written_again(fitted, folder, monkeypatch) -> None:
    fitted.simulate(out=folder)
    whole = contents(folder)
    part = files_below(folder, "*.parquet")[1]
    record_path(part).unlink()
    (folder / "manifest.json").unlink()
    names, upload = [], BucketPath.upload
    monkeypatch.setattr(
        BucketPath, "upload", lambda self, draft: (names.append(self.name), upload(self, draft))
    )
    fitted.simulate(out=folder)
    assert contents(folder) == whole
    assert sorted(names) == sorted(
        [".lock", "manifest.json", part.name, record_path(part).name, "manifest.json", "run.key"]
    )


@every(3)
def test_each_upload_of_a_run_fails_once(fitted, folder, stride, monkeypatch) -> None:
    fitted.simulate(out=folder / "whole", strata=["north"])
    whole, upload = contents(folder / "whole"), BucketPath.upload
    for k in range(0, len(whole) + 2, stride):  # its files, the lock, and the manifest twice
        number = iter(range(100))

        def failing(self, draft, number=number, k=k):
            if next(number) == k:
                raise OSError("the line is cut")
            upload(self, draft)

        root = folder / f"{k}"
        with monkeypatch.context() as patch:
            patch.setattr(BucketPath, "upload", failing)
            with pytest.raises(OutputError, match=r"cannot w.*the line is cut"):
                fitted.simulate(out=root, strata=["north"])
        with pytest.raises(OutputError, match=r"unfinished|holds no population"):
            open_population(root)
        fitted.simulate(out=root, strata=["north"])
        assert contents(root) == whole


def test_two_writers_of_one_folder(fitted, folder) -> None:
    other = []

    def begin_elsewhere(event) -> None:
        if event.job == "simulate" and not other:
            other.append(fitted.simulate(out=folder))

    with pytest.raises(OutputError, match="another process has begun to write"):
        fitted.simulate(out=folder, on_event=begin_elsewhere)
    assert len(other) == 1
    assert verify(folder) == []
    assert fitted.simulate(out=folder).frame().equals(other[0].frame())


def test_another_run_and_other_files_are_refused(fitted, folder) -> None:
    fitted.simulate(out=folder / "run")
    before = contents(folder / "run")
    with pytest.raises(OutputError, match="holds another run: it differs in seed"):
        fitted.simulate(out=folder / "run", seed=8)
    assert contents(folder / "run") == before
    note = Path(__file__)
    (folder / "files/thesis.txt").upload(note)
    with pytest.raises(OutputError, match="is not empty and holds no run"):
        fitted.simulate(out=folder / "files")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        fitted.simulate(out=folder / "files/thesis.txt")


def test_damaged_objects_are_not_read(fitted, folder, tmp_path) -> None:
    fitted.simulate(out=folder)
    part = files_below(folder, "*.parquet")[0]
    data = bytearray(part.open().read())
    data[len(data) // 2] ^= 1
    (tmp_path / "part").write_bytes(data)
    part.upload(tmp_path / "part")
    assert verify(folder) == [f"{name_below(part, folder)} was changed"]
    with pytest.raises(OutputError, match="is damaged: its hash is not that of the manifest"):
        open_population(folder).frame()
    part.unlink()
    with pytest.raises(OutputError, match=r"is missing .*is not there"):
        open_population(folder)


def test_no_bucket(fitted, storage) -> None:
    nowhere = f"s3://nowhere/run?{storage}"
    with pytest.raises(OutputError, match="there is no bucket nowhere: make it first"):
        fitted.simulate(out=nowhere)
    with pytest.raises(OutputError, match="there is no bucket nowhere"):
        open_population(nowhere)


def test_credentials_that_are_refused(fitted) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_PUT = do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"s3://k:topsecret@office/run?endpoint_override=127.0.0.1:{server.server_port}"
    try:
        for use in (lambda at: fitted.simulate(out=at), open_population):
            with pytest.raises(OutputError, match="refuses the credentials") as caught:
                use(f"{address}&{OPTIONS}")
            assert "topsecret" not in str(caught.value)
    finally:
        server.shutdown()
        server.server_close()
    assert "topsecret" not in repr(place(address)) + str(place(address))


def test_steps_on_the_whole_population_and_replicates(fitted, folder, tmp_path) -> None:
    margin = Margin(pd.DataFrame({"sex": ["f", "m"], "n": [780.0, 800.0]}), total="n")
    recipe = Pipeline([Structure(["age", "sex"]), Anneal([margin], tolerance=0.2)])
    annealed = recipe.fit(small_survey(60), seed=7)
    annealed.simulate(out=folder / "a")
    annealed.simulate(out=tmp_path / "a")
    assert contents(folder / "a") == contents(tmp_path / "a")
    assert annealed.simulate(out=folder / "a").n_persons > 0
    for root in (folder / "r", tmp_path / "r"):
        assert len(list(fitted.replicates(2, out=root))) == 2
    assert contents(folder / "r") == contents(tmp_path / "r")


@pytest.mark.slow
def test_steps_on_a_few_strata_at_a_time(fitted, folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
    table = fitted.simulate().frame().groupby(["region", "sex"], observed=True).size() + 2
    exchange = Anneal(Margin(table.rename("total")), split="region", split_upper="all")
    by_region = Pipeline([Structure(["age", "sex"]), exchange]).fit(small_survey(60), seed=7)
    by_region.simulate(out=tmp_path / "a")
    write_record = part_by_part.PartStore.write_record

    def stops(store, number, part, data):
        if (number, part) == (1, 1):
            raise KeyboardInterrupt
        return write_record(store, number, part, data)

    with monkeypatch.context() as patch:
        patch.setattr(part_by_part.PartStore, "write_record", stops)
        with pytest.raises(KeyboardInterrupt):
            by_region.simulate(out=folder / "a")
    assert any("steps/1/part-0000.json" in name for name in contents(folder / "a"))
    by_region.simulate(out=folder / "a")
    assert contents(folder / "a") == contents(tmp_path / "a")


def test_the_commands(folder, storage, tmp_path) -> None:
    small_frame().to_parquet(tmp_path / "survey.parquet")
    address = f"{folder}?{storage}"
    text = TEXT.replace("[run]", f'[run]\nout = "{address}"')
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    refused = call(main, "run", "run.toml", cwd=tmp_path)
    assert refused.returncode == 1
    assert "outside of the folder of the run file" in refused.stderr
    done = call(main, "run", "run.toml", "--anywhere", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").exists()
    assert (folder / FILE).exists()
    for command in (
        ["verify", address],
        ["report", address, "--audience", "external"],
        ["sample", address, "-n", "20", "--seed", "1", "--out", "sample.csv"],
        ["export", address, "--to", "people.parquet"],
        ["verify", address],
    ):
        done = call(main, *command, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    files = json.loads((folder / "manifest.json").read_text())["files"]
    assert set(files) == {"report.html", "report-external.html", FILE}
    (folder / "report.html").unlink()
    assert call(main, "verify", address, cwd=tmp_path).returncode == 1
