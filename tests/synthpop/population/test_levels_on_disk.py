"""Levels and names that a disk takes in its own way: memory and disk hold the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, open_population
from synthpop.microdata.frame.dataset import Field, storable_levels
from synthpop.pipeline.whole_strata import row_blocks
from synthpop.population.folders import stratum_folders
from synthpop.population.verify import verify
from synthpop.stages.id_columns import IdColumns
from tests.same import assert_same_frame
from tests.small import small_frame

pytestmark = pytest.mark.usefixtures("one_key")

PERSON = Field.number("pid")


def simulate(frame: pd.DataFrame, column: str, out=None):
    survey = Survey(frame, weight="w", household="hid", strata="region")
    stages = [Structure(["age", column]), Categorical("status", predictors=["sex", column])]
    if column == "region":
        stages = [Structure(["age"])]
    else:
        stages[0] = Structure(["age", "sex", column])
    return Pipeline(stages).fit(survey, seed=1).simulate(out=out)


LEVELS = {
    "intervals": lambda age: pd.cut(age, [0, 15, 40, 120], include_lowest=True),
    "timestamps": lambda age: pd.Categorical(pd.Timestamp("2020-01-01") + pd.to_timedelta(age % 3)),
    "mixed": lambda age: (
        pd.Series(np.select([age < 20, age < 50], [1, 2])).astype(object).mask(age > 60, "old")
    ),
    "one twice": lambda age: pd.Series(np.where(age < 20, 1, 2)).astype(object).mask(age > 60, "1"),
    "flags and numbers": lambda age: pd.Series(age > 40).astype(object).mask(age > 60, 1),
    "dates": lambda age: pd.Series(pd.Timestamp("2020-01-01").date(), age.index).where(age > 30),
    "numbers": lambda age: pd.Categorical(age // 30),
    "text": lambda age: pd.Series(np.where(age > 30, "old", "young")),
}


@pytest.mark.parametrize("kind", LEVELS)
def test_memory_and_disk_hold_the_same_levels(tmp_path, kind: str) -> None:
    frame = small_frame(80)
    frame["new"] = LEVELS[kind](frame["age"])
    in_memory = simulate(frame, "new")
    on_disk = simulate(frame, "new", tmp_path / "p")
    assert_same_frame(in_memory.frame(), on_disk.frame())
    assert_same_frame(in_memory.frame(), open_population(tmp_path / "p").frame())
    assert in_memory.frame()["new"].isna().mean() <= frame["new"].isna().mean() + 0.2
    assert set(in_memory.frame()["new"].dropna()) <= {
        *frame["new"].dropna(),
        *frame["new"].dropna().map(str),
    }


def test_the_survey_of_a_fit_has_the_levels_of_the_population() -> None:
    frame = small_frame(80)
    frame["group"] = pd.cut(frame["age"], [0, 15, 40, 120], include_lowest=True)
    survey = Survey(frame, weight="w", household="hid")
    fitted = Pipeline([Structure(["age", "group"])]).fit(survey, seed=1)
    levels = list(fitted.derived_survey().frame["group"].cat.categories)
    assert levels == list(fitted.simulate().frame()["group"].cat.categories)
    assert levels == [str(level) for level in frame["group"].cat.categories]
    assert fitted.survey.frame["group"].cat.ordered


def test_levels_that_are_kept() -> None:
    for levels in (("a", "b"), (1, 2), (1.5, 2), (False, True), ()):
        assert storable_levels(levels) == levels
    assert storable_levels([2**70]) == (str(2**70),)
    assert storable_levels(["\ud800"]) == ("\\ud800",)
    assert storable_levels([True, 1]) == ("True", "1")


NAMES = {
    "long": ["\u5317" * 40, "\u5317" * 41, "south"],
    "capitals": ["Wien", "WIEN", "wien-0"],
    "one": [1, "x", "y/z"],
    "signs": ["a.", "a", "a%b"],
}


@pytest.mark.parametrize("kind", NAMES)
def test_strata_of_any_name(tmp_path, kind: str) -> None:
    frame = small_frame(80)
    levels = NAMES[kind]
    frame["region"] = np.array(levels, dtype=object)[frame["region"].cat.codes]
    in_memory = simulate(frame, "region")
    on_disk = simulate(frame, "region", tmp_path / "p")
    assert_same_frame(in_memory.frame(), on_disk.frame())
    assert set(in_memory.frame()["region"]) == set(map(str, levels))
    assert verify(tmp_path / "p") == []
    folders = [path.name for path in (tmp_path / "p" / "population").iterdir()]
    assert len({name.casefold().rstrip(".") for name in folders}) == 3
    layout = IdColumns(
        household=in_memory.fields[0], strata=in_memory.fields[1], size=None, person=PERSON
    )
    fields = {field.name: field for field in in_memory.fields}
    blocks = row_blocks(layout, fields, in_memory.arrays(), 250_000)
    files = [block.file for block, _ in blocks]
    assert files == [block.file for block in on_disk.manifest.blocks]
    assert max(map(len, folders)) <= 80
    table = ds.dataset(tmp_path / "p" / "population", partitioning="hive").to_table()
    assert table.num_rows == on_disk.n_persons


def test_ordinary_names_of_folders_are_kept() -> None:
    levels = ["Wien", "Nieder\u00f6sterreich", 1, "Brong Ahafo", "St. P\u00f6lten"]
    assert stratum_folders(levels) == tuple(map(str, levels))
    assert stratum_folders([1, "1"]) == ("1-0", "1-1")


def test_names_that_a_system_or_a_reader_takes_in_its_own_way() -> None:
    levels = ["../../x", "a=b", "[0, 15)", ".hidden", "_hidden", "a ", "CON", "nul.txt", "a\nb"]
    assert stratum_folders(levels) == (
        "%2E./..%2Fx".replace("/", "%2F"), "a%3Db", "%5B0, 15)", "%2Ehidden", "%5Fhidden", "a%20",
        "CON-6", "nul.txt-7", "a%0Ab",
    )  # fmt: skip


def test_a_column_called_stratum_stands_once(tmp_path) -> None:
    frame = small_frame(80).rename(columns={"region": "stratum"})
    survey = Survey(frame, weight="w", household="hid", strata="stratum")
    population = Pipeline([Structure(["age"])]).fit(survey, seed=1).simulate(out=tmp_path)
    read = pd.read_parquet(tmp_path / "population")
    assert len(read) == population.n_persons
    assert tuple(read.columns) == population.columns
