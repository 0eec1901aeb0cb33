"""The state of a project: commands, files, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from synthpop.app.project import Project, load, perform, save
from synthpop.microdata.messages.errors import InputError


def opened() -> Project:
    project = perform(Project(), "choose_journey", {"journey": "protect"})
    return perform(project, "protect.open_file", {"name": "a b.csv", "file": "data-1.csv"})


def test_commands_are_pure_and_recorded() -> None:
    before = opened()
    after = perform(before, "protect.set_role", {"column": "age", "role": "keys"})
    assert before.protect.roles.keys == ()
    assert after.protect.roles.keys == ("age",)
    assert [entry.command for entry in after.record] == [
        "choose_journey", "protect.open_file", "protect.set_role",
    ]  # fmt: skip


def test_a_column_has_one_role() -> None:
    project = perform(opened(), "protect.set_role", {"column": "w", "role": "weights"})
    project = perform(project, "protect.set_role", {"column": "v", "role": "weights"})
    assert project.protect.roles.weights == "v"
    project = perform(project, "protect.set_role", {"column": "v", "role": "numeric"})
    assert (project.protect.roles.weights, project.protect.roles.numeric) == (None, ("v",))
    project = perform(project, "protect.set_role", {"column": "v", "role": ""})
    assert project.protect.roles.of("v") == ""


def test_a_new_step_forgets_those_that_were_undone() -> None:
    project = opened()
    for verb in ("pram", "shuffle"):
        project = perform(project, "protect.add_step", {"verb": verb, "parameters": {}})
    project = perform(project, "protect.go_to", {"position": 1})
    project = perform(project, "protect.add_step", {"verb": "mondrian", "parameters": {}})
    assert [step.verb for step in project.protect.steps] == ["pram", "mondrian"]
    assert perform(project, "protect.redo", {}).protect.position == 2


def test_another_reading_starts_the_steps_anew() -> None:
    project = perform(opened(), "protect.add_step", {"verb": "pram", "parameters": {}})
    project = perform(project, "protect.set_reading", {"decimal": ","})
    assert (project.protect.steps, project.protect.position) == ((), 0)
    assert project.protect.source is not None
    assert project.protect.source.decimal == ","


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("nonsense", {}),
        ("protect.set_role", {"column": "age", "role": "nonsense"}),
        ("protect.set_role", {"column": "age"}),
        ("protect.set_role", {"column": "age", "role": "keys", "more": 1}),
        ("protect.go_to", {"position": 1}),
        ("protect.go_to", {"position": "x"}),
        ("protect.set_k", {"k": 1}),
        ("protect.set_reading", {"decimal": "x"}),
        ("protect.set_meaning", {"column": "a", "entry": {"nonsense": 1}}),
        ("protect.open_file", {"name": "x", "file": "../../etc/passwd"}),
        ("protect.open_file", {"name": "x", "file": "/etc/passwd"}),
        ("choose_language", {"language": "tlh"}),
    ],
)
def test_what_cannot_be_is_refused(command: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        perform(opened(), command, arguments)


def test_saved_projects_come_back(tmp_path: Path) -> None:
    project = perform(opened(), "protect.set_limit", {"name": "k", "value": 5})
    save(project, tmp_path)
    assert load(tmp_path) == project
    assert (tmp_path / "project.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"format": 2}', '{"nonsense": 1}', '{"protect": {"position": 3}}',
     '{"protect": {"source": {"name": "a", "file": "../a.csv"}}}'],
)  # fmt: skip
def test_files_that_are_no_project_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "project.json").write_text(text)
    with pytest.raises(InputError):
        load(tmp_path)
