"""The commands ``riskeval ledger``: what went out, what a next release would tell, record one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.runs.command import CommandLine, Facts, FailOnLimit, end_by
from synthpop.microdata.runs.output import answer, say, say_reading

ledger_commands = CommandLine(
    no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A private register of what went out of a survey, and what it tells together.",
)  # fmt: skip
Register = Annotated[Path, typer.Argument(help="Folder of the ledger; made where there is none.")]
Released = Annotated[Path, typer.Argument(help="The file as it leaves.")]
Role = Annotated[
    list[str] | None,
    typer.Option("--role", help="key=COLUMN, sensitive=COLUMN, household=COLUMN; again for more."),
]
Synthetic = Annotated[bool, typer.Option("--synthetic", help="Records stand for no persons.")]


@ledger_commands.command()
def show(folder: Register) -> None:
    """List the releases of a ledger.

    Example: riskeval ledger show survey-ledger
    """
    from riskeval.ledger.ledger import Ledger

    ledger = Ledger(folder)
    releases = ledger.releases
    say(ledger.summary())
    for one in releases.to_dict("records"):
        to = f" for {one['recipients']}" if one["recipients"] else ""
        text = f"{one['number']}. {one['date']} {one['name']}{to}: {one['records']} records"
        say(f"{text}; {one['verdict'] or 'no verdict'}")
    answer(releases=releases)


@ledger_commands.command()
def check(
    folder: Register,
    file: Released,
    roles: Role = None,
    k: Annotated[int, typer.Option(help="Records that must share their keys.")] = 3,
    facts: Facts = None,
    synthetic: Synthetic = False,
    consistent: Annotated[
        Path | None, typer.Option(help="File to write that tells nothing more than earlier ones.")
    ] = None,
    fail_on_limit: FailOnLimit = False,
) -> None:
    """Say what a file would tell together with all earlier releases; nothing is recorded.

    Example: riskeval ledger check survey-ledger new.parquet --role key=region --role key=age
    """
    from riskeval.ledger.consult import read_facts, read_roles
    from riskeval.ledger.ledger import Ledger
    from synthpop.microdata.formats.files import read_table, write_table

    named, wave = read_roles(roles or ()), read_facts(facts or ()).wave
    frame = read_table(file)
    say_reading(frame)
    ledger = Ledger(folder)
    result = ledger.check(frame, **named, k=k, wave=wave, synthetic=synthetic)
    say(result.summary())
    for found in result.verdict.evidence:
        say(f"  - {found.text}")
    for left in result.verdict.not_tried:
        say(f"Not tried: {left}.")
    if consistent is not None:
        if consistent.exists():
            raise OutputError(f"{consistent} exists already. Choose another name.")
        keys, home = named["keys"], named["household"]
        released, plan = ledger.consistent(frame, keys=keys, household=home, k=k, wave=wave)
        after = ledger.check(released, **named, k=k, wave=wave, synthetic=synthetic)
        for one in plan.itertuples():
            as_in = f" as in {one.release!s}" if one.release else ""
            say(f"{one.column}: {one.what}{as_in} ({one.n} cells)")
        write_table(released, consistent)
        say(f"Wrote {consistent}. {after.summary()}")
        answer(plan=plan, after=after.verdict.to_dict())
    answer(verdict=result.verdict.to_dict(), links=result.links, below=int(result.below.sum()))
    end_by([result.verdict.level], fail_on_limit)


@ledger_commands.command()
def add(
    folder: Register,
    file: Released,
    name: Annotated[str, typer.Option(help="Name of the release; default: that of the file.")] = "",
    roles: Role = None,
    facts: Facts = None,
    synthetic: Synthetic = False,
) -> None:
    """Record a file that went out, also one of years ago.

    Example: riskeval ledger add survey-ledger puf.sav --role key=region --fact recipients=all
    """
    from riskeval.ledger.consult import read_facts, read_roles
    from riskeval.ledger.ledger import Ledger
    from synthpop.microdata.formats.files import read_table

    named, kept = read_roles(roles or ()), read_facts(facts or ())
    frame = read_table(file)
    say_reading(frame)
    ledger = Ledger(folder)
    number = ledger.add(frame, name or file.stem, **named, synthetic=synthetic, facts=kept)
    say(f"Recorded as release {number}. {ledger.summary()}")
    answer(number=number)
