"""A population on disk: partitioned Parquet, a hash beside each file, a manifest, resume.

::

    out/manifest.json
    out/population/stratum=Vienna/part-0000.parquet
    out/population/stratum=Vienna/_part-0000.json     hash, rows and fallbacks of that file

A file is written under a temporary name and renamed, and its hash is written after it; a block
without a hash counts as not done.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from synthpop.generate import Recipe, simulate_block
from synthpop.microdata.block import Fallback
from synthpop.microdata.codes import MISSING
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import OutputError
from synthpop.plan import BlockPlan

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
FOLDER = "population"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class WriteBlock:
    """Simulate one block and write it, unless it is there; callable in any worker.

    Attributes
    ----------
    root : Path
    recipe : Recipe
    """

    root: Path
    recipe: Recipe

    def __call__(self, plan: BlockPlan) -> dict[str, Any]:
        """Return the entry of the block for the manifest."""
        relative = part_name(self.recipe, plan)
        path = self.root / relative
        done = read_record(path)
        if done is not None:
            return done
        simulated = simulate_block(self.recipe, plan)
        table = arrow_table(self.recipe.fields, simulated.columns)
        record = {
            "file": relative,
            "n_households": plan.n_households,
            "n_persons": plan.n_persons,
            "hash": write_table(table, path, self.recipe.layout.fields[0].name),
            "fallbacks": [asdict(item) for item in simulated.fallbacks],
        }
        write_text(record_path(path), json.dumps(record, ensure_ascii=False))
        return record


def part_name(recipe: Recipe, plan: BlockPlan) -> str:
    """Return the file of a block, relative to the output folder."""
    level = quote(str(recipe.strata_levels[plan.stratum]), safe="")
    return f"{FOLDER}/stratum={level}/part-{plan.number:04d}.parquet"


def record_path(path: Path) -> Path:
    """Return where the record of a file is."""
    return path.with_name(f"_{path.stem}.json")  # readers of Parquet pass over such names


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the record of a finished block; None where there is none or its file is gone."""
    try:
        record: dict[str, Any] = json.loads(record_path(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return record if path.exists() else None


def arrow_table(fields: Sequence[Field], columns: dict[str, np.ndarray]) -> pa.Table:
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
            arrays.append(pa.array(values, from_pandas=True))
    return pa.Table.from_arrays(arrays, names=[field.name for field in fields])


def write_table(table: pa.Table, path: Path, sorted_by: str) -> str:
    """Write one Parquet file under a temporary name, rename it, and return its hash."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    coded = [f.name for f in table.schema if pa.types.is_dictionary(f.type)]
    temporary = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            table,
            temporary,
            compression="zstd",
            compression_level=1,
            use_dictionary=coded,
            write_statistics=[sorted_by],
            row_group_size=max(1, table.num_rows),
        )
        digest = file_hash(temporary)
        os.replace(temporary, path)
    except OSError as problem:
        raise _write_error(path, temporary, problem) from None
    return digest


def write_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    temporary = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as problem:
        raise _write_error(path, temporary, problem) from None


def _write_error(path: Path, temporary: Path, problem: OSError) -> OutputError:
    temporary.unlink(missing_ok=True)
    reason = problem.strerror or str(problem)
    remedy = "Check the folder and run again: finished blocks are kept."
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        reason, remedy = "the disk is full", "Make room and run again: finished blocks are kept."
    return OutputError(f"cannot write {path}: {reason}. Nothing half-written was left. {remedy}")


def file_hash(path: Path) -> str:
    """Return the blake2b hash of a file's content."""
    digest = blake2b(digest_size=20)
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()


def claim(root: Path, identity: dict[str, Any]) -> None:
    """Take the output folder for this run, or find out that it belongs to this very run.

    Raises
    ------
    OutputError
        The folder holds another run, or files that are no run at all.
    """
    manifest = root / MANIFEST
    if root.exists() and not root.is_dir():
        raise OutputError(f"{root} is a file, not a folder. Choose another name.")
    if manifest.exists():
        held = read_manifest(root)
        if held.get("identity") != identity:
            differs = [k for k in identity if held.get("identity", {}).get(k) != identity[k]]
            raise OutputError(
                f"{root} holds another run: it differs in {', '.join(differs) or 'its format'}. "
                "Choose another folder, or remove this one."
            )
        return
    if root.exists() and any(root.iterdir()):
        raise OutputError(f"{root} is not empty and holds no run. Choose another folder.")
    write_text(manifest, dump({"format": FORMAT, "status": "running", "identity": identity}))


def read_manifest(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder.

    Raises
    ------
    OutputError
        There is none, or it cannot be read.
    """
    try:
        manifest: dict[str, Any] = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OutputError(f"{root} holds no population: {MANIFEST} is not there.") from None
    except (OSError, json.JSONDecodeError) as problem:
        raise OutputError(f"{root / MANIFEST} cannot be read: {problem}.") from None
    return manifest


def dump(data: dict[str, Any]) -> str:
    """Return readable JSON, the same for the same data."""
    return json.dumps(data, ensure_ascii=False, indent=1, default=str) + "\n"


def fallbacks_of(records: Sequence[dict[str, Any]]) -> list[Fallback]:
    """Return the fallbacks that the records of blocks tell."""
    return [Fallback(**item) for record in records for item in record["fallbacks"]]


def verify(root: Path | str) -> list[str]:
    """Hash every file again and return what does not agree with the manifest; empty is good.

    Raises
    ------
    OutputError
        The folder holds no finished run.
    """
    folder = Path(root)
    manifest = read_manifest(folder)
    if manifest.get("status") != "complete":
        raise OutputError(f"{folder} holds an unfinished run: run it again to complete it.")
    problems = []
    listed = {record["file"] for record in manifest["blocks"]}
    for record in manifest["blocks"]:
        path = folder / record["file"]
        if not path.exists():
            problems.append(f"{record['file']} is missing")
        elif file_hash(path) != record["hash"]:
            problems.append(f"{record['file']} was changed")
    for path in sorted((folder / FOLDER).rglob("*.parquet")):
        name = path.relative_to(folder).as_posix()
        if name not in listed:
            problems.append(f"{name} does not belong to the run")
    return problems
