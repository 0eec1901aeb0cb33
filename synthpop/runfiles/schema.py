"""The JSON schema of the run file of ``synthpop run``, and its page of reference."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from synthpop.microdata.frame.dictionary import toml_value
from synthpop.microdata.runs.schema import first_sentences, joined_schema, schema_of, table_page
from synthpop.runfiles.stage_tables import stage_model
from synthpop.runfiles.tables import SECTIONS, MarginInput
from synthpop.stages.registry import STAGES

HEAD = """# The run file of synthpop

Which tables and keys may stand in the run file of `synthpop run`, and what is the default of each?

A run file is TOML. `synthpop init survey.sav` writes one for your survey, `synthpop run` runs it.
Editors that know JSON schemas complete and check it: `synthpop schema --to runfile.schema.json`,
and `#:schema ./runfile.schema.json` in the first line of the run file. Relative paths start at the
folder of the run file. If a run file has faults, one message lists them all, each with its line.

This page is generated from the models that read the file. The app edits the same recipe:

![The app: a recipe as cards](../images/app-recipe.png)
"""
NEXT = """Read next: [a population from a survey](../tutorials/population.md),
[methods](../methods/index.md)."""


def runfile_schema() -> dict[str, Any]:
    """Return the JSON schema of a run file."""
    margins = schema_of(list[MarginInput])
    stages = {name: _stage(name) for name in STAGES}
    definitions: dict[str, Any] = {}
    for stage in stages.values():
        definitions |= stage.pop("$defs", {})
    properties = {
        **{name: schema_of(model) for name, model in SECTIONS.items()},
        "rules": {"type": "array", "items": {"type": "string"}},
        "known_totals": margins,
        "stage": {"type": "array", "items": {"oneOf": list(stages.values())}, "$defs": definitions},
    }
    return joined_schema("Run file of synthpop", properties, ["survey"])


def _stage(name: str) -> dict[str, Any]:
    """Return the schema of a stage, with its type."""
    cls = STAGES[name]
    schema = schema_of(stage_model(cls))
    schema["properties"] = {"type": {"const": name}, **schema.get("properties", {})}
    if "margins" in cls.__dataclass_fields__:
        items = schema_of(MarginInput)
        schema["properties"]["margins"] = {"type": "array", "items": items}
    schema["required"] = ["type", *schema.get("required", [])]
    schema["title"] = name
    schema["description"] = (cls.__doc__ or "").splitlines()[0]
    return schema


def runfile_page() -> str:
    """Return the page of reference of the run file, as Markdown."""
    lines = [*HEAD.splitlines(), ""]
    schema = runfile_schema()
    for name in SECTIONS:
        lines += table_page(f"`[{name}]`", schema["properties"][name])
    lines += table_page("`[[calibrate.margin]]`, `[[known_totals]]`", schema_of(MarginInput))
    lines += [
        "## `rules`",
        "",
        'A list of edit rules, as `rules = ["spouse: age >= 16", "exactly one head"]`.',
        "",
    ]
    for stage in schema["properties"]["stage"]["items"]["oneOf"]:
        kind = stage["title"]
        entry = STAGES[kind].entry
        text = first_sentences(STAGES[kind].__doc__ or "")
        text = f"{entry.question} {text} What it does not know: {entry.blind_spots}."
        lines += table_page(f'`[[stage]]` with `type = "{kind}"`', stage, text)
        lines += [*_example(kind), *_option_tables(kind)]
    csv = schema["$defs"]["CsvInput"]
    lines += table_page("`[survey.csv]`", csv)
    lines.append(NEXT)
    return "\n".join(lines).rstrip() + "\n"


def _example(kind: str) -> list[str]:
    """Return the example of a stage, known totals as the name of a file."""
    table = {"type": kind, **STAGES[kind].entry.example}
    texts = [
        f"{name} = {toml_value([{'file': 'totals.csv'}] if callable(value) else value)}"
        for name, value in table.items()
    ]
    return ["```toml", "[[stage]]", *texts, "```", ""]


def _option_tables(kind: str) -> list[str]:
    """Return the tables that are options of a stage: ``method = {type = "pmm", ...}``."""
    lines: list[str] = []
    for option, classes in getattr(STAGES[kind], "OPTION_TYPES", {}).items():
        by_type = classes if isinstance(classes, Mapping) else {"": classes}
        for name, cls in by_type.items():
            head = f'`{option} = {{type = "{name}"}}`' if name else f"`{option} = {{...}}`"
            text = getattr(cls, "func", cls).__doc__ or ""  # of a partial function
            title, *rows = table_page(f"{head} of {kind}", _option_schema(cls), text)
            lines += [f"#{title}", *rows]
    return lines


def _option_schema(kind: Any) -> dict[str, Any]:
    """Return the schema of an option that is a table: of a class, or of what makes one."""
    if is_dataclass(kind):
        return schema_of(kind)
    parameters = inspect.signature(kind).parameters.values()
    needed = [item.name for item in parameters if item.default is item.empty]
    properties = {
        item.name: {} if item.name in needed else {"default": item.default} for item in parameters
    }
    return {"properties": properties, "required": needed}
