"""What the run files of attacks have in common: files, the intruder, seed and table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from riskeval.attacks.scenario import Scenario
from synthpop.microdata.formats.places import file_hash
from synthpop.microdata.formats.tomlfile import read_section
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.parameters import NONE, Whole, check
from synthpop.microdata.runs.engines import Workers, check_workers, map_blocks
from synthpop.microdata.runs.fileinput import FileInput

SUFFIXES = (".csv", ".parquet")
SEED = {"seed": Whole(0) | NONE}


class ReleasedFile(FileInput):
    """The tables ``[synthetic]`` and ``[population]``: a file, or a folder of Parquet files."""

    def open(self, folder: Path, on_event: Listener = silent, workers: Workers = 1) -> Any:
        """Return the table, or an object that reads the Parquet files of a folder one by one."""
        check_workers(workers)
        path = folder / str(self.file)
        return ParquetFolder(path, workers) if path.is_dir() else self.read(folder, on_event)


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """A folder of Parquet files, such as a population on disk; each worker reads one at a time.

    The pages of a file are compared with their checksums, and the whole of it, the first time, with
    the hash that the manifest of a population has.
    """

    path: Path
    workers: Workers = 1
    hashes: dict[Path, str] = field(default_factory=dict, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the first file."""
        with self._reading(self._files()[0]) as parquet:
            return tuple(parquet.schema_arrow.names)

    def iter_blocks(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the table of each file, in the order of their names."""
        read, files = partial(self.read_file, columns=tuple(columns or ())), self._files()
        yield from map(read, files[:1])  # here, for those who look at the first one only
        yield from map_blocks(read, files[1:], self.workers, in_order=True)

    def read_file(self, file: Path, columns: Sequence[str] = ()) -> pd.DataFrame:
        """Return the columns of one file, all of them where it has none of those asked for."""
        with self._reading(file) as parquet:
            names = [name for name in columns if name in parquet.schema_arrow.names]
            frame: pd.DataFrame = parquet.read(columns=names or None).to_pandas()
        return frame

    def _files(self) -> list[Path]:
        folder = self.path.absolute()  # workers of a cluster may have other working folders
        files = sorted(folder.rglob("*.parquet"))
        if not files:
            raise InputError.of(str(self.path), "file", "the folder holds no Parquet file")
        manifest = folder / "manifest.json"
        if not self.hashes and manifest.is_file():
            try:
                blocks = json.loads(manifest.read_text(encoding="utf-8"))["blocks"]
                self.hashes.update({folder / block["file"]: block["hash"] for block in blocks})
            except (OSError, ValueError, KeyError, TypeError):
                what = "is not a manifest of a population"
                raise InputError.of(str(manifest), "file", what) from None
        return files

    @contextmanager
    def _reading(self, file: Path) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            if self.hashes.get(file) and file_hash(file) != self.hashes[file]:
                raise ValueError("its hash is not that of the manifest")
            self.hashes[file] = ""  # checked
            with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
                yield parquet
        except (OSError, ValueError, pa.ArrowException) as problem:
            what = f"is damaged: {str(problem).splitlines()[0]}"
            raise InputError.of(str(file), "file", what, "Write it again.") from None


def read_file_table(
    faults: Faults, data: Mapping[str, Any], name: str, cls: type[Any], required: bool = True
) -> Any:
    """Read a table with the name of a file; None when it is absent and not required."""
    if name not in data and not required:
        return None
    table = read_section(faults, data, name, cls)
    if table is not None and table.file is None:
        faults.add(f"[{name}] file", "is not given", hint="Name the file.")
    return table


def read_intruder(faults: Faults, data: Mapping[str, Any], who: str) -> Scenario | None:
    """Read the table ``[intruder]``: the fields of a `Scenario`."""
    table = data.get("intruder")
    if not isinstance(table, Mapping):
        what = "is missing" if table is None else f"is {table!r}, not a table"
        faults.add("[intruder]", what, hint="Name keys and targets in it.")
        return None
    try:
        return Scenario.from_dict({"who": who, **table})
    except InputError as problem:
        for fault in problem.faults:
            faults.add(f"[intruder] {fault.where}", fault.what, hint=fault.hint)
    return None


def read_seed_and_out(faults: Faults, data: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """Read ``seed`` and ``out``, the file of the table."""
    out = data.get("out")
    check(faults, SEED, data)
    if out is not None and (not isinstance(out, str) or Path(out).suffix not in SUFFIXES):
        faults.add("out", f"is {out!r}", hint="Give the name of a .csv or .parquet file.")
    return data.get("seed"), out
