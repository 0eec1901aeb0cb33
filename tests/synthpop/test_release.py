"""The folder of a population that may leave, and what it does not hold."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import Ledger
from synthpop import Pipeline, Survey, guessed_draws, open_population
from synthpop.cli import main
from synthpop.cli.release_folder import ReleaseRequest, release_population
from synthpop.evaluation.assess_fit import assess_fit
from synthpop.microdata.messages.errors import GuaranteeError, InputError, OutputError
from synthpop.population.run_key import read_key
from synthpop.population.storage import add_file
from synthpop.report.stored import store_report
from synthpop.report.write import report_source
from synthpop.stages.structure import Structure
from tests import console
from tests.small import ROLES, small_survey

call = partial(console.call, main)
SEED = 987654321098
STRUCTURE = Structure(["age", "sex"], jitter={"age": 1})


@pytest.fixture(autouse=True)
def guesses(monkeypatch) -> None:
    """A few of the numbers that can be guessed: that attack is tested elsewhere."""
    monkeypatch.setattr("synthpop.evaluation.guessed_draws.guessable_numbers", lambda: range(30))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    survey = small_survey()
    fitted = Pipeline([STRUCTURE]).fit(survey, seed=SEED)
    population = fitted.simulate(out=folder / "p")
    source = report_source(survey, population, assess_fit(survey, population))
    add_file(folder / "p", store_report(folder / "p", source))
    for _ in fitted.replicates(2, out=folder / "r", scale=0.5):
        pass
    return folder


def test_the_folder_holds_what_may_leave_and_nothing_else(made: Path, tmp_path: Path) -> None:
    done = call("release", made / "p", "--to", "out", "--format", "csv", "--format", "parquet",
                "--fact", "title=People of nowhere", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        "README.md", "contents.json", "croissant.json", "ddi-codebook.xml", "dictionary.csv",
        "page.html", "population.csv", "population.parquet", "ro-crate-metadata.json",
        "verdict.json",
    }  # fmt: skip
    stored = read_key(made / "p")
    assert stored is not None
    for path in out.iterdir():
        content = path.read_bytes()
        for secret in (stored[0].content.hex(), str(SEED), "sealed:"):
            assert secret.encode() not in content, (path.name, secret)
    assert "People of nowhere" in (out / "page.html").read_text()
    contents = json.loads((out / "contents.json").read_text())
    for name, facts in contents["files"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == facts["sha256"]
    verdict = json.loads((out / "verdict.json").read_text())
    assert [row["what"] for row in verdict["judged"]] == ["Fit", "Disclosure risk", "Known totals"]
    assert "better than chance" in verdict["notes"][0]
    assert verdict["level"] == "cannot judge"
    assert any("riskeval judge" in text for text in verdict["not_tried"])


def test_households_are_whole_and_in_a_fresh_order(made: Path, tmp_path: Path) -> None:
    source = open_population(made / "p").frame()
    files = []
    for name in ("one", "two"):
        release_population(made / "p", tmp_path / name, ReleaseRequest())
        files.append(pd.read_parquet(tmp_path / name / "population.parquet"))
    assert not files[0].equals(files[1])
    for file in files:
        sizes = file.groupby("hid").size()
        assert (file["size"].astype(int).to_numpy() == sizes[file["hid"]].to_numpy()).all()
        columns = ["region", "size", "age", "sex"]
        counts = [
            frame[columns].astype(str).value_counts().sort_index() for frame in (file, source)
        ]
        pd.testing.assert_series_equal(*counts)
        assert file["region"].astype(str).tolist() != source["region"].astype(str).tolist()


@pytest.mark.parametrize("kind", ["population", "replicates", "sample"])
def test_every_kind_is_attacked_and_gives_nothing(kind: str, made: Path, tmp_path: Path) -> None:
    folder = made / ("r" if kind == "replicates" else "p")
    request = ReleaseRequest(sample=200 if kind == "sample" else None)
    release_population(folder, tmp_path / "out", request)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert len(files) == (2 if kind == "replicates" else 1)
    for file in files:
        frame = pd.read_parquet(file)
        options = {"structure": STRUCTURE, "household": "hid", "strata": "region"}
        guesses = [*range(60), SEED]
        assert guessed_draws(frame, guesses=guesses, **options).found == ""
    notes = json.loads((tmp_path / "out" / "verdict.json").read_text())["notes"]
    assert sum("better than chance" in note for note in notes) == len(files)
    assert ("Neither fit nor risk was judged" in notes[0]) == (kind == "replicates")
    assert (tmp_path / "out" / "page.html").exists() == (kind != "replicates")


def test_what_was_drawn_from_a_seed_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("synthpop.population.storage.key_of_run", lambda *_: None)
    Pipeline([STRUCTURE]).fit(small_survey(60), seed=1).simulate(out=tmp_path / "old")
    with pytest.raises(OutputError, match="made without a secret key"):
        release_population(tmp_path / "old", tmp_path / "out", ReleaseRequest())
    assert not (tmp_path / "out").exists()


def test_a_release_that_is_found_is_not_written(made: Path, tmp_path: Path, monkeypatch) -> None:
    """A file in the order of its draws, made with a key that can be guessed."""
    fitted = Pipeline([STRUCTURE]).fit(small_survey(), seed=3)
    fitted.simulate(out=tmp_path / "p", key=(3).to_bytes(64, "big"), scale=3)
    monkeypatch.setattr(
        "synthpop.cli.release_folder.released_frame", lambda population, sample: population.frame()
    )
    with pytest.raises(GuaranteeError, match=r"is right \(key 3\)"):
        release_population(tmp_path / "p", tmp_path / "out", ReleaseRequest())
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_a_population_that_must_not_be_published_goes_out_with_a_reason_only(tmp_path) -> None:
    survey = small_survey()
    addresses = [f"p{number}@example.org" for number in range(len(survey.frame))]
    survey = Survey(survey.frame.assign(email=addresses), **ROLES)
    Pipeline([Structure(["age", "email"])]).fit(survey, seed=2).simulate(out=tmp_path / "p")
    done = call("release", tmp_path / "p", "--to", "out", cwd=tmp_path)
    assert done.returncode == 1
    for part in ("Do not publish this file", "email", "despite=REASON", "Nothing was written"):
        assert part in " ".join(done.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["p"]
    done = call("release", tmp_path / "p", "--to", "out", "--fact", "despite=tests", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert (verdict["level"], verdict["despite"]) == ("do not publish", "tests")


def test_faulty_requests_write_nothing(made: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="docx is unknown"):
        release_population(made / "p", tmp_path / "out", ReleaseRequest(formats=("docx",)))
    with pytest.raises(OutputError, match="holds no population"):
        release_population(tmp_path / "none", tmp_path / "out", ReleaseRequest())
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="exists already"):
        release_population(made / "p", tmp_path / "out", ReleaseRequest())
    done = call("release", made / "p", "--sample", 0, cwd=tmp_path)
    assert done.returncode == 1
    assert "--sample" in done.stderr


def test_a_release_is_laid_beside_earlier_ones(made: Path, tmp_path: Path) -> None:
    """A second sample does not alarm; one whose amounts are copies of an earlier one's does."""
    for number in (1, 2):
        done = call("release", made / "p", "--to", f"out{number}", "--sample", 100, "--ledger", "L",
                    "--fact", "recipients=all", cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
    ledger = Ledger(tmp_path / "L")
    assert ledger.releases["name"].tolist() == ["out1: sample", "out2: sample"]
    assert set(ledger.releases["recipients"]) == {"all"}
    verdict = json.loads((tmp_path / "out2" / "verdict.json").read_text())
    assert verdict["level"] == "cannot judge"
    assert verdict["evidence"] == []
    done = call("release", made / "p", "--to", "out3", "--fail-on-limit", cwd=tmp_path)
    assert done.returncode == 3  # nothing applies, so nothing is met
    assert (tmp_path / "out3" / "verdict.json").exists()


def test_amounts_that_an_earlier_release_has_stop_the_next_one(tmp_path: Path) -> None:
    survey = small_survey()
    amounts = 1001.0 + 13 * np.arange(len(survey.frame))
    survey = Survey(survey.frame.assign(income=amounts), **ROLES)
    copied = Structure(["age", "sex", "income"])  # amounts of the survey to the last digit
    Pipeline([copied]).fit(survey, seed=2).simulate(out=tmp_path / "p", scale=0.5)
    arguments = ("release", tmp_path / "p", "--ledger", "L")
    assert call(*arguments, "--to", "one", cwd=tmp_path).returncode == 0
    done = call(*arguments, "--to", "two", cwd=tmp_path)
    assert done.returncode == 1
    assert "income stand in one: population to the last digit" in done.stderr
    assert not (tmp_path / "two").exists()
    despite = call(*arguments, "--to", "two", "--fact", "despite=a contract", cwd=tmp_path)
    assert despite.returncode == 0, despite.stderr
    assert Ledger(tmp_path / "L").releases["despite"].tolist() == ["", "a contract"]
