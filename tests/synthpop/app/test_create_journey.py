"""The journey "create" without a browser: from the survey to the population and its risk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("shiny")

from synthpop.app.create import recipe_page
from synthpop.app.forms import protection_forms, read_form
from synthpop.app.tab import Tab
from tests.synthpop.app.helpers import do, open_tab, people, play

EXPORT = {"action": "job", "name": "create.export", "arguments": {"format": ".parquet"}}


def creating(folder: Path) -> Tab:
    """Return a tab with a survey and the recipe that it suggests."""
    tab = open_tab(folder, people())
    play(
        tab,
        [
            do("choose_journey", journey="create"),
            do("create.open_survey", name="survey.parquet", file="data-1.parquet"),
            {"action": "job", "name": "create.take_starter"},
        ],
    )
    return tab


def text(tab: Tab) -> str:
    page = tab.page()
    assert page is not None
    return str(page.render(tab.view()))


def test_the_survey_suggests_roles_and_stages(tmp_path: Path) -> None:
    tab = creating(tmp_path)
    state = tab.project.create
    assert state.roles["weight"] == "weight"
    assert state.roles["household"] == "hid"
    assert state.stages[0]["type"] == "structure"
    play(tab, [do("choose_page", page="recipe")])
    assert tab.view().fault("create.check") == ""
    assert "1. Household structure" in text(tab)
    play(tab, [do("choose_page", page="totals")])
    assert "Table of totals" in text(tab)


def test_what_the_file_does_not_tell_is_asked(tmp_path: Path) -> None:
    from tests.synthpop.microdata.reading.test_columns import families

    tab = open_tab(tmp_path, families())
    play(
        tab,
        [
            do("choose_journey", journey="create"),
            do("create.open_survey", name="survey.parquet", file="data-1.parquet"),
            do("choose_page", page="survey"),
        ],
    )
    shown = text(tab)
    for question in ("Which column has the households?", "Which column has the weights?",
                     "Which column is the age?", "Which column is the sex?"):  # fmt: skip
        assert question in shown
    play(
        tab,
        [
            do("create.answer", role="weight", choice="=a6"),
            do("create.answer", role="sex", choice="-"),
            {"action": "job", "name": "create.take_starter"},
        ],
    )
    state = tab.project.create
    assert (state.roles["weight"], state.roles["household"]) == ("a6", "a1")
    assert "a3" not in state.stages[0]["variables"]
    play(tab, [do("create.answer", role="sex", choice="")])
    assert tab.project.create.answers == {"weight": "a6"}


def test_population_fit_risk_and_files(tmp_path: Path) -> None:
    tab = creating(tmp_path)
    play(tab, [do("create.set_run", scale=0.2, seed=4), do("choose_page", page="population")])
    play(tab, [{"action": "run"}])
    assert tab.view().fault("create.run") == ""
    assert "<svg" in text(tab)
    play(
        tab,
        [
            do("choose_page", page="risk"),
            {"action": "intruder", "entries": {"keys": ["sex", "region"], "target": "income"}},
        ],
    )
    play(tab, [{"action": "attack"}])
    assert tab.view().fault("create.scenarios") == ""
    assert "What they learn" in text(tab)
    play(
        tab,
        [
            {"action": "job", "name": "create.export", "arguments": {"format": ".csv", "n": 20}},
            {"action": "job", "name": "create.export", "arguments": {"format": ".parquet"}},
            {"action": "job", "name": "create.report", "arguments": {"audience": "external"}},
            {"action": "job", "name": "create.run_file"},
        ],
    )
    out = tmp_path / "out"
    sample, population = (
        pd.read_csv(out / "sample.csv"),
        pd.read_parquet(out / "population.parquet"),
    )
    assert sample["hid"].nunique() == 20
    assert 0.1 * people()["weight"].sum() < len(population) < 0.3 * people()["weight"].sum()
    assert "<html" in (out / "population-external.html").read_text()
    assert 'file = "survey.parquet"' in (out / "population.toml").read_text()


def test_the_run_file_makes_the_same_population(tmp_path: Path) -> None:
    from synthpop import run

    tab = creating(tmp_path)
    play(tab, [do("create.set_run", scale=0.1), {"action": "job", "name": "create.run_file"},
               EXPORT])  # fmt: skip
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    people().to_parquet(elsewhere / "survey.parquet")
    (elsewhere / "run.toml").write_text((tmp_path / "out" / "population.toml").read_text())
    (key,) = (tmp_path / "out").parent.rglob("run.key")
    repeated = run(elsewhere / "run.toml", key=key).frame()
    mine = pd.read_parquet(tmp_path / "out" / "population.parquet")
    pd.testing.assert_frame_equal(repeated.astype(str), mine.astype(str))


def test_stages_are_changed_moved_and_removed(tmp_path: Path) -> None:
    tab = creating(tmp_path)
    before = tab.project.create.stages
    last = len(before) - 1
    play(tab, [do("choose_page", page="recipe"), do("create.move_stage", place=last, by=-1)])
    assert tab.project.create.stages[last - 1] == before[last]
    play(
        tab, [do("create.move_stage", place=last - 1, by=1), do("create.remove_stage", place=last)]
    )
    assert tab.project.create.stages == before[:last]
    place = next(k for k, one in enumerate(before) if one["type"] == "categorical")
    play(tab, [{"action": "choose", "values": {"stage": place}}])
    assert f"form-stage-{place}" in text(tab)
    entries = {"name": before[place]["name"], "predictors": ["sex"]}
    play(tab, [{"action": "stage", "place": place, "entries": entries}])
    assert tab.project.create.stages[place]["predictors"] == ["sex"]
    assert tab.view().fault("create.check") == ""


def test_faulty_recipes_and_rules_say_what_is_wrong(tmp_path: Path) -> None:
    tab = creating(tmp_path)
    play(tab, [do("choose_page", page="recipe"), do("create.add_stage", kind="categorical")])
    assert "name" in tab.view().fault("create.check")
    assert 'class="notice fault"' in text(tab)
    play(tab, [{"action": "rules", "entries": {"text": "age <<"}}])
    assert tab.notice is not None
    assert tab.project.create.rules == ()
    play(tab, [do("create.add_stage", kind="nonsense")])
    assert "nonsense" in tab.notice.text


def test_totals_are_met(tmp_path: Path) -> None:
    tab = creating(tmp_path)
    totals = pd.DataFrame({"region": list("ABCD"), "Freq": [400, 320, 360, 360]})
    totals.to_csv(tmp_path / "data-9.csv", index=False)
    play(tab, [do("create.add_totals", name="region.csv", file="data-9.csv"),
               do("create.set_totals", place=0, total="Freq"),
               EXPORT])  # fmt: skip
    population = pd.read_parquet(tmp_path / "out" / "population.parquet")
    assert population["region"].value_counts().sort_index().tolist() == [400, 320, 360, 360]


STAGES_WITH_OPTIONS = [
    {"type": "structure", "variables": ["age", "sex"], "jitter": {"age": 2}, "pooling": 12},
    {"type": "derive", "name": "class", "source": "age", "breaks": [-1, 15, 120],
     "labels": ["young", "old"]},
    {"type": "categorical", "name": ["status"], "predictors": ["class"], "pooling": "complete",
     "by_household": "sequential", "impossible": [{"levels": ["1"], "when": {"class": ["young"]}}]},
    {"type": "categorical", "name": ["status"], "pooling": {"amount": 5, "smallest_stratum": 9}},
    {"type": "continuous", "name": "income", "by_household": "shared",
     "method": {"type": "binned", "upper": 9000.0, "tail": {"type": "gpd", "threshold": 700.0}}},
    {"type": "continuous", "name": "income", "method": "negative-binomial", "means_by": "status"},
    {"type": "components", "total": "income", "parts": ["a", "b"], "by": ["income"],
     "empty": "sequential"},
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES_WITH_OPTIONS, ids=lambda stage: str(stage["type"]))
def test_the_options_of_a_stage_come_back_in_its_form(stage: dict[str, Any]) -> None:
    form = recipe_page.forms()[stage["type"]]
    entries: dict[str, Any] = {}
    for name, value in stage.items():
        entries |= recipe_page._entries(form, name, value)
    assert {"type": stage["type"], **read_form(form, entries)} == stage


def test_the_options_of_a_method_come_back_in_its_form() -> None:
    noise = protection_forms()["add_noise"]
    record = {"type": "outlier", "cutoff": 0.9}
    entries = {"variables": ["income"], **recipe_page._entries(noise, "method", record)}
    assert read_form(noise, entries)["method"] == record


def test_a_number_for_pooling_stands_for_its_amount() -> None:
    form = recipe_page.forms()["categorical"]
    entries = {"name": ["status"], **recipe_page._entries(form, "pooling", 5)}
    assert read_form(form, entries)["pooling"] == {"amount": 5}


def test_options_without_an_entry_stay_when_a_stage_is_changed(tmp_path: Path) -> None:
    tab = creating(tmp_path)
    stages = tab.project.create.stages
    place = next(k for k, one in enumerate(stages) if one["type"] == "continuous")
    plain = {"name": stages[place]["name"], "method": "binned", "tail": "gpd"}
    play(tab, [do("create.set_stage", place=place, options=plain)])
    play(tab, [{"action": "stage", "place": place, "entries": {**plain, "upper": "", "tail": ""}}])
    assert tab.notice is not None  # the form has no entry of that name
    entries = {"name": plain["name"], "method": "pmm"}
    play(tab, [{"action": "stage", "place": place, "entries": entries}])
    assert tab.project.create.stages[place] == {"type": "continuous", **entries, "tail": "gpd"}


def test_every_stage_has_a_form_with_help() -> None:
    for kind, form in recipe_page.forms().items():
        assert form.help.endswith("."), kind
        for option in form.options:
            assert option.help or option.choices or option.suggestions, (kind, option.name)
            assert not option.help.startswith("See Cat"), (kind, option.name)
            assert len({one.name for one in option.forms}) == len(option.forms)


def test_cards_say_options_in_words() -> None:
    method = {"type": "binned", "tail": "gpd", "upper": 230_000.0}
    assert recipe_page._text(method) == "binned, tail: gpd, upper: 230000"
    assert recipe_page._text({"age": 2}) == "age: 2"
