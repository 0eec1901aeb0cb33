"""Command line of the risk evaluation: assess, protect, compare, judge, intruders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthpop.microdata.command import command_line, guarded, keep_sources, progress

app = command_line("Disclosure risk, protection and utility of released microdata.")


@app.command()
def assess(
    file: Annotated[Path, typer.Argument(help="Run file (TOML) with [data] and [assess].")],
    out: Annotated[Path | None, typer.Option(help="Report to write (HTML).")] = None,
) -> None:
    """Measure the disclosure risk of a file and write a page. Nothing is drawn at random."""
    from riskeval.report.assessment import write_assessment
    from riskeval.runfiles.runfile import load_assess_plan

    plan = load_assess_plan(file)
    result = plan.run()
    target = out or plan.folder / (plan.report.file or f"{file.stem}.html")
    write_assessment(target, result, title=plan.report.title, audience=plan.report.audience)
    typer.echo(result.summary())
    typer.echo(f"Report: {target}")


@app.command()
def protect(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [roles] and [[step]].")],
    seed: Annotated[int | None, typer.Option(help="Seed of steps without one.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write: .parquet or .csv.")] = None,
) -> None:
    """Protect a file by the steps of a plan; write the file and a report with its history.

    Records are written in random order, with new household numbers; ``[release]`` says otherwise.
    """
    from riskeval.protection.release import write_release
    from riskeval.runfiles.runfile import load_protect_plan, takes_seed
    from riskeval.session.session import ProtectionSession
    from synthpop.microdata.streams import Streams, resolve_seed

    plan = load_protect_plan(file)
    target = out or plan.folder / (plan.out or f"{file.stem}-protected.parquet")
    sources = [plan.folder / plan.data.file] if plan.data.file else []
    keep_sources("riskeval protect", sources, [target])
    seed = None if seed is None else resolve_seed(seed)
    session = ProtectionSession(plan.read(), **plan.roles.model_dump())
    for number, (verb, arguments) in enumerate(plan.steps, 1):
        if seed is not None and "seed" not in arguments and takes_seed(verb):
            drawn = Streams(seed).at("protect", number, verb).integers(2**62)
            arguments = {**arguments, "seed": int(drawn)}
        typer.echo(f"{number}. {session.apply(verb, **arguments).summary()}")
    write_release(target, session.data, household=plan.roles.household, **plan.release.model_dump())
    report = plan.folder / (plan.report.file or f"{file.stem}.html")
    session.report(report, audience=plan.report.audience)
    typer.echo(session.risk().summary())
    typer.echo(f"Wrote {target} and the report {report}.")


@app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [roles] and [[release]].")],
    seed: Annotated[int | None, typer.Option(help="Seed; without one, that of the file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Report to write (HTML).")] = None,
    workers: Annotated[int, typer.Option(help="Threads; the numbers do not depend on it.")] = 1,
) -> None:
    """Compare releases of one original by risk and utility; write a report and its table."""
    from riskeval.runfiles.compare import load_compare_plan
    from synthpop.microdata.files import write_table
    from synthpop.microdata.streams import resolve_seed

    plan = load_compare_plan(file)
    seed = None if seed is None else resolve_seed(seed)
    target = out or plan.folder / (plan.report.file or f"{file.stem}.html")
    numbers = target.with_suffix(".csv")
    keep_sources("riskeval compare", [file, *plan.sources()], [target, numbers])
    with progress() as listen:
        result = plan.run(seed=seed, workers=workers, on_event=listen)
    result.report(target, title=plan.report.title, audience=plan.report.audience)
    if plan.report.audience == "internal":
        write_table(result.measures, numbers)
    typer.echo(result.summary())
    more = f" and the numbers {numbers}" if plan.report.audience == "internal" else ""
    typer.echo(f"Wrote the report {target}{more}. Seed {result.seed} repeats it.")


@app.command()
def judge(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [synthetic] and [intruder].")],
    seed: Annotated[int | None, typer.Option(help="Seed; without one, that of the file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Table to write: .csv or .parquet.")] = None,
    workers: Annotated[int, typer.Option(help="Threads; the numbers do not depend on it.")] = 1,
) -> None:
    """Run every attack on a synthetic file; write a page and the table of all numbers."""
    from riskeval.report.judgement import write_judgement
    from riskeval.runfiles.judge import load_judge_plan
    from synthpop.microdata.files import write_table

    plan = load_judge_plan(file)
    target = out or plan.folder / (plan.out or f"{file.stem}.csv")
    page = target.with_suffix(".html")
    if out is None and plan.report.file:
        page = plan.folder / plan.report.file
    keep_sources("riskeval judge", [file, *plan.sources()], [target, page])
    with progress() as listen:
        result = plan.run(seed=seed, workers=workers, on_event=listen)
    write_judgement(page, result, title=plan.report.title, audience=plan.report.audience)
    internal = plan.report.audience == "internal"
    if internal:
        write_table(result.to_frame(), target)
    typer.echo(result.summary())
    more = f" and the numbers {target}" if internal else ""
    typer.echo(f"Wrote the report {page}{more}. Seed {result.seed} repeats it.")


@app.command()
def intruders(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [population] and [intruder].")],
    seed: Annotated[int | None, typer.Option(help="Seed; without one, that of the file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Table to write: .csv or .parquet.")] = None,
) -> None:
    """Measure what five intruders learn from a synthetic population; write the table."""
    from riskeval.runfiles.intruders import load_intruders_plan
    from synthpop.microdata.files import write_table

    plan = load_intruders_plan(file)
    target = out or plan.folder / (plan.out or f"{file.stem}.csv")
    keep_sources("riskeval intruders", [file, *plan.sources()], [target])
    with progress() as listen:
        result = plan.run(seed=seed, on_event=listen)
    write_table(result.to_frame(), target)
    typer.echo(result.summary())
    typer.echo(f"Wrote the table {target}. Seed {result.seed} repeats it.")


@app.command(name="app")
def open_app(
    project: Annotated[
        Path | None, typer.Argument(help="Folder of a project that stays; without one, none does.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 0,
    upload_limit: Annotated[int, typer.Option(help="Largest file to open, in MB.")] = 2048,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Protect a file or judge a release in the browser, on this machine."""
    from synthpop.app.start import start_app

    start_app(project, port=port, upload_limit=upload_limit, browser=browser, say=typer.echo)


def main() -> None:
    """Run the command line."""
    guarded(app, "riskeval")
