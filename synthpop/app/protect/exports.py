"""Files that leave the app: the protected file, reports, the script and the run file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.app.protect.session import session_of
from synthpop.app.protect.state import AppliedStep, ProtectState
from synthpop.app.workspace import Workspace
from synthpop.microdata.atomic import write_text
from synthpop.microdata.delimited import CsvOptions
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Listener

if TYPE_CHECKING:
    from synthpop.app.project import Project

FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".sav", ".zsav", ".dta", ".xpt", ".rds", ".xlsx")
NOT_WRITTEN = {".txt": ".csv", ".feather": ".arrow", ".sas7bdat": ".xpt", ".rdata": ".rds",
               ".rda": ".rds", ".por": ".sav", ".asc": ".csv"}  # fmt: skip


def format_of(state: ProtectState) -> str:
    """Return the format that the file came in, or the nearest that can be written."""
    suffix = "" if state.source is None else state.source.suffix
    return NOT_WRITTEN.get(suffix, suffix)


def stem(state: ProtectState) -> str:
    """Return the name of the file without its ending, of harmless signs."""
    name = "file" if state.source is None else Path(state.source.name).stem
    return "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name)[:60] or "file"


def script_text(workspace: Workspace, state: ProtectState) -> str:
    """Return Python that repeats the session."""
    session = session_of(workspace, state)
    source = "original.parquet" if state.source is None else state.source.name
    text = session.to_script(source_path=source, target_path=f"{stem(state)}-protected.parquet")
    lines = [_reading(state), *_typing(state)]
    for one in state.subset:
        lines.append(f"column = data[{one.column!r}]")
        if one.values:
            tests = [f"column.astype(str).isin({list(one.values)!r})"]
        else:
            limits = {">=": one.low, "<=": one.high}
            tests = [f"(column {sign} {v!r})" for sign, v in limits.items() if v is not None]
        lines.append(f"data = data[{' & '.join(tests)}].reset_index(drop=True)")
    if state.sample is not None:
        drawn = f"data.sample(min(len(data), {state.sample}), random_state=1)"
        lines.append(f"data = {drawn}.sort_index().reset_index(drop=True)")
    text = text.replace(f"data = pd.read_parquet({source!r})", "\n".join(lines))
    text = text.replace(
        "import pandas as pd\n\n", "" if "pd." not in text else "import pandas as pd\n\n"
    )
    names = "read_table, CsvOptions" if "CsvOptions" in text else "read_table"
    imports = [
        "from synthpop.microdata.delimited import CsvOptions" if "CsvOptions" in names else "",
        "from synthpop.microdata.dictionary import Dictionary" if "Dictionary." in text else "",
        "from synthpop.microdata.files import read_table",
    ]
    added = "\n".join(line for line in imports if line)
    return text.replace(
        "from riskeval import protect\n", f"from riskeval import protect\n{added}\n"
    )


def _typing(state: ProtectState) -> list[str]:
    assert state.source is not None
    if state.source.is_text:
        return []
    texts = {"text": '{0}.astype("string")', "category": '{0}.astype("category")',
             "number": 'pd.to_numeric({0}.astype("string"))'}  # fmt: skip
    columns = {f"data[{name!r}]": kind for name, kind in state.source.types.items()}
    return [f"{column} = {texts[kind].format(column)}" for column, kind in columns.items()]


def _reading(state: ProtectState) -> str:
    assert state.source is not None
    source, arguments = state.source, [repr(state.source.name)]
    if source.is_text:
        fields = ("separator", "decimal", "thousands", "encoding", "missing", "types")
        options = {name: getattr(source, name) for name in fields if getattr(source, name)}
        shown = ", ".join(f"{name}={value!r}" for name, value in options.items())
        if shown:
            arguments.append(f"csv=CsvOptions({shown})")
    if source.user_missing != "missing":
        arguments.append(f"user_missing={source.user_missing!r}")
    if source.labels:
        arguments.append(f"dictionary=Dictionary.from_dict({source.labels!r})")
    return f"data = read_table({', '.join(arguments)})"


def script(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the script."""
    text = script_text(workspace, project.protect)
    name = f"{stem(project.protect)}-protect.py"
    write_text(workspace.target(name), text, private=True)
    return {"file": name, "text": text}


def run_file_text(state: ProtectState) -> str:
    """Return the run file of ``riskeval protect`` that repeats the session.

    Raises InputError: a step has arguments that a run file cannot hold, or records were chosen or
        labels changed.
    """
    import tomli_w

    assert state.source is not None
    faults = Faults("run file")
    if state.subset or state.sample is not None:
        faults.add("records", "were chosen", remedy="Take the script, or open a file of them.")
    if state.source.labels:
        faults.add("labels", "were changed", remedy="Take the script.")
    if _typing(state):
        faults.add("types", "were changed", remedy="Take the script.")
    faults.raise_if_any()
    source: dict[str, Any] = {"file": state.source.name}
    options = {
        name: value
        for name, value in state.source.model_dump(
            include={"separator", "decimal", "thousands", "encoding", "missing", "types"}
        ).items()
        if value
    }
    if options and state.source.is_text:
        source["csv"] = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
    if state.source.user_missing != "missing":
        source["user_missing"] = state.source.user_missing
    document = {
        "out": f"{stem(state)}-protected.parquet",
        "data": source,
        "roles": state.roles.arguments(),
        "release": {"drop": list(state.roles.identifiers)},
        "step": [_run_file_step(step) for step in state.active],
    }
    return tomli_w.dumps({key: value for key, value in document.items() if value})


def _run_file_step(step: AppliedStep) -> dict[str, Any]:
    from riskeval.session.steps import from_json

    values = {name: from_json(value) for name, value in step.parameters.items()}
    return {
        "verb": step.verb,
        **{k: _toml(step.verb, k, v) for k, v in values.items() if v is not None},
    }


def _toml(verb: str, name: str, value: Any) -> Any:
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _toml(verb, name, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_toml(verb, name, item) for item in value]
    if isinstance(value, (bool, str)) or (
        isinstance(value, (int, float)) and not math.isnan(value)
    ):
        return value
    faults = Faults("run file")
    faults.add(f"{verb}: {name}", "cannot stand in a run file", remedy="Take the script instead.")
    raise faults.error(faults.subject, faults.found)


def run_file(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the run file."""
    text = run_file_text(project.protect)
    name = f"{stem(project.protect)}-protect.toml"
    write_text(workspace.target(name), text, private=True)
    return {"file": name, "text": text}


def report(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the report of the session for one of two audiences."""
    audience = arguments.get("audience", "internal")
    name = f"{stem(project.protect)}-{'external' if audience == 'external' else 'internal'}.html"
    session_of(workspace, project.protect).report(workspace.target(name), audience=audience)
    return {"file": name}


def export(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the protected file: labels as in the original, records in random order."""
    from riskeval.protect import release_file
    from synthpop.microdata.files import write_table

    state = project.protect
    suffix = arguments.get("format") or format_of(state)
    faults = Faults("export")
    if suffix not in FORMATS:
        faults.add(
            "format", f"{suffix!r} is not written", remedy=f"There are: {', '.join(FORMATS)}."
        )
    faults.raise_if_any()
    session = session_of(workspace, state)
    name = f"{stem(state)}-protected{suffix}"
    released = release_file(
        session.data,
        household=state.roles.household,
        drop=list(state.roles.identifiers),
        order=arguments.get("order") or None,
    )
    csv = None
    if suffix == ".csv":
        csv = CsvOptions(arguments.get("separator"), arguments.get("decimal"))
    version = int(arguments.get("dta_version", 15)) if suffix == ".dta" else None
    write_table(released, workspace.target(name), private=True, csv=csv, dta_version=version)
    return {"file": name}
