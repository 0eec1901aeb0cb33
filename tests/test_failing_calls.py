"""Each `open`, `write`, `fsync` and `replace` of what is stored fails once: own error, whole files.

Populations have the same test in `tests/synthpop/population/test_faults.py`.
"""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from riskeval.session.session import ProtectionSession
from synthpop import Pipeline, Structure, assess_fit
from synthpop.cli import report
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.pages import page
from synthpop.population.storage import add_file
from synthpop.population.verify import verify
from synthpop.report import write
from synthpop.report.stored import store_report
from synthpop.runfiles.runfile import dump_runfile, parse_runfile
from synthpop.sampling import SimpleRandom, draw_setup, simulate_study
from tests.failing import Failing, calls_of, contents, every
from tests.small import small_survey

pytestmark = pytest.mark.usefixtures("few_trees")

PEOPLE = pd.DataFrame({"age": np.arange(60) % 7, "sex": ["f", "m"] * 30, "income": np.arange(60.0)})


def income(survey) -> float:
    return float(survey.frame["income"].mean())


def study(folder) -> None:
    design, estimators = SimpleRandom(9), {"income": income}
    simulate_study(PEOPLE, design, estimators, repetitions=12, seed=1, out=folder)


def setup(folder) -> None:
    draw_setup(PEOPLE, SimpleRandom(9), n_samples=2, seed=1).write(folder / "setup.parquet")


def session(folder) -> None:
    steps = ProtectionSession(PEOPLE, keys=["age", "sex"])
    steps.global_recode("age", breaks=[0, 4, 9])
    steps.save(folder)


def run_file(folder) -> None:
    table = {"survey": {"demo": True}, "stage": [{"type": "structure", "variables": ["age"]}]}
    dump_runfile(parse_runfile(table), folder / "run.toml")


@every(3)
@pytest.mark.parametrize("action", [study, setup, session, run_file])
def test_each_call_fails_once(action, stride, tmp_path) -> None:
    action(tmp_path / "first")  # imports, which opens files too
    calls = calls_of(lambda: action(tmp_path / "whole"))
    whole = contents(tmp_path / "whole")
    assert {"open", "write", "fsync", "replace"} <= set(calls)
    for k in range(0, len(calls), stride):
        folder = tmp_path / str(k)
        with pytest.MonkeyPatch.context() as patch:
            Failing(patch, at=k)
            with pytest.raises(OutputError, match="cannot write"):
                action(folder)
        assert contents(folder).items() <= whole.items(), k  # whole files or none
        action(folder)
        assert contents(folder) == whole, k


@every(3)
def test_each_call_of_a_report_fails_once(stride, tmp_path, monkeypatch) -> None:
    survey, home = small_survey(20), tmp_path / "first"
    population = Pipeline([Structure(["age"])]).fit(survey, seed=1).simulate(out=home)
    fit = assess_fit(survey, population)
    fit = replace(fit, tables={name: table.head(2) for name, table in fit.tables.items()})
    source = write.report_source(survey, population, fit)
    monkeypatch.setattr(write, "stored_facts", lambda *of: {})  # what it says: other tests
    monkeypatch.setattr(page, "render_page", lambda *of: "page")

    def action(folder) -> None:
        add_file(folder, store_report(folder, source))
        report(str(folder), "external")

    for name in ("whole", *map(str, range(0, 99, stride))):
        folder = tmp_path / name
        shutil.copytree(home, folder)
        if name == "whole":
            calls = calls_of(lambda: action(tmp_path / "whole"))
            continue
        if int(name) >= len(calls):
            break
        with pytest.MonkeyPatch.context() as patch:
            Failing(patch, at=int(name))
            with pytest.raises(OutputError, match="cannot write"):
                action(folder)
        action(folder)
        assert contents(folder) == contents(tmp_path / "whole"), name
        assert verify(folder) == []
    assert len(calls) > 20
