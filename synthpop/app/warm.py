"""Kernels compiled ahead: the first jobs of a journey on a small made-up file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from synthpop.app.jobs import JobRequest
from synthpop.app.project import Project, perform
from synthpop.app.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

COLUMNS_OF_DEMO = ["db030", "db040", "age", "rb090", "pl030", "netIncome", "rb050"]
PARTS_OF_INCOME = [f"py{part:03}n" for part in (10, 50, 90, 100, 110, 120, 130, 140)]


def small_file() -> pd.DataFrame:
    """Return sixty persons in households of two."""
    import numpy as np
    import pandas as pd

    n = 60
    person = np.arange(n)
    return pd.DataFrame(
        {
            "home": person // 2,
            "a": person % 3,
            "b": person % 4,
            "sex": np.where(person % 2, "f", "m"),
            "age": 20 + person * 7 % 50,
            "x": np.linspace(1.0, 9.0, n) ** 2,
            "y": np.cos(person),
            "w": 1.0 + person // 2 % 5,
        }
    )


def protect(workspace: Workspace) -> None:
    """Run the commonest methods and measures."""
    from riskeval.session.session import ProtectionSession

    for household in (None, "home"):
        session = ProtectionSession(
            small_file(), keys=["a", "b", "sex"], numeric=["x", "y"], weights="w",
            household=household,
        )  # fmt: skip
        session.risk()
        session.local_suppression(k=2)
        session.risk()
    session.microaggregate(k=3, household=None)
    session.utility()


def judge(workspace: Workspace) -> None:
    """Compare a release with its original, and attack it."""
    from riskeval.attacks.assess_synthetic import assess_synthetic
    from riskeval.comparison.compare import compare

    original = small_file()
    release = original[::-1].reset_index(drop=True)
    keys = ["a", "b", "sex"]
    compare(
        original, {"release": release}, keys=keys, numeric=["x", "y"], sensitive=["age"], seed=1
    )
    assess_synthetic(original, release, keys, ["x"], attacks=["distance_screen"], seed=1)


def create(workspace: Workspace) -> None:
    """Create a population with the first recipe of a survey, and compare it with the survey."""
    from synthpop.app.create.jobs import made_population, starter
    from synthpop.evaluation.assess_fit import assess_fit
    from synthpop.microdata.roles.demo_survey import load_demo_survey

    code_cells()
    survey = load_demo_survey().frame.iloc[:150][COLUMNS_OF_DEMO + PARTS_OF_INCOME]
    survey.to_parquet(workspace.folder / "data-1.parquet")

    file = {"name": "survey.parquet", "file": "data-1.parquet"}
    project = perform(Project(), "create.open_survey", file)
    first = starter(JobRequest(workspace, project))
    recipe = {name: first[name] for name in ("roles", "stages")}
    project = perform(project, "create.take_recipe", recipe)
    assess_fit(*made_population(JobRequest(workspace, project)))


def code_cells() -> None:
    """Code cells of few and of very many classes, of columns of each type; solve for two totals."""
    import numpy as np

    from synthpop.kernels.raking import weighted_gram
    from synthpop.models.encoding import Encoding, cell_codes

    present = np.zeros(2, dtype=np.int8)
    number = Encoding("number", 3, np.array([0.5]))
    for size in (2, 2**31):  # cells as numbers of 32 and of 64 bits
        levels = Encoding("many", size)
        for kind in (np.int8, np.int16, np.int32, np.int64, np.float64):
            column = np.zeros(2, dtype=kind)
            cell_codes([levels, number], [present, column], 2)
            if kind is not np.float64:
                cell_codes([levels, Encoding("code", 3)], [present, column], 2)
    rows = np.arange(3, dtype=np.int32)
    weighted_gram(rows, rows[:2], np.ones(2), np.ones(2), np.zeros((2, 2)))


JOURNEYS: dict[str, Callable[[Workspace], None]] = {
    "protect": protect,
    "judge": judge,
    "create": create,
}


def compile_kernels(journey: str, folder: Path | None = None) -> None:
    """Let the first jobs of a journey compile what they need, in a folder that is removed."""
    with TemporaryDirectory(dir=folder) as temporary:
        JOURNEYS[journey](Workspace(Path(temporary)))
