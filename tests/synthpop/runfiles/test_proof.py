"""What a new run file is told when its recipe is tried on some households."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from synthpop.runfiles import proof
from synthpop.runfiles.proof import faults_in_trial
from synthpop.runfiles.runfile import load_runfile
from synthpop.runfiles.template import starter_runfile
from synthpop.stages.categorical import Categorical
from tests.small import small_frame


def plan_file(folder: Path, frame: pd.DataFrame) -> Path:
    """Write a survey and the run file that `init` writes for it."""
    frame.to_csv(folder / "survey.csv", index=False)
    file = folder / "survey.toml"
    file.write_text(starter_runfile(folder / "survey.csv", folder))
    return file


def test_what_init_writes_works(tmp_path: Path) -> None:
    assert faults_in_trial(load_runfile(plan_file(tmp_path, small_frame()))) == []


def test_a_stage_that_cannot_be_fitted_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, sizes = load_runfile(plan_file(tmp_path, small_frame())), []
    name = str(next(one.name for one in plan.stages if isinstance(one, Categorical)))
    monkeypatch.setattr(proof, "HOUSEHOLDS", 20)

    def fit(self: Categorical, sample: object, rng: object) -> object:
        sizes.append(len(sample.household_weights))  # type: ignore[attr-defined]
        raise ValueError("n_splits is too large")

    monkeypatch.setattr(Categorical, "fit", fit)
    (fault,) = faults_in_trial(plan)
    assert name in fault.where
    assert "n_splits" in fault.what
    assert sizes[0] == 20
    assert sizes[-1] == plan.read_survey().n_households  # few households alone prove nothing


def test_a_column_that_is_not_there_is_told_before_any_fit(tmp_path: Path) -> None:
    file = plan_file(tmp_path, small_frame())
    first = 'type = "structure"\nvariables = ['
    text = file.read_text().replace(first, f'{first}"absent", ')
    file.write_text(text)
    (fault,) = faults_in_trial(load_runfile(file))
    assert "absent" in f"{fault.where} {fault.what}"
