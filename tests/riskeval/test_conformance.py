"""A new measure, attack, protection method or utility measure is one module with one entry.

A dummy of each is registered; it appears in every function, session, script, run file and page that
reads its registry.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval import protect
from riskeval.attacks.entry import AttackEntry
from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.registry import ATTACKS
from riskeval.measures.entry import Measure
from riskeval.measures.registry import MEASURES
from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.result import Protected, own_frame, protected
from riskeval.runfiles.runfile import load_protect_plan
from riskeval.shared.measurement import MeasureInfo, Measurement
from riskeval.utility.entry import UtilityInput, UtilityMeasure
from riskeval.utility.registry import UTILITIES
from synthpop import load_demo_survey
from tests.riskeval.comparison.cases import ROLES, people

PEEK = MeasureInfo("peek", "attribution risk", "low", "share", "records peeked", title="Peek!")
GLANCE = MeasureInfo(
    "glance", "utility", "high", "overlap", "what is seen at a glance", title="Glance!", perfect=1.0
)


def blank(data: Any, column: str, *, rows: int = 1) -> Protected:
    """Make the first values of a column missing."""
    frame = own_frame(data)
    released = frame.copy(deep=False)
    released[column] = frame[column].mask(pd.RangeIndex(len(frame)) < rows)
    return protected(
        frame, released, [column], method="blank", parameters={"column": column, "rows": rows}
    )


def test_a_new_utility_measure_is_compared_and_shown_by_sessions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(files: UtilityInput) -> list[Measurement]:
        return [Measurement(GLANCE, len(files.released) / len(files.original))]

    entry = UtilityMeasure(
        name="glance", title="Glance", question="Is it seen?", blind_spots="all else", run=run,
        infos=(GLANCE,), session=True,
    )  # fmt: skip
    monkeypatch.setitem(UTILITIES, "glance", entry)
    original = people(100)
    comparison = riskeval.compare(original, {"half": original.iloc[:50]}, **ROLES)
    assert comparison.table["glance"].tolist() == [1.0, 0.5]
    assert "Glance!" in comparison.report(tmp_path / "c.html").read_text(encoding="utf-8")
    assert comparison.risk_utility_map(utility="glance").utility_title == "Glance!"
    session = riskeval.ProtectionSession(original, keys=ROLES["keys"])
    assert session.utility().table.loc[("file", "glance!"), "current"] == 1
    page = session.report(tmp_path / "p.html").read_text(encoding="utf-8")
    assert "glance!" in page
    assert GLANCE.meaning in page


def test_a_new_utility_measure_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(files: UtilityInput) -> list[Measurement]:
        protect.pram(files.original, "nowhere")
        return []

    entry = UtilityMeasure(
        name="glance", title="Glance", question="Is it seen?", blind_spots="all else", run=run,
        infos=(GLANCE,), session=True,
    )  # fmt: skip
    monkeypatch.setitem(UTILITIES, "glance", entry)
    original = people(100)
    notes = riskeval.compare(original, {"half": original.iloc[:50]}, **ROLES).notes
    assert "nowhere" in notes.set_index("name").loc["glance", "note"].iloc[-1]


def test_a_new_attack_is_run_by_every_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entry = AttackEntry(
        name="peek", title="Peek!", question="Who?", story="looks at everything", function=len,
        blind_spots="nothing", target="categorical", honours=(),
        run=lambda given, target: len(given.original),
        numbers=lambda result: [AttackNumber(Measurement(PEEK, 0.5, "ill", records=result))],
    )  # fmt: skip
    monkeypatch.setitem(ATTACKS, "peek", entry)
    original = people(100)
    assessed = riskeval.assess_synthetic(
        original, people(80, seed=3), ROLES["keys"], ["ill"], attacks=["peek"], seed=1
    )
    assert "Peek!" in assessed.summary()
    judgement = riskeval.write_judgement(tmp_path / "j.html", assessed)
    assert "Peek!" in judgement.read_text(encoding="utf-8")
    comparison = riskeval.compare(original, {"half": original.iloc[:50]}, **ROLES)
    assert comparison.table["peek: ill"].tolist() == [0.5, 0.5]
    assert comparison.table.loc["half", "worst_risk"] == 1  # as with the original
    assert "Peek!" in comparison.report(tmp_path / "c.html").read_text(encoding="utf-8")


def test_a_new_protection_method_works_in_sessions_scripts_and_run_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entry = ProtectionMethod(
        run=blank, title="Blank", question="Which?", blind_spots="others", example={}
    )
    monkeypatch.setitem(protect.VERBS, "blank", entry)
    original = people(100)
    session = riskeval.ProtectionSession(original, keys=ROLES["keys"])
    result = session.apply("blank", "sex", rows=3)
    assert result.cells_suppressed == 3
    folder = session.save(tmp_path / "saved")
    assert riskeval.ProtectionSession.load(folder).data["sex"].isna().sum() == 3
    assert "protect.blank(data, column='sex', rows=3)" in session.to_script()
    assert "blank" in session.report(tmp_path / "p.html").read_text(encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'data = {demo = true}\nroles = {keys = ["age"]}\n[[step]]\nverb = "blank"\n'
        'column = "age"\nrows = 2\n'
    )
    assert load_protect_plan(plan).steps == (("blank", {"column": "age", "rows": 2}),)
    comparison = riskeval.compare(original, {"blank": result}, **ROLES)
    assert comparison.releases["family"].tolist()[1] == "blank"


def test_a_new_measure_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = MeasureInfo("rows", "file risk", "low", "value", "records in the file", title="Rows!")
    entry = Measure(
        name="rows", title="Rows", question="How long is the file?", blind_spots="what is in it",
        source="none", function=len, run=lambda request: request.counts,
        measurements=lambda result, request: [request.measured(rows, len(request.frame))],
    )  # fmt: skip
    monkeypatch.setitem(MEASURES, "rows", entry)
    original = people(100)
    result = riskeval.compare(original, {"half": original.iloc[:50]}, **ROLES)
    assert result.table["rows"].tolist() == [100, 50]
    assert "Rows!" in result.report(tmp_path / "c.html").read_text(encoding="utf-8")
    assessment = riskeval.assess(original, keys=ROLES["keys"], measures=["rows"])
    assert assessment.table["number"].tolist() == ["Rows!"]
    page = riskeval.write_assessment(tmp_path / "a.html", assessment)
    assert "Rows!" in page.read_text(encoding="utf-8")
    session = riskeval.ProtectionSession(original, keys=ROLES["keys"])
    assert session.risk().table.loc["rows", "current"] == 100
    assert "Rows!" in session.report(tmp_path / "p.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_gives_the_numbers_of_its_entry(name: str) -> None:
    survey = load_demo_survey().frame.iloc[:300]
    assessment = riskeval.assess(
        survey, keys=["age", "rb090", "pb220a"], sensitive=["pl030"], numeric=["hincome"],
        weights="rb050", household="db030", limits={"alpha": 0.5}, measures=[name],
    )  # fmt: skip
    entry = MEASURES[name]
    assert set(assessment.results) == {name}, assessment.skipped
    assert {info.name for info in entry.infos} <= set(assessment.table["name"])
    assert entry.title in assessment.to_markdown()
    assert entry.question.endswith("?")
    assert len(entry.blind_spots) > 15
    if not isinstance(entry.function, str):
        assert "Examples" in (entry.function.__doc__ or "")


@pytest.mark.parametrize("name", UTILITIES)
def test_a_utility_measure_gives_the_numbers_of_its_entry(name: str) -> None:
    original, entry = people(200), UTILITIES[name]
    release = protect.add_noise(original, ["pay", "rent"], seed=1).data
    files = UtilityInput(
        original, release, tuple(ROLES["keys"]), ("pay", "rent"), ("ill",), rows=np.arange(200),
        levels={"sex": (2, 2)}, suppressed=dict.fromkeys([*ROLES["keys"], "ill", "pay", "rent"], 0),
    )  # fmt: skip
    measured = entry.run(files)
    assert {one.info for one in measured} == set(entry.infos)
    assert all(np.isfinite(one.value) for one in measured)
    assert entry.question.endswith("?")
    assert len(entry.blind_spots) > 20
