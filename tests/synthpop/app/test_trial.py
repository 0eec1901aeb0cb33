"""A step is tried before it is applied, and numbers of former states are shown at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("shiny")

from synthpop.app.forms import protection_forms, read_form
from synthpop.app.protect import methods, trial
from synthpop.app.protect.session import session_of
from synthpop.app.tab import Tab
from synthpop.microdata.messages.errors import InputError
from tests.synthpop.app.helpers import do, people, play, protecting


def tried(tab: Tab, verb: str, **entries: Any) -> Any:
    """Fill in the form of a method, and return what it would do."""
    page, shown = do("choose_page", page="methods"), {"action": "choose", "values": {"verb": verb}}
    play(tab, [page, shown, {"action": "try", "verb": verb, "entries": entries}])
    return tab.view().value("protect.trial")


def test_what_is_tried_is_what_is_applied(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    form = {"action": "apply", "verb": "add_noise", "entries": {"level": "0.1"}}
    before = tried(tab, "add_noise", level="0.1")
    assert tab.project.protect.steps == ()
    play(tab, [form])
    (step,) = tab.project.protect.steps
    assert f"{before['cells']} cells changed" in step.summaries["en"]
    assert "Random noise:" in step.summaries["en"]
    assert before["columns"][0][3] == 0 < before["columns"][0][4]


def test_the_risk_after_a_trial_is_that_of_the_step(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    entries = {"column": "age", "breaks": "0, 1, 40, 90"}
    effect = tried(tab, "global_recode", **entries)
    below = next(row for row in effect["risks"] if "3-anonymity" in row[0])
    play(tab, [{"action": "apply", "verb": "global_recode", "entries": entries}])
    rows = {row["key"]: row for row in tab.view().value("protect.quick_risk")["rows"]}
    assert below[1] == rows["below_3"]["original"] == "240 (100 %)"
    assert below[2] == rows["below_3"]["text"] != "0 (0 %)"


def test_tables_and_conditions_are_picked_in_rows(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    old = people()

    def after(verb: str, **entries: Any) -> pd.DataFrame:
        play(tab, [{"action": "apply", "verb": verb, "entries": entries}])
        return session_of(tab.worker.workspace, tab.project.protect).data

    rows = {"table.0.from": "10", "table.0.to": "19,5", "table.0.new": "15"}
    recoded = after("recode_values", column="age", **rows)
    assert recoded["age"].tolist() == [15 if 10 <= a <= 19 else a for a in old["age"]]
    word = {"table.0.from": "other", "table.0.new": "no"}
    recoded = after("recode_values", column="job", **word)
    assert recoded["job"].tolist() == ["no" if one == "other" else one for one in old["job"]]
    conditions = {"where.0.column": "region", "where.0.values": "A; B",
                  "where.1.column": "age", "where.1.least": "60"}  # fmt: skip
    left = after("drop", **conditions)
    gone = old["region"].isin(["A", "B"]) & (old["age"] >= 60)
    assert set(left["hid"]) == set(old["hid"]) - set(old["hid"][gone])
    assert len(left) < len(old)
    assert len(tab.project.protect.steps) == 3


@pytest.mark.parametrize(
    ("verb", "entries", "said"),
    [
        ("recode_values", {"column": "age", "table.0.from": "3"}, "filled in halfway"),
        ("recode_values", {"column": "age"}, "table: is not given"),
        ("drop", {"where.0.column": "age"}, "filled in halfway"),
        ("drop", {"where.0.column": "age", "where.0.least": "old"}, "is no number"),
        ("drop", {"where.0.column": "age", "where.0.least": "9", "where.1.column": "age",
                  "where.1.most": "12"}, "names a column twice"),
    ],
)  # fmt: skip
def test_rows_that_say_too_little_are_named(verb: str, entries: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_form(protection_forms()[verb], entries)


def test_a_long_step_is_tried_on_whole_households(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "RECORDS", 61)
    rows = trial.some_rows(people(), "hid")
    assert len(rows) == 60
    assert people()["hid"].iloc[rows].value_counts().eq(2).all()
    monkeypatch.setattr(trial, "SECONDS", -1.0)
    tab = protecting(tmp_path)
    effect = tried(tab, "microaggregate", k="3")
    assert (effect["records"], effect["all"]) == (60, 240)
    assert len(effect["risks"]) == 1  # those of the population are others in a part
    assert "60 of 240 records" in str(methods.render(tab.view()))


def test_a_form_with_faults_is_not_tried_and_says_what_is_missing(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    assert tried(tab, "global_recode", column="age") is None
    assert "marked with *" in str(methods.render(tab.view()))
    assert tried(tab, "global_recode", column="age", breaks="9, 1") is None
    assert "ascend" in str(methods.render(tab.view()))


def test_going_back_and_forth_computes_nothing(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    entries = {"column": "age", "breaks": "0, 40, 90"}
    play(tab, [{"action": "apply", "verb": "global_recode", "entries": entries}])
    known, jobs = tab.view().value("protect.measure"), len(tab.worker.jobs)  # type: ignore[attr-defined]
    play(tab, [do("protect.undo")])
    assert tab.view().value("protect.measure") != known
    play(tab, [do("protect.redo"), do("protect.go_to", position=0), do("protect.redo")])
    assert tab.view().value("protect.measure") == known
    assert len(tab.worker.jobs) == jobs  # type: ignore[attr-defined]


def test_mappings_are_picked_and_widths_become_levels(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    effect = tried(tab, "local_suppression", k="3", **{"subsets.2": "3", "importance.age": ""})
    assert effect["unmet"] == []
    entries = {"k": "2", "hierarchies.age": "10, 50, *", "hierarchies.region": "*"}
    assert tried(tab, "minimal_generalization", **entries)["cells"] > 0
    given = {"hierarchies": {"a": [10, 20, "*"]}, "column": "a"}
    frame = pd.DataFrame({"a": [3, 17, 25, np.nan]})
    levels = trial.with_values(frame, given)["hierarchies"]["a"]
    assert levels[0] == {3.0: "0-9", 17.0: "10-19", 25.0: "20-29"}
    assert levels[1:] == [{"0-9": "0-19", "10-19": "0-19", "20-29": "20-39"}, "*"]


def test_limits_stand_on_the_histogram_of_the_current_file(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    tried(tab, "global_recode", column="age", breaks="0, 40, inf")
    shape = tab.view().value("protect.histogram")
    assert (shape["low"], shape["high"], sum(shape["counts"])) == (0.0, 82.0, 240)
    page = str(methods.render(tab.view()))
    assert page.count("<line") == page.count('type="range"') == 2  # no slider stands for inf
    assert shape["proposals"][0] in page
    entries = {"column": "age", "breaks": shape["proposals"][0]}
    assert tried(tab, "global_recode", **entries)["cells"] == 240
    tried(tab, "global_recode", column="sex")
    assert "data-histogram" not in str(methods.render(tab.view()))


def test_post_randomisation_shows_its_transitions(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    effect = tried(tab, "pram", columns=["job"])
    (table,) = effect["transitions"]
    assert sorted(table["levels"]) == ["no", "other", "yes"]
    assert sum(sum(counts) for _, counts in table["rows"]) == 240
    assert "--share: " in str(methods.render(tab.view()))


def test_records_that_would_be_left_out_are_counted(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    effect = tried(tab, "drop", **{"where.0.column": "region", "where.0.values": "A"})
    assert effect["dropped"] == 60
    assert "60 records would be left out" in str(methods.render(tab.view()))
    assert len(effect["risks"]) == 3


@pytest.mark.parametrize("verb", sorted(methods.forms()))
def test_no_form_asks_for_code(tmp_path: Path, verb: str) -> None:
    tab = protecting(tmp_path)
    play(tab, [{"action": "choose", "values": {"verb": verb}}])
    page = str(methods.render(tab.view()))
    assert 'value="{' not in page
