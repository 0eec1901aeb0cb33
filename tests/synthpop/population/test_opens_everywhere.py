"""The folder and the population itself in pandas, polars, DuckDB and Arrow, one line each."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from synthpop import Continuous, Pipeline, Structure, Survey, open_population
from synthpop.cli import main
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.population.verify import verify
from tests import console
from tests.same import assert_same_frame
from tests.small import small_pipeline, small_survey

ROWS = 900


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    folder = tmp_path_factory.mktemp("p")
    fitted = small_pipeline().fit(small_survey(), seed=7)
    return fitted.simulate(out=folder, rows_per_block=ROWS)


@pytest.fixture(scope="module")
def folder(population):
    return population.path / "population"


def same(frame: pd.DataFrame, population) -> None:
    """All rows, columns once, in some order of the rows."""
    assert tuple(frame.columns) == population.columns
    expected = population.frame()
    assert len(frame) == len(expected)
    assert frame["income"].sum() == pytest.approx(expected["income"].sum())
    assert frame["income"].isna().sum() == expected["income"].isna().sum()
    counts = [f.groupby(["region", "sex"], observed=True).size().to_dict()
              for f in (frame.astype({"region": str, "sex": str}), expected.astype(
                  {"region": str, "sex": str}))]  # fmt: skip
    assert counts[0] == counts[1]


def test_pandas_in_one_line(folder, population) -> None:
    frame = pd.read_parquet(folder)
    same(frame, population)
    assert isinstance(frame["region"].dtype, pd.CategoricalDtype)
    assert frame["age"].dtype.kind == "i"


def test_arrow_in_one_line(folder, population) -> None:
    same(ds.dataset(folder).to_table().to_pandas(), population)


def test_polars_in_one_line(folder, population) -> None:
    polars = pytest.importorskip("polars")
    same(polars.scan_parquet(folder).collect().to_pandas(), population)
    west = polars.scan_parquet(folder).filter(polars.col("region") == "west").collect()
    assert west.height == (population.frame()["region"] == "west").sum()


def test_duckdb_in_one_line(folder, population) -> None:
    duckdb = pytest.importorskip("duckdb")
    frame = duckdb.sql(f"select * from '{folder}/*/*.parquet'").df()
    same(frame, population)


def test_whole_numbers_with_missing_ones_are_whole_in_the_folder(tmp_path) -> None:
    frame = small_survey().frame.assign(kids=lambda x: pd.array(x["age"] % 4, dtype="Int64"))
    frame.loc[frame["age"] < 15, "kids"] = pd.NA
    survey = Survey(frame, **small_survey().roles.named())
    recipe = Pipeline([Structure(["age"]), Continuous("kids", predictors=["age"])])
    population = recipe.fit(survey, seed=1).simulate(out=tmp_path / "p", rows_per_block=500)
    assert str(population.frame()["kids"].dtype) == "Int64"
    dataset = ds.dataset(tmp_path / "p" / "population")
    assert {pq.read_schema(file).field("kids").type for file in dataset.files} == {pa.int64()}
    assert 0 < dataset.to_table()["kids"].null_count < len(population)
    seen: list[str] = []
    assert verify(tmp_path / "p", lambda event: seen.append(event.detail)) == []
    assert seen == [block.file for block in population.manifest.blocks]


def test_household_tables_have_the_columns_that_members_share(tmp_path) -> None:
    frame = small_survey().frame.assign(
        rooms=lambda x: pd.array(x["hid"] % 4 + 1, dtype="Int64"),
        heating=lambda x: pd.Categorical(x["hid"] % 3 == 0),
    )
    frame.loc[frame["hid"] % 5 == 0, "rooms"] = pd.NA
    survey = Survey(frame, **small_survey().roles.named())
    recipe = Pipeline([Structure(["age", "rooms", "heating"])])
    population = recipe.fit(survey, seed=1).simulate(out=tmp_path / "p", rows_per_block=500)
    persons, table = population.frame(), population.households("shared")
    assert "age" not in table
    assert len(table) == population.n_households
    merged = persons.merge(table, on="hid", suffixes=("", "_home"))
    assert (merged["rooms"].fillna(-1) == merged["rooms_home"].fillna(-1)).all()
    assert population.households(["rooms"]).columns.tolist() == [
        *population.households().columns, "rooms",
    ]  # fmt: skip
    with pytest.raises(InputError, match="age: differs between members"):
        population.households(["age"])
    done = console.call(main, "export", tmp_path / "p", "--to", tmp_path / "h.csv", "--households",
                        cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"rooms", "heating"} <= set(pd.read_csv(tmp_path / "h.csv").columns)


def test_nothing_but_parquet_lies_in_the_folder_of_the_data(folder) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".parquet"}
    assert {path.parent.name for path in files} == {"north", "south", "west"}


def test_row_groups_have_statistics_by_which_readers_choose(folder) -> None:
    part = pq.ParquetFile(next(folder.glob("west/*.parquet"))).metadata
    columns = {part.row_group(0).column(k).path_in_schema: part.row_group(0).column(k)
               for k in range(part.num_columns)}  # fmt: skip
    assert columns["region"].statistics.min == columns["region"].statistics.max == "west"
    assert columns["hid"].statistics.min < columns["hid"].statistics.max


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_population_is_a_table_of_arrow(population, place, tmp_path) -> None:
    if place == "memory":
        fitted = small_pipeline().fit(small_survey(), seed=7)
        population = fitted.simulate(rows_per_block=ROWS, key=bytes(32))
    same(population.to_arrow().to_pandas(), population)
    assert population.to_arrow(["age", "hid"]).column_names == ["age", "hid"]
    reader = pa.RecordBatchReader.from_stream(population)
    same(reader.read_all().to_pandas(), population)
    assert len(population) == population.scan().count_rows() == population.n_persons
    ages = population.scan().to_table(columns=["age"], filter=ds.field("age") > 60)
    assert ages.num_rows == (population.frame()["age"] > 60).sum()
    population.to_parquet(tmp_path / "one.parquet")
    same(pd.read_parquet(tmp_path / "one.parquet"), population)
    population.to_csv(tmp_path / "one.csv")
    same(pd.read_csv(tmp_path / "one.csv"), population)
    population.to_csv(tmp_path / "two.csv", ["hid", "income"], sep=";", decimal=",")
    assert (tmp_path / "two.csv").read_text().splitlines()[0] == "hid;income"
    again = pd.read_csv(tmp_path / "two.csv", sep=";", decimal=",")
    assert again["income"].sum() == pytest.approx(population.frame()["income"].sum())


def test_polars_takes_a_population_as_it_is(population) -> None:
    polars = pytest.importorskip("polars")
    same(polars.DataFrame(population).to_pandas(), population)


def test_names_of_files_say_what_is_written(population, tmp_path) -> None:
    with pytest.raises(OutputError, match=r"ends in \.csv"):
        population.to_csv(tmp_path / "people.txt")
    with pytest.raises(OutputError, match=r"ends in \.parquet"):
        population.to_parquet(tmp_path / "people.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_command_exports_all_or_a_part(population, tmp_path) -> None:
    def export(*arguments: object) -> pd.DataFrame:
        done = console.call(main, "export", population.path, "--to", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        file = tmp_path / str(arguments[0])
        return pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)

    same(export("all.csv"), population)
    same(export("all.parquet"), population)
    west = export("west.csv", "--strata", "west")
    assert set(west["region"]) == {"west"}
    two = export("two.parquet", "--strata", "west", "--strata", "north")
    assert set(two["region"]) == {"west", "north"}
    assert len(export("h.csv", "--households")) == population.n_households
    drawn = export("sample.csv", "--sample", 50, "--seed", 1)
    assert drawn["hid"].nunique() == 50
    assert len(drawn) < 250
    bad = console.call(
        main, "export", population.path, "--to", "x.csv", "--strata", "wets", cwd=tmp_path
    )
    assert (bad.returncode, "Did you mean 'west'" in bad.stderr) == (1, True)


def test_the_command_writes_for_older_stata(population, tmp_path) -> None:
    pytest.importorskip("pyreadstat")

    def export(*arguments: object) -> console.Completed:
        return console.call(main, "export", population.path, "--to", *arguments, cwd=tmp_path)

    assert export("new.dta").returncode == 0
    assert (tmp_path / "new.dta").read_bytes()[:11] == b"<stata_dta>"
    assert export("old.dta", "--dta-version", 8).returncode == 0
    assert (tmp_path / "old.dta").read_bytes()[0] == 113  # the format of Stata 8
    for arguments in (("old.csv", "--dta-version", 8), ("x.dta", "--dta-version", 7)):
        bad = export(*arguments)
        assert (bad.returncode, "Give 8 to 15, for .dta only" in bad.stderr) == (1, True)


def test_what_is_exported_is_what_open_population_reads(population, tmp_path) -> None:
    open_population(population.path).to_parquet(tmp_path / "people.parquet")
    exported = pd.read_parquet(tmp_path / "people.parquet")
    assert_same_frame(exported, population.frame())
