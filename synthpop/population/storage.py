"""A population on disk: Parquet by stratum, a record beside each part, a manifest, resume.

A transactional folder (`formats/folder.py`) whose label is the manifest. The record of a part is
written after it: a block counts as done where its record agrees with the plan and its file with the
record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synthpop.microdata.formats.folder import Folder
from synthpop.microdata.formats.places import Place, file_hash, files_below, name_below
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.codes import MISSING
from synthpop.microdata.frame.dataset import DATES, DAYS, Field, is_whole, restore_column
from synthpop.microdata.frame.dictionary import Dictionary, schema_metadata
from synthpop.microdata.messages.errors import OutputError, reason_of
from synthpop.microdata.statistics.secret_key import SecretKey
from synthpop.microdata.statistics.streams import resolve_seed
from synthpop.population.folders import FOLDER, MANIFEST, PART, RECORDS, record_path
from synthpop.population.manifest import RUNNING, BlockRecord, Manifest
from synthpop.population.plain_values import ManifestError
from synthpop.population.run_identity import RunIdentity
from synthpop.population.run_key import (
    KEY_FILE,
    key_of_run,
    read_key,
    seed_of_run,
    warn_of_open_seed,
    write_key,
)

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 250_000
BATCH = 1 << 16  # the same bytes as by 1,024 rows at a time, in a sixth less time
KEPT = "Finished blocks are kept."
MEMBERS = (rf"{PART}[.]parquet", rf"{PART}[.]json", re.escape(KEY_FILE))


def folder_of(root: Place) -> Folder:
    """Return the folder of a population."""
    return Folder(root, MANIFEST, MEMBERS, kept=KEPT)


def write_block(
    root: Place,
    block: BlockRecord,
    fields: Sequence[Field],
    columns: Mapping[str, np.ndarray],
    run: str,
    dictionary: Dictionary | None = None,
) -> BlockRecord:
    """Write one block and its record; returns the record with hash and size."""
    path = root / block.file
    table = arrow_table(fields, columns)
    if dictionary is not None:
        table = table.replace_schema_metadata(schema_metadata(dictionary))
    digest, size = write_part(table, path)
    block = replace(block, hash=digest, bytes=size)
    record = record_path(path)
    folder_of(record.parent).put(record.name, block.to_record(run))
    return block


def read_record(path: Place, run: str) -> BlockRecord | None:
    """Return the record of a block whose file has its size and hash; None to make it again."""
    try:
        block, owner = BlockRecord.from_record(record_path(path).read_text(encoding="utf-8"))
        fits = owner == run and path.stat().st_size == block.bytes
        return block if fits and file_hash(path) == block.hash else None
    except (OSError, ValueError):  # no file, or a damaged one
        return None


def arrow_table(fields: Sequence[Field], columns: Mapping[str, np.ndarray]) -> pa.Table:
    """Return the columns as an Arrow table: codes as dictionaries, missing values as null."""
    import pyarrow as pa

    arrays = []
    for field in fields:
        values = columns[field.name]
        if field.kind == "categorical":
            missing = values == MISSING
            codes = pa.array(values, mask=missing if missing.any() else None)
            levels = pa.array(list(field.levels))
            arrays.append(pa.DictionaryArray.from_arrays(codes, levels, ordered=field.ordered))
        else:
            dates = field.original in DATES
            array = pa.array(restore_column(field, values) if dates else values, from_pandas=True)
            array = array.cast(pa.date32()) if field.original == DAYS else array
            if "int" in field.original.lower() and values.dtype.kind == "f" and is_whole(values):
                array = array.cast(pa.int64())  # some of them are missing
            arrays.append(array)
    return pa.Table.from_arrays(arrays, names=[field.name for field in fields])


def write_part(table: pa.Table, path: Place) -> tuple[str, int]:
    """Write one Parquet file whole or not at all; returns its hash and size.

    Each page has a checksum, each row group the smallest and largest value of every column, by
    which readers leave out what they do not need.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    coded = [f.name for f in table.schema if pa.types.is_dictionary(f.type)]

    def write(draft: Path) -> None:
        pq.write_table(
            table,
            draft,
            compression="zstd",
            compression_level=1,
            use_dictionary=coded,
            write_statistics=True,
            write_page_checksum=True,
            row_group_size=ROW_GROUP,
            write_batch_size=BATCH,
        )

    part = folder_of(path.parent).put(path.name, write)
    return part.hash, part.bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """A folder that is held for a run."""

    token: str  # of its lock
    key: SecretKey | None  # None: the run of the folder began without one
    identity: RunIdentity  # as its manifest has it


@contextmanager
def claim(root: Place, identity: RunIdentity, key: SecretKey | None = None) -> Iterator[Claim]:
    """Hold the output folder for this run, once it is free or belongs to this very run.

    identity: of the run, with its seeds
    key: the one that was given; without one that of the folder, or a fresh one
    Raises OutputError: the folder holds another run, or files of no run at all, or another process
        is writing there, or the key file of its run is gone.
    """
    with _faults_in_words(root):
        if root.exists() and not root.is_dir():
            raise OutputError(f"{root} is a file, not a folder. Choose another name.")
    with folder_of(root).writing() as token:
        with _faults_in_words(root):
            held = _claimed(root, identity, key, token)
        yield held


@contextmanager
def _faults_in_words(root: Place) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as problem:
        what = f"{root} cannot be used: {reason_of(problem)}. Choose another folder."
        raise OutputError(what) from None


def _claimed(root: Place, identity: RunIdentity, given: SecretKey | None, token: str) -> Claim:
    """Refuse a folder of another run; begin a new run where the folder is free."""
    try:
        manifest = read_manifest(root)
    except OutputError:
        key = key_of_run(root, given, None)
        held = Claim(token, key, identity.sealed_with(key))
        if not _records_of_run(root, held.identity.hash):
            if (root / MANIFEST).exists():
                raise
            if folder_of(root).strangers():
                hint = "Choose another folder."
                raise OutputError(f"{root} is not empty and holds no run. {hint}") from None
        if key is not None:
            write_key(root, key, identity)
        write_manifest(root, Manifest(held.identity, RUNNING))
        return held
    key = key_of_run(root, given, manifest.identity)
    held = Claim(token, key, identity.sealed_with(key))
    difference = held.identity.differences(manifest.identity)
    if difference:
        raise OutputError(
            f"{root} holds another run: it differs in {difference}. "
            "Choose another folder, or remove this one."
        )
    if key is None:
        warn_of_open_seed(root)
    elif read_key(root) is None:  # it was given
        write_key(root, key, identity)
    return held


def _records_of_run(root: Place, run: str) -> bool:
    """Return whether a folder without a manifest holds readable records, all of this run."""
    owners = set()
    for path in files_below(root / RECORDS, "part-*.json"):
        try:
            owners.add(BlockRecord.from_record(path.read_text(encoding="utf-8"))[1])
        except (OSError, ValueError):
            continue
    return owners == {run}


def run_seed(seed: int | None, root: Place | None) -> int:
    """Return the seed of a run into a folder: the one given, that of the run it holds, a new one.

    So a run without a seed is resumed by calling it again. Whether the rest agrees is found out
    by `claim`.
    """
    if seed is None and root is not None:
        stored = None
        with suppress(OutputError):  # no run; if it is a faulty one, `claim` says so
            stored = read_manifest(root).identity
        seed = seed_of_run(root, stored)
    return resolve_seed(seed)


def read_manifest(root: Place) -> Manifest:
    """Return the manifest of a folder; an OutputError where there is none that can be read."""
    path = root / MANIFEST
    try:
        return Manifest.from_text(folder_of(root).read())
    except FileNotFoundError:
        raise OutputError(f"{root} holds no population: {MANIFEST} is not there.") from None
    except ManifestError as fault:
        hint = "Restore the file, or run again into this folder."
        raise OutputError(f"{path} is not a manifest of a population: {fault}. {hint}") from None
    except (OSError, ValueError) as problem:
        raise OutputError(f"{path} cannot be read: {problem}.") from None


def read_finished(root: Place) -> Manifest:
    """Return the manifest of a folder; an OutputError also where its run is not finished."""
    manifest = read_manifest(root)
    if not manifest.complete:
        raise OutputError(f"{root} holds an unfinished run: run it again to complete it.")
    return manifest


def write_manifest(root: Place, manifest: Manifest) -> None:
    """Write the manifest of a folder whole or not at all."""
    folder_of(root).commit(manifest.to_text())


def add_file(root: Place, path: Place) -> None:
    """Note another file of a finished run, such as its report, so that `verify` covers it.

    Warns MicrodataWarning: the run was made without a secret key.
    """
    _note_files(root, {name_below(path, root): file_hash(path)})


def expect_files(root: Place, paths: Sequence[Place]) -> None:
    """Note files that the run has yet to write: until `add_file`, `verify` tells they are not."""
    _note_files(root, {name_below(path, root): "" for path in paths})


def _note_files(root: Place, files: Mapping[str, str]) -> None:
    manifest = read_manifest(root)
    if not manifest.identity.sealed:
        warn_of_open_seed(root)
    write_manifest(root, replace(manifest, files={**manifest.files, **files}))


def fallbacks_of(blocks: Sequence[BlockRecord]) -> list[Fallback]:
    """Return the fallbacks of all blocks."""
    return [item for block in blocks for item in block.fallbacks]


def remove_other_parts(root: Place, files: set[str]) -> None:
    """Remove parts that an unfinished run left and the finished one does not have."""
    records = {name_below(record_path(root / file), root) for file in files}
    for below in (FOLDER, RECORDS):
        folder_of(root).keep_only({*files, *records}, below)
