"""The command that makes the folder which may leave the house."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from synthpop.cli import options
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.runs.command import Facts, FailOnLimit, LedgerFolder, end_by
from synthpop.microdata.runs.output import answer, progress, say


def release(
    folder: options.Folder,
    to: Annotated[Path | None, typer.Option("--to", help="Folder to make.")] = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="parquet, csv, sav ...; again for more.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Release so many households at random, with weights.")
    ] = None,
    audit: Annotated[
        Path | None, typer.Option("--audit", help="The .json of riskeval audit, to be told too.")
    ] = None,
    language: options.Language = "en",
    ledger: LedgerFolder = None,
    facts: Facts = None,
    fail_on_limit: FailOnLimit = False,
) -> None:
    """Make the folder that may leave: data, dictionary, external page, verdict, list of contents.

    Without key, seed, records and facts of the run; households in random order with new numbers.
    An attack with every guessable number runs on it first. Without --to it is FOLDER-release. With
    --ledger the release is laid beside all earlier ones of the survey, and recorded there.

    Examples: synthpop release synthpop-demo --format parquet --format sav

    synthpop release synthpop-demo --sample 500 --to teaching-file

    synthpop release synthpop-demo --audit synthpop-demo-audit.json
    """
    from riskeval.ledger.consult import ledger_request
    from synthpop.cli.release_folder import ReleaseRequest, release_population
    from synthpop.microdata.formats.passport import about_and_others
    from synthpop.microdata.formats.places import place
    from synthpop.microdata.messages.parameters import NONE, Whole, check

    about, others = about_and_others(facts or ())
    faults = Faults("release")
    check(faults, {"--sample": Whole(1) | NONE}, {"--sample": sample})
    faults.raise_if_any()
    target = to or Path(f"{Path(folder).resolve()}-release")

    def tell(items: list[str]) -> None:
        for item in items:
            say(f"The format does not hold: {item}")

    with progress() as listener:
        request = ReleaseRequest(
            tuple(formats or ("parquet",)), sample, language, tell, listener,
            ledger_request(ledger, others), about, audit,
        )  # fmt: skip
        release_population(place(folder), target, request)
    files = sorted(path.name for path in target.iterdir())
    say(f"Wrote {target}: {', '.join(files)}.")
    verdict = (target / "verdict.json").read_text(encoding="utf-8")
    say(verdict)
    level = json.loads(verdict)["level"]
    answer(folder=target, files=files, level=level)
    end_by([level], fail_on_limit)
