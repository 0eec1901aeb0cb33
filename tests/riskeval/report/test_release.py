"""The folder of a protected file that may leave, and what it does not hold."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from riskeval import ProtectionSession, ReleaseFacts
from riskeval.attacks.guessed_seeds import guessed_seeds
from riskeval.cli import main
from riskeval.ledger.consult import LedgerRequest
from riskeval.report.release import release_session
from synthpop.microdata.formats.key_file import read_key_file
from synthpop.microdata.messages.errors import GuaranteeError, InputError, OutputError
from tests import console
from tests.small import small_frame

call = partial(console.call, main)
ALL_THE_SAME = LedgerRequest(facts=ReleaseFacts(despite="a contract"))
PLAN = """
[data]
file = "survey.parquet"

[roles]
keys = ["region", "age", "sex"]
numeric = ["income"]
household = "hid"

[[step]]
verb = "pram"
columns = ["status"]

[[step]]
verb = "add_noise"
variables = ["income"]
level = 0.1
seed = 1

[release]
drop = ["pid"]
"""


@pytest.fixture(autouse=True)
def guesses(monkeypatch) -> list[int]:
    """A few of the numbers that can be guessed: those attacks are tested elsewhere."""
    numbers = list(range(30))
    monkeypatch.setattr("riskeval.attacks.guessed_seeds.guessable_numbers", lambda: numbers)
    return numbers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_frame(80).to_parquet(tmp_path / "survey.parquet")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def session() -> ProtectionSession:
    roles = {"keys": ["region", "age", "sex"], "numeric": ["income"], "household": "hid"}
    return ProtectionSession(small_frame(80), **roles)


def test_a_plan_becomes_a_folder_that_holds_nothing_of_its_making(folder: Path) -> None:
    done = call("release", "plan.toml", "--format", "csv", "--format", "parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    out = folder / "plan-release"
    names = {path.name for path in out.iterdir()}
    assert names == {
        "README.md", "contents.json", "croissant.json", "ddi-codebook.xml", "dictionary.csv",
        "page.html", "protected.csv", "protected.parquet", "ro-crate-metadata.json",
        "verdict.json",
    }  # fmt: skip
    key = read_key_file(folder / "plan.key")
    assert key is not None
    for path in out.iterdir():
        content = path.read_bytes()
        assert key[0].content.hex().encode() not in content
        assert str(key[1]["seed"]).encode() not in content
    contents = json.loads((out / "contents.json").read_text())
    for name, facts in contents["files"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == facts["sha256"]
    verdict = json.loads((out / "verdict.json").read_text())
    assert "None of 30 guesses of the seed" in verdict["notes"][0]
    assert "finds more than chance" in verdict["notes"][0]
    assert verdict["level"] in ("do not publish", "exceeds your limits", "cannot judge")
    assert len(verdict["judged"]) >= 3
    people = pd.read_parquet(out / "protected.parquet")
    steps = [("pram", {"columns": ["status"]}), ("add_noise", {"variables": ["income"]})]
    attack = guessed_seeds(people, steps, household="hid", guesses=range(300))
    assert (attack.found, attack.tried) == ("", ("order of records", "noise", "PRAM"))
    assert "pid" not in people
    assert len(people) == len(small_frame(80))
    again = call("release", "plan.toml", "--to", "second", "--format", "csv", cwd=folder)
    assert again.returncode == 0, again.stderr
    first, second = (pd.read_csv(x / "protected.csv") for x in (out, folder / "second"))
    assert not first.equals(second)  # a fresh order, the same values: the key of the plan is kept
    columns = ["region", "age", "sex", "status", "income"]
    rows = [frame[columns].astype(str).sort_values(columns).reset_index(drop=True)
            for frame in (first, second)]  # fmt: skip
    pd.testing.assert_frame_equal(*rows)


def test_a_step_whose_seed_can_be_guessed_is_refused(tmp_path: Path) -> None:
    job = session()
    job.pram("status", seed=1)
    with pytest.raises(InputError, match="draws from the seed 1, which can be guessed"):
        release_session(job, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_saved_session_is_released(tmp_path: Path) -> None:
    job = session()
    job.pram("status")
    job.save(tmp_path / "job")
    done = call("release", "job", "--to", "out", "--fact", "despite=a contract", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(tmp_path / "out" / "protected.parquet")) == len(small_frame(80))
    for path in (tmp_path / "out").iterdir():
        assert str(job.steps[0].seed).encode() not in path.read_bytes()


def test_formats_and_targets_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="docx is unknown"):
        release_session(session(), tmp_path / "out", formats=["docx"])
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with pytest.raises(OutputError, match="exists already"):
        release_session(session(), tmp_path / "there", ledger=ALL_THE_SAME)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    def failing(draft: Path, passport: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("riskeval.report.release.write_passport", failing)
    with pytest.raises(OutputError, match="no room"):
        release_session(session(), tmp_path / "out", ledger=ALL_THE_SAME)
    assert list(tmp_path.iterdir()) == []


def test_what_must_not_be_published_goes_out_with_a_reason_only(tmp_path: Path) -> None:
    job = session()  # every income stands unchanged in the file
    job.save(tmp_path / "job")
    refused = call("release", "job", "--to", "out", "--ledger", "L", cwd=tmp_path)
    assert refused.returncode == 1
    for part in ("Do not publish this file", "income", "despite=REASON", "Nothing was written"):
        assert part in " ".join(refused.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["job"]
    empty = call("release", "job", "--to", "out", "--fact", "despite= ", cwd=tmp_path)
    assert "gives no reason" in empty.stderr
    release_session(job, tmp_path / "out", ledger=ALL_THE_SAME)
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert (verdict["level"], verdict["despite"]) == ("do not publish", "a contract")
    for name in ("README.md", "ddi-codebook.xml"):
        assert "a contract" in (tmp_path / "out" / name).read_text()
    with pytest.raises(GuaranteeError, match="Do not publish this file"):
        release_session(job, tmp_path / "second")


def test_no_reason_is_kept_where_nothing_speaks_against_the_release(tmp_path: Path) -> None:
    job = ProtectionSession(small_frame(80)[["region"]], keys=["region"])
    release_session(job, tmp_path / "out", ledger=ALL_THE_SAME)
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert verdict["level"] != "do not publish"
    assert "despite" not in verdict


def test_an_order_that_is_kept_is_told(tmp_path: Path) -> None:
    options = {"order": "keep", "language": "de", "ledger": ALL_THE_SAME}
    release_session(session(), tmp_path / "out", **options)
    notes = json.loads((tmp_path / "out" / "verdict.json").read_text())["notes"]
    assert "order of the records is that of the source" in notes[1]
    assert 'lang="de"' in (tmp_path / "out" / "page.html").read_text()
