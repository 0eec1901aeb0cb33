"""The run file of a recipe: the state of the journey as ``synthpop run`` reads it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from synthpop.app.create.state import CreateState
from synthpop.app.state import opened

if TYPE_CHECKING:
    from synthpop.app.workspace import Workspace
    from synthpop.runfiles.plan import RunFile


def document(state: CreateState, *, stored: bool) -> dict[str, Any]:
    """Return the run file; `stored`: files are named as in the folder of the project."""
    source = opened(state.survey, "survey")
    reading = source.run_file_table(source.file if stored else source.name)
    survey = {"file": reading.pop("file"), **state.roles}
    if "weight" not in state.roles:
        survey["unweighted"] = True
    tables: dict[str, Any] = {
        "rules": list(state.rules),
        "survey": survey | reading,
        "run": {"seed": state.seed, "scale": state.scale},
        "known_totals": [
            {
                "file": table.source.file if stored else table.source.name,
                "level": table.level,
                "total": table.total,
            }
            for table in state.totals
        ],
        "stage": [dict(stage) for stage in state.stages],
    }
    if state.keys and state.target:
        tables["risk"] = {"keys": list(state.keys), "target": state.target}
    return {key: value for key, value in tables.items() if value}


def read_plan(workspace: Workspace, state: CreateState) -> RunFile:
    """Return the run file, checked: a RunFileError lists every fault of the recipe."""
    from synthpop.runfiles.runfile import parse_runfile

    return parse_runfile(document(state, stored=True), folder=workspace.folder, subject="recipe")


def recipe_stamp(state: CreateState) -> str:
    """Return what a population depends on."""
    return state.model_dump_json(exclude={"keys", "target"})


def folder_name(state: CreateState) -> str:
    """Return the name of the folder of a population: the same recipe has the same folder."""
    text = json.dumps(document(state, stored=True), sort_keys=True)
    return "population-" + hashlib.sha256(text.encode()).hexdigest()[:16]
