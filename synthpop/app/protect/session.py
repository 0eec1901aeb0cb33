"""The session of a child process, brought to the state of the project."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from synthpop.app.protect.state import Override, ProtectState
from synthpop.app.state import opened
from synthpop.app.texts import APP_LANGUAGES, translate
from synthpop.app.workspace import Workspace
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.runs.identity import digest

if TYPE_CHECKING:
    import pandas as pd

    from riskeval.session.session import ProtectionSession


def file_stamp(state: ProtectState) -> str:
    """Return what the data depend on."""
    return state.model_dump_json(include={"source", "subset", "sample"})


def roles_stamp(state: ProtectState) -> str:
    """Return what a session depends on."""
    return state.model_dump_json(include={"source", "subset", "sample", "roles"})


def steps_stamp(state: ProtectState) -> str:
    """Return what risk and utility depend on."""
    steps = [[step.verb, step.parameters] for step in state.active]
    return roles_stamp(state) + json.dumps(steps, sort_keys=True)


def release_stamp(state: ProtectState) -> str:
    """Return what the verdict on a file depends on, in short."""
    return digest(steps_stamp(state), dict(state.limits))


def decision_on(state: ProtectState) -> Override | None:
    """Return who releases the file as it is against its verdict; None where nobody does."""
    made = state.override
    return made if made is not None and made.stamp == release_stamp(state) else None


def original(workspace: Workspace, state: ProtectState) -> pd.DataFrame:
    """Return the file as it was read, or the chosen records of it."""
    frame = workspace.frame(opened(state.source, "file"))
    for condition in state.subset:
        column = frame[condition.column]
        rows = column.astype(str).isin(condition.values) if condition.values else column.notna()
        rows &= True if condition.low is None else column >= condition.low
        rows &= True if condition.high is None else column <= condition.high
        frame = frame[rows.to_numpy()].reset_index(drop=True)
    if state.sample is not None and state.sample < len(frame):
        frame = frame.sample(state.sample, random_state=1).sort_index().reset_index(drop=True)
    return frame


def session_of(workspace: Workspace, state: ProtectState) -> ProtectionSession:
    """Return the session after the steps of the project; only new steps are run."""
    from riskeval.session.session import ProtectionSession
    from riskeval.session.steps import from_json, to_json

    def new() -> ProtectionSession:
        drop = list(state.roles.identifiers)
        return ProtectionSession(original(workspace, state), **state.roles.arguments(), drop=drop)

    session: ProtectionSession = workspace.once(f"session {roles_stamp(state)}", new)
    steps = (*session.steps, *session.undone)
    texts = [_text(step.verb, to_json(dict(step.parameters))) for step in steps]
    n_same = 0
    while n_same < min(len(steps), len(state.active)):
        if texts[n_same] != _text(state.active[n_same].verb, state.active[n_same].parameters):
            break
        n_same += 1
    session.go_to(n_same)
    for step in state.active[n_same:]:
        arguments = {name: from_json(value) for name, value in step.parameters.items()}
        session.apply(step.verb, **arguments)
    return session


def recorded_step(session: ProtectionSession, result: Any) -> dict[str, Any]:
    """Return the last step of a session as a project records it."""
    from riskeval.protection.registry import VERBS
    from riskeval.session.steps import to_json

    step = session.steps[-1]
    parameters = {name: to_json(value) for name, value in step.parameters.items()}
    summaries = {}
    for language in APP_LANGUAGES:
        with use_language(language):
            title = translate(language, VERBS[step.verb].title)
            summaries[language] = str(result.summary()).replace(f"{step.verb}:", f"{title}:")
    return {"verb": step.verb, "parameters": parameters, "summaries": summaries}


def _text(verb: str, parameters: Any) -> str:
    if isinstance(parameters, dict) and parameters.get("type") == "mapping":
        parameters = dict(parameters["items"])
    return json.dumps([verb, parameters], sort_keys=True)
