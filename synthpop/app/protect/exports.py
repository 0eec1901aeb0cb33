"""Files that leave the app: the protected file, reports, the script and the run file."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from synthpop.app.jobs import JobRequest, written_report
from synthpop.app.protect.session import decision_on, session_of
from synthpop.app.protect.state import AppliedStep, ProtectState
from synthpop.app.state import Source, opened
from synthpop.app.workspace import Workspace
from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.formats.delimited import CsvOptions
from synthpop.microdata.messages.errors import Faults, InputError

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
    source, target = opened(state.source, "file"), f"{stem(state)}-protected.parquet"
    text = session.to_script(source_path=source.name, target_path=target)
    lines = [_reading(source), *_typing(source)]
    for condition in state.subset:
        lines.append(f"column = data[{condition.column!r}]")
        if condition.values:
            tests = [f"column.astype(str).isin({list(condition.values)!r})"]
        else:
            limits = {">=": condition.low, "<=": condition.high}
            tests = [f"(column {sign} {v!r})" for sign, v in limits.items() if v is not None]
        lines.append(f"data = data[{' & '.join(tests)}].reset_index(drop=True)")
    if state.sample is not None:
        sample = f"data.sample(min(len(data), {state.sample}), random_state=1)"
        lines.append(f"data = {sample}.sort_index().reset_index(drop=True)")
    text = text.replace(f"data = pd.read_parquet({source.name!r})", "\n".join(lines))
    if "pd." not in text:
        text = text.replace("import pandas as pd\n\n", "")
    modules = {
        "CsvOptions": "formats.delimited",
        "Dictionary": "frame.dictionary",
        "read_table": "formats.files",
    }
    imports = [
        f"from synthpop.microdata.{module} import {name}\n"
        for name, module in modules.items()
        if re.search(rf"\b{name}\b", "\n".join(lines))
    ]
    line = "from riskeval import protect\n"
    return text.replace(line, line + "".join(imports))


def _typing(source: Source) -> list[str]:
    if source.is_text:
        return []
    texts = {"text": '{0}.astype("string")', "category": '{0}.astype("category")',
             "number": 'pd.to_numeric({0}.astype("string"))'}  # fmt: skip
    columns = {f"data[{name!r}]": kind for name, kind in source.types.items()}
    return [f"{column} = {texts[kind].format(column)}" for column, kind in columns.items()]


def _reading(source: Source) -> str:
    arguments = [repr(source.name)]
    options = ", ".join(f"{name}={value!r}" for name, value in source.text_options().items())
    if options:
        arguments.append(f"csv=CsvOptions({options})")
    if source.user_missing != "missing":
        arguments.append(f"user_missing={source.user_missing!r}")
    if source.labels:
        arguments.append(f"dictionary=Dictionary.from_dict({source.labels!r})")
    return f"data = read_table({', '.join(arguments)})"


def script(request: JobRequest) -> Any:
    """Write the script."""
    return _written(request, ".py", script_text(request.workspace, request.project.protect))


def _written(request: JobRequest, suffix: str, text: str) -> dict[str, Any]:
    name = f"{stem(request.project.protect)}-protect{suffix}"
    write_text(request.workspace.target(name), text, private=True)
    return {"file": name, "text": text}


def run_file_text(state: ProtectState) -> str:
    """Return the run file of ``riskeval protect`` that repeats the session.

    Raises InputError: a step has arguments that a run file cannot hold, or records were chosen or
        labels changed.
    """
    import tomli_w

    source, faults = opened(state.source, "file"), Faults("run file")
    if state.subset or state.sample is not None:
        faults.add("records", "were chosen", hint="Take the script, or open a file of them.")
    for name, changed in (("labels", source.labels), ("types", _typing(source))):
        if changed:
            faults.add(name, "were changed", hint="Take the script.")
    faults.raise_if_any()

    document = {
        "out": f"{stem(state)}-protected.parquet",
        "data": source.run_file_table(source.name),
        "roles": state.roles.arguments(),
        "release": {"drop": list(state.roles.identifiers)},
        "step": [_run_file_step(step) for step in state.active],
    }
    return tomli_w.dumps({key: value for key, value in document.items() if value})


def _run_file_step(step: AppliedStep) -> dict[str, Any]:
    from riskeval.session.steps import from_json

    values = {name: from_json(value) for name, value in step.parameters.items()}
    options = {k: _toml(step.verb, k, v) for k, v in values.items() if v is not None}
    return {"verb": step.verb, **options}


def _toml(verb: str, name: str, value: Any) -> Any:
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _toml(verb, name, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_toml(verb, name, item) for item in value]
    is_number = isinstance(value, (int, float)) and not math.isnan(value)
    if is_number or isinstance(value, str):
        return value
    what, hint = "cannot stand in a run file", "Take the script instead."
    raise InputError.of("run file", f"{verb}: {name}", what, hint)


def run_file(request: JobRequest) -> Any:
    """Write the run file."""
    return _written(request, ".toml", run_file_text(request.project.protect))


def report(request: JobRequest) -> Any:
    """Write the report of the session for one of two audiences."""
    state = request.project.protect
    session = session_of(request.workspace, state)
    return written_report(request, stem(state), session.report)


def export(request: JobRequest) -> Any:
    """Write the protected file: labels as in the original, records in random order."""
    from riskeval.protect import release_file
    from synthpop.microdata.formats.files import write_table

    state = request.project.protect
    suffix = request.arguments.get("format") or format_of(state)
    if suffix not in FORMATS:
        hint = f"There are: {', '.join(FORMATS)}."
        raise InputError.of("export", "format", f"{suffix!r} is not written", hint)
    session = session_of(request.workspace, state)
    judged = session.verdict(state.limits)
    if judged.fatal and decision_on(state) is None:
        hint = "Change the file, or write on the page who releases it all the same, and why."
        raise InputError.of("release", "file", judged.summary(), hint)
    name = f"{stem(state)}-protected{suffix}"
    released = release_file(
        session.data,
        household=state.roles.household,
        drop=list(state.roles.identifiers),
        order=request.arguments.get("order") or None,
    )
    csv = None
    if suffix == ".csv":
        csv = CsvOptions(request.arguments.get("separator"), request.arguments.get("decimal"))
    version = int(request.arguments.get("dta_version", 15)) if suffix == ".dta" else None
    write_table(
        released, request.workspace.target(name), private=True, csv=csv, dta_version=version
    )
    return {"file": name}
