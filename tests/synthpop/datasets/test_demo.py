"""Loading, determinism, arguments, and the stored file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop.datasets import (
    DEMO_TRUTH,
    DEMO_VARIABLES,
    load_demo_population,
    load_demo_survey,
    variables_frame,
)
from synthpop.datasets.build import build_survey, main, write_survey
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.demo_survey import STORED


def _same(left: pd.DataFrame, right: pd.DataFrame) -> None:
    """Equal ids, codes and whole numbers; other numbers equal to the last digits."""
    assert list(left.columns) == list(right.columns)
    for name in left.columns:
        a, b = left[name], right[name]
        if isinstance(a.dtype, pd.CategoricalDtype):
            assert list(a.cat.categories) == list(b.cat.categories), name
            assert a.cat.ordered == b.cat.ordered, name
            assert np.array_equal(a.cat.codes, b.cat.codes), name
        else:
            assert a.dtype == b.dtype, name
            np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=name)


def test_survey_has_its_roles(survey: pd.DataFrame) -> None:
    demo = load_demo_survey()
    assert demo.roles.named() == {
        "weight": "rb050",
        "household": "db030",
        "household_weight": "db090",
        "household_size": "hsize",
        "strata": "db040",
        "person": "pid",
    }
    _same(demo.frame, survey)
    assert 11_500 <= demo.n_persons <= 12_500
    assert 4_900 <= demo.n_households <= 5_500


def test_rebuild_gives_the_stored_survey(survey: pd.DataFrame) -> None:
    _same(build_survey(), survey)


def test_stored_file_is_small() -> None:
    data = resources.files("synthpop.microdata.roles").joinpath(STORED).read_bytes()
    assert len(data) < 600 * 1024


def test_build_writes_the_file_it_is_given(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    survey: pd.DataFrame,
) -> None:
    monkeypatch.setattr("synthpop.datasets.build.build_survey", lambda: survey)
    path = tmp_path / "again.parquet"
    main([str(path)])
    _same(pd.read_parquet(path), survey)
    assert "11,993 persons" in capsys.readouterr().out
    assert [item.name for item in tmp_path.iterdir()] == ["again.parquet"]


def test_failed_write_leaves_the_old_file(tmp_path: Path, survey: pd.DataFrame) -> None:
    path = tmp_path / "survey.parquet"
    write_survey(survey.head(10), path)
    broken = survey.head(10).assign(age=[object()] * 10)
    with pytest.raises(Exception, match="object"):
        write_survey(broken, path)
    assert len(pd.read_parquet(path)) == 10


def test_survey_is_part_of_the_truth(survey: pd.DataFrame, population: pd.DataFrame) -> None:
    truth = population.set_index("pid").loc[survey["pid"]].reset_index()[population.columns]
    known = survey["pe040"].notna()
    plain = [name for name in population.columns if name != "pe040"]
    _same(truth[plain], survey[plain])
    assert (truth.loc[known, "pe040"] == survey.loc[known, "pe040"]).all()


def test_population_is_deterministic() -> None:
    _same(load_demo_population(500), load_demo_population(500, seed=DEMO_TRUTH.seed))


def test_number_of_households_is_honoured(population: pd.DataFrame) -> None:
    assert population["db030"].nunique() == DEMO_TRUTH.households
    assert load_demo_population(321)["db030"].nunique() == 321


def test_seed_is_honoured() -> None:
    first, other = load_demo_population(500, seed=1), load_demo_population(500, seed=2)
    assert len(first) != len(other) or not (first["age"] == other["age"]).all()


@pytest.mark.parametrize("households", [1, 2, 3, 9, 40])
def test_a_handful_of_households_is_no_trouble(households: int) -> None:
    frame = load_demo_population(households, seed=households)
    assert frame["db030"].max() == households
    assert np.isfinite(frame["eqIncome"]).all()


def test_every_fault_of_the_arguments_is_told() -> None:
    with pytest.raises(InputError) as caught:
        load_demo_population(0, seed=-1)
    assert [fault.where for fault in caught.value.faults] == ["households", "seed"]
    for wrong in (2.5, True, "many", 10**9):
        with pytest.raises(InputError, match="households"):
            load_demo_population(wrong)  # type: ignore[arg-type]


def test_table_of_variables_describes_the_file(survey: pd.DataFrame) -> None:
    assert [variable.name for variable in DEMO_VARIABLES] == list(survey.columns)
    assert list(variables_frame()["name"]) == list(survey.columns)
    for variable in DEMO_VARIABLES:
        column = survey[variable.name]
        assert bool(variable.missing) == bool(column.isna().any()), variable.name
        categorical = isinstance(column.dtype, pd.CategoricalDtype)
        assert (variable.kind in ("category", "ordered")) == categorical, variable.name
        if categorical:
            assert tuple(column.cat.categories) == variable.levels
            assert column.cat.ordered == (variable.kind == "ordered")
            assert set(column.dropna()) == set(variable.levels), "a level never occurs"
