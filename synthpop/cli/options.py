"""Arguments and options of the commands that are shared or long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from synthpop.microdata.runs.command import Anywhere as Anywhere
from synthpop.microdata.runs.command import DtaVersion as DtaVersion
from synthpop.microdata.runs.command import SafeCsv as SafeCsv
from synthpop.microdata.runs.command import Workers as Workers
from synthpop.microdata.runs.command import Written as Written
from synthpop.microdata.runs.command import written as written

Seed = Annotated[int | None, typer.Option(help="Seed; without one, that of the run file.")]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="Key file to draw with, to repeat a run; without one a new key."),
]
Allocation = Literal["proportional", "power"]
Out = Annotated[Path | None, typer.Option(help="Folder to write to.")]
Folder = Annotated[Path, typer.Argument(help="Folder of a population.")]
Page = Annotated[Path | None, typer.Option(help="Page to write (HTML).")]
Language = Annotated[Literal["en", "de"], typer.Option(help="Language of the page.")]
Audience = Annotated[Literal["internal", "external"], typer.Option(help="Who reads it.")]
OfHouseholds = Annotated[
    bool,
    typer.Option("--households", help="One row per household, with the columns members share."),
]
Labels = Annotated[
    Path | None, typer.Option(help="Write labels and codes as well: .toml, .csv or .xlsx.")
]
Repair = Annotated[
    Path | None,
    typer.Option(help='Run file of the population, or "demo": make again what is damaged.'),
]
