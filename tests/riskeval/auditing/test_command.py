"""The command ``riskeval audit``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from benchmarks.audit import survey_of
from riskeval.cli import OBJECTION, main
from tests import console

RUN_FILE = """
[survey]
file = "survey.csv"
weight = "w"
household = "hid"

[[stage]]
type = "structure"
variables = ["sex", "age", "income"]
"""


def test_a_run_file_is_audited_and_what_leaks_ends_with_a_status(tmp_path: Path) -> None:
    survey_of(1, 150).frame.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "copier.toml").write_text(RUN_FILE, encoding="utf-8")
    options = ["--refits", "20", "--targets", "10", "--share", "0.8", "--seed", "1"]
    done = console.call(
        main, "audit", "copier.toml", *options, "--json", "--fail-on-limit", cwd=tmp_path
    )
    assert done.returncode == OBJECTION
    said = json.loads(done.stdout)
    assert "structure" in said["leaking"]
    assert said["epsilon_at_least"] > 1
    assert said["seed"] == 1
    numbers = pd.read_csv(tmp_path / "copier-audit.csv")
    assert set(numbers["n_targets"]) == {10}
    assert "structure" in (tmp_path / "copier-audit.html").read_text(encoding="utf-8")
