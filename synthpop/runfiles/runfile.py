"""Run files: a survey, its roles, the stages and the run, as TOML data that is never evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthpop.conditional.rules.parse import parse_rules
from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.formats.tomlfile import check_sections, faults_of, read_toml, validate
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.runs.engines import Workers
from synthpop.microdata.statistics.secret_key import Key
from synthpop.population.population import Population
from synthpop.population.storage import run_seed
from synthpop.runfiles.checks import every_fault, faults_of_data, in_words_of_rules
from synthpop.runfiles.plan import RunFile
from synthpop.runfiles.stage_tables import (
    as_toml,
    margin_table,
    read_margins,
    read_stages,
    stage_table,
)
from synthpop.runfiles.tables import SECTIONS, SurveyInput


def load_runfile(path: Path | str) -> RunFile:
    r"""Read and check a run file.

    Raises
    ------
    RunFileError
        Lists every fault: text that is not TOML, unknown tables and keys, values of a wrong type.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "run.toml"
    >>> _ = file.write_text('[survey]\ndemo = true\n[[stage]]\ntype = "structure"\n'
    ...                     'variables = ["age"]\n')
    >>> [stage.label for stage in load_runfile(file).stages]
    ['structure']
    """
    file = Path(path)
    return parse_runfile(read_toml(file), folder=file.parent, subject=f"run file {file.name}")


def parse_runfile(
    data: Mapping[str, Any], *, folder: Path = Path(), subject: str = "run file"
) -> RunFile:
    """Check the content of a run file; see `load_runfile`."""
    faults = faults_of(subject, data)
    check_sections(faults, data, [*SECTIONS, "stage", "rules", "known_totals"])
    rules = _rules(faults, data.get("rules", []))
    known_totals = read_margins(faults, "[[known_totals]]", data.get("known_totals", []), folder)
    tables: dict[str, Any] = {}
    for name, model in SECTIONS.items():
        if name in ("risk", "calibrate", "zones") and name not in data:
            tables[name] = None
            continue
        tables[name] = validate(faults, f"[{name}]", model, data.get(name, {}))
    stages: tuple[Any, ...] = ()
    if "stage" in data or "calibrate" not in data:
        stages = read_stages(faults, data.get("stage", []), folder)
    survey = tables["survey"]
    if survey is not None:
        _check_survey(faults, survey)
    if tables["zones"] is not None:
        _check_zones(faults, tables)
    plan = RunFile(
        **tables, stages=stages, folder=folder, rules=rules, known_totals=known_totals, source=data
    )
    if faults and survey is not None:
        faults.found += faults_of_data(plan)
    faults.raise_if_any()
    return plan


def _rules(faults: Faults, rules: Any) -> tuple[str, ...]:
    """Return the edit rules, each a text that can be parsed."""
    if not isinstance(rules, list) or not all(isinstance(text, str) for text in rules):
        faults.add("rules", f"are {rules!r}", hint='Give a list of texts: rules = ["..."].')
        return ()
    try:
        parse_rules(rules)
    except InputError as problem:
        faults.found += in_words_of_rules(problem.faults)
    return tuple(rules)


def _check_survey(faults: Faults, survey: SurveyInput) -> None:
    sources = (survey.file is not None, survey.population is not None, survey.demo)
    if sum(sources) != 1:
        what = "needs file, population or demo = true"
        faults.add("[survey]", what, hint="Give exactly one of them.")
    if survey.file is not None and survey.weight is None and not survey.unweighted:
        hint = "Name the column of weights, or set unweighted = true: every row counts 1."
        faults.add("[survey] weight", "is not given", hint=hint)
    if survey.unweighted and (survey.weight is not None or survey.file is None):
        what = "is for a file without a column of weights"
        faults.add("[survey] unweighted", what, hint="Leave it out, or leave weight out.")
    if survey.population is not None and survey.given_roles():
        what = f"a population has its roles: {', '.join(survey.given_roles())} cannot be given"
        faults.add("[survey] population", what, hint="Leave them out.")


def _check_zones(faults: Faults, tables: Mapping[str, Any]) -> None:
    """Note tables and keys that have no meaning where the population is put into zones."""
    run, copied = tables["run"], tables["zones"].households == "survey"
    if run is not None and run.strata is not None:
        hint = "Leave strata out, and leave other zones out of the geography."
        faults.add("[run] strata", "cannot be chosen where [zones] says what is made", hint=hint)
    if copied and tables["risk"] is not None:
        what = "is of households that the recipe generates; these are copies of the survey"
        faults.add("[risk]", what, hint='Set households = "recipe" in [zones].')


def dump_runfile(runfile: RunFile, path: Path | str | None = None) -> str:
    """Return a run file as TOML text, and write it where a path is given.

    Reading it again gives an equal run file. Margins come with the file that they were read from,
    those made in Python with their cells.
    """
    import tomli_w

    tables: dict[str, Any] = {
        "survey": runfile.survey.model_dump(exclude_none=True, exclude_defaults=True),
        "run": runfile.run.model_dump(exclude_none=True),
        "report": runfile.report.model_dump(exclude_none=True),
    }
    if runfile.known_totals:
        tables["known_totals"] = [as_toml(margin_table(m)) for m in runfile.known_totals]
    if runfile.rules:
        tables["rules"] = list(runfile.rules)
    for name in ("calibrate", "zones", "risk"):
        table = getattr(runfile, name)
        if table is not None:
            tables[name] = table.model_dump(exclude_none=True)
    tables["stage"] = [as_toml(stage_table(stage)) for stage in runfile.stages]
    text = tomli_w.dumps(tables)
    if path is not None:
        write_text(path, text)
    return text


def run(
    runfile: RunFile | Path | str,
    *,
    key: Key | None = None,
    out: Place | str | None = None,
    workers: Workers = 1,
    on_event: Listener | None = None,
) -> Population:
    """Run a run file: read the survey, calibrate it, fit the stages, simulate the population.

    Parameters
    ----------
    runfile : RunFile or path
    key : bytes, hexadecimal text or path of a ``run.key``, optional
        See `FittedPipeline.simulate`.
    out : path, optional
        Folder for the population; default the one that the run file names, relative to it.
        Without either the population is held in memory. Where the run file has no seed and the
        folder holds a run, that one is resumed with its seed.
    workers : int or str
        See `FittedPipeline.simulate`.
    on_event : callable, optional
        Receives the events of fit and simulation.

    Raises
    ------
    RunFileError, InputError, OutputError
    """
    plan = runfile if isinstance(runfile, RunFile) else load_runfile(runfile)
    target = place(plan.run.out, plan.folder) if out is None and plan.run.out is not None else out
    with every_fault(plan):
        survey = plan.read_survey()
        calibration = plan.calibration(survey)
    if calibration is not None:
        survey = calibration.survey
    seed = run_seed(plan.run.seed, None if target is None else place(target))
    with every_fault(plan):
        fitted = plan.pipeline().fit(survey, seed=seed, on_event=on_event)
    with every_fault(plan):
        return plan.make(fitted, key=key, out=target, workers=workers, on_event=on_event)
