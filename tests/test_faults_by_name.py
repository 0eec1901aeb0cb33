"""Faults of reading, writing and resuming that had no test of their own."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import riskeval
from synthpop import Cluster, SimpleRandom, simulate_study
from synthpop.microdata.errors import InputError
from tests.small import small_frame, small_pipeline, small_survey


def study(out, people, estimator, **more):
    return simulate_study(
        people, SimpleRandom(20), {"mean": estimator}, repetitions=4, seed=1, out=out, **more
    )


def mean_income(sample) -> float:
    return float(sample.frame["income"].mean())


def mean_age(sample) -> float:
    return float(sample.frame["age"].mean())


def test_a_resumed_study_has_the_same_types(tmp_path) -> None:
    people = small_frame(100).assign(income=1.0)
    first = study(tmp_path / "s", people, mean_income)
    again = study(tmp_path / "s", people, mean_income)
    assert again.estimates.equals(first.estimates)
    assert again.estimates.dtypes.equals(first.estimates.dtypes)


def test_an_empty_or_lost_manifest_is_written_again(tmp_path) -> None:
    fitted = small_pipeline().fit(small_survey(60), seed=1)
    fitted.simulate(out=tmp_path / "p")
    manifest = tmp_path / "p" / "manifest.json"
    whole = manifest.read_bytes()
    for damage in (lambda: manifest.write_bytes(b""), manifest.unlink):
        damage()
        fitted.simulate(out=tmp_path / "p")
        assert manifest.read_bytes() == whole


def test_columns_that_are_all_missing_give_no_warning_of_a_library() -> None:
    frame = small_frame(40).assign(nothing=np.nan)
    session = riskeval.ProtectionSession(frame, keys=["age", "sex"], numeric=["nothing", "income"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        session.risk()
        session.utility()


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 3000 + "]" * 3000, '"a\\u0000b"'])
def test_toml_that_breaks_parsers(tmp_path, text) -> None:
    from synthpop import load_runfile

    (tmp_path / "r.toml").write_text(f"[survey]\nfile = {text}\n", encoding="utf-8")
    with pytest.raises(InputError):
        load_runfile(tmp_path / "r.toml")


def test_households_of_a_study_may_lie_in_a_folder(tmp_path) -> None:
    people = small_pipeline().fit(small_survey(60), seed=1).simulate(out=tmp_path / "p")
    result = simulate_study(
        people, Cluster("hid", SimpleRandom(10)), {"age": mean_age}, repetitions=3, seed=1
    )
    frame = people.frame()
    whole = simulate_study(
        frame, Cluster("hid", SimpleRandom(10)), {"age": mean_age}, repetitions=3, seed=1
    )
    assert np.allclose(result.estimates["estimate"], whole.estimates["estimate"])
    assert isinstance(result.estimates, pd.DataFrame)
