"""The command line as a user calls it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synthpop import open_population
from synthpop.cli import main
from synthpop.microdata.runs.command import Stopped
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.population.run_key import read_key
from tests import console
from tests.small import small_frame
from tests.synthpop.runfiles.test_runfile import TEXT

SYNTHPOP = [sys.executable, "-c", "from synthpop.cli import main; main()"]


call = partial(console.call, main)


def in_a_process(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SYNTHPOP, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_frame().to_parquet(tmp_path / "survey.parquet")
    (tmp_path / "run.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("way", [call, pytest.param(in_a_process, marks=pytest.mark.slow)])
def test_run_writes_population_and_report_and_stays_quiet(folder: Path, way: Any) -> None:
    done = way("run", "run.toml", "--workers", 2, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Synthetic population of" in done.stdout
    assert (folder / "run" / "report.html").stat().st_size > 10_000
    stored = read_key(folder / "run")
    assert stored is not None
    assert stored[1]["seed"] == 7
    identity = open_population(folder / "run").manifest.identity
    assert identity.seed == stored[0].seal("seed", 7)
    good = call("verify", "run", cwd=folder)
    assert (good.returncode, "is complete and unchanged" in good.stdout) == (0, True)
    next((folder / "run").rglob("*.parquet")).unlink()
    bad = call("verify", "run", cwd=folder)
    assert bad.returncode == 1
    assert "is missing" in bad.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "run.toml", "--seed", -1), "must not be negative"),
        (("run", "."), "cannot be read"),
        (("run", "run.toml", "--workers", "²"), "is not understood"),
        (("init", "survey.parquet", "--out", "run.toml/x.toml"), "cannot write"),
    ],
)
def test_faulty_arguments_are_told(folder: Path, arguments: tuple, message: str) -> None:
    done = call(*arguments, cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_risk_variables_are_checked_before_the_population_is_written(folder: Path) -> None:
    with (folder / "run.toml").open("a") as file:
        file.write('\n[risk]\nkeys = ["agee"]\ntarget = "status"\n')
    done = call("run", "run.toml", cwd=folder)
    assert done.returncode == 1
    assert "Did you mean 'age'?" in done.stderr
    assert not (folder / "run").exists()


def test_options_win_over_the_run_file(folder: Path) -> None:
    done = call("run", "run.toml", "--seed", 9, "--out", "elsewhere", cwd=folder)
    assert done.returncode == 0, done.stderr
    stored = read_key(folder / "elsewhere")
    assert stored is not None
    assert stored[1]["seed"] == 9
    assert stored[0].content.hex() not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seed = 7", "sed = 7"), "[run] sed: is unknown. Did you mean 'seed'?"),
        (('weight = "w"', 'weight = "ww"'), "column given as weight is not in the data"),
        (("survey.parquet", "nothing.parquet"), "there is no such file"),
        (('predictors = ["age_class", "sex"]', 'predictors = ["income"]'), "will not have it here"),
    ],
)
def test_bad_input_is_a_message_and_a_status(folder: Path, change, message: str) -> None:
    (folder / "run.toml").write_text(TEXT.replace(*change), encoding="utf-8")
    done = call("run", "run.toml", cwd=folder)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "run").exists()


def test_bad_weights_are_all_named(folder: Path) -> None:
    frame = small_frame()
    frame.loc[[0, 1], "w"] = [0.0, float("inf")]
    frame.to_parquet(folder / "survey.parquet")
    done = call("run", "run.toml", cwd=folder)
    assert done.returncode == 1
    assert "weight is zero (1 row: 0)" in done.stderr
    assert "weight is infinite (1 row: 1)" in done.stderr


def test_another_run_in_the_folder(folder: Path) -> None:
    assert call("run", "run.toml", cwd=folder).returncode == 0
    done = call("run", "run.toml", "--seed", 8, cwd=folder)
    assert done.returncode == 1
    assert "holds another run: it differs in seed" in done.stderr


def test_init_writes_a_run_file_and_never_over_one(folder: Path) -> None:
    done = call("init", "survey.parquet", cwd=folder)
    assert done.returncode == 0
    assert "[[stage]]" in (folder / "survey.toml").read_text(encoding="utf-8")
    again = call("init", "survey.parquet", cwd=folder)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    (folder / "german.csv").write_text("pid;Gewicht;sex\n1;10,5;m\n2;9,5;f\n", encoding="utf-8")
    done = call("init", "german.csv", cwd=folder)
    assert "Read with separator ';'.\nRead with decimal comma in 'Gewicht'." in done.stdout


def test_init_checks_its_own_recipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from synthpop.runfiles import template

    text = template.template_text
    monkeypatch.setattr(
        template,
        "template_text",
        lambda *given: text(*given).replace('["age", "sex', '["agee", "sex'),
    )
    done = call("init", "survey.parquet", cwd=folder)
    assert "Correct there before you run it" in done.stdout
    assert "'agee'" in done.stdout


def test_version_and_help(tmp_path: Path) -> None:
    assert re.match(r"\d+\.\d+\.\d+", call("--version", cwd=tmp_path).stdout)
    assert "demo" in in_a_process("--help", cwd=tmp_path).stdout


def test_a_key_file_repeats_a_run_whose_file_names_no_seed(folder: Path) -> None:
    """The seed stands beside the key."""
    (folder / "run.toml").write_text(TEXT.replace("seed = 7", ""), encoding="utf-8")
    assert call("run", "run.toml", "--out", "first", cwd=folder).returncode == 0
    again = call("run", "run.toml", "--out", "again", "--key", "first/run.key", cwd=folder)
    assert again.returncode == 0, again.stderr
    parts = sorted((folder / "first").rglob("part-*.parquet"))
    assert parts
    for path in parts:
        other = folder / "again" / path.relative_to(folder / "first")
        assert path.read_bytes() == other.read_bytes()


@pytest.mark.slow  # a second process; tests/test_crash.py has every state in this one
def test_a_process_killed_in_the_middle_resumes(folder: Path) -> None:
    text = TEXT.replace("scale = 2.0", "scale = 6.0\nrows_per_block = 600")
    (folder / "run.toml").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [*SYNTHPOP, "run", "run.toml", "--out", "killed"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list((folder / "killed").rglob("*.parquet"))) < 3:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    found = len(list((folder / "killed").rglob("part-*.parquet")))
    assert found >= 3
    assert call("run", "run.toml", "--out", "killed", cwd=folder).returncode == 0
    again = call("run", "run.toml", "--out", "whole", "--key", "killed/run.key", cwd=folder)
    assert again.returncode == 0, again.stderr
    for path in (folder / "whole").rglob("*.parquet"):
        other = folder / "killed" / path.relative_to(folder / "whole")
        assert path.read_bytes() == other.read_bytes()
    pd.testing.assert_frame_equal(
        open_population(folder / "killed").households(),
        open_population(folder / "whole").households(),
    )


STEP = """
[[stage]]
type = "distribute"
name = "area"
within = "region"

[[stage.margins]]
level = "household"
table = [
    {region = "north", area = "A", total = 40}, {region = "south", area = "B", total = 40},
    {region = "west", area = "C", total = 40},
]
"""


@pytest.mark.parametrize(
    ("step", "message"), [("", "finished blocks are kept"), (STEP, "million persons begins again")]
)
def test_what_a_stopped_run_goes_on_with_depends_on_its_steps(
    folder: Path, monkeypatch, step: str, message: str
) -> None:
    def stopped(*arguments, **options) -> None:
        raise Stopped(130)

    (folder / "run.toml").write_text(TEXT + step, encoding="utf-8")
    monkeypatch.setattr(FittedPipeline, "simulate", stopped)
    done = call("run", "run.toml", cwd=folder)
    assert message in done.stderr
    assert done.stderr.startswith("synthpop: stopped. Run it again: ")


@pytest.mark.parametrize("workers", ["1", "processes:2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_stopped_run_says_what_is_kept_and_leaves_no_process(
    folder: Path, workers: str, number: signal.Signals
) -> None:
    text = TEXT.replace("scale = 2.0", "scale = 300.0\nrows_per_block = 20000")
    (folder / "run.toml").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [*SYNTHPOP, "run", "run.toml", "--workers", workers],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list((folder / "run").rglob("*.parquet"))) < 3:
        time.sleep(0.05)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)  # ends once nobody holds the pipes any more
    assert process.returncode == 128 + number
    assert "synthpop: stopped. Run it again: finished blocks are kept.\n" in errors
    assert "Traceback" not in errors
    assert not list(folder.rglob(".lock"))
    assert not list(folder.rglob("*.tmp"))
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and of_group(process.pid):
        time.sleep(0.1)
    assert of_group(process.pid) == []


def of_group(group: int) -> list[int]:
    """Processes of a group that are still running."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    members = []
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] not in "ZX":
            members.append(pid)
    return members


def test_verify_covers_the_report_and_repairs_what_is_damaged(folder: Path) -> None:
    assert call("run", "run.toml", cwd=folder).returncode == 0
    good = {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()}
    report = folder / "run" / "report.html"
    assert stat.S_IMODE(report.stat().st_mode) == 0o600  # internal: not to be released
    report.write_bytes(report.read_bytes().replace(b"</html>", b"</html> "))
    parts = sorted((folder / "run").rglob("*.parquet"))
    parts[0].write_bytes(parts[0].read_bytes()[:-1])
    times = [path.stat().st_mtime_ns for path in parts]
    bad = call("verify", "run", cwd=folder)
    assert (bad.returncode, "report.html was changed" in bad.stderr) == (1, True)
    done = call("verify", "run", "--repair", "run.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "part-0000.parquet was changed" in done.stdout
    assert "is complete and unchanged" in done.stdout
    assert {p: p.read_bytes() for p in (folder / "run").rglob("*") if p.is_file()} == good
    assert [path.stat().st_mtime_ns for path in parts][1:] == times[1:]  # only what was damaged


def test_the_risk_that_init_proposes_on_a_csv_with_empty_cells(tmp_path: Path) -> None:
    small_frame(150).to_csv(tmp_path / "survey.csv", index=False)
    assert call("init", "survey.csv", cwd=tmp_path).returncode == 0
    text = (tmp_path / "survey.toml").read_text(encoding="utf-8")
    for commented in ("[risk]", "keys = ", "target = "):
        assert text.count(f"# {commented}") == 1
        text = text.replace(f"# {commented}", commented)
    (tmp_path / "survey.toml").write_text(text, encoding="utf-8")
    done = call("run", "survey.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "survey" / "report.html").read_text(encoding="utf-8")
    assert "Found, if so" in page
    assert "NA&gt;" not in page
    assert call("report", "survey", cwd=tmp_path).returncode == 0


def test_verify_tells_a_run_whose_report_did_not_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("run", "run.toml", cwd=folder).returncode == 0
    good = (folder / "run" / "manifest.json").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("synthpop.report.stored.write_text", lambda *_, **__: 1 / 0)
        assert call("run", "run.toml", cwd=folder).returncode == 1  # the report was there before
        bad = call("verify", "run", cwd=folder)
        assert bad.returncode == 1
        assert "report.html was not finished" in bad.stderr
        assert "report-facts.json was not finished" in bad.stderr
        shutil.copy(folder / "run" / "run.key", folder / "same.key")
        shutil.rmtree(folder / "run")
        assert call("run", "run.toml", "--key", "same.key", cwd=folder).returncode == 1
        assert call("verify", "run", cwd=folder).returncode == 1
    assert call("verify", "run", "--repair", "run.toml", cwd=folder).returncode == 0
    assert (folder / "run" / "manifest.json").read_bytes() == good


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[run]", '[run]\nout = "../elsewhere"'), "outside of the folder of the run file"),
        (("[run]", '[report]\nfile = "../mine.html"\n[run]'), "outside of the folder of the pop"),
        (("[run]", '[report]\nfile = "/mine.html"\n[run]'), "outside of the folder of the pop"),
    ],
)
def test_a_run_file_does_not_write_anywhere(folder: Path, change: tuple, message: str) -> None:
    (folder / "sub").mkdir()
    (folder / "survey.parquet").rename(folder / "sub" / "survey.parquet")
    (folder / "sub" / "run.toml").write_text(TEXT.replace(*change), encoding="utf-8")
    done = call("run", "sub/run.toml", cwd=folder)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    assert "--anywhere" in done.stderr
    assert [path.name for path in folder.rglob("*.parquet")] == ["survey.parquet"]


def test_a_page_that_is_not_ours_is_not_overwritten(folder: Path) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "report.html").write_text("<html>my page</html>")
    done = call("run", "run.toml", cwd=folder)
    assert "no report of synthpop" in done.stderr
    assert (folder / "run" / "report.html").read_text() == "<html>my page</html>"


def test_with_permission_a_run_file_writes_elsewhere(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "survey.parquet").rename(folder / "sub" / "survey.parquet")
    text = TEXT.replace("[run]", '[run]\nout = "../elsewhere"')
    (folder / "sub" / "run.toml").write_text(text, encoding="utf-8")
    done = call("run", "sub/run.toml", "--anywhere", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "elsewhere" / "report.html").exists()


CALIBRATE = """
[survey]
file = "survey.parquet"
weight = "w"
household = "hid"

[calibrate]
method = "raking"

[[calibrate.margin]]
file = "sex.csv"
size = 9000

[[calibrate.margin]]
file = "regions.csv"
level = "household"
"""


@pytest.fixture
def totals(folder: Path) -> Path:
    (folder / "sex.csv").write_text("sex,total\nf,0.55\nm,0.45\n")
    (folder / "regions.csv").write_text("region,total\nnorth,1700\nsouth,1000\nwest,700\n")
    (folder / "cal.toml").write_text(CALIBRATE)
    return folder


def test_the_demo_names_its_own_options(tmp_path: Path) -> None:
    done = call("demo", "--scale", -1, "--seed", -2, cwd=tmp_path)
    assert done.returncode == 1
    assert "demo: 2 faults" in done.stderr
    assert "--scale: is -1.0" in done.stderr
    assert "run file" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_calibrate_writes_the_survey_and_its_controls(totals: Path) -> None:
    done = call("calibrate", "cal.toml", "--out", "out.parquet", cwd=totals)
    assert done.returncode == 0, done.stderr
    survey = pd.read_parquet(totals / "out.parquet")
    assert survey.groupby("sex")["w"].sum().round(2).to_dict() == {"f": 4950.0, "m": 4050.0}
    controls = pd.read_csv(totals / "out-controls.csv")
    assert controls["relative_error"].abs().max() < 1e-5
    assert len(controls) == 5


def test_calibrate_says_what_does_not_fit(totals: Path) -> None:
    (totals / "sex.csv").write_text("sex,total\nf,0.55\nx,0.45\n")
    done = call("calibrate", "cal.toml", cwd=totals)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "x" in done.stderr
    assert not list(totals.glob("*calibrated*"))


def test_run_calibrates_first(totals: Path) -> None:
    stages = TEXT[TEXT.index("[[stage]]") :]
    (totals / "cal.toml").write_text(CALIBRATE + stages)
    done = call("run", "cal.toml", "--seed", 1, "--out", "p", cwd=totals)
    assert done.returncode == 0, done.stderr
    households = open_population(totals / "p").n_households
    assert abs(households - 3400) < 5
    assert call("calibrate", "run.toml", cwd=totals).returncode == 1


def test_sample_draws_whole_households_with_weights(folder: Path) -> None:
    assert call("run", "run.toml", cwd=folder).returncode == 0
    arguments = ["sample", "run", "-n", 100, "--strata", "region", "--seed", 3, "--out", "s.csv"]
    done = call(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    drawn = pd.read_csv(folder / "s.csv")
    people = open_population(folder / "run").frame()
    assert drawn["hid"].nunique() == 100
    assert (drawn.groupby("hid").size() == drawn.groupby("hid")["size"].first()).all()
    total = drawn.drop_duplicates("hid")["design_weight"].sum()
    assert abs(total - people["hid"].nunique()) < 1e-6
    assert call(*arguments[:-1], "t.csv", cwd=folder).returncode == 0
    assert (folder / "s.csv").read_bytes() == (folder / "t.csv").read_bytes()
    single = call("sample", "run", "-n", 50, "--persons", "--out", "p.csv", cwd=folder)
    assert single.returncode == 0
    assert len(pd.read_csv(folder / "p.csv")) == 50
    power = call(*arguments[:-1], "q.csv", "--allocation", "power", cwd=folder)
    assert power.returncode == 0
    spread = pd.read_csv(folder / "q.csv").drop_duplicates("hid")["region"].value_counts()
    assert spread.min() > drawn.drop_duplicates("hid")["region"].value_counts().min()


def test_the_report_calls_variables_by_their_labels(folder: Path) -> None:
    text = '[age]\nlabel = "Completed years"\nunit = "full years"\n'
    (folder / "labels.toml").write_text(text)
    run_file = TEXT.replace("[survey]", '[survey]\ndictionary = "labels.toml"')
    (folder / "run.toml").write_text(run_file, encoding="utf-8")
    done = call("run", "run.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "run" / "report.html").read_text(encoding="utf-8")
    assert "Completed years" in page
    assert "full years" in page
    assert open_population(folder / "run").dictionary["age"].label == "Completed years"
