"""The command ``riskeval audit``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.audit import survey_of
from riskeval.auditing.stored import StoredAudit
from riskeval.cli import OBJECTION, main
from synthpop.cli.release_folder import ReleaseRequest, release_population
from synthpop.microdata.messages.errors import InputError
from synthpop.runfiles.runfile import load_runfile
from tests import console


@pytest.fixture(autouse=True)
def guesses(monkeypatch) -> None:
    """A few of the numbers that can be guessed: that attack is tested elsewhere."""
    monkeypatch.setattr("synthpop.evaluation.guessed_draws.guessable_numbers", lambda: range(9))


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


def test_a_release_tells_the_figures_of_its_audit_and_of_no_other(tmp_path: Path) -> None:
    survey = survey_of(1, 150)
    survey.frame.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "copier.toml").write_text(RUN_FILE, encoding="utf-8")
    options = ["--refits", "20", "--targets", "10", "--share", "0.8", "--seed", "1"]
    assert console.call(main, "audit", "copier.toml", *options, cwd=tmp_path).returncode == 0
    plan = load_runfile(tmp_path / "copier.toml")
    fitted = plan.pipeline().fit(plan.read_survey(), seed=1)
    fitted.simulate(scale=0.1, out=tmp_path / "made")
    figures = tmp_path / "copier-audit.json"
    release_population(tmp_path / "made", tmp_path / "out", ReleaseRequest(audit=figures))
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert [one["name"] for one in verdict["evidence"]] == ["stages that give respondents away"]
    assert verdict["level"] == "exceeds your limits"
    (row,) = verdict["judged"]
    assert row["what"] == "Audit of the generator"
    assert row["word"].startswith("names structure")
    assert "is at least" in row["reason"]
    assert "none of them proves privacy" in row["reason"]
    for name in ("README.md", "ro-crate-metadata.json", "ddi-codebook.xml"):
        assert "none of them proves privacy" in (tmp_path / "out" / name).read_text(), name
    release_population(
        tmp_path / "made", tmp_path / "de", ReleaseRequest(audit=figures, language="de")
    )
    assert "Keine von ihnen beweist" in (tmp_path / "de" / "README.md").read_text()
    other = plan.pipeline().fit(survey_of(2, 150), seed=1)
    other.simulate(scale=0.1, out=tmp_path / "other")
    with pytest.raises(InputError, match="is of another survey than the population"):
        release_population(tmp_path / "other", tmp_path / "no", ReleaseRequest(audit=figures))
    figures.write_text(figures.read_text().replace('"n_refits": 20', '"n_refits": 200'))
    with pytest.raises(InputError, match="does not agree with its hash"):
        release_population(tmp_path / "made", tmp_path / "no", ReleaseRequest(audit=figures))
    assert not (tmp_path / "no").exists()


def test_an_audit_that_names_nobody_is_no_objection_and_no_praise() -> None:
    quiet = StoredAudit([], "", 200, 0.1, 0.95, 0.0, [], 0.02)
    assert quiet.findings() == []
    row = quiet.row()
    assert row["word"] == "no stage named"
    assert "proves no privacy" in row["reason"]
