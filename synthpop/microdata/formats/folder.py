"""Folders of files that count together: what a killed writer left goes before they are used."""

from __future__ import annotations

from contextlib import suppress

from synthpop.microdata.formats.atomic import is_temporary
from synthpop.microdata.formats.lock import only_writer
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import OutputError


def sweep(folder: Place, *names: str) -> None:
    """Remove what a killed writer of files with these names (patterns) left; by who may write."""
    for path in [*folder.iterdir()]:
        if is_temporary(path, *names):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def sweep_where_free(folder: Place, *names: str) -> None:
    """Remove what a killed writer left, unless somebody writes there or nobody may."""
    try:
        if any(is_temporary(path, *names) for path in folder.iterdir()):
            with only_writer(folder):
                sweep(folder, *names)
    except (OSError, OutputError):
        return
