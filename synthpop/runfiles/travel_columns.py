"""A TOML file that says which columns and codes a travel model finds where."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from synthpop.microdata.formats.tomlfile import Table, faults_of, read_toml, validate


class TravelColumns(Table):
    """Columns and codes of `travel_tables`."""

    columns: Mapping[str, str] = Field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str | int | bool]] = Field(default_factory=dict)


def read_travel_columns(path: Path | None) -> TravelColumns:
    """Return what a file says; without a file, that all columns have the names of the model.

    Raises RunFileError: the file cannot be read, or has other keys or values.
    """
    if path is None:
        return TravelColumns()
    data = read_toml(path)
    faults = faults_of(f"columns {path.name}", data)
    read: TravelColumns | None = validate(faults, "columns", TravelColumns, data)
    faults.raise_if_any()
    assert read is not None
    return read
