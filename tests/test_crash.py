"""After a crash at any point each kind of folder holds what it held or what is new, never a half.

`python -m pytest -m slow tests/test_crash.py -s` goes through every state and prints their number.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from riskeval import assess
from riskeval.report.assessment_folder import write_folder
from riskeval.session.session import ProtectionSession
from synthpop import Anneal, FittedPipeline, Margin, Pipeline, Structure, open_population
from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.pipeline import postprocess
from synthpop.population.storage import add_file
from synthpop.population.verify import verify
from synthpop.sampling import SimpleRandom, simulate_study
from tests.crash import LOSSES, MORE_LOSSES, Recorder, Tree, states, write_tree
from tests.failing import contents
from tests.small import small_survey

PEOPLE = pd.DataFrame({"age": np.arange(60) % 7, "sex": ["f", "m"] * 30, "income": np.arange(60.0)})
NEWER = PEOPLE.assign(income=PEOPLE["income"] + 1)
KEY = bytes(range(32))
QUICK = 12  # states of each kind that the quick tests look at


@dataclass(frozen=True)
class Kind:
    """A kind of folder: how it is written, and what one finds in it."""

    before: Callable[[Path], object]  # makes what the folder holds before
    action: Callable[[Path], object]
    # what a reader finds, or the error that says there is nothing yet
    found: Callable[[Path], Any]
    missing: tuple[str, ...] = ()  # what such an error says


def nothing(folder: Path) -> None:
    """Leave the folder empty."""


def income(survey: Any) -> float:
    return float(survey.frame["income"].mean())


def study(folder: Path) -> Any:
    design, estimators = SimpleRandom(9), {"income": income}
    return simulate_study(PEOPLE, design, estimators, repetitions=12, seed=1, out=folder / "study")


def session(data: pd.DataFrame, breaks: list[float]) -> Callable[[Path], object]:
    def save(folder: Path) -> None:
        job = ProtectionSession(data, keys=["age", "sex"])
        job.global_recode("age", breaks=breaks)
        job.save(folder / "session")

    return save


def loaded(folder: Path) -> Any:
    job = ProtectionSession.load(folder / "session")
    return job.original.to_json(), job.data.to_json(), len(job.steps)


def population(folder: Path) -> Any:
    opened = open_population(folder / "p")
    assert verify(folder / "p") == []
    return opened.frame().to_json(), opened.manifest.to_text()


def with_report(folder: Path) -> None:
    (folder / "p" / "page").unlink(missing_ok=True)
    write_table(PEOPLE, folder / "p" / "report.csv")
    add_file(folder / "p", folder / "p" / "report.csv")


def opened_with_report(folder: Path) -> Any:
    opened = open_population(folder / "p")
    problems = verify(folder / "p")
    assert problems in ([], ["report.csv is missing"], ["report.csv was changed"])
    return opened.frame().to_json()


def project(folder: Path, data: bytes, k: int) -> Any:
    from synthpop.app.project import Project, perform, save

    name = f"data-{k}.csv"
    made = perform(Project(), "protect.open_file", {"name": "a.csv", "file": name})
    made = perform(made, "protect.set_k", {"k": k})
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    save(made, folder)
    return made


def home_and_archive(folder: Path) -> None:
    from synthpop.app.folders import pack

    project(folder / "home", b"x\n1\n", 3)
    pack(project(folder / "other", b"x\n2\n", 7), folder / "other", folder / "archive.zip")
    shutil.rmtree(folder / "other")


def open_archive(folder: Path) -> None:
    from synthpop.app.folders import held_project, unpack
    from synthpop.app.project import save

    with held_project(folder / "home"):  # as the app starts
        save(unpack(folder / "archive.zip", folder / "home", 10**6), folder / "home")
    with held_project(folder / "home"):
        pass


def project_and_data(folder: Path) -> Any:
    from synthpop.app.project import load

    home = folder / "home"
    made = load(home)
    source = made.protect.source
    assert source is not None
    return made.protect.k, (home / source.file).read_bytes()


@cache
def fitted() -> FittedPipeline:
    return Pipeline([Structure(["age", "sex"])]).fit(small_survey(40), seed=7)


def simulated(folder: Path) -> Any:
    return fitted().simulate(out=folder / "p", key=KEY)


@cache
def fitted_in_parts() -> FittedPipeline:
    people = fitted().simulate(key=KEY).frame()
    total = people.groupby(["region", "sex"], observed=True).size().rename("total").reset_index()
    exchange = Anneal(Margin(total), split="region", tolerance=0.2, max_proposals=200)
    return Pipeline([Structure(["age", "sex"]), exchange]).fit(small_survey(40), seed=7)


def simulated_in_parts(folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
        return fitted_in_parts().simulate(out=folder / "p", key=KEY)


def damaged(folder: Path) -> None:
    simulated(folder)
    for part in sorted(folder.rglob("*.parquet"))[:2]:
        part.write_bytes(b"torn")


def assessment(folder: Path) -> None:
    if (folder / "risk").exists():
        shutil.rmtree(folder / "risk")
    write_folder(assess(PEOPLE, keys=["age"], measures=["k_anonymity"]), folder / "risk")


NO_POPULATION = ("holds no population", "holds an unfinished run")
DAMAGED = ("is not complete", "is damaged")
KINDS = {
    "population": Kind(nothing, simulated, population, NO_POPULATION),
    "population in parts": Kind(nothing, simulated_in_parts, population, NO_POPULATION),
    "population resumed": Kind(damaged, simulated, population, DAMAGED),
    "report of a population": Kind(simulated, with_report, opened_with_report),
    "study": Kind(nothing, study, lambda folder: study(folder).table.to_json()),
    "new session": Kind(nothing, session(PEOPLE, [0, 4, 9]), loaded, ("has no session.json",)),
    "session saved again": Kind(session(PEOPLE, [0, 4, 9]), session(PEOPLE, [0, 3, 9]), loaded),
    "session of another file": Kind(session(PEOPLE, [0, 4, 9]), session(NEWER, [0, 3, 9]), loaded),
    "project": Kind(home_and_archive, open_archive, project_and_data),
    "assessment": Kind(nothing, assessment, lambda f: sorted(contents(f / "risk")), ()),
    "table": Kind(
        lambda folder: write_table(PEOPLE, folder / "a.csv"),
        lambda folder: write_table(NEWER, folder / "a.csv"),
        lambda folder: read_table(folder / "a.csv").to_json(),
    ),
}
"""How each kind of folder is written and read."""


def outcome(kind: Kind, folder: Path) -> Any:
    """Return what a reader finds; the text of an own error where it finds nothing."""
    try:
        return kind.found(folder)
    except (InputError, OutputError) as problem:
        if any(text in str(problem) for text in kind.missing):
            return "nothing"
        raise


def check(name: str, root: Path, most: int | None) -> tuple[int, int]:
    """Look at states of a kind, at every one by default; returns how many, and how many there are.

    Raises AssertionError: a reader finds neither old nor new, or another go does not end in new.
    """
    kind, home = KINDS[name], root / "home"
    home.mkdir(parents=True)
    (root / "first").mkdir()
    for folder in (root / "first", home):  # the first time imports and compiles
        kind.before(folder)
    kind.action(root / "first")
    old = outcome(kind, home)
    recorder = Recorder(home)
    recorder.record(lambda: kind.action(home))
    new, whole = outcome(kind, home), contents(home)
    last = len(recorder.steps)
    every = list(states(recorder, MORE_LOSSES if most is None else LOSSES))
    step = max(1, len(every) // (most or len(every)))
    looked = 0
    for point, tree in islice(every, 0, None, step):
        folder = root / "state"
        write_tree(folder, tree)
        result = outcome(kind, folder)
        assert result in ((new,) if point == last else (old, new, "nothing")), (name, point, tree)
        kind.action(folder)
        assert outcome(kind, folder) == new, (name, point)
        left = contents(folder)
        assert left == whole, (name, point, set(left) ^ set(whole))
        looked += 1
    return looked, len(every)


@pytest.mark.parametrize("name", KINDS)
def test_some_states_after_a_crash(name: str, tmp_path: Path) -> None:
    looked, every = check(name, tmp_path, QUICK)
    assert looked >= min(QUICK, every) > 3


@pytest.mark.slow
def test_every_state_after_a_crash(tmp_path: Path) -> None:
    counts = {name: check(name, tmp_path / name, None)[0] for name in KINDS}
    print(pd.Series(counts).to_string())
    print("states:", sum(counts.values()))
    assert sum(counts.values()) >= 5_000


def test_the_simulator_finds_what_is_not_synced(tmp_path: Path) -> None:
    """A writer that renames without `fsync` is caught: empty, half, zeros and all are states."""
    import os

    def careless() -> None:
        draft = tmp_path / "home" / "a.tmp"
        draft.write_text("new content")
        os.replace(draft, tmp_path / "home" / "a.txt")

    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a.txt").write_text("old")
    recorder = Recorder(tmp_path / "home")
    recorder.record(careless)
    found: list[Tree] = [tree for _, tree in states(recorder)]
    texts = {tree["a.txt"] for tree in found if "a.txt" in tree}
    assert {b"old", b"", b"new c", bytes(11), b"new content"} <= texts
