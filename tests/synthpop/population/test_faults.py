"""The k-th call of the system fails, for every k of a small run; memory runs out; power fails."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from synthpop import Pipeline, Structure, open_population
from synthpop.microdata.messages.errors import OutputError
from synthpop.population.verify import verify
from tests.failing import CALLS, Failing, calls_of, contents, every
from tests.small import small_survey

pytestmark = pytest.mark.usefixtures("one_key")

FINISHED = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def fitted():
    return Pipeline([Structure(["age", "sex"])]).fit(small_survey(60), seed=7)


@every(3)
def test_each_call_of_a_run_fails_once(fitted, stride, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "first")  # compiles and imports, which opens files too
    calls = calls_of(lambda: fitted.simulate(out=tmp_path / "whole"))
    whole = contents(tmp_path / "whole")
    assert set(calls) == {*CALLS, "write"}
    assert len(calls) > 30
    for k in range(0, len(calls), stride):
        folder = tmp_path / str(k)
        with pytest.MonkeyPatch.context() as patch:
            Failing(patch, at=k)
            with pytest.raises(OutputError, match=r"cannot write|cannot be used"):
                fitted.simulate(out=folder)
        assert not list(folder.rglob("*.tmp")), k
        assert not list(folder.rglob(".lock")), k
        if "replace" in calls[k:]:  # after the last one the manifest is there
            with pytest.raises(OutputError, match=r"unfinished|holds no population"):
                open_population(folder)
        fitted.simulate(out=folder)
        assert contents(folder) == whole, k
    assert verify(tmp_path / "0") == []


def test_each_call_of_a_resumed_run_fails_once(fitted, tmp_path) -> None:
    fitted.simulate(out=tmp_path)
    whole = contents(tmp_path)
    parts = sorted(name for name in whole if name.endswith(".parquet"))
    k, n = 0, 1
    while k < n:
        (tmp_path / parts[k % len(parts)]).write_bytes(b"torn")
        with pytest.MonkeyPatch.context() as patch:
            failing = Failing(patch, at=k)
            try:
                fitted.simulate(out=tmp_path)
                n = k  # there is no such call any more
            except OutputError:
                n = k + 2
        assert failing.n >= min(k, 1)
        fitted.simulate(out=tmp_path)
        assert contents(tmp_path) == whole
        k += 1
    assert k > 4


def test_memory_that_runs_out_is_told_and_loses_nothing(fitted, tmp_path, monkeypatch) -> None:
    from synthpop.pipeline import write_blocks

    real = write_blocks.simulate_block
    calls = []

    def hungry(recipe, plan):
        calls.append(plan)
        if len(calls) == 2:
            raise MemoryError
        return real(recipe, plan)

    monkeypatch.setattr(write_blocks, "simulate_block", hungry)
    with pytest.raises(MemoryError):
        fitted.simulate(out=tmp_path / "p")
    assert len(list((tmp_path / "p").rglob("*.parquet"))) == 1
    fitted.simulate(out=tmp_path / "p")
    assert len(calls) == 1 + 1 + 2  # the first of three blocks is not made again
    assert verify(tmp_path / "p") == []


@pytest.mark.slow
def test_a_command_without_enough_memory_ends_with_one_message(tmp_path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    code = "from synthpop.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--scale", "60", "--out", str(tmp_path / "p")],
        preexec_fn=limit, capture_output=True, text=True, cwd=FINISHED,
        env={**os.environ, "PYTHONPATH": str(FINISHED)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("synthpop: ")
