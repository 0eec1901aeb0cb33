"""Pages of a simulation study and of a survey's columns: facts, not markup."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import profile_survey, simulate_study, write_profile, write_study
from synthpop.cli import main
from synthpop.microdata.messages.text import BLANK
from synthpop.microdata.statistics.indicators.measures import gini
from synthpop.report.profile import profile_facts
from synthpop.report.risk import risk_facts
from synthpop.report.risk_records import key_combinations
from synthpop.report.stored import stored_risk
from synthpop.report.study import bias_ratio, coverage_miss, study_facts
from synthpop.sampling import MissingUnits, SimpleRandom, levels_of_rate
from synthpop.sampling.study_result import Study
from tests.console import call
from tests.small import small_frame
from tests.synthpop.runfiles.test_runfile import TEXT

PEOPLE = pd.DataFrame(
    {
        "income": np.random.default_rng(1).lognormal(9, 0.5, 3000),
        "region": np.random.default_rng(2).choice(list("abc"), 3000),
    }
)


def mean(survey):
    return float(survey.frame["income"].mean())


def too_low(survey):
    return 0.7 * float(survey.frame["income"].mean())


def by_region(survey):
    return survey.frame.groupby("region")["income"].mean().to_dict()


def inequality(survey):
    return gini(survey.frame["income"], survey.weights).with_variance()


@pytest.fixture(scope="module")
def study() -> Study:
    named = {"mean": mean, "too low": too_low, "region": by_region, "gini": inequality}
    truth = {"mean": PEOPLE["income"].mean(), "too low": PEOPLE["income"].mean(),
             "region": PEOPLE.groupby("region")["income"].mean().to_dict(),
             "gini": float(gini(PEOPLE["income"], np.ones(3000)))}  # fmt: skip
    return simulate_study(PEOPLE, SimpleRandom(150), named, repetitions=40, seed=1, truth=truth)


def test_a_study_page_puts_the_biased_estimator_first(study: Study) -> None:
    facts = study_facts(study, {"mean": "euros"})
    bias = facts["verdicts"][0]
    assert (bias["word"], bias["level"]) == ("large", "bad")
    assert "too low" in bias["reason"]
    assert facts["rows"][0]["title"] == "too low"
    assert facts["worst"][0]["link"] == f"#{facts['rows'][0]['id']}"
    assert [row["title"] for row in facts["rows"] if row["flagged"]] == ["too low"]
    titles = {row["title"] for row in facts["rows"]}
    assert titles == {"mean", "too low", "region, a", "region, b", "region, c", "gini"}
    rows = {row["title"]: row for row in facts["rows"]}
    assert len(rows["gini"]["charts"]) == 2  # with a zipper plot
    assert len(rows["mean"]["charts"]) == 1
    assert "Estimate, euros" in rows["mean"]["charts"][0]["chart"]
    table = {row[0]: row[1] for row in rows["too low"]["tables"][0]["table"]["rows"]}
    relative = study.table.loc[("too low", "all"), "relative_bias"]
    assert table["Relative bias"] == f"{100 * relative:.2f} %".replace("-", "\u2212")


def test_coverage_is_judged_by_the_error_of_the_nominal_level() -> None:
    assert coverage_miss({"coverage": 0.9, "repetitions": 50}, 0.95) == 0.0
    assert coverage_miss({"coverage": 0.9, "repetitions": 1000}, 0.95) == pytest.approx(0.05)
    assert coverage_miss({"coverage": 1.0, "repetitions": 20}, 0.95) == 0.0
    row = {"bias": 1.0, "bias_mc": 0.4, "variance": 4.0}
    assert bias_ratio(row) == 0.5
    assert bias_ratio(row, critical=3.0) == 0.0


def test_a_study_of_levels_has_curves_and_failures(tmp_path: Path) -> None:
    def sometimes(survey):
        if survey.frame["income"].iloc[0] > 9000:
            raise ValueError("no income")
        return 1.0

    study = simulate_study(
        PEOPLE, SimpleRandom(60), {"mean": mean, "sometimes": sometimes}, repetitions=10, seed=1,
        missing=levels_of_rate(MissingUnits(0.1), [0.0, 0.4]),
        truth={"mean": PEOPLE["income"].mean(), "sometimes": 1.0},
    )  # fmt: skip
    facts = study_facts(study)
    assert facts["verdicts"][2]["word"] == "some"
    assert facts["failures"]["rows"][0][1].endswith("no income")
    assert len(facts["curves"]) == 2
    assert {"mean (missing 0.0)", "mean (missing 0.4)"} <= {row["title"] for row in facts["rows"]}
    page = write_study(tmp_path / "s.html", study, title="A <study>")
    text = page.read_text(encoding="utf-8")
    assert "<h1>A &lt;study&gt;</h1>" in text
    assert "&lt;svg" not in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def odd_frame() -> pd.DataFrame:
    frame = small_frame(120)
    n = len(frame)
    frame["constant"] = 1
    frame["number"] = np.arange(n) * 7 + 1000
    frame["coded"] = np.where(np.arange(n) % 10 == 0, -9, frame["age"] * 100.0 + np.arange(n) % 7)
    frame["job"] = "common"
    frame.loc[3, "job"] = "astronaut"
    frame.loc[frame.index % 2 == 0, "job"] = "other"
    return frame


def test_a_profile_page_names_what_to_look_at(tmp_path: Path) -> None:
    frame = odd_frame()
    profile = profile_survey(frame)
    facts = profile_facts(frame, profile)
    rows = {row["title"]: row for row in facts["rows"]}
    assert set(rows) == set(frame.columns)
    notes = {name: row["cells"][2] for name, row in rows.items()}
    assert notes["constant"] == "constant"
    assert notes["number"] == "id"
    assert notes["coded"] == "missing code?"
    assert notes["job"] == "rare levels"
    assert facts["rows"][0]["title"] == "coded"
    assert "coded" in facts["worst"][0]["sentence"]
    words = [row["word"] for row in facts["verdicts"]]
    assert words == ["complete", "need a look", "large enough"]
    levels = rows["job"]["tables"][0]["table"]["rows"]
    assert levels[2][:2] == ["astronaut", "1"]
    sums = facts["relations"]["rows"]
    assert any(row[1] == "is the sum of" for row in sums) == bool(profile.totals)
    plain = profile_facts(frame[["sex"]], profile_survey(frame[["sex"]]))
    assert plain["verdicts"][0]["word"] == "incomplete"


def test_the_command_profile_writes_a_private_page(tmp_path: Path) -> None:
    odd_frame().to_csv(tmp_path / "survey.csv", index=False)
    run = call(main, "profile", "survey.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    page = tmp_path / "survey-profile.html"
    text = page.read_text(encoding="utf-8")
    assert "Columns of survey.csv" in text
    assert "astronaut" in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert not re.search(r"(src|href)=.http", text)
    assert write_profile(tmp_path / "again.html", odd_frame()).exists()


def test_a_report_is_written_again_without_simulating(tmp_path: Path) -> None:
    small_frame().to_parquet(tmp_path / "survey.parquet")
    text = TEXT + '\n[report]\ntitle = "My country"\ndate = "2026-05-01"\n'
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    run = call(main, "run", "run.toml", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    folder = tmp_path / "run"
    first = (folder / "report.html").read_bytes()
    assert b"My country" in first
    assert b"synthpop run run.toml" in first
    assert b"2026-05-01" in first
    assert stat.S_IMODE((folder / "report-facts.json").stat().st_mode) == 0o600
    (tmp_path / "survey.parquet").unlink()
    (folder / "report.html").unlink()
    again = call(main, "report", "run", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (folder / "report.html").read_bytes() == first
    outside = call(main, "report", "run", "--audience", "external", "--title", "Ours", cwd=tmp_path)
    assert outside.returncode == 0, outside.stderr
    page = (folder / "report-external.html").read_text(encoding="utf-8")
    assert "<h1>Ours</h1>" in page
    assert "for external readers" in page
    for word in ("Provenance", "2026-05-01", "Seed 7", "run.toml"):
        assert word not in page
    assert call(main, "verify", "run", cwd=tmp_path).returncode == 0
    elsewhere = call(main, "report", "run", "--out", "page.html", "--date", "today", cwd=tmp_path)
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert "<dd>today</dd>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = folder / "report-facts.json"
    facts.write_text(facts.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    damaged = call(main, "report", "run", cwd=tmp_path)
    assert damaged.returncode == 1
    assert "cannot be read" in damaged.stderr
    facts.unlink()
    missing = call(main, "report", "run", cwd=tmp_path)
    assert "run the run file again" in missing.stderr


class Found:
    keys = ("region", "sex")
    target = "income"

    def __init__(self, frame: pd.DataFrame) -> None:
        n = len(frame)
        self.table = pd.DataFrame({"scenario": [2], "accuracy": [0.05], "tau": [6.0],
                                   "rate": [6.0 / n], "tau_zero": [0.0], "rate_holdout": [0.001],
                                   "note": [""]})  # fmt: skip
        rate = np.zeros(n)
        rate[[5, 9, 3]] = [1.0, 1.0, 0.5]
        alone = np.full(n, 0.1)
        alone[9] = 0.8
        self.per_record = pd.DataFrame(
            {"n_matches": 1, "alone": alone, "scenario_2_0.05": rate, "scenario_5_0.05": 1.0}
        )

    def summary(self) -> str:
        return "6 are unique."


def test_internal_pages_name_the_riskiest_records_and_what_keys_contribute() -> None:
    frame = small_frame(100)
    frame["region"] = frame["region"].astype(str)
    frame.loc[9, "region"] = "remote"
    risk = stored_risk(Found(frame), frame)
    assert risk is not None
    assert risk.riskiest is not None
    assert risk.riskiest["record"].tolist() == [10, 6, 4]
    assert risk.riskiest["region"].iloc[0] == str(frame["region"].iloc[9])
    inside = risk_facts(risk, external=False)
    assert [row[0] for row in inside["riskiest"]["rows"]] == ["10", "6", "4"]
    whole = (frame.groupby(["region", "sex"], observed=True).size() == 1).sum()
    without = (frame.groupby("region", observed=True).size() == 1).sum()
    row = next(row for row in inside["contributions"]["rows"] if row[0] == "sex")
    assert row[1:] == [str(without), str(whole - without)]
    assert inside["combinations"]["rows"] == [["region", "1"], ["region, sex", str(whole)]]
    assert [row[3] for row in inside["riskiest"]["rows"]] == ["region", BLANK, BLANK]
    place = inside["table"]["head"].index("hold-out or baseline")
    assert inside["table"]["rows"][0][place] == "0.10 %"
    outside = risk_facts(risk, external=True)
    assert outside["riskiest"] is None
    assert outside["contributions"] is None
    assert outside["combinations"] is None


def test_the_smallest_combination_of_keys_singles_a_record_out() -> None:
    keys = ["age", "sex", "region"]
    frame = pd.DataFrame(
        {"age": [1, 1, 2, 2, 9], "sex": list("fmffm"), "region": ["a", "a", "a", "b", None]}
    )
    table, smallest = key_combinations(frame, keys, [0, 3, 4])
    assert smallest == ["age, sex", "region", "age"]  # a missing region is a level of its own
    assert table.values.tolist() == [
        ["region", 2], ["age", 1], ["age, sex", 3], ["age, region", 3], ["sex, region", 3],
        ["age, sex, region", 5],
    ]  # fmt: skip
    many = pd.DataFrame({f"k{j}": [0, 1] for j in range(12)})
    assert max(text.count(",") for text in key_combinations(many, list(many))[0]["keys"]) == 1


def test_replicates_add_an_interval_to_the_risk_section() -> None:
    frame = small_frame(100)
    results = [Found(frame), Found(frame), Found(frame)]
    for result, tau in zip(results, (6.0, 8.0, 10.0), strict=True):
        result.table["tau"] = tau
    risk = stored_risk(results, frame)
    assert risk is not None
    facts = risk_facts(risk, external=False)
    row = dict(zip(facts["table"]["head"], facts["table"]["rows"][0], strict=True))
    assert row["Found within 5 %"] == "6"  # the population of this page
    half = 4.302653 * 2 / np.sqrt(3)  # t quantile with two degrees of freedom
    assert row["Mean and interval over populations"] == f"8 ({8 - half:.2f} to {8 + half:.0f})"
    assert "3 populations of the same fit" in facts["interval"]
    outside = risk_facts(risk, external=True)["table"]
    assert "to" not in outside["rows"][0][outside["head"].index(list(row)[-2])].split()
    single = stored_risk(Found(frame), frame)
    assert "Mean and interval over populations" not in risk_facts(single, False)["table"]["head"]


def test_the_run_file_asks_for_replicates_of_the_risk(tmp_path: Path) -> None:
    small_frame(100).to_parquet(tmp_path / "survey.parquet")
    risk = '\n[risk]\nkeys = ["age", "region"]\ntarget = "status"\nreplicates = 2\n'
    (tmp_path / "run.toml").write_text(TEXT + risk, encoding="utf-8")
    assert call(main, "run", "run.toml", cwd=tmp_path).returncode == 0
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "the mean over 3 populations of the same fit" in page
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "finds the category of" in text  # a category is found or not: no accuracy
    assert "within –" not in text
