"""Whether a folder still holds what was written: manifest, parts, records, other files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from synthpop.microdata.formats.places import (
    Place,
    arrow_input,
    file_hash,
    files_below,
    name_below,
    place,
)
from synthpop.microdata.frame.dataset import DATES, DAYS, Field
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.text import count
from synthpop.microdata.runs.engines import Workers, check_workers, map_blocks
from synthpop.population.folders import FOLDER, RECORDS, record_path
from synthpop.population.manifest import FIRST_FORMAT, BlockRecord, Manifest
from synthpop.population.run_key import key_problems
from synthpop.population.storage import read_finished


def verify(root: Place | str, on_event: Listener = silent, *, workers: Workers = 1) -> list[str]:
    """Check every file of a population again; what does not agree is returned, empty is good.

    The listener `on_event` hears of each part; `workers` (a number of threads, ``"processes:4"``
    or ``"dask://host:port"``) read them.

    The manifest agrees with its own hash; each part has the hash, size, rows, columns, types and
    levels that the manifest tells; each part has its record; other files of the run (the report)
    were finished and are unchanged; nothing else lies among the parts; a key file is that of the
    run.

    Raises
    ------
    OutputError
        The folder holds no finished run, or its manifest is damaged.
    """
    check_workers(workers)
    folder = place(root)
    manifest = read_finished(folder)
    problems: list[str] = []
    check = partial(_of_block, folder, manifest)
    results = map_blocks(check, manifest.blocks, workers, in_order=True)
    for number, (block, of_block) in enumerate(zip(manifest.blocks, results, strict=True), 1):
        problems += of_block
        on_event(Event("progress", "verify", number, len(manifest.blocks), block.file))
    problems += _strangers(folder, manifest) + key_problems(folder, manifest.identity)
    for name, digest in manifest.files.items():
        problems += _of_file(folder / name, name, digest)
    return problems


def missing_parts(root: Place, manifest: Manifest) -> list[str]:
    """Return parts that are not there or not of their size; costs one look at each file."""
    problems = []
    for block in manifest.blocks:
        try:
            size = (root / block.file).stat().st_size
        except OSError as problem:
            problems.append(f"{block.file} is missing ({problem.strerror or problem})")
            continue
        if size != block.bytes:
            problems.append(f"{block.file} has {count(size)} bytes, not {count(block.bytes)}")
    return problems


def schema_problems(schema: Any, fields: Sequence[Field]) -> list[str]:
    """Return where the columns of a part differ from the fields of the manifest."""
    import pyarrow as pa

    names = [field.name for field in fields]
    if list(schema.names) != names:
        return [f"has columns {', '.join(schema.names)}, not {', '.join(names)}"]
    problems = []
    for field in fields:
        stored = schema.field(field.name).type
        if pa.types.is_dictionary(stored):
            stored = stored.value_type
        expected = _arrow_type(field)
        is_whole = "int" in field.original.lower() and stored == pa.int64()
        if stored != expected and not is_whole:  # whole numbers, some of them missing
            problems.append(f"{field.name} is {stored}, not {expected}")
    return problems


def _arrow_type(field: Field) -> Any:
    import pyarrow as pa

    if field.original in DATES:
        return pa.date32() if field.original == DAYS else pa.timestamp("us")
    if field.kind == "numeric":
        return pa.from_numpy_dtype(field.dtype)
    return pa.array(list(field.levels)).type


def _of_block(folder: Place, manifest: Manifest, block: BlockRecord) -> list[str]:
    path = folder / block.file
    problems = _of_file(path, block.file, block.hash)
    if problems:
        return problems
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(arrow_input(path)) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
            coded = [f.name for f in manifest.columns if f.kind == "categorical"]
            codes = file.read(columns=coded, use_threads=False)
    except (OSError, pa.ArrowException) as problem:
        return [f"{block.file} cannot be read: {str(problem).splitlines()[0]}"]
    if rows != block.n_persons:
        problems.append(f"{block.file} has {count(rows)} rows, not {count(block.n_persons)}")
    problems += [f"{block.file}: {text}" for text in schema_problems(schema, manifest.columns)]
    for field in manifest.columns if not problems else ():
        if field.kind == "categorical" and not has_levels(codes[field.name], field):
            problems.append(f"{block.file}: {field.name} has other levels than the manifest")
    return (
        problems
        if manifest.format == FIRST_FORMAT
        else problems + _of_record(folder, manifest, block)
    )


def has_levels(column: Any, field: Field) -> bool:
    """Return whether the values of a coded column are among the levels of its field."""
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pa.array(list(field.levels))
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            if chunk.dictionary.equals(levels):
                continue
            chunk = chunk.dictionary_decode()
        values = pc.unique(chunk).drop_null()
        if len(levels) == 0 and len(values):
            return False
        if len(values) and not pc.all(pc.is_in(values, value_set=levels)).as_py():
            return False
    return True


def _of_record(folder: Place, manifest: Manifest, block: BlockRecord) -> list[str]:
    path = record_path(folder / block.file)
    name = name_below(path, folder)
    try:
        record, run = BlockRecord.from_record(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [f"{name} is missing"]
    except (OSError, ValueError) as problem:
        return [f"{name} was changed: {problem}"]
    is_same = run == manifest.identity.hash and record.to_dict() == block.to_dict()
    return [] if is_same else [f"{name} does not belong to the run"]


def _of_file(path: Place, name: str, digest: str) -> list[str]:
    if not digest:
        return [f"{name} was not finished: the run stopped before. Run it again."]
    try:
        return [] if file_hash(path) == digest else [f"{name} was changed"]
    except FileNotFoundError:
        return [f"{name} is missing"]
    except OSError as problem:
        return [f"{name} cannot be read: {problem.strerror or problem}"]


def _strangers(folder: Place, manifest: Manifest) -> list[str]:
    """Return files among the parts and records that are not of the run."""
    files = {block.file for block in manifest.blocks}
    files |= {name_below(record_path(folder / file), folder) for file in files}
    pattern = "*.parquet" if manifest.format == FIRST_FORMAT else "*"  # records lay beside parts
    present = [
        name_below(path, folder)
        for name in (FOLDER, RECORDS)
        for path in files_below(folder / name, pattern)
    ]
    return [f"{name} does not belong to the run" for name in present if name not in files]
