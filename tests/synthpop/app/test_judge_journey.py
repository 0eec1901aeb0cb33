"""The journey "judge" without a browser: from two files to the report."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("shiny")

from synthpop.app.tab import Tab
from tests.synthpop.app.helpers import do, open_tab, people, play


def judging(folder: Path) -> Tab:
    """Return a tab with an original and two releases of it."""
    original = people(400)
    tab = open_tab(folder, original)
    twin = original.sample(frac=1, random_state=1).reset_index(drop=True)
    twin.assign(age=original["age"]).to_parquet(folder / "data-2.parquet")
    original.assign(income=original["income"] + 5).to_parquet(folder / "data-3.parquet")
    play(
        tab,
        [
            do("choose_journey", journey="judge"),
            do("judge.open_original", name="survey.parquet", file="data-1.parquet"),
            do("judge.add_release", name="twin.parquet", file="data-2.parquet"),
            do("judge.add_release", name="noisy.parquet", file="data-3.parquet"),
            do("judge.set_kind", place=1, kind="perturbed"),
            do(
                "judge.set_roles",
                roles={"region": "keys", "sex": "keys", "age": "keys", "job": "sensitive",
                       "income": "numeric", "weight": "weights"},
            ),
            do("choose_page", page="judgement"),
        ],
    )  # fmt: skip
    return tab


def text(tab: Tab) -> str:
    page = tab.page()
    assert page is not None
    return str(page.render(tab.view()))


def test_nothing_is_judged_before_it_is_asked_for(tmp_path: Path) -> None:
    tab = judging(tmp_path)
    jobs = tab.worker.jobs  # type: ignore[attr-defined]
    assert "judge.compare" not in jobs
    assert tab.view().value("judge.columns")["releases"][0]["label"] == "twin"


def test_releases_are_compared_attacked_and_reported(tmp_path: Path) -> None:
    tab = judging(tmp_path)
    play(tab, [{"action": "judge"}])
    assert tab.view().fault("judge.compare") == ""
    assert tab.view().fault("judge.attack") == ""
    shown = text(tab)
    assert "noisy" in shown
    assert "Attacks on twin" in shown
    assert "Attacks on noisy" not in shown  # its records are those of the original
    play(tab, [{"action": "job", "name": "judge.report", "arguments": {"audience": "external"}}])
    assert "<html" in (tmp_path / "out" / "judgement-external.html").read_text()
    arguments = {"place": 0, "audience": "internal"}
    play(tab, [{"action": "job", "name": "judge.attack_report", "arguments": arguments}])
    assert "<html" in (tmp_path / "out" / "attacks-1-internal.html").read_text()
    play(tab, [do("judge.set_seed", seed=2)])  # the numbers are those of another seed
    assert "Attacks on twin" not in text(tab)


def test_pages_of_files_and_roles_show_what_there_is(tmp_path: Path) -> None:
    tab = judging(tmp_path)
    people().drop(columns="job").to_parquet(tmp_path / "data-4.parquet")
    play(tab, [do("judge.add_release", name="less.parquet", file="data-4.parquet"),
               do("choose_page", page="files")])  # fmt: skip
    assert "without job" in text(tab)
    play(tab, [do("judge.remove_release", place=2), do("judge.remove_release", place=7)])
    assert len(tab.project.judge.releases) == 2
    assert tab.notice is not None
    play(tab, [do("choose_page", page="roles"), {"action": "roles"}])
    assert tab.project.judge.roles.weights == "weight"


def test_the_kind_of_a_release_is_found_as_on_the_command_line(tmp_path: Path) -> None:
    tab = judging(tmp_path)
    assert [one.kind for one in tab.project.judge.releases] == ["found", "perturbed"]
    play(tab, [do("judge.set_kind", place=1, kind="found"), {"action": "judge"}])
    shown = text(tab)
    assert "Attacks on twin" in shown
    assert "Attacks on noisy" not in shown
    assert "noisy: no limit of risk applies" not in shown
