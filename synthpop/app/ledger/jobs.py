"""What the child process computes for the journey "ledger": calls of public functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.app.jobs import BackgroundJob, Commands, JobRequest
from synthpop.app.ledger.state import LedgerState
from synthpop.app.reading import describe_columns, suggest_roles_of
from synthpop.app.state import opened
from synthpop.app.tables import plain_table, shown_result
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message

if TYPE_CHECKING:
    import pandas as pd

    from riskeval.ledger.judgement import LedgerCheck
    from riskeval.ledger.ledger import Ledger

ROLE_NAMES = {
    "key": "keys", "identifier": "", "design": "", "none": "", "numeric": "", "weights": "",
}  # fmt: skip
SHOWN = ["number", "date", "name", "recipients", "wave", "records", "verdict", "despite"]


def stamp_of(state: LedgerState) -> str:
    """Return what the verdict depends on."""
    return state.model_dump_json()


def _frame(request: JobRequest) -> pd.DataFrame:
    return request.workspace.frame(opened(request.project.ledger.release, "release"))


def _ledger(state: LedgerState) -> Ledger:
    from riskeval.ledger.ledger import Ledger

    if not state.folder:
        hint = "Choose its folder on the page Files."
        raise InputError.of("ledger", "folder", "is not chosen", hint)
    return Ledger(Path(state.folder))


def _roles(state: LedgerState) -> dict[str, Any]:
    return {
        "keys": list(state.roles.keys), "sensitive": list(state.roles.sensitive),
        "household": state.roles.household,
    }  # fmt: skip


def columns(request: JobRequest) -> Any:
    """Return the columns of the file."""
    frame = _frame(request)
    return {**describe_columns(frame), "records": len(frame)}


def suggest(request: JobRequest) -> Any:
    """Return the roles that the file suggests, each with the reason."""
    return suggest_roles_of(_frame(request), ROLE_NAMES)


def releases(request: JobRequest) -> Any:
    """Return what went out so far."""
    ledger = _ledger(request.project.ledger)
    table = ledger.releases[SHOWN]
    return shown_result(ledger, plain_table(table, 400))


def _checked(request: JobRequest) -> LedgerCheck:
    state = request.project.ledger
    return _ledger(state).check(
        _frame(request), **_roles(state), k=state.k, wave=state.wave,
        synthetic=state.kind == "synthetic",
    )  # fmt: skip


def check(request: JobRequest) -> Any:
    """Return what the file tells together with all earlier releases."""
    result = _checked(request)
    verdict = result.verdict
    return {
        "text": result.summary(), "fatal": verdict.fatal,
        "found": [one.text for one in verdict.evidence], "met": list(verdict.met),
        "not_tried": list(verdict.not_tried), "links": plain_table(result.links, 400),
    }  # fmt: skip


def record(request: JobRequest) -> Any:
    """Record the file as one that goes out, with who gets it and the verdict."""
    from riskeval.ledger.ledger import ReleaseFacts

    state, told = request.project.ledger, request.arguments
    verdict = _checked(request).verdict  # anew: another release may have gone out since
    facts = ReleaseFacts(
        recipients=str(told.get("recipients", "")), despite=str(told.get("despite", "")),
        wave=state.wave,
        recodings=[one.strip() for one in str(told.get("recodings", "")).split(";") if one.strip()],
    )  # fmt: skip
    if verdict.fatal and not facts.despite.strip():
        hint = "Make it agree with the earlier ones, or write why it goes out all the same."
        raise InputError.of("ledger", "file", verdict.summary(), hint)
    source = opened(state.release, "release")
    number = _ledger(state).add(
        _frame(request), str(told.get("name") or Path(source.name).stem), **_roles(state),
        synthetic=state.kind == "synthetic", facts=facts, verdict=verdict.level,
    )  # fmt: skip
    return {"summary": message("Recorded as release {n}.", n=number)}


def _recorded(result: Any) -> Commands:
    return [("ledger.count_recorded", {})]


def consistent(request: JobRequest) -> Any:
    """Write a file that tells nothing more than the earlier ones, and say what was changed."""
    from synthpop.microdata.formats.files import write_table
    from synthpop.microdata.messages.message import sentences
    from synthpop.microdata.messages.text import plural

    state = request.project.ledger
    roles = _roles(state)
    keys, household = roles["keys"], roles["household"]
    ledger = _ledger(state)
    released, plan = ledger.consistent(
        _frame(request), keys=keys, household=household, k=state.k, wave=state.wave
    )
    name = f"{Path(opened(state.release, 'release').name).stem}-consistent.parquet"
    write_table(released, request.workspace.target(name), private=True)
    after = ledger.check(released, **roles, k=state.k, wave=state.wave)
    cells = message("{n} changed.", n=plural(int(plan["n"].sum()), "value"))
    return {"file": name, "summary": sentences(cells, after.summary())}


JOBS: dict[str, BackgroundJob] = {
    "columns": BackgroundJob(columns, "Reading the file"),
    "suggest": BackgroundJob(suggest, "Looking for roles"),
    "releases": BackgroundJob(releases, "Reading the ledger"),
    "check": BackgroundJob(check, "Laying the file beside all earlier ones"),
    "record": BackgroundJob(record, "Recording the release", _recorded),
    "consistent": BackgroundJob(consistent, "Making a consistent file"),
}
