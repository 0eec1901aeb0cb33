"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Seed = Annotated[int | None, typer.Option(help="Seed; without one, that of the run file.")]
Workers = Annotated[str, typer.Option(help='Threads, "processes:4" or "dask://host:port".')]
Allocation = Literal["proportional", "power"]
Out = Annotated[Path | None, typer.Option(help="Folder to write to.")]
Anywhere = Annotated[
    bool, typer.Option("--anywhere", help="Let the run file write outside of its own folder.")
]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put an apostrophe before text that begins a formula.")
]
