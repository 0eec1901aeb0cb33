"""What the run files of attacks have in common: files, the intruder, seed and table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from riskeval.attacks.scenario import Scenario
from synthpop.microdata.errors import Faults, InputError
from synthpop.microdata.fileinput import FileInput
from synthpop.microdata.parameters import NONE, Whole, check
from synthpop.microdata.tomlfile import validate

SUFFIXES = (".csv", ".parquet")


class ReleasedFile(FileInput):
    """The tables ``[synthetic]`` and ``[population]``: a file, or a folder of Parquet files."""

    def open(self, folder: Path) -> Any:
        """Return the table, or an object that reads the Parquet files of a folder one by one."""
        path = folder / str(self.file)
        return ParquetFolder(path) if path.is_dir() else self.read(folder)


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """A folder of Parquet files, such as a population on disk; read one after the other."""

    path: Path

    def iter_blocks(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the table of each file, in the order of their names."""
        import pyarrow.parquet as pq

        files = sorted(self.path.rglob("*.parquet"))
        if not files:
            faults = Faults(str(self.path))
            faults.add("file", "the folder holds no Parquet file")
            raise InputError(faults.subject, faults.found)
        for file in files:
            parquet = pq.ParquetFile(file)
            names = [name for name in columns or () if name in parquet.schema_arrow.names]
            yield parquet.read(columns=names or None).to_pandas()


def read_file_table(
    faults: Faults, data: Mapping[str, Any], name: str, cls: type[Any], required: bool = True
) -> Any:
    """Read a table with the name of a file; None when it is absent and not required."""
    if name not in data and not required:
        return None
    table = validate(faults, f"[{name}]", cls, data.get(name, {}))
    if table is not None and table.file is None:
        faults.add(f"[{name}] file", "is not given", remedy="Name the file.")
    return table


def read_intruder(faults: Faults, data: Mapping[str, Any], who: str) -> Scenario | None:
    """Read the table ``[intruder]``: the fields of a `Scenario`."""
    table = data.get("intruder")
    if not isinstance(table, Mapping):
        what = "is missing" if table is None else f"is {table!r}, not a table"
        faults.add("[intruder]", what, remedy="Name keys and targets in it.")
        return None
    try:
        return Scenario.from_dict({"who": who, **table})
    except InputError as problem:
        for fault in problem.faults:
            faults.add(f"[intruder] {fault.where}", fault.what, remedy=fault.remedy)
    return None


def read_seed_and_out(faults: Faults, data: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """Read ``seed`` and ``out``, the file of the table."""
    seed, out = data.get("seed"), data.get("out")
    check(faults, {"seed": Whole(0) | NONE}, {"seed": seed})
    if out is not None and (not isinstance(out, str) or Path(out).suffix not in SUFFIXES):
        faults.add("out", f"is {out!r}", remedy="Give the name of a .csv or .parquet file.")
    return seed, out
