"""Arguments and options of the commands that are shared or long."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from synthpop.microdata.runs.command import Anywhere as Anywhere
from synthpop.microdata.runs.command import DtaVersion as DtaVersion
from synthpop.microdata.runs.command import SafeCsv as SafeCsv
from synthpop.microdata.runs.command import Workers as Workers
from synthpop.microdata.runs.command import Written as Written
from synthpop.microdata.runs.command import written as written
from synthpop.microdata.runs.output import OUTPUT, say

if TYPE_CHECKING:
    from synthpop.microdata.reading.columns import Question

Seed = Annotated[int | None, typer.Option(help="Seed; without one, that of the run file.")]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="Key file to draw with, to repeat a run; without one a new key."),
]
Allocation = Literal["proportional", "power"]
MockLevels = Annotated[
    Literal["dictionary", "common"],
    typer.Option(help="Levels without labels: made up, or those that 20 records have."),
]
TravelModel = Literal["activitysim", "eqasim"]
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


def asked(questions: Sequence[Question]) -> dict[str, str | None]:
    """Ask in a terminal what only somebody who knows the file can say; no answers elsewhere."""
    if not questions or OUTPUT.as_json or OUTPUT.quiet or not sys.stdin.isatty():
        return {}
    from synthpop.microdata.reading.columns import MOST_QUESTIONS

    answers: dict[str, str | None] = {}
    for question in questions[:MOST_QUESTIONS]:
        names = question.candidates[:9]
        say(f"Which column is the {question.role} ({question.why})?")
        say("\n".join([*(f"  {n} {name}" for n, name in enumerate(names, 1)), "  0 none of them"]))
        number = typer.prompt("Number", default=1 if len(names) == 1 else 0, type=int)
        answers[question.role] = names[number - 1] if 0 < number <= len(names) else None
    return answers


Repair = Annotated[
    Path | None,
    typer.Option(help='Run file of the population, or "demo": make again what is damaged.'),
]
