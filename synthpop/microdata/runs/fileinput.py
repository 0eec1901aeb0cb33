"""The part of a run file that names a data file: how it is written, and what its codes mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from synthpop.microdata.formats.delimited import CsvOptions
from synthpop.microdata.formats.dictionary_file import read_dictionary
from synthpop.microdata.formats.files import read_table
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.frame.dictionary import Dictionary
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.runs.output import reading_notes


class CsvInput(Table):
    """The table ``[survey.csv]`` or ``[data.csv]``; see `CsvOptions`."""

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    missing: list[Any] | dict[str, list[Any]] = Field(default_factory=list)
    types: dict[str, str] = Field(default_factory=dict)

    def options(self) -> CsvOptions:
        """Return the options, checked."""
        return CsvOptions(**self.model_dump())


class FileInput(Table):
    """What the tables ``[survey]`` and ``[data]`` have in common.

    ``file`` is the data file, ``csv`` how delimited text is written, ``dictionary`` a TOML file
    with labels and missing codes, ``user_missing`` whether these are missing values or levels.
    """

    file: str | None = None
    csv: CsvInput | None = None
    dictionary: str | None = None
    user_missing: Literal["missing", "level"] = "missing"

    def reading(self, folder: Path) -> dict[str, object]:
        """Return the options of `read_table`; paths start at the folder of the run file."""
        dictionary: Dictionary | None = None
        if self.dictionary is not None:
            dictionary = read_dictionary(folder / self.dictionary)
        return {
            "csv": None if self.csv is None else self.csv.options(),
            "user_missing": self.user_missing,
            "dictionary": dictionary,
        }

    def read(self, folder: Path, on_event: Listener = silent) -> pd.DataFrame:
        """Read the file; what its reader found out by itself comes as notes."""
        return read_noted(folder / str(self.file), on_event, **self.reading(folder))


def read_noted(path: Path, on_event: Listener, **options: Any) -> pd.DataFrame:
    """Read a file as `read_table` does; what its reader found out by itself comes as notes."""
    frame = read_table(path, **options)
    for note in reading_notes(frame, path.name):
        on_event(Event("note", "read", detail=note))
    return frame
