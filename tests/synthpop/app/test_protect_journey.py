"""The journey "protect" without a browser: from the file to what leaves the app."""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from riskeval.measures.request import LIMITS
from riskeval.session import search
from synthpop.app.registry import journey_of

pytest.importorskip("shiny")

from synthpop.app import shell
from synthpop.app.elements import choose
from synthpop.app.protect.details_page import TITLES
from synthpop.app.protect.session import release_stamp, session_of
from synthpop.app.tab import Tab
from synthpop.microdata.messages.language import use_language
from tests.synthpop.app.helpers import do, open_tab, people, play, protecting, released


def page_text(tab: Tab) -> str:
    page = tab.page()
    assert page is not None
    return str(page.render(tab.view()))


def step(verb: str, **entries: object) -> dict[str, object]:
    return {"action": "apply", "verb": verb, "entries": entries}


def below_3(tab: Tab) -> tuple[float, float]:
    rows = tab.view().value("protect.quick_risk")["rows"]
    row = next(one for one in rows if one["key"] == "below_3")
    return row["trail"][0], row["trail"][-1]


def test_steps_change_the_risk_and_undo_brings_it_back(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    assert below_3(tab) == (240, 240)
    play(tab, [step("global_recode", column="age", breaks="0, 40, 90")])
    assert below_3(tab) == (240, 0)
    play(tab, [do("protect.undo")])
    assert below_3(tab) == (240, 240)
    play(tab, [do("protect.redo")])
    assert below_3(tab) == (240, 0)
    journey = journey_of(tab.project)
    bar, history = str(journey.bar(tab.view())), str(journey.side(tab.view()))
    assert "240 (100 %)" in bar
    assert "1. Classes of numbers" in history


def test_results_speak_the_language_of_the_page(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [do("choose_language", language="de")])
    play(tab, [step("local_suppression", keys=["sex"]), do("choose_page", page="details")])
    with use_language("de"):
        assert "Zellen geändert" in str(journey_of(tab.project).side(tab.view()))
        assert "Wiedererkennungen waren in der Originaldatei zu erwarten" in page_text(tab)
        play(tab, [step("global_recode")])
        assert "fehlt. Tragen Sie es ein." in str(shell.render_notice(tab.view(), tab.notice))
    play(tab, [do("choose_language", language="en")])
    assert "cells changed" in str(journey_of(tab.project).side(tab.view()))
    assert "re-identifications were expected in the original file" in page_text(tab)


def test_every_page_and_detail_shows_a_result(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    for name in ("data", "roles", "methods", "release"):
        play(tab, [do("choose_page", page=name)])
        is_judged = name == "release"  # the amounts are unchanged
        assert page_text(tab).count('class="fault"') == is_judged
    play(tab, [do("choose_page", page="details")])
    for detail in TITLES:
        play(tab, [{"action": "choose", "values": {"detail": detail}}])
        text = page_text(tab)
        assert 'class="fault"' not in text, detail
        assert "spinner" not in text, detail


def test_faulty_options_are_a_message_and_no_step(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [step("global_recode", column="age", breaks="0, 10")])
    assert tab.notice is not None
    assert "outside" in tab.notice.text
    assert tab.project.protect.steps == ()
    play(tab, [step("global_recode", column="age")])
    assert "breaks" in tab.notice.text
    play(tab, [step("add_noise", nonsense="1")])
    assert "not an option" in tab.notice.text
    play(tab, [{"action": "nonsense"}])
    assert tab.notice.kind == "fault"


def test_the_script_repeats_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tab = protecting(tmp_path)
    play(
        tab,
        [
            step("global_recode", column="age", breaks="0, 40, 90"),
            step("add_noise", level="0.2", seed="5"),
            {"action": "job", "name": "protect.script"},
        ],
    )
    text = tab.view().value("protect.script")["text"]
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    people().to_parquet(folder / "survey.parquet")
    (folder / "protect.py").write_text(text)
    monkeypatch.chdir(folder)
    runpy.run_path("protect.py", run_name="__main__")
    repeated = pd.read_parquet(folder / "survey-protected.parquet")
    from synthpop.app.protect.session import session_of

    current = session_of(tab.worker.workspace, tab.project.protect).data  # type: ignore[attr-defined]
    pd.testing.assert_frame_equal(repeated, current)


def test_the_run_file_is_one_of_riskeval_protect(tmp_path: Path) -> None:
    from riskeval.runfiles.runfile import load_protect_plan

    tab = protecting(tmp_path)
    play(
        tab,
        [
            step("global_recode", column="age", breaks="0, 40, inf"),
            step("local_suppression", k="4"),
            {"action": "job", "name": "protect.run_file"},
        ],
    )
    plan = load_protect_plan(tmp_path / "out" / "survey-protect.toml")
    assert [verb for verb, _ in plan.steps] == ["global_recode", "local_suppression"]
    assert plan.steps[1][1]["k"] == 4
    assert plan.roles.keys == ["region", "sex", "age"]


@pytest.mark.parametrize("name", ["survey.csv", "survey.parquet"])
def test_export_keeps_the_format_and_shuffles(tmp_path: Path, name: str) -> None:
    tab = protecting(tmp_path, name)
    downloads: list[str] = []
    tab.listener = lambda part: downloads.append(tab.download) if part == "download" else None
    play(tab, [do("protect.set_role", column="job", role="identifiers"), *released()])
    assert downloads == [f"survey-protected{Path(name).suffix}"]
    path = tmp_path / "out" / downloads[0]
    file = pd.read_csv(path) if name.endswith("csv") else pd.read_parquet(path)
    assert "job" not in file
    assert file["income"].tolist() != people()["income"].tolist()
    assert sorted(file["income"]) == sorted(people()["income"])


def test_reports_for_two_audiences(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    for audience in ("internal", "external"):
        play(
            tab, [{"action": "job", "name": "protect.report", "arguments": {"audience": audience}}]
        )
    pages = {one: (tmp_path / "out" / f"survey-{one}.html").read_text() for one in
             ("internal", "external")}  # fmt: skip
    assert pages["internal"] != pages["external"]


def test_the_letter_names_file_intruder_steps_limits_verdict_and_decision(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [do("protect.set_limit", name="k", value=7), do("protect.set_sample", n=200)])
    play(tab, [step("global_recode", column="age", breaks="0, 40, 90")])
    play(tab, [do("choose_page", page="release"), {"action": "job", "name": "protect.letter"}])
    letter = tab.view().value("protect.letter")["text"]
    judged = tab.view().value("protect.verdict", release_stamp(tab.project.protect))
    for told in (
        "200 records", "Only some of the records", "Known to an intruder: ", "age",
        "1. Classes of numbers", "Records that share a key (k): 7", judged["sentence"],
        *(f"Not looked at: {text}" for text in judged["not_tried"]), "Date and signature",
    ):  # fmt: skip
        assert told in letter, told
    play(tab, [do("choose_language", language="fr"), {"action": "job", "name": "protect.letter"}])
    assert "Au comité du secret statistique" in tab.view().value("protect.letter")["text"]


def test_a_project_that_was_saved_goes_on_where_it_was(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [step("global_recode", column="age", breaks="0, 40, 90"), do("protect.undo")])
    again = open_tab(tmp_path)
    assert again.project == tab.project
    play(again, [do("protect.redo")])
    assert below_3(again) == (240, 0)
    names = [entry.command for entry in again.project.record]
    assert names[-3:] == ["protect.add_step", "protect.undo", "protect.redo"]


def test_suggested_roles_have_reasons_and_can_be_taken(tmp_path: Path) -> None:
    tab = open_tab(tmp_path, people())
    play(
        tab,
        [
            do("choose_journey", journey="protect"),
            do("protect.open_file", name="survey.parquet", file="data-1.parquet"),
            do("choose_page", page="roles"),
            {"action": "roles"},
        ],
    )
    roles = tab.project.protect.roles
    assert roles.weights == "weight"
    assert "age" in roles.keys
    assert tab.view().value("protect.suggest")["columns"]["age"]["why"] in page_text(tab)


def test_import_options_change_what_is_read(tmp_path: Path) -> None:
    tab = open_tab(tmp_path)
    (tmp_path / "data-1.csv").write_text("a;b\n1,5;-9\n2,5;3\n")
    play(
        tab,
        [
            do("choose_journey", journey="protect"),
            do("protect.open_file", name="x.csv", file="data-1.csv"),
        ],
    )
    preview = tab.view().value("protect.preview")
    assert preview["rows"][0] == ["1.5", "-9"]
    assert "separator ';'" in preview["reading"]
    play(tab, [do("protect.set_reading", missing="-9", decimal=",")])
    assert tab.view().value("protect.preview")["rows"][0] == ["1.5", ""]
    play(tab, [do("protect.set_subset", column="a", values=["2.5"])])
    assert tab.view().value("protect.columns")["records"] == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [("data-1.csv", b""), ("data-1.csv", b"\x00\x01\xff"), ("data-1.parquet", b"PAR1 no"),
     ("data-1.csv", b"a,b\n1,2,3,4\n"), ("data-1.sav", b"$FL2 no"), ("data-1.dta", b"x")],
)  # fmt: skip
def test_a_malformed_file_is_a_message_and_the_tab_lives_on(
    tmp_path: Path, name: str, content: bytes
) -> None:
    tab = open_tab(tmp_path)
    (tmp_path / name).write_bytes(content)
    play(
        tab,
        [do("choose_journey", journey="protect"), do("protect.open_file", name=name, file=name)],
    )
    assert tab.view().fault("protect.preview") != ""
    assert tab.view().fault("protect.preview").splitlines()[0] in page_text(tab).replace(
        "&#x27;", "'"
    )
    people().to_parquet(tmp_path / "data-2.parquet")
    play(tab, [do("protect.open_file", name="good.parquet", file="data-2.parquet")])
    assert tab.view().value("protect.columns")["records"] == 240


def test_a_recoded_variable_is_shown_in_its_own_classes(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(
        tab,
        [
            step("global_recode", column="age", breaks="0, 40, 90"),
            do("choose_page", page="details"),
            {"action": "choose", "values": {"detail": "pair", "first": "age"}},
        ],
    )
    shown = tab.view().value("protect.pair")
    assert "own classes: age" in shown["texts"][0]
    assert [row[0] for row in shown["tables"][0]["rows"]] == ["0-40", "41-90"]
    play(tab, [{"action": "choose", "values": {"first": "sex", "second": "region"}}])
    assert "would have to move" in tab.view().value("protect.pair")["texts"][0]


def test_categories_are_dragged_into_groups(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    new = {"action": "new_group", "arguments": {"group": "east"}}
    play(
        tab,
        [
            do("choose_page", page="methods"),
            {"action": "choose", "values": {"verb": "group_categories", "recode": "region"}},
            new,
            {"action": "move_level", "level": "A", "group": "east"},  # dropped
            {"action": "move_level", "level": "B", "arguments": {"group": "east"}},  # selected
            {"action": "move_level", "level": "C", "group": "east"},
            {"action": "move_level", "level": "C", "group": ""},
        ],
    )
    assert 'data-group="east"' in page_text(tab)
    play(tab, [{"action": "recode"}])
    assert tab.notice is not None
    assert tab.notice.kind == "done", tab.notice.text
    from synthpop.app.protect.session import session_of

    current = session_of(tab.worker.workspace, tab.project.protect).data  # type: ignore[attr-defined]
    assert set(current["region"]) == {"east", "C", "D"}


def test_a_plan_that_meets_the_limits_becomes_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a number of plans in place of the time: the same plans on any machine
    monkeypatch.setattr(search, "search_plans", partial(search.search_plans, plans=32))
    tab = protecting(tmp_path)
    entries = {"k": "3", "cells": "5", "seconds": "600"}
    play(tab, [do("choose_page", page="search"), {"action": "search", "entries": entries}])
    assert tab.notice is None, tab.notice
    found = tab.view().value("protect.search")
    assert "<svg" in page_text(tab)
    assert found["best"] is not None
    play(tab, [{"action": "take_plan", "plan": found["best"]}])
    assert len(tab.project.protect.steps) > 0
    assert below_3(tab)[1] == 0
    assert "search again" in page_text(tab)
    play(tab, [{"action": "search", "entries": {"k": "1", "seconds": "x"}}])
    assert tab.notice is not None
    assert {"k", "cells", "seconds"} <= {
        line.strip(" -").split(":")[0] for line in tab.notice.text.splitlines()
    }


@pytest.mark.parametrize(
    "suffix", [".tsv", ".arrow", ".sav", ".zsav", ".dta", ".xpt", ".rds", ".xlsx"]
)
def test_the_file_leaves_in_the_format_that_it_came_in(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pyreadstat")
    pytest.importorskip("rdata")
    pytest.importorskip("openpyxl")
    from synthpop.microdata.formats.files import read_table, write_table
    from synthpop.microdata.frame.dictionary import (
        Dictionary,
        Variable,
        dictionary_of,
        with_dictionary,
    )

    frame = people(60).assign(sex=people(60)["sex"].astype("category"))
    meaning = Variable("sex", label="Sex of the person", values=((1, "male"), (2, "female")))
    write_table(with_dictionary(frame, Dictionary([meaning])), tmp_path / f"data-1{suffix}")
    came_in = read_table(tmp_path / f"data-1{suffix}")
    tab = open_tab(tmp_path)
    play(
        tab,
        [
            do("choose_journey", journey="protect"),
            do("protect.open_file", name=f"survey{suffix}", file=f"data-1{suffix}"),
            do("protect.set_roles", roles={"region": "keys", "sex": "keys"}),
            step("local_suppression", k="3"),
            {"action": "job", "name": "protect.export"},
        ],
    )
    released = read_table(tmp_path / "out" / f"survey-protected{suffix}")
    assert dictionary_of(released)["sex"] == dictionary_of(came_in)["sex"]
    assert set(released["sex"].dropna()) == set(came_in["sex"])
    assert released["income"].tolist() != came_in["income"].tolist()
    assert sorted(released["income"]) == sorted(came_in["income"])


def test_households_are_taken_out_protected_and_merged_back(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [{"action": "job", "name": "protect.split_households"}])
    state = tab.project.protect
    assert state.persons is not None
    assert state.roles.keys == ("region",)  # age and sex differ within households
    assert tab.view().value("protect.quick_risk")["records"] == 120
    groups = {"west": ["A", "B"]}
    recode = {"verb": "group_categories", "arguments": {"column": "region", "groups": groups}}
    play(
        tab,
        [
            {"action": "job", "name": "protect.apply", "arguments": recode},
            {"action": "job", "name": "protect.merge_households"},
        ],
    )
    merged = tab.project.protect
    assert merged.persons is None
    assert merged.roles == state.persons.roles
    assert [step.verb for step in merged.active] == ["merge_household_file"]
    assert merged.position == 1
    workspace = tab.worker.workspace  # type: ignore[attr-defined]
    released = session_of(workspace, merged).data
    expected = people()["region"].astype(str).replace({"A": "west", "B": "west"})
    assert released["region"].astype(str).tolist() == expected.tolist()
    assert released["age"].equals(people()["age"])

    play(tab, [{"action": "job", "name": "protect.split_households"}])
    play(tab, [do("protect.leave_households")])
    assert tab.project.protect == merged


def test_records_are_chosen_by_a_range_and_the_script_repeats_that(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    form = {"action": "subset", "column": "age", "entries": {"low": "18", "high": "40.5"}}
    play(tab, [form, {"action": "job", "name": "protect.script"}])
    count = int(people()["age"].between(18, 40.5).sum())
    assert tab.view().value("protect.columns")["records"] == count
    text = tab.view().value("protect.script")["text"]
    assert "data = data[(column >= 18.0) & (column <= 40.5)]" in text
    play(tab, [{"action": "subset", "column": "age", "entries": {}}])
    assert tab.project.protect.subset == ()


def test_a_run_file_that_would_lose_a_choice_is_refused(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [do("protect.set_subset", column="sex", values=["male"]),
               {"action": "job", "name": "protect.run_file"}])  # fmt: skip
    assert tab.notice is not None
    assert "records" in tab.notice.text
    play(tab, [do("protect.set_subset", column="sex"),
               do("protect.set_meaning", column="age", entry={"missing": [[0, ""]]}),
               {"action": "job", "name": "protect.run_file"}])  # fmt: skip
    assert "labels" in tab.notice.text


def test_text_is_exported_with_its_separator_and_decimal_sign(tmp_path: Path) -> None:
    tab = protecting(tmp_path, "survey.csv")
    arguments = {"format": ".csv", "order": "keep", "separator": ";", "decimal": ","}
    play(tab, released(**arguments))
    file = tmp_path / "out" / "survey-protected.csv"
    assert ";5,0" in file.read_text().splitlines()[1]
    pd.testing.assert_frame_equal(
        pd.read_csv(file, sep=";", decimal=",").drop(columns="hid"),
        pd.read_csv(tmp_path / "data-1.csv").drop(columns="hid"),
    )


def test_details_take_the_options_of_their_function(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(tab, [do("choose_page", page="details"), choose(detail="numeric")])
    assert "within 0.01 standard deviations" in page_text(tab)
    play(tab, [{"action": "options", "detail": "numeric", "entries": {"k": "0.5"}}])
    assert "within 0.5 standard deviations" in page_text(tab)
    play(tab, [choose(detail="records", **{"first-record": 231})])
    assert "Records 231 to 240 of 240." in page_text(tab)


def test_a_sample_and_types_are_used_and_repeated_by_the_script(tmp_path: Path) -> None:
    tab = protecting(tmp_path)
    play(
        tab,
        [
            do("protect.set_type", column="age", kind="category"),
            do("protect.set_sample", n=50),
            {"action": "job", "name": "protect.script"},
            do("choose_page", page="data"),
        ],
    )
    workspace = tab.worker.workspace  # type: ignore[attr-defined]
    assert "50 records, 7 columns" in page_text(tab)
    assert session_of(workspace, tab.project.protect).data["age"].dtype == "category"
    text = tab.view().value("protect.script")["text"]
    assert "data['age'] = data['age'].astype(\"category\")" in text
    assert "data.sample(min(len(data), 50), random_state=1)" in text
    play(tab, [{"action": "job", "name": "protect.run_file"}])
    assert tab.notice is not None
    assert "records: were chosen" in tab.notice.text
    assert "types: were changed" in tab.notice.text
    play(tab, [do("protect.set_type", column="sex", kind="number")])
    assert "sex: is not a number" in page_text(tab)


def test_stata_files_are_written_for_older_versions(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    tab = protecting(tmp_path)
    for version, release in (("8", 113), ("13", 117)):
        arguments = {"format": ".dta", "dta_version": version}
        play(tab, released(**arguments))
        head = (tmp_path / "out" / "survey-protected.dta").read_bytes()[:40]
        assert head[0] == release or f"<release>{release}".encode() in head


def test_a_file_with_telephone_numbers_is_released_by_name_and_reason_only(tmp_path: Path) -> None:
    phones = people().assign(phone=[f"+43 1 555 {n:04d}" for n in range(240)])
    tab = protecting(tmp_path, frame=phones)
    play(
        tab,
        [
            do("protect.set_role", column="income", role=""),
            step("global_recode", column="age", breaks="0, 40, 90"),
            do("choose_page", page="release"),
        ],
    )
    assert "Do not publish this file: column phone" in page_text(tab)
    export = {"action": "job", "name": "protect.export", "arguments": {"format": ".csv"}}
    play(tab, [export])
    assert "column phone" in str(tab.notice)
    assert not list((tmp_path / "out").glob("*protected*"))
    # 1. Nobody's decision is none.
    play(tab, [{"action": "override", "entries": {"name": "A. Officer", "reason": " "}}])
    assert "reason" in str(tab.notice)
    # 2. A decision lets it go, and is kept.
    play(
        tab,
        [{"action": "override", "entries": {"name": "A. Officer", "reason": "invented"}}, export],
    )
    assert list((tmp_path / "out").glob("*protected*"))
    kept = tab.project.record[-1]
    assert kept.command == "protect.override"
    assert "column phone" in kept.arguments["verdict"]
    # 3. It holds for this state of the file alone, and is not needed without the column.
    play(tab, [do("protect.undo")])
    assert "Release it all the same" in page_text(tab)
    play(tab, [do("protect.set_role", column="phone", role="identifiers")])
    assert "Do not publish" not in page_text(tab)
    # 4. What the office accepts is what the file is judged by.
    accepts_all = [do("protect.set_limit", name=one, value=None) for one in LIMITS]
    assert "cannot be judged" not in page_text(tab)
    play(tab, accepts_all)
    assert "cannot be judged: no limit applies" in page_text(tab)


def test_a_file_of_amounts_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "search_plans", partial(search.search_plans, plans=4))
    firms = people()[["income"]].assign(sales=lambda frame: frame["income"] ** 1.3 + 7)
    tab = open_tab(tmp_path, firms, "firms.parquet")
    roles = {"income": "numeric", "sales": "numeric"}
    play(tab, [
        do("choose_journey", journey="protect"),
        do("protect.open_file", name="firms.parquet", file="data-1.parquet"),
        do("protect.set_roles", roles=roles),
    ])  # fmt: skip
    assert "Record linkage" in str(journey_of(tab.project).bar(tab.view()))
    play(tab, [step("microaggregate", k="15"), do("choose_page", page="details")])
    assert "Whoever knows the true amounts of income and sales" in page_text(tab)
    play(tab, [{"action": "choose", "values": {"detail": "violators"}}])
    assert "No column has the role this needs" in page_text(tab)
    play(tab, [
        do("protect.set_limit", name="record_risk", value=0.2),
        do("choose_page", page="search"),
        {"action": "search", "entries": {"seconds": "600"}},
    ])  # fmt: skip
    assert tab.notice is None, tab.notice
    assert "record_linkage 0.4" in str(tab.view().value("protect.search")["text"])
