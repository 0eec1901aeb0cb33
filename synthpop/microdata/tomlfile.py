"""Reading TOML files that people write: every fault at once, with place and remedy."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from synthpop.microdata.errors import Faults, RunFileError, did_you_mean


class Table(BaseModel):
    """A table of a file: unknown keys are faults, values are fixed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_toml(path: Path | str) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    RunFileError
        There is no such file, or its text is no TOML.
    """
    file = Path(path)
    faults = Faults(f"run file {file.name}", RunFileError)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        faults.add(str(file), "there is no such file", remedy="Check the path.")
    except OSError as problem:
        faults.add(str(file), f"cannot be read: {problem.strerror or problem}")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        remedy = ""
        if "escape" in str(problem) or "Unescaped" in str(problem):
            remedy = r"Write paths of Windows in single quotes: 'C:\data\survey.csv'."
        faults.add(str(file), f"is not TOML: {problem}", remedy=remedy)
    except RecursionError:
        faults.add(str(file), "is nested too deeply", remedy="A run file has three levels.")
    except ValueError as problem:  # a path with NUL, a number of thousands of digits
        faults.add(str(file), f"cannot be read: {problem}", remedy="Check path and numbers.")
    raise RunFileError(faults.subject, faults.found)


def check_sections(faults: Faults, data: Mapping[str, Any], known: list[str]) -> None:
    """Note tables that are unknown."""
    for key in data:
        if key not in known:
            faults.add(f"[{key}]", "is unknown", remedy=did_you_mean(key, known))


def validate(faults: Faults, where: str, cls: type[Any], data: Any) -> Any:
    """Return `data` as an object of `cls` (a `Table` or a dataclass), or None and the faults."""
    known = list(getattr(cls, "model_fields", None) or [item.name for item in fields(cls)])
    if isinstance(data, Mapping):
        for key in data:
            if key not in known:
                faults.add(f"{where} {key}", "is unknown", remedy=did_you_mean(key, known))
        data = {key: value for key, value in data.items() if key in known}
    try:
        return TypeAdapter(cls).validate_python(data)
    except ValidationError as problem:
        for error in problem.errors():
            place = [str(part) for part in error["loc"]]
            if error["type"] == "extra_forbidden":
                faults.add(f"{where} {'.'.join(place)}".strip(), "is unknown")
                continue
            key = ".".join(part for part in place if part in known)
            faults.add(f"{where} {key}".strip(), error["msg"][:1].lower() + error["msg"][1:])
    return None
