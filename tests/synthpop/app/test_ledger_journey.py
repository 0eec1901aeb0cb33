"""The journey "ledger" without a browser: register a release, and see what the next one tells."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("shiny")

from riskeval import Ledger, ReleaseFacts
from riskeval.protect import local_suppression
from riskeval.protection.release import release_file
from synthpop.app.tab import Tab
from tests.small import small_frame
from tests.synthpop.app.helpers import do, open_tab, play

KEYS = ["region", "age", "sex"]
ROLES = {"region": "keys", "age": "keys", "sex": "keys", "hid": "household"}
CLEAR = "No objection was found"


def release(*importance: int) -> pd.DataFrame:
    """A file that is 3-anonymous by itself."""
    people = small_frame(120).drop(columns="pid")
    file = local_suppression(people, KEYS, k=3, importance=importance).data
    return release_file(file, household="hid", seed=importance[0])


def opened(folder: Path, frame: pd.DataFrame, ledger: Path) -> Tab:
    """Return a tab on the page of the verdict of a file."""
    project = folder / "project"
    project.mkdir()
    tab = open_tab(project, frame)
    play(tab, [do("choose_journey", journey="ledger"),
               do("ledger.choose_folder", folder=str(ledger)),
               do("ledger.open_release", name="second.parquet", file="data-1.parquet"),
               do("ledger.set_roles", roles=ROLES), do("choose_page", page="verdict")])  # fmt: skip
    return tab


def first(ledger: Path) -> None:
    facts = ReleaseFacts(recipients="University of Northport")
    Ledger(ledger).add(release(1, 2, 3), "first", keys=KEYS, household="hid", facts=facts)


def shown(tab: Tab) -> str:
    page = tab.page()
    assert page is not None
    return str(page.render(tab.view()))


def recorded(**entries: str) -> dict[str, object]:
    return {"action": "record", "entries": {"name": "second", "recipients": "all", **entries}}


def test_a_release_that_tells_too_much_needs_a_reason(tmp_path: Path) -> None:
    first(tmp_path / "ledger")
    tab = opened(tmp_path, release(3, 1, 2), tmp_path / "ledger")
    assert tab.view().fault("ledger.check") == ""
    text = shown(tab)
    assert "Do not publish this file" in text
    assert "University of Northport" in text
    play(tab, [recorded()])
    assert tab.notice is not None
    assert tab.notice.kind == "fault"
    assert len(Ledger(tmp_path / "ledger").releases) == 1
    play(tab, [recorded(despite="a contract", recodings="ages in tens; no villages")])
    row = Ledger(tmp_path / "ledger").releases.iloc[1]
    assert [row[name] for name in ("name", "recipients", "despite", "keys", "household")] == [
        "second", "all", "a contract", KEYS, "hid"]  # fmt: skip
    assert row["recodings"] == ["ages in tens", "no villages"]
    assert row["verdict"] == "do not publish"
    assert "a contract" in shown(tab)  # the list is read again


def test_the_same_cells_do_not_alarm_and_are_recorded(tmp_path: Path) -> None:
    first(tmp_path / "ledger")
    again = release_file(release(1, 2, 3), household="hid", seed=9)
    tab = opened(tmp_path, again, tmp_path / "ledger")
    assert CLEAR in shown(tab)
    play(tab, [recorded()])
    assert Ledger(tmp_path / "ledger").releases["verdict"].tolist()[1].startswith("no objection")


def test_a_consistent_file_is_written(tmp_path: Path) -> None:
    first(tmp_path / "ledger")
    tab = opened(tmp_path, release(3, 1, 2), tmp_path / "ledger")
    play(tab, [{"action": "job", "name": "ledger.consistent", "arguments": {}}])
    assert tab.download == "second-consistent.parquet"
    file = pd.read_parquet(tmp_path / "project" / "out" / tab.download)
    after = Ledger(tmp_path / "ledger").check(file, keys=KEYS, household="hid")
    assert int(after.below.sum()) == 0
    assert tab.notice is not None
    assert CLEAR in tab.notice.text


def test_question_and_kind_count(tmp_path: Path) -> None:
    first(tmp_path / "ledger")
    tab = opened(tmp_path, release(3, 1, 2), tmp_path / "ledger")
    play(tab, [do("ledger.set_question", k=5, wave="2027")])
    assert "match fewer than 5" in shown(tab)
    play(tab, [do("ledger.set_kind", kind="synthetic")])
    assert "synthetic files of one fit" in shown(tab)
    play(tab, [do("choose_language", language="de")])
    assert "Zusammen mit allen früheren Freigaben" in shown(tab)


def test_a_folder_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.docx").touch()
    tab = opened(tmp_path, release(1, 2, 3), tmp_path / "other")
    assert "is no ledger" in tab.view().fault("ledger.check")
    assert "is no ledger" in shown(tab)
    play(tab, [do("ledger.choose_folder", folder="relative/path")])
    assert tab.notice is not None
    assert "whole path" in tab.notice.text


def test_empty_cells_stay_empty_in_german(tmp_path: Path) -> None:
    """The key of a catalogue's own header is the empty text."""
    first(tmp_path / "ledger")
    tab = opened(tmp_path, release(3, 1, 2), tmp_path / "ledger")
    play(tab, [do("choose_language", language="de")])
    assert "Project-Id-Version" not in shown(tab)
    assert "Empfänger" in shown(tab)
