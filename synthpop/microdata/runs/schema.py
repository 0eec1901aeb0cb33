"""JSON schemas of run files for editors, and their pages of reference, from the same models."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from synthpop.microdata.frame.dictionary import toml_value

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Schema(GenerateJsonSchema):
    """Schemas in which what JSON has no type for, such as an estimator, may be anything."""

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Leave defaults that JSON cannot hold out without a word."""


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a table: a pydantic model or a dataclass."""
    return TypeAdapter(kind).json_schema(schema_generator=_Schema, ref_template="#/$defs/{model}")


def joined_schema(
    title: str, properties: Mapping[str, dict[str, Any]], required: Iterable[str] = ()
) -> dict[str, Any]:
    """Return one schema of a file from those of its tables; their definitions come together."""
    definitions: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for name, table in properties.items():
        table = dict(table)
        definitions |= table.pop("$defs", {})
        tables[name] = table
    schema: dict[str, Any] = {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "additionalProperties": False,
        "properties": tables,
    }
    if required:
        schema["required"] = list(required)
    if definitions:
        schema["$defs"] = dict(sorted(definitions.items()))
    return schema


def table_page(head: str, schema: Mapping[str, Any], text: str = "") -> list[str]:
    """Return the Markdown lines of a table: each key with its values and default."""
    lines = [f"## {head}", ""]
    description = text or str(schema.get("description", ""))
    if description:
        lines += [first_sentences(description), ""]
    properties = schema.get("properties", {})
    if not properties:
        return lines
    required = set(schema.get("required", ()))
    lines += ["| key | values | default |", "|---|---|---|"]
    for name, item in properties.items():
        if "role" in item:
            default = f"the role `{item['role']}`"
        elif name in required:
            default = "needed"
        elif item.get("default") is None:
            default = ""
        else:
            default = f"`{toml_value(item['default'])}`"
        lines.append(f"| `{name}` | {values_text(item)} | {default} |")
    return [*lines, ""]


def first_sentences(text: str) -> str:
    """Return the part of a docstring before its sections, in one line, for Markdown."""
    sentences = inspect.cleandoc(text).split("\n\nParameters")[0].split("\n\nAttributes")[0]
    sentences = re.split(r"\n\n(?:Notes|Examples|Raises)\n-", sentences)[0]
    return " ".join(sentences.replace("``", "`").split())


def values_text(item: Mapping[str, Any]) -> str:
    """Return what a key may be, in words."""
    if "anyOf" in item:
        texts = [values_text(kind) for kind in item["anyOf"] if kind.get("type") != "null"]
        return " or ".join(dict.fromkeys(texts))
    if "const" in item:
        return toml_value(item["const"])
    if "enum" in item:
        return ", ".join(toml_value(value) for value in item["enum"])
    if "$ref" in item:
        return f"a table `{item['$ref'].rpartition('/')[2]}`"
    kind = item.get("type")
    if kind == "array":
        inner = item.get("items") or {}
        return f"a list: {values_text(inner)}" if inner else "a list"
    words = {
        "string": "text", "integer": "a whole number", "number": "a number",
        "boolean": "true or false", "object": "a table",
    }  # fmt: skip
    text = words.get(str(kind), "anything")
    for key, limit in (
        ("minimum", "at least"), ("exclusiveMinimum", "more than"),
        ("maximum", "at most"), ("exclusiveMaximum", "less than"),
    ):  # fmt: skip
        if key in item:
            text += f", {limit} {item[key]}"
    return text
