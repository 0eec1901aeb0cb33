"""A population as tables of other tools: Arrow, one Parquet or CSV file, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from synthpop.microdata.formats.atomic import replacing
from synthpop.microdata.formats.files import with_whole_numbers, without_formulas
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.frame.dictionary import schema_metadata, with_dictionary
from synthpop.microdata.messages.errors import Faults, OutputError
from synthpop.population.run_key import warn_of_open_file

if TYPE_CHECKING:
    import pyarrow as pa

    from synthpop.population.population import Population

ROW_GROUP = 250_000


def arrow_batches(population: Population, columns: Sequence[str] | None) -> Iterator[pa.Table]:
    """Yield the persons block by block as Arrow tables of one schema."""
    import pyarrow as pa

    schema = None
    names = population.columns if columns is None else columns
    metadata = schema_metadata(population.dictionary.only(names))
    for block in population.iter_blocks(columns):
        table = pa.Table.from_pandas(block, preserve_index=False)
        table = table.replace_schema_metadata(metadata)
        schema = schema or table.schema
        yield table.cast(schema)


def to_arrow(population: Population, columns: Sequence[str] | None) -> pa.Table:
    """Return all persons as one Arrow table."""
    import pyarrow as pa

    return pa.concat_tables(list(arrow_batches(population, columns)))


def arrow_stream(population: Population) -> pa.RecordBatchReader:
    """Return the persons as a stream of record batches; one block is in memory at a time."""
    import pyarrow as pa

    tables = arrow_batches(population, None)
    first = next(tables)

    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for table in tables:
            yield from table.to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def household_table(
    population: Population, columns: Sequence[str], only_shared: bool
) -> pd.DataFrame:
    """Return one row per household; columns in which members differ are left out, or a fault."""
    roles = population.roles
    unit = roles.household or roles.person
    size = roles.size if roles.household else None
    head = [name for name in (unit, roles.strata, size) if name]
    further_columns = [name for name in columns if name not in head]
    differing: set[str] = set()
    first_members = []
    for block in population.iter_blocks([*head, *further_columns]):
        homes = pd.factorize(block[head[0]])[0]
        is_first = ~block.duplicated(head[0]).to_numpy()
        first_members.append(block[is_first])
        for name in further_columns:
            codes = pd.factorize(block[name])[0]
            if (codes != codes[is_first][homes]).any():
                differing.add(name)
    faults = Faults("households")
    for name in further_columns if not only_shared else ():
        if name in differing:
            faults.add(name, "differs between members of a household", hint="Leave it out.")
    faults.raise_if_any()
    names = [name for name in [*head, *further_columns] if name not in differing]
    if not first_members:
        return population.frame(names)
    table = pd.concat(first_members, ignore_index=True)[names]
    dictionary = population.dictionary
    return with_dictionary(table, dictionary) if len(dictionary) else table


def write_parquet(
    population: Population, path: Place | str, columns: Sequence[str] | None
) -> Place:
    """Write one Parquet file, whole or not at all."""
    import pyarrow.parquet as pq

    target = _checked(path, ".parquet")
    warn_of_open_file(population, target)
    tables = arrow_batches(population, columns)
    first = next(tables)
    with (
        replacing(target) as draft,
        pq.ParquetWriter(
            draft, first.schema, compression="zstd", compression_level=1, write_page_checksum=True
        ) as writer,
    ):
        writer.write_table(first, row_group_size=ROW_GROUP)
        for table in tables:
            writer.write_table(table, row_group_size=ROW_GROUP)
    return target


def write_csv(
    population: Population,
    path: Place | str,
    columns: Sequence[str] | None,
    *,
    sep: str,
    decimal: str,
    safe: bool,
) -> Place:
    """Write one CSV file, whole or not at all."""
    target = _checked(path, ".csv")
    warn_of_open_file(population, target)
    with replacing(target) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        for number, block in enumerate(population.iter_blocks(columns)):
            frame = with_whole_numbers(block)
            frame = without_formulas(frame) if safe else frame
            frame.to_csv(stream, index=False, header=number == 0, sep=sep, decimal=decimal)
    return target


def _checked(path: Place | str, suffix: str) -> Place:
    target = place(path)
    if target.suffix.lower() != suffix:
        raise OutputError(f"{target}: give a name that ends in {suffix}.")
    return target
