"""The run of a run file: survey, models, population and report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.messages.events import Event
from synthpop.microdata.runs.output import OUTPUT, answer, progress, say, say_reading

ZONE_TABLES = ("zone_controls.csv", "zone_copies.csv")
ONE_PART = (
    "Run it again: it goes on behind the last strata that were finished. A population of at most a "
    "million persons begins again."
)


def repair_folder(file: Path, folder: Path, workers: int | str) -> None:
    """Make again what is damaged in the folder of a population, by its run file or "demo"."""
    from synthpop.population.storage import read_manifest, run_seed
    from synthpop.runfiles.demo import demo_runfile
    from synthpop.runfiles.runfile import load_runfile

    if str(file) == "demo":
        scale = read_manifest(place(folder)).identity.scale
        plan = demo_runfile(seed=run_seed(None, place(folder)), scale=scale)
        command = "synthpop demo"
    else:
        plan, command = load_runfile(file), f"synthpop run {file.name}"
    run_plan(plan, place(folder), workers, command)


def join_files(files: Sequence[Path], target: Path, *, eu_silc: bool) -> None:
    """Write the files D, H, R and P of EU-SILC, or households and their persons, as one file."""
    from synthpop.microdata.formats.files import read_table, write_table
    from synthpop.microdata.reading.join import join_households
    from synthpop.runfiles.eu_silc import read_eu_silc

    if eu_silc:
        frame = read_eu_silc(files)
    else:
        tables = [read_table(file) for file in files]
        for table in tables:
            say_reading(table)
        frame = join_households(*tables)
        say_reading(frame)
    write_table(frame, target)
    say(f"Wrote {target}, one row per person.")


def run_plan(
    plan: Any, out: Place, workers: int | str, command: str, key: Path | None = None
) -> None:
    """Fit, simulate and report as a run file says; `command` is what stands in the report."""
    from synthpop.population.read_once import read_once
    from synthpop.population.run_key import KEY_FILE
    from synthpop.population.storage import expect_files, run_seed
    from synthpop.report.stored import FILE
    from synthpop.runfiles.checks import check_risk, every_fault

    seed = run_seed(plan.run.seed, out)
    say(f"Seed {seed}.")
    # 1. The survey, calibrated where the run file has known totals.
    with every_fault(plan):
        survey = plan.read_survey()
        say_reading(survey.frame)
        say(survey.summary())
        calibration = plan.calibration(survey)
        if calibration is not None:
            say(calibration.summary())
            survey = calibration.survey
        check_risk(plan, survey)
    OUTPUT.left_behind = "Run it again: finished blocks are kept."
    with progress() as listener:
        # 2. Models, and the population in blocks.
        with every_fault(plan):
            fitted = plan.pipeline().fit(survey, seed=seed, on_event=listener)
        if fitted.population_stages:
            OUTPUT.left_behind = ONE_PART
        with every_fault(plan):
            population = plan.make(fitted, key=key, out=out, workers=workers, on_event=listener)
        files = [] if plan.zones is None else [plan.zones.page, *ZONE_TABLES]
        expect_files(out, [out / FILE, *(out / name for name in [plan.report.file, *files])])
        if plan.zones is not None:
            _write_zones(plan, population, out)
        population.workers = workers
        population = read_once(population)
        # 3. The report.
        listener(Event("progress", "report", 0, 2, "risk"))
        risk = _risk(plan, fitted, population, workers)
        listener(Event("progress", "report", 1, 2, "figures"))
        copies = _copies(plan, fitted, population)
        parts_of_report = {"risk": risk, "copies": copies, "calibration": calibration}
        parts_of_report |= _wording(plan, survey)
        report = _write_report(plan, fitted, population, out, command, parts_of_report)
        listener(Event("end", "report", 2, 2))
    say(population.summary())
    say(f"Report: {report}")
    say(f"The secret key and the seed are in {out / KEY_FILE}: keep them, and give them to nobody.")
    answer(
        folder=out,
        report=report,
        seed=seed,
        persons=population.n_persons,
        households=population.n_households,
        fallbacks=len(population.fallbacks),
    )


def _write_zones(plan: Any, population: Any, out: Place) -> None:
    """Write the page and the tables of the known totals of zones."""
    from synthpop.microdata.formats.atomic import write_text
    from synthpop.pipeline.zone_population import zone_controls, zone_copies
    from synthpop.population.storage import add_file
    from synthpop.report.zones import write_zones

    places = plan.zones.places and plan.folder / plan.zones.places
    page = write_zones(
        out / plan.zones.page, population, places=places, language=plan.report.language
    )
    add_file(out, page)
    tables = (zone_controls(population), zone_copies(population))
    for name, table in zip(ZONE_TABLES, tables, strict=True):
        write_text(out / name, table.to_csv(index=False), private=True)
        add_file(out, out / name)
    say(f"Page of the zones: {page}")
    if plan.zones.households == "survey":
        say("The households are copies of those of the survey: keep the population in the office.")


def _write_report(
    plan: Any, fitted: Any, population: Any, out: Place, command: str, more: dict[str, Any]
) -> Place:
    from synthpop.population.storage import add_file
    from synthpop.report.stored import store_report
    from synthpop.report.write import report_source, write_stored

    options = plan.report
    source = report_source(
        fitted.derived_survey(plan.run.strata),
        population,
        title=options.title,
        provenance=_provenance(plan, command),
        **more,
    )
    report = out / options.file
    write_stored(report, source, population, audience=options.audience, language=options.language)
    add_file(out, store_report(out, source))
    add_file(out, report)
    return report


def _wording(plan: Any, survey: Any) -> dict[str, Any]:
    """Labels and units of the variables, as far as they are known."""
    from synthpop.microdata.frame.dictionary import dictionary_of

    if not plan.survey.demo:
        variables = dictionary_of(survey.frame).variables.values()
        return {
            "labels": {item.name: item.label for item in variables if item.label},
            "units": {item.name: item.unit for item in variables if item.unit},
        }
    from synthpop.datasets import DEMO_VARIABLES

    labels = {variable.name: variable.label for variable in DEMO_VARIABLES}
    units = {variable.name: variable.unit for variable in DEMO_VARIABLES if variable.unit}
    return {"labels": {**labels, "age_class": "Age class"}, "units": units}


def _provenance(plan: Any, command: str) -> dict[str, str]:
    """Return the command, the date of the run file, and name and hash of the survey file."""
    from synthpop.report.provenance import survey_file_facts

    facts = {"Command": command}
    if plan.report.date:
        facts["Date"] = plan.report.date
    if plan.survey.file:
        facts |= survey_file_facts(plan.folder / plan.survey.file)
    return facts


def _risk(plan: Any, fitted: Any, population: Any, workers: int | str) -> list[Any] | None:
    """Return what the intruder finds in the population, then in further ones of the same fit."""
    if plan.risk is None:
        return None
    from riskeval.attacks.matching.scenarios import intruder_scenarios
    from riskeval.attacks.matching.survey_model import with_survey_baseline

    survey = fitted.derived_survey(plan.run.strata)
    further: Iterable[Any] = ()
    if plan.risk.replicates:
        further = fitted.replicates(
            plan.risk.replicates, scale=plan.run.scale, strata=plan.run.strata, workers=workers,
            rows_per_block=plan.run.rows_per_block,
        )  # fmt: skip
    results = [
        intruder_scenarios(
            survey.frame,
            file,
            plan.risk.keys,
            plan.risk.target,
            accuracy=plan.risk.accuracy,
            intervals=tuple(plan.risk.intervals) if plan.risk.intervals else None,
            weights=survey.weights,
        )
        for file in chain([population], further)
    ]
    first = with_survey_baseline(results[0], survey.frame, survey.roles.household)
    return [first, *results[1:]]


def _copies(plan: Any, fitted: Any, population: Any) -> Any:
    """Return what of single survey persons the population repeats: shares, amounts, households."""
    if plan.risk is None:
        return None
    import pandas as pd

    from riskeval.attacks.counting.copies import copied_values

    survey = fitted.derived_survey(plan.run.strata)
    household = survey.roles.household
    structure = list(fitted.stages[0].provides)
    jobs: list[tuple[list[str], list[str]]] = [(structure, [])] if household else []
    for stage in fitted.stages:
        parts = list(getattr(stage, "parts", ()))
        if parts:
            jobs.append((parts, parts))
    numeric = survey.frame[plan.risk.target].dtype.kind in "iuf"
    jobs += [([plan.risk.target], [plan.risk.target])] if numeric else []
    tables = []
    for names, amounts in jobs:
        rows = copied_values(
            survey.frame, population, names, amounts=amounts,
            household=household if not amounts else None,
        ).table  # fmt: skip
        kind = "shares" if len(amounts) > 1 else "amounts" if amounts else "compositions"
        tables.append(rows[rows["kind"] == kind].assign(variables=", ".join(names)))
    return pd.concat(tables, ignore_index=True) if tables else None
