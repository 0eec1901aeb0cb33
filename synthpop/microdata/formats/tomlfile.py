"""Reading TOML files that people write: every fault at once, with place and hint."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from synthpop.microdata.formats.toml_lines import locator
from synthpop.microdata.messages.budget import check_budget
from synthpop.microdata.messages.errors import Faults, InputError, RunFileError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count


class Table(BaseModel):
    """A table of a file: unknown keys are faults, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Document(dict[str, Any]):
    """The content of a TOML file; `line_of` gives the line of a place as ``[run] seed``, or 0."""

    def __init__(self, content: Mapping[str, Any], text: str) -> None:
        super().__init__(content)
        self.line_of = locator(text)


def faults_of(subject: str, data: Mapping[str, Any]) -> Faults:
    """Return a list of faults of a run file, which names their lines where `data` knows them."""
    return Faults(subject, RunFileError, getattr(data, "line_of", None))


def read_toml(path: Path | str) -> Document:
    """Return the content of a TOML file; a RunFileError where it cannot be read."""
    file = Path(path)
    faults = Faults(f"run file {file.name}", RunFileError)
    try:
        check_budget(
            "text", file.stat().st_size, str(file), f"has {count(file.stat().st_size)} bytes"
        )
        text = file.read_text(encoding="utf-8-sig")
        return Document(tomllib.loads(text), text)
    except FileNotFoundError:
        faults.add(str(file), "there is no such file", hint="Check the path.")
    except OSError as problem:
        faults.add(
            str(file), message("cannot be read: {reason}", reason=problem.strerror or problem)
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        hint = ""
        if any(word in str(problem) for word in ("escape", "Unescaped", "hex value")):
            hint = r"Write paths of Windows in single quotes: 'C:\data\survey.csv'."
        faults.add(str(file), f"is not TOML: {problem}", hint=hint)
    except RecursionError:
        faults.add(str(file), "is nested too deeply", hint="A run file has three levels.")
    except InputError as problem:
        faults.found += problem.faults
    except ValueError as problem:  # a path with NUL, a number of thousands of digits
        faults.add(
            str(file),
            message("cannot be read: {reason}", reason=problem),
            hint="Check path and numbers.",
        )
    raise RunFileError(faults.subject, faults.found)


def check_sections(faults: Faults, data: Mapping[str, Any], known: list[str]) -> None:
    """Note tables that are unknown."""
    for key in data:
        if key not in known:
            faults.add(f"[{key}]", "is unknown", hint=did_you_mean(key, known))


def read_run_file(path: Path | str, sections: list[str]) -> tuple[Document, Faults]:
    """Return the content of a run file, and the list of its faults: unknown tables so far."""
    file = Path(path)
    data = read_toml(file)
    faults = faults_of(f"run file {file.name}", data)
    check_sections(faults, data, sections)
    return data, faults


def read_section(faults: Faults, data: Mapping[str, Any], name: str, cls: type[Any]) -> Any:
    """Return a table as an object of `cls`, by its defaults where it is not there; see `validate`.

    None where the table has faults.
    """
    return validate(faults, f"[{name}]", cls, data.get(name, {}))


def read_values(faults: Faults, data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values of a table, empty where it is not there; "none" stands for none."""
    table = data.get(name, {})
    if not isinstance(table, Mapping):
        faults.add(f"[{name}]", f"is {table!r}, not a table")
        return {}
    return {key: None if value == "none" else value for key, value in table.items()}


def _in_words(error: Any) -> tuple[str, str]:
    """Return what is wrong with a value, and a hint, without the words of the library."""
    kind, value, context = error["type"], error.get("input"), error.get("ctx", {})
    if kind == "missing":
        return "is not given", ""
    if kind.startswith(("int_", "float_")):
        number = "a whole number" if kind.startswith("int_") else "a number"
        return f"is {value!r}", f"Give {number}."
    if kind.startswith("bool_"):
        return f"is {value!r}", "Give true or false."
    if kind in ("string_type", "literal_error"):
        return f"is {value!r}", f"Give {context.get('expected', 'a text in quotes')}."
    if kind == "string_pattern_mismatch":
        ending = str(context.get("pattern", "")).replace("\\", "").rstrip("$")
        return f"is {value!r}", f"Give a name that ends in {ending}."
    if kind in ("list_type", "tuple_type") or "sequence" in kind:
        return f"is {value!r}, no list", 'Give a list, as ["age", "sex"].'
    if kind in ("dict_type", "model_type", "dataclass_type"):
        return f"is {value!r}, not a table", "Give a table of keys."
    limits = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt",
              "less_than_equal": "le"}  # fmt: skip
    if kind in limits:
        words = kind.replace("_than_equal", " than or equal to").replace("_than", " than")
        return f"is {value!r}", f"Give a number {words} {context[limits[kind]]}."
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:], ""


def validate(faults: Faults, where: str, cls: type[Any], data: Any) -> Any:
    """Return `data` as an object of `cls` (a `Table` or a dataclass), or None and the faults."""
    known = list(getattr(cls, "model_fields", None) or [item.name for item in fields(cls)])
    if isinstance(data, Mapping):
        for key in data:
            if key not in known:
                faults.add(f"{where} {key}", "is unknown", hint=did_you_mean(key, known))
        data = {key: value for key, value in data.items() if key in known}
    try:
        return TypeAdapter(cls).validate_python(data)
    except ValidationError as problem:
        for error in problem.errors():
            place = list(map(str, error["loc"]))
            if error["type"] == "extra_forbidden":
                faults.add(f"{where} {'.'.join(place)}".strip(), "is unknown")
                continue
            key = ".".join(name for name in place if name in known)
            what, hint = _in_words(error)
            faults.add(f"{where} {key}".strip(), what, hint=hint)
    return None
