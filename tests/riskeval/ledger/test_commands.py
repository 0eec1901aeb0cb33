"""The commands of the ledger, and commands that make releases and ask it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from riskeval import GuaranteeError, InputError, Ledger, ProtectionSession, ReleaseFacts
from riskeval.cli import main
from riskeval.ledger.consult import LedgerRequest, ledger_request, read_facts, read_roles
from riskeval.protect import local_suppression
from riskeval.protection.release import release_file
from riskeval.report.release import release_session
from tests import console
from tests.small import small_frame

call = partial(console.call, main)
KEYS = ["region", "age", "sex"]
ROLES = {"keys": KEYS, "household": "hid"}
OPTIONS = [*(part for key in KEYS for part in ("--role", f"key={key}")), "--role", "household=hid"]
TOLD = ("recipients=everybody", "recodings=ages", "randomness=none", "date=2026-01-02", "wave=2026")
FACTS = [part for fact in TOLD for part in ("--fact", fact)]


def suppressed(*importance: int) -> pd.DataFrame:
    people = small_frame(120).drop(columns="pid")
    file = local_suppression(people, KEYS, k=3, importance=importance).data
    return release_file(file, household="hid")


def session(*importance: int) -> ProtectionSession:
    job = ProtectionSession(small_frame(120).drop(columns="pid"), **ROLES)
    job.local_suppression(k=3, importance=list(importance))
    return job


def test_files_are_recorded_checked_and_made_consistent(tmp_path: Path) -> None:
    suppressed(1, 2, 3).to_parquet(tmp_path / "a.parquet")
    suppressed(3, 1, 2).to_parquet(tmp_path / "b.parquet")
    done = call("ledger", "add", "L", "a.parquet", *OPTIONS, *FACTS,
                "--role", "sensitive=status", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = Ledger(tmp_path / "L").releases.iloc[0]
    assert [row[name] for name in ("name", "recipients", "recodings", "randomness", "date", "wave",
                                   "sensitive", "keys")] == [
        "a", "everybody", ["ages"], ["none"], "2026-01-02", "2026", ["status"], KEYS]  # fmt: skip
    assert "1. 2026-01-02 a for everybody" in call("ledger", "show", "L", cwd=tmp_path).stdout
    done = call("ledger", "check", "L", "b.parquet", *OPTIONS, "--fact", "wave=2026",
                "--consistent", "c.parquet", "--json", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["verdict"]["level"] == "do not publish"
    assert answer["after"]["level"] == "no objection found by what was tried"
    assert len(pd.read_parquet(tmp_path / "c.parquet")) == len(suppressed(1, 2, 3))
    for file, status in (("b.parquet", 3), ("c.parquet", 0)):
        done = call("ledger", "check", "L", file, *OPTIONS, "--fail-on-limit", cwd=tmp_path)
        assert done.returncode == status, done.stderr
    again = call("ledger", "check", "L", "b.parquet", *OPTIONS, "--consistent", "c.parquet",
                 cwd=tmp_path)  # fmt: skip
    assert again.returncode == 1
    assert "exists already" in again.stderr
    for command in ("show", "check", "add"):
        text = call("ledger", command, "-h", cwd=tmp_path).stdout
        assert "Example: riskeval ledger" in text
        assert "--json" in text


def test_a_release_asks_the_ledger_and_is_recorded(tmp_path: Path) -> None:
    facts = ReleaseFacts(recipients="everybody")
    ledger = LedgerRequest(tmp_path / "L", facts)
    folder = release_session(session(1, 2, 3), tmp_path / "first", ledger=ledger)
    row = Ledger(tmp_path / "L").releases.iloc[0]
    assert row["name"] == "first"
    assert row["keys"] == KEYS
    assert row["recipients"] == "everybody"
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["level"] == row["verdict"]
    assert not {"value", "records", "text"} & {key for one in verdict["evidence"] for key in one}
    with pytest.raises(
        GuaranteeError, match=r"match fewer than 3, 0 by this file alone.*despite=REASON"
    ):
        release_session(session(3, 1, 2), tmp_path / "second", ledger=ledger)
    assert not (tmp_path / "second").exists()
    assert len(Ledger(tmp_path / "L").releases) == 1
    despite = LedgerRequest(tmp_path / "L", ReleaseFacts(despite="a contract"))
    release_session(session(3, 1, 2), tmp_path / "other" / "first", ledger=despite)
    assert Ledger(tmp_path / "L").releases["name"].tolist() == ["first", "first (2)"]
    assert Ledger(tmp_path / "L").releases["despite"].tolist() == ["", "a contract"]


def test_facts_and_roles_are_read_or_refused() -> None:
    with pytest.raises(InputError, match="Give --ledger"):
        ledger_request(None, ["recipients=everybody"])
    assert ledger_request(None, ["despite=a reason"]).facts == ReleaseFacts(despite="a reason")
    request = ledger_request(Path("L"), ["recipients=all", "wave=2026", "despite=a reason"])
    assert request.folder == Path("L")
    assert request.facts == ReleaseFacts((), "all", (), "2026", "", "a reason")
    with pytest.raises(InputError, match="is no fact"):
        read_facts(["colour=red"])
    with pytest.raises(InputError, match="is no role"):
        read_roles(["colour=red"])
