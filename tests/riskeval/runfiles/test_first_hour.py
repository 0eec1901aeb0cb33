"""The first hour with one's own file: init, assess, protect, export, by the command line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from riskeval.cli import main
from riskeval.protection.release import release_file
from riskeval.runfiles.runfile import load_assess_plan, load_protect_plan
from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.runs.command import OBJECTION
from tests import console
from tests.small import small_frame

call = partial(console.call, main)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = small_frame(60)
    labels = Dictionary(
        [
            Variable("age", "Age in years", kind="integer", decimals=0),
            Variable("status", "Status", values=((4, "works"), (5, "idle"), (6, "retired"))),
            Variable("sex", "Sex", values=((1, "f"), (2, "m"))),
        ]
    )
    write_table(with_dictionary(frame, labels), tmp_path / "s.parquet")
    return tmp_path


def test_init_writes_plans_that_run(folder: Path) -> None:
    done = call("init", "s.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "age     key" in done.stdout
    text = (folder / "s-assess.toml").read_text()
    assert '"age",  # age: visible to neighbours' in text
    assert load_assess_plan(folder / "s-assess.toml").arguments.weights == "w"
    plan = load_protect_plan(folder / "s-protect.toml")
    assert [verb for verb, _ in plan.steps] == ["global_recode", "local_suppression"]
    assert plan.roles.household == "hid"
    again = call("init", "s.parquet", cwd=folder)
    assert "exists already" in again.stderr
    single = call("init", "s.parquet", "--plan", "assess", "--out", "mine.toml", cwd=folder)
    assert single.returncode == 0
    assert (folder / "mine.toml").read_text() == text
    assert "say which with --plan" in call("init", "s.parquet", "--out", "x", cwd=folder).stderr
    assert call("init", "s.parquet", "--plan", "judge", cwd=folder).returncode == 2  # not written


def test_labels_and_codes_reach_the_protected_file(folder: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    call("init", "s.parquet", "--plan", "protect", cwd=folder)
    done = call("protect", "s-protect.toml", "--out", "safe.sav", "--seed", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    raw, meta = pyreadstat.read_sav(str(folder / "safe.sav"))
    assert meta.column_names_to_labels["status"] == "Status"
    assert set(raw["status"].dropna()) == {4.0, 5.0, 6.0}
    assert meta.variable_value_labels["sex"] == {1.0: "f", 2.0: "m"}
    moved = call("export", "safe.sav", "--to", "safe.csv", "--json", cwd=folder)
    result = json.loads(moved.stdout)
    assert result["rows"] == len(raw)
    assert "labels of variables" in result["losses"][0]
    assert set(pd.read_csv(folder / "safe.csv")["status"].dropna()) == {"works", "idle", "retired"}


def test_a_released_dictionary_tells_nothing_of_the_original() -> None:
    frame = pd.DataFrame({"job": ["clerk", "minister"], "x": [1.0, None]})
    labels = Dictionary(
        [
            Variable("job", "Job", values=((1, "clerk"), (2, "minister"))),
            Variable("x", values=((-9, "no answer"),), missing=((-9, ""),), missing_code=-9),
            Variable("name", "Name"),
        ]
    )
    frame = with_dictionary(frame, labels).iloc[:1]
    released = dictionary_of(release_file(frame, dictionary=labels))
    assert released["job"].values == ((1, "clerk"),)
    assert released["x"].missing_code is None  # a suppressed value is no answer "no answer"
    assert released["x"].values == ()
    assert "name" not in released


def test_limits_decide_the_exit_status_when_asked(folder: Path) -> None:
    text = '[data]\nfile = "s.parquet"\n[assess]\nkeys = ["age", "sex"]\n'
    (folder / "a.toml").write_text(text + 'measures = ["k_anonymity"]\n[limits]\nk = 5\n')
    assert call("assess", "a.toml", cwd=folder).returncode == 0
    assert call("assess", "a.toml", "--fail-on-limit", cwd=folder).returncode == OBJECTION
    (folder / "b.toml").write_text(text + 'measures = ["k_anonymity"]\n[limits]\nk = 1\n')
    assert call("assess", "b.toml", "--fail-on-limit", cwd=folder).returncode == 0


def test_quiet_json_and_verbose_do_what_they_say(folder: Path) -> None:
    (folder / "a.toml").write_text(
        '[data]\nfile = "s.parquet"\n[assess]\nkeys = ["sex"]\nmeasures = ["k_anonymity"]\n'
    )
    plain = call("assess", "a.toml", cwd=folder)
    quiet = call("assess", "a.toml", "--quiet", cwd=folder)
    assert (bool(plain.stdout), quiet.stdout, quiet.stderr) == (True, "", "")
    result = json.loads(call("assess", "a.toml", "--json", cwd=folder).stdout)
    assert result["status"] == 0
    assert {row["measure"] for row in result["measures"]} == {"k_anonymity"}
    assert "assess 0/1 k_anonymity" in call("assess", "a.toml", "--verbose", cwd=folder).stderr
    (folder / "bad.toml").write_text("[data]\nfil = 1\n")
    failed = call("assess", "bad.toml", "--json", cwd=folder)
    faults = json.loads(failed.stdout)["faults"]
    places = {fault["where"]: fault.get("line") for fault in faults}
    assert (failed.returncode, places["[data] fil"]) == (1, 2)


def test_a_dictionary_as_a_table_is_edited_and_applied(folder: Path) -> None:
    pytest.importorskip("pyreadstat")
    from synthpop.cli import main as synthpop

    read_table(folder / "s.parquet").to_csv(folder / "s.csv", index=False)
    made = console.call(synthpop, "dictionary", "s.csv", "--to", "d.csv", cwd=folder)
    assert made.returncode == 0, made.stderr
    table = pd.read_csv(folder / "d.csv", dtype=str)
    assert table["variable"].tolist() == list(read_table(folder / "s.csv").columns)
    table.loc[table["variable"] == "sex", ["label", "values"]] = ["Geschlecht", "1 = f; 2 = m"]
    table.to_csv(folder / "d.csv", index=False)
    done = call("export", "s.csv", "--to", "s.dta", "--dictionary", "d.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    back = dictionary_of(read_table(folder / "s.dta"))["sex"]
    assert (back.label, back.values) == ("Geschlecht", ((1, "f"), (2, "m")))


DATA = '[data]\nfile = "../s.parquet"\n'
INTRUDER = '[intruder]\nkeys = ["sex"]\ntargets = ["status"]\n'
ELSEWHERE = {
    "assess": DATA + '[assess]\nkeys = ["sex"]\n[report]\nfile = "../x.html"\n',
    "protect": 'out = "../x.csv"\n'
    + DATA
    + '[roles]\nkeys = ["sex"]\n[[step]]\nverb = "local_suppression"\nk = 2\n',
    "compare": DATA
    + '[roles]\nkeys = ["sex"]\n[[release]]\nname = "a"\nfile = "../s.parquet"\n'
    + '[report]\nfile = "../x.html"\n',
    "judge": DATA
    + '[synthetic]\nfile = "../s.parquet"\n'
    + INTRUDER
    + '[report]\nfile = "../x.html"\n',
    "intruders": 'out = "../x.csv"\n' + DATA + '[population]\nfile = "../s.parquet"\n' + INTRUDER,
}


@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_run_file_writes_outside_of_its_folder_only_when_told_to(folder: Path, command) -> None:
    (folder / "plans").mkdir()
    (folder / "plans/x.toml").write_text(ELSEWHERE[command])
    done = call(command, "plans/x.toml", cwd=folder)
    assert done.returncode == 1
    assert "is outside of the folder of the run file. Give --anywhere" in done.stderr
    assert not list(folder.glob("x.*"))
    if command == "assess":
        assert call(command, "plans/x.toml", "--anywhere", cwd=folder).returncode == 0
        assert (folder / "x.html").exists()
