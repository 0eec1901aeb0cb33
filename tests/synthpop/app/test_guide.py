"""Guided ways: questions in their order, answers that are kept, and what was decided."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("shiny")

from synthpop.app.guide import GUIDE
from synthpop.app.registry import journey_of
from synthpop.app.tab import Tab
from tests.synthpop.app.helpers import do, open_tab, people, play


def shown(tab: Tab) -> str:
    """Return the text of the guided page."""
    page = str(journey_of(tab.project).pages[GUIDE].render(tab.view()))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def to(place: int, journey: str = "protect") -> Mapping[str, Any]:
    """Return the message that shows a question."""
    return {"action": "choose", "values": {f"guide-{journey}": place}}


def decide(roles: list[str], **entries: Any) -> Mapping[str, Any]:
    """Return the message of a question about roles."""
    return {"action": "guide_roles", "roles": roles, "entries": entries}


def test_a_public_file_in_eight_questions(tmp_path: Path) -> None:
    tab = open_tab(tmp_path, people().assign(name=[f"Person {n}" for n in range(240)]))
    play(tab, [do("choose_journey", journey="protect", page=GUIDE)])
    assert "Question 1 of 8" in shown(tab)
    play(tab, [to(3)])
    assert "Question 1 of 8" in shown(tab)  # without a file there is nothing to ask
    play(tab, [do("protect.open_file", name="survey.parquet", file="data-1.parquet"), to(1)])
    assert "survey.parquet: 240 records" in shown(tab)
    play(tab, [do("protect.set_k", k=5), to(2), decide(["identifiers"], identifiers=["name"])])
    assert "Question 4 of 8" in shown(tab)  # the next one
    assert "Decided so far" in shown(tab)
    keys = ["region", "sex", "age"]
    play(tab, [decide(["keys"], keys=keys), decide(["household", "weights"], household="hid",
                                                  weights="weight")])  # fmt: skip
    play(tab, [decide(["numeric", "sensitive"], sensitive=["job"])])
    roles = tab.project.protect.roles
    assert roles.keys == tuple(keys)
    assert (roles.household, roles.weights, roles.sensitive) == ("hid", "weight", ("job",))
    assert (roles.identifiers, roles.numeric) == (("name",), ())
    assert "Question 7 of 8" in shown(tab)
    recode = {"column": "age", "breaks": "0, 40, 90"}
    play(tab, [{"action": "apply", "verb": "global_recode", "entries": recode}, to(7)])
    assert "May it go out?" in shown(tab)
    assert "Classes of numbers" in shown(tab).partition("Decided so far")[2]
    play(tab, [to(3), decide(["keys"], keys=["region", "sex"])])  # an answer can be changed
    assert tab.project.protect.roles.keys == ("region", "sex")
    assert tab.project.protect.steps == ()


@pytest.mark.parametrize("journey", ["judge", "create"])
def test_other_ways_begin_with_the_file_and_stop_there(tmp_path: Path, journey: str) -> None:
    tab = open_tab(tmp_path)
    play(tab, [do("choose_journey", journey=journey, page=GUIDE), to(2, journey)])
    assert "Question 1 of" in shown(tab)
    assert "Decided so far" not in shown(tab)
    name = {"judge": "judge.open_original", "create": "create.open_survey"}[journey]
    people().to_parquet(tmp_path / "data-1.parquet")
    play(tab, [do(name, name="survey.parquet", file="data-1.parquet")])
    if journey == "judge":
        play(tab, [do("judge.add_release", name="out.parquet", file="data-1.parquet")])
    else:
        play(tab, [{"action": "job", "name": "create.take_starter", "arguments": {}}])
    play(tab, [to(1, journey)])
    assert "Question 2 of" in shown(tab)
    assert "survey.parquet" in shown(tab).partition("Decided so far")[2]
