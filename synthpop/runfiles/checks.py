"""What a run file asks for against the survey and the folders it writes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synthpop.calibration.controls import resolve_margins
from synthpop.conditional.rules.parse import parse_rule
from synthpop.conditional.rules.syntax import Rule
from synthpop.microdata.formats.places import Place, lies_below
from synthpop.microdata.formats.tomlfile import faults_of
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import (
    Fault,
    Faults,
    InputError,
    MicrodataError,
    did_you_mean,
)
from synthpop.microdata.roles.survey import Survey, free_name
from synthpop.pipeline.known_totals import with_annealing
from synthpop.runfiles.stage_tables import stage_table
from synthpop.runfiles.tables import CalibrateOptions
from synthpop.stages.annealing import Anneal
from synthpop.stages.derive import Derive
from synthpop.stages.id_columns import SIZE_NAME
from synthpop.stages.recipe import check_recipe, expanded
from synthpop.stages.structure import Structure

if TYPE_CHECKING:
    from synthpop.runfiles.plan import RunFile


@contextmanager
def every_fault(plan: RunFile) -> Iterator[None]:
    """Raise a fault that comes up inside with all others of the file, in its words and lines."""
    try:
        yield
    except InputError as problem:
        faults = faults_of("run file", plan.source)
        faults.found = in_words_of_file(plan, problem)
        faults.found += [item for item in faults_of_data(plan) if item not in faults.found]
        if tuple(faults.found) == problem.faults:
            raise
    else:
        return
    faults.raise_if_any()


def in_words_of_file(plan: RunFile, problem: InputError) -> list[Fault]:
    """Return faults of the survey, the recipe or the totals under the tables and keys of a file."""
    line_of = getattr(plan.source, "line_of", lambda _: 0)
    roles = {name: role for role, name in plan.survey.given_roles().items()}
    places = _places(plan, problem.subject)
    faults = []
    for fault in in_words_of_rules(problem.faults):
        where, what = fault.where, fault.what
        plain = where.strip("'")
        if problem.subject == "survey" and plain in {*roles, *roles.values()}:
            what = f"{plain!r}: {what}" if plain in roles else what
            where = f"[survey] {roles.get(plain, plain)}"
        else:
            label = next((place for place in places if _begins(where, place)), None)
            if label is not None:
                key = where[len(label) :].lstrip(":, ")
                where = f"{places[label]} {key}".strip()
        faults.append(replace(fault, where=where, what=what, line=fault.line or line_of(where)))
    return faults


def in_words_of_rules(faults: Iterable[Fault]) -> list[Fault]:
    """Return faults with those of a rule under the key ``rules`` of a run file."""
    return [
        replace(fault, where=f"rules {fault.where[5:]}") if _begins(fault.where, "rule") else fault
        for fault in faults
    ]


def _begins(where: str, label: str) -> bool:
    return where == label or where.startswith((f"{label}:", f"{label},", f"{label} "))


def _places(plan: RunFile, subject: str) -> dict[str, str]:
    """Return label of a fault -> where the file has what it speaks of, longer labels first."""
    places: dict[str, str] = {}
    if subject == "calibrate":
        for number, item in enumerate(plan.calibration_margins(), 1):
            places.setdefault(item.label, f"[[calibrate.margin]] {number}")
        places |= {name: f"[calibrate] {name}" for name in CalibrateOptions.model_fields}
    elif subject in ("recipe", "survey"):
        for number, stage in enumerate(plan.stages, 1):
            for step in () if stage is None else expanded(stage):
                kind = stage_table(stage)["type"]
                places.setdefault(step.label, f"[[stage]] {number} ({kind})")
        for number, margin in enumerate(plan.known_totals, 1):
            where = f"[[known_totals]] {number}"
            places.setdefault(f"{Anneal.label}, margin {margin.label}", where)
            places.setdefault(Anneal.label, "[[known_totals]]")
        places |= {"recipe": "[[stage]]", "known_totals": "[[known_totals]]"}
    return dict(sorted(places.items(), key=lambda item: -len(item[0])))


def faults_of_data(plan: RunFile) -> list[Fault]:
    """Return all faults of survey, totals, stages, rules and ``[risk]``, in the words of the file.

    Without good weights every row counts 1, without good households everybody stands alone, and a
    stage that cannot be read (None) is left out, so that the rest can be checked all the same.
    Faults that name a column or level of what is left out may follow from that, and are not
    returned.
    """
    faults: list[Fault] = []
    try:
        survey, doubtful = _readable_survey(plan, faults)
    except InputError as problem:
        return in_words_of_file(plan, problem)
    except MicrodataError:
        return []
    if survey is None:
        return faults
    doubtful |= _names_of_unreadable(plan)
    columns = [survey.frame[name] for name in survey.frame.columns if name in doubtful]
    texts = [column for column in columns if not is_number(column)]
    doubtful |= {str(level) for column in texts for level in column.dropna().unique()}
    for check in (_check_calibration, _check_stages, check_risk):
        try:
            check(plan, survey)
        except InputError as problem:
            faults += [
                item
                for item in in_words_of_file(plan, problem)
                if not any(repr(name) in f"{item.where} {item.what}" for name in doubtful)
            ]
    return faults


def _readable_survey(plan: RunFile, faults: list[Fault]) -> tuple[Survey | None, set[str]]:
    """Return the survey without faulty roles, and the columns that may be in doubt without them.

    The faults of the roles are added to `faults`.
    """
    source = plan.survey
    if source.file is None or source.population is not None or source.demo:
        one = source.file is None and (source.population is not None) != source.demo
        return (plan.read_survey() if one else None), set()
    frame = source.read(plan.folder)
    roles, doubtful = {"weight": None, **source.roles()}, set[str]()
    for trial in range(len(roles) + 1):
        try:
            return Survey(frame, **roles), doubtful
        except InputError as problem:
            faults += [] if trial else in_words_of_file(plan, problem)
            names = {fault.where.strip("'") for fault in problem.faults}
            unknown = {role for role, name in roles.items() if role in names or name in names}
        if not unknown:
            break
        doubtful |= {str(roles[role]) for role in unknown - {"weight"}}
        if unknown & {"household", "household_size", "strata"}:  # the right column may be any other
            simulated = {name for stage in plan.stages if stage for name in stage.provides}
            doubtful |= {str(name) for name in frame.columns} - simulated
        if "household" in unknown:
            alone = free_name(frame.columns, "household")
            frame = frame.assign(**{alone: np.arange(len(frame))})
            unknown |= {"household_size", "person"}
            doubtful.add(SIZE_NAME)
        roles = {role: name for role, name in roles.items() if role not in unknown}
        roles.setdefault("weight", None)
        if "household" in unknown:
            roles["household"] = alone
    return None, doubtful


def _names_of_unreadable(plan: RunFile) -> set[str]:
    """Return the names of columns that stages which cannot be read may make."""
    tables = zip(plan.source.get("stage", []), plan.stages, strict=False)
    values = [
        value
        for table, stage in tables
        if stage is None and isinstance(table, Mapping)
        for key, value in table.items()
        if key != "predictors"
    ]
    return {str(one) for value in values for one in (value if isinstance(value, list) else [value])}


def _check_calibration(plan: RunFile, survey: Survey) -> None:
    faults = Faults("calibrate")
    index = None if survey.roles.household is None else survey.household_index
    margins = plan.calibration_margins()
    if margins:
        resolve_margins(survey.frame, margins, faults, household_index=index)
    faults.raise_if_any()


def _check_stages(plan: RunFile, survey: Survey) -> None:
    """Check the stages that can be read, with the rules and known totals."""
    recipe: tuple[Any, ...] = tuple(stage for stage in plan.stages if stage is not None)
    unreadable = len(recipe) < len(plan.stages)
    if not recipe:
        return
    faults = Faults("recipe")
    try:
        if plan.known_totals:
            recipe = with_annealing(recipe, plan.known_totals, survey.roles.strata)
        check_recipe(recipe, survey, _readable_rules(plan.rules))
    except InputError as problem:
        structure = any(isinstance(stage, Structure) for stage in recipe)
        faults.found += [
            item
            for item in problem.faults
            if structure or not unreadable or "Structure" not in item.what
        ]
    faults.raise_if_any()


def _readable_rules(texts: Iterable[str]) -> list[Rule]:
    rules: list[Rule] = []
    for text in texts:
        with Faults("rules").gathering():
            rules.append(parse_rule(text))
    return rules


def check_risk(plan: RunFile, survey: Survey) -> None:
    """Check the variables of ``[risk]`` before anything is simulated; raises all faults."""
    if plan.risk is None:
        return
    faults = faults_of("run file", plan.source)
    roles = survey.roles
    columns = [name for stage in plan.stages if stage for name in stage.provides]
    derived = [stage.name for stage in plan.stages if isinstance(stage, Derive)]
    population = [*(name for name in (roles.strata, roles.household_size) if name), *columns]
    variables = [name for name in population if name in survey.frame.columns or name in derived]
    for key, names in (("keys", plan.risk.keys), ("target", [plan.risk.target])):
        for name in names:
            if name not in variables:
                what = f"{name!r} is not in survey and population alike"
                faults.add(f"[risk] {key}", what, hint=did_you_mean(name, variables))
    intervals = plan.risk.intervals or []
    if plan.risk.intervals is not None and len(intervals) != 2:
        what, hint = f"are {intervals!r}", "Name two columns: lower and upper bound of the target."
        faults.add("[risk] intervals", what, hint=hint)
    for name in intervals:
        if name not in population:
            what = f"{name!r} is not in the population"
            faults.add("[risk] intervals", what, hint=did_you_mean(name, population))
    faults.raise_if_any()


def check_targets(plan: RunFile, out: Place, *, out_is_given: bool, anywhere: bool) -> None:
    """Refuse a run file that writes outside of its own folder, or over a page that is not ours.

    out_is_given, anywhere: the user named the folder; allows the run file to write anywhere
    """
    faults = faults_of("run file", plan.source)
    report = out / plan.report.file
    hint = "Give --anywhere if you trust the run file."
    if not anywhere:
        if not out_is_given and not lies_below(out, plan.folder):
            faults.add("[run] out", f"{out} is outside of the folder of the run file", hint=hint)
        if not lies_below(report, out):
            what = f"{report} is outside of the folder of the population"
            faults.add("[report] file", what, hint=hint)
        elif report.exists() and not _is_our_page(report):
            what = f"{report} is there already and no report of synthpop"
            faults.add("[report] file", what, hint="Choose another name.")
    faults.raise_if_any()


def _is_our_page(path: Place) -> bool:
    """Return whether a page names synthpop as what made it."""
    try:
        return 'name="generator" content="synthpop' in path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
