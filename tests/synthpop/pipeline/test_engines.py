"""Threads, processes and Dask: the same bytes, or a clear error within seconds."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import riskeval
from synthpop import assess_fit, check_rules, open_population
from synthpop.microdata.messages.errors import InputError, OutputError, WorkerError
from synthpop.microdata.runs import chunks, cluster, engines
from synthpop.microdata.runs.chunks import map_portions
from synthpop.microdata.runs.engines import map_blocks
from synthpop.pipeline import run as run_module
from synthpop.sampling import SimpleRandom, simulate_study
from synthpop.sampling.draw import draw_sample
from tests.same import assert_same_frame
from tests.small import small_pipeline, small_survey
from tests.synthpop.pipeline.tasks import (
    Deadly,
    die,
    fail,
    look_for_a_model,
    slow_square,
    square,
)

pytestmark = pytest.mark.usefixtures("one_key")

ROWS = 400
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(), seed=7)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.parquet")}


@pytest.mark.parametrize("workers", [1, 3, pytest.param("processes:2", marks=pytest.mark.slow)])
def test_every_engine_applies_the_function_to_every_plan(workers) -> None:
    assert sorted(map_blocks(square, range(50), workers)) == [n * n for n in range(50)]


def wait_and_square(number: int) -> int:
    time.sleep(0.05 if number in (0, 7) else 0)  # others are ready before
    return number * number


def test_results_come_in_the_order_of_the_plans_where_that_is_asked_for() -> None:
    assert list(map_blocks(wait_and_square, range(30), 3, in_order=True)) == [
        n * n for n in range(30)
    ]


@pytest.mark.parametrize("workers", [3, "processes:2"])
def test_an_error_of_ours_comes_through_as_it_is(workers) -> None:
    with pytest.raises(InputError, match="test: 0 faults"):
        list(map_blocks(fail, range(50), workers))


def test_a_function_that_cannot_be_sent_is_an_error_of_ours() -> None:
    lock = threading.Lock()
    with pytest.raises(WorkerError, match="cannot be sent to other processes"):
        list(map_blocks(lambda plan: lock.locked(), range(3), "processes:2"))


def test_a_fault_of_the_function_stays_as_it_is() -> None:
    with pytest.raises(FileNotFoundError, match=r"\.pickle"):
        list(map_blocks(look_for_a_model, range(3), "processes:2"))


def test_a_dead_worker_process_is_an_error_of_ours() -> None:
    with pytest.raises(WorkerError, match=r"a worker process died.*fewer workers"):
        list(map_blocks(die, range(6), "processes:2"))


def test_more_workers_than_blocks_or_cores_are_not_started(monkeypatch) -> None:
    numbers = []

    class Noting(ThreadPoolExecutor):
        def __init__(self, number: int, **options) -> None:
            numbers.append(number)
            super().__init__(number, **options)

    monkeypatch.setattr(engines, "ThreadPoolExecutor", Noting)
    before = threading.active_count()
    assert len(list(map_blocks(square, range(1000), 99_999))) == 1000
    assert numbers == [engines.THREADS_PER_CORE * os.cpu_count()]
    assert len(list(map_blocks(square, range(2), 99_999))) == 2
    assert numbers[1] == 2
    assert threading.active_count() <= before  # threads of earlier tests may have ended


def test_worker_processes_end_with_a_parent_that_is_killed(tmp_path) -> None:
    code = (
        "import os, sys, time\n"
        "from tests.synthpop.pipeline.tasks import identify\n"
        "from synthpop.microdata.runs.engines import map_blocks\n"
        "for pid in map_blocks(identify, range(10**6), 'processes:2'):\n"
        "    open(sys.argv[1] + '/' + str(pid), 'w').close()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT)
    wait_until(lambda: len(list(tmp_path.iterdir())) >= 1, 30)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(alive(pid) for pid in workers), 10)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def test_dask_without_a_scheduler_is_an_error_within_seconds(fitted, monkeypatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 0.2)
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"there is no Dask scheduler at tcp://127.0.0.1:9"):
        fitted.simulate(workers="dask://127.0.0.1:9", rows_per_block=ROWS)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.6 of another service"])
def test_what_takes_connections_and_is_no_scheduler(answer, monkeypatch) -> None:
    """A stopped scheduler never answers; another service says other things."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(cluster, "MORE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=say, args=(server, answer), daemon=True).start()
        address = f"dask://127.0.0.1:{server.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(WorkerError, match=r"there is no Dask scheduler at tcp://127\.0\.0\.1"):
            list(map_blocks(square, range(4), address))
    assert time.monotonic() - began < 5


def say(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    connection.sendall(answer)
    time.sleep(2)
    connection.close()


def test_dask_that_is_not_installed_names_the_extra(fitted, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"synthpop-riskeval\[cluster\]"):
        fitted.simulate(workers="dask://127.0.0.1:9", rows_per_block=ROWS)


@pytest.fixture(scope="module")
def dask_processes():
    """Two workers that can be killed, for the slow tests."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as started:
        yield started


@pytest.fixture(scope="module")
def dask_cluster():
    """Two workers in this process, to which everything is sent as to others."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp://",
        dashboard_address=":0",
    ) as started:  # fmt: skip
        yield started


def at(started) -> str:
    return "dask:" + started.scheduler_address.removeprefix("tcp:")


@pytest.mark.parametrize(
    "kind", ["dask_cluster", pytest.param("dask_processes", marks=pytest.mark.slow)]
)
def test_a_cluster_of_two_workers_makes_the_same_bytes(fitted, kind, tmp_path, request) -> None:
    address = at(request.getfixturevalue(kind))
    one = fitted.simulate(rows_per_block=ROWS)
    two = fitted.simulate(rows_per_block=ROWS, workers=address)
    assert_same_frame(one.frame(), two.frame())
    fitted.simulate(out=tmp_path / "one", rows_per_block=ROWS)
    fitted.simulate(out=tmp_path / "two", rows_per_block=ROWS, workers=address)
    assert len(bytes_of(tmp_path / "one")) > 10
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


@pytest.mark.slow  # worker processes import everything anew
def test_two_processes_make_the_same_bytes(fitted, tmp_path) -> None:
    for name, workers in (("one", 1), ("two", "processes:2")):
        fitted.simulate(out=tmp_path / name, rows_per_block=ROWS, workers=workers)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_a_study_of_a_population_on_disk_on_the_cluster(fitted, dask_cluster, tmp_path) -> None:
    call = {
        "design": SimpleRandom(50), "repetitions": 25, "seed": 1, "columns": ["age"],
        "estimators": {"age": lambda survey: float(survey.frame["age"].mean())},
    }  # fmt: skip
    people = fitted.simulate(out=tmp_path / "p", rows_per_block=ROWS)
    one = simulate_study(people, **call)
    two = simulate_study(people, **call, workers=at(dask_cluster), out=tmp_path / "study")
    assert two.estimates.equals(one.estimates)
    assert len(list((tmp_path / "study").glob("part-*.parquet"))) == 3


RULES = ["age < 50", "at most one retired"]
READERS = {
    "check_rules": lambda people: check_rules(people, RULES).to_frame(),
    "scenarios": lambda people: riskeval.intruder_scenarios(
        small_survey().frame, people, ["age", "sex"], "income", seed=1
    ).to_frame(),
    "disco": lambda people: riskeval.disco(
        small_survey().frame, people, ["age", "sex"], "status", seed=1
    ).to_frame(),
    "k_anonymity": lambda people: riskeval.k_anonymity(people, ["age", "sex"]).to_frame(),
    "draw_sample": lambda people: draw_sample(people, SimpleRandom(50), seed=1).frame,
    "assess_fit": lambda people: assess_fit(small_survey(), people).to_frame(),
}


@pytest.mark.parametrize(
    "names",
    [["check_rules", "k_anonymity"], pytest.param(list(READERS), marks=pytest.mark.slow)],
)
def test_a_population_on_disk_is_judged_on_the_cluster(
    names, fitted, tmp_path, monkeypatch, request
) -> None:
    dask_cluster = request.getfixturevalue("dask_cluster" if len(names) < 3 else "dask_processes")
    monkeypatch.setattr(chunks, "PORTION_ROWS", 2 * ROWS)
    fitted.simulate(out=tmp_path / "p", rows_per_block=ROWS)
    monkeypatch.chdir(tmp_path)  # workers were started in another folder
    one = open_population("p")
    two = open_population("p", workers=at(dask_cluster))
    for name in names:
        assert READERS[name](two).equals(READERS[name](one)), name


class DeadlySum:
    """Adds up ages, and ends its worker at the first portion that does not begin with row 0."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __call__(self, frames) -> int:
        numbered = list(frames)
        if numbered[0][0] > 0 and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sum(int(frame["age"].sum()) for _, frame in numbered)


@pytest.mark.slow
def test_a_worker_killed_while_a_population_is_read(
    fitted, dask_processes, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(chunks, "PORTION_ROWS", ROWS)
    people = fitted.simulate(out=tmp_path / "p", rows_per_block=ROWS)
    people.workers = at(dask_processes)
    portions = list(map_portions(DeadlySum(tmp_path / "first"), people, ["age"]))
    people.workers = 1
    assert portions == list(map_portions(DeadlySum(tmp_path / "first"), people, ["age"]))
    people.workers = "processes:2"
    with pytest.raises(WorkerError, match="a worker process died"):
        list(map_portions(DeadlySum(tmp_path / "second"), people, ["age"]))


@pytest.mark.slow  # worker processes import everything anew
def test_a_worker_of_the_cluster_that_is_killed(dask_processes, tmp_path) -> None:
    results = map_blocks(Deadly(tmp_path, {7}), range(40), at(dask_processes))
    assert sorted(results) == [n * n for n in range(40)]
    assert len(list(tmp_path.iterdir())) == 1


class DeadlyWriter:
    """Writes blocks, and ends its worker once."""

    def __init__(self, marker: Path, write) -> None:
        self.marker, self.write = marker, write

    def __call__(self, plan):
        if plan.number == 1 and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.write(plan)


@pytest.mark.slow
def test_a_worker_killed_while_a_population_is_written(
    fitted, dask_processes, tmp_path, monkeypatch
) -> None:
    real = run_module.WriteBlock
    marker = tmp_path / "killed"
    fitted.simulate(out=tmp_path / "one", rows_per_block=ROWS)
    monkeypatch.setattr(run_module, "WriteBlock", lambda *a: DeadlyWriter(marker, real(*a)))
    fitted.simulate(out=tmp_path / "two", rows_per_block=ROWS, workers=at(dask_processes))
    assert marker.exists()
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


@pytest.mark.slow
def test_a_block_that_ends_every_worker_is_an_error(dask_processes, tmp_path) -> None:
    with pytest.raises(WorkerError, match="a block ended several workers"):
        list(map_blocks(Deadly(tmp_path, {7}, times=100), range(40), at(dask_processes)))


@pytest.mark.slow  # worker processes import everything anew
def test_a_worker_on_another_installation_is_refused(dask_processes, monkeypatch) -> None:
    ours = {**cluster.environment(), "numpy": "0.1"}
    monkeypatch.setattr(cluster, "environment", lambda: ours)
    with pytest.raises(WorkerError, match=r"differs from this process: numpy .* and 0\.1"):
        list(map_blocks(square, range(4), at(dask_processes)))


def test_storage_that_is_not_shared(fitted, dask_cluster, tmp_path, monkeypatch) -> None:
    from synthpop.pipeline.write_blocks import WriteBlock as real

    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(
        "synthpop.pipeline.run.WriteBlock",
        lambda root, *rest: real(elsewhere, *rest),
    )
    with pytest.raises(OutputError, match="storage that all of them share"):
        fitted.simulate(out=tmp_path / "p", rows_per_block=ROWS, workers=at(dask_cluster))
    assert not elsewhere.exists()


def test_a_worker_without_the_package(tmp_path, monkeypatch) -> None:
    """A worker that cannot import synthpop: started in a folder without it, path emptied."""
    distributed = pytest.importorskip("distributed")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as started:
        block = (
            "import sys; sys.modules['synthpop'] = None; from distributed.cli import dask_worker"
        )
        worker = subprocess.Popen(
            [sys.executable, "-c", f"{block}\ndask_worker.main()", started.scheduler_address,
             "--no-dashboard", "--no-nanny"],
            cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            began = time.monotonic()
            with pytest.raises(WorkerError, match="cannot import what it needs"):
                list(map_blocks(square, range(4), at(started)))
            assert time.monotonic() - began < 15
        finally:
            worker.kill()
            worker.wait()


def test_a_scheduler_that_goes_away(monkeypatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engines, "PATIENCE_SECONDS", 2.0)
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 2.0)
    started = distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tcp://", dashboard_address=":0"
    )
    results = map_blocks(slow_square, range(200), at(started))
    next(results)
    began = time.monotonic()
    started.close()
    with pytest.raises(WorkerError, match=r"the Dask scheduler at .* is gone"):
        list(results)
    assert time.monotonic() - began < 20


class Silent:
    """A client whose scheduler took tasks and says nothing any more."""

    status, scheduler = "running", SimpleNamespace(ncores=None)

    def submit(self, *task, key: str) -> Silent.Future:
        return Silent.Future()

    def sync(self, *call, callback_timeout: float) -> None:
        raise TimeoutError

    class Future:
        status = "pending"

        def add_done_callback(self, call) -> None:
            """Never done."""


def test_a_scheduler_that_stops_answering(monkeypatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.05)
    cut_off = cluster.DaskCluster("tcp://far:1", connect=0.1, patience=0.1, poll=0.02)
    cut_off.client = Silent()
    with pytest.raises(WorkerError, match="the Dask scheduler at tcp://far:1 does not answer"):
        list(cut_off.map(square, range(4), 2, in_order=False))


def test_a_cluster_without_workers(monkeypatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engines, "PATIENCE_SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as started,
        pytest.raises(WorkerError, match="has no worker"),
    ):
        list(map_blocks(square, range(4), at(started)))
