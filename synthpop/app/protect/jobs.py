"""What the child process computes for the journey "protect": calls of public functions."""

from __future__ import annotations

from typing import Any

from synthpop.app.jobs import BackgroundJob, Commands, JobRequest
from synthpop.app.protect import households, limits, recode, trial
from synthpop.app.protect.details import DETAILS
from synthpop.app.protect.exports import export, report, run_file, script
from synthpop.app.protect.first_numbers import first_numbers
from synthpop.app.protect.letter import letter
from synthpop.app.protect.session import (
    original,
    recorded_step,
    roles_stamp,
    session_of,
    steps_stamp,
)
from synthpop.app.reading import describe_columns, preview_source, suggest_roles_of
from synthpop.app.state import opened
from synthpop.microdata.messages.language import current_language
from synthpop.microdata.messages.text import BLANK

ROLE_NAMES = {"key": "keys", "identifier": "identifiers", "design": "", "none": ""}


def preview(request: JobRequest) -> Any:
    """Return the first rows, and how they were read."""
    source = opened(request.project.protect.source, "file")
    return preview_source(request.workspace.folder, source)


def columns(request: JobRequest) -> Any:
    """Return what each column of the file holds."""
    return describe_columns(original(request.workspace, request.project.protect))


def suggest(request: JobRequest) -> Any:
    """Return the roles that the data suggest, each with the reason."""
    return suggest_roles_of(original(request.workspace, request.project.protect), ROLE_NAMES)


def quick_risk(request: JobRequest) -> Any:
    """Return the first numbers of the risk, which take little time, and how they went by step."""
    state = request.project.protect
    session = session_of(request.workspace, state)
    limits = state.model_dump_json(include={"limits", "k"})
    risks: dict[str, dict[str, Any]] = request.workspace.once(
        f"risk {current_language()} {roles_stamp(state)}{limits}", dict
    )
    stamps = [steps_stamp(state.model_copy(update={"position": n})) for n in
              range(state.position + 1)]  # fmt: skip
    for stamp, frame in ((stamps[0], session.original), (stamps[-1], session.data)):
        if stamp not in risks:
            risks[stamp] = first_numbers(state, session, frame)
    original, current = risks[stamps[0]], risks[stamps[-1]]
    rows = []
    for key, measurement in current.items():
        trail = [risks[stamp][key]["value"] for stamp in stamps if key in risks.get(stamp, {})]
        before = original.get(key, {}).get("text", BLANK)
        rows.append({"key": key, **measurement, "original": before, "trail": trail})
    return {"rows": rows, "records": len(session.original)}


def measure(request: JobRequest) -> Any:
    """Return risk and utility, original beside current."""
    from riskeval.report.values import shown
    from synthpop.microdata.messages.text import number

    session = session_of(request.workspace, request.project.protect)
    risk, utility = session.risk(), session.utility()
    sides = risk.measurements
    titles = {**sides["original"], **sides["current"]}
    losses: list[list[str]] = []
    variables: list[list[str]] = []
    for names, values in utility.table.iterrows():
        column, what = names if isinstance(names, tuple) else (names, "")
        row = [str(column), str(what), number(values["original"], 4), number(values["current"], 4)]
        (losses if column == "numeric keys" else variables).append(row)
    original, current = session.original_of_current(), session.current_frame()
    missing = int(current.isna().sum().sum() - original.isna().sum().sum())
    cells = original.size
    return {
        "risk": [
            {
                "key": key,
                "title": measurement.title,
                "meaning": measurement.info.meaning,
                **{s: shown(sides[s][key]) if key in sides[s] else BLANK for s in sides},
            }
            for key, measurement in titles.items()
        ],
        "utility": variables,
        "losses": losses,
        "suppressed": missing,
        "suppressed_share": missing / cells if cells else 0.0,
        "changed": session.cells_changed,
        "risk_text": risk.summary(),
        "utility_text": utility.summary(),
    }


def verdict(request: JobRequest) -> Any:
    """Return what speaks against releasing the current file."""
    state = request.project.protect
    judged = session_of(request.workspace, state).verdict(state.limits)
    return {
        "fatal": judged.fatal, "sentence": judged.summary(),
        "not_tried": list(judged.not_tried),
    }  # fmt: skip


def apply(request: JobRequest) -> Any:
    """Run a method on the current file; returns the step as it is recorded."""
    session = session_of(request.workspace, request.project.protect)
    step = trial.prepared(request, session)
    result = session.apply(step.verb, **step.parameters)
    return recorded_step(session, result) | {"missed": bool(result.unmet)}


def _add_step(step: dict[str, Any]) -> Commands:
    recorded = {name: step[name] for name in ("verb", "parameters", "summaries")}
    return [("protect.add_step", recorded)]


JOBS: dict[str, BackgroundJob] = {
    "preview": BackgroundJob(preview, "Reading the first rows"),
    "columns": BackgroundJob(columns, "Reading the file"),
    "suggest": BackgroundJob(suggest, "Looking for roles"),
    "quick_risk": BackgroundJob(quick_risk, "Measuring the risk"),
    "measure": BackgroundJob(measure, "Measuring risk and utility"),
    "trial": BackgroundJob(trial.trial, "Trying it on some records"),
    "apply": BackgroundJob(apply, "Protecting the file", _add_step),
    "histogram": BackgroundJob(limits.histogram, "Reading the file"),
    "levels": BackgroundJob(recode.levels, "Reading the file"),
    "verdict": BackgroundJob(verdict, "Judging the file"),
    "script": BackgroundJob(script, "Writing the script"),
    "run_file": BackgroundJob(run_file, "Writing the run file"),
    "report": BackgroundJob(report, "Writing the report"),
    "letter": BackgroundJob(letter, "Writing the letter"),
    "export": BackgroundJob(export, "Writing the file"),
    **households.JOBS,
    **DETAILS,
}
