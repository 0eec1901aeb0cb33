"""A population on disk: partitioned Parquet, a hash beside each file, a manifest, resume.

::

    out/manifest.json
    out/population/stratum=Vienna/part-0000.parquet
    out/population/stratum=Vienna/_part-0000.json     hash, rows and fallbacks of that file

A file is written under a temporary name and renamed, and its hash is written after it. A block
counts as done where its record agrees with the plan and its file with the record. One process at
a time writes into a folder.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from synthpop.microdata.block import Fallback
from synthpop.microdata.codes import MISSING
from synthpop.microdata.dataset import Field
from synthpop.microdata.errors import OutputError
from synthpop.microdata.streams import resolve_seed
from synthpop.pipeline.simulate import Recipe, simulate_block
from synthpop.population.blocks import BlockPlan
from synthpop.population.lock import LOCK, only_writer, shares_folder

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
FOLDER = "population"
FORMAT = 1
LONGEST = 60  # bytes of the name of a stratum in a path
TEMPORARY = re.compile(r"(manifest|_?part-\d+|_(manifest|_?part-\d+)-\d+-[0-9a-f]{8})\.tmp")
ENTRY: dict[str, type] = {"file": str, "n_households": int, "n_persons": int, "hash": str}
FALLBACK: dict[str, type] = {"stage": str, "stratum": str, "what": str, "n_persons": int}
STARTED: dict[str, type] = {"format": int, "status": str, "identity": dict}
COMPLETE: dict[str, type] = {
    "roles": dict,
    "sample": dict,
    "columns": list,
    "n_persons": int,
    "n_households": int,
    "blocks": list,
    "fallbacks": list,
}


@dataclass(frozen=True, slots=True)
class WriteBlock:
    """Simulate one block and write it, unless it is there; callable in any worker.

    Attributes
    ----------
    root : Path
    recipe : Recipe
    token : str
        Of the lock of the folder: a worker that does not find it sees another folder.
    """

    root: Path
    recipe: Recipe
    token: str

    def __call__(self, plan: BlockPlan) -> dict[str, Any]:
        """Return the entry of the block for the manifest."""
        if not shares_folder(self.root, self.token):
            raise OutputError(
                f"a worker does not see {self.root} as the folder of this run. Workers write the "
                "blocks themselves: choose a folder on storage that all of them share."
            )
        relative = part_name(self.recipe, plan)
        path = self.root / relative
        entry = {
            "file": relative,
            "n_households": plan.n_households,
            "n_persons": plan.n_persons,
        }
        done = read_record(path)
        if done is not None and all(done[key] == value for key, value in entry.items()):
            return done
        simulated = simulate_block(self.recipe, plan)
        table = arrow_table(self.recipe.fields, simulated.columns)
        record = {
            **entry,
            "hash": write_table(table, path, self.recipe.layout.fields[0].name),
            "bytes": path.stat().st_size,
            "fallbacks": [asdict(item) for item in simulated.fallbacks],
        }
        write_text(record_path(path), json.dumps(record, ensure_ascii=False))
        return record


def part_name(recipe: Recipe, plan: BlockPlan) -> str:
    """Return the file of a block, relative to the output folder."""
    names = [field.name for field in recipe.fields]
    return f"{stratum_folders(recipe.strata_levels, names)[plan.stratum]}/{file_name(plan.number)}"


def file_name(number: int) -> str:
    """Return the name of the file of a block within its stratum."""
    return f"part-{number:04d}.parquet"


def stratum_folders(levels: Sequence[Any], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the folder of each stratum, relative to the output folder.

    Parameters
    ----------
    levels : sequence
        Names of the strata.
    columns : sequence of str
        Columns of the population: the key of the folders is none of them.

    Returns
    -------
    tuple of str
        Different on every file system, also where it does not tell capitals from small letters.
        The position of the stratum is appended to names that are long, empty or taken.

    Examples
    --------
    >>> stratum_folders(["Vienna", "Wien", "WIEN", ""], ["age"])
    ('population/stratum=Vienna', 'population/stratum=Wien-1', 'population/stratum=WIEN-2', \
'population/stratum=-3')
    >>> stratum_folders(["north"], ["stratum"])
    ('population/stratum_=north',)
    """
    key, taken = "stratum", {name.casefold() for name in columns}
    while key in taken:
        key += "_"
    return _folders(tuple(map(str, levels)), key)


@lru_cache(maxsize=16)
def _folders(levels: tuple[str, ...], key: str) -> tuple[str, ...]:
    names = [_cut(level) for level in levels]
    marked = [
        name == "" or name != quote(level, safe="")
        for name, level in zip(names, levels, strict=True)
    ]
    while True:
        now = [f"{n}-{i}" if m else n for i, (n, m) in enumerate(zip(names, marked, strict=True))]
        folded = [name.casefold().rstrip(".") for name in now]
        counts = Counter(folded)
        clash = [counts[name] > 1 and not m for name, m in zip(folded, marked, strict=True)]
        if not any(clash):
            return tuple(f"{FOLDER}/{key}={name}" for name in now)
        marked = [m or c for m, c in zip(marked, clash, strict=True)]


def _cut(level: str) -> str:
    """Return as many first characters of a level as have at most 60 bytes when quoted."""
    text = ""
    for letter in level:
        quoted = quote(letter, safe="")
        if len(text) + len(quoted) > LONGEST:
            break
        text += quoted
    return text


def record_path(path: Path) -> Path:
    """Return where the record of a file is."""
    return path.with_name(f"_{path.stem}.json")  # readers of Parquet pass over such names


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the record of a finished block; None where it has to be made (again).

    The file is there, of the size and with the hash that its record tells (about 1 GB a second).
    """
    try:
        record = json.loads(record_path(path).read_text(encoding="utf-8"))
        if not _is_record(record):
            return None
        if path.stat().st_size != record.get("bytes", path.stat().st_size):
            return None
        return record if file_hash(path) == record["hash"] else None
    except (OSError, ValueError):  # no file, or no JSON
        return None


def _is_record(record: Any) -> bool:
    return (
        _has(record, ENTRY)
        and isinstance(record.get("fallbacks"), list)
        and all(map(_is_fallback, record["fallbacks"]))
    )


def _is_fallback(item: Any) -> bool:
    return _has(item, FALLBACK) and len(item) == len(FALLBACK)


def _has(item: Any, kinds: dict[str, type]) -> bool:
    """Tell whether `item` is a dictionary with these keys and types of values."""
    return isinstance(item, dict) and all(isinstance(item.get(k), t) for k, t in kinds.items())


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
    with _replacing(path) as temporary:
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
    return digest


def write_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    with _replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name that no other writer has; what lies there at the end becomes `path`."""
    name = f"_{path.stem}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    temporary = path.with_name(name)  # readers of Parquet pass over such names
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        raise _write_error(path, problem) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write_error(path: Path, problem: OSError) -> OutputError:
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


@contextmanager
def claim(root: Path, identity: dict[str, Any]) -> Iterator[str]:
    """Hold the output folder for this run, once it is free or belongs to this very run.

    Yields the token of its lock.

    Raises
    ------
    OutputError
        The folder holds another run, or files that are no run at all, or another process is
        writing there.
    """
    if root.exists() and not root.is_dir():
        raise OutputError(f"{root} is a file, not a folder. Choose another name.")
    with only_writer(root) as token:
        _check_claim(root, identity)
        _remove_temporaries(root)
        if not (root / MANIFEST).exists():
            started = {"format": FORMAT, "status": "running", "identity": identity}
            write_text(root / MANIFEST, dump(started))
        yield token


def _check_claim(root: Path, identity: dict[str, Any]) -> None:
    if (root / MANIFEST).exists():
        held = read_manifest(root)["identity"]
        if held != identity:
            differs = [k for k in identity if held.get(k) != identity[k]]
            raise OutputError(
                f"{root} holds another run: it differs in {', '.join(differs) or 'its format'}. "
                "Choose another folder, or remove this one."
            )
        return
    others = [item for item in root.iterdir() if item.name != LOCK]
    if not all(TEMPORARY.fullmatch(item.name) for item in others):
        raise OutputError(f"{root} is not empty and holds no run. Choose another folder.")


def _remove_temporaries(root: Path) -> None:
    """Remove what a writer that was killed left half-written."""
    for path in [*root.glob("*.tmp"), *(root / FOLDER).rglob("*.tmp")]:
        if TEMPORARY.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def run_seed(seed: int | None, root: Path | None) -> int:
    """Return the seed of a run into a folder: the one given, that of the run it holds, a new one.

    So a run without a seed is resumed by calling it again. Whether the rest agrees is found out
    by `claim`.
    """
    if seed is None and root is not None:
        with suppress(OutputError):  # no run; if it is a faulty one, `claim` says so
            held = read_manifest(root)["identity"].get("fit_seed")
            if isinstance(held, int) and held >= 0:
                return held
    return resolve_seed(seed)


def read_manifest(root: Path) -> dict[str, Any]:
    """Return the manifest of a folder, which has all its keys.

    Raises
    ------
    OutputError
        There is none, or it cannot be read, or it is no manifest of this format.
    """
    path = root / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OutputError(f"{root} holds no population: {MANIFEST} is not there.") from None
    except (OSError, ValueError) as problem:
        raise OutputError(f"{path} cannot be read: {problem}.") from None
    fault = _manifest_fault(manifest)
    if fault:
        remedy = "Restore the file, or remove the folder and run again."
        raise OutputError(f"{path} is no manifest of a population: {fault}. {remedy}")
    return manifest


def _manifest_fault(manifest: Any) -> str:
    """Return what a manifest lacks; nothing where it is good."""
    if not isinstance(manifest, dict):
        return "it holds no table of keys"
    kinds = STARTED | (COMPLETE if manifest.get("status") == "complete" else {})
    lacks = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if lacks:
        return f"{', '.join(lacks)} missing or of a wrong type"
    if manifest["format"] != FORMAT:
        return f"format {manifest['format']} is not {FORMAT}"
    if manifest["status"] != "complete":
        return ""
    if not all(_has(item, ENTRY) for item in manifest["blocks"]):
        return "blocks are incomplete"
    if not all(map(_is_fallback, manifest["fallbacks"])):
        return "fallbacks are incomplete"
    if not isinstance(manifest["identity"].get("seed"), int):
        return "the seed is missing"
    if not isinstance(manifest["sample"].get("n_persons"), int):
        return "the size of the sample is missing"
    try:
        fields = [Field.from_dict(item) for item in manifest["columns"]]
    except (KeyError, TypeError, ValueError):
        fields = []
    good = [f.kind in ("categorical", "numeric") and isinstance(f.name, str) for f in fields]
    return "" if good and all(good) else "columns are incomplete"


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
