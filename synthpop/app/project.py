"""The state of a project, and the commands that lead from one state to the next.

A project is data: it can be saved, loaded and compared. It knows neither a browser nor a table of
data; what is computed from it lives elsewhere and can be computed again.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, validate_call

from synthpop.app.create.state import COMMANDS as CREATE
from synthpop.app.create.state import CreateState
from synthpop.app.judge.state import COMMANDS as JUDGE
from synthpop.app.judge.state import JudgeState
from synthpop.app.ledger.state import COMMANDS as LEDGER
from synthpop.app.ledger.state import LedgerState
from synthpop.app.protect.state import COMMANDS as PROTECT
from synthpop.app.protect.state import ProtectState
from synthpop.app.state import STORED, Command
from synthpop.app.texts import AppLanguage
from synthpop.microdata.formats.folder import Folder
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.version import __version__

FILE = "project.json"
LONGEST_RECORD = 10_000
JourneyName = Literal["", "protect", "judge", "create", "ledger"]


class Entry(Table):
    """A command that was carried out."""

    command: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Project(Table):
    """The state of all journeys, and every command that led to it."""

    format: Literal[1] = 1
    version: str = __version__
    journey: JourneyName = ""
    page: str = ""
    language: AppLanguage = "en"
    protect: ProtectState = ProtectState()
    judge: JudgeState = JudgeState()
    create: CreateState = CreateState()
    ledger: LedgerState = LedgerState()
    record: tuple[Entry, ...] = ()


def choose_journey(project: Project, journey: JourneyName, page: str = "") -> Project:
    """Go to a page of a journey, its first one by default, or to the start."""
    return project.model_copy(update={"journey": journey, "page": page})


def choose_page(project: Project, page: str) -> Project:
    """Go to a page of the journey."""
    return project.model_copy(update={"page": page})


def choose_language(project: Project, language: AppLanguage) -> Project:
    """Speak a language that the app has a catalogue for."""
    return project.model_copy(update={"language": language})


GENERAL: dict[str, Command] = {
    "choose_journey": choose_journey,
    "choose_page": choose_page,
    "choose_language": choose_language,
}
COMMANDS: dict[str, Command] = {
    **GENERAL,
    **{f"protect.{name}": command for name, command in PROTECT.items()},
    **{f"judge.{name}": command for name, command in JUDGE.items()},
    **{f"create.{name}": command for name, command in CREATE.items()},
    **{f"ledger.{name}": command for name, command in LEDGER.items()},
}


def perform(project: Project, command: str, arguments: Mapping[str, Any]) -> Project:
    """Carry out a command of `COMMANDS`, and record it.

    Raises InputError: unknown command, or arguments that it does not take.
    """
    faults = Faults("project")
    check_choice(faults, "command", command, COMMANDS)
    faults.raise_if_any()
    function, journey = COMMANDS[command], command.partition(".")[0]
    state = getattr(project, journey) if command not in GENERAL else project
    _check_arguments(function, command, arguments)
    try:
        new = validate_call(config={"arbitrary_types_allowed": True})(function)(state, **arguments)
    except ValidationError as problem:
        raise _input_error(command, problem) from None
    changed = new if command in GENERAL else project.model_copy(update={journey: new})
    entry = Entry(command=command, arguments=dict(arguments))
    return changed.model_copy(update={"record": (*project.record, entry)[-LONGEST_RECORD:]})


def _check_arguments(function: Command, command: str, arguments: Mapping[str, Any]) -> None:
    faults = Faults(command)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if not any(item.kind is item.VAR_KEYWORD for item in parameters):
        for name in arguments:
            check_choice(faults, "argument", name, [item.name for item in parameters])
    for item in parameters:
        needed = item.default is item.empty and item.kind is not item.VAR_KEYWORD
        if needed and item.name not in arguments:
            faults.add(item.name, "is not given")
    faults.raise_if_any()


def _input_error(subject: str, problem: ValidationError) -> InputError:
    """Turn faults of values into an `InputError`, without the values themselves."""
    faults = Faults(subject)
    for error in problem.errors(include_url=False, include_input=False, include_context=False):
        where = ".".join(str(part) for part in error["loc"]) or subject
        faults.add(where, error["msg"][:1].lower() + error["msg"][1:])
    return InputError(faults.subject, faults.found)


def data_files(project: Project) -> set[str]:
    """Return the names of the files in the folder of a project that it uses."""
    names = set[str]()
    waiting: list[Any] = [project.model_dump(exclude={"record"})]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if re.fullmatch(STORED, str(item.get("file"))):
                names.add(item["file"])
            waiting += item.values()
        elif isinstance(item, (list, tuple)):
            waiting += item
    return names


def folder_of(root: Path) -> Folder:
    """Return the folder of a project, which only the user may read."""
    return Folder(root, FILE, (STORED,), private=True)


def save(project: Project, folder: Path) -> None:
    """Write the project into its folder: from now on it is what the folder holds."""
    folder_of(folder).commit(project.model_dump_json(indent=1))


def load(folder: Path) -> Project:
    """Read the project of a folder, or raise InputError; nothing of it is evaluated."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        hint = "Choose a project that the app has saved."
        raise InputError.of("project", FILE, "cannot be read", hint) from None
    try:
        project = Project.model_validate_json(text)
    except ValidationError as problem:
        raise _input_error(FILE, problem) from None
    if project.protect.position > len(project.protect.steps):
        raise InputError.of("project", "position", "lies behind the last step")
    return project
