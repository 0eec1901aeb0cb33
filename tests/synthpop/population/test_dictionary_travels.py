"""Labels, codes and missing codes on their way from a survey file to everything made of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthpop import (
    Categorical,
    Cluster,
    Continuous,
    Pipeline,
    Population,
    SimpleRandom,
    Structure,
    Survey,
    draw_sample,
    open_population,
    read_survey,
)
from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of
from synthpop.population.verify import verify

pyreadstat = pytest.importorskip("pyreadstat")
INCOME = "Net income, EUR a year"


def write_sav(path: Path) -> None:
    """Persons as an office has them: codes with labels, -9 for no answer, whole numbers."""
    rng = np.random.default_rng(3)
    n = 120
    sex = rng.integers(1, 3, n).astype(float)
    status = rng.choice([1.0, 2.0, 7.0, -9.0], n, p=[0.5, 0.3, 0.1, 0.1])
    income = np.where(rng.random(n) < 0.1, -9.0, rng.lognormal(9, 1, n).round(2))
    raw = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(n // 2), 2) + 1.0,
            "w": np.repeat(rng.uniform(2, 4, n // 2), 2),
            "age": rng.integers(18, 90, n).astype(float),
            "sex": sex,
            "status": status,
            "income": income,
        }
    )
    pyreadstat.write_sav(
        raw,
        str(path),
        column_labels={"age": "Age", "sex": "Sex", "status": "Status", "income": INCOME},
        variable_value_labels={
            "sex": {1: "männlich", 2: "weiblich"},
            "status": {1: "works", 2: "retired", 7: "other", -9: "no answer"},
            "income": {-9: "keine Angabe"},
        },
        missing_ranges={"status": [-9], "income": [-9]},
        variable_measure={"sex": "nominal", "income": "scale"},
    )


def recipe() -> Pipeline:
    steps = [Structure(["age", "sex"]), Categorical("status"), Continuous("income")]
    return Pipeline(steps)


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    file = tmp_path_factory.mktemp("survey") / "s.sav"
    write_sav(file)
    return read_survey(file, weight="w", household="hid")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, survey: Survey) -> Path:
    folder = tmp_path_factory.mktemp("population") / "p"
    recipe().fit(survey, seed=1).simulate(out=folder)
    return folder


def status_is_known(dictionary: Dictionary) -> bool:
    variable = dictionary["status"]
    return variable.values[0] == (1, "works") and variable.missing == ((-9, "no answer"),)


def test_it_is_in_memory_on_disk_and_in_every_table(folder: Path, survey: Survey) -> None:
    memory = recipe().fit(survey, seed=1).simulate()
    disk = open_population(folder)
    for population in (memory, disk):
        assert status_is_known(population.dictionary)
        assert "w" not in population.dictionary
        assert status_is_known(dictionary_of(population.frame()))
        assert dictionary_of(population.frame(["age"])).variables.keys() == {"age"}
        assert status_is_known(dictionary_of(next(population.iter_blocks())))
        assert status_is_known(dictionary_of(population.survey().frame))
        assert "hid" in dictionary_of(population.households())
    assert memory.dictionary == disk.dictionary


def test_other_tools_see_it(folder: Path, tmp_path: Path) -> None:
    attributes = pd.read_parquet(folder / "population").attrs
    assert status_is_known(Dictionary.from_dict(attributes["dictionary"]))
    population = open_population(folder)
    population.to_parquet(tmp_path / "all.parquet")
    assert status_is_known(dictionary_of(pd.read_parquet(tmp_path / "all.parquet")))
    assert b"works" in pq.read_schema(tmp_path / "all.parquet").metadata[b"PANDAS_ATTRS"]
    stream = pa.RecordBatchReader.from_stream(population)
    assert b"works" in stream.schema.metadata[b"PANDAS_ATTRS"]
    assert status_is_known(dictionary_of(Survey(population.to_arrow(), weight=None).frame))


def test_samples_have_it(folder: Path) -> None:
    for source in (open_population(folder), open_population(folder).frame()):
        sample = draw_sample(source, Cluster("hid", SimpleRandom(20)), seed=1)
        assert status_is_known(dictionary_of(sample.frame))


def test_from_sav_to_sav(folder: Path, tmp_path: Path) -> None:
    """Codes, labels, measurement levels and missing codes are those of the survey file."""
    write_table(open_population(folder).frame(), tmp_path / "p.sav")
    raw, meta = pyreadstat.read_sav(str(tmp_path / "p.sav"), user_missing=True)
    assert set(raw["sex"]) == {1.0, 2.0}
    assert set(raw["status"]) == {1.0, 2.0, 7.0, -9.0}
    assert meta.variable_value_labels["status"][-9] == "no answer"
    assert meta.variable_value_labels["sex"] == {1: "männlich", 2: "weiblich"}
    assert meta.column_names_to_labels["income"] == INCOME
    assert meta.missing_ranges["income"] == [{"lo": -9.0, "hi": -9.0}]
    assert (raw["income"] == -9).mean() == pytest.approx(0.1, abs=0.06)
    assert not raw["income"].isna().any()
    assert meta.variable_measure["sex"] == "nominal"
    again = read_table(tmp_path / "p.sav")
    pd.testing.assert_frame_equal(
        again, open_population(folder).frame(), check_dtype=False, check_categorical=False
    )


def test_the_dictionary_belongs_to_the_run(folder: Path, survey: Survey) -> None:
    """The same labels resume a run; other labels are another run, since the files hold them."""
    assert verify(folder) == []
    frame = survey.frame.copy()
    frame.attrs["dictionary"]["sex"]["label"] = "Gender"
    other = Survey(frame, **survey.roles.named())
    with pytest.raises(Exception, match="differs in dictionary"):
        recipe().fit(other, seed=1).simulate(out=folder)
    assert recipe().fit(survey, seed=1).simulate(out=folder).n_persons > 0


def test_a_population_without_labels_has_none(tmp_path: Path) -> None:
    frame = pd.DataFrame({"hid": [1, 1, 2], "w": 2.0, "age": [40, 9, 71]})
    population: Population = (
        Pipeline([Structure(["age"])])
        .fit(Survey(frame, weight="w", household="hid"), seed=1)
        .simulate(out=tmp_path / "p")
    )
    assert population.dictionary == Dictionary()
    assert population.frame().attrs == {}
    assert "dictionary" not in (tmp_path / "p" / "manifest.json").read_text()
