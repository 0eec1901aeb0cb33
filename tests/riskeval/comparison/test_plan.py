"""Run files and the command ``riskeval compare``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import riskeval
from riskeval.cli import main
from riskeval.runfiles.compare import load_compare_plan
from synthpop.microdata.messages.errors import InputError, RunFileError
from tests import console
from tests.riskeval.comparison.cases import people

PLAN = """
seed = 4
level = 0.9

[data]
file = "people.parquet"

[roles]
keys = ["region", "age", "sex"]
numeric = ["pay", "rent"]
sensitive = ["ill"]
weights = "w"
household = "hid"
strata = "region"

[[release]]
name = "coarse"
[[release.step]]
verb = "global_recode"
column = "age"
breaks = [0, 30, 45, 60, 100]
[[release.step]]
verb = "local_suppression"
k = 3

[[release]]
name = "noise 0.2"
base = "coarse"
family = "noise"
parameter = 0.2
[[release.step]]
verb = "add_noise"
method = "correlated"
level = 0.2

[[release]]
name = "synthetic"
file = "synthetic.csv"
kind = "synthetic"

[[indicators]]
variable = "pay"
statistics = ["mean", "gini"]
by = "region"

[[regressions]]
formula = "pay ~ sex"

[limits]
k = 3
global_risk = "none"

[sample_sizes]
model = "tree"
linkage = 200
outliers = 200
prediction = 150
screen = 150
propensity = 1000

[report]
title = "Three files"
"""

ONE_RELEASE = "".join(
    [PLAN[: PLAN.index("[[release]]")], PLAN[PLAN.index('[[release]]\nname = "synthetic"') :]]
)
"""The plan without the releases that are made by steps."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people(200).to_parquet(tmp_path / "people.parquet")
    people(150, seed=9).to_csv(tmp_path / "synthetic.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


call = partial(console.call, main)


def test_a_plan_is_read_and_run(folder: Path) -> None:
    found = load_compare_plan(folder / "plan.toml").run()
    table = found.table
    assert table.index.tolist() == ["original", "coarse", "noise 0.2", "synthetic"]
    assert table.loc["coarse", "below_3"] == 0
    assert table.loc["coarse", "il1s"] == 0
    assert table.loc["noise 0.2", "il1s"] > 0
    assert table.loc["noise 0.2", ["family", "parameter"]].tolist() == ["noise", 0.2]
    assert table.loc["synthetic", "kind"] == "synthetic"
    assert found.level == 0.9
    assert found.seed == 4
    assert found.limits.global_risk is None
    assert set(found.overlaps["indicator"]) == {"mean", "gini"}
    assert found.regressions["formula"].unique().tolist() == ["pay ~ sex"]
    other = riskeval.load_compare_plan(folder / "plan.toml").run(seed=5, workers=2)
    assert other.table.loc["noise 0.2", "il1s"] != table.loc["noise 0.2", "il1s"]


def test_levels_and_hold_out_of_a_plan(folder: Path) -> None:
    coarse = people(200)
    coarse["sex"] = coarse["sex"].map({"male": 1, "female": 2})
    coarse.sample(150, random_state=1).to_csv(folder / "synthetic.csv", index=False)
    people(100, seed=11).to_csv(folder / "others.csv", index=False, sep="|")
    levels = "\n[release.levels.sex]\nmale = 1\nfemale = 2\n\n[[indicators]]"
    text = ONE_RELEASE.replace("\n[[indicators]]", levels, 1)
    text += '\n[holdout]\nfile = "others.csv"\ncsv = {separator = "|"}\n'
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    found = load_compare_plan(folder / "plan.toml").run()
    rows = found.shared.set_index(["release", "variable"])
    assert rows.loc[("synthetic", "sex"), "how"] == "2 levels of the original count as 2"
    assert found.holdout
    assert found.table["membership"].drop("original").notna().all()


def test_replicates_of_a_plan(folder: Path) -> None:
    for seed, name in ((21, "synthetic"), (22, "second"), (23, "third")):
        people(150, seed=seed).to_csv(folder / f"{name}.csv", index=False)
    text = ONE_RELEASE.replace(
        'file = "synthetic.csv"', 'file = "synthetic.csv"\nreplicates = ["second.csv", "third.csv"]'
    )
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    plan = load_compare_plan(folder / "plan.toml")
    assert folder / "third.csv" in plan.sources()
    rows = plan.run().measures.set_index(["release", "name"])
    assert rows.loc[("synthetic", "replicated_uniques"), "note"].startswith("mean of 3 files")


def test_the_command_writes_a_report_and_its_numbers(folder: Path) -> None:
    done = call("compare", "plan.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "3 releases were compared" in done.stdout
    assert "Seed 4" in done.stdout
    assert "Three files" in (folder / "plan.html").read_text(encoding="utf-8")
    numbers = pd.read_csv(folder / "plan.csv")
    assert set(numbers["release"]) == {"original", "coarse", "noise 0.2", "synthetic"}


def test_options_of_the_command(folder: Path) -> None:
    text = ONE_RELEASE.replace('title = "Three files"', 'audience = "external"\nfile = "page.html"')
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    done = call(
        "compare", "plan.toml", "--out", "new/other.html", "--seed", 8, "--workers", 2, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "Seed 8" in done.stdout
    page = (folder / "new" / "other.html").read_text(encoding="utf-8")
    assert "for external readers" in page
    assert not list(folder.rglob("other.csv"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("keys =", "kees =", "Did you mean 'keys'?"),
        ('file = "people.parquet"', "", "needs file or demo = true"),
        ('verb = "add_noise"', 'verb = "add_nois"', "Did you mean 'add_noise'?"),
        ('base = "coarse"', 'base = "coars"', "Did you mean 'coarse'?"),
        ('file = "synthetic.csv"', "", "needs file or [[release.step]]"),
        ('name = "synthetic"', 'name = "coarse"', "the name 'coarse' is taken"),
        ('base = "coarse"', 'base = "coarse"\nreplicates = ["a.csv"]', "steps have no replicates"),
        ('kind = "synthetic"', 'kind = "synth"', "kind"),
        ("[limits]", "[limit]", "Did you mean 'limits'?"),
        ("seed = 4", "seed = -4", "seed"),
        ("[[regressions]]", "[holdout]", "[holdout]"),
    ],
)
def test_faults_of_a_plan(folder: Path, old: str, new: str, message: str) -> None:
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RunFileError) as caught:
        load_compare_plan(folder / "plan.toml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("synthetic.csv", "none.csv", "no such file"),
        ("k = 3", "k = 0", "[[release]] coarse, step 2"),
        ('"gini"', '"gin"', "'gin' is unknown"),
        ('"pay ~ sex"', '"pay ~ sxe"', "Did you mean 'sex'"),
        ("screen = 150", "screens = 150", "Did you mean 'screen'"),
        ('numeric = ["pay"', 'numeric = ["sex"', "must be numeric"),
    ],
)
def test_faults_of_the_data(folder: Path, old: str, new: str, message: str) -> None:
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_compare_plan(folder / "plan.toml").run()
    assert message in str(caught.value)


def test_bad_input_is_a_message_and_a_status(folder: Path) -> None:
    text = PLAN.replace("keys =", "kees =").replace("[sample_sizes]", "[efort]")
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    done = call("compare", "plan.toml", cwd=folder)
    assert done.returncode == 1
    assert "kees" in done.stderr
    assert "efort" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("*.html"))


@pytest.mark.parametrize(
    ("plan", "more", "kept"),
    [
        ("synthetic.toml", [], "synthetic.csv"),
        ("plan.toml", ["--out", "people.parquet"], "people.parquet"),
        ("plan.toml", ["--out", "plan.toml"], "plan.toml"),
    ],
)
def test_no_file_that_is_read_is_written_over(
    folder: Path, plan: str, more: list[str], kept: str
) -> None:
    (folder / plan).write_text(PLAN, encoding="utf-8")
    before = (folder / kept).read_bytes()
    done = call("compare", plan, *more, cwd=folder)
    assert done.returncode == 1
    assert f"{kept} is a file that is read, which would be lost" in done.stderr
    assert (folder / kept).read_bytes() == before
    assert not list(folder.glob("*.html"))


def test_the_help_keeps_its_brackets(tmp_path: Path) -> None:
    done = call("compare", "--help", cwd=tmp_path)
    assert "[data], [roles] and [[release]]" in " ".join(done.stdout.split())
