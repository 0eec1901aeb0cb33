"""The pages of riskeval say what was measured: verdicts, rows and limits, not markup."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, assess, assess_synthetic, write_judgement
from riskeval.attacks.synthetic_risk import SyntheticRisk
from riskeval.report.assessment import assessment_facts
from riskeval.report.judgement import judgement_facts
from riskeval.report.protection import protection_facts
from riskeval.verdict.verdict import CLEAR, EXCEEDED
from synthpop.microdata.messages.errors import InputError

N = 300


def people(seed: int, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 8, n)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "ill": np.where(rng.random(n) < 0.1 + 0.05 * (age > 5), "yes", "no"),
            "income": np.round(rng.lognormal(9, 0.5, n), 2),
        }
    )


ATTACKS = ["disco", "replicated_uniques", "distance_screen"]


def judged(release: pd.DataFrame, holdout: pd.DataFrame | None) -> SyntheticRisk:
    return assess_synthetic(
        people(1), release, ["age", "sex"], ["ill", "income"], holdout=holdout,
        categorical=["age"], attacks=ATTACKS, seed=1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def copied() -> SyntheticRisk:
    return judged(pd.concat([people(1).iloc[:150], people(2, 150)]), people(3))


def test_a_page_on_copies_says_so_first(copied: SyntheticRisk) -> None:
    facts = judgement_facts(copied, external=False)
    words = {row["what"]: (row["word"], row["level"]) for row in facts["verdicts"]}
    assert (facts["judged"]["word"], facts["judged"]["level"]) == ("do not publish", "bad")
    assert "svg" in str(facts["map"])
    assert words["Copied records"] == ("more", "bad")
    assert words["Attacks"] == ("all ran", "good")
    assert facts["reasons"][0]["advice"].startswith("Remove copies of original records")
    ids = {row["id"] for row in facts["rows"]}
    assert {item["link"][1:] for item in facts["reasons"]} <= ids
    assert len(facts["rows"]) == len(copied.table)
    assert facts["rows"][0]["flagged"]
    row = next(row for row in facts["rows"] if row["title"] == "Identical")
    assert row["cells"][:2] == ["50 %", "0 %"]


def test_a_page_on_strangers_gives_no_alarm_and_without_a_holdout_no_verdict() -> None:
    facts = judgement_facts(judged(people(2), people(3)), external=False)
    levels = [row["level"] for row in (facts["judged"], *facts["verdicts"])]
    assert levels == ["good", "good", "good"]
    assert not facts["reasons"]
    facts = judgement_facts(judged(people(2), None), external=False)
    assert facts["judged"]["word"] == "cannot judge"
    assert "hold-out" in facts["judged"]["reason"]


def test_external_judgement_rounds_counts_and_shows_no_interval(
    copied: SyntheticRisk, tmp_path: Path
) -> None:
    facts = judgement_facts(copied, external=True)
    for row in facts["rows"]:
        assert row["plot"] == ""
        assert row["order"] == {}
        for cell in row["cells"]:
            number = re.fullmatch(r"([\d.]+) %", cell)
            if number:
                count = float(number[1]) / 100 * N
                assert abs(count / 5 - round(count / 5)) < 0.05 * count / 5 + 0.02
    page = write_judgement(tmp_path / "x.html", copied, audience="external")
    text = page.read_text(encoding="utf-8").split("<main")[1]
    for word in ("<svg", "Seed", "Interval", *map(str, people(1)["income"].head(20))):
        assert word not in text
    with pytest.raises(InputError, match="'all' is not allowed"):
        write_judgement(tmp_path / "x.html", copied, audience="all")


def test_an_assessment_judges_by_the_limits_that_were_set() -> None:
    data = people(1)
    strict = assess(data, keys=["age", "sex"], limits={"k": 3, "record_risk": 1e-9})
    loose = assess(data, keys=["age", "sex"], limits={"k": 2, "record_risk": 1, "global_risk": 1})
    for result, word in ((strict, EXCEEDED), (loose, CLEAR)):
        facts = assessment_facts(result, False)
        first = facts["verdicts"][0]
        assert first["word"] == word
        assert bool(facts["worst"]) == (word == EXCEEDED)
        titles = [row["title"] for row in facts["rows"]]
        assert len(titles) == len(set(titles)) == len(result.measurements)
    assert facts["verdicts"][2]["word"] == "not assessed"


def test_a_protection_page_shows_what_changed_by_variable() -> None:
    data = people(1)
    session = ProtectionSession(data, keys=["age", "sex"], numeric=["income"], sensitive=["ill"])
    unchanged = protection_facts(session, False)
    assert [row["word"] for row in unchanged["verdicts"]] == ["do not publish", "unchanged"]
    session.global_recode("age", breaks=[0, 4, 8])
    session.top_bottom_code("income", upper=20_000, replacement=20_000)
    facts = protection_facts(session, False)
    rows = {row["title"]: row for row in facts["variables"]}
    assert int(rows["income"]["cells"][0]) == (data["income"] > 20_000).sum()
    assert rows["sex"]["cells"][0] == "0"
    assert not rows["sex"]["flagged"]
    assert rows["age"]["cells"][1] == "8 → 2"
    assert facts["verdicts"][1]["word"] == "lower"
    rows = {row["what"]: row for row in facts["verdicts"]}
    assert rows["Amounts"]["level"] == "look"  # nearly all incomes are as they were
    assert "true amounts all lie near the released ones: 100 % before" in rows["Amounts"]["reason"]
    assert "sensitive values of ill" in rows["Attribute disclosure"]["reason"]
    # without weights the file is the population, and its mean risk stays above the limit
    assert rows["Identity disclosure"]["level"] == "look"
    assert "mean individual risk is above 0.01" in rows["Identity disclosure"]["reason"]
    assert facts["riskiest"]["rows"]
    outside = protection_facts(session, True)
    assert outside["riskiest"] is None
    assert all(row["plot"] == "" for row in outside["variables"])
