"""Command line of the risk evaluation: one function a command, and the group `ledger`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from riskeval.ledger_commands import ledger_commands
from synthpop.microdata.formats.places import lies_below
from synthpop.microdata.messages.errors import OutputError, RunFileError
from synthpop.microdata.messages.events import Event
from synthpop.microdata.runs.command import (
    OBJECTION,
    Anywhere,
    DtaVersion,
    Facts,
    FailOnLimit,
    LedgerFolder,
    SafeCsv,
    Workers,
    Written,
    command_line,
    end_by,
    guarded,
    keep_sources,
    workers_option,
    write_schema,
    written,
)
from synthpop.microdata.runs.open_app import open_app
from synthpop.microdata.runs.output import answer, progress, say, say_reading

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession
    from synthpop.microdata.statistics.streams import Streams

app = command_line("Disclosure risk, protection and utility of released microdata.")

Seed = Annotated[int | None, typer.Option(help="Seed; without one, that of the file.")]
Table = Annotated[Path | None, typer.Option(help="Table to write: .csv, .parquet or another.")]
Report = Annotated[Path | None, typer.Option(help="Report to write (HTML).")]
Threads = Annotated[int, typer.Option(help="Threads; the numbers do not depend on it.")]
FirstPlan = Literal["assess", "protect"]
Plan = Literal["assess", "protect", "compare", "judge", "intruders"]


def _named(plan: Any, name: str, anywhere: bool) -> Path:
    """Return the file to write that a run file names, in its own folder or anywhere."""
    target: Path = plan.folder / name
    if not anywhere and not lies_below(target, plan.folder):
        what = f"{target} is outside of the folder of the run file"
        hint = "Give --anywhere if you trust the run file."
        raise RunFileError.of("run file", name, what, hint)
    return target


@app.command()
def init(
    file: Annotated[
        Path, typer.Argument(help="File: csv, sav, dta, sas7bdat, rds, xlsx, parquet and more.")
    ],
    plan: Annotated[FirstPlan | None, typer.Option(help="Write this run file only.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run file to write, with --plan.")] = None,
) -> None:
    """Write run files for a file: suggested key variables with reasons, steps to begin with.

    Example: riskeval init survey.sav
    """
    from riskeval.keys.suggest import suggest_roles
    from riskeval.runfiles.template import PLANS, plan_text, roles_table
    from synthpop.microdata.formats.atomic import relative_path, write_text
    from synthpop.microdata.formats.files import read_with_kinds

    if out is not None and plan is None:
        raise OutputError("--out names one run file: say which with --plan assess or protect.")
    chosen = PLANS if plan is None else (plan,)
    targets = {name: out or file.with_name(f"{file.stem}-{name}.toml") for name in chosen}
    for target in targets.values():
        if target.exists():
            raise OutputError(f"{target} exists already. Choose another with --plan and --out.")
    frame, user_missing = read_with_kinds(file)
    say_reading(frame)
    roles = suggest_roles(frame)
    for name, target in targets.items():
        path = relative_path(file, target.parent)
        write_text(target, plan_text(name, frame, roles, path, user_missing))
    say(roles_table(roles))
    say(roles.summary())
    for name, target in targets.items():
        say(f"Wrote {target}. Check the roles, then: riskeval {name} {target}")
    answer(files=list(targets.values()), columns=roles.to_frame())


@app.command()
def assess(
    file: Annotated[Path, typer.Argument(help="Run file (TOML) with [data] and [assess].")],
    out: Report = None,
    fail_on_limit: FailOnLimit = False,
    anywhere: Anywhere = False,
) -> None:
    """Measure the disclosure risk of a file and write a page. Nothing is drawn at random.

    Example: riskeval assess survey-assess.toml --fail-on-limit
    """
    from riskeval.report.assessment import write_assessment
    from riskeval.runfiles.runfile import load_assess_plan

    plan = load_assess_plan(file)
    target = out or _named(plan, plan.report.file or f"{file.stem}.html", anywhere)
    with progress() as listen:
        result = plan.run(on_event=listen)
    write_assessment(target, result, **plan.report.of_page())
    say(result.summary())
    say(f"Report: {target}")
    verdict = result.verdict
    answer(
        report=target, measures=result.to_frame(), exceeded=len(result.exceeded),
        verdict=verdict.to_dict(),
    )  # fmt: skip
    end_by([verdict.level], fail_on_limit)


@app.command()
def protect(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [roles] and [[step]].")],
    seed: Annotated[int | None, typer.Option(help="Seed of steps without one.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write: .parquet, .sav ...")] = None,
    fail_on_limit: FailOnLimit = False,
    anywhere: Anywhere = False,
    key: Annotated[
        Path | None, typer.Option(help="Key file to draw from; without one that of the plan.")
    ] = None,
) -> None:
    """Protect a file by the steps of a plan; write the file and a report with its history.

    Records are written in random order, with new household numbers; [release] says otherwise. All
    draws come from a secret key, which is made once and kept beside the plan (.key): with it the
    same plan gives the same file. It stays in the office.

    Example: riskeval protect survey-protect.toml --out survey-protected.sav
    """
    from riskeval.protection.release import release_file
    from riskeval.runfiles.runfile import load_protect_plan
    from synthpop.microdata.frame.dictionary import dictionary_of

    plan = load_protect_plan(file)
    target = out or _named(plan, plan.out or f"{file.stem}-protected.parquet", anywhere)
    report = _named(plan, plan.report.file or f"{file.stem}.html", anywhere)
    sources = [plan.folder / plan.data.file] if plan.data.file else []
    keep_sources("riskeval protect", sources, [target])
    session, streams = _protected(plan, file, key, seed)
    released = release_file(
        session.data,
        household=plan.roles.household,
        dictionary=dictionary_of(session.original),
        # a plan that was changed gives another order, so that its files cannot be joined by it
        seed=streams.number("release", file.read_text(encoding="utf-8")),
        **plan.release.model_dump(),
    )
    _write(released, target)
    session.report(report, plan.report.audience, plan.report.language)
    verdict = session.verdict()
    say(session.risk().summary())
    say(verdict.summary())
    say(f"Wrote {target} and the report {report}.")
    steps = [verb for verb, _ in plan.steps]
    answer(file=target, report=report, steps=steps, verdict=verdict.to_dict())
    end_by([verdict.level], fail_on_limit)


@app.command()
def release(
    source: Annotated[Path, typer.Argument(help="Run file of protect, or folder of a session.")],
    to: Annotated[Path | None, typer.Option("--to", help="Folder to make.")] = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="parquet, csv, sav ...; again for more.")
    ] = None,
    language: Annotated[Literal["en", "de"], typer.Option(help="Language of the page.")] = "en",
    key: Annotated[
        Path | None, typer.Option(help="Key file to draw from; without one that of the plan.")
    ] = None,
    ledger: LedgerFolder = None,
    facts: Facts = None,
    fail_on_limit: FailOnLimit = False,
) -> None:
    """Make the folder that may leave: data, dictionary, external page, verdict, list of contents.

    Without seeds, arguments of steps and anything of the original; records in a fresh random order
    with new household numbers. An attack with every seed that can be guessed runs on it first.
    Without --to it is SOURCE-release. With --ledger the release is laid beside all earlier ones of
    the survey, and recorded there.

    Example: riskeval release survey-protect.toml --format parquet --format sav
    """
    from riskeval.ledger.consult import ledger_request
    from riskeval.report.release import release_session
    from riskeval.runfiles.runfile import load_protect_plan
    from riskeval.session.session import ProtectionSession
    from synthpop.microdata.formats.passport import about_and_others

    about, others = about_and_others(facts or ())
    request = ledger_request(ledger, others)
    options: dict[str, Any] = {}
    if source.is_dir():
        session = ProtectionSession.load(source)
    else:
        plan = load_protect_plan(source)
        session, _ = _protected(plan, source, key, None)
        options = plan.release.model_dump()
    target = to or source.resolve().with_name(f"{source.stem}-release")

    def tell(items: list[str]) -> None:
        for item in items:
            say(f"The format does not hold: {item}")

    release_session(
        session, target, formats=formats or ("parquet",), language=language,
        on_losses=tell,
        ledger=request, about=about,
        **options,
    )  # fmt: skip
    files = sorted(path.name for path in target.iterdir())
    say(f"Wrote {target}: {', '.join(files)}.")
    verdict = (target / "verdict.json").read_text(encoding="utf-8")
    say(verdict)
    level = json.loads(verdict)["level"]
    answer(folder=target, files=files, level=level)
    end_by([level], fail_on_limit)


def _protected(
    plan: Any, file: Path, key: Path | None, seed: int | None
) -> tuple[ProtectionSession, Streams]:
    """Run the steps of a plan with its key, which is written beside it."""
    from riskeval.session.running import with_secret_seed
    from riskeval.session.session import ProtectionSession
    from synthpop.microdata.formats.key_file import write_key_file

    key_file = plan.folder / f"{file.stem}.key"
    streams = _streams(key_file, key, seed)
    data = plan.read()
    say_reading(data)
    session = ProtectionSession(data, **plan.roles.model_dump(), drop=plan.release.drop)
    with progress() as listen:
        for number, (verb, arguments) in enumerate(plan.steps, 1):
            listen(Event("progress", "protect", number - 1, len(plan.steps), verb))
            arguments = with_secret_seed(verb, arguments, streams, number)
            say(f"{number}. {session.apply(verb, **arguments).summary()}")
        listen(Event("end", "protect", len(plan.steps), len(plan.steps)))
    assert streams.key is not None
    write_key_file(key_file, streams.key, seed=streams.seed)
    say(f"The secret key and the seed are in {key_file}: keep them, and give them to nobody.")
    return session, streams


def _streams(key_file: Path, given: Path | None, seed: int | None) -> Streams:
    """Return seed and key of a plan: those given, those of its key file, fresh ones."""
    from synthpop.microdata.formats.key_file import read_key_file
    from synthpop.microdata.statistics.secret_key import SecretKey, secret_key
    from synthpop.microdata.statistics.streams import Streams, resolve_seed

    stored, asked = read_key_file(key_file), secret_key(given)
    if stored is not None and asked is not None and asked != stored[0]:
        hint = "Leave --key out, or copy the plan to another name."
        raise OutputError(f"{key_file} holds another key, which is not overwritten. {hint}")
    known = stored or (None if given is None else read_key_file(given))
    if known is None:
        return Streams(resolve_seed(seed), SecretKey.fresh())
    beside = known[1].get("seed")
    return Streams(resolve_seed(beside if seed is None else seed), known[0])


@app.command()
def compare(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [roles] and [[release]].")],
    seed: Seed = None,
    out: Report = None,
    workers: Threads = 1,
    fail_on_limit: FailOnLimit = False,
    anywhere: Anywhere = False,
) -> None:
    """Compare releases of one original by risk and utility; write a report and its table.

    Example: riskeval compare releases.toml --workers 2
    """
    from riskeval.runfiles.compare import load_compare_plan

    plan = load_compare_plan(file)
    target = out or _named(plan, plan.report.file or f"{file.stem}.html", anywhere)
    numbers = target.with_suffix(".csv")
    keep_sources("riskeval compare", [file, *plan.sources()], [target, numbers])
    with progress() as listen:
        result = plan.run(seed=seed, workers=workers, on_event=listen)
    result.report(target, **plan.report.of_page())
    _report_written(target, result, result.measures, numbers, plan.report.audience)
    exceeded = sum(within is False for within in result.measures["within"].tolist())
    verdicts = {name: one.to_dict() for name, one in result.verdicts.items()}
    answer(
        report=target, seed=result.seed, measures=result.measures, exceeded=exceeded,
        verdicts=verdicts,
    )  # fmt: skip
    end_by([one.level for one in result.verdicts.values()], fail_on_limit)


@app.command()
def judge(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [synthetic] and [intruder].")],
    seed: Seed = None,
    out: Table = None,
    workers: Workers = "1",
    fail_on_limit: FailOnLimit = False,
    anywhere: Anywhere = False,
) -> None:
    """Run every attack on a synthetic file; write a page and the table of all numbers.

    Example: riskeval judge synthetic.toml --out attacks.csv
    """
    from riskeval.report.judgement import write_judgement
    from riskeval.runfiles.judge import load_judge_plan

    plan = load_judge_plan(file)
    target = out or _named(plan, plan.out or f"{file.stem}.csv", anywhere)
    page = target.with_suffix(".html")
    if out is None and plan.report.file:
        page = _named(plan, plan.report.file, anywhere)
    keep_sources("riskeval judge", [file, *plan.sources()], [target, page])
    with progress() as listen:
        result = plan.run(seed=seed, workers=workers_option(workers), on_event=listen)
    write_judgement(page, result, **plan.report.of_page())
    _report_written(page, result, result.to_frame(), target, plan.report.audience)
    verdict = result.verdict
    answer(report=page, seed=result.seed, numbers=result.to_frame(), verdict=verdict.to_dict())
    end_by([verdict.level], fail_on_limit)


@app.command()
def audit(
    file: Annotated[Path, typer.Argument(help="Run file of synthpop run: survey and recipe.")],
    refits: Annotated[int, typer.Option(help="Refits, half of them for training.")] = 200,
    targets: Annotated[int, typer.Option(help="Households looked for in each way.")] = 20,
    share: Annotated[float, typer.Option(help="Share of other households in a refit.")] = 0.5,
    seed: Annotated[int | None, typer.Option(help="Seed; without one a new one, printed.")] = None,
    out: Report = None,
    workers: Workers = "1",
    fail_on_limit: Annotated[
        bool, typer.Option("--fail-on-limit", help="End with status 3 where a stage is named.")
    ] = False,
) -> None:
    """Audit a generator: which stage of a recipe gives respondents away? Writes a page.

    The recipe is learned again and again with and without some households, planted ones among
    them; attacks tell in which. Beside the page a table with every attack, and a .json by which
    synthpop release tells the figures of the audit (--audit).

    Example: riskeval audit survey.toml --workers processes:2
    """
    from riskeval.auditing.audit import audit as run_audit
    from riskeval.auditing.stored import store_audit
    from riskeval.report.audit import write_audit
    from synthpop.microdata.messages.presenters import presenter

    plan = presenter("load_runfile")(file)
    target = out or file.with_name(f"{file.stem}-audit.html")
    numbers, figures = target.with_suffix(".csv"), target.with_suffix(".json")
    keep_sources("riskeval audit", [file], [target, numbers, figures])
    survey = plan.read_survey()
    say_reading(survey.frame)
    calibration = plan.calibration(survey)
    survey = survey if calibration is None else calibration.survey
    with progress() as listen:
        result = run_audit(
            plan.pipeline(), survey, n_refits=refits, n_targets=targets, share=share, seed=seed,
            workers=workers_option(workers), on_event=listen,
        )  # fmt: skip
    write_audit(target, result)
    store_audit(figures, result)
    _report_written(target, result, result.to_frame(), numbers, "internal")
    answer(
        report=target, figures=figures, seed=result.seed, numbers=result.to_frame(),
        leaking=result.leaking,
        epsilon_at_least=result.epsilon,
    )  # fmt: skip
    if fail_on_limit and result.leaking:
        raise typer.Exit(OBJECTION)


@app.command()
def intruders(
    file: Annotated[Path, typer.Argument(help="Run file: [data], [population] and [intruder].")],
    seed: Seed = None,
    out: Table = None,
    workers: Workers = "1",
    anywhere: Anywhere = False,
) -> None:
    """Measure what five intruders learn from a synthetic population; write the table.

    Example: riskeval intruders intruders.toml --out intruders.csv
    """
    from riskeval.runfiles.intruders import load_intruders_plan
    from synthpop.microdata.formats.files import write_table

    plan = load_intruders_plan(file)
    target = out or _named(plan, plan.out or f"{file.stem}.csv", anywhere)
    keep_sources("riskeval intruders", [file, *plan.sources()], [target])
    with progress() as listen:
        result = plan.run(seed=seed, workers=workers_option(workers), on_event=listen)
    write_table(result.to_frame(), target)
    say(result.summary())
    say(f"Wrote the table {target}. Seed {result.seed} repeats it.")
    answer(file=target, seed=result.seed, table=result.to_frame())


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="A protected file, or any other.")],
    target: Written = None,
    to: Annotated[Path | None, typer.Option("--to", help="The same, as an option.")] = None,
    dictionary: Annotated[
        Path | None, typer.Option(help="Labels and codes to apply: .toml, .csv or .xlsx.")
    ] = None,
    safe_csv: SafeCsv = False,
    dta_version: DtaVersion = None,
) -> None:
    """Write a file in another format with its labels and codes.

    Formats: .csv .tsv .parquet .arrow .xlsx .sav .zsav .dta .xpt .rds. What a format cannot hold
    is named before anything is written, as are names that it does not allow.

    Example: riskeval export survey-protected.parquet survey-protected.sav
    """
    from synthpop.microdata.formats.dictionary_file import read_dictionary
    from synthpop.microdata.formats.files import read_table
    from synthpop.microdata.messages.text import plural

    out = written(target, to)
    keep_sources("riskeval export", [file], [out])
    labels = None if dictionary is None else read_dictionary(dictionary)
    frame = read_table(file, dictionary=labels)
    _write(frame, out, safe_csv=safe_csv, dta_version=dta_version)
    say(f"Wrote {out}: {plural(len(frame), 'row')}.")
    answer(file=out, rows=len(frame))


@app.command()
def schema(
    plan: Annotated[Plan, typer.Argument(help="Which run file.")],
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default: print.")] = None,
) -> None:
    """Write the JSON schema of a run file, by which editors complete and check it.

    Example: riskeval schema protect --to protect.schema.json
    """
    from riskeval.runfiles.schema import plan_schema

    write_schema(plan_schema(plan), to)


def _write(frame: Any, target: Path, **options: Any) -> None:
    """Say what the format cannot hold, and write the file."""
    from synthpop.microdata.formats.files import write_table
    from synthpop.microdata.formats.losses import losses

    items = losses(frame, target)
    if items:
        say(f"{target.suffix} does not hold:" + "".join(f"\n  - {item}" for item in items))
    answer(losses=items)
    write_table(frame, target, **options)


def _report_written(report: Path, result: Any, numbers: Any, target: Path, audience: str) -> None:
    """Write the numbers beside an internal report, and say what was written."""
    from synthpop.microdata.formats.files import write_table

    beside = ""
    if audience == "internal":
        write_table(numbers, target)
        beside = f" and the numbers {target}"
    say(result.summary())
    say(f"Wrote the report {report}{beside}. Seed {result.seed} repeats it.")


app.add_typer(ledger_commands, name="ledger")
app.command(
    name="app",
    help="Protect a file or judge a release in the browser, on this machine.\n\n"
    "Example: riskeval app my-project",
)(open_app)


def main() -> None:
    """Run the command line."""
    guarded(app, "riskeval", "Nothing half-written is left.")
