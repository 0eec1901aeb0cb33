"""Command line of the generator: demo, init, run, calibrate, sample, verify."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from synthpop.cli import options
from synthpop.cli.release import release
from synthpop.cli.run import join_files, repair_folder, run_plan
from synthpop.microdata.formats.places import lies_below, place
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults, InputError, OutputError
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import plural
from synthpop.microdata.runs.command import command_line, guarded, workers_option, write_schema
from synthpop.microdata.runs.installed import warn_of_others
from synthpop.microdata.runs.open_app import open_app
from synthpop.microdata.runs.output import answer, progress, say, say_reading, steps

app = command_line("Synthetic populations of households and persons from a survey sample.")


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the population.")] = 1,
    workers: options.Workers = "1",
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("synthpop-demo"),
    scale: Annotated[float, typer.Option(help="Factor on the size of the population.")] = 1.0,
    key: options.KeyFile = None,
) -> None:
    """Run the main job on the embedded survey and write a report with figures.

    Example: synthpop demo --seed 1 --out synthpop-demo
    """
    from synthpop.microdata.messages.parameters import POSITIVE, Whole, check
    from synthpop.runfiles.demo import demo_runfile

    faults = Faults("demo")
    check(faults, {"--seed": Whole(0), "--scale": POSITIVE}, {"--seed": seed, "--scale": scale})
    faults.raise_if_any()
    plan = demo_runfile(seed=seed, scale=scale)
    run_plan(plan, place(out), workers_option(workers), "synthpop demo", key)


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="Run file (TOML); see synthpop init.")],
    seed: options.Seed = None,
    workers: options.Workers = "1",
    out: options.Out = None,
    anywhere: options.Anywhere = False,
    key: options.KeyFile = None,
) -> None:
    """Simulate the population that a run file describes and write a report.

    Persons and households are drawn from a secret key, kept in run.key in the folder: keep it in
    the office. A run that was stopped resumes with it: run it again. The run file writes below its
    own folder; give
    --anywhere where you trust it to write elsewhere.

    Example: synthpop run survey.toml --seed 1 --workers processes:4
    """
    from dataclasses import replace

    from synthpop.population.run_key import seed_of_key
    from synthpop.runfiles.checks import check_targets
    from synthpop.runfiles.runfile import load_runfile

    plan = load_runfile(file)
    if seed is None and plan.run.seed is None and key is not None:
        seed = seed_of_key(place(key))
    if seed is not None:
        plan = replace(plan, run=plan.run.model_copy(update={"seed": seed}))
    named = plan.run.out and place(plan.run.out, plan.folder)
    folder = place(out) if out else named or file.with_suffix("")
    check_targets(plan, folder, out_is_given=out is not None, anywhere=anywhere)
    run_plan(plan, folder, workers_option(workers), f"synthpop run {file.name}", key)


@app.command()
def init(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Survey file (csv, sav, dta, rds, xlsx, parquet ...), or households and persons."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Run file to write.")] = None,
    eu_silc: Annotated[
        bool, typer.Option("--eu-silc", help="The files D, H, R and P of EU-SILC, or one of all.")
    ] = False,
    unweighted: Annotated[
        bool,
        typer.Option(
            "--unweighted",
            help="Every row counts 1: make the file again, with its weights as numbers.",
        ),
    ] = False,
) -> None:
    """Write a commented run file for a survey, and say what its columns were taken for.

    Example: synthpop init survey.sav --out survey.toml
    """
    from synthpop.microdata.formats.atomic import relative_path, write_text
    from synthpop.microdata.formats.files import read_with_kinds
    from synthpop.profile.profile import profile_survey
    from synthpop.runfiles.proof import faults_in_trial
    from synthpop.runfiles.runfile import load_runfile
    from synthpop.runfiles.template import template_text
    from synthpop.runfiles.template_text import profile_table

    if len(files) > 2 and not eu_silc:
        raise OutputError("Give one survey file, one of households and one of their persons, or "
                          "the four files of EU-SILC with --eu-silc.")  # fmt: skip
    is_joined = eu_silc or len(files) == 2
    name = "eu-silc" if eu_silc else "-and-".join(file.stem for file in files)
    survey = files[0].with_name(f"{name}.parquet") if is_joined else files[0]
    target = out or survey.with_suffix(".toml")
    survey = out.with_suffix(".parquet") if is_joined and out is not None else survey
    for file in (target, survey) if is_joined else (target,):
        if file.exists():
            raise OutputError(f"{file} exists already. Choose another file with --out.")
    if is_joined:
        join_files(files, survey, eu_silc=eu_silc)
    frame, user_missing = read_with_kinds(survey)
    say_reading(frame)
    known: dict[str, str | None] = {"weight": None} if unweighted else {}
    profile = profile_survey(frame, known=known)
    answers = options.asked(profile.questions)
    if answers:
        profile = profile_survey(frame, known={**known, **answers})
    text = template_text(frame, profile, relative_path(survey, target.parent), user_missing)
    write_text(target, text)
    say(profile_table(profile))
    say(profile.summary())
    faults = faults_in_trial(load_runfile(target))
    if faults:
        say("\n".join([f"Wrote {target}. Correct there before you run it:", *map(str, faults)]))
    else:
        say(f"Wrote {target}. Check the roles and the stages, then: synthpop run {target}")
    answer(file=target, columns=profile.to_frame())


@app.command()
def mock(
    file: Annotated[Path, typer.Argument(help="Survey file: csv, sav, dta, parquet ...")],
    rows: Annotated[int, typer.Option(help="Persons, about.")] = 1000,
    household: Annotated[str | None, typer.Option(help="Column of household ids.")] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", help="Range of a number: AGE=0:99; again for more."),
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option(help="Labels and codes of the columns: .toml, .csv or .xlsx.")
    ] = None,
    levels: options.MockLevels = "dictionary",
    seed: Annotated[int | None, typer.Option(help="Seed; without one a new one, printed.")] = None,
    out: Annotated[Path | None, typer.Option(help="File to write.")] = None,
) -> None:
    """Make a mock file: same columns, labels and codes, values that say nothing of anybody.

    It is the file that others can write their programs with. Beside it a page with four checks
    (labelling, disclosure, structure, documentation). Read the page before the file goes out.

    Example: synthpop mock survey.sav --range AGE=0:99
    """
    from synthpop.cli.mock import mock_file

    made, target, page = mock_file(
        file, dictionary, out, rows=rows, household=household, ranges=ranges or [],
        levels=levels, seed=seed,
    )  # fmt: skip
    say(made.summary())
    say(f"Wrote {target} and its page {page}. Seed {made.seed}.")
    answer(file=target, page=page, checks=made.checks, seed=made.seed)


@app.command()
def calibrate(
    file: Annotated[Path, typer.Argument(help="Run file (TOML) with [survey] and [calibrate].")],
    out: Annotated[Path | None, typer.Option(help="Survey to write: .parquet or .csv.")] = None,
    safe_csv: options.SafeCsv = False,
) -> None:
    """Calibrate the weights of a survey to known totals and write the survey and a table.

    Example: synthpop calibrate survey.toml --out calibrated.parquet
    """
    from synthpop.microdata.formats.files import write_table
    from synthpop.runfiles.checks import every_fault
    from synthpop.runfiles.runfile import load_runfile

    plan = load_runfile(file)
    if plan.calibrate is None:
        raise OutputError(f"{file} has no table [calibrate].")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the summary says it
        with every_fault(plan), steps("calibrate", 2) as step:
            survey = step("read the survey", plan.read_survey)
            result = step("weights", partial(plan.calibration, survey))
    say_reading(survey.frame)
    assert result is not None
    target = out or file.with_name(f"{file.stem}-calibrated.parquet")
    controls = target.with_name(f"{target.stem}-controls.csv")
    say(result.summary())
    if not result.converged:
        raise OutputError("Nothing was written: the totals are not met.")
    write_table(result.survey.frame, target, private=True, safe_csv=safe_csv)
    write_table(result.margins, controls, safe_csv=safe_csv)
    say(f"Wrote {target} and the table of controls {controls}.")
    answer(file=target, controls=result.margins, controls_file=controls)


@app.command()
def zones(
    folder: Annotated[Path, typer.Argument(help="Folder of a PopulationSim run.")],
    configs: Annotated[str, typer.Option(help="Folder in it with the settings.")] = "configs",
    data: Annotated[str, typer.Option(help="Folder in it with the tables.")] = "data",
    repop: Annotated[
        bool,
        typer.Option("--repop", help="Then new households for the zones of the repop tables."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the rounding; without one a new one, printed.")
    ] = None,
    model: Annotated[
        options.TravelModel | None,
        typer.Option("--for", help="Write households.csv and persons.csv for a travel model too."),
    ] = None,
    columns: Annotated[
        Path | None, typer.Option(help="TOML file with the columns and codes that it reads.")
    ] = None,
    out: options.Out = None,
) -> None:
    """Put the households of a survey into zones that meet known totals, from PopulationSim's files.

    Writes its households, persons and summaries; without --out to FOLDER/output.

    Examples: synthpop zones example_calm --seed 1

    synthpop zones example_calm --for activitysim --columns columns.toml
    """
    from synthpop.calibration.zones import ALLOTTED
    from synthpop.microdata.formats.files import write_table
    from synthpop.microdata.formats.folder import new_folder
    from synthpop.population.travel_models import travel_tables
    from synthpop.runfiles.populationsim import read_zone_folder
    from synthpop.runfiles.travel_columns import read_travel_columns

    if columns is not None and model is None:
        raise InputError.of("zones", "--columns", "has no travel model", "Give one with --for.")
    of_model = read_travel_columns(columns)
    tables = partial(travel_tables, columns=of_model.columns, codes=of_model.codes)
    target = out or folder / "output"
    if target.exists() and any(target.iterdir()):
        raise OutputError(f"{target} has files: give another folder with --out.")
    read = partial(read_zone_folder, folder, configs=configs, data=data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the summary says it
        with steps("zones", 4 if repop else 2) as step:
            source = step("read", read)
            if model is not None:  # what is wrong is told before the balance
                seed_rows, home = source.survey.frame, str(source.survey.roles.household)
                tables(seed_rows, model, household=home, zone=source.within)
            result = step("balance", partial(source.balance, seed=seed))
            if repop:
                source = step("read new totals", partial(read, repop=True))
                only = source.geography[source.geography.columns[-1]].tolist()
                again = partial(source.balance, seed=result.seed, only=only, previous=result)
                result = step("balance again", again)
    with new_folder(target) as draft:
        for name, table in source.tables(result).items():
            write_table(table, draft / name)
        if model is not None:
            copies = result.persons()
            tables(copies, model, household=ALLOTTED, zone=result.zone).write(draft)
    say(result.summary())
    say(f"Wrote {target}.")
    answer(folder=target, controls=result.controls, seed=result.seed)


@app.command()
def sample(
    population: options.Folder,
    n: Annotated[int, typer.Option("-n", help="Households (or persons) to draw in all.")],
    strata: Annotated[str | None, typer.Option(help="Column of strata; none: one stratum.")] = None,
    allocation: Annotated[options.Allocation, typer.Option(help="Over strata.")] = "proportional",
    persons: Annotated[bool, typer.Option("--persons", help="Draw single persons.")] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the draw; without one a new one, which is printed.")
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write: .parquet or .csv.")] = Path(
        "sample.parquet"
    ),
    safe_csv: options.SafeCsv = False,
) -> None:
    """Draw a random sample of whole households (or persons) with design weights.

    Example: synthpop sample synthpop-demo -n 500 --strata db040 --out sample.sav
    """
    from synthpop.microdata.formats.files import write_table
    from synthpop.population.population import open_population
    from synthpop.sampling import Cluster, Power, Proportional, SimpleRandom, Stratified
    from synthpop.sampling.draw import draw_sample

    source = open_population(population)
    household = source.roles.household
    unit = Cluster(household, SimpleRandom(n)) if household and not persons else SimpleRandom(n)
    design: Cluster | SimpleRandom | Stratified = unit
    if strata is not None:
        spread = Proportional(n) if allocation == "proportional" else Power(n)
        design = Stratified(spread, by=strata, within=unit)
    with steps("sample", 2) as step:
        survey = step("draw", partial(draw_sample, source, design, seed=seed))
        step("write", partial(write_table, survey.frame, out, safe_csv=safe_csv))
    say(f"{survey.summary()} Seed {survey.frame.attrs['seed']}. Wrote {out}.")
    answer(file=out, seed=survey.frame.attrs["seed"], persons=survey.n_persons)


@app.command()
def export(
    folder: options.Folder,
    file: options.Written = None,
    to: Annotated[Path | None, typer.Option("--to", help="The same, as an option.")] = None,
    strata: Annotated[
        list[str] | None, typer.Option(help="Stratum to export; give it again for more.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Draw so many households at random, with weights.")
    ] = None,
    households: options.OfHouseholds = False,
    seed: Annotated[int | None, typer.Option(help="Seed of --sample.")] = None,
    dictionary: options.Labels = None,
    safe_csv: options.SafeCsv = False,
    dta_version: options.DtaVersion = None,
) -> None:
    """Write a population, or a part of it, to one file with its labels and codes.

    Formats: .csv .tsv .parquet .arrow .xlsx .sav .zsav .dta .xpt .rds. What a format cannot hold
    is named before anything is written.

    Names that SPSS, Stata or SAS do not allow become legal ones, which are told.

    Examples: synthpop export synthpop-demo people.csv --strata Vienna

    synthpop export synthpop-demo sample.sav --sample 500 --seed 1
    """
    from synthpop.microdata.formats.dictionary_file import write_dictionary
    from synthpop.pipeline.export_file import export_population
    from synthpop.population.population import open_population

    target = options.written(file, to)
    source = open_population(folder)

    def tell(items: list[str]) -> None:
        say(f"{target.suffix} does not hold:" + "".join(f"\n  - {item}" for item in items))
        answer(losses=items)

    write = partial(
        export_population,
        source,
        target,
        strata=strata,
        sample=sample,
        households=households,
        seed=seed,
        on_losses=tell,
        safe_csv=safe_csv,
        dta_version=dta_version,
    )
    with steps("export", 1) as step:
        rows = step(target.name, write)
    say(f"Wrote {target}: {plural(rows, 'row')}.")
    answer(file=target, rows=rows)
    if dictionary is not None:
        say(f"Wrote the dictionary {write_dictionary(source.dictionary, dictionary)}.")
        answer(dictionary=dictionary)


@app.command()
def dictionary(
    source: Annotated[Path, typer.Argument(help="Survey file, or folder of a population.")],
    to: Annotated[Path, typer.Option("--to", help="File to write: .toml, .csv or .xlsx.")],
) -> None:
    """Write the dictionary of variables (labels, codes, missing codes) as a file to edit.

    A run file reads it again: [survey] dictionary = "labels.csv".

    Example: synthpop dictionary survey.sav --to labels.csv
    """
    from synthpop.microdata.formats.dictionary_file import write_dictionary
    from synthpop.microdata.formats.files import read_table
    from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of
    from synthpop.population.population import open_population

    if place(source).is_dir():
        columns, variables = open_population(source).columns, open_population(source).dictionary
    else:
        frame = read_table(source)
        columns, variables = tuple(map(str, frame.columns)), dictionary_of(frame)
    complete = Dictionary([variables.variables.get(name, Variable(name)) for name in columns])
    write_dictionary(complete, to)
    say(f"Wrote {to}: {plural(len(complete), 'variable')}.")
    answer(file=to, variables=len(complete))


@app.command()
def verify(
    folder: options.Folder, repair: options.Repair = None, workers: options.Workers = "1"
) -> None:
    """Check every file of a population: manifest, parts, records, levels, types, report.

    With --repair only the blocks that are missing or damaged are computed again; the result has
    the same bytes as before.

    Example: synthpop verify synthpop-demo --repair demo
    """
    from synthpop.population.verify import verify as verify_folder

    try:
        with progress() as listener:
            problems = verify_folder(folder, listener, workers=workers_option(workers))
    except OutputError as problem:
        if repair is None:
            raise
        problems = [str(problem)]
    if problems and repair is not None:
        say("\n".join([f"{folder} is damaged:", *problems]))
        repair_folder(repair, folder, workers_option(workers))
        problems = verify_folder(folder)
    if problems:
        raise OutputError("\n".join([f"{folder} does not agree with its manifest:", *problems]))
    say(f"{folder} is complete and unchanged.")
    answer(folder=folder, problems=problems)


app.command()(release)
app.command(
    name="app",
    help="Protect a file, judge a release or create a population in the browser,\n"
    "on this machine.\n\n"
    "Example: synthpop app my-project",
)(open_app)


@app.command()
def profile(
    file: Annotated[Path, typer.Argument(help="Survey file: csv, parquet, sav, dta, sas7bdat.")],
    out: options.Page = None,
    language: options.Language = "en",
) -> None:
    """Write a page on the columns of a survey: roles, sums, codes for missing, rare levels.

    The page shows rare levels and extreme values of the survey: it is for the office.

    Example: synthpop profile survey.sav
    """
    from synthpop.microdata.formats.files import read_table
    from synthpop.profile.profile import profile_survey
    from synthpop.report.profile import write_profile

    target = out or file.with_name(f"{file.stem}-profile.html")
    frame = read_table(file)
    result = profile_survey(frame)
    with use_language(language):
        title = message("Columns of {file}", file=file.name)
    write_profile(target, frame, profile=result, title=title, language=language)
    say(result.summary())
    say(f"Report: {target}")
    answer(report=target, columns=result.to_frame())


@app.command()
def report(
    folder: options.Folder,
    audience: options.Audience = "internal",
    out: options.Page = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    language: options.Language = "en",
    date: Annotated[
        str | None, typer.Option(help="Date to print among the provenance; none without it.")
    ] = None,
    workers: options.Workers = "1",
) -> None:
    """Write the report of a population again, without simulating, for either audience.

    Without --out it is FOLDER/report.html or FOLDER/report-external.html.

    Example: synthpop report synthpop-demo --audience external
    """
    from dataclasses import replace

    from synthpop.population.population import open_population
    from synthpop.population.storage import add_file
    from synthpop.report.stored import load_report
    from synthpop.report.write import write_stored

    home = place(folder)
    source = load_report(home)
    if title is not None:
        source = replace(source, title=title)
    if date is not None:
        source = replace(source, provenance={**source.provenance, "Date": date})
    name = "report.html" if audience == "internal" else "report-external.html"
    target = place(out) if out else home / name
    population = open_population(home, workers=workers_option(workers))
    write_stored(target, source, population, audience=audience, language=language)
    if lies_below(target, home):
        add_file(home.resolve(), target.resolve())
    say(f"Report: {target}")


@app.command()
def schema(
    to: Annotated[Path | None, typer.Option("--to", help="File to write; default: print.")] = None,
) -> None:
    """Write the JSON schema of the run file, by which editors complete and check it.

    Example: synthpop schema --to runfile.schema.json
    """
    from synthpop.runfiles.schema import runfile_schema

    write_schema(runfile_schema(), to)


def main() -> None:
    """Run the command line."""
    # another distribution may have overwritten the file that warns
    if not hasattr(sys.modules["synthpop"], "warn_of_others"):
        warn_of_others(str(Path(__file__).parent))
    guarded(app, "synthpop", "Nothing half-written is left.")
