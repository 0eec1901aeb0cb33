"""The command line of the risk evaluation."""

from __future__ import annotations

import stat
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from riskeval import protect
from riskeval.cli import main
from riskeval.runfiles.runfile import load_protect_plan
from synthpop.microdata.formats.key_file import read_key_file
from synthpop.microdata.messages.errors import RunFileError
from tests import console
from tests.small import small_frame

RISKEVAL = [sys.executable, "-c", "from riskeval.cli import main; main()"]
call = partial(console.call, main)
ASSESS = """
[data]
file = "survey.parquet"

[assess]
keys = ["region", "size", "age", "sex"]
weights = "w"
household = "hid"
sensitive = ["status"]
measures = ["frequencies", "k_anonymity", "individual_risk", "l_diversity"]

[limits]
k = 2

[report]
title = "Risk of the small survey"
"""
PROTECT = """
out = "safe.csv"

[data]
file = "survey.parquet"

[roles]
keys = ["region", "size", "age", "sex"]
weights = "w"

[[step]]
verb = "global_recode"
column = "age"
breaks = [0, 15, 39, 64, 120]

[[step]]
verb = "local_suppression"
k = 3

[[step]]
verb = "pram"
columns = ["status"]
"""


def test_the_original_is_never_overwritten(tmp_path: Path) -> None:
    small_frame(60).to_parquet(tmp_path / "survey.parquet")
    before = (tmp_path / "survey.parquet").read_bytes()
    (tmp_path / "plan.toml").write_text(PROTECT)
    done = call(
        "protect", "plan.toml", "--out", "../" + tmp_path.name + "/survey.parquet", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "is a file that is read, which would be lost" in done.stderr
    assert (tmp_path / "survey.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("assess", "."), "cannot be read"),
        (("protect", "plan.toml", "--seed", -1), "must not be negative"),
    ],
)
def test_faulty_arguments_are_told(tmp_path: Path, arguments: tuple, message: str) -> None:
    small_frame(60).to_parquet(tmp_path / "survey.parquet")
    (tmp_path / "plan.toml").write_text(PROTECT)
    (tmp_path / "assess.toml").write_text(ASSESS)
    done = call(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("steps", ['[[step]]\nverb = ["x"]', 'step = ["x"]'])
def test_steps_of_a_wrong_type(tmp_path: Path, steps: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(steps + '\n[data]\ndemo = true\n[roles]\nkeys = ["age"]\n')
    with pytest.raises(RunFileError, match="step"):
        load_protect_plan(file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_frame().to_parquet(tmp_path / "survey.parquet")
    (tmp_path / "assess.toml").write_text(ASSESS, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PROTECT, encoding="utf-8")
    return tmp_path


def test_assess_writes_a_page_and_says_what_the_numbers_mean(folder: Path) -> None:
    done = call("assess", "assess.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2-anonymity" in done.stdout
    page = (folder / "assess.html").read_text(encoding="utf-8")
    assert "Risk of the small survey" in page
    assert "Main issues" in page
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")


def test_an_external_page_shows_no_single_record(folder: Path) -> None:
    text = ASSESS + 'audience = "external"\nfile = "page.html"\n'
    (folder / "assess.toml").write_text(text, encoding="utf-8")
    assert call("assess", "assess.toml", cwd=folder).returncode == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<svg" not in page
    assert "highest risk" not in page


def test_out_wins(folder: Path) -> None:
    assert call("assess", "assess.toml", "--out", "other.html", cwd=folder).returncode == 0
    assert (folder / "other.html").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("keys =", "kees =", "kees: is unknown. Did you mean 'keys'?"),
        ('"age", "sex"]', '"agee", "sex"]', "Did you mean 'age'"),
        ('weights = "w"', 'weights = "sex"', "not numbers"),
        ("[limits]\nk = 2", "[limits]\nkk = 2", "kk"),
        ("survey.parquet", "none.parquet", "no such file"),
        ('file = "survey.parquet"', "", "needs file or demo = true"),
        ("[data]", "[dta]", "Did you mean 'data'?"),
    ],
)
def test_bad_input_is_a_message_and_a_status(
    folder: Path, old: str, new: str, message: str
) -> None:
    assert old in ASSESS
    (folder / "assess.toml").write_text(ASSESS.replace(old, new, 1), encoding="utf-8")
    done = call("assess", "assess.toml", cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("*.html"))


def test_protect_writes_file_and_report_and_repeats_with_a_seed(folder: Path) -> None:
    done = call("protect", "plan.toml", "--seed", 5, cwd=folder)
    assert done.returncode == 0, done.stderr
    safe = pd.read_csv(folder / "safe.csv")
    assert safe["age"].nunique() == 4
    assert (folder / "plan.html").exists()
    again = call("protect", "plan.toml", "--seed", 5, "--out", "again.csv", cwd=folder)
    assert again.returncode == 0
    other = call("protect", "plan.toml", "--seed", 6, "--out", "other.csv", cwd=folder)
    assert other.returncode == 0

    def records(name: str) -> list[tuple[object, ...]]:
        return sorted(map(tuple, pd.read_csv(folder / name).astype(str).to_numpy().tolist()))

    assert records("safe.csv") == records("again.csv") != records("other.csv")
    first = (folder / "safe.csv").read_bytes()
    assert first == (folder / "again.csv").read_bytes()  # seed and key repeat the file


def test_protect_draws_from_a_key_beside_the_plan(folder: Path) -> None:
    runs = {}
    for name in ("first", "second"):
        done = call("protect", "plan.toml", "--seed", 5, "--out", f"{name}.csv", cwd=folder)
        assert done.returncode == 0, done.stderr
        key = read_key_file(folder / "plan.key")
        assert key is not None
        assert key[1]["seed"] == 5
        shown = [done.stdout, done.stderr, (folder / "plan.html").read_text()]
        assert not any(key[0].content.hex() in text for text in shown)
        assert stat.S_IMODE((folder / "plan.key").stat().st_mode) == 0o600
        runs[name] = (folder / f"{name}.csv").read_bytes()
        (folder / "plan.key").rename(folder / f"{name}.key")
    assert runs["first"] != runs["second"]  # the seed alone gives nothing back
    back = ("protect", "plan.toml", "--key", "first.key", "--out", "back.csv")
    assert call(*back, cwd=folder).returncode == 0
    assert (folder / "back.csv").read_bytes() == runs["first"]
    refused = call("protect", "plan.toml", "--key", "second.key", cwd=folder)
    assert refused.returncode == 1
    assert "holds another key, which is not overwritten" in refused.stderr
    # the same key and another plan: another order, so that two files are not joined by their rows
    plan = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(plan + "# changed\n", encoding="utf-8")
    changed = call("protect", "plan.toml", "--out", "changed.csv", cwd=folder)
    assert changed.returncode == 0, changed.stderr
    assert (folder / "changed.csv").read_bytes() != runs["first"]


def test_protect_keeps_the_order_where_the_plan_says_so(folder: Path) -> None:
    plan = PROTECT + '\n[release]\norder = "keep"\n'
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    names = ("first.csv", "second.csv")
    for name in names:
        assert call("protect", "plan.toml", "--seed", 5, "--out", name, cwd=folder).returncode == 0
    first, second = (pd.read_csv(folder / name) for name in names)
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('verb = "pram"', 'verb = "prm"', "verb 'prm' is unknown. Did you mean 'pram'?"),
        ('verb = "pram"', "", "has no verb"),
        ('column = "age"', 'column = "agee"', "Did you mean 'age'"),
        ("k = 3", 'k = "three"', "k"),
        (PROTECT[PROTECT.index("[[step]]") :], "", "[[step]]: there is none"),
    ],
)
def test_bad_plans(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "plan.toml").write_text(PROTECT.replace(old, new, 1), encoding="utf-8")
    done = call("protect", "plan.toml", cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "safe.csv").exists()


def test_which_verbs_draw() -> None:
    assert protect.VERBS["pram"].draws
    assert not protect.VERBS["global_recode"].draws
    assert {"pram", "record_swap"} <= {verb for verb in protect.VERBS if protect.VERBS[verb].draws}


def test_the_command_ends_with_a_status_that_a_script_sees(folder: Path) -> None:
    command = [*RISKEVAL, "assess", "none.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "riskeval: " in done.stderr
    assert "Traceback" not in done.stderr


GERMAN = "alter;geschlecht;lohn;w\n" + "".join(
    f"{20 + i % 9};{'mf'[i % 2]};{i},5;{2 + i % 3},25\n" for i in range(60)
)
INTRUDER = '[intruder]\nkeys = ["alter", "geschlecht"]\ntargets = ["lohn"]\n'
PLANS = {
    "compare": '[roles]\nkeys = ["alter", "geschlecht"]\n[[release]]\nname = "b"\nfile = "b.csv"\n'
    'replicates = ["c.csv"]\n',
    "judge": '[synthetic]\nfile = "b.csv"\n[holdout]\nfile = "c.csv"\n' + INTRUDER,
    "intruders": '[population]\nfile = "b.csv"\n[holdout]\nfile = "c.csv"\n' + INTRUDER,
}


@pytest.fixture
def german(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text(GERMAN, encoding="utf-8")
    return tmp_path


def test_assess_tells_how_it_read_the_file(german: Path) -> None:
    text = '[data]\nfile = "a.csv"\n[assess]\nkeys = ["alter"]\nmeasures = ["frequencies"]\n'
    (german / "a.toml").write_text(text, encoding="utf-8")
    done = call("assess", "a.toml", cwd=german)
    assert done.returncode == 0
    assert "a.csv: read with separator ';'.\na.csv: read with decimal comma in" in done.stdout
    quiet = call("assess", "a.toml", "--quiet", cwd=german)
    assert (quiet.returncode, quiet.stdout) == (0, "")


@pytest.mark.parametrize("command", PLANS)
def test_every_text_file_of_a_plan_is_told(
    command: str, german: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module(f"riskeval.runfiles.{command}")
    work = {"judge": "assess_synthetic", "intruders": "intruder_scenarios"}.get(command, command)
    monkeypatch.setattr(module, work, lambda *_, **__: None)
    (german / "x.toml").write_text('[data]\nfile = "a.csv"\n' + PLANS[command], encoding="utf-8")
    notes: list[str] = []
    getattr(module, f"load_{command}_plan")(german / "x.toml").run(
        on_event=lambda event: notes.append(event.detail)
    )
    assert {note.split(":")[0] for note in notes} == {"a.csv", "b.csv", "c.csv"}
    assert all("read with" in note for note in notes)
